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

#endif
