/*
 * CPU time used over time: how much, and how evenly
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "usage.h"

#include <glib.h>

/* On the line from @a to @b. */
static double used_at(const UsagePoint *a, const UsagePoint *b, int64_t when)
{
    double part = (double)(when - a->when_ns) / (b->when_ns - a->when_ns);

    return a->used_ns + part * (b->used_ns - a->used_ns);
}

double usage_mean(const UsagePoint *points, int n, int64_t from_ns,
                  int64_t to_ns)
{
    double area = 0;

    g_assert(n >= 2 && from_ns < to_ns);
    g_assert(points[0].when_ns <= from_ns && to_ns <= points[n - 1].when_ns);
    for (int i = 1; i < n; i++) {
        const UsagePoint *a = &points[i - 1], *b = &points[i];
        int64_t begin = MAX(a->when_ns, from_ns);
        int64_t end = MIN(b->when_ns, to_ns);

        /* less the first, so that large counters cost no precision */
        if (begin < end) {
            area += (end - begin) * ((used_at(a, b, begin) +
                                      used_at(a, b, end)) / 2 -
                                     points[0].used_ns);
        }
    }
    return points[0].used_ns + area / (to_ns - from_ns);
}

double usage_excess(const UsagePoint *points, int n, double rate)
{
    double least = 0, excess = 0;

    for (int i = 0; i < n; i++) {
        double ahead = points[i].used_ns - points[0].used_ns -
                       rate * (points[i].when_ns - points[0].when_ns);

        least = MIN(least, ahead);
        excess = MAX(excess, ahead - least);
    }
    return excess;
}
