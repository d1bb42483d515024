/*
 * How exactly a quota is kept
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "throttle.h"
#include "stats.h"
#include "usage.h"

#include <math.h>
#include <time.h>

/* Of one vCPU, and of two. */
typedef struct Point {
    int n_vcpus;
    int percent;
} Point;

static const Point points[] = {
    { 1, 10 }, { 1, 25 }, { 1, 50 }, { 1, 75 }, { 2, 50 }, { 2, 150 },
};

/*
 * What is used is looked at this often, over a whole number of all periods:
 * its mean is that of the moment in the middle, see usage.h.
 */
#define STEP_NS 500000
#define MEAN_NS 100000000
#define WINDOW_NS 1000000000ll

static void sleep_until(int64_t when_ns)
{
    const struct timespec ts = {
        .tv_sec = when_ns / 1000000000, .tv_nsec = when_ns % 1000000000,
    };

    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL)) {
        /* a signal */
    }
}

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

    sleep_until(from_ns - STEP_NS);
    do {
        point = look(guest);
        /* a late first one is moved to where it should have been */
        if (!looks->len && point.when_ns > from_ns) {
            point.when_ns = from_ns;
        }
        g_array_append_val(looks, point);
        sleep_until(point.when_ns + STEP_NS);
    } while (point.when_ns < from_ns + MEAN_NS);
    return usage_mean((UsagePoint *)looks->data, looks->len, from_ns,
                      from_ns + MEAN_NS);
}

typedef struct ShareRun {
    const char *row;
    const Point *point;
} ShareRun;

static void add_error(Throttle *throttle, const ShareRun *run,
                      const LimitSide *side, int round, const char *what,
                      double used_ns, double wall_ns)
{
    double wanted_ns = run->point->percent / 100.0 * wall_ns;
    g_autofree char *metric = NULL;

    metric = g_strdup_printf("%s %d%% of %d", what, run->point->percent,
                             run->point->n_vcpus);
    samples_add(throttle->samples, run->row, side->name, round, metric, "%",
                100 * (used_ns / wanted_ns - 1));
}

static void measure(Throttle *throttle, const LimitSide *side, int round,
                    void *opaque)
{
    const ShareRun *run = opaque;
    int n = MAX(1, throttle->window_ms / 1000);
    double first, before, now;
    int64_t from_ns;

    throttle_settle(throttle, side, run->point->percent / 100.0);
    from_ns = bench_now_ns() + 2 * STEP_NS;
    first = before = mean_from(&throttle->guest, from_ns);
    for (int i = 1; i <= n; i++) {
        now = mean_from(&throttle->guest, from_ns + i * WINDOW_NS);
        add_error(throttle, run, side, round, "1s", now - before, WINDOW_NS);
        before = now;
    }
    add_error(throttle, run, side, round, "run", before - first,
              n * (double)WINDOW_NS);
}

/* Of all windows of a side at a point: the absolute values. */
static GArray *errors(const Throttle *throttle, const ShareRun *run,
                      const char *side, const char *what)
{
    g_autofree char *metric = NULL;
    const GArray *values;
    GArray *absolute = g_array_new(false, false, sizeof(double));

    metric = g_strdup_printf("%s %d%% of %d", what, run->point->percent,
                             run->point->n_vcpus);
    values = samples_get(throttle->samples, run->row, side, metric);
    for (guint i = 0; values && i < values->len; i++) {
        double value = fabs(g_array_index(values, double, i));

        g_array_append_val(absolute, value);
    }
    return absolute;
}

static void summarize(const Throttle *throttle, const ShareRun *run,
                      const LimitSide *limit_side)
{
    const BenchBound run_bound = { .median = 0.1 };
    const BenchBound p99_bound = { .median = 1.5 };
    const char *side = limit_side->name;
    bool ours = limit_side->by == LIMIT_BY_LLCSCHED;
    g_autoptr(GArray) runs = errors(throttle, run, side, "run");
    g_autoptr(GArray) windows = errors(throttle, run, side, "1s");
    g_autofree char *name = NULL;
    g_autofree char *p99_name = NULL;
    double p99;

    if (!runs->len) {
        return;
    }
    name = g_strdup_printf("%s %d %% of %d: %s", run->row, run->point->percent,
                           run->point->n_vcpus, side);
    p99_name = g_strdup_printf("- p99 of 1 s: %s", side);
    bench_row(&throttle->bench, name, "%", runs,
              ours ? &run_bound : NULL);
    p99 = stats_percentile((double *)windows->data, windows->len, 99);
    g_array_set_size(windows, 0);
    g_array_append_val(windows, p99);
    bench_row(&throttle->bench, p99_name, "%", windows,
              ours ? &p99_bound : NULL);
}

static void measure_share(Throttle *throttle, const char *row)
{
    for (guint i = 0; i < G_N_ELEMENTS(points); i++) {
        ShareRun run = { .row = row, .point = &points[i] };

        bench_say("%d %% of %d vCPUs", run.point->percent, run.point->n_vcpus);
        throttle_vm_start(throttle, "spin", run.point->n_vcpus);
        throttle_rounds(throttle, limit_sides, SIDE_NONE, measure, &run);
        throttle_vm_end(throttle);
        for (int s = 0; s < SIDE_NONE; s++) {
            summarize(throttle, &run, &limit_sides[s]);
        }
    }
}

void throttle_share_quiet(Throttle *throttle, const char *row)
{
    measure_share(throttle, row);
}
