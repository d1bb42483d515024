/*
 * Tests of who owns a thread's mask
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <string.h>

#include "hw/sched/mask-watch.h"

static HostCpuSet cpus(const char *list)
{
    HostCpuSet set;

    g_assert_true(host_cpuset_parse_list(list, &set));
    return set;
}

static MaskOwner look(MaskWatch *watch, const char *current,
                      const char *allowed)
{
    HostCpuSet now = cpus(current), all = cpus(allowed);

    return mask_watch_look(watch, &now, &all);
}

static void set(MaskWatch *watch, const char *granted)
{
    HostCpuSet mask = cpus(granted);

    mask_watch_was_set(watch, &mask);
}

static void test_everything_is_free_before_we_set(void)
{
    MaskWatch watch = { 0 };

    g_assert_cmpint(look(&watch, "0-7", "0-7"), ==, MASK_UNSET);
    g_assert_cmpint(look(&watch, "0-15", "0-7"), ==, MASK_UNSET);
}

static void test_a_pin_from_before_is_foreign(void)
{
    MaskWatch watch = { 0 };

    g_assert_cmpint(look(&watch, "2", "0-7"), ==, MASK_FOREIGN);
}

static void test_what_we_set_is_ours(void)
{
    MaskWatch watch = { 0 };

    set(&watch, "0-3");
    g_assert_cmpint(look(&watch, "0-3", "0-7"), ==, MASK_OURS);
}

static void test_our_mask_cut_by_the_kernel_is_ours(void)
{
    MaskWatch watch = { 0 };

    set(&watch, "0-3");
    g_assert_cmpint(look(&watch, "0-1", "0-1,4-7"), ==, MASK_OURS);
    g_assert_cmpint(look(&watch, "0-3", "0-7"), ==, MASK_OURS);
}

static void test_our_mask_of_everything_is_ours(void)
{
    MaskWatch watch = { 0 };

    set(&watch, "0-7");
    g_assert_cmpint(look(&watch, "0-7", "0-7"), ==, MASK_OURS);
}

static void test_narrower_and_other_masks_are_foreign(void)
{
    MaskWatch watch = { 0 };

    set(&watch, "0-3");
    g_assert_cmpint(look(&watch, "2", "0-7"), ==, MASK_FOREIGN);
    g_assert_cmpint(look(&watch, "4-7", "0-7"), ==, MASK_FOREIGN);
    g_assert_cmpint(look(&watch, "2-5", "0-7"), ==, MASK_FOREIGN);
}

static void test_foreign_ends_with_a_reset(void)
{
    MaskWatch watch = { 0 };

    set(&watch, "0-3");
    g_assert_cmpint(look(&watch, "2", "0-7"), ==, MASK_FOREIGN);
    g_assert_cmpint(look(&watch, "0-7", "0-7"), ==, MASK_RESET);
}

static void test_three_resets_in_ten_looks_are_a_contest(void)
{
    MaskWatch watch = { 0 };

    g_assert_cmpint(look(&watch, "0-7", "0-7"), ==, MASK_UNSET);
    set(&watch, "0-3");
    g_assert_cmpint(look(&watch, "0-7", "0-7"), ==, MASK_RESET);
    for (int i = 0; i < 3; i++) {
        g_assert_cmpint(look(&watch, "0-3", "0-7"), ==, MASK_OURS);
    }
    g_assert_cmpint(look(&watch, "0-7", "0-7"), ==, MASK_RESET);
    for (int i = 0; i < 4; i++) {
        g_assert_cmpint(look(&watch, "0-3", "0-7"), ==, MASK_OURS);
    }
    /* the tenth look since the first reset, itself included */
    g_assert_cmpint(look(&watch, "0-7", "0-7"), ==, MASK_CONTESTED);
    g_assert_cmpint(look(&watch, "0-3", "0-7"), ==, MASK_CONTESTED);

    mask_watch_forgive(&watch);
    g_assert_cmpint(look(&watch, "0-7", "0-7"), ==, MASK_RESET);
}

static void test_three_resets_in_more_looks_are_none(void)
{
    MaskWatch watch = { 0 };

    set(&watch, "0-3");
    for (int i = 0; i < 50; i++) {
        g_assert_cmpint(look(&watch, "0-7", "0-7"), ==, MASK_RESET);
        for (int j = 0; j < 4; j++) {
            g_assert_cmpint(look(&watch, "0-3", "0-7"), ==, MASK_OURS);
        }
    }
}

static void test_resets_by_a_changing_cpuset_are_no_contest(void)
{
    MaskWatch watch = { 0 };

    set(&watch, "0-3");
    for (int i = 0; i < 20; i++) {
        const char *all = i % 2 ? "4-7" : "0-7";

        g_assert_cmpint(look(&watch, all, all), !=, MASK_CONTESTED);
    }
}

static void test_a_mask_without_an_online_cpu_is_nobodys(void)
{
    MaskWatch watch = { 0 };

    g_assert_cmpint(look(&watch, "", "0-3"), ==, MASK_UNSET);
    set(&watch, "4-7");
    for (int i = 0; i < 10; i++) {
        g_assert_cmpint(look(&watch, "", "0-3"), ==, MASK_RESET);
    }
}

/* QEMU was moved to a cpuset outside of the mask that it inherited. */
static void test_where_nothing_is_allowed_nobody_chose(void)
{
    MaskWatch watch = { 0 };

    g_assert_cmpint(look(&watch, "0-3", ""), ==, MASK_UNSET);
    set(&watch, "4-5");
    for (int i = 0; i < 20; i++) {
        g_assert_cmpint(look(&watch, "0-3", ""), ==, MASK_OURS);
    }
    for (int i = 0; i < 20; i++) {
        g_assert_cmpint(look(&watch, "4-7", i % 2 ? "" : "4-7"), !=,
                        MASK_CONTESTED);
    }
    g_assert_cmpint(look(&watch, "4-7", "4-7"), ==, MASK_RESET);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/mask-watch/everything-is-free-before-we-set",
                    test_everything_is_free_before_we_set);
    g_test_add_func("/mask-watch/a-pin-from-before-is-foreign",
                    test_a_pin_from_before_is_foreign);
    g_test_add_func("/mask-watch/what-we-set-is-ours",
                    test_what_we_set_is_ours);
    g_test_add_func("/mask-watch/our-mask-cut-by-the-kernel-is-ours",
                    test_our_mask_cut_by_the_kernel_is_ours);
    g_test_add_func("/mask-watch/our-mask-of-everything-is-ours",
                    test_our_mask_of_everything_is_ours);
    g_test_add_func("/mask-watch/narrower-and-other-masks-are-foreign",
                    test_narrower_and_other_masks_are_foreign);
    g_test_add_func("/mask-watch/foreign-ends-with-a-reset",
                    test_foreign_ends_with_a_reset);
    g_test_add_func("/mask-watch/three-resets-in-ten-looks-are-a-contest",
                    test_three_resets_in_ten_looks_are_a_contest);
    g_test_add_func("/mask-watch/three-resets-in-more-looks-are-none",
                    test_three_resets_in_more_looks_are_none);
    g_test_add_func("/mask-watch/resets-by-a-changing-cpuset-are-no-contest",
                    test_resets_by_a_changing_cpuset_are_no_contest);
    g_test_add_func("/mask-watch/a-mask-without-an-online-cpu-is-nobodys",
                    test_a_mask_without_an_online_cpu_is_nobodys);
    g_test_add_func("/mask-watch/where-nothing-is-allowed-nobody-chose",
                    test_where_nothing_is_allowed_nobody_chose);
    return g_test_run();
}
