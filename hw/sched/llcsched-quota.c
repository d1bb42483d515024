/*
 * LLC-aware vCPU scheduler: what the host's cgroups leave to the vCPUs
 *
 * Quotas of cgroups are others': they are told of, and neither changed nor
 * counted.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "hw/sched/host-cpuset.h"
#include "llcsched-internal.h"
#include "llcsched-quota.h"
#include "llcsched-throttle.h"

/*
 * Each cgroup is one or two files, and quotas change when an administrator says
 * so.  A start, a plugged vCPU and llcsched-replan do not wait for this.
 */
#define LLCSCHED_QUOTA_LOOKS 10

void llcsched_quota_fini(Llcsched *s)
{
    g_clear_pointer(&s->quota.groups, g_hash_table_unref);
    g_clear_pointer(&s->quota.quotas, host_quotas_free);
}

static GArray *llcsched_quota_threads(Llcsched *s)
{
    GArray *tids = g_array_new(FALSE, FALSE, sizeof(int));
    LlcschedVcpu *vcpu;

    QEMU_LOCK_GUARD(&s->lock);
    QTAILQ_FOREACH(vcpu, &s->vcpus, next) {
        if (vcpu->thread.id) {
            g_array_append_val(tids, vcpu->thread.id);
        }
    }
    return tids;
}

void llcsched_quota_look(Llcsched *s, bool now)
{
    const char *root = s->ops->own_root(s);
    g_autoptr(GArray) tids = NULL;
    LlcschedQuota fresh = { .wait = LLCSCHED_QUOTA_LOOKS };

    if (!now && --s->quota.wait > 0) {
        return;
    }
    tids = llcsched_quota_threads(s);
    fresh.quotas = host_quotas_new();
    fresh.groups = g_hash_table_new(NULL, NULL);
    for (guint i = 0; i < tids->len; i++) {
        int tid = g_array_index(tids, int, i);
        int group = host_quotas_read(fresh.quotas, root, tid, &fresh.error);

        if (group >= 0) {
            g_hash_table_insert(fresh.groups, GINT_TO_POINTER(tid),
                                GINT_TO_POINTER(group));
        } else {
            fresh.error = group;
        }
    }
    QEMU_LOCK_GUARD(&s->lock);
    llcsched_quota_fini(s);
    s->quota = fresh;
}

/* The group of a vCPU's thread; -1: not known. */
static int llcsched_quota_group(const LlcschedVcpu *vcpu)
{
    gpointer group;

    return g_hash_table_lookup_extended(vcpu->sched->quota.groups,
                                        GINT_TO_POINTER(vcpu->thread.id),
                                        NULL, &group)
           ? GPOINTER_TO_INT(group) : -1;
}

static bool llcsched_quota_in(const LlcschedVcpu *vcpu,
                              const LlcschedGroup *group)
{
    const LlcschedGroup *at = vcpu->group;

    while (at && at != group) {
        at = at->parent;
    }
    return at == group;
}

/* What the vCPUs of @group (NULL: all) may use, and how many they are. */
static double llcsched_quota_cpus(const Llcsched *s,
                                  const LlcschedGroup *group, int *ret_vcpus)
{
    g_autoptr(GArray) groups = g_array_new(FALSE, FALSE, sizeof(int));
    LlcschedVcpu *vcpu;

    QTAILQ_FOREACH(vcpu, &s->vcpus, next) {
        if (vcpu->thread.id && (!group || llcsched_quota_in(vcpu, group))) {
            int number = llcsched_quota_group(vcpu);

            g_array_append_val(groups, number);
        }
    }
    *ret_vcpus = groups->len;
    return host_quotas_cpus(s->quota.quotas, (int *)groups->data,
                            groups->len);
}

bool llcsched_quota_tighter(const LlcschedGroup *group,
                            const BandwidthLimits *limits)
{
    const Llcsched *s = group->sched;
    double cpus;
    int n;

    if (!s->quota.quotas || !limits->quota_ns) {
        return false;
    }
    cpus = llcsched_quota_cpus(s, group, &n);
    /* what limits them is a cgroup, not that they are few */
    return cpus < n && cpus * limits->period_ns < limits->quota_ns;
}

/* The tightest group above any vCPU, and which vCPUs it holds for; or -1. */
static int llcsched_quota_tightest(const Llcsched *s, HostCpuSet *ret_vcpus)
{
    const HostQuotas *quotas = s->quota.quotas;
    LlcschedVcpu *vcpu;
    int least = -1;

    QTAILQ_FOREACH(vcpu, &s->vcpus, next) {
        int group = llcsched_quota_group(vcpu);
        int found = group < 0 ? -1 : host_quotas_tightest(quotas, group);

        if (vcpu->index < 0 || vcpu->index >= HOST_CPU_MAX) {
            continue; /* no set of vCPUs can tell of it */
        }
        if (found >= 0 && found != least &&
            (least < 0 || host_quota_tighter(host_quotas_quota(quotas, found),
                                             host_quotas_quota(quotas,
                                                               least)))) {
            least = found;
            *ret_vcpus = (HostCpuSet) { };
        }
        if (found >= 0 && found == least) {
            host_cpuset_add(ret_vcpus, vcpu->index);
        }
    }
    return least;
}

static void llcsched_quota_limited(const Llcsched *s, int least,
                                   const HostCpuSet *vcpus,
                                   LlcschedHostQuota *info)
{
    const HostQuota *quota = host_quotas_quota(s->quota.quotas, least);
    int n;

    info->state = LLCSCHED_HOST_QUOTA_STATE_LIMITED;
    info->cgroup = g_strdup(host_quotas_path(s->quota.quotas, least));
    info->vcpus = host_cpuset_to_list(vcpus);
    info->has_quota_us = info->has_period_us = info->has_cpus = true;
    info->quota_us = quota->quota_us;
    info->period_us = quota->period_us;
    info->cpus = llcsched_quota_cpus(s, NULL, &n);
    info->explanation = g_strdup_printf(
        "cgroup %s has a quota of %" PRId64 " us in %" PRId64 " us for vCPU "
        "%s, and all %d vCPUs together get %.2f CPUs at most%s", info->cgroup,
        info->quota_us, info->period_us, info->vcpus, n, info->cpus,
        s->quota.error ? "; not all cgroups can be read" : "");
}

LlcschedHostQuota *llcsched_quota_info(const Llcsched *s)
{
    LlcschedHostQuota *info = g_new0(LlcschedHostQuota, 1);
    HostCpuSet vcpus = { };
    int least = -1;

    if (s->quota.quotas) {
        least = llcsched_quota_tightest(s, &vcpus);
    }
    if (least >= 0) {
        llcsched_quota_limited(s, least, &vcpus, info);
    } else if (!s->quota.quotas) {
        info->state = LLCSCHED_HOST_QUOTA_STATE_UNKNOWN;
        info->explanation = g_strdup("the VM has not run yet");
    } else if (s->quota.error) {
        info->state = LLCSCHED_HOST_QUOTA_STATE_UNKNOWN;
        info->explanation = g_strdup_printf("not all cgroups above the vCPUs "
                                            "can be read: %s",
                                            host_quotas_strerror(
                                                s->quota.error));
    } else {
        info->state = LLCSCHED_HOST_QUOTA_STATE_NONE;
        info->explanation = g_strdup("no cgroup above the vCPUs has a quota");
    }
    return info;
}
