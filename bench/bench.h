/*
 * What the benchmark's programs share: options, clock, rows of results
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include <glib.h>
#include <stdint.h>
#include <stdio.h>

/* Long enough for intervals that can be compared with the bounds. */
#define BENCH_SECONDS_DEFAULT 60
#define BENCH_SECONDS_MIN 4
#define BENCH_SECONDS_MAX 3600

typedef struct Bench {
    FILE *csv;
    int seconds;    /* about how long the measurement of one thing may take */
} Bench;

/*
 * Take --csv FILE (rows are added to it; default: standard output) and
 * --seconds N from the command line; end the program on bad values.
 */
void bench_init(Bench *bench, int *argc, char ***argv);

/* The same with @more options, and what is no option is left in @argv. */
void bench_init_more(Bench *bench, int *argc, char ***argv,
                     const GOptionEntry *more);
void bench_clear(Bench *bench);

/* A line about what goes on, for people who wait. */
void bench_say(const char *format, ...) G_GNUC_PRINTF(1, 2);

/*
 * Take the CPU before other programs do, as far as that is allowed; say so if
 * it is not.  A QEMU that is started later inherits it, and so all of its
 * threads keep their shares of each other; only what else the machine does
 * disturbs less.
 */
void bench_come_first(void);

/* End the program: something is not as the measurement needs it. */
void G_NORETURN bench_fail(const char *format, ...) G_GNUC_PRINTF(1, 2);

/* Zero: there is no such bound. */
typedef struct BenchBound {
    double median;      /* the median must not be above */
    double high;        /* nor the upper end of its 95 % interval above this */
    double least;       /* the median must not be below */
    double around;      /* must be within the interval */
} BenchBound;

/*
 * Add the row of @values (GArray of double, at least one).  @name has no
 * comma.  @bound may be NULL: a row that explains others, and has no bound.
 */
void bench_row(const Bench *bench, const char *name, const char *unit,
               const GArray *values, const BenchBound *bound);

/* Monotonic time. */
int64_t bench_now_ns(void);
void bench_sleep_until(int64_t when_ns);

/* What one call of @run takes, in ns, @repeats times after one for warmth. */
typedef void BenchRun(void *opaque);
GArray *bench_repeat(BenchRun *run, void *opaque, int repeats);

/* Divide every value of @values by @divisor; returns @values. */
GArray *bench_scale(GArray *values, double divisor);

#endif
