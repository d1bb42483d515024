/*
 * The test guest's histograms of times
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "histogram.h"

#include <math.h>

double histogram_bucket_low(int bucket)
{
    if (bucket < 4) {
        return bucket;
    }
    return ldexp(4 + bucket % 4, bucket / 4 - 1);
}

uint64_t histogram_total(const uint32_t *counts)
{
    uint64_t total = 0;

    for (int i = 0; i < HISTOGRAM_BUCKETS; i++) {
        total += counts[i];
    }
    return total;
}

double histogram_percentile(const uint32_t *counts, double percent)
{
    double left = percent / 100 * histogram_total(counts);
    double end = 0;

    for (int i = 0; i < HISTOGRAM_BUCKETS; i++) {
        double low = histogram_bucket_low(i);

        if (!counts[i]) {
            continue;
        }
        end = histogram_bucket_low(i + 1);
        if (left <= counts[i]) {
            return low + left / counts[i] * (end - low);
        }
        left -= counts[i];
    }
    /* rounding left a little */
    return end;
}
