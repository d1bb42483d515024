/*
 * What programs have in common that measure rows, side by side, in rounds
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef BENCH_ROWS_H
#define BENCH_ROWS_H

#include "bench.h"
#include "samples.h"

#include <stdbool.h>

typedef struct BenchRows {
    Bench bench;            /* the summary */
    Samples *samples;       /* everything */
    int rounds;             /* of each side; at first the default */
    int window_ms;          /* of one side in one round */
    char **chosen;          /* names; none: all rows */
    FILE *csv;
} BenchRows;

/* What the row of number @i is called. */
typedef const char *BenchRowName(guint i);

/*
 * Take the options of bench_init(), --samples FILE (every value is added to
 * it), --rounds N, and @own, and names of the @n rows; end the program on bad
 * ones.  Then get ready to start VMs.
 */
void bench_rows_begin(BenchRows *rows, int argc, char **argv,
                      const GOptionEntry *own, BenchRowName *name, guint n);
void bench_rows_end(BenchRows *rows);

/* It was named, or none was. */
bool bench_rows_wants(const BenchRows *rows, const char *name);

#endif
