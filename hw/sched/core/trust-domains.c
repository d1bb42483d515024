/*
 * Domains of trust: cookies whose cores meet
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <string.h>
#include "hw/sched/trust-cores.h"

void trust_cores_widen(const HostTopology *host, const HostCpuSet *mask,
                       HostCpuSet *ret_cores)
{
    HostCpuSet cores = { { 0 } };
    int core;

    if (mask && !host_cpuset_empty(mask) &&
        host_cpuset_subset(mask, &host->online)) {
        HOST_CPUSET_FOREACH(cpu, mask) {
            host_cpuset_add(&cores, host->cpus[cpu].core);
        }
    } else {
        for (core = 0; core < host->n_cores; core++) {
            host_cpuset_add(&cores, core);
        }
    }
    *ret_cores = cores;
}

/* The root of @i; halves the path, so that long ones stay rare. */
static int find_root(int *parent, int i)
{
    while (parent[i] != i) {
        parent[i] = parent[parent[i]];
        i = parent[i];
    }
    return i;
}

/* The lower root wins: a domain is known by its first member. */
static void unite(int *parent, int a, int b)
{
    a = find_root(parent, a);
    b = find_root(parent, b);
    parent[MAX(a, b)] = MIN(a, b);
}

int trust_domains(const HostCpuSet *const *cores, int n, int *ret_domain)
{
    g_autofree int *parent = g_new(int, MAX(n, 1));
    g_autofree int *user = g_new(int, HOST_CPU_MAX);
    int i, n_domains = 0;

    memset(user, -1, HOST_CPU_MAX * sizeof(int));
    for (i = 0; i < n; i++) {
        parent[i] = i;
        HOST_CPUSET_FOREACH(core, cores[i]) {
            if (user[core] < 0) {
                user[core] = i;
            }
            unite(parent, i, user[core]);
        }
    }
    for (i = 0; i < n; i++) {
        int root = find_root(parent, i);

        if (host_cpuset_empty(cores[i])) {
            ret_domain[i] = -1;
        } else {
            ret_domain[i] = root == i ? n_domains++ : ret_domain[root];
        }
    }
    return n_domains;
}
