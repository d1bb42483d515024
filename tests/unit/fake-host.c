/*
 * Hosts made of numbers, for tests of policy that need no sysfs
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <string.h>
#include "fake-host.h"

typedef struct Shape {
    int packages, nodes, llcs, cores, threads, flags;
} Shape;

static int cpu_number(const Shape *s, int core, int thread)
{
    int n_cores = s->packages * s->nodes * s->llcs * s->cores;

    return s->flags & FAKE_HOST_SIBLINGS_APART ? thread * n_cores + core :
                                                 core * s->threads + thread;
}

static void fill_core(HostTopology *host, const Shape *s, int core)
{
    int llc = core / s->cores;
    int node = llc / s->llcs;
    int thread;

    host->cores[core].llc = llc;
    host->cores[core].node = node;
    host->cores[core].package = node / s->nodes;
    host->cores[core].capacity = HOST_CAPACITY_MAX;
    for (thread = 0; thread < s->threads; thread++) {
        int cpu = cpu_number(s, core, thread);

        host->cpus[cpu] = (HostCpu) {
            .online = true, .core = core, .llc = llc, .node = node,
            .package = node / s->nodes, .capacity = HOST_CAPACITY_MAX,
        };
        host_cpuset_add(&host->cores[core].cpus, cpu);
        host_cpuset_add(&host->llcs[llc].cpus, cpu);
        host_cpuset_add(&host->nodes[node].cpus, cpu);
        host_cpuset_add(&host->online, cpu);
    }
}

static unsigned distance(const Shape *s, int a, int b)
{
    return a == b ? 10 : a / s->nodes == b / s->nodes ? 12 : 32;
}

HostTopology *fake_host_new(int packages, int nodes_per_package,
                            int llcs_per_node, int cores_per_llc, int threads,
                            int flags)
{
    Shape s = { packages, nodes_per_package, llcs_per_node, cores_per_llc,
                threads, flags };
    HostTopology *host = g_new0(HostTopology, 1);
    int i, j;

    host->refs = 1;
    host->n_nodes = packages * nodes_per_package;
    host->n_llcs = host->n_nodes * llcs_per_node;
    host->n_cores = host->n_llcs * cores_per_llc;
    host->n_cpus = host->n_cores * threads;
    g_assert(host->n_cpus <= HOST_CPU_MAX);
    host->cpus = g_new0(HostCpu, host->n_cpus);
    host->cores = g_new0(HostCore, host->n_cores);
    host->llcs = g_new0(HostLlc, host->n_llcs);
    host->nodes = g_new0(HostNode, host->n_nodes);
    host->distances = g_new0(unsigned, host->n_nodes * host->n_nodes);
    host->notes = g_ptr_array_new_with_free_func(g_free);
    host->smt = threads > 1;
    for (i = 0; i < host->n_cores; i++) {
        fill_core(host, &s, i);
    }
    for (i = 0; i < host->n_llcs; i++) {
        host->llcs[i].level = 3;
        host->llcs[i].bytes = 32ull << 20;
        host->llcs[i].node = i / llcs_per_node;
        host->llcs[i].package = host->llcs[i].node / nodes_per_package;
        host->llcs[i].n_cores = cores_per_llc;
    }
    for (i = 0; i < host->n_nodes; i++) {
        host->nodes[i].id = flags & FAKE_HOST_SPARSE_NODES ? i * 8 : i;
        host->nodes[i].has_memory = true;
        for (j = 0; j < host->n_nodes; j++) {
            host->distances[i * host->n_nodes + j] = distance(&s, i, j);
        }
    }
    host->possible = host->online;
    return host;
}

/* Drop the entries whose CPU set is empty; @ret_map gives the new indexes. */
static int compact_llcs(HostTopology *host, int *ret_map)
{
    int i, n = 0;

    for (i = 0; i < host->n_llcs; i++) {
        ret_map[i] = -1;
        if (!host_cpuset_empty(&host->llcs[i].cpus)) {
            ret_map[i] = n;
            host->llcs[n++] = host->llcs[i];
        }
    }
    return n;
}

static int compact_cores(HostTopology *host, int *ret_map)
{
    int i, n = 0;

    for (i = 0; i < host->n_cores; i++) {
        ret_map[i] = -1;
        if (!host_cpuset_empty(&host->cores[i].cpus)) {
            ret_map[i] = n;
            host->cores[n++] = host->cores[i];
        } else {
            host->llcs[host->cores[i].llc].n_cores--;
        }
    }
    return n;
}

void fake_host_offline(HostTopology *host, const char *cpus)
{
    g_autofree int *llc_map = g_new(int, host->n_llcs);
    g_autofree int *core_map = g_new(int, host->n_cores);
    HostCpuSet set;
    int i;

    g_assert(host_cpuset_parse_list(cpus, &set));
    HOST_CPUSET_FOREACH(cpu, &set) {
        HostCpu *c = &host->cpus[cpu];

        host_cpuset_remove(&host->cores[c->core].cpus, cpu);
        host_cpuset_remove(&host->llcs[c->llc].cpus, cpu);
        host_cpuset_remove(&host->nodes[c->node].cpus, cpu);
        host_cpuset_remove(&host->online, cpu);
        *c = (HostCpu) { .core = -1, .llc = -1, .node = -1, .package = -1 };
    }
    host->n_cores = compact_cores(host, core_map);
    host->n_llcs = compact_llcs(host, llc_map);
    for (i = 0; i < host->n_cores; i++) {
        host->cores[i].llc = llc_map[host->cores[i].llc];
    }
    for (i = 0; i < host->n_cpus; i++) {
        if (host->cpus[i].online) {
            host->cpus[i].core = core_map[host->cpus[i].core];
            host->cpus[i].llc = llc_map[host->cpus[i].llc];
        }
    }
}

void fake_host_set_bytes(HostTopology *host, int llc, uint64_t bytes)
{
    host->llcs[llc].bytes = bytes;
}

void fake_host_make_hybrid(HostTopology *host, int n_fast, unsigned slow)
{
    int i, in_llc = 0;

    for (i = 0; i < host->n_cores; i++) {
        HostCore *core = &host->cores[i];
        bool fast;

        in_llc = i && core->llc == host->cores[i - 1].llc ? in_llc + 1 : 0;
        fast = in_llc < n_fast;
        core->capacity = fast ? HOST_CAPACITY_MAX : slow;
        HOST_CPUSET_FOREACH(cpu, &core->cpus) {
            host->cpus[cpu].capacity = core->capacity;
            host->cpus[cpu].kind = fast ? HOST_CPU_PERFORMANCE :
                                          HOST_CPU_EFFICIENCY;
        }
    }
}

void fake_host_add_memory_node(HostTopology *host, int id, unsigned distance)
{
    int old = host->n_nodes, n = old + 1, i, j;
    unsigned *distances = g_new(unsigned, n * n);

    g_assert(id > host->nodes[old - 1].id);
    for (i = 0; i < n; i++) {
        for (j = 0; j < n; j++) {
            distances[i * n + j] = i < old && j < old ?
                host->distances[i * old + j] : i == j ? 10 : distance;
        }
    }
    g_free(host->distances);
    host->distances = distances;
    host->nodes = g_renew(HostNode, host->nodes, n);
    host->nodes[old] = (HostNode) { .id = id, .has_memory = true };
    host->n_nodes = n;
}
