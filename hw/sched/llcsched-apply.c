/*
 * LLC-aware vCPU scheduler: masks are set as planned, and given back
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "llcsched-apply.h"
#include "llcsched-internal.h"
#include "llcsched-threads.h"

/* True if the mask changed.  Lock held, thread alive. */
static bool llcsched_apply_one(Llcsched *s, LlcschedVcpu *vcpu,
                               const VcpuPlan *vplan, bool retry)
{
    bool changed;

    if (!llcsched_turns_may_move(vcpu, &vplan->mask)) {
        return false;
    }
    changed = llcsched_mask_set(s, &vcpu->thread, &vplan->mask, retry);
    llcsched_turns_moved(vcpu);
    if (!changed) {
        return false;
    }
    if (vcpu->host_llc >= 0 && vcpu->host_llc != vplan->host_llc) {
        vcpu->moves++;
    }
    vcpu->host_llc = vplan->host_llc;
    s->masks_set++;
    return true;
}

int llcsched_apply(Llcsched *s, bool retry)
{
    const Plan *plan = s->planned->plan;
    LlcschedVcpu *vcpu;
    int changes = 0;

    if (s->config.placement == LLCSCHED_PLACEMENT_OFF) {
        return 0;
    }
    QTAILQ_FOREACH(vcpu, &s->vcpus, next) {
        if (vcpu->thread.id && !llcsched_mask_kept_off(&vcpu->thread) &&
            vcpu->index >= 0 && vcpu->index < plan->n_vcpus) {
            changes += llcsched_apply_one(s, vcpu, &plan->vcpus[vcpu->index],
                                          retry);
        }
    }
    return changes;
}

/* The memory is where the vCPUs were when the guest first touched it. */
void llcsched_note_memory(Llcsched *s)
{
    const HostTopology *host = s->view->host;
    const Plan *plan = s->planned->plan;

    if (!host_cpuset_empty(&s->memory_nodes) ||
        s->config.placement == LLCSCHED_PLACEMENT_OFF) {
        return;
    }
    for (int i = 0; i < host->n_llcs; i++) {
        if (plan->llcs[i].vcpus && host->llcs[i].node >= 0) {
            host_cpuset_add(&s->memory_nodes,
                            host->nodes[host->llcs[i].node].id);
        }
    }
}

void llcsched_restore_masks(Llcsched *s)
{
    LlcschedVcpu *vcpu;

    QTAILQ_FOREACH(vcpu, &s->vcpus, next) {
        if (vcpu->thread.has_found &&
            !llcsched_turns_may_move(vcpu, &vcpu->thread.found)) {
            continue;
        }
        if (llcsched_mask_restore(s, &vcpu->thread)) {
            vcpu->host_llc = -1;
        }
        llcsched_turns_moved(vcpu);
    }
    llcsched_threads_restore(s);
}

void llcsched_move_masks(Llcsched *s)
{
    if (s->config.placement == LLCSCHED_PLACEMENT_OFF) {
        llcsched_restore_masks(s);
    } else if (s->planned) {
        llcsched_apply(s, false);
    }
}
