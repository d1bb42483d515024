/*
 * Tests of host descriptions: the parser, the builder, the real machines of
 * tests/hosts and the way back from a tree to a description
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <errno.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>
#include "host-tree.h"

static const char *const dumps[] = {
    "x86_64-epyc_7451.tar.gz", "64amd64-4s2n4ca2co.tar.bz2",
    "128arm-2pa2n8cluster4co.tar.bz2", "256ppc-8n8s4t.tar.bz2",
    "nvidiagpunumanodes.tar.bz2", "16em64t-4s2c2t-offlines.tar.bz2",
    "offline-cpu0-node0.tar.bz2",
};

/* "32M", "512K", "unknown" */
static uint64_t parse_size(const char *text)
{
    char *end;
    uint64_t value;

    if (!strcmp(text, "unknown")) {
        return 0;
    }
    value = g_ascii_strtoull(text, &end, 10);
    g_assert_true(*end == 'K' || *end == 'M');
    return value << (*end == 'K' ? 10 : 20);
}

static HostCpuSet cpus_where(const HostTopology *host, int kind, int capacity)
{
    HostCpuSet set = { };

    HOST_CPUSET_FOREACH(cpu, &host->online) {
        if ((kind < 0 || host->cpus[cpu].kind == kind) &&
            (capacity < 0 || host->cpus[cpu].capacity == capacity)) {
            host_cpuset_add(&set, cpu);
        }
    }
    return set;
}

static void expect_llc(const HostTopology *host, char **w)
{
    int index = atoi(w[2]);

    g_assert_cmpint(index, <, host->n_llcs);
    g_assert_cmpint(host->llcs[index].level, ==, atoi(w[3] + 1));
    g_assert_cmpuint(host->llcs[index].bytes, ==, parse_size(w[4]));
    host_tree_assert_cpus(&host->llcs[index].cpus, w[5]);
}

static void expect_node(const HostTopology *host, char **w)
{
    int index = host_topology_node_by_id(host, atoi(w[2]));

    g_assert_cmpint(index, >=, 0);
    host_tree_assert_cpus(&host->nodes[index].cpus,
                          strcmp(w[3], "-") ? w[3] : "");
}

static void expect_memoryless(const HostTopology *host, char **w)
{
    for (int i = 0; i < host->n_nodes; i++) {
        g_autofree char *id = g_strdup_printf("%d", host->nodes[i].id);

        g_assert_cmpint(host->nodes[i].has_memory, ==,
                        !g_strv_contains((const char *const *)w + 2, id));
    }
}

static void expect_line(const HostTopology *host, char **w)
{
    HostCpuSet set;

    if (!strcmp(w[1], "cpus")) {
        g_assert_cmpint(host_cpuset_count(&host->online), ==, atoi(w[2]));
    } else if (!strcmp(w[1], "cores")) {
        g_assert_cmpint(host->n_cores, ==, atoi(w[2]));
    } else if (!strcmp(w[1], "llcs")) {
        g_assert_cmpint(host->n_llcs, ==, atoi(w[2]));
    } else if (!strcmp(w[1], "nodes")) {
        g_assert_cmpint(host->n_nodes, ==, atoi(w[2]));
    } else if (!strcmp(w[1], "smt")) {
        g_assert_cmpint(host->smt, ==, !strcmp(w[2], "yes"));
    } else if (!strcmp(w[1], "notes")) {
        g_assert_cmpint(host->notes->len > 0, ==, !strcmp(w[2], "some"));
    } else if (!strcmp(w[1], "llc")) {
        expect_llc(host, w);
    } else if (!strcmp(w[1], "node")) {
        expect_node(host, w);
    } else if (!strcmp(w[1], "memoryless")) {
        expect_memoryless(host, w);
    } else if (!strcmp(w[1], "kind")) {
        set = cpus_where(host, strcmp(w[2], "performance") ?
                         HOST_CPU_EFFICIENCY : HOST_CPU_PERFORMANCE, -1);
        host_tree_assert_cpus(&set, w[3]);
    } else if (!strcmp(w[1], "capacity")) {
        set = cpus_where(host, -1, atoi(w[2]));
        host_tree_assert_cpus(&set, w[3]);
    } else {
        g_error("unknown expectation '%s'", w[1]);
    }
}

static void test_host_is_as_expected(const void *data)
{
    const char *name = data;
    g_autofree char *path = host_tree_host_path(name);
    char *dir = host_tree_build_file(name);
    g_autoptr(HostTopology) host = host_tree_read(dir);
    g_autofree char *text = NULL;
    g_auto(GStrv) lines = NULL;
    int n = 0, sources = 0;

    host_tree_free(dir);
    host_tree_assert_sound(host);
    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    lines = g_strsplit(text, "\n", -1);
    for (char **line = lines; *line; line++) {
        g_auto(GStrv) words = g_strsplit(*line, " ", -1);

        sources += g_str_has_prefix(*line, "source ");
        if (g_strv_length(words) >= 3 && !strcmp(words[0], "expect")) {
            g_test_message("%s", *line);
            expect_line(host, words);
            n++;
        }
    }
    /* A file without expectations tests nothing; facts need a source. */
    g_assert_cmpint(n, >=, 5);
    g_assert_cmpint(sources, >=, 1);
}

/* Capture, parse, build and read again: the same host. */
static void check_round_trip(const char *root)
{
    g_autoptr(HostTopology) host = host_tree_read(root);
    g_autoptr(HostTopology) again = NULL;
    g_autofree char *text = NULL, *text2 = NULL;
    GError *err = NULL;
    char *dir;

    text = host_description_capture(root, &err);
    g_assert_no_error(err);
    dir = host_tree_build(text);
    again = host_tree_read(dir);
    if (!host_topology_equal(host, again)) {
        g_test_message("%s", text);
    }
    g_assert_true(host_topology_equal(host, again));
    /* And once more: what is captured from a made tree is the same text. */
    text2 = host_description_capture(dir, &err);
    g_assert_no_error(err);
    g_assert_cmpstr(strchr(strrchr(text, '#'), '\n'), ==,
                    strchr(strrchr(text2, '#'), '\n'));
    host_tree_free(dir);
}

static void test_round_trip_host(const void *data)
{
    char *dir = host_tree_build_file(data);

    check_round_trip(dir);
    host_tree_free(dir);
}

static void test_round_trip_dump(const void *data)
{
    const char *why = NULL;
    char *dir = NULL;
    g_autofree char *root = host_tree_unpack(data, &dir, &why);

    if (!root) {
        g_test_skip(why);
        return;
    }
    check_round_trip(root);
    host_tree_free(dir);
}

static void test_round_trip_running_host(void)
{
    g_autoptr(HostTopology) host = host_topology_read("", NULL);

    if (!host) {
        g_test_skip("this host's /sys shows no CPUs");
        return;
    }
    check_round_trip("");
}

/* A random regular host, with everything that a description can say. */
static char *random_description(GRand *rand)
{
    int threads = 1 << g_rand_int_range(rand, 0, 4);
    int cores = g_rand_int_range(rand, 1, 6);     /* in an LLC */
    int llcs = g_rand_int_range(rand, 1, 5);      /* in a node */
    int nodes = g_rand_int_range(rand, 1, 4);
    int level = g_rand_int_range(rand, 2, 5);
    int per_llc = threads * cores, per_node = per_llc * llcs;
    int n = per_node * nodes;
    GString *out = g_string_new(NULL);

    g_string_append_printf(out, "cpus 0-%d\n", n - 1);
    if (g_rand_boolean(rand)) {
        g_string_append_printf(out, "online %d-%d\n",
                               g_rand_int_range(rand, 0, n), n - 1);
    }
    g_string_append_printf(out, "package 3 0-%d repeat %d step %d\n",
                           per_node - 1, nodes, per_node);
    g_string_append_printf(out, "core 0-%d repeat %d step %d\n", threads - 1,
                           n / threads, threads);
    if (g_rand_int_range(rand, 0, 4)) {
        g_string_append_printf(out, "cache L%d %dM 0-%d repeat %d step %d\n",
                               level, g_rand_int_range(rand, 1, 99),
                               per_llc - 1, llcs * nodes, per_llc);
    }
    if (g_rand_boolean(rand)) {
        g_string_append_printf(out, "node 2 cpus 0-%d mem %dG repeat %d "
                               "step %d\n", per_node - 1,
                               g_rand_int_range(rand, 1, 99), nodes, per_node);
    }
    if (g_rand_boolean(rand)) {
        g_string_append_printf(out, "kind performance 0-%d\n", n / 2);
        if (n / 2 + 1 < n) {
            g_string_append_printf(out, "kind efficiency %d\n", n - 1);
        }
    }
    if (g_rand_boolean(rand)) {
        g_string_append_printf(out, "capacity 512 0-%d\n", n / 2);
        g_string_append_printf(out, "isolated %d\n", n - 1);
    }
    if (g_rand_boolean(rand)) {
        g_string_append(out, "layout masks-only no-cache-id only-llc\n");
    }
    return g_string_free(out, FALSE);
}

static void test_round_trip_random(void)
{
    for (unsigned seed = 1; seed <= 100; seed++) {
        g_autoptr(GRand) rand = g_rand_new_with_seed(seed);
        g_autofree char *text = random_description(rand);
        g_autoptr(HostTopology) host = NULL;
        char *dir;

        g_test_message("seed %u", seed);
        g_test_message("%s", text);
        dir = host_tree_build(text);
        host = host_tree_read(dir);
        host_tree_assert_sound(host);
        check_round_trip(dir);
        host_tree_free(dir);
    }
}

static void test_layout_does_not_change_the_host(void)
{
    static const char *const layouts[] = {
        "layout masks-only\n", "layout no-cache-id\n", "layout only-llc\n",
        "layout masks-only no-cache-id only-llc\n",
    };
    g_autofree char *path = host_tree_host_path("epyc-7451-2s");
    g_autofree char *text = NULL;
    g_autoptr(HostTopology) plain = NULL;

    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    plain = host_tree_topology(text);
    for (size_t i = 0; i < G_N_ELEMENTS(layouts); i++) {
        g_autofree char *other = g_strconcat(text, layouts[i], NULL);
        g_autoptr(HostTopology) host = host_tree_topology(other);

        g_test_message("%s", layouts[i]);
        g_assert_true(host_topology_equal(plain, host));
    }
}

static const struct {
    const char *text, *message;
} bad[] = {
    { "", "line 1: there is no 'cpus' line" },
    { "cpu 0-3\n", "line 1: unknown key 'cpu'" },
    { "cpus\n", "line 1: expected 'cpus LIST'" },
    { "cpus 3-1\n", "line 1: '3-1' is not a list of CPUs" },
    { "cpus 0-8192\n", "below 8192" },
    { "cpus 0-3\ncpus 0-3\n", "line 2: a second 'cpus'" },
    { "online 0\ncpus 0\n", "line 1: '0' has CPUs that 'cpus' does not name" },
    { "cpus 0-3\nonline 4\n", "line 2: '4' has CPUs that" },
    { "cpus 0-3\nonline 0\nonline 0\n", "line 3: a second 'online'" },
    { "cpus 0-3\ncore 0-1 repeat 3 step 2\n", "reaches CPU 4" },
    { "cpus 0-3\ncore 0-1 repeat 2 step 1\n", "earlier 'core'" },
    { "cpus 0-3\ncore 0-1 repeat 0 step 1\n", "repeat '0' is not a number" },
    { "cpus 0-3\ncore 0-1 repeat 2 steps 1\n", "expected 'repeat N step S'" },
    { "cpus 0-3\ncore 0-1 repeat 2 step -1\n", "step '-1'" },
    { "cpus 0-3\ncore 0-1\ncore 1-2\n", "line 3: CPUs 1 are in an earlier" },
    { "cpus 0-3\npackage -1 0\n", "package '-1'" },
    { "cpus 0-3\npackage 0\n", "expected 'package ID LIST" },
    { "cpus 0-3\ncache L0 1M 0\n", "'L0' is not a cache" },
    { "cpus 0-3\ncache L1x 1M 0\n", "'L1x' is not a cache" },
    { "cpus 0-3\ncache L3 big 0\n", "'big' is not a size" },
    { "cpus 0-3\ncache L3 1000 0\n", "'1000' is not a size" },
    { "cpus 0-3\ncache L3 1M 0-1\ncache L3 1M 1-2\n", "earlier 'cache'" },
    { "cpus 0-3\nnode 1024 cpus 0\n", "node '1024' is not a number" },
    { "cpus 0-3\nnode 0\nnode 0\n", "line 3: node 0 is there already" },
    { "cpus 0-3\nnode 0 cpus 0 cpus 1\n", "expected 'node ID" },
    { "cpus 0-3\nnode 0 mem lots\n", "'lots' is not a size" },
    { "cpus 0-3\nnode 0\ndistance 1 10\n", "line 3: no 'node 1' line" },
    { "cpus 0-3\nnode 0\ndistance 0 9\n", "distance '9'" },
    { "cpus 0\nnode 0\ndistance 0 10 20\n", "line 3: 2 distances for 1" },
    { "cpus 0-3\ncapacity 1025 0\n", "capacity '1025'" },
    { "cpus 0-3\ncapacity 1 0-1\ncapacity 2 1\n", "earlier 'capacity'" },
    { "cpus 0-3\nkind fast 0\n", "kind 'fast' is not" },
    { "cpus 0-3\nlayout odd\n", "layout 'odd' is not" },
    { "cpus 0-3\nlayout\n", "expected 'layout NAME" },
};

static void test_mistakes_are_named_with_their_line(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        GError *err = NULL;
        HostDescription *desc;

        g_test_message("%s", bad[i].text);
        desc = host_description_parse(bad[i].text, strlen(bad[i].text), &err);
        g_assert_null(desc);
        g_assert_nonnull(err);
        g_test_message("%s", err->message);
        g_assert_nonnull(strstr(err->message, bad[i].message));
        g_assert_true(g_str_has_prefix(err->message, "line "));
        g_error_free(err);
    }
}

static void test_limits(void)
{
    GString *text = g_string_new("cpus 0-8191\n");
    g_autofree char *big = g_malloc0(5 * 1024 * 1024);
    GError *err = NULL;

    /* Nine caches of every CPU would take 72 MB. */
    for (int level = 1; level <= 9; level++) {
        g_string_append_printf(text, "cache L%d 1M 0 repeat 8192 step 1\n",
                               level);
    }
    g_assert_null(host_description_parse(text->str, text->len, &err));
    g_assert_nonnull(strstr(err->message, "line 6: more than"));
    g_clear_error(&err);
    g_string_free(text, TRUE);
    g_assert_null(host_description_parse("cpus 0\0", 7, &err));
    g_clear_error(&err);
    memset(big, '\n', 5 * 1024 * 1024);
    g_assert_null(host_description_parse(big, 5 * 1024 * 1024, &err));
    g_assert_nonnull(strstr(err->message, "longer than"));
    g_clear_error(&err);
    g_assert_null(host_description_parse(big, 200000, &err));
    g_assert_nonnull(strstr(err->message, "more than 100000 lines"));
    g_clear_error(&err);
}

/* Cut, doubled and changed bytes: an error or a host, never a crash. */
static void test_random_text_is_harmless(void)
{
    g_autofree char *path = host_tree_host_path("core-ultra-7-155h");
    g_autofree char *text = NULL;
    gsize len;

    g_assert_true(g_file_get_contents(path, &text, &len, NULL));
    for (unsigned seed = 1; seed <= 5000; seed++) {
        g_autoptr(GRand) rand = g_rand_new_with_seed(seed);
        g_autofree char *copy = g_memdup2(text, len);
        HostDescription *desc;

        for (int n = g_rand_int_range(rand, 1, 8); n > 0; n--) {
            static const char bytes[] = "0123456789-,:/\t\n LKMG#xrepeat";

            copy[g_rand_int_range(rand, 0, len)] =
                bytes[g_rand_int_range(rand, 0, sizeof(bytes))];
        }
        desc = host_description_parse(copy, g_rand_int_range(rand, 0, len),
                                      NULL);
        host_description_free(desc);
    }
}

static void test_load_host(void)
{
    g_autofree char *path = host_tree_host_path("ryzen-5900x");
    char *dir = host_tree_build_file("ryzen-5900x");
    g_autoptr(HostTopology) file = NULL, tree = NULL;
    GError *err = NULL;

    file = host_description_load_host(path, &err);
    g_assert_no_error(err);
    tree = host_description_load_host(dir, &err);
    g_assert_no_error(err);
    g_assert_true(host_topology_equal(file, tree));
    g_assert_null(host_description_load_host("/nowhere/at/all", &err));
    g_assert_nonnull(strstr(err->message, "/nowhere/at/all: No such file"));
    g_clear_error(&err);
    g_assert_null(host_description_load_host("/proc/self/environ", &err));
    g_assert_nonnull(strstr(err->message, "not a text"));
    g_clear_error(&err);
    host_tree_free(dir);
}

static void assert_file(const char *dir, const char *path, const char *text)
{
    g_autofree char *full = g_build_filename(dir, "sys/devices/system", path,
                                             NULL);
    g_autofree char *found = NULL;

    g_test_message("%s", path);
    if (text) {
        g_assert_true(g_file_get_contents(full, &found, NULL, NULL));
        g_assert_cmpstr(found, ==, text);
    } else {
        g_assert_false(g_file_test(full, G_FILE_TEST_EXISTS));
    }
}

/* Offline CPUs are in no list and no mask, and have no topology. */
static void test_built_files_are_as_linux_has_them(void)
{
    char *dir = host_tree_build(
        "cpus 0-35\n"
        "online 0-3,32-34\n"
        "package 5 0-35\n"
        "core 0-1 repeat 18 step 2\n"
        "cache L1d 32K 0-1 repeat 18 step 2\n"
        "cache L1i 64K 0-1 repeat 18 step 2\n"
        "cache L3 1M 0-35\n"
        "node 3 cpus 0-35 mem 1G\n"
        "distance 3 10\n");

    assert_file(dir, "cpu/online", "0-3,32-34\n");
    assert_file(dir, "cpu/offline", "4-31,35\n");
    assert_file(dir, "cpu/possible", "0-35\n");
    assert_file(dir, "cpu/isolated", "\n");
    assert_file(dir, "cpu/cpu35/online", "0\n");
    assert_file(dir, "cpu/cpu35/topology", NULL);
    assert_file(dir, "cpu/cpu35/cache", NULL);
    assert_file(dir, "cpu/cpu34/topology/core_cpus_list", "34\n");
    assert_file(dir, "cpu/cpu34/topology/core_cpus", "4,00000000\n");
    assert_file(dir, "cpu/cpu34/topology/physical_package_id", "5\n");
    assert_file(dir, "cpu/cpu34/topology/package_cpus_list", "0-3,32-34\n");
    assert_file(dir, "cpu/cpu0/cache/index0/type", "Data\n");
    assert_file(dir, "cpu/cpu0/cache/index1/type", "Instruction\n");
    assert_file(dir, "cpu/cpu0/cache/index1/size", "64K\n");
    assert_file(dir, "cpu/cpu0/cache/index2/level", "3\n");
    assert_file(dir, "cpu/cpu0/cache/index2/size", "1024K\n");
    assert_file(dir, "cpu/cpu0/cache/index2/shared_cpu_map", "7,0000000f\n");
    assert_file(dir, "cpu/cpu0/cpu_capacity", NULL);
    assert_file(dir, "node/online", "3\n");
    assert_file(dir, "node/node3/cpulist", "0-3,32-34\n");
    assert_file(dir, "node/node3/distance", "10\n");
    host_tree_free(dir);
}

static void test_build_errors_name_the_path(void)
{
    g_autoptr(HostDescription) desc = host_description_parse("cpus 0", 6, NULL);
    GError *err = NULL;

    g_assert_false(host_description_build(desc, "/nowhere", &err));
    g_assert_nonnull(strstr(err->message, "/nowhere: No such file"));
    g_clear_error(&err);
    g_assert_false(host_description_build(desc, "/proc", &err));
    g_assert_nonnull(strstr(err->message, "/proc/sys"));
    g_clear_error(&err);
}

int main(int argc, char **argv)
{
    g_autoptr(GPtrArray) hosts = NULL;

    g_test_init(&argc, &argv, NULL);
    hosts = host_tree_hosts();
    g_assert_cmpint(hosts->len, >=, 18);
    for (guint i = 0; i < hosts->len; i++) {
        const char *name = g_ptr_array_index(hosts, i);
        g_autofree char *a = g_strconcat("/description/host-is-as-expected/",
                                         name, NULL);
        g_autofree char *b = g_strconcat("/description/capture-round-trip/",
                                         name, NULL);

        g_test_add_data_func(a, name, test_host_is_as_expected);
        g_test_add_data_func(b, name, test_round_trip_host);
    }
    for (size_t i = 0; i < G_N_ELEMENTS(dumps); i++) {
        g_autofree char *a = g_strconcat("/description/capture-round-trip/",
                                         "dump/", dumps[i], NULL);

        g_test_add_data_func(a, dumps[i], test_round_trip_dump);
    }
    g_test_add_func("/description/capture-round-trip/running-host",
                    test_round_trip_running_host);
    g_test_add_func("/description/capture-round-trip/random-hosts",
                    test_round_trip_random);
    g_test_add_func("/description/layout-does-not-change-the-host",
                    test_layout_does_not_change_the_host);
    g_test_add_func("/description/mistakes-are-named-with-their-line",
                    test_mistakes_are_named_with_their_line);
    g_test_add_func("/description/limits-hold", test_limits);
    g_test_add_func("/description/random-text-is-harmless",
                    test_random_text_is_harmless);
    g_test_add_func("/description/file-and-tree-load-alike", test_load_host);
    g_test_add_func("/description/built-files-are-as-linux-has-them",
                    test_built_files_are_as_linux_has_them);
    g_test_add_func("/description/build-errors-name-the-path",
                    test_build_errors_name_the_path);
    return g_test_run();
}
