/*
 * Tests of CPU sets and of the kernel's list and mask formats
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "hw/sched/host-cpuset.h"

static HostCpuSet list(const char *text)
{
    HostCpuSet set;

    g_assert_true(host_cpuset_parse_list(text, &set));
    return set;
}

static void test_list_forms(void)
{
    static const struct {
        const char *text, *canonical;
    } rows[] = {
        { "", "" }, { "\n", "" }, { "0\n", "0" },
        { "0-2,48-50\n", "0-2,48-50" }, { "3,1,2", "1-3" },
        { "8191", "8191" }, { "0-8191", "0-8191" },
        { "0-9:2/4", "0-1,4-5,8-9" }, { "0-3:0/2", "" },
        { "5-5:1/1", "5" }, { "0-1,1-2", "0-2" }, { "63-64", "63-64" },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        HostCpuSet set = list(rows[i].text);
        g_autofree char *text = host_cpuset_to_list(&set);

        g_assert_cmpstr(text, ==, rows[i].canonical);
    }
}

static void test_bad_is_refused_and_output_kept(void)
{
    static const char *const lists[] = {
        "x", "-1", "1-", "3-1", "8192", "0-8192", "99999999999999999999",
        "0,", ",0", "0,,1", "0-3:", "0-3:1", "0-3:1/0", "0-3:3/2", "0-3:1/",
        "0:1/2", "0 1", "(null)", "0-3x", "+1", "0x10", "0-0x3", "0, 1",
    };
    static const char *const masks[] = {
        "", " ", "g", "000000001", "1,", ",1", "1,,1", "-1", "0x1", "1 1",
        "(null)",
    };
    HostCpuSet before = list("7"), set = before;

    for (size_t i = 0; i < G_N_ELEMENTS(lists); i++) {
        g_test_message("list '%s'", lists[i]);
        g_assert_false(host_cpuset_parse_list(lists[i], &set));
        g_assert_true(host_cpuset_equal(&set, &before));
    }
    for (size_t i = 0; i < G_N_ELEMENTS(masks); i++) {
        g_test_message("mask '%s'", masks[i]);
        g_assert_false(host_cpuset_parse_mask(masks[i], &set));
        g_assert_true(host_cpuset_equal(&set, &before));
    }
}

static void test_mask_forms(void)
{
    static const struct {
        const char *mask, *cpus;
    } rows[] = {
        { "3\n", "0-1" }, { "0", "" }, { "00000000,00ff00ff", "0-7,16-23" },
        { "80000000,00000000\n", "63" }, { "1,00000000,00000000", "64" },
        { "0000,00000000,00000001", "0" }, { "FF", "0-7" },
    };
    HostCpuSet set;

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autofree char *text = NULL;

        g_assert_true(host_cpuset_parse_mask(rows[i].mask, &set));
        text = host_cpuset_to_list(&set);
        g_assert_cmpstr(text, ==, rows[i].cpus);
    }
}

static void test_mask_beyond_the_last_cpu(void)
{
    GString *text = g_string_new("0");
    HostCpuSet set;

    /* 257 words: the highest may only be zero. */
    for (int i = 0; i < HOST_CPU_MAX / 32; i++) {
        g_string_append(text, ",00000001");
    }
    g_assert_true(host_cpuset_parse_mask(text->str, &set));
    g_assert_cmpint(host_cpuset_count(&set), ==, HOST_CPU_MAX / 32);
    text->str[0] = '1';
    g_assert_false(host_cpuset_parse_mask(text->str, &set));
    g_string_free(text, TRUE);
}

static void test_mask_width_is_the_kernels(void)
{
    HostCpuSet set = list("0-1");
    static const struct {
        int n_cpus;
        const char *mask;
    } rows[] = {
        { 2, "3" }, { 4, "3" }, { 5, "03" }, { 32, "00000003" },
        { 33, "0,00000003" }, { 176,
          "0000,00000000,00000000,00000000,00000000,00000003" },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autofree char *text = host_cpuset_to_mask(&set, rows[i].n_cpus);

        g_assert_cmpstr(text, ==, rows[i].mask);
    }
}

static HostCpuSet random_set(GRand *rand)
{
    HostCpuSet set = { };
    int n = g_rand_int_range(rand, 0, 200);
    int top = g_rand_int_range(rand, 1, HOST_CPU_MAX + 1);

    for (int i = 0; i < n; i++) {
        host_cpuset_add(&set, g_rand_int_range(rand, 0, top));
    }
    return set;
}

static void test_text_round_trip(void)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(1);

    for (int i = 0; i < 1000; i++) {
        HostCpuSet set = random_set(rand), back;
        g_autofree char *cpus = host_cpuset_to_list(&set);
        g_autofree char *mask = host_cpuset_to_mask(&set, HOST_CPU_MAX);

        g_test_message("round %d: %s", i, cpus);
        g_assert_true(host_cpuset_parse_list(cpus, &back));
        g_assert_true(host_cpuset_equal(&set, &back));
        g_assert_cmpuint(host_cpuset_hash(&set), ==, host_cpuset_hash(&back));
        g_assert_true(host_cpuset_parse_mask(mask, &back));
        g_assert_true(host_cpuset_equal(&set, &back));
    }
}

/* Every operation against its definition, one CPU at a time. */
static void check_operations(const HostCpuSet *a, const HostCpuSet *b)
{
    HostCpuSet and = *a, or = *a, andnot = *a;
    bool subset = true, equal = true;
    int both = 0;

    host_cpuset_and(&and, b);
    host_cpuset_or(&or, b);
    host_cpuset_andnot(&andnot, b);
    for (int cpu = 0; cpu < HOST_CPU_MAX; cpu++) {
        bool in_a = host_cpuset_has(a, cpu), in_b = host_cpuset_has(b, cpu);

        g_assert_cmpint(host_cpuset_has(&and, cpu), ==, in_a && in_b);
        g_assert_cmpint(host_cpuset_has(&or, cpu), ==, in_a || in_b);
        g_assert_cmpint(host_cpuset_has(&andnot, cpu), ==, in_a && !in_b);
        subset &= !in_a || in_b;
        equal &= in_a == in_b;
        both += in_a && in_b;
    }
    g_assert_cmpint(host_cpuset_subset(a, b), ==, subset);
    g_assert_cmpint(host_cpuset_equal(a, b), ==, equal);
    g_assert_cmpint(host_cpuset_intersects(a, b), ==, both > 0);
    g_assert_cmpint(host_cpuset_count_and(a, b), ==, both);
}

static void test_operations(void)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(2);

    for (int i = 0; i < 100; i++) {
        HostCpuSet a = random_set(rand), b = random_set(rand), part = a;

        host_cpuset_and(&part, &b);
        check_operations(&a, &b);
        check_operations(&part, &a);
        check_operations(&a, &a);
    }
}

static void test_walk_is_ascending_and_whole(void)
{
    HostCpuSet set = list("0,63-65,127,4095,8191"), seen = { };
    int last = -1, n = 0;

    HOST_CPUSET_FOREACH(cpu, &set) {
        g_assert_cmpint(cpu, >, last);
        host_cpuset_add(&seen, cpu);
        last = cpu;
        n++;
    }
    g_assert_cmpint(n, ==, host_cpuset_count(&set));
    g_assert_true(host_cpuset_equal(&set, &seen));
    g_assert_cmpint(host_cpuset_next(&set, HOST_CPU_MAX), ==, -1);
    g_assert_cmpint(host_cpuset_next(&set, -5), ==, 0);
    g_assert_false(host_cpuset_has(&set, -1));
    g_assert_false(host_cpuset_has(&set, HOST_CPU_MAX));
    host_cpuset_remove(&set, 63);
    g_assert_false(host_cpuset_has(&set, 63));
    g_assert_false(host_cpuset_empty(&set));
    set = (HostCpuSet) { };
    g_assert_true(host_cpuset_empty(&set));
}

static void test_hash_spreads(void)
{
    g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL);

    for (int cpu = 0; cpu < HOST_CPU_MAX; cpu++) {
        HostCpuSet set = { };

        host_cpuset_add(&set, cpu);
        g_hash_table_add(seen, GUINT_TO_POINTER(host_cpuset_hash(&set)));
    }
    /* Of 8192 random 32-bit values, 8 meet by chance. */
    g_assert_cmpint(g_hash_table_size(seen), >, HOST_CPU_MAX - 100);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/cpuset/list-forms-of-the-kernel-are-read",
                    test_list_forms);
    g_test_add_func("/cpuset/bad-text-is-refused-and-the-output-untouched",
                    test_bad_is_refused_and_output_kept);
    g_test_add_func("/cpuset/mask-forms-of-the-kernel-are-read",
                    test_mask_forms);
    g_test_add_func("/cpuset/mask-bits-beyond-the-last-cpu-are-refused",
                    test_mask_beyond_the_last_cpu);
    g_test_add_func("/cpuset/mask-is-as-wide-as-the-kernel-prints-it",
                    test_mask_width_is_the_kernels);
    g_test_add_func("/cpuset/text-round-trip-keeps-the-set",
                    test_text_round_trip);
    g_test_add_func("/cpuset/operations-match-their-definition",
                    test_operations);
    g_test_add_func("/cpuset/walk-is-ascending-and-whole",
                    test_walk_is_ascending_and_whole);
    g_test_add_func("/cpuset/hash-spreads", test_hash_spreads);
    return g_test_run();
}
