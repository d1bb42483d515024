/*
 * Every single value that a benchmark measured
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef BENCH_SAMPLES_H
#define BENCH_SAMPLES_H

#include <glib.h>
#include <stdbool.h>
#include <stdio.h>

typedef struct Samples Samples;

/*
 * Values are written to @csv (not owned) as they come, one line each:
 * row,side,round,metric,unit,value.  No text has a comma.
 */
Samples *samples_new(FILE *csv);
void samples_free(Samples *samples); /* NULL is allowed */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Samples, samples_free)

void samples_add(Samples *samples, const char *row, const char *side,
                 int round, const char *metric, const char *unit,
                 double value);

/*
 * The values of a metric in the order in which they were added: GArray of
 * double, of @samples; NULL: none were.
 */
const GArray *samples_get(const Samples *samples, const char *row,
                          const char *side, const char *metric);

/*
 * The values of @side over those of @to_side, each times @factor, pair by pair:
 * GArray of double, for the caller to unref; NULL: one of them has none.
 */
GArray *samples_ratios(const Samples *samples, const char *row,
                       const char *side, const char *to_side,
                       const char *metric, double factor);

/*
 * Add what another program wrote to the file @path, lines as above; false and
 * @err if it cannot be read or has any other line.
 */
bool samples_load(Samples *samples, const char *path, GError **err);

#endif
