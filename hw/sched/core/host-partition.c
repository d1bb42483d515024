/*
 * Divides CPUs into disjoint sets by what each of them claims
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "host-partition.h"

void partition_init(Partition *p, int n_cpus)
{
    p->owner = g_new(int, n_cpus);
    for (int cpu = 0; cpu < n_cpus; cpu++) {
        p->owner[cpu] = -1;
    }
    p->sets = g_array_new(FALSE, TRUE, sizeof(HostCpuSet));
}

void partition_clear(Partition *p)
{
    g_free(p->owner);
    g_array_unref(p->sets);
}

void partition_take(Partition *p, int cpu, const HostCpuSet *claim,
                    const HostCpuSet *limit)
{
    HostCpuSet set = *claim;
    int index = p->sets->len;

    host_cpuset_and(&set, limit);
    host_cpuset_add(&set, cpu);
    HOST_CPUSET_FOREACH(member, &set) {
        if (p->owner[member] >= 0) {
            host_cpuset_remove(&set, member);
        } else {
            p->owner[member] = index;
        }
    }
    g_array_append_val(p->sets, set);
}

static const HostCpuSet *partition_set(const Partition *p, int cpu)
{
    return &g_array_index(p->sets, HostCpuSet, p->owner[cpu]);
}

bool partition_agrees(const Partition *p, int cpu, const HostCpuSet *claim,
                      const HostCpuSet *online)
{
    HostCpuSet set = *claim;

    host_cpuset_and(&set, online);
    return host_cpuset_equal(&set, partition_set(p, cpu));
}

void partition_sort(Partition *p, int n_cpus)
{
    g_autofree int *number = g_new(int, p->sets->len + 1);
    GArray *sorted = g_array_new(FALSE, TRUE, sizeof(HostCpuSet));

    for (guint i = 0; i < p->sets->len; i++) {
        number[i] = -1;
    }
    for (int cpu = 0; cpu < n_cpus; cpu++) {
        int old = p->owner[cpu];

        if (old < 0) {
            continue;
        }
        if (number[old] < 0) {
            number[old] = sorted->len;
            g_array_append_val(sorted,
                               g_array_index(p->sets, HostCpuSet, old));
        }
        p->owner[cpu] = number[old];
    }
    g_array_unref(p->sets);
    p->sets = sorted;
}
