/*
 * Tell the guest of time that was taken from a vCPU: what KVM for x86 can
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef HW_SCHED_VCPU_STEAL_H
#define HW_SCHED_VCPU_STEAL_H

#include "hw/core/cpu.h"
#include "qapi/qapi-types-llcsched.h"

/* False: nothing below is to be called.  The accelerator must be known. */
bool vcpu_steal_supported(void);

/*
 * The rest is called in the vCPU's own thread, outside the guest, with the BQL.
 */

/* Whether it would run, and not halt or wait to be started. */
bool vcpu_steal_wants_to_run(CPUState *cpu);

/* Whether the guest can be told now, or why not. */
LlcschedStealState vcpu_steal_state(CPUState *cpu);

/* Tell it of @ns more, unless the state that is returned says why not. */
LlcschedStealState vcpu_steal_add(CPUState *cpu, uint64_t ns);

#endif
