/*
 * LLC-aware vCPU scheduler: what it tells and does by QMP
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/qapi-commands-llcsched.h"
#include "llcsched-balance.h"
#include "llcsched-internal.h"
#include "llcsched-look.h"
#include "llcsched-quota.h"
#include "llcsched-steal.h"
#include "llcsched-threads.h"
#include "llcsched-throttle.h"

static LlcschedHostLlc *llcsched_host_llc(const Llcsched *s, int i)
{
    const HostLlc *llc = &s->view->host->llcs[i];
    const LlcLoad *load = &s->load->llcs[i];
    LlcschedHostLlc *info = g_new0(LlcschedHostLlc, 1);
    HostCpuSet usable = llc->cpus;

    host_cpuset_and(&usable, &s->view->candidates);
    info->id = i;
    info->cpus = host_cpuset_to_list(&llc->cpus);
    info->candidate_cpus = host_cpuset_to_list(&usable);
    info->level = llc->level;
    info->bytes = llc->bytes;
    info->node = llc->node < 0 ? -1 : s->view->host->nodes[llc->node].id;
    info->package = llc->package;
    info->others_util = load->others_util / 10.0;
    info->others_tasks = load->others_tasks / 10.0;
    if (s->planned) {
        info->vcpus = s->planned->plan->llcs[i].vcpus;
        info->demand = s->planned->plan->llcs[i].demand / 1000.0;
    }
    llcsched_balance_fill_llc(info, s, i);
    return info;
}

/* The LLCs that the masks of a guest LLC group touch, and its cores. */
static LlcschedGuestLlc *llcsched_guest_llc(const Llcsched *s, int group)
{
    g_autofree bool *cores = g_new0(bool, s->guest->n_cores);
    LlcschedGuestLlc *info = g_new0(LlcschedGuestLlc, 1);
    intList **tail = &info->host_llcs;
    HostCpuSet members = { }, cpus = { };
    int n = 0;

    for (int i = 0; i < s->guest->n_vcpus; i++) {
        const GuestVcpu *gv = &s->guest->vcpus[i];

        if (gv->llc == group && gv->present) {
            host_cpuset_add(&members, i);
            host_cpuset_or(&cpus, &s->planned->plan->vcpus[i].mask);
            info->cores += !cores[gv->core];
            cores[gv->core] = true;
        }
    }
    for (int i = 0; i < s->view->host->n_llcs; i++) {
        if (host_cpuset_intersects(&cpus, &s->view->host->llcs[i].cpus)) {
            QAPI_LIST_APPEND(tail, i);
            n++;
        }
    }
    info->id = group;
    info->vcpus = host_cpuset_to_list(&members);
    info->aligned = n == 1;
    return info;
}

static void llcsched_fill_plan(LlcschedVcpuInfo *info, const Llcsched *s, int i)
{
    const VcpuPlan *vplan = &s->planned->plan->vcpus[i];

    g_free(info->planned_mask);
    g_free(info->explanation);
    info->host_llc = vplan->host_llc;
    info->host_core = vplan->host_core;
    info->planned_mask = host_cpuset_to_list(&vplan->mask);
    info->reason = (LlcschedReason)vplan->reason;
    info->explanation = g_strdup(s->planned->explanations[i]);
    info->llc_aligned = vplan->llc_aligned;
    info->smt_aligned = vplan->smt_aligned;
}

/* The id of the group on the way from @group to the root that is @which. */
static char *llcsched_group_name(const LlcschedGroup *group,
                                 const BandwidthGroup *which)
{
    while (group && group->bandwidth != which) {
        group = group->parent;
    }
    return group ? g_strdup(group->id) : NULL;
}

static LlcschedVcpuInfo *llcsched_vcpu_info(const Llcsched *s,
                                            const LlcschedVcpu *vcpu)
{
    const GuestVcpu *gv = &s->guest->vcpus[vcpu->index];
    LlcschedVcpuInfo *info = g_new0(LlcschedVcpuInfo, 1);

    info->vcpu = vcpu->index;
    info->thread_id = vcpu->thread.id;
    info->guest_core = gv->core;
    info->guest_llc = gv->llc;
    info->guest_node = gv->place.node;
    info->host_llc = -1;
    info->host_core = -1;
    info->planned_mask = g_strdup("");
    info->explanation = g_strdup("not planned yet");
    info->mask = host_cpuset_to_list(&vcpu->thread.mask);
    info->mask_state = vcpu->thread.state;
    info->run_ns = vcpu->thread.times.run_ns;
    info->wait_ns = vcpu->thread.times.wait_ns;
    info->load = llcsched_balance_vcpu(s, vcpu);
    info->moves = vcpu->moves;
    info->throttled_ns = llcsched_throttled_ns(vcpu, llcsched_now_ns());
    info->steal_ns = vcpu->steal_ns;
    info->steal_state = llcsched_steal_state(vcpu);
    llcsched_trust_fill_vcpu(info, vcpu);
    if (s->planned) {
        llcsched_fill_plan(info, s, vcpu->index);
    }
    return info;
}

/* No mask could be set: what is planned is not in force. */
static bool llcsched_all_failed(const Llcsched *s)
{
    LlcschedVcpu *vcpu;

    QTAILQ_FOREACH(vcpu, &s->vcpus, next) {
        if (vcpu->thread.state != LLCSCHED_MASK_STATE_FAILED) {
            return false;
        }
    }
    return !QTAILQ_EMPTY(&s->vcpus);
}

static LlcschedPlacement llcsched_effective(const Llcsched *s)
{
    if (!s->planned || s->config.placement == LLCSCHED_PLACEMENT_OFF ||
        llcsched_all_failed(s)) {
        return LLCSCHED_PLACEMENT_OFF;
    }
    switch (s->planned->plan->width) {
    case PLACEMENT_WIDTH_CORE:
        return LLCSCHED_PLACEMENT_CORE;
    case PLACEMENT_WIDTH_CPU:
        return LLCSCHED_PLACEMENT_CPU;
    default:
        return LLCSCHED_PLACEMENT_LLC;
    }
}

static LlcschedGroupInfo *llcsched_group_info(const LlcschedGroup *group)
{
    LlcschedGroupInfo *info = g_new0(LlcschedGroupInfo, 1);
    const BandwidthGroup *whose, *by;
    BandwidthLimits effective;
    BandwidthStats stats;

    whose = bandwidth_group_effective(group->bandwidth, &effective);
    by = bandwidth_group_gated_by(group->bandwidth);
    bandwidth_group_stats(group->bandwidth, llcsched_now_ns(), &stats);
    info->id = g_strdup(group->id);
    info->parent = group->parent ? g_strdup(group->parent->id) : NULL;
    info->vcpus = host_cpuset_to_list(&group->vcpus);
    info->quota_us = group->limits.quota;
    info->period_us = group->limits.period;
    info->burst_us = group->limits.burst;
    info->limited = bandwidth_group_limited(group->bandwidth);
    info->effective_quota_us = effective.quota_ns / SCALE_US;
    info->effective_period_us = effective.period_ns / SCALE_US;
    info->effective_group = llcsched_group_name(group, whose);
    info->throttled = by;
    info->throttled_by = llcsched_group_name(group, by);
    info->periods = stats.periods;
    info->throttled_periods = stats.throttled_periods;
    info->throttled_ns = stats.throttled_ns;
    info->bursts = stats.bursts;
    info->burst_ns = stats.burst_ns;
    info->gated_ns = stats.gated_ns;
    info->longest_stall_ns = stats.longest_stall_ns;
    info->consecutive_throttled = stats.consecutive_throttled;
    info->consecutive_throttled_max = stats.consecutive_throttled_max;
    info->used_ns = stats.used_ns;
    info->remaining_ns = stats.remaining_ns;
    info->debt_ns = stats.debt_ns;
    info->forgiven_ns = stats.forgiven_ns;
    info->late_looks = stats.late_looks;
    info->host_limited = llcsched_quota_tighter(group, &effective);
    return info;
}

/* What the process ran less what its vCPUs did: nothing is charged for it. */
static uint64_t llcsched_uncharged_ns(const Llcsched *s)
{
    struct timespec ts;
    uint64_t all_ns, vcpus_ns = 0;
    LlcschedVcpu *vcpu;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
    all_ns = ts.tv_sec * NANOSECONDS_PER_SECOND + ts.tv_nsec;
    QTAILQ_FOREACH(vcpu, &s->vcpus, next) {
        vcpus_ns += vcpu->thread.id ? s->ops->cpu_ns(vcpu) : 0;
    }
    return all_ns > vcpus_ns ? all_ns - vcpus_ns : 0;
}

static LlcschedThreadInfo *llcsched_thread_info(const LlcschedOther *other)
{
    LlcschedThreadInfo *info = g_new0(LlcschedThreadInfo, 1);

    info->name = g_strdup(other->name);
    info->thread_id = other->thread.id;
    info->role = other->role;
    info->mask = host_cpuset_to_list(&other->thread.mask);
    info->mask_state = other->thread.state;
    info->run_ns = other->thread.times.run_ns;
    return info;
}

/* A worker of the kernel: that it is there is all that is known. */
static LlcschedThreadInfo *llcsched_kernel_vhost_info(int tid)
{
    LlcschedThreadInfo *info = g_new0(LlcschedThreadInfo, 1);

    info->name = g_strdup_printf("vhost-%d", getpid());
    info->thread_id = tid;
    info->role = LLCSCHED_THREAD_ROLE_VHOST;
    info->mask = g_strdup("");
    info->mask_state = LLCSCHED_MASK_STATE_OUT_OF_REACH;
    return info;
}

QEMU_BUILD_BUG_ON((int)LLCSCHED_THREAD_REASON__MAX != EMULATOR_REASON_MAX);

static LlcschedEmulatorInfo *llcsched_emulator_info(const Llcsched *s)
{
    LlcschedEmulatorInfo *info = g_new0(LlcschedEmulatorInfo, 1);
    LlcschedThreadInfoList **tail = &info->threads;
    const LlcschedPlanned *planned = s->planned;

    info->emulator = s->config.emulator;
    info->planned_mask = planned ? host_cpuset_to_list(&planned->emulator.mask)
                                 : g_strdup("");
    info->reason = planned ? (LlcschedThreadReason)planned->emulator.reason
                           : LLCSCHED_THREAD_REASON_NO_VCPUS;
    info->explanation = g_strdup(planned ? planned->emulator_why
                                         : "not planned yet");
    for (guint i = 0; i < s->others->len; i++) {
        const LlcschedOther *other = g_ptr_array_index(s->others, i);

        if (!other->pending) {
            QAPI_LIST_APPEND(tail, llcsched_thread_info(other));
        }
    }
    for (guint i = 0; s->kernel_vhost && i < s->kernel_vhost->len; i++) {
        QAPI_LIST_APPEND(tail, llcsched_kernel_vhost_info(
                                   g_array_index(s->kernel_vhost, int, i)));
    }
    return info;
}

static void llcsched_fill_lists(LlcschedInfo *info, const Llcsched *s)
{
    LlcschedHostLlcList **host_tail = &info->host_llcs;
    LlcschedGuestLlcList **guest_tail = &info->guest_llcs;
    LlcschedVcpuInfoList **vcpu_tail = &info->vcpus;
    LlcschedGroupInfoList **group_tail = &info->groups;
    strList **warning_tail = &info->warnings;
    LlcschedGroup *group;
    LlcschedVcpu *vcpu;

    for (int i = 0; i < s->view->host->n_llcs; i++) {
        QAPI_LIST_APPEND(host_tail, llcsched_host_llc(s, i));
    }
    for (int i = 0; s->planned && i < s->guest->n_llcs; i++) {
        QAPI_LIST_APPEND(guest_tail, llcsched_guest_llc(s, i));
    }
    QTAILQ_FOREACH(vcpu, &s->vcpus, next) {
        if (s->guest && vcpu->index >= 0 &&
            vcpu->index < s->guest->n_vcpus) {
            QAPI_LIST_APPEND(vcpu_tail, llcsched_vcpu_info(s, vcpu));
        }
    }
    info->emulator_threads = llcsched_emulator_info(s);
    QTAILQ_FOREACH(group, &s->groups, next) {
        QAPI_LIST_APPEND(group_tail, llcsched_group_info(group));
    }
    for (guint i = 0; i < s->warnings->len; i++) {
        QAPI_LIST_APPEND(warning_tail,
                         g_strdup(g_ptr_array_index(s->warnings, i)));
    }
}

static LlcschedInfo *llcsched_info(Llcsched *s)
{
    LlcschedInfo *info = g_new0(LlcschedInfo, 1);

    QEMU_LOCK_GUARD(&s->lock);
    info->id = g_strdup(s->id);
    info->status = s->status;
    info->has_verdict = s->planned;
    info->verdict = s->planned ? (LlcschedVerdict)s->planned->plan->verdict
                               : 0;
    info->summary = llcsched_summary(s);
    info->placement = s->config.placement;
    info->effective_placement = llcsched_effective(s);
    info->dynamic = s->config.dynamic;
    info->interval = s->config.interval_ms;
    info->allowed = host_cpuset_to_list(&s->view->allowed);
    info->candidates = host_cpuset_to_list(&s->view->candidates);
    info->load_source = (LlcschedLoadSource)s->load->source;
    info->load_window_ns = s->load->window_ns;
    info->balance = llcsched_balance_info(s);
    info->balance->applied = info->effective_placement !=
                             LLCSCHED_PLACEMENT_OFF;
    info->looks = s->looks;
    info->replans = s->replans;
    info->masks_set = s->masks_set;
    info->host_quota = llcsched_quota_info(s);
    info->trust = llcsched_trust_info(s);
    info->uncharged_ns = llcsched_uncharged_ns(s);
    llcsched_fill_lists(info, s);
    return info;
}

LlcschedInfoList *qmp_query_llcsched(Error **errp)
{
    Llcsched *s = llcsched_find();
    LlcschedInfoList *list = NULL;

    if (s) {
        QAPI_LIST_PREPEND(list, llcsched_info(s));
    }
    return list;
}

static LlcschedPlanInfo *llcsched_plan_info(Llcsched *s,
                                            const LlcschedPlanned *planned)
{
    LlcschedPlanInfo *info = g_new0(LlcschedPlanInfo, 1);
    LlcschedVcpuPlanList **tail = &info->vcpus;
    LlcschedVcpu *vcpu;

    QEMU_LOCK_GUARD(&s->lock);
    info->id = g_strdup(s->id);
    info->verdict = (LlcschedVerdict)planned->plan->verdict;
    info->summary = g_strdup(planned->summary);
    QTAILQ_FOREACH(vcpu, &s->vcpus, next) {
        LlcschedVcpuPlan *row;
        const VcpuPlan *vplan;

        if (vcpu->index < 0 || vcpu->index >= planned->plan->n_vcpus) {
            continue;
        }
        vplan = &planned->plan->vcpus[vcpu->index];
        row = g_new0(LlcschedVcpuPlan, 1);
        row->vcpu = vcpu->index;
        row->mask = host_cpuset_to_list(&vplan->mask);
        row->host_llc = vplan->host_llc;
        row->reason = (LlcschedReason)vplan->reason;
        row->explanation = g_strdup(planned->explanations[vcpu->index]);
        info->changes += !host_cpuset_equal(&vcpu->thread.mask, &vplan->mask);
        QAPI_LIST_APPEND(tail, row);
    }
    return info;
}

LlcschedPlanInfoList *qmp_query_llcsched_plan(Error **errp)
{
    Llcsched *s = llcsched_find();
    LlcschedPlanInfoList *list = NULL;
    g_autoptr(LlcschedPlanned) planned = NULL;

    if (!s) {
        return NULL;
    }
    if (!s->guest) {
        error_setg(errp, "the machine has no vCPUs yet: ask when it has been "
                   "created");
        return NULL;
    }
    planned = llcsched_dry_run(s, errp);
    if (planned) {
        QAPI_LIST_PREPEND(list, llcsched_plan_info(s, planned));
    }
    return list;
}

void qmp_llcsched_replan(Error **errp)
{
    Llcsched *s = llcsched_find();

    if (!s) {
        error_setg(errp, "there is no llcsched object: create one by "
                   "object-add");
        return;
    }
    if (!s->started) {
        error_setg(errp, "the VM has not run yet: vCPUs are placed when it "
                   "starts");
        return;
    }
    llcsched_trust_look(s);
    if (!llcsched_look(s, LLCSCHED_WHY_COMMAND, errp)) {
        return;
    }
    QEMU_LOCK_GUARD(&s->lock);
    if (s->view->error) {
        error_setg(errp, "%s", s->view->error);
    }
}
