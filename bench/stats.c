/*
 * The few statistics that the benchmark tells
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return x < y ? -1 : x > y;
}

static double sorted_percentile(const double *sorted, int n, double percent)
{
    double rank = percent / 100 * (n - 1);
    int below = rank;
    int above = MIN(below + 1, n - 1);

    return sorted[below] + (rank - below) * (sorted[above] - sorted[below]);
}

double stats_percentile(const double *values, int n, double percent)
{
    g_autofree double *sorted = g_new(double, n);

    g_assert(n >= 1 && percent >= 0 && percent <= 100);
    memcpy(sorted, values, n * sizeof(*values));
    qsort(sorted, n, sizeof(*sorted), compare);
    return sorted_percentile(sorted, n, percent);
}

double stats_median(const double *values, int n)
{
    return stats_percentile(values, n, 50);
}

double stats_variation(const double *values, int n)
{
    double mean = 0, squares = 0;

    g_assert(n >= 2);
    for (int i = 0; i < n; i++) {
        mean += values[i] / n;
    }
    for (int i = 0; i < n; i++) {
        squares += (values[i] - mean) * (values[i] - mean);
    }
    return sqrt(squares / (n - 1)) / mean;
}

StatsInterval stats_median_interval(const double *values, int n, int rounds,
                                    guint32 seed)
{
    g_autofree double *medians = g_new(double, rounds);
    g_autofree double *drawn = g_new(double, n);
    GRand *random = g_rand_new_with_seed(seed);

    g_assert(n >= 1 && rounds >= 1);
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < n; i++) {
            drawn[i] = values[g_rand_int_range(random, 0, n)];
        }
        medians[round] = stats_median(drawn, n);
    }
    g_rand_free(random);
    return (StatsInterval) {
        .low = stats_percentile(medians, rounds, 2.5),
        .high = stats_percentile(medians, rounds, 97.5),
    };
}
