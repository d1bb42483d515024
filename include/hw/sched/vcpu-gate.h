/*
 * The vCPU gate: keep a vCPU out of the guest, for a reason
 *
 * A closed gate makes the vCPU thread leave the guest and wait, with the BQL
 * free, as a halted vCPU does.  It is tested after stop and queued work, so
 * pause, migration, reset, unplug and all that is done by run_on_cpu() get
 * through.  It is not guest state: it is neither migrated nor reset.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef HW_SCHED_VCPU_GATE_H
#define HW_SCHED_VCPU_GATE_H

#include "hw/core/cpu.h"

/* Bits of CPUState.gate: any of them keeps the vCPU out. */
#define VCPU_GATE_QUOTA 1u
#define VCPU_GATE_TRUST 2u

/*
 * Close the gate for @reason.  From any thread, with or without the BQL; the
 * vCPU's thread must be alive.  It may still be in the guest when this
 * returns: work that is queued for it afterwards runs when it has left.
 */
void vcpu_gate_close(CPUState *cpu, uint32_t reason);

/*
 * The same, and have @func run in the vCPU's thread once it has left: without
 * the BQL perhaps as late as when the gate opens, see vcpu_gate_run().
 */
void vcpu_gate_close_then(CPUState *cpu, uint32_t reason, run_on_cpu_func func,
                          run_on_cpu_data data);

/* The same in the vCPU's own thread: it is out, and stays so. */
void vcpu_gate_close_self(CPUState *cpu, uint32_t reason);

/*
 * async_run_on_cpu() from any thread.  Who queues work without the BQL can be
 * too late for a vCPU that is about to wait, and too early for one that waits:
 * then it sleeps on.  Here the main loop wakes it once more.
 */
void vcpu_gate_run(CPUState *cpu, run_on_cpu_func func, run_on_cpu_data data);

/* Take @reason back; the vCPU runs again if it was the last.  BQL held. */
void vcpu_gate_open(CPUState *cpu, uint32_t reason);

static inline bool vcpu_gate_closed(const CPUState *cpu, uint32_t reason)
{
    return qatomic_read(&cpu->gate) & reason;
}

#endif
