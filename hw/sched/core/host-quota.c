/*
 * How much CPU time the host's cgroups leave to threads of this process
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <string.h>

#include "hw/sched/host-quota.h"

#include "host-file.h"

typedef struct QuotaGroup {
    char *path;
    int parent;                 /* -1: the first */
    HostQuota quota;
} QuotaGroup;

struct HostQuotas {
    GArray *groups;             /* QuotaGroup, parents first */
    GHashTable *by_path;        /* path, owned by the group, to number + 1 */
};

bool host_quota_parse_cgroup(const char *text, HostCgroupVersion *ret_version,
                             char **ret_path)
{
    return host_cgroup_parse(text, "cpu", ret_version, ret_path);
}

static bool parse_quota(const char *quota, const char *period,
                        const char *none, HostQuota *ret_quota)
{
    HostQuota parsed = { };

    if (!host_file_parse_int(period, 1, HOST_QUOTA_PERIOD_US_MAX,
                             &parsed.period_us) ||
        (!g_str_equal(quota, none) &&
         !host_file_parse_int(quota, 1, HOST_QUOTA_US_MAX,
                              &parsed.quota_us))) {
        return false;
    }
    *ret_quota = parsed;
    return true;
}

bool host_quota_parse_max(const char *text, HostQuota *ret_quota)
{
    g_auto(GStrv) words = g_strsplit(text, " ", 3);

    return g_strv_length(words) == 2 &&
           parse_quota(words[0], words[1], "max", ret_quota);
}

bool host_quota_parse_cfs(const char *quota, const char *period,
                          HostQuota *ret_quota)
{
    return parse_quota(quota, period, "-1", ret_quota);
}

static double quota_cpus(const HostQuota *quota)
{
    return (double)quota->quota_us / quota->period_us;
}

bool host_quota_tighter(const HostQuota *a, const HostQuota *b)
{
    return a->quota_us && (!b->quota_us || quota_cpus(a) < quota_cpus(b));
}

static void group_clear(void *group)
{
    g_free(((QuotaGroup *)group)->path);
}

HostQuotas *host_quotas_new(void)
{
    HostQuotas *quotas = g_new0(HostQuotas, 1);

    quotas->groups = g_array_new(FALSE, FALSE, sizeof(QuotaGroup));
    g_array_set_clear_func(quotas->groups, group_clear);
    quotas->by_path = g_hash_table_new(g_str_hash, g_str_equal);
    return quotas;
}

void host_quotas_free(HostQuotas *quotas)
{
    if (quotas) {
        g_hash_table_unref(quotas->by_path);
        g_array_unref(quotas->groups);
        g_free(quotas);
    }
}

static const QuotaGroup *group_at(const HostQuotas *quotas, int group)
{
    return &g_array_index(quotas->groups, QuotaGroup, group);
}

int host_quotas_find(const HostQuotas *quotas, const char *path)
{
    return GPOINTER_TO_INT(g_hash_table_lookup(quotas->by_path, path)) - 1;
}

int host_quotas_add(HostQuotas *quotas, const char *path, int parent,
                    const HostQuota *quota)
{
    int number = quotas->groups->len;
    QuotaGroup group = { .parent = parent, .quota = *quota };

    if (number >= HOST_QUOTA_GROUPS_MAX) {
        return -1;
    }
    group.path = g_strdup(path);
    g_array_append_val(quotas->groups, group);
    g_hash_table_insert(quotas->by_path, group.path,
                        GINT_TO_POINTER(number + 1));
    return number;
}

int host_quotas_tightest(const HostQuotas *quotas, int group)
{
    HostQuota least = { };
    int found = -1;

    while (group >= 0) {
        const QuotaGroup *at = group_at(quotas, group);

        if (host_quota_tighter(&at->quota, &least)) {
            least = at->quota;
            found = group;
        }
        group = at->parent;
    }
    return found;
}

const char *host_quotas_path(const HostQuotas *quotas, int group)
{
    return group_at(quotas, group)->path;
}

const HostQuota *host_quotas_quota(const HostQuotas *quotas, int group)
{
    return &group_at(quotas, group)->quota;
}

double host_quotas_cpus(const HostQuotas *quotas, const int *groups, int n)
{
    g_autofree double *below = g_new0(double, quotas->groups->len);
    double all = 0;

    for (int i = 0; i < n; i++) {
        if (groups[i] < 0) {
            all++;
        } else {
            below[groups[i]]++;
        }
    }
    /* From the leaves up: each passes on what it lets through. */
    for (int i = (int)quotas->groups->len - 1; i >= 0; i--) {
        const QuotaGroup *group = group_at(quotas, i);
        double cpus = below[i];

        if (group->quota.quota_us) {
            cpus = MIN(cpus, quota_cpus(&group->quota));
        }
        if (group->parent < 0) {
            all += cpus;
        } else {
            below[group->parent] += cpus;
        }
    }
    return all;
}
