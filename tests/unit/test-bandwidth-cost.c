/*
 * What depth costs, in instructions that callgrind counts
 *
 * Instructions do not depend on the machine's load, as times would.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <glib.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define LOOKS_BEFORE 1000
#define LOOKS 3000

/* Sixteen limited vCPUs are what the benchmark's bounds are for. */
#define VCPUS 16

/* Of a whole run of bench-charge, from "Collected : N". */
static guint64 count(int depth, int n_vcpus, int looks)
{
    g_autofree char *depth_arg = g_strdup_printf("%d", depth);
    g_autofree char *vcpus_arg = g_strdup_printf("%d", n_vcpus);
    g_autofree char *looks_arg = g_strdup_printf("%d", looks);
    const char *argv[] = {
        "valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null",
        g_getenv("LLCSCHED_BENCH_CHARGE"), depth_arg, vcpus_arg, looks_arg,
        NULL,
    };
    g_autoptr(GError) err = NULL;
    g_autofree char *text = NULL;
    const char *found;
    int status;

    g_spawn_sync(NULL, (char **)argv, NULL, G_SPAWN_SEARCH_PATH |
                 G_SPAWN_STDOUT_TO_DEV_NULL, NULL, NULL, NULL, &text, &status,
                 &err);
    g_assert_no_error(err);
    g_assert_cmpint(status, ==, 0);
    found = strstr(text, "Collected : ");
    g_assert_nonnull(found);
    return g_ascii_strtoull(found + strlen("Collected : "), NULL, 10);
}

/* For one vCPU at one look: its charge and its part of the rest. */
static double per_charge(int depth, int n_vcpus)
{
    guint64 before = count(depth, n_vcpus, LOOKS_BEFORE);
    guint64 after = count(depth, n_vcpus, LOOKS_BEFORE + LOOKS);
    double cost = (double)(after - before) / LOOKS / n_vcpus;

    g_test_message("depth %d, %d vCPUs: %.1f instructions per charge", depth,
                   n_vcpus, cost);
    return cost;
}

static bool can_count(void)
{
    g_autofree char *valgrind = g_find_program_in_path("valgrind");

    if (!valgrind) {
        g_test_skip("valgrind is not installed");
    }
    return valgrind;
}

static void test_five_levels_cost_at_most_twice_one(void)
{
    if (can_count()) {
        g_assert_cmpfloat(per_charge(5, VCPUS), <=, 2 * per_charge(1, VCPUS));
    }
}

/* The charge alone: what more vCPUs add to a look. */
static void test_a_charge_costs_the_same_at_every_depth(void)
{
    double flat, deep;

    if (can_count()) {
        flat = per_charge(1, 100) * 100 - per_charge(1, 50) * 50;
        deep = per_charge(5, 100) * 100 - per_charge(5, 50) * 50;
        g_assert_cmpfloat(deep, <=, 1.1 * flat);
        g_assert_cmpfloat(deep / 50, <=, 50);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/bandwidth-cost/five-levels-cost-at-most-twice-one",
                    test_five_levels_cost_at_most_twice_one);
    g_test_add_func("/bandwidth-cost/a-charge-costs-the-same-at-every-depth",
                    test_a_charge_costs_the_same_at_every_depth);
    return g_test_run();
}
