/*
 * The tree of a made-up host for the tests of llcsched
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include <ftw.h>
#include "libqtest.h"
#include "llcsched-tree.h"

void tree_put(const LlcschedTree *tree, const char *file, const char *fmt, ...)
{
    g_autofree char *path = g_strdup_printf("%s/%s", tree->path, file);
    g_autofree char *dir = g_path_get_dirname(path);
    g_autofree char *text = NULL;
    va_list ap;

    va_start(ap, fmt);
    text = g_strdup_vprintf(fmt, ap);
    va_end(ap);
    g_assert_cmpint(g_mkdir_with_parents(dir, 0755), ==, 0);
    g_assert_true(g_file_set_contents(path, text, -1, NULL));
}

void tree_put_cpu(const LlcschedTree *tree, int cpu, const char *file,
                  const char *text)
{
    g_autofree char *path = g_strdup_printf(TREE_CPUS "/cpu%d/%s", cpu, file);

    tree_put(tree, path, "%s\n", text);
}

/* "3", "0-7": @n CPUs from @first, as the kernel prints them. */
static char *tree_range(int first, int n)
{
    return n == 1 ? g_strdup_printf("%d", first)
                  : g_strdup_printf("%d-%d", first, first + n - 1);
}

static char *tree_llc_cpus(const LlcschedTree *tree, int llc)
{
    return tree_range(llc * tree->per_llc, tree->per_llc);
}

static int tree_cpus(const LlcschedTree *tree)
{
    return tree->llcs * tree->per_llc;
}

static void tree_put_topology(const LlcschedTree *tree, int cpu, int threads)
{
    g_autofree char *core = tree_range(cpu / threads * threads, threads);
    g_autofree char *llc = tree_llc_cpus(tree, cpu / tree->per_llc);

    tree_put_cpu(tree, cpu, "topology/thread_siblings_list", core);
    tree_put_cpu(tree, cpu, "topology/core_cpus_list", core);
    tree_put_cpu(tree, cpu, "topology/physical_package_id", "0");
    tree_put_cpu(tree, cpu, "cache/index3/level", "3");
    tree_put_cpu(tree, cpu, "cache/index3/type", "Unified");
    tree_put_cpu(tree, cpu, "cache/index3/size", "32768K");
    tree_put_cpu(tree, cpu, "cache/index3/shared_cpu_list", llc);
}

static void tree_put_node(const LlcschedTree *tree, int node)
{
    int cpus = tree_cpus(tree) / tree->nodes;
    g_autofree char *list = tree_range(node * cpus, cpus);
    g_autofree char *dir = g_strdup_printf(TREE_NODES "/node%d", node);
    g_autofree char *cpulist = g_strdup_printf("%s/cpulist", dir);
    g_autofree char *distance = g_strdup_printf("%s/distance", dir);
    g_autofree char *meminfo = g_strdup_printf("%s/meminfo", dir);
    g_autoptr(GString) row = g_string_new(NULL);

    for (int to = 0; to < tree->nodes; to++) {
        g_string_append_printf(row, "%s%d", to ? " " : "",
                               to == node ? 10 : 20);
    }
    tree_put(tree, cpulist, "%s\n", list);
    tree_put(tree, distance, "%s\n", row->str);
    tree_put(tree, meminfo, "Node %d MemTotal: 1048576 kB\n", node);
}

void tree_put_load(const LlcschedTree *tree)
{
    uint64_t tick_ms = 1000 / sysconf(_SC_CLK_TCK);
    g_autoptr(GString) stat = g_string_new("cpu  1 0 0 1 0 0 0 0 0 0\n");
    g_autoptr(GString) schedstat = g_string_new("version 15\n");

    for (int cpu = 0; cpu < tree_cpus(tree); cpu++) {
        int llc = cpu / tree->per_llc;

        g_string_append_printf(stat, "cpu%d %" PRIu64 " 0 0 9 0 0 0 0 0 0\n",
                               cpu, tree->run_ms[llc] / tick_ms);
        g_string_append_printf(schedstat, "cpu%d 0 0 0 0 0 0 %" PRIu64
                               "000000 %" PRIu64 "000000 0\n", cpu,
                               tree->run_ms[llc], tree->wait_ms[llc]);
    }
    tree_put(tree, "proc/stat", "%s", stat->str);
    if (tree->schedstat) {
        tree_put(tree, "proc/schedstat", "%s", schedstat->str);
    }
}

void tree_run(LlcschedTree *tree, int llc, int run_ms, int wait_ms)
{
    tree->run_ms[llc] += run_ms;
    tree->wait_ms[llc] += wait_ms;
    tree_put_load(tree);
}

static int tree_remove_one(const char *path, const struct stat *st, int type,
                           struct FTW *ftw)
{
    return remove(path);
}

/* Also when an assertion fails: @opaque is the path. */
static void tree_remove(void *opaque)
{
    nftw(opaque, tree_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

LlcschedTree *tree_new_empty(void)
{
    LlcschedTree *tree = g_new0(LlcschedTree, 1);

    tree->path = g_dir_make_tmp("llcsched-test-XXXXXX", NULL);
    g_assert_nonnull(tree->path);
    qtest_add_abrt_handler(tree_remove, tree->path);
    return tree;
}

LlcschedTree *tree_new(int nodes, int llcs, int cores, int threads)
{
    LlcschedTree *tree = tree_new_empty();
    g_autofree char *cpus = tree_range(0, llcs * cores * threads);
    g_autofree char *node_list = tree_range(0, nodes);

    g_assert_cmpint(llcs, <=, TREE_LLCS_MAX);
    tree->nodes = nodes;
    tree->llcs = llcs;
    tree->per_llc = cores * threads;
    tree_put(tree, TREE_CPUS "/online", "%s\n", cpus);
    tree_put(tree, TREE_CPUS "/possible", "%s\n", cpus);
    for (int cpu = 0; cpu < tree_cpus(tree); cpu++) {
        tree_put_topology(tree, cpu, threads);
    }
    tree_put(tree, TREE_NODES "/online", "%s\n", node_list);
    tree_put(tree, TREE_NODES "/has_memory", "%s\n", node_list);
    for (int node = 0; node < nodes; node++) {
        tree_put_node(tree, node);
    }
    for (int llc = 0; llc < llcs; llc++) {
        tree->run_ms[llc] = 1000; /* a CPU that never ran counts as new */
    }
    tree_put_load(tree);
    return tree;
}

void tree_free(LlcschedTree *tree)
{
    qtest_remove_abrt_handler(tree->path);
    tree_remove(tree->path);
    g_free(tree->path);
    g_free(tree);
}
