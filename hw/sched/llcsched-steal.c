/*
 * LLC-aware vCPU scheduler: showing throttled time to the guest as steal
 *
 * Stolen is what passes from when a vCPU that wants to run is proven out of the
 * guest until its gate opens.  Before, it still ran; afterwards it may wait for
 * a CPU, and that KVM tells itself.  The guest is told when the gate opens,
 * before the vCPU runs again, and when the VM stops, so that what is saved or
 * migrated is complete.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qemu/main-loop.h"
#include "hw/boards.h"
#include "hw/sched/vcpu-gate.h"
#include "hw/sched/vcpu-steal.h"
#include "llcsched-internal.h"
#include "llcsched-steal.h"
#include "llcsched-throttle.h"
#include "trace.h"

/* How often a guest without the clock is asked whether it has enabled it. */
#define LLCSCHED_STEAL_ASK_NS (100 * SCALE_MS)

/* Why no vCPU of this VM is told; else WAITING.  Lock or BQL held. */
static LlcschedStealState llcsched_steal_vm_state(const Llcsched *s)
{
    if (!vcpu_steal_supported()) {
        return LLCSCHED_STEAL_STATE_UNSUPPORTED;
    }
    if (current_machine->cgs) {
        return LLCSCHED_STEAL_STATE_PROTECTED;
    }
    return s->config.steal_time ? LLCSCHED_STEAL_STATE_WAITING
                                : LLCSCHED_STEAL_STATE_OFF;
}

static bool llcsched_steal_possible(const Llcsched *s)
{
    return llcsched_steal_vm_state(s) == LLCSCHED_STEAL_STATE_WAITING;
}

LlcschedStealState llcsched_steal_state(const LlcschedVcpu *vcpu)
{
    return llcsched_steal_possible(vcpu->sched)
           ? vcpu->steal_state : llcsched_steal_vm_state(vcpu->sched);
}

/*
 * In the vCPU thread, out of the guest, BQL held, without which no gate opens:
 * so the lock is not needed for when it was closed.  All vCPUs of a group come
 * here at once, and would wait for the thread that is still closing gates.
 * A vCPU that halts is not stolen from, even if it is woken while it is out:
 * what waits for it then cannot be seen from here.
 */
static void llcsched_steal_is_out(CPUState *cpu, run_on_cpu_data data)
{
    LlcschedVcpu *vcpu = data.host_ptr;

    if (!vcpu_gate_closed(cpu, VCPU_GATE_QUOTA) ||
        !vcpu_steal_wants_to_run(cpu)) {
        return;
    }
    /* one that was shown is asked when it is told */
    if (vcpu->steal_state != LLCSCHED_STEAL_STATE_SHOWN) {
        qatomic_set(&vcpu->steal_state, vcpu_steal_state(cpu));
    }
    if (!vcpu->stolen &&
        vcpu->steal_state == LLCSCHED_STEAL_STATE_SHOWN) {
        vcpu->stolen = true;
        vcpu->stolen_from_ns = llcsched_throttled_ns(vcpu, llcsched_now_ns());
    }
}

/*
 * Whether the guest has to be told, or to be asked whether it wants to be: a
 * note costs the thread and the vCPU more than the stop itself.
 */
static bool llcsched_steal_notes(LlcschedVcpu *vcpu)
{
    if (!llcsched_steal_possible(vcpu->sched)) {
        return false;
    }
    if (qatomic_read(&vcpu->steal_state) == LLCSCHED_STEAL_STATE_SHOWN) {
        return true;
    }
    if (vcpu->steal_asked_ns &&
        vcpu->closed_ns - vcpu->steal_asked_ns < LLCSCHED_STEAL_ASK_NS) {
        return false;
    }
    vcpu->steal_asked_ns = vcpu->closed_ns;
    return true;
}

void llcsched_steal_begin(LlcschedVcpu *vcpu)
{
    if (llcsched_steal_notes(vcpu)) {
        vcpu_gate_close_then(vcpu->cpu, VCPU_GATE_QUOTA, llcsched_steal_is_out,
                             RUN_ON_CPU_HOST_PTR(vcpu));
    } else {
        vcpu_gate_close(vcpu->cpu, VCPU_GATE_QUOTA);
    }
}

/*
 * In the vCPU thread, out of the guest, BQL held.  Not under the lock: a page
 * of the guest may have to be fetched from elsewhere.
 */
static void llcsched_steal_tell(CPUState *cpu, run_on_cpu_data data)
{
    LlcschedVcpu *vcpu = data.host_ptr;
    uint64_t ns = vcpu->steal_due_ns;
    LlcschedStealState state;

    vcpu->steal_due_ns = 0;
    if (!ns || !llcsched_steal_possible(vcpu->sched)) {
        return;
    }
    state = vcpu_steal_add(cpu, ns);
    trace_llcsched_steal(vcpu->index, ns, LlcschedStealState_str(state));
    qatomic_set(&vcpu->steal_state, state);
    vcpu->steal_ns += state == LLCSCHED_STEAL_STATE_SHOWN ? ns : 0;
}

/* True if there is something to tell.  BQL held. */
static bool llcsched_steal_collect(LlcschedVcpu *vcpu)
{
    if (vcpu->stolen) {
        vcpu->stolen = false;
        vcpu->steal_due_ns += vcpu->throttled_ns - vcpu->stolen_from_ns;
    }
    return vcpu->steal_due_ns;
}

void llcsched_steal_end(LlcschedVcpu *vcpu)
{
    if (llcsched_steal_collect(vcpu)) {
        async_run_on_cpu(vcpu->cpu, llcsched_steal_tell,
                         RUN_ON_CPU_HOST_PTR(vcpu));
    }
}

void llcsched_steal_pause(Llcsched *s)
{
    LlcschedVcpu *vcpu;

    QTAILQ_FOREACH(vcpu, &s->vcpus, next) {
        /* the thread of one that is being unplugged takes no more work */
        if (llcsched_steal_collect(vcpu) && !vcpu->cpu->unplug) {
            run_on_cpu(vcpu->cpu, llcsched_steal_tell,
                       RUN_ON_CPU_HOST_PTR(vcpu));
        }
    }
}

/* A snapshot may have been loaded: whoever wanted to run may halt now. */
void llcsched_steal_resume(Llcsched *s)
{
    LlcschedVcpu *vcpu;

    QTAILQ_FOREACH(vcpu, &s->vcpus, next) {
        vcpu->stolen = false;
        if (vcpu->thread.id && llcsched_steal_possible(s) &&
            vcpu_gate_closed(vcpu->cpu, VCPU_GATE_QUOTA)) {
            async_run_on_cpu(vcpu->cpu, llcsched_steal_is_out,
                             RUN_ON_CPU_HOST_PTR(vcpu));
        }
    }
}
