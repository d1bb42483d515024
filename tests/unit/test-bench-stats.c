/*
 * The benchmark's statistics
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "../../bench/stats.h"

#define SEED 20260401
#define ROUNDS 2000

static void assert_near(double actual, double expected)
{
    g_assert_cmpfloat_with_epsilon(actual, expected, 0.000000001);
}

static void test_median_odd(void)
{
    const double values[] = { 9, 1, 5 };

    assert_near(stats_median(values, 3), 5);
}

static void test_median_even(void)
{
    const double values[] = { 8, 1, 2, 4 };

    assert_near(stats_median(values, 4), 3);
}

static void test_one_value(void)
{
    const double value = 7;
    StatsInterval interval = stats_median_interval(&value, 1, ROUNDS, SEED);

    assert_near(stats_median(&value, 1), 7);
    assert_near(stats_percentile(&value, 1, 0), 7);
    assert_near(stats_percentile(&value, 1, 90), 7);
    assert_near(interval.low, 7);
    assert_near(interval.high, 7);
}

static void test_outlier(void)
{
    const double values[] = { 1, 1e12, 3, 2, -5 };

    assert_near(stats_median(values, 5), 2);
}

static void test_percentile_ends(void)
{
    const double values[] = { 30, 10, 50, 20, 40 };

    assert_near(stats_percentile(values, 5, 0), 10);
    assert_near(stats_percentile(values, 5, 100), 50);
}

static void test_percentile_between(void)
{
    const double values[] = { 30, 10, 50, 20, 40 };

    assert_near(stats_percentile(values, 5, 10), 14);
    assert_near(stats_percentile(values, 5, 90), 46);
}

static void test_variation(void)
{
    const double values[] = { 8, 12, 10, 10 };
    const double equal[] = { 3, 3, 3 };

    assert_near(stats_variation(values, 4), 0.16329931618554522);
    assert_near(stats_variation(equal, 3), 0);
}

static void test_input_untouched(void)
{
    double values[] = { 3, 1, 2 };
    const double before[] = { 3, 1, 2 };

    stats_median(values, 3);
    stats_median_interval(values, 3, 10, SEED);
    g_assert_cmpmem(values, sizeof(values), before, sizeof(before));
}

/* Values around @center, alike for every run of the tests. */
static void fill_noise(double *values, int n, double center, guint32 seed)
{
    GRand *random = g_rand_new_with_seed(seed);

    for (int i = 0; i < n; i++) {
        values[i] = center + g_rand_double_range(random, -1, 1);
    }
    g_rand_free(random);
}

static void test_same_seed(void)
{
    double values[20];
    StatsInterval a, b, c;

    fill_noise(values, 20, 0, SEED);
    a = stats_median_interval(values, 20, ROUNDS, SEED);
    b = stats_median_interval(values, 20, ROUNDS, SEED);
    c = stats_median_interval(values, 20, 50, SEED + 1);
    g_assert_true(a.low == b.low && a.high == b.high);
    /* so few rounds differ, if the seed is used at all */
    g_assert_true(a.low != c.low || a.high != c.high);
}

static void test_around_median(void)
{
    double values[25];
    double median;
    StatsInterval interval;

    fill_noise(values, 25, 3, SEED);
    median = stats_median(values, 25);
    interval = stats_median_interval(values, 25, ROUNDS, SEED);
    g_assert_cmpfloat(interval.low, <, median);
    g_assert_cmpfloat(median, <, interval.high);
    g_assert_cmpfloat(interval.low, >=, stats_percentile(values, 25, 0));
    g_assert_cmpfloat(interval.high, <=, stats_percentile(values, 25, 100));
}

static void test_equal_values(void)
{
    const double values[] = { 4, 4, 4, 4, 4, 4 };
    StatsInterval interval = stats_median_interval(values, 6, ROUNDS, SEED);

    assert_near(interval.low, 4);
    assert_near(interval.high, 4);
}

static void test_more_is_narrower(void)
{
    double values[400];
    StatsInterval few, many;

    fill_noise(values, 400, 0, SEED);
    few = stats_median_interval(values, 16, ROUNDS, SEED);
    many = stats_median_interval(values, 400, ROUNDS, SEED);
    g_assert_cmpfloat(many.high - many.low, <, (few.high - few.low) / 2);
}

/*
 * Of 200 samples of 21 values, the interval must hold the true median in about
 * 95 %: less than 85 % or all of them would be another kind of interval.
 */
static void test_coverage(void)
{
    double values[21];
    int held = 0;

    for (int i = 0; i < 200; i++) {
        StatsInterval interval;

        fill_noise(values, 21, 10, SEED + i);
        interval = stats_median_interval(values, 21, 400, SEED);
        held += interval.low <= 10 && interval.high >= 10;
    }
    g_test_message("seed %d: %d of 200", SEED, held);
    g_assert_cmpint(held, >=, 170);
    g_assert_cmpint(held, <, 200);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/bench-stats/median/odd-is-the-middle", test_median_odd);
    g_test_add_func("/bench-stats/median/even-is-between-the-middle-two",
                    test_median_even);
    g_test_add_func("/bench-stats/one-value-is-everything", test_one_value);
    g_test_add_func("/bench-stats/median/outlier-does-not-move-it",
                    test_outlier);
    g_test_add_func("/bench-stats/percentile/ends-are-least-and-most",
                    test_percentile_ends);
    g_test_add_func("/bench-stats/percentile/interpolates",
                    test_percentile_between);
    g_test_add_func("/bench-stats/variation-is-that-of-a-sample",
                    test_variation);
    g_test_add_func("/bench-stats/input-is-not-changed",
                    test_input_untouched);
    g_test_add_func("/bench-stats/interval/same-seed-same-result",
                    test_same_seed);
    g_test_add_func("/bench-stats/interval/lies-around-the-median",
                    test_around_median);
    g_test_add_func("/bench-stats/interval/equal-values-no-width",
                    test_equal_values);
    g_test_add_func("/bench-stats/interval/more-values-narrower",
                    test_more_is_narrower);
    g_test_add_func("/bench-stats/interval/holds-the-truth-in-95-percent",
                    test_coverage);
    return g_test_run();
}
