/*
 * The vCPU gate: keep a vCPU out of the guest, for a reason
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "block/aio.h"
#include "qemu/main-loop.h"
#include "hw/sched/vcpu-gate.h"

/* qemu_cpu_kick() and not cpus_kick_thread(), which does nothing for TCG. */
void vcpu_gate_close(CPUState *cpu, uint32_t reason)
{
    qatomic_or(&cpu->gate, reason);
    /*
     * A kick is skipped if another is under way (thread_kicked).  That is no
     * loss: the vCPU clears thread_kicked by qatomic_set_mb() and tests the
     * gate after it, so it sees the bit if we saw the old kick.
     */
    smp_mb();
    qemu_cpu_kick(cpu);
}

void vcpu_gate_close_then(CPUState *cpu, uint32_t reason, run_on_cpu_func func,
                          run_on_cpu_data data)
{
    qatomic_or(&cpu->gate, reason);
    /* as above: to queue work is to kick */
    smp_mb();
    async_run_on_cpu(cpu, func, data);
}

void vcpu_gate_close_self(CPUState *cpu, uint32_t reason)
{
    assert(qemu_cpu_is_self(cpu));
    qatomic_or(&cpu->gate, reason);
}

/* In the main loop, BQL held: the vCPU waits, or has yet to test for work. */
static void vcpu_gate_kick(void *opaque)
{
    CPUState *cpu = opaque;

    qemu_cpu_kick(cpu);
    object_unref(OBJECT(cpu));
}

void vcpu_gate_run(CPUState *cpu, run_on_cpu_func func, run_on_cpu_data data)
{
    async_run_on_cpu(cpu, func, data);
    if (!bql_locked()) {
        object_ref(OBJECT(cpu));
        aio_bh_schedule_oneshot(qemu_get_aio_context(), vcpu_gate_kick, cpu);
    }
}

/* The vCPU waits on halt_cond with the BQL, so no wake-up can be lost. */
void vcpu_gate_open(CPUState *cpu, uint32_t reason)
{
    assert(bql_locked());
    qatomic_and(&cpu->gate, ~reason);
    qemu_cond_broadcast(cpu->halt_cond);
}
