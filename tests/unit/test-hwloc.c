/*
 * Compares what we read from a tree with what hwloc reads from it
 *
 * hwloc is a second opinion, written by others, on the same files.  It runs as
 * lstopo-no-graphics on every host of tests/hosts and on dumps of real
 * machines where those are there.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <stdlib.h>
#include <string.h>
#include "host-tree.h"

#define DEPTH_MAX 64

typedef struct SeenCache {
    int level;
    HostCpuSet cpus;
} SeenCache;

/* hwloc's picture of a tree. */
typedef struct Seen {
    HostCpuSet cpus;
    HostCpuSet *core;            /* per CPU; NULL-ed: hwloc names no core */
    SeenCache (*caches)[10];     /* per CPU and level; level 0: none */
    GArray *nodes;               /* of HostNode: id and cpus */
    /* The objects that the parser is in. */
    int depth;
    bool is_core[DEPTH_MAX];
    SeenCache cache[DEPTH_MAX];
    HostCpuSet set[DEPTH_MAX];
} Seen;

/* Where hwloc decides otherwise, and why that is no fault of either. */
static const struct {
    const char *name;
    bool cores;                  /* do not compare cores */
    const char *why;
} known[] = {
    { "64amd64-4s2n4ca2co.tar.bz2", true,
      "hwloc splits AMD's two-core modules by core_id; Linux schedules them "
      "as SMT siblings" },
};

static const char *const dumps[] = {
    "x86_64-epyc_7451.tar.gz", "64amd64-4s2n4ca2co.tar.bz2",
    "128arm-2pa2n8cluster4co.tar.bz2", "256ppc-8n8s4t.tar.bz2",
    "nvidiagpunumanodes.tar.bz2", "16em64t-4s2c2t-offlines.tar.bz2",
    "offline-cpu0-node0.tar.bz2",
};

/* "0x00000303,,0x1": words, highest first; an empty one is zero. */
static HostCpuSet parse_hwloc_set(const char *text)
{
    g_auto(GStrv) words = g_strsplit(text, ",", -1);
    g_autoptr(GString) mask = g_string_new(NULL);
    HostCpuSet set;

    for (char **word = words; *word; word++) {
        const char *digits = g_str_has_prefix(*word, "0x") ? *word + 2 : *word;

        g_string_append_printf(mask, "%s%s", mask->len ? "," : "",
                               *digits ? digits : "0");
    }
    g_assert_true(host_cpuset_parse_mask(mask->str, &set));
    return set;
}

static void see_cpu(Seen *seen, int cpu)
{
    host_cpuset_add(&seen->cpus, cpu);
    for (int i = 0; i < seen->depth; i++) {
        int level = seen->cache[i].level;

        if (seen->is_core[i]) {
            seen->core[cpu] = seen->set[i];
        }
        if (level) {
            seen->caches[cpu][level] = seen->cache[i];
        }
    }
}

static const char *attribute(const char **names, const char **values,
                             const char *name)
{
    for (int i = 0; names[i]; i++) {
        if (!strcmp(names[i], name)) {
            return values[i];
        }
    }
    return NULL;
}

static void start_element(GMarkupParseContext *context, const char *element,
                          const char **names, const char **values,
                          void *data, GError **err)
{
    Seen *seen = data;
    const char *type = attribute(names, values, "type");
    const char *cpuset = attribute(names, values, "cpuset");
    const char *index = attribute(names, values, "os_index");
    const char *cache_type = attribute(names, values, "cache_type");
    int i = seen->depth;

    if (strcmp(element, "object")) {
        return;
    }
    g_assert_cmpint(i, <, DEPTH_MAX);
    seen->set[i] = (HostCpuSet) { };
    if (cpuset) {
        seen->set[i] = parse_hwloc_set(cpuset);
    }
    seen->is_core[i] = !strcmp(type, "Core");
    seen->cache[i] = (SeenCache) { };
    /* 0: unified, 1: data, 2: instruction */
    if (cache_type && strcmp(cache_type, "2")) {
        seen->cache[i].level = atoi(attribute(names, values, "depth"));
        seen->cache[i].cpus = seen->set[i];
    }
    if (!strcmp(type, "NUMANode")) {
        HostNode node = { .id = atoi(index), .cpus = seen->set[i] };

        g_array_append_val(seen->nodes, node);
    }
    if (!strcmp(type, "PU")) {
        see_cpu(seen, atoi(index));
    }
    seen->depth++;
}

static void end_element(GMarkupParseContext *context, const char *element,
                        void *data, GError **err)
{
    Seen *seen = data;

    if (!strcmp(element, "object")) {
        seen->depth--;
    }
}

static void seen_free(Seen *seen)
{
    g_array_unref(seen->nodes);
    g_free(seen->core);
    g_free(seen->caches);
    g_free(seen);
}

/* An XML declaration of the document type is more than GMarkup takes. */
static Seen *parse_hwloc(const char *xml)
{
    static const GMarkupParser parser = {
        .start_element = start_element, .end_element = end_element,
    };
    GMarkupParseContext *context;
    GError *err = NULL;
    Seen *seen = g_new0(Seen, 1);
    const char *body = strstr(xml, "<topology");

    g_assert_nonnull(body);
    seen->core = g_new0(HostCpuSet, HOST_CPU_MAX);
    seen->caches = g_malloc0_n(HOST_CPU_MAX, sizeof(*seen->caches));
    seen->nodes = g_array_new(FALSE, TRUE, sizeof(HostNode));
    context = g_markup_parse_context_new(&parser, 0, seen, NULL);
    g_markup_parse_context_parse(context, body, -1, &err);
    g_assert_no_error(err);
    g_markup_parse_context_free(context);
    return seen;
}

static Seen *run_hwloc(const char *root)
{
    const char *argv[] = { "lstopo-no-graphics", "--of", "xml", "-", NULL };
    g_auto(GStrv) env = g_get_environ();
    g_autofree char *out = NULL;
    GError *err = NULL;
    int status = 0;

    env = g_environ_setenv(env, "HWLOC_FSROOT", root, TRUE);
    env = g_environ_setenv(env, "HWLOC_COMPONENTS", "linux,stop", TRUE);
    env = g_environ_setenv(env, "HWLOC_HIDE_ERRORS", "2", TRUE);
    /* By default it drops the nodes that are a GPU's memory. */
    env = g_environ_setenv(env, "HWLOC_KEEP_NVIDIA_GPU_NUMA_NODES", "1", TRUE);
    g_spawn_sync(NULL, (char **)argv, env, G_SPAWN_SEARCH_PATH, NULL, NULL,
                 &out, NULL, &status, &err);
    g_assert_no_error(err);
    g_assert_cmpint(status, ==, 0);
    return parse_hwloc(out);
}

static void assert_same(const HostCpuSet *ours, const HostCpuSet *theirs,
                        const char *what, int cpu)
{
    g_autofree char *a = host_cpuset_to_list(ours);
    g_autofree char *b = host_cpuset_to_list(theirs);

    if (strcmp(a, b)) {
        g_test_message("the %s of CPU %d", what, cpu);
    }
    g_assert_cmpstr(a, ==, b);
}

static void compare_llc(const HostTopology *host, const Seen *seen, int cpu)
{
    const HostLlc *llc = &host->llcs[host->cpus[cpu].llc];
    const HostCore *core = &host->cores[host->cpus[cpu].core];

    if (llc->level) {
        g_assert_cmpint(seen->caches[cpu][llc->level].level, ==, llc->level);
        assert_same(&llc->cpus, &seen->caches[cpu][llc->level].cpus, "LLC",
                    cpu);
    }
    /* What hwloc knows above it serves one core only, or is no LLC to us. */
    for (int level = llc->level + 1; level < 10; level++) {
        const SeenCache *cache = &seen->caches[cpu][level];

        if (cache->level) {
            g_assert_cmpint(level, <, 3);
            g_assert_true(host_cpuset_subset(&cache->cpus, &core->cpus));
        }
    }
}

static void compare_nodes(const HostTopology *host, const Seen *seen)
{
    int n = 0;

    for (guint i = 0; i < seen->nodes->len; i++) {
        HostNode *theirs = &g_array_index(seen->nodes, HostNode, i);
        int index = host_topology_node_by_id(host, theirs->id);

        g_assert_cmpint(index, >=, 0);
        n++;
        /* hwloc gives a memory-only node the CPUs that are nearest to it. */
        if (!host_cpuset_empty(&host->nodes[index].cpus)) {
            host_cpuset_and(&theirs->cpus, &seen->cpus);
            assert_same(&host->nodes[index].cpus, &theirs->cpus, "node",
                        theirs->id);
        }
    }
    for (int i = 0; i < host->n_nodes; i++) {
        /* hwloc leaves out an offline node, which we keep for its CPUs. */
        n += !host->nodes[i].has_memory &&
             host_tree_has_note(host, "in no online node");
    }
    g_assert_cmpint(n, ==, host->n_nodes);
}

static void compare(const char *name, const char *root)
{
    g_autoptr(HostTopology) host = host_tree_read(root);
    Seen *seen = run_hwloc(root);
    bool cores = true;

    for (size_t i = 0; i < G_N_ELEMENTS(known); i++) {
        if (!strcmp(name, known[i].name)) {
            g_test_message("known difference: %s", known[i].why);
            cores = !known[i].cores;
        }
    }
    assert_same(&host->online, &seen->cpus, "online CPUs", -1);
    HOST_CPUSET_FOREACH(cpu, &host->online) {
        if (cores) {
            assert_same(&host->cores[host->cpus[cpu].core].cpus,
                        &seen->core[cpu], "core", cpu);
        }
        compare_llc(host, seen, cpu);
    }
    compare_nodes(host, seen);
    seen_free(seen);
}

static bool have_hwloc(void)
{
    g_autofree char *path = g_find_program_in_path("lstopo-no-graphics");

    if (!path) {
        g_test_skip("hwloc's lstopo-no-graphics is not installed");
    }
    return path != NULL;
}

static void test_host(const void *data)
{
    char *dir;

    if (have_hwloc()) {
        dir = host_tree_build_file(data);
        compare(data, dir);
        host_tree_free(dir);
    }
}

static void test_dump(const void *data)
{
    const char *why = NULL;
    char *dir = NULL;
    g_autofree char *root = NULL;

    if (!have_hwloc()) {
        return;
    }
    root = host_tree_unpack(data, &dir, &why);
    if (!root) {
        g_test_skip(why);
        return;
    }
    compare(data, root);
    host_tree_free(dir);
}

int main(int argc, char **argv)
{
    g_autoptr(GPtrArray) hosts = NULL;

    g_test_init(&argc, &argv, NULL);
    hosts = host_tree_hosts();
    for (guint i = 0; i < hosts->len; i++) {
        const char *name = g_ptr_array_index(hosts, i);
        g_autofree char *path = g_strconcat("/hwloc/agrees-on/", name, NULL);

        g_test_add_data_func(path, name, test_host);
    }
    for (size_t i = 0; i < G_N_ELEMENTS(dumps); i++) {
        g_autofree char *path = g_strconcat("/hwloc/agrees-on-dump/",
                                            dumps[i], NULL);

        g_test_add_data_func(path, dumps[i], test_dump);
    }
    return g_test_run();
}
