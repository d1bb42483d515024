/*
 * LLC-aware vCPU scheduler: cores for cookies
 *
 * Where cookies cannot be kept off a core in any other way, their vCPUs are
 * kept off it by masks (hw/sched/core/trust-refine); how far that holds is
 * judged by the masks that the threads really have.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "llcsched-cores.h"
#include "llcsched-internal.h"
#include "llcsched-look.h"
#include "llcsched-throttle.h"

unsigned llcsched_cookie_number(const LlcschedVcpu *vcpu)
{
    LlcschedHolder *holder = llcsched_trust_wanted(vcpu);
    GPtrArray *numbered = vcpu->sched->trust.numbered;
    guint index;

    if (!holder) {
        return TRUST_COOKIE_NONE;
    }
    if (!g_ptr_array_find(numbered, holder, &index)) {
        /* holders live until the process ends, and are far fewer than vCPUs */
        index = numbered->len;
        g_ptr_array_add(numbered, holder);
    }
    return index + 1;
}

unsigned llcsched_cookie_weight(const Llcsched *s, unsigned cookie)
{
    LlcschedHolder *holder = NULL;
    const LlcschedGroup *group;
    unsigned weight = 0;

    if (cookie != TRUST_COOKIE_NONE) {
        holder = g_ptr_array_index(s->trust.numbered, cookie - 1);
    }
    QTAILQ_FOREACH(group, &s->groups, next) {
        if (llcsched_trust_of(s, group) == holder) {
            weight = MAX(weight, group->weight);
        }
    }
    return weight ? weight : TRUST_WEIGHT_DEFAULT;
}

void llcsched_cookies_changed(Llcsched *s)
{
    llcsched_trust_look(s);
    if (s->started) {
        llcsched_look(s, LLCSCHED_WHY_VCPU, NULL);
    }
}

/* One for each possible vCPU, for the caller to free.  Lock held. */
static unsigned *llcsched_cookie_numbers(const Llcsched *s)
{
    unsigned *numbers = g_new0(unsigned, s->guest->n_vcpus);
    const LlcschedVcpu *vcpu;

    QTAILQ_FOREACH(vcpu, &s->vcpus, next) {
        if (vcpu->index >= 0 && vcpu->index < s->guest->n_vcpus) {
            numbers[vcpu->index] = llcsched_cookie_number(vcpu);
        }
    }
    return numbers;
}

TrustPlan *llcsched_cores_refine(const Llcsched *s, const PlacementInput *in,
                                 Plan *plan)
{
    g_autofree unsigned *numbers = NULL;
    const TrustPlan *previous = in->previous ? s->planned->trust : NULL;

    if (s->trust.smt_off) {
        return NULL;
    }
    numbers = llcsched_cookie_numbers(s);
    return trust_refine(plan, in, numbers, previous, s->trust.kernel ||
                        s->config.trust_backend ==
                        LLCSCHED_TRUST_BACKEND_KERNEL);
}

char *llcsched_cores_explain(const TrustPlan *trust, const Plan *plan,
                             const HostTopology *host, int vcpu)
{
    return trust && trust->n_cookies > 1
           ? trust_explain(trust, plan, host, vcpu) : NULL;
}

TrustPlan *llcsched_cores_judge(const Llcsched *s)
{
    g_autofree const HostCpuSet **masks = NULL;
    g_autofree unsigned *numbers = NULL;
    const LlcschedVcpu *vcpu;

    if (!s->guest) {
        return NULL;
    }
    masks = g_new0(const HostCpuSet *, s->guest->n_vcpus);
    numbers = llcsched_cookie_numbers(s);
    QTAILQ_FOREACH(vcpu, &s->vcpus, next) {
        if (vcpu->index >= 0 && vcpu->index < s->guest->n_vcpus &&
            s->view->host->smt) {
            masks[vcpu->index] = &vcpu->thread.mask;
        }
    }
    return trust_judge(s->view->host, s->guest, numbers, masks);
}
