/*
 * What tenants got of cores, and who was beside whom
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "core-time.h"

/* 1 or 2; 0: none. */
static int tenant_of(GHashTable *tenants, const Stretch *stretch)
{
    return GPOINTER_TO_INT(g_hash_table_lookup(
                               tenants, GINT_TO_POINTER(stretch->tid)));
}

/* One thread on each of two siblings for @ns. */
static void add_pair(CoreTime *time, int tenant, int other, int64_t ns)
{
    if (tenant && tenant == other) {
        time->paired_ns += ns;
    } else if (tenant && other) {
        time->overlap_ns += ns;
        time->longest_overlap_ns = MAX(time->longest_overlap_ns, ns);
        time->overlaps++;
    } else if (tenant || other) {
        time->beside_ns += ns;
    }
}

static const Stretch *next_on(const GArray *stretches, guint *i, int cpu)
{
    while (*i < stretches->len) {
        const Stretch *stretch = &g_array_index(stretches, Stretch, *i);

        if (stretch->cpu == cpu) {
            return stretch;
        }
        ++*i;
    }
    return NULL;
}

/* Both CPUs' stretches are in order: walk along the two. */
static void add_siblings(CoreTime *time, const GArray *stretches, int cpu,
                         int sibling, GHashTable *tenants)
{
    guint i = 0, j = 0;

    for (;;) {
        const Stretch *a = next_on(stretches, &i, cpu);
        const Stretch *b = next_on(stretches, &j, sibling);
        int64_t from_ns, to_ns;

        if (!a || !b) {
            return;
        }
        from_ns = MAX(a->from_ns, b->from_ns);
        to_ns = MIN(a->to_ns, b->to_ns);
        if (from_ns < to_ns) {
            add_pair(time, tenant_of(tenants, a), tenant_of(tenants, b),
                     to_ns - from_ns);
        }
        if (a->to_ns < b->to_ns) {
            i++;
        } else {
            j++;
        }
    }
}

static gint compare(gconstpointer pa, gconstpointer pb)
{
    const Stretch *a = pa, *b = pb;

    if (a->tid != b->tid) {
        return a->tid < b->tid ? -1 : 1;
    }
    return a->from_ns < b->from_ns ? -1 : a->from_ns > b->from_ns;
}

static void find_longest_wait(CoreTime *time, const GArray *stretches,
                              GHashTable *tenants, int64_t to_ns)
{
    g_autoptr(GArray) sorted = g_array_copy((GArray *)stretches);

    g_array_sort(sorted, compare);
    for (guint i = 0; i < sorted->len; i++) {
        const Stretch *stretch = &g_array_index(sorted, Stretch, i);
        int64_t until_ns = to_ns;

        if (!stretch->preempted || !tenant_of(tenants, stretch)) {
            continue;
        }
        if (i + 1 < sorted->len && stretch[1].tid == stretch->tid) {
            until_ns = stretch[1].from_ns;
        }
        time->longest_wait_ns = MAX(time->longest_wait_ns,
                                    until_ns - stretch->to_ns);
    }
}

CoreTime core_time_sum(const GArray *stretches, const HostCpuSet *cores,
                       int n_cores, GHashTable *tenants, int64_t to_ns)
{
    CoreTime time = { 0 };

    for (int core = 0; core < n_cores; core++) {
        int cpu = host_cpuset_next(&cores[core], 0);
        int sibling = host_cpuset_next(&cores[core], cpu + 1);

        if (sibling >= 0) {
            add_siblings(&time, stretches, cpu, sibling, tenants);
        }
    }
    for (guint i = 0; i < stretches->len; i++) {
        const Stretch *stretch = &g_array_index(stretches, Stretch, i);
        int tenant = tenant_of(tenants, stretch);

        if (tenant) {
            time.granted_ns[tenant - 1] += stretch->to_ns - stretch->from_ns;
        }
    }
    time.alone_ns = time.granted_ns[0] + time.granted_ns[1] -
                    2 * (time.paired_ns + time.overlap_ns) - time.beside_ns;
    find_longest_wait(&time, stretches, tenants, to_ns);
    return time;
}
