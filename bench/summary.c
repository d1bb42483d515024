/*
 * Rows of results from values
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "summary.h"

void summary_row(const Bench *bench, const Samples *samples, const char *row,
                 const char *side, const char *metric, const char *what,
                 const char *unit, const BenchBound *bound)
{
    const GArray *values = samples_get(samples, row, side, metric);
    g_autofree char *name = g_strdup_printf("%s: %s", what, side);

    if (values) {
        bench_row(bench, name, unit, values, bound);
    }
}
