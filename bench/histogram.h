/*
 * The test guest's histograms of times
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef BENCH_HISTOGRAM_H
#define BENCH_HISTOGRAM_H

#include <stdint.h>

/*
 * As tests/guest/README.md has it: 0 to 3 have a bucket each, from there each
 * power of two has four, so that a value is known to a quarter.
 */
#define HISTOGRAM_BUCKETS 128

/* The least value in @bucket; of one past the last: 2^33. */
double histogram_bucket_low(int bucket);

/* How many values there are. */
uint64_t histogram_total(const uint32_t *counts);

/*
 * The value below which @percent of the values lie, taking those of a bucket
 * to be spread evenly over it; 0 if there are none.
 */
double histogram_percentile(const uint32_t *counts, double percent);

#endif
