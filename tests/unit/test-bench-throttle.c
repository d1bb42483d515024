/*
 * The pure parts of the benchmark of throttling
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "../../bench/histogram.h"
#include "../../bench/samples.h"
#include "../../bench/usage.h"

#include <locale.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define SEED 20260402
#define MS 1000000ll

/* --- Histograms --- */

/* As the guest does it, with bits. */
static int guest_bucket(uint32_t value)
{
    int log;

    if (value < 4) {
        return value;
    }
    log = 31 - __builtin_clz(value);
    return log * 4 - 4 + ((value >> (log - 2)) & 3);
}

static void assert_in_bucket(uint32_t value)
{
    int bucket = guest_bucket(value);

    g_assert_cmpint(bucket, <, HISTOGRAM_BUCKETS);
    g_assert_cmpfloat(histogram_bucket_low(bucket), <=, value);
    g_assert_cmpfloat(value, <, histogram_bucket_low(bucket + 1));
}

static void test_buckets(void)
{
    GRand *random = g_rand_new_with_seed(SEED);

    for (uint32_t value = 0; value < 5000; value++) {
        assert_in_bucket(value);
    }
    for (int i = 0; i < 5000; i++) {
        assert_in_bucket(g_rand_int(random) >> g_rand_int_range(random, 0, 32));
    }
    assert_in_bucket(UINT32_MAX);
    g_rand_free(random);
}

static void test_percentiles(void)
{
    uint32_t counts[HISTOGRAM_BUCKETS] = { 0 };
    double value;

    g_assert_cmpfloat(histogram_percentile(counts, 99), ==, 0);
    for (uint32_t i = 0; i < 100000; i++) {
        counts[guest_bucket(i)]++;
    }
    g_assert_cmpint(histogram_total(counts), ==, 100000);
    for (int percent = 1; percent < 100; percent += 7) {
        value = histogram_percentile(counts, percent);
        g_assert_cmpfloat_with_epsilon(value, percent * 1000, percent * 250);
    }
    g_assert_cmpfloat(histogram_percentile(counts, 100), >=, 99999);
}

static void test_rare(void)
{
    uint32_t counts[HISTOGRAM_BUCKETS] = { 0 };

    counts[guest_bucket(1000)] = 9980;
    counts[guest_bucket(1 << 20)] = 20;
    g_assert_cmpfloat(histogram_percentile(counts, 99), <, 1200);
    g_assert_cmpfloat(histogram_percentile(counts, 99.9), >=, 1 << 20);
}

/* --- Usage --- */

/*
 * @n periods of 10 ms: @quota_ms of CPU time from the begin of each, by two
 * CPUs, looked at each 0.4 to 0.6 ms.
 */
static GArray *make_steps(double quota_ms, double phase_ms, int n)
{
    GArray *points = g_array_new(false, false, sizeof(UsagePoint));
    GRand *random = g_rand_new_with_seed(SEED);

    for (double ms = 0; ms < 10 * n; ms += g_rand_double_range(random, 0.4,
                                                               0.6)) {
        double at = ms + phase_ms;
        int period = at / 10;
        double used_ms = quota_ms * period + MIN(quota_ms,
                                                 2 * (at - 10 * period));
        UsagePoint point = { ms * MS, used_ms * MS };

        g_array_append_val(points, point);
    }
    g_rand_free(random);
    return points;
}

static double share(const GArray *points, int64_t first_ns, int64_t second_ns)
{
    const UsagePoint *data = (const UsagePoint *)points->data;
    double before = usage_mean(data, points->len, first_ns,
                               first_ns + 100 * MS);
    double after = usage_mean(data, points->len, second_ns,
                              second_ns + 100 * MS);

    return (after - before) / (second_ns - first_ns);
}

static void test_any_phase(void)
{
    for (double phase = 0; phase < 10; phase += 0.7) {
        g_autoptr(GArray) points = make_steps(7, phase, 150);

        /* the second window has another phase than the first */
        g_assert_cmpfloat_with_epsilon(share(points, 7 * MS, 1010 * MS), 0.7,
                                       0.00005);
    }
}

static void test_line(void)
{
    const UsagePoint points[] = { { 0, 1e15 }, { 100, 1e15 + 50 } };

    g_assert_cmpfloat(usage_mean(points, 2, 0, 100), ==, 1e15 + 25);
    g_assert_cmpfloat(usage_mean(points, 2, 20, 40), ==, 1e15 + 15);
}

/* A quota at once is what a bucket of that depth lets through. */
static void test_excess_of_steps(void)
{
    g_autoptr(GArray) points = make_steps(10, 0, 50);
    double excess = usage_excess((UsagePoint *)points->data, points->len, 1);

    /* 10 ms of CPU time in 5 ms at a rate of 1 */
    g_assert_cmpfloat_with_epsilon(excess, 5 * MS, 0.7 * MS);
}

static void test_excess_of_overrun(void)
{
    const UsagePoint points[] = {
        { 0, 0 }, { 10, 5 }, { 20, 10 }, { 30, 27 }, { 40, 27 }, { 50, 30 },
    };

    g_assert_cmpfloat(usage_excess(points, 6, 0.5), ==, 12);
    g_assert_cmpfloat(usage_excess(points, 3, 0.5), ==, 0);
}

/* Idle time before is no credit. */
static void test_excess_after_rest(void)
{
    const UsagePoint points[] = {
        { 0, 100 }, { 20, 100 }, { 30, 110 }, { 50, 110 },
    };

    g_assert_cmpfloat(usage_excess(points, 4, 0.5), ==, 5);
}

/* --- Samples --- */

typedef struct Written {
    char *text;
    size_t len;
    FILE *csv;
    Samples *samples;
} Written;

static void set_up(Written *written, gconstpointer data)
{
    written->csv = open_memstream(&written->text, &written->len);
    written->samples = samples_new(written->csv);
}

static void tear_down(Written *written, gconstpointer data)
{
    samples_free(written->samples);
    fclose(written->csv);
    free(written->text);
}

static void test_csv(Written *written, gconstpointer data)
{
    g_autofree char *locale = g_strdup(setlocale(LC_NUMERIC, NULL));

    setlocale(LC_NUMERIC, "de_DE.UTF-8"); /* where there is one */
    samples_add(written->samples, "share", "kernel-10ms", 3, "error", "%",
                0.0125);
    samples_add(written->samples, "hop", "none", 0, "rate", "1/s", 123456.5);
    setlocale(LC_NUMERIC, locale);
    g_assert_cmpstr(written->text, ==, "share,kernel-10ms,3,error,%,0.0125\n"
                    "hop,none,0,rate,1/s,123456.5\n");
}

static void test_values(Written *written, gconstpointer data)
{
    const GArray *values;

    samples_add(written->samples, "a", "b", 0, "c", "s", 1);
    samples_add(written->samples, "a", "b", 0, "d", "s", 7);
    samples_add(written->samples, "a", "b", 1, "c", "s", 2);
    values = samples_get(written->samples, "a", "b", "c");
    g_assert_cmpint(values->len, ==, 2);
    g_assert_cmpfloat(g_array_index(values, double, 0), ==, 1);
    g_assert_cmpfloat(g_array_index(values, double, 1), ==, 2);
    g_assert_null(samples_get(written->samples, "a", "c", "c"));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/bench-histogram/buckets-are-the-guests", test_buckets);
    g_test_add_func("/bench-histogram/percentiles-to-a-bucket",
                    test_percentiles);
    g_test_add_func("/bench-histogram/rare-values-are-found", test_rare);
    g_test_add_func("/bench-usage/share-is-exact-at-any-phase",
                    test_any_phase);
    g_test_add_func("/bench-usage/mean-of-a-line", test_line);
    g_test_add_func("/bench-usage/excess-of-even-use-is-a-step",
                    test_excess_of_steps);
    g_test_add_func("/bench-usage/excess-is-the-overrun",
                    test_excess_of_overrun);
    g_test_add_func("/bench-usage/excess-counts-from-the-last-rest",
                    test_excess_after_rest);
    g_test_add("/bench-samples/csv-has-points-in-any-locale", Written, NULL,
               set_up, test_csv, tear_down);
    g_test_add("/bench-samples/values-by-row-side-and-metric", Written, NULL,
               set_up, test_values, tear_down);
    return g_test_run();
}
