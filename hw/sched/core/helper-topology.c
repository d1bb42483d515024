/*
 * The host's topology as the helper hands it out
 *
 * Cores, LLCs and nodes are sent as what each CPU belongs to; what follows
 * from that (their CPU sets, places and counts) is worked out again by the
 * receiver, so that a message cannot contradict itself.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "helper-protocol-int.h"

static GVariant *cpus_value(const HostTopology *host)
{
    GVariantBuilder builder;

    g_variant_builder_init(&builder, G_VARIANT_TYPE("a(iiiiqy)"));
    for (int i = 0; i < host->n_cpus; i++) {
        const HostCpu *cpu = &host->cpus[i];

        g_variant_builder_add(&builder, "(iiiiqy)", cpu->core, cpu->llc,
                              cpu->node, cpu->package, cpu->capacity,
                              cpu->kind);
    }
    return g_variant_builder_end(&builder);
}

static GVariant *llcs_value(const HostTopology *host)
{
    GVariantBuilder builder;

    g_variant_builder_init(&builder, G_VARIANT_TYPE("a(ut)"));
    for (int i = 0; i < host->n_llcs; i++) {
        g_variant_builder_add(&builder, "(ut)", host->llcs[i].level,
                              host->llcs[i].bytes);
    }
    return g_variant_builder_end(&builder);
}

static GVariant *nodes_value(const HostTopology *host)
{
    GVariantBuilder builder;

    g_variant_builder_init(&builder, G_VARIANT_TYPE("a(ibt)"));
    for (int i = 0; i < host->n_nodes; i++) {
        g_variant_builder_add(&builder, "(ibt)", host->nodes[i].id,
                              host->nodes[i].has_memory,
                              host->nodes[i].mem_bytes);
    }
    return g_variant_builder_end(&builder);
}

/* ACPI keeps a distance in a byte, and 255 means unreachable. */
static GVariant *distances_value(const HostTopology *host)
{
    gsize n = (gsize)host->n_nodes * host->n_nodes;
    g_autofree uint8_t *bytes = g_new(uint8_t, n + 1);

    for (gsize i = 0; i < n; i++) {
        bytes[i] = MIN(host->distances[i], 255);
    }
    return g_variant_new_fixed_array(G_VARIANT_TYPE_BYTE, bytes, n, 1);
}

GVariant *helper_host_body(const HostTopology *host, GError **err)
{
    g_autofree char *possible = host_cpuset_to_list(&host->possible);
    g_autofree char *online = host_cpuset_to_list(&host->online);
    g_autofree char *isolated = host_cpuset_to_list(&host->isolated);

    if (!helper_in_range("number of nodes", host->n_nodes, 0,
                         HELPER_NODES_MAX, err) ||
        !helper_in_range("number of LLCs", host->n_llcs, 0, HELPER_LLCS_MAX,
                         err)) {
        return NULL;
    }
    return g_variant_new("(sss@a(iiiiqy)@a(ut)@a(ibt)@ay)", possible, online,
                         isolated, cpus_value(host), llcs_value(host),
                         nodes_value(host), distances_value(host));
}

/* An index, or -1 for an offline CPU. */
static bool index_valid(const char *name, int index, bool online, int n,
                        GError **err)
{
    if (!online && index == -1) {
        return true;
    }
    return helper_in_range(name, (uint32_t)index, 0, n - 1, err);
}

static bool cpu_parse(GVariant *list, int i, HostTopology *host, GError **err)
{
    HostCpu cpu = { .online = host_cpuset_has(&host->online, i) };
    uint16_t capacity;
    uint8_t kind;

    g_variant_get_child(list, i, "(iiiiqy)", &cpu.core, &cpu.llc, &cpu.node,
                        &cpu.package, &capacity, &kind);
    if (!index_valid("core of a CPU", cpu.core, cpu.online, host->n_cpus,
                     err) ||
        !index_valid("LLC of a CPU", cpu.llc, cpu.online, host->n_llcs, err) ||
        !index_valid("node of a CPU", cpu.node, cpu.online, host->n_nodes,
                     err) ||
        !helper_in_range("capacity of a CPU", capacity, 1, HOST_CAPACITY_MAX,
                         err) ||
        !helper_in_range("kind of a CPU", kind, HOST_CPU_PLAIN,
                         HOST_CPU_EFFICIENCY, err)) {
        return false;
    }
    cpu.capacity = capacity;
    cpu.kind = kind;
    host->cpus[i] = cpu;
    return true;
}

/* CPUs without an online sibling or cache of their own have none of either. */
static bool cpus_parse(GVariant *list, HostTopology *host, GError **err)
{
    HostCpuSet all = { };

    for (int i = 0; i < host->n_cpus; i++) {
        host_cpuset_add(&all, i);
    }
    if (!host_cpuset_subset(&host->possible, &all) ||
        !host_cpuset_subset(&host->isolated, &all) ||
        !host_cpuset_subset(&host->online, &host->possible)) {
        return helper_range_error(err, "highest CPU", HOST_CPU_MAX, 0,
                                  host->n_cpus - 1);
    }
    for (int i = 0; i < host->n_cpus; i++) {
        if (!cpu_parse(list, i, host, err)) {
            return false;
        }
        if (host->cpus[i].online) {
            host->n_cores = MAX(host->n_cores, host->cpus[i].core + 1);
        }
    }
    return true;
}

static void llcs_parse(GVariant *list, HostTopology *host)
{
    host->llcs = g_new0(HostLlc, host->n_llcs);
    for (int i = 0; i < host->n_llcs; i++) {
        g_variant_get_child(list, i, "(ut)", &host->llcs[i].level,
                            &host->llcs[i].bytes);
    }
}

static bool nodes_parse(GVariant *list, HostTopology *host, GError **err)
{
    int64_t least = 0;

    host->nodes = g_new0(HostNode, host->n_nodes);
    for (int i = 0; i < host->n_nodes; i++) {
        HostNode *node = &host->nodes[i];
        gboolean has_memory;

        g_variant_get_child(list, i, "(ibt)", &node->id, &has_memory,
                            &node->mem_bytes);
        node->has_memory = has_memory;
        if (!helper_in_range("number of a node", (uint32_t)node->id, least,
                             HOST_NODE_MAX - 1, err)) {
            return false;
        }
        least = node->id + 1;
    }
    return true;
}

static bool distances_parse(GVariant *value, HostTopology *host, GError **err)
{
    gsize n, wanted = (gsize)host->n_nodes * host->n_nodes;
    const uint8_t *bytes = g_variant_get_fixed_array(value, &n, 1);

    if (!helper_in_range("number of distances", n, wanted, wanted, err)) {
        return false;
    }
    host->distances = g_new(unsigned, n + 1);
    for (gsize i = 0; i < n; i++) {
        host->distances[i] = bytes[i];
    }
    return true;
}

static void place_cpu(HostTopology *host, int i)
{
    const HostCpu *cpu = &host->cpus[i];
    HostCore *core = &host->cores[cpu->core];
    HostLlc *llc = &host->llcs[cpu->llc];

    if (host_cpuset_empty(&llc->cpus)) {
        llc->node = cpu->node;
        llc->package = cpu->package;
    }
    if (host_cpuset_empty(&core->cpus)) {
        core->llc = cpu->llc;
        core->node = cpu->node;
        core->package = cpu->package;
        core->capacity = cpu->capacity;
        llc->n_cores++;
    } else {
        host->smt = true;
    }
    host_cpuset_add(&core->cpus, i);
    host_cpuset_add(&llc->cpus, i);
    host_cpuset_add(&host->nodes[cpu->node].cpus, i);
}

/* Ascending by the lowest CPU, none of them empty, and no core in two LLCs. */
static bool places_agree(const HostTopology *host, GError **err)
{
    int last = -1;

    for (int i = 0; i < host->n_llcs; i++) {
        int first = host_cpuset_next(&host->llcs[i].cpus, 0);

        if (first <= last) {
            return helper_range_error(err, "an LLC out of order", i, 0,
                                      host->n_llcs - 1);
        }
        last = first;
    }
    last = -1;
    for (int i = 0; i < host->n_cores; i++) {
        const HostCore *core = &host->cores[i];
        int first = host_cpuset_next(&core->cpus, 0);

        if (first <= last ||
            !host_cpuset_subset(&core->cpus, &host->llcs[core->llc].cpus)) {
            return helper_range_error(err, "a core out of order", i, 0,
                                      host->n_cores - 1);
        }
        last = first;
    }
    return true;
}

static bool parts_parse(HostTopology *host, GVariant *cpus, GVariant *llcs,
                        GVariant *nodes, GVariant *distances, GError **err)
{
    if (!helper_in_range("number of CPUs", g_variant_n_children(cpus), 1,
                         HOST_CPU_MAX, err) ||
        !helper_in_range("number of LLCs", g_variant_n_children(llcs), 1,
                         HELPER_LLCS_MAX, err) ||
        !helper_in_range("number of nodes", g_variant_n_children(nodes), 1,
                         HELPER_NODES_MAX, err)) {
        return false;
    }
    host->n_cpus = g_variant_n_children(cpus);
    host->n_llcs = g_variant_n_children(llcs);
    host->n_nodes = g_variant_n_children(nodes);
    host->cpus = g_new0(HostCpu, host->n_cpus);
    llcs_parse(llcs, host);
    if (!cpus_parse(cpus, host, err) || !nodes_parse(nodes, host, err) ||
        !distances_parse(distances, host, err)) {
        return false;
    }
    host->cores = g_new0(HostCore, host->n_cores);
    HOST_CPUSET_FOREACH(cpu, &host->online) {
        place_cpu(host, cpu);
    }
    return places_agree(host, err);
}

HostTopology *helper_host_parse(const HelperMessage *message, GError **err)
{
    g_autoptr(HostTopology) host = g_new0(HostTopology, 1);
    g_autoptr(GVariant) cpus = NULL;
    g_autoptr(GVariant) llcs = NULL;
    g_autoptr(GVariant) nodes = NULL;
    g_autoptr(GVariant) distances = NULL;
    const char *possible, *online, *isolated;

    g_assert(message->kind == HELPER_HOST);
    host->refs = 1;
    host->notes = g_ptr_array_new_with_free_func(g_free);
    g_variant_get(message->body, "(&s&s&s@a(iiiiqy)@a(ut)@a(ibt)@ay)",
                  &possible, &online, &isolated, &cpus, &llcs, &nodes,
                  &distances);
    if (!helper_cpus_parse("possible CPUs", possible, &host->possible, err) ||
        !helper_cpus_parse("online CPUs", online, &host->online, err) ||
        !helper_cpus_parse("isolated CPUs", isolated, &host->isolated, err) ||
        !parts_parse(host, cpus, llcs, nodes, distances, err)) {
        return NULL;
    }
    return g_steal_pointer(&host);
}
