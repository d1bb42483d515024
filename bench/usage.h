/*
 * CPU time used over time: how much, and how evenly
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef BENCH_USAGE_H
#define BENCH_USAGE_H

#include <stdint.h>

/* Used up to a moment. */
typedef struct UsagePoint {
    int64_t when_ns;
    double used_ns;
} UsagePoint;

/*
 * The mean of what was used, over the time @from_ns to @to_ns, which lies
 * within that of the @n points; they are in order, and joined by lines.
 *
 * What is used under a quota climbs in steps, one each period.  A difference
 * of two moments is wrong by up to a step; one of two means over whole periods
 * is not, whatever the phase.
 */
double usage_mean(const UsagePoint *points, int n, int64_t from_ns,
                  int64_t to_ns);

/*
 * The most that was used between any two of the @n points beyond @rate (CPUs)
 * times the time between them: the depth of a token bucket that would have let
 * all of it through.
 */
double usage_excess(const UsagePoint *points, int n, double rate);

#endif
