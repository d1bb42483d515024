/*
 * Tell the guest of time that was taken from a vCPU: not here
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "hw/sched/vcpu-steal.h"

bool vcpu_steal_supported(void)
{
    return false;
}

bool vcpu_steal_wants_to_run(CPUState *cpu)
{
    g_assert_not_reached();
}

LlcschedStealState vcpu_steal_state(CPUState *cpu)
{
    g_assert_not_reached();
}

LlcschedStealState vcpu_steal_add(CPUState *cpu, uint64_t ns)
{
    g_assert_not_reached();
}
