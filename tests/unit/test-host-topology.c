/*
 * Tests of the host topology: its rules, one small tree each
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>
#include "host-tree.h"

static void assert_llcs(const HostTopology *host, const char *const *lists)
{
    int n = 0;

    for (; lists[n]; n++) {
        g_assert_cmpint(n, <, host->n_llcs);
        host_tree_assert_cpus(&host->llcs[n].cpus, lists[n]);
    }
    g_assert_cmpint(host->n_llcs, ==, n);
    host_tree_assert_sound(host);
}

static void assert_cores(const HostTopology *host, const char *const *lists)
{
    int n = 0;

    for (; lists[n]; n++) {
        g_assert_cmpint(n, <, host->n_cores);
        host_tree_assert_cpus(&host->cores[n].cpus, lists[n]);
    }
    g_assert_cmpint(host->n_cores, ==, n);
}

static const char *const *list_of(const char *a, const char *b, const char *c,
                                  const char *d)
{
    static const char *lists[5];

    lists[0] = a;
    lists[1] = b;
    lists[2] = c;
    lists[3] = d;
    return lists;
}

static void test_one_core_l3_is_kept(void)
{
    g_autoptr(HostTopology) host = host_tree_topology(
        "cpus 0-7\n"
        "package 0 0-3 repeat 2 step 4\n"
        "core 0-1 repeat 4 step 2\n"
        "cache L2 512K 0-1 repeat 4 step 2\n"
        "cache L3 16M 0-1 repeat 4 step 2\n");

    assert_llcs(host, list_of("0-1", "2-3", "4-5", "6-7"));
    g_assert_cmpint(host->llcs[0].level, ==, 3);
    g_assert_cmpint(host->llcs[3].n_cores, ==, 1);
    g_assert_cmpint(host->llcs[3].package, ==, 1);
}

static void test_private_l2_alone_makes_the_package(void)
{
    g_autoptr(HostTopology) host = host_tree_topology(
        "cpus 0-7\n"
        "package 0 0-3\n"
        "package 7 4-7\n"
        "core 0-1 repeat 4 step 2\n"
        "cache L1d 32K 0-1 repeat 4 step 2\n"
        "cache L2 1M 0-1 repeat 4 step 2\n");

    assert_llcs(host, list_of("0-3", "4-7", NULL, NULL));
    g_assert_cmpint(host->llcs[1].level, ==, 0);
    g_assert_cmpint(host->llcs[1].bytes, ==, 0);
    g_assert_cmpint(host->llcs[1].package, ==, 7);
    g_assert_cmpint(host->llcs[1].n_cores, ==, 2);
    g_assert_true(host_tree_has_note(host, "its package is taken"));
}

static void test_no_cache_and_no_package_makes_the_node(void)
{
    g_autoptr(HostTopology) host = host_tree_topology(
        "cpus 0-7\n"
        "node 0 cpus 0-3 mem 1G\n"
        "node 4 cpus 4-7 mem 1G\n");

    assert_llcs(host, list_of("0-3", "4-7", NULL, NULL));
    g_assert_cmpint(host->cpus[0].package, ==, -1);
    g_assert_true(host_tree_has_note(host, "its node is taken"));
}

static void test_shared_l2_is_the_llc(void)
{
    g_autoptr(HostTopology) host = host_tree_topology(
        "cpus 0-7\n"
        "package 0 0-7\n"
        "cache L1d 32K 0 repeat 8 step 1\n"
        "cache L2 4M 0-3 repeat 2 step 4\n");

    assert_llcs(host, list_of("0-3", "4-7", NULL, NULL));
    g_assert_cmpint(host->llcs[0].level, ==, 2);
    g_assert_cmpuint(host->llcs[0].bytes, ==, 4 << 20);
    g_assert_cmpint(host->notes->len, ==, 1); /* no node folder */
}

static void test_cores_outside_the_l3_keep_their_own_cache(void)
{
    g_autoptr(HostTopology) host = host_tree_topology(
        "cpus 0-7\n"
        "package 0 0-7\n"
        "cache L2 1M 0 repeat 4 step 1\n"
        "cache L2 2M 4-5\n"
        "cache L2 1M 6 repeat 2 step 1\n"
        "cache L3 8M 0-3\n");
    static const char *const llcs[] = { "0-3", "4-5", "6", "7", NULL };

    assert_llcs(host, llcs);
    g_assert_cmpint(host->llcs[0].level, ==, 3);
    g_assert_cmpint(host->llcs[1].level, ==, 2);
    g_assert_cmpint(host->llcs[2].level, ==, 2);
}

static void test_instruction_caches_do_not_count(void)
{
    g_autoptr(HostTopology) host = host_tree_topology(
        "cpus 0-3\n"
        "package 0 0-3\n"
        "cache L2d 1M 0-1 repeat 2 step 2\n"
        "cache L2i 1M 0-3\n"
        "cache L3i 1M 0-3\n");

    assert_llcs(host, list_of("0-1", "2-3", NULL, NULL));
}

/* Linux numbers caches outwards, but nothing promises it. */
static void test_level_counts_not_index(void)
{
    char *dir = host_tree_build(
        "cpus 0-1\n"
        "package 0 0-1\n"
        "cache L3 8M 0-1\n"
        "cache L4 64M 0-1\n");
    g_autoptr(HostTopology) host = NULL;

    for (int cpu = 0; cpu < 2; cpu++) {
        g_autofree char *from = g_strdup_printf(
            "%s/sys/devices/system/cpu/cpu%d/cache/index0", dir, cpu);
        g_autofree char *to = g_strdup_printf(
            "%s/sys/devices/system/cpu/cpu%d/cache/index2", dir, cpu);

        g_assert_cmpint(g_rename(from, to), ==, 0);
    }
    host = host_tree_read(dir);
    g_assert_cmpint(host->llcs[0].level, ==, 4);
    g_assert_cmpuint(host->llcs[0].bytes, ==, 64 << 20);
    host_tree_free(dir);
}

static const char two_llcs[] =
    "cpus 0-7\n"
    "package 0 0-7\n"
    "core 0,4 repeat 4 step 1\n"
    "cache L1d 32K 0,4 repeat 4 step 1\n"
    "cache L3 8M 0-1,4-5 repeat 2 step 2\n"
    "node 0 cpus 0-7 mem 1G\n"
    "distance 0 10\n";

static void test_cache_id_does_not_matter(void)
{
    char *dir = host_tree_build(two_llcs);
    g_autoptr(HostTopology) before = host_tree_read(dir), after = NULL;

    for (int cpu = 0; cpu < 8; cpu++) {
        g_autofree char *path =
            g_strdup_printf("cpu/cpu%d/cache/index1/id", cpu);

        host_tree_put(dir, path, cpu % 3 ? "0\n" : "-1\n", -1);
    }
    after = host_tree_read(dir);
    g_assert_true(host_topology_equal(before, after));
    assert_llcs(after, list_of("0-1,4-5", "2-3,6-7", NULL, NULL));
    g_assert_cmpint(after->notes->len, ==, 0);
    host_tree_free(dir);
}

/* One CPU without its own cache files is still in the set of the others. */
static void test_a_silent_cpu_is_where_others_say(void)
{
    g_autoptr(HostTopology) before = host_tree_topology(two_llcs);

    for (int cpu = 0; cpu < 8; cpu++) {
        g_autofree char *path = g_strdup_printf("cpu/cpu%d/cache", cpu);
        char *dir = host_tree_build(two_llcs);
        g_autoptr(HostTopology) after = NULL;

        host_tree_remove(dir, path);
        after = host_tree_read(dir);
        g_assert_true(host_topology_equal(before, after));
        g_assert_true(host_tree_has_note(after, "/cache: No such file"));
        host_tree_free(dir);
    }
}

/* A CPU that lost its L3 must not make its L2 an LLC inside the others' L3. */
static void test_higher_level_wins(void)
{
    g_autoptr(HostTopology) before = NULL, after = NULL;
    char *dir = host_tree_build(
        "cpus 0-3\n"
        "package 0 0-3\n"
        "cache L2 1M 0-1 repeat 2 step 2\n"
        "cache L3 8M 0-3\n");

    before = host_tree_read(dir);
    host_tree_remove(dir, "cpu/cpu0/cache/index1");
    after = host_tree_read(dir);
    g_assert_true(host_topology_equal(before, after));
    g_assert_true(host_tree_has_note(after, "contradicts"));
    host_tree_free(dir);
}

static void test_contradicting_caches(void)
{
    char *dir = host_tree_build(
        "cpus 0-5\n"
        "package 0 0-5\n"
        "cache L3 8M 0-3\n"
        "cache L3 8M 4-5\n");
    g_autoptr(HostTopology) host = NULL, again = NULL;

    for (int cpu = 2; cpu < 6; cpu++) {
        g_autofree char *path =
            g_strdup_printf("cpu/cpu%d/cache/index0/shared_cpu_list", cpu);

        host_tree_put(dir, path, "2-5\n", -1);
    }
    host = host_tree_read(dir);
    assert_llcs(host, list_of("0-3", "4-5", NULL, NULL));
    g_assert_true(host_tree_has_note(host, "contradicts"));
    again = host_tree_read(dir);
    g_assert_true(host_topology_equal(host, again));
    host_tree_free(dir);
}

/* Neither an empty set nor one of others alone can be a CPU's own. */
static void test_set_without_its_cpu(void)
{
    static const char *const wrong[] = { "", "\n", "1-7\n", "9\n" };
    static const char *const files[] = {
        "cpu/cpu0/cache/index1/shared_cpu_list",
        "cpu/cpu0/topology/thread_siblings_list",
        "cpu/cpu0/topology/core_cpus_list",
    };
    g_autoptr(HostTopology) before = host_tree_topology(two_llcs);

    for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++) {
        char *dir = host_tree_build(two_llcs);
        g_autoptr(HostTopology) after = NULL;

        for (size_t j = 0; j < G_N_ELEMENTS(files); j++) {
            host_tree_put(dir, files[j], wrong[i], -1);
        }
        host_tree_put(dir, "cpu/cpu0/cache/index1/shared_cpu_map", "0\n", -1);
        host_tree_put(dir, "cpu/cpu0/topology/thread_siblings", "0\n", -1);
        host_tree_put(dir, "cpu/cpu0/topology/core_cpus", "0\n", -1);
        after = host_tree_read(dir);
        g_assert_true(host_topology_equal(before, after));
        g_assert_true(host_tree_has_note(after, "shared_cpu_list: not in"));
        host_tree_free(dir);
    }
}

static void test_contradicting_cores(void)
{
    char *dir = host_tree_build(
        "cpus 0-3\n"
        "package 0 0-3\n"
        "core 0-1 repeat 2 step 2\n"
        "cache L3 8M 0-3\n");
    g_autoptr(HostTopology) host = NULL;

    host_tree_put(dir, "cpu/cpu1/topology/thread_siblings_list", "1-2\n", -1);
    host_tree_put(dir, "cpu/cpu2/topology/thread_siblings_list", "1-2\n", -1);
    host = host_tree_read(dir);
    assert_cores(host, list_of("0-1", "2", "3", NULL));
    host_tree_assert_sound(host);
    g_assert_true(host_tree_has_note(host, "SMT siblings contradict"));
    host_tree_free(dir);
}

static void test_a_core_lies_in_one_llc(void)
{
    g_autoptr(HostTopology) host = host_tree_topology(
        "cpus 0-3\n"
        "package 0 0-3\n"
        "core 0-1 repeat 2 step 2\n"
        "cache L3 8M 0,2\n"
        "cache L3 8M 1,3\n");

    assert_llcs(host, list_of("0,2", "1,3", NULL, NULL));
    assert_cores(host, list_of("0", "1", "2", "3"));
    g_assert_true(host_tree_has_note(host, "SMT siblings contradict"));
}

static void test_siblings_by_any_of_their_files(void)
{
    static const char *const files[] = {
        "thread_siblings_list", "core_cpus_list", "thread_siblings",
        "core_cpus",
    };
    g_autoptr(HostTopology) before = host_tree_topology(two_llcs);

    for (size_t keep = 0; keep < G_N_ELEMENTS(files); keep++) {
        char *dir = host_tree_build(two_llcs);
        g_autoptr(HostTopology) after = NULL;

        for (int i = 0; i < 8 * (int)G_N_ELEMENTS(files); i++) {
            g_autofree char *path = g_strdup_printf("cpu/cpu%d/topology/%s",
                                                    i % 8, files[i / 8]);

            if (i / 8 != (int)keep) {
                host_tree_remove(dir, path);
            }
        }
        after = host_tree_read(dir);
        g_assert_true(host_topology_equal(before, after));
        g_assert_cmpint(after->notes->len, ==, 0);
        host_tree_free(dir);
    }
}

static void test_package_numbers_missing(void)
{
    char *dir = host_tree_build(
        "cpus 0-7\n"
        "package 3 0-3\n"
        "package 9 4-7\n"
        "core 0-1 repeat 4 step 2\n"
        "cache L2 1M 0-1 repeat 4 step 2\n");
    g_autoptr(HostTopology) host = NULL;

    for (int cpu = 0; cpu < 8; cpu++) {
        g_autofree char *path =
            g_strdup_printf("cpu/cpu%d/topology/physical_package_id", cpu);

        host_tree_put(dir, path, "-1\n", -1);
    }
    /* The packages' CPU sets are still there. */
    host = host_tree_read(dir);
    assert_llcs(host, list_of("0-3", "4-7", NULL, NULL));
    g_assert_cmpint(host->cpus[3].package, ==, 0);
    g_assert_cmpint(host->cpus[4].package, ==, 1);
    host_tree_free(dir);
}

static const char hybrid[] =
    "cpus 0-5\n"
    "package 0 0-5\n"
    "core 0-1 repeat 2 step 2\n"
    "cache L3 8M 0-5\n"
    "kind performance 0-3\n"
    "kind efficiency 4\n"
    "kind low-power 5\n";

static void test_kinds_without_capacities(void)
{
    g_autoptr(HostTopology) host = host_tree_topology(hybrid);

    g_assert_cmpint(host->cpus[3].kind, ==, HOST_CPU_PERFORMANCE);
    g_assert_cmpint(host->cpus[4].kind, ==, HOST_CPU_EFFICIENCY);
    g_assert_cmpint(host->cpus[5].kind, ==, HOST_CPU_EFFICIENCY);
    g_assert_cmpint(host->cpus[0].capacity, ==, HOST_CAPACITY_MAX);
    g_assert_cmpint(host->cpus[4].capacity, <, HOST_CAPACITY_MAX);
    g_assert_cmpint(host->cores[2].capacity, ==, host->cpus[4].capacity);
}

static void test_capacities_are_believed(void)
{
    g_autofree char *text = g_strconcat(hybrid, "capacity 300 4\n", NULL);
    g_autoptr(HostTopology) host = host_tree_topology(text);

    g_assert_cmpint(host->cpus[4].capacity, ==, 300);
    g_assert_cmpint(host->cpus[5].capacity, ==, HOST_CAPACITY_MAX);
}

static void test_isolated_from_all_sources(void)
{
    char *dir = host_tree_build(
        "cpus 0-7\n"
        "online 0-6\n"
        "isolated 1,7\n"
        "nohz-full 2-3\n"
        "isolated-partition 5\n");
    g_autoptr(HostTopology) host = host_tree_read(dir), null = NULL;

    host_tree_assert_cpus(&host->isolated, "1-3,5,7");
    /* As kernels print a mask that was never allocated, padded even. */
    host_tree_put(dir, "cpu/nohz_full", "     (null)\n", -1);
    null = host_tree_read(dir);
    host_tree_assert_cpus(&null->isolated, "1,5,7");
    g_assert_false(host_tree_has_note(null, "nohz_full"));
    host_tree_free(dir);
}

static void test_nodes(void)
{
    g_autoptr(HostTopology) host = host_tree_topology(
        "cpus 0-3\n"
        "package 0 0-3\n"
        "cache L3 8M 0-3\n"
        "node 1 cpus 0-1 mem 2G\n"
        "node 4 cpus 2-3\n"
        "node 200 mem 1G\n"
        "distance 1 10 20 30\n"
        "distance 4 21 10 31\n"
        "distance 200 32 33 10\n");

    g_assert_cmpint(host->n_nodes, ==, 3);
    g_assert_cmpint(host_topology_node_by_id(host, 200), ==, 2);
    g_assert_cmpint(host_topology_node_by_id(host, 2), ==, -1);
    g_assert_cmpuint(host->nodes[0].mem_bytes, ==, 2ull << 30);
    g_assert_false(host->nodes[1].has_memory);
    g_assert_true(host->nodes[2].has_memory);
    g_assert_true(host_cpuset_empty(&host->nodes[2].cpus));
    g_assert_cmpint(host->cpus[2].node, ==, 1);
    g_assert_cmpint(host_topology_distance(host, 0, 1), ==, 20);
    g_assert_cmpint(host_topology_distance(host, 1, 0), ==, 21);
    g_assert_cmpint(host_topology_distance(host, 2, 1), ==, 33);
    g_assert_cmpint(host_topology_distance(host, 0, 3), ==, 20);
    g_assert_cmpint(host_topology_distance(host, -1, 0), ==, 20);
    host_tree_assert_sound(host);
}

/* Movable memory and that of GPUs is memory, though not "normal". */
static void test_all_memory_counts(void)
{
    char *dir = host_tree_build(
        "cpus 0-1\n"
        "node 0 cpus 0-1 mem 1G\n"
        "node 1 mem 1G\n");
    g_autoptr(HostTopology) host = NULL, old = NULL;

    host_tree_put(dir, "node/has_normal_memory", "0\n", -1);
    host = host_tree_read(dir);
    g_assert_true(host->nodes[1].has_memory);
    /* Before has_memory, what is normal is all there is to know. */
    host_tree_remove(dir, "node/has_memory");
    old = host_tree_read(dir);
    g_assert_true(old->nodes[0].has_memory);
    g_assert_false(old->nodes[1].has_memory);
    host_tree_free(dir);
}

static void test_no_node_folder_makes_node_0(void)
{
    g_autoptr(HostTopology) host = host_tree_topology("cpus 0-3\n");

    g_assert_cmpint(host->n_nodes, ==, 1);
    g_assert_cmpint(host->nodes[0].id, ==, 0);
    g_assert_true(host->nodes[0].has_memory);
    host_tree_assert_cpus(&host->nodes[0].cpus, "0-3");
}

static void test_distance_rows_of_other_lengths(void)
{
    char *dir = host_tree_build(
        "cpus 0-3\n"
        "offline-node 1 2-3\n"
        "node 0 cpus 0 mem 1G\n"
        "node 2 cpus 1 mem 1G\n"
        "distance 0 10 20\n"
        "distance 2 20 10\n");
    g_autoptr(HostTopology) host = NULL;

    /* For all possible nodes: 0, 1 and 2; and for no set of nodes at all. */
    host_tree_put(dir, "node/node0/distance", "10 15 40\n", -1);
    host_tree_put(dir, "node/node2/distance", "1 2 3 4 5\n", -1);
    host = host_tree_read(dir);
    g_assert_cmpint(host->n_nodes, ==, 3);
    host_tree_assert_cpus(&host->nodes[1].cpus, "2-3");
    g_assert_false(host->nodes[1].has_memory);
    g_assert_cmpint(host_topology_distance(host, 0, 1), ==, 15);
    g_assert_cmpint(host_topology_distance(host, 0, 2), ==, 40);
    g_assert_cmpint(host_topology_distance(host, 2, 0), ==, 20);
    g_assert_true(host_tree_has_note(host, "node2/distance"));
    host_tree_assert_sound(host);
    host_tree_free(dir);
}

static void assert_error(const char *root, int code, const char *text)
{
    GError *err = NULL;

    g_assert_null(host_topology_read(root, &err));
    g_assert_error(err, HOST_TOPOLOGY_ERROR, code);
    g_test_message("%s", err->message);
    g_assert_nonnull(strstr(err->message, text));
    g_error_free(err);
}

static void test_errors(void)
{
    char *dir = host_tree_new();

    assert_error("/nowhere", HOST_TOPOLOGY_ERROR_MISSING, "/nowhere/sys");
    assert_error(dir, HOST_TOPOLOGY_ERROR_MISSING, "No such file");
    host_tree_put(dir, "cpu/kernel_max", "8191\n", -1);
    assert_error(dir, HOST_TOPOLOGY_ERROR_MISSING, "online: No such file");
    host_tree_put(dir, "cpu/online", "\n", -1);
    assert_error(dir, HOST_TOPOLOGY_ERROR_MALFORMED, "names no CPU");
    host_tree_put(dir, "cpu/online", "fish\n", -1);
    assert_error(dir, HOST_TOPOLOGY_ERROR_MALFORMED, "not in the format");
    host_tree_free(dir);
}

static void test_online_text(void)
{
    char *dir = host_tree_build("cpus 0-7\nonline 0-2,5\n");
    g_autofree char *text = host_topology_online_text(dir);

    g_assert_cmpstr(text, ==, "0-2,5/");
    g_assert_null(host_topology_online_text("/nowhere"));
    host_tree_free(dir);
}

static void test_online_text_changes_with_a_partition(void)
{
    char *without = host_tree_build("cpus 0-7\n");
    char *with = host_tree_build("cpus 0-7\nisolated-partition 4-7\n");
    g_autofree char *before = host_topology_online_text(without);
    g_autofree char *after = host_topology_online_text(with);

    g_assert_cmpstr(before, !=, after);
    host_tree_free(without);
    host_tree_free(with);
}

static void test_a_flat_host_has_one_llc(void)
{
    g_autoptr(HostTopology) host = NULL;
    HostCpuSet online;

    g_assert_true(host_cpuset_parse_list("1,4-6", &online));
    host = host_topology_new_flat(&online, "nothing can be read");
    host_tree_assert_sound(host);
    g_assert_cmpint(host->n_llcs, ==, 1);
    g_assert_cmpint(host->n_cores, ==, 4);
    host_tree_assert_cpus(&host->llcs[0].cpus, "1,4-6");
    g_assert_true(host_tree_has_note(host, "nothing can be read"));
    g_assert_cmpint(host_topology_llc_of(host, 0), ==, -1);
    g_assert_cmpint(host_topology_llc_of(host, 5), ==, 0);
}

/* No folders: every CPU is a core, all are in one LLC. */
static void test_most_cpus(void)
{
    char *dir = host_tree_new();
    g_autoptr(HostTopology) host = NULL, copy = NULL;

    host_tree_put(dir, "cpu/online", "0-8191\n", -1);
    host_tree_put(dir, "cpu/possible", "0-8191\n", -1);
    host = host_tree_read(dir);
    host_tree_assert_sound(host);
    g_assert_cmpint(host->n_cores, ==, 8192);
    g_assert_cmpint(host->n_llcs, ==, 1);
    g_assert_true(host_tree_has_note(host, "cpu0: No such file or directory "
                                     "(and 8191 more like it)"));
    copy = host_topology_ref(host);
    g_assert_true(host_topology_equal(host, copy));
    host_tree_free(dir);
}

static void test_running_host(void)
{
    g_autoptr(HostTopology) host = host_topology_read("", NULL);

    if (!host) {
        g_test_skip("this host's /sys shows no CPUs");
        return;
    }
    host_tree_assert_sound(host);
    g_assert_cmpint(host_cpuset_count(&host->online), ==,
                    sysconf(_SC_NPROCESSORS_ONLN));
    g_assert_cmpint(host_topology_llc_of(host, -1), ==, -1);
    g_assert_cmpint(host_topology_llc_of(host, host->n_cpus), ==, -1);
}

/* Real machines: the counts that their projects publish with the dumps. */
static const struct {
    const char *file;
    int cpus, cores, llcs, nodes;
} dumps[] = {
    { "x86_64-epyc_7451.tar.gz", 96, 48, 16, 8 },
    { "64amd64-4s2n4ca2co.tar.bz2", 64, 32, 8, 8 },
    { "128arm-2pa2n8cluster4co.tar.bz2", 128, 128, 4, 4 },
    { "256ppc-8n8s4t.tar.bz2", 256, 64, 64, 8 },
    { "nvidiagpunumanodes.tar.bz2", 32, 8, 4, 8 },
    { "16em64t-4s2c2t-offlines.tar.bz2", 12, 7, 4, 1 },
    /* Node 0 is offline, but CPUs of it are online. */
    { "offline-cpu0-node0.tar.bz2", 17, 17, 2, 2 },
};

static void test_dump(const void *data)
{
    int i = GPOINTER_TO_INT(data);
    const char *why = NULL;
    char *dir = NULL;
    g_autofree char *root = host_tree_unpack(dumps[i].file, &dir, &why);
    g_autoptr(HostTopology) host = NULL;

    if (!root) {
        g_test_skip(why);
        return;
    }
    host = host_tree_read(root);
    host_tree_assert_sound(host);
    g_assert_cmpint(host_cpuset_count(&host->online), ==, dumps[i].cpus);
    g_assert_cmpint(host->n_cores, ==, dumps[i].cores);
    g_assert_cmpint(host->n_llcs, ==, dumps[i].llcs);
    g_assert_cmpint(host->n_nodes, ==, dumps[i].nodes);
    host_tree_free(dir);
}

#define ADD(name, func) g_test_add_func("/topology/" name, func)

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    ADD("l3-of-one-core-is-kept", test_one_core_l3_is_kept);
    ADD("private-l2-alone-makes-the-package",
        test_private_l2_alone_makes_the_package);
    ADD("no-cache-and-no-package-makes-the-node",
        test_no_cache_and_no_package_makes_the_node);
    ADD("shared-l2-is-the-llc", test_shared_l2_is_the_llc);
    ADD("cores-outside-the-l3-keep-their-own-cache",
        test_cores_outside_the_l3_keep_their_own_cache);
    ADD("instruction-caches-do-not-count",
        test_instruction_caches_do_not_count);
    ADD("level-counts-not-index", test_level_counts_not_index);
    ADD("cache-id-does-not-matter", test_cache_id_does_not_matter);
    ADD("silent-cpu-is-where-others-say",
        test_a_silent_cpu_is_where_others_say);
    ADD("higher-level-wins", test_higher_level_wins);
    ADD("contradicting-caches-are-divided-with-a-note",
        test_contradicting_caches);
    ADD("set-without-its-cpu-is-not-believed", test_set_without_its_cpu);
    ADD("contradicting-cores-are-divided-with-a-note",
        test_contradicting_cores);
    ADD("core-lies-in-one-llc", test_a_core_lies_in_one_llc);
    ADD("siblings-by-any-of-their-files",
        test_siblings_by_any_of_their_files);
    ADD("package-numbers-missing", test_package_numbers_missing);
    ADD("kinds-without-capacities-order-the-cores",
        test_kinds_without_capacities);
    ADD("capacities-are-believed", test_capacities_are_believed);
    ADD("isolated-from-all-sources", test_isolated_from_all_sources);
    ADD("nodes-with-and-without-memory-and-cpus", test_nodes);
    ADD("all-memory-counts", test_all_memory_counts);
    ADD("no-node-folder-makes-node-0", test_no_node_folder_makes_node_0);
    ADD("distance-rows-of-other-lengths",
        test_distance_rows_of_other_lengths);
    ADD("errors-name-file-and-reason", test_errors);
    ADD("online-text", test_online_text);
    ADD("online-text-changes-with-a-partition",
        test_online_text_changes_with_a_partition);
    ADD("a-flat-host-has-one-llc", test_a_flat_host_has_one_llc);
    ADD("most-cpus", test_most_cpus);
    ADD("running-host-is-sound", test_running_host);
    for (size_t i = 0; i < G_N_ELEMENTS(dumps); i++) {
        g_autofree char *path = g_strconcat("/topology/dump/", dumps[i].file,
                                            NULL);

        g_test_add_data_func(path, GINT_TO_POINTER(i), test_dump);
    }
    return g_test_run();
}
