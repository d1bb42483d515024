/*
 * How exactly a quota is kept
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "throttle.h"
#include "competitor.h"
#include "guest-times.h"
#include "stats.h"
#include "usage.h"

#include <math.h>
#include <string.h>

/* What is limited, and to how much of a CPU. */
typedef struct Point {
    const char *mode;
    int n_vcpus;
    int percent;
} Point;

static const Point points[] = {
    { "spin", 1, 10 }, { "spin", 1, 25 }, { "spin", 1, 50 },
    { "spin", 1, 75 }, { "spin", 2, 50 }, { "spin", 2, 150 },
};

/*
 * What is used is looked at this often, over a whole number of all periods:
 * its mean is that of the moment in the middle, see usage.h.
 */
#define STEP_NS 500000
#define MEAN_NS 100000000
#define WINDOW_NS 1000000000ll

static UsagePoint look(const GuestVm *guest)
{
    int64_t start = bench_now_ns();
    double used_ns = guest_vm_vcpus_ns(guest);
    int64_t end = bench_now_ns();

    return (UsagePoint) { start + (end - start) / 2, used_ns };
}

/* The mean of what was used over MEAN_NS from @from_ns. */
static double mean_from(const GuestVm *guest, int64_t from_ns)
{
    g_autoptr(GArray) looks = g_array_new(false, false, sizeof(UsagePoint));
    UsagePoint point;

    bench_sleep_until(from_ns - STEP_NS);
    do {
        point = look(guest);
        /* a late first one is moved to where it should have been */
        if (!looks->len && point.when_ns > from_ns) {
            point.when_ns = from_ns;
        }
        g_array_append_val(looks, point);
        bench_sleep_until(point.when_ns + STEP_NS);
    } while (point.when_ns < from_ns + MEAN_NS);
    return usage_mean((UsagePoint *)looks->data, looks->len, from_ns,
                      from_ns + MEAN_NS);
}

typedef struct ShareRun {
    const char *row;
    const Point *point;
} ShareRun;

/* "WHAT P% of N" */
static char *metric_name(const ShareRun *run, const char *what)
{
    return g_strdup_printf("%s %d%% of %d", what, run->point->percent,
                           run->point->n_vcpus);
}

static void add(Throttle *throttle, const ShareRun *run,
                const LimitSide *side, int round, const char *what,
                const char *unit, double value)
{
    g_autofree char *metric = metric_name(run, what);

    throttle_add(throttle, run->row, side, round, metric, unit, value);
}

static void add_error(Throttle *throttle, const ShareRun *run,
                      const LimitSide *side, int round, const char *what,
                      double used_ns, double wall_ns)
{
    double wanted_ns = run->point->percent / 100.0 * wall_ns;

    add(throttle, run, side, round, what, "%",
        100 * (used_ns / wanted_ns - 1));
}

/* Windows of a second from one mean to the next. */
static void measure_errors(Throttle *throttle, const ShareRun *run,
                           const LimitSide *side, int round)
{
    int n = MAX(1, throttle->window_ms / 1000);
    int64_t from_ns = bench_now_ns() + 2 * STEP_NS;
    double first = mean_from(&throttle->guest, from_ns);
    double before = first;

    for (int i = 1; i <= n; i++) {
        double now = mean_from(&throttle->guest, from_ns + i * WINDOW_NS);

        add_error(throttle, run, side, round, "1s", now - before, WINDOW_NS);
        before = now;
    }
    add_error(throttle, run, side, round, "run", before - first,
              n * (double)WINDOW_NS);
}

static void measure(Throttle *throttle, const LimitSide *side, int round,
                    void *opaque)
{
    const ShareRun *run = opaque;
    uint64_t wakeups;
    int64_t start_ns;
    double periods;

    throttle_settle(throttle, side, run->point->percent / 100.0);
    if (throttle->ticks_per_ms) {
        guest_times_reset(&throttle->guest, NULL);
    }
    wakeups = throttle_wakeups(throttle);
    start_ns = bench_now_ns();
    measure_errors(throttle, run, side, round);
    periods = (bench_now_ns() - start_ns) / (side->period_us * 1e3);
    if (side->by == LIMIT_BY_LLCSCHED) {
        add(throttle, run, side, round, "wake-ups a period", "",
            (throttle_wakeups(throttle) - wakeups) / periods);
    }
    if (throttle->ticks_per_ms) {
        add(throttle, run, side, round, "stall", "ms",
            guest_times_since(&throttle->guest, NULL) /
            throttle->ticks_per_ms);
    }
}

/* Of all windows of a side: the absolute values. */
static GArray *errors(const Throttle *throttle, const ShareRun *run,
                      const char *side, const char *what)
{
    g_autofree char *metric = metric_name(run, what);
    const GArray *values = samples_get(throttle->samples, run->row, side,
                                       metric);
    GArray *absolute = g_array_new(false, false, sizeof(double));

    for (guint i = 0; values && i < values->len; i++) {
        double value = fabs(g_array_index(values, double, i));

        g_array_append_val(absolute, value);
    }
    return absolute;
}

static void summarize_side(const Throttle *throttle, const ShareRun *run,
                           const LimitSide *side)
{
    const BenchBound run_bound = { .median = 0.1 };
    const BenchBound p99_bound = { .median = 1.5 };
    bool ours = side->by == LIMIT_BY_LLCSCHED;
    g_autoptr(GArray) runs = errors(throttle, run, side->name, "run");
    g_autoptr(GArray) windows = errors(throttle, run, side->name, "1s");
    g_autofree char *what = metric_name(run, run->row);
    g_autofree char *name = g_strdup_printf("%s: %s", what, side->name);
    g_autofree char *p99_name = g_strdup_printf("- p99 of 1 s: %s",
                                                side->name);
    double p99;

    if (!runs->len) {
        return;
    }
    bench_row(&throttle->bench, name, "%", runs, ours ? &run_bound : NULL);
    p99 = stats_percentile((double *)windows->data, windows->len, 99);
    g_array_set_size(windows, 0);
    g_array_append_val(windows, p99);
    bench_row(&throttle->bench, p99_name, "%", windows,
              ours ? &p99_bound : NULL);
}

static void summarize(const Throttle *throttle, const ShareRun *run)
{
    const BenchBound looks = { .median = 5 };
    g_autofree char *stall = metric_name(run, "stall");
    g_autofree char *wakeups = metric_name(run, "wake-ups a period");

    for (int i = 0; i < SIDE_NONE; i++) {
        const LimitSide *side = &limit_sides[i];

        summarize_side(throttle, run, side);
        throttle_summary(throttle, run->row, side->name, stall,
                         "- longest stall", "ms", NULL);
        throttle_summary(throttle, run->row, side->name, wakeups,
                         "- wake-ups a period", "", &looks);
    }
}

/* A guest in mode "gap" tells its stalls as well. */
static void measure_point(Throttle *throttle, const char *row,
                          const Point *point)
{
    ShareRun run = { .row = row, .point = point };

    bench_say("%d %% of %d vCPUs", point->percent, point->n_vcpus);
    if (strcmp(point->mode, "gap") == 0) {
        throttle_vm_start_noting(throttle, point->mode, point->n_vcpus);
    } else {
        throttle_vm_start(throttle, point->mode, point->n_vcpus);
    }
    throttle_rounds(throttle, limit_sides, SIDE_NONE, measure, &run);
    throttle_vm_end(throttle);
    summarize(throttle, &run);
}

void throttle_share(Throttle *throttle, const char *row)
{
    for (guint i = 0; i < G_N_ELEMENTS(points); i++) {
        measure_point(throttle, row, &points[i]);
    }
}

/* Something that needs a tenth of each CPU, a little at a time. */
void throttle_beside(Throttle *throttle, const char *row)
{
    Competitor *competitor = competitor_start(throttle->tree, 1, 1000, 10000);

    throttle_share(throttle, row);
    competitor_stop(competitor);
}

void throttle_one(Throttle *throttle, const char *row)
{
    const Point point = { "one", 8, 50 };

    measure_point(throttle, row, &point);
}

void throttle_crowd(Throttle *throttle, const char *row)
{
    const Point point = { "gap", 2, 50 };
    Competitor *competitor = competitor_start(throttle->tree, 2, 1, 1);

    measure_point(throttle, row, &point);
    competitor_stop(competitor);
}
