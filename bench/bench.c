/*
 * What the benchmark's programs share
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "bench.h"
#include "stats.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* The ends of an interval move by less than its hundredth with more. */
#define INTERVAL_ROUNDS 10000
#define INTERVAL_SEED 1

/* The most that an ordinary process can have over others. */
#define NICE -20

void bench_fail(const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    fprintf(stderr, "%s: ", g_get_prgname());
    vfprintf(stderr, format, ap);
    fputc('\n', stderr);
    exit(1);
}

void bench_init_more(Bench *bench, int *argc, char ***argv,
                     const GOptionEntry *more)
{
    g_autofree char *path = NULL;
    g_autoptr(GError) err = NULL;
    g_autoptr(GOptionContext) context = g_option_context_new(NULL);
    int seconds = BENCH_SECONDS_DEFAULT;
    const GOptionEntry entries[] = {
        { "csv", 0, 0, G_OPTION_ARG_FILENAME, &path,
          "Add the results to FILE", "FILE" },
        { "seconds", 0, 0, G_OPTION_ARG_INT, &seconds,
          "Measure each thing for about N seconds", "N" },
        { NULL }
    };

    g_option_context_add_main_entries(context, entries, NULL);
    if (more) {
        g_option_context_add_main_entries(context, more, NULL);
    }
    if (!g_option_context_parse(context, argc, argv, &err)) {
        bench_fail("%s", err->message);
    }
    if (seconds < BENCH_SECONDS_MIN || seconds > BENCH_SECONDS_MAX) {
        bench_fail("--seconds takes %d to %d, not %d", BENCH_SECONDS_MIN,
                   BENCH_SECONDS_MAX, seconds);
    }
    bench->seconds = seconds;
    bench->csv = path ? fopen(path, "a") : stdout;
    if (!bench->csv) {
        bench_fail("the file of --csv cannot be written");
    }
}

void bench_init(Bench *bench, int *argc, char ***argv)
{
    bench_init_more(bench, argc, argv, NULL);
    if (*argc > 1) {
        bench_fail("takes options only, see --help");
    }
}

void bench_clear(Bench *bench)
{
    bool failed = ferror(bench->csv);

    if (fclose(bench->csv) || failed) {
        bench_fail("the results could not be written");
    }
}

void bench_say(const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    fputs("   ", stderr);
    vfprintf(stderr, format, ap);
    fputc('\n', stderr);
    va_end(ap);
}

/*
 * Where the kernel gives each session its share of the CPU (autogroup in
 * sched(7)), the nice value counts among the session's own threads only, and
 * the session has another.  It is ours to change in a session of our own.
 */
static bool session_comes_first(void)
{
    FILE *file;
    bool failed;

    if (getsid(0) != getpid()) {
        return false;
    }
    file = fopen("/proc/self/autogroup", "w");
    if (!file) {
        return errno == ENOENT;
    }
    failed = fprintf(file, "%d", NICE) < 0;
    return !fclose(file) && !failed;
}

void bench_come_first(void)
{
    if (setpriority(PRIO_PROCESS, 0, NICE) < 0 || !session_comes_first()) {
        bench_say("not before other programs (that takes root and setsid): "
                  "what they do shows in the results");
    }
}

static void write_bound(FILE *csv, double bound)
{
    if (bound) {
        fprintf(csv, ",%g", bound);
    } else {
        fputc(',', csv);
    }
}

static bool is_met(const BenchBound *bound, double median,
                   const StatsInterval *interval)
{
    return (!bound->median || median <= bound->median) &&
           (!bound->high || interval->high <= bound->high) &&
           (!bound->least || median >= bound->least) &&
           (!bound->around || (interval->low <= bound->around &&
                               bound->around <= interval->high));
}

void bench_row(const Bench *bench, const char *name, const char *unit,
               const GArray *values, const BenchBound *bound)
{
    const BenchBound limits = bound ? *bound : (BenchBound) { 0 };
    const double *data = (const double *)values->data;
    int n = values->len;
    double median = stats_median(data, n);
    StatsInterval interval = stats_median_interval(data, n, INTERVAL_ROUNDS,
                                                   INTERVAL_SEED);

    fprintf(bench->csv, "%s,%s,%d,%.6g,%.6g,%.6g,%.6g,%.6g,%.6g,%.6g", name,
            unit, n, stats_percentile(data, n, 0),
            stats_percentile(data, n, 10), median,
            stats_percentile(data, n, 90), stats_percentile(data, n, 100),
            interval.low, interval.high);
    write_bound(bench->csv, limits.median);
    write_bound(bench->csv, limits.high);
    write_bound(bench->csv, limits.least);
    write_bound(bench->csv, limits.around);
    fprintf(bench->csv, ",%s\n", !bound ? "" :
            is_met(&limits, median, &interval) ? "yes" : "no");
    fflush(bench->csv);
}

int64_t bench_now_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * 1000000000ll + ts.tv_nsec;
}

void bench_sleep_until(int64_t when_ns)
{
    const struct timespec ts = {
        .tv_sec = when_ns / 1000000000, .tv_nsec = when_ns % 1000000000,
    };

    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL)) {
        /* a signal */
    }
}

GArray *bench_repeat(BenchRun *run, void *opaque, int repeats)
{
    GArray *values = g_array_sized_new(false, false, sizeof(double), repeats);

    run(opaque);
    for (int i = 0; i < repeats; i++) {
        int64_t start = bench_now_ns();
        double taken;

        run(opaque);
        taken = bench_now_ns() - start;
        g_array_append_val(values, taken);
    }
    return values;
}

GArray *bench_scale(GArray *values, double divisor)
{
    for (guint i = 0; i < values->len; i++) {
        g_array_index(values, double, i) /= divisor;
    }
    return values;
}
