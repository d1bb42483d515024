/*
 * Makes one consistent picture of what /sys says about a host
 *
 * The rules that hold for every snapshot: each online CPU is in exactly one
 * core, one LLC and one node; a core lies in one LLC.  Where files contradict
 * each other the higher cache level wins, then the lower CPU number.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <unistd.h>
#include "host-file.h"
#include "host-partition.h"
#include "host-sysfs.h"
#include "host-topology-int.h"

/*
 * What an E core can do beside a P core of the same host, where the kernel
 * says only which is which (x86 before 6.12 has no cpu_capacity).  The cores
 * of the 12th to 14th Core generations differ by a factor of about 1.6 in
 * throughput; only the order matters to placement, not the exact number.
 */
#define EFFICIENCY_CAPACITY 640

/* The state of one build. */
typedef struct Builder {
    HostSysfs *sysfs;
    HostTopology *host;
    const SysfsCache **claims; /* per CPU: the cache that is its LLC, or NULL */
} Builder;

/* Does this cache serve more than one core, as @cpu's own files have it? */
static bool cache_spans_cores(const HostSysfs *sysfs, int cpu,
                              const SysfsCache *cache)
{
    HostCpuSet set = cache->set->cpus;

    host_cpuset_and(&set, &sysfs->online);
    if (sysfs->cpus[cpu].core) {
        host_cpuset_andnot(&set, &sysfs->cpus[cpu].core->cpus);
    }
    host_cpuset_remove(&set, cpu);
    return !host_cpuset_empty(&set);
}

/*
 * Which cache is each CPU's LLC.  A level 3 or higher is one even where a
 * single core has it; below, only a cache that several cores share.  A CPU
 * with private caches alone keeps its highest where other CPUs have an LLC
 * (low-power cores beside an L3); where none has, there is no claim at all.
 */
static void choose_claims(Builder *b)
{
    HostSysfs *sysfs = b->sysfs;
    bool any = false;

    HOST_CPUSET_FOREACH(cpu, &sysfs->online) {
        const SysfsCpu *c = &sysfs->cpus[cpu];

        for (int i = 0; i < c->n_caches && !b->claims[cpu]; i++) {
            if (c->caches[i].level >= 3 ||
                cache_spans_cores(sysfs, cpu, &c->caches[i])) {
                b->claims[cpu] = &c->caches[i];
                any = true;
            }
        }
    }
    if (!any) {
        return;
    }
    HOST_CPUSET_FOREACH(cpu, &sysfs->online) {
        const SysfsCpu *c = &sysfs->cpus[cpu];

        if (!b->claims[cpu] && c->n_caches) {
            b->claims[cpu] = &c->caches[0];
        }
    }
}

/* One LLC of all CPUs of @cpu's package (or node) that have none yet. */
static void take_package(Builder *b, Partition *llcs, int cpu)
{
    const HostCpu *cpus = b->host->cpus;
    HostCpuSet set = { };

    HOST_CPUSET_FOREACH(other, &b->host->online) {
        if (llcs->owner[other] < 0 &&
            (cpus[cpu].package >= 0 ?
             cpus[other].package == cpus[cpu].package :
             cpus[other].package < 0 && cpus[other].node == cpus[cpu].node)) {
            host_cpuset_add(&set, other);
        }
    }
    partition_take(llcs, cpu, &set, &b->host->online);
    host_sysfs_note(b->sysfs, "no-llc", 0, "cpu%d: no shared cache is known; "
                    "its %s is taken for one", cpu,
                    cpus[cpu].package >= 0 ? "package" : "node");
}

/* The LLCs as sets: by level downwards, then by CPU, then what is left. */
static void divide_llcs(Builder *b, Partition *llcs)
{
    const HostCpuSet *online = &b->host->online;

    for (int level = HOST_SYSFS_LEVEL_MAX; level > 0; level--) {
        HOST_CPUSET_FOREACH(cpu, online) {
            const SysfsCache *claim = b->claims[cpu];

            if (claim && claim->level == level && llcs->owner[cpu] < 0) {
                partition_take(llcs, cpu, &claim->set->cpus, online);
            }
        }
    }
    HOST_CPUSET_FOREACH(cpu, online) {
        const SysfsCache *claim = b->claims[cpu];

        if (llcs->owner[cpu] < 0) {
            take_package(b, llcs, cpu);
        } else if (claim && !partition_agrees(llcs, cpu, &claim->set->cpus,
                                              online)) {
            host_sysfs_note(b->sysfs, "llc-conflict", 0, "cpu%d: its cache of "
                            "level %d contradicts that of another CPU",
                            cpu, claim->level);
        }
    }
    partition_sort(llcs, b->host->n_cpus);
}

/* Level and size of an LLC: those of its first CPU that claims one. */
static void describe_llc(Builder *b, HostLlc *llc)
{
    int first = host_cpuset_next(&llc->cpus, 0);

    llc->node = b->host->cpus[first].node;
    llc->package = b->host->cpus[first].package;
    HOST_CPUSET_FOREACH(cpu, &llc->cpus) {
        const SysfsCache *claim = b->claims[cpu];

        if (claim && claim->level > llc->level) {
            llc->level = claim->level;
            llc->bytes = claim->set->bytes[claim->level];
        }
    }
}

static void build_llcs(Builder *b)
{
    HostTopology *host = b->host;
    Partition llcs;

    partition_init(&llcs, host->n_cpus);
    divide_llcs(b, &llcs);
    host->n_llcs = llcs.sets->len;
    host->llcs = g_new0(HostLlc, host->n_llcs);
    HOST_CPUSET_FOREACH(cpu, &host->online) {
        host->cpus[cpu].llc = llcs.owner[cpu];
    }
    for (int i = 0; i < host->n_llcs; i++) {
        host->llcs[i].cpus = g_array_index(llcs.sets, HostCpuSet, i);
        describe_llc(b, &host->llcs[i]);
    }
    partition_clear(&llcs);
}

static void divide_cores(Builder *b, Partition *cores)
{
    HostTopology *host = b->host;

    HOST_CPUSET_FOREACH(cpu, &host->online) {
        const SysfsSet *core = b->sysfs->cpus[cpu].core;

        if (core && cores->owner[cpu] < 0) {
            partition_take(cores, cpu, &core->cpus,
                           &host->llcs[host->cpus[cpu].llc].cpus);
        }
    }
    /* Only now those that say nothing: a sibling may have named them. */
    HOST_CPUSET_FOREACH(cpu, &host->online) {
        HostCpuSet alone = { };

        if (cores->owner[cpu] < 0) {
            partition_take(cores, cpu, &alone, &alone);
        }
    }
    HOST_CPUSET_FOREACH(cpu, &host->online) {
        const SysfsSet *core = b->sysfs->cpus[cpu].core;

        if (core && !partition_agrees(cores, cpu, &core->cpus,
                                      &host->online)) {
            host_sysfs_note(b->sysfs, "core-conflict", 0, "cpu%d: its SMT "
                            "siblings contradict another CPU's, or its cache",
                            cpu);
        }
    }
}

static void build_cores(Builder *b)
{
    HostTopology *host = b->host;
    Partition cores;

    partition_init(&cores, host->n_cpus);
    divide_cores(b, &cores);
    partition_sort(&cores, host->n_cpus);
    host->n_cores = cores.sets->len;
    host->cores = g_new0(HostCore, host->n_cores);
    HOST_CPUSET_FOREACH(cpu, &host->online) {
        host->cpus[cpu].core = cores.owner[cpu];
    }
    for (int i = 0; i < host->n_cores; i++) {
        HostCore *core = &host->cores[i];
        const HostCpu *first;

        core->cpus = g_array_index(cores.sets, HostCpuSet, i);
        first = &host->cpus[host_cpuset_next(&core->cpus, 0)];
        core->llc = first->llc;
        core->node = first->node;
        core->package = first->package;
        core->capacity = first->capacity;
        host->llcs[core->llc].n_cores++;
        host->smt |= host_cpuset_count(&core->cpus) > 1;
    }
    partition_clear(&cores);
}

static void build_packages(Builder *b)
{
    HostTopology *host = b->host;
    int n_packages = 0;

    HOST_CPUSET_FOREACH(cpu, &host->online) {
        host->cpus[cpu].package = b->sysfs->cpus[cpu].package;
        if (host->cpus[cpu].package >= 0) {
            n_packages = -1;
        }
    }
    /*
     * No numbers at all: number the CPU sets, where they are more than cores.
     * Never mixed with real numbers, which a made-up one could repeat.
     */
    HOST_CPUSET_FOREACH(cpu, &host->online) {
        const SysfsCpu *c = &b->sysfs->cpus[cpu];

        if (n_packages < 0 || host->cpus[cpu].package >= 0 ||
            !c->package_cpus || !c->core ||
            host_cpuset_subset(&c->package_cpus->cpus, &c->core->cpus)) {
            continue;
        }
        HOST_CPUSET_FOREACH(member, &c->package_cpus->cpus) {
            if (host_cpuset_has(&host->online, member) &&
                host->cpus[member].package < 0) {
                host->cpus[member].package = n_packages;
            }
        }
        host->cpus[cpu].package = n_packages++;
    }
}

static void build_capacities(Builder *b)
{
    HostTopology *host = b->host;
    const HostSysfs *sysfs = b->sysfs;
    unsigned top = 0;

    HOST_CPUSET_FOREACH(cpu, &host->online) {
        HostCpu *c = &host->cpus[cpu];

        if (host_cpuset_has(&sysfs->performance, cpu)) {
            c->kind = HOST_CPU_PERFORMANCE;
        } else if (host_cpuset_has(&sysfs->efficiency, cpu)) {
            c->kind = HOST_CPU_EFFICIENCY;
        }
        top = MAX(top, sysfs->cpus[cpu].capacity);
    }
    HOST_CPUSET_FOREACH(cpu, &host->online) {
        HostCpu *c = &host->cpus[cpu];

        c->capacity = sysfs->cpus[cpu].capacity;
        if (!c->capacity && top) {
            host_sysfs_note(b->sysfs, "capacity", 0, "cpu%d/cpu_capacity: not "
                            "known beside those of other CPUs", cpu);
        }
        if (!c->capacity) {
            c->capacity = HOST_CAPACITY_MAX;
            if (!top && c->kind == HOST_CPU_EFFICIENCY &&
                !host_cpuset_empty(&sysfs->performance)) {
                c->capacity = EFFICIENCY_CAPACITY;
            }
        }
    }
}

static void add_node(HostTopology *host, int id)
{
    host->nodes = g_renew(HostNode, host->nodes, host->n_nodes + 1);
    host->nodes[host->n_nodes++] = (HostNode) { .id = id };
}

/*
 * Every online CPU gets a node: that of its link, also where that node is
 * offline itself; else the first.  Such a node has no memory to offer.
 */
static void adopt_homeless(Builder *b, const char *root, HostCpuSet *homeless)
{
    HOST_CPUSET_FOREACH(cpu, homeless) {
        int id = host_sysfs_node_link(root, cpu);
        int index;

        if (id < 0 || id >= HOST_NODE_MAX) {
            id = b->host->n_nodes ? b->host->nodes[0].id : 0;
        }
        index = host_topology_node_by_id(b->host, id);
        if (index < 0) {
            add_node(b->host, id);
            index = b->host->n_nodes - 1;
        }
        host_cpuset_add(&b->host->nodes[index].cpus, cpu);
        host_sysfs_note(b->sysfs, "homeless", 0, "cpu%d: in no online node; "
                        "taken to be in node %d", cpu, id);
    }
}

static int compare_nodes(const void *a, const void *b)
{
    return ((const HostNode *)a)->id - ((const HostNode *)b)->id;
}

static void build_nodes(Builder *b, const char *root)
{
    HostTopology *host = b->host;
    HostCpuSet left = host->online;

    for (int i = 0; i < b->sysfs->n_nodes; i++) {
        const SysfsNode *from = &b->sysfs->nodes[i];
        HostNode *node;

        add_node(host, from->id);
        node = &host->nodes[i];
        node->cpus = from->cpus;
        host_cpuset_and(&node->cpus, &host->online);
        if (!host_cpuset_subset(&node->cpus, &left)) {
            host_sysfs_note(b->sysfs, "node-conflict", 0, "node%d: has CPUs "
                            "that an earlier node has as well", from->id);
            host_cpuset_and(&node->cpus, &left);
        }
        host_cpuset_andnot(&left, &node->cpus);
        node->has_memory = from->has_memory;
        node->mem_bytes = from->mem_bytes;
    }
    if (!host->n_nodes) {
        add_node(host, 0);
        host->nodes[0].cpus = host->online;
        host->nodes[0].has_memory = true;
    } else {
        adopt_homeless(b, root, &left);
        qsort(host->nodes, host->n_nodes, sizeof(HostNode), compare_nodes);
    }
    for (int i = 0; i < host->n_nodes; i++) {
        HOST_CPUSET_FOREACH(cpu, &host->nodes[i].cpus) {
            host->cpus[cpu].node = i;
        }
    }
}

/*
 * A row has a number for every online node, ascending by id; kernels that were
 * booted with nodes offline have one for every possible node.
 */
static void build_distance_row(Builder *b, const SysfsNode *from)
{
    HostTopology *host = b->host;
    HostCpuSet ids = b->sysfs->possible_nodes;
    int row = host_topology_node_by_id(host, from->id);
    int column = 0;

    if (from->n_distances == b->sysfs->n_nodes) {
        ids = (HostCpuSet) { };
        for (int i = 0; i < b->sysfs->n_nodes; i++) {
            host_cpuset_add(&ids, b->sysfs->nodes[i].id);
        }
    } else if (from->n_distances != host_cpuset_count(&ids)) {
        if (from->n_distances) {
            host_sysfs_note(b->sysfs, "distances", 0, "node%d/distance: %d "
                            "numbers for %d nodes", from->id,
                            from->n_distances, b->sysfs->n_nodes);
        }
        return;
    }
    HOST_CPUSET_FOREACH(id, &ids) {
        int to = host_topology_node_by_id(host, id);
        unsigned value = from->distances ? from->distances[column++] : 0;

        if (to >= 0 && to != row && value) {
            host->distances[row * host->n_nodes + to] = value;
        }
    }
}

static void build_distances(Builder *b)
{
    HostTopology *host = b->host;
    int n = host->n_nodes;

    host->distances = g_new(unsigned, n * n);
    for (int i = 0; i < n * n; i++) {
        host->distances[i] = i % n == i / n ? DISTANCE_LOCAL : DISTANCE_REMOTE;
    }
    for (int i = 0; i < b->sysfs->n_nodes; i++) {
        build_distance_row(b, &b->sysfs->nodes[i]);
    }
}

static HostTopology *topology_new(const HostSysfs *sysfs)
{
    HostTopology *host = g_new0(HostTopology, 1);

    host->refs = 1;
    host->n_cpus = sysfs->n_cpus;
    host->possible = sysfs->possible;
    host->online = sysfs->online;
    host->isolated = sysfs->isolated;
    host->cpus = g_new0(HostCpu, host->n_cpus);
    for (int cpu = 0; cpu < host->n_cpus; cpu++) {
        host->cpus[cpu] = (HostCpu) {
            .online = host_cpuset_has(&host->online, cpu),
            .core = -1, .llc = -1, .node = -1, .package = -1,
            .capacity = HOST_CAPACITY_MAX,
        };
    }
    return host;
}

static HostTopology *read_once(const char *root, GError **err)
{
    g_autoptr(HostSysfs) sysfs = host_sysfs_read(root, err);
    Builder b = { .sysfs = sysfs };

    if (!sysfs) {
        return NULL;
    }
    b.host = topology_new(sysfs);
    b.claims = g_new0(const SysfsCache *, sysfs->n_cpus);
    build_packages(&b);
    build_capacities(&b);
    build_nodes(&b, root);
    build_distances(&b);
    choose_claims(&b);
    build_llcs(&b);
    build_cores(&b);
    b.host->notes = host_sysfs_take_notes(sysfs);
    g_free(b.claims);
    return b.host;
}

HostTopology *host_topology_read(const char *root, GError **err)
{
    /* A CPU that comes or goes meanwhile would leave half a picture. */
    for (int attempt = 0;; attempt++) {
        g_autofree char *before = host_topology_online_text(root);
        g_autoptr(HostTopology) host = read_once(root, err);
        g_autofree char *after = host_topology_online_text(root);

        if (!host || attempt == 2 || !g_strcmp0(before, after)) {
            return g_steal_pointer(&host);
        }
    }
}

/* Append what @name below @folder holds; false if it cannot be read. */
static bool append_file(GString *text, const char *root, const char *folder,
                        const char *name, char *buf)
{
    int dir = host_file_open_dir(root, folder);
    int err = dir < 0 ? dir : host_file_read(dir, name, buf);

    if (dir >= 0) {
        close(dir);
    }
    if (!err) {
        g_string_append(text, buf);
    }
    return !err;
}

char *host_topology_online_text(const char *root)
{
    g_autofree char *buf = g_malloc(HOST_FILE_MAX + 1);
    g_autoptr(GString) text = g_string_new(NULL);

    if (!append_file(text, root, CPU_DIR, "online", buf)) {
        return NULL;
    }
    /* cpuset partitions come and go while CPUs stay online */
    g_string_append_c(text, '/');
    append_file(text, root, "/sys/fs/cgroup", "cpuset.cpus.isolated", buf);
    return g_string_free(g_steal_pointer(&text), false);
}
