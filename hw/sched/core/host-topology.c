/*
 * The snapshot of a host's topology: its life, comparison and look-ups
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "host-topology-int.h"

GQuark host_topology_error_quark(void)
{
    return g_quark_from_static_string("host-topology-error-quark");
}

static int last_cpu(const HostCpuSet *set)
{
    int last = -1;

    HOST_CPUSET_FOREACH(cpu, set) {
        last = cpu;
    }
    return last;
}

HostTopology *host_topology_new_flat(const HostCpuSet *online,
                                     const char *note)
{
    HostTopology *host = g_new0(HostTopology, 1);

    host->refs = 1;
    host->n_cpus = last_cpu(online) + 1;
    host->possible = host->online = *online;
    host->cpus = g_new0(HostCpu, host->n_cpus);
    host->cores = g_new0(HostCore, host_cpuset_count(online));
    host->llcs = g_new0(HostLlc, 1);
    host->nodes = g_new0(HostNode, 1);
    host->distances = g_new(unsigned, 1);
    host->distances[0] = 10;
    host->notes = g_ptr_array_new_with_free_func(g_free);
    g_ptr_array_add(host->notes, g_strdup(note));
    for (int cpu = 0; cpu < host->n_cpus; cpu++) {
        host->cpus[cpu] = (HostCpu) {
            .core = -1, .llc = -1, .node = -1, .package = -1,
            .capacity = HOST_CAPACITY_MAX,
        };
    }
    HOST_CPUSET_FOREACH(cpu, online) {
        HostCore *core = &host->cores[host->n_cores];

        host->cpus[cpu].online = true;
        host->cpus[cpu].core = host->n_cores++;
        host->cpus[cpu].llc = host->cpus[cpu].node = 0;
        host->cpus[cpu].package = 0;
        host_cpuset_add(&core->cpus, cpu);
        core->capacity = HOST_CAPACITY_MAX;
    }
    host->n_llcs = host->n_nodes = 1;
    host->llcs[0] = (HostLlc) { .cpus = *online, .n_cores = host->n_cores };
    host->nodes[0] = (HostNode) { .cpus = *online, .has_memory = true };
    return host;
}

HostTopology *host_topology_ref(HostTopology *host)
{
    g_atomic_int_inc(&host->refs);
    return host;
}

void host_topology_unref(HostTopology *host)
{
    if (!host || !g_atomic_int_dec_and_test(&host->refs)) {
        return;
    }
    g_clear_pointer(&host->notes, g_ptr_array_unref);
    g_free(host->cpus);
    g_free(host->cores);
    g_free(host->llcs);
    g_free(host->nodes);
    g_free(host->distances);
    g_free(host);
}

static bool cpus_equal(const HostCpu *a, const HostCpu *b)
{
    return a->online == b->online && a->core == b->core && a->llc == b->llc &&
           a->node == b->node && a->package == b->package &&
           a->capacity == b->capacity && a->kind == b->kind;
}

static bool cores_equal(const HostCore *a, const HostCore *b)
{
    return host_cpuset_equal(&a->cpus, &b->cpus) && a->llc == b->llc &&
           a->node == b->node && a->package == b->package &&
           a->capacity == b->capacity;
}

static bool llcs_equal(const HostLlc *a, const HostLlc *b)
{
    return host_cpuset_equal(&a->cpus, &b->cpus) && a->level == b->level &&
           a->bytes == b->bytes && a->node == b->node &&
           a->package == b->package && a->n_cores == b->n_cores;
}

static bool nodes_equal(const HostNode *a, const HostNode *b)
{
    return a->id == b->id && host_cpuset_equal(&a->cpus, &b->cpus) &&
           a->has_memory == b->has_memory && a->mem_bytes == b->mem_bytes;
}

bool host_topology_equal(const HostTopology *a, const HostTopology *b)
{
    bool equal = a->n_cpus == b->n_cpus && a->n_cores == b->n_cores &&
                 a->n_llcs == b->n_llcs && a->n_nodes == b->n_nodes &&
                 a->smt == b->smt &&
                 host_cpuset_equal(&a->possible, &b->possible) &&
                 host_cpuset_equal(&a->online, &b->online) &&
                 host_cpuset_equal(&a->isolated, &b->isolated);

    for (int i = 0; equal && i < a->n_cpus; i++) {
        equal = cpus_equal(&a->cpus[i], &b->cpus[i]);
    }
    for (int i = 0; equal && i < a->n_cores; i++) {
        equal = cores_equal(&a->cores[i], &b->cores[i]);
    }
    for (int i = 0; equal && i < a->n_llcs; i++) {
        equal = llcs_equal(&a->llcs[i], &b->llcs[i]);
    }
    for (int i = 0; equal && i < a->n_nodes; i++) {
        equal = nodes_equal(&a->nodes[i], &b->nodes[i]);
    }
    for (int i = 0; equal && i < a->n_nodes * a->n_nodes; i++) {
        equal = a->distances[i] == b->distances[i];
    }
    return equal;
}

int host_topology_llc_of(const HostTopology *host, int cpu)
{
    return cpu >= 0 && cpu < host->n_cpus ? host->cpus[cpu].llc : -1;
}

int host_topology_node_by_id(const HostTopology *host, int id)
{
    for (int i = 0; i < host->n_nodes; i++) {
        if (host->nodes[i].id == id) {
            return i;
        }
    }
    return -1;
}

unsigned host_topology_distance(const HostTopology *host, int a, int b)
{
    if (a < 0 || b < 0 || a >= host->n_nodes || b >= host->n_nodes) {
        return DISTANCE_REMOTE;
    }
    /* Hosts made by hand in tests may have no table. */
    if (!host->distances) {
        return a == b ? DISTANCE_LOCAL : DISTANCE_REMOTE;
    }
    return host->distances[a * host->n_nodes + b];
}
