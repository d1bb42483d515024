/*
 * The few statistics that the benchmark tells: order statistics and how sure
 * the median is
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef BENCH_STATS_H
#define BENCH_STATS_H

#include <glib.h>

/*
 * The value below which @percent of the @n values lie, 0 to 100: between two
 * of them by linear interpolation, so that 50 is the usual median.  @values
 * need not be sorted and are not changed; @n is at least 1.
 */
double stats_percentile(const double *values, int n, double percent);

/* The standard deviation of the @n values (at least 2) in parts of the mean. */
double stats_variation(const double *values, int n);

double stats_median(const double *values, int n);

typedef struct StatsInterval {
    double low, high;
} StatsInterval;

/*
 * Where the median lies with 95 % confidence: the percentile bootstrap (Efron,
 * 1979) with @rounds resamples drawn with @seed.  It assumes nothing of the
 * distribution but that the values are independent.  Same input, same result.
 */
StatsInterval stats_median_interval(const double *values, int n, int rounds,
                                    guint32 seed);

#endif
