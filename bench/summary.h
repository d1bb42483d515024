/*
 * Rows of results from values
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef BENCH_SUMMARY_H
#define BENCH_SUMMARY_H

#include "bench.h"
#include "samples.h"

/*
 * Add the row "@what: @side" of the values of a metric; nothing if there are
 * none.  @bound may be NULL.
 */
void summary_row(const Bench *bench, const Samples *samples, const char *row,
                 const char *side, const char *metric, const char *what,
                 const char *unit, const BenchBound *bound);

#endif
