/*
 * A guest that has 5 ms of work each 100 ms, and sleeps
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "throttle.h"
#include "guest-times.h"

#define N_VCPUS 1
#define JOB_MS 5.0

/* Rounds of a job that is measured to know how many make JOB_MS. */
#define TRIAL_ROUNDS 1000
#define TRIAL_US 1000000

typedef struct Case {
    const char *name;
    int side;
    double cpus;
    int64_t burst_us;
} Case;

/* All of these let the work through: there is nothing to throttle. */
static const Case enough[] = {
    { "kernel-10ms", SIDE_KERNEL_10, 0.8, 0 },
    { "llcsched-10ms", SIDE_LLCSCHED_10, 0.8, 0 },
    { "kernel-100ms", SIDE_KERNEL_100, 0.12, 0 },
    { "llcsched-100ms", SIDE_LLCSCHED_100, 0.12, 0 },
    { "llcsched-10ms+burst", SIDE_LLCSCHED_10, 0.12, 12000 },
};

/* On the average, these do; the kernel allows no more burst than a quota. */
static const Case tight[] = {
    { "kernel-10ms", SIDE_KERNEL_10, 0.12, 0 },
    { "kernel-10ms+burst", SIDE_KERNEL_10, 0.12, 1200 },
    { "llcsched-10ms", SIDE_LLCSCHED_10, 0.12, 0 },
    { "llcsched-10ms+burst", SIDE_LLCSCHED_10, 0.12, 12000 },
};

/* In what the guest's loop takes here and now. */
static void set_job(Throttle *throttle)
{
    uint32_t counts[HISTOGRAM_BUCKETS];
    uint32_t rounds = TRIAL_ROUNDS;
    double ms = 0;

    /* twice, so that what a job costs besides its rounds does not count */
    for (int i = 0; i < 2; i++) {
        guest_times_set_job(&throttle->guest, rounds);
        g_usleep(TRIAL_US / 4);
        guest_times_reset(&throttle->guest, counts);
        g_usleep(TRIAL_US);
        guest_times_since(&throttle->guest, counts);
        ms = histogram_percentile(counts, 50) / throttle->ticks_per_ms;
        if (!ms) {
            bench_fail("the guest does no jobs");
        }
        rounds = MAX(1, rounds * JOB_MS / ms);
    }
    guest_times_set_job(&throttle->guest, rounds);
    g_usleep(TRIAL_US / 4);
}

typedef struct BurstRun {
    const char *row;
    const Case *cases;
    int n;
} BurstRun;

static void measure_case(Throttle *throttle, const BurstRun *run,
                         const Case *c, int round)
{
    const LimitSide *side = &limit_sides[c->side];
    uint32_t counts[HISTOGRAM_BUCKETS];
    uint64_t throttled;
    LimitSide named = *side;

    named.name = c->name;
    throttle_settle(throttle, side, 0);
    limiter_set(&throttle->limiter, side, c->cpus, c->burst_us);
    g_usleep(TRIAL_US / 4);
    throttled = limiter_throttled_periods(&throttle->limiter, side);
    guest_times_reset(&throttle->guest, counts);
    g_usleep(throttle->window_ms * 1000);
    throttle_add(throttle, run->row, &named, round, "throttles", "",
                 limiter_throttled_periods(&throttle->limiter, side) -
                 throttled);
    throttle_add(throttle, run->row, &named, round, "longest", "ms",
                 guest_times_since(&throttle->guest, counts) /
                 throttle->ticks_per_ms);
    throttle_add(throttle, run->row, &named, round, "p99", "ms",
                 histogram_percentile(counts, 99) / throttle->ticks_per_ms);
}

static void measure_cases(Throttle *throttle, const BurstRun *run)
{
    throttle_vm_start_noting(throttle, "burst", N_VCPUS);
    set_job(throttle);
    for (int round = 0; round < throttle->rounds; round++) {
        for (int i = 0; i < run->n; i++) {
            int at = round % 2 ? run->n - 1 - i : i;
            const Case *c = &run->cases[at];

            if (limit_sides[c->side].by != LIMIT_BY_KERNEL ||
                throttle->tree) {
                measure_case(throttle, run, c, round);
            }
        }
    }
    throttle_vm_end(throttle);
}

/* The sum of all rounds: not one throttle is allowed. */
static void summarize_throttles(const Throttle *throttle, const char *row,
                                const Case *c)
{
    const BenchBound none = { .median = 0.5 };
    const GArray *values = samples_get(throttle->samples, row, c->name,
                                       "throttles");
    g_autoptr(GArray) total = g_array_new(false, true, sizeof(double));
    g_autofree char *name = g_strdup_printf("throttles of %g %%: %s",
                                            100 * c->cpus, c->name);
    bool ours = limit_sides[c->side].by == LIMIT_BY_LLCSCHED;

    if (!values) {
        return;
    }
    g_array_set_size(total, 1);
    for (guint i = 0; i < values->len; i++) {
        g_array_index(total, double, 0) += g_array_index(values, double, i);
    }
    bench_row(&throttle->bench, name, "", total, ours ? &none : NULL);
}

void throttle_throttles(Throttle *throttle, const char *row)
{
    const BurstRun run = { row, enough, G_N_ELEMENTS(enough) };

    measure_cases(throttle, &run);
    for (int i = 0; i < run.n; i++) {
        summarize_throttles(throttle, row, &enough[i]);
    }
}

void throttle_burst(Throttle *throttle, const char *row)
{
    const BurstRun run = { row, tight, G_N_ELEMENTS(tight) };

    measure_cases(throttle, &run);
    for (int i = 0; i < run.n; i++) {
        throttle_summary(throttle, row, tight[i].name, "p99",
                         "p99 of 5 ms jobs", "ms", NULL);
    }
    throttle_ratio(throttle, row, "kernel-10ms+burst", "kernel-10ms", "p99",
                   1, "p99 with burst of without: kernel", NULL);
    throttle_ratio(throttle, row, "llcsched-10ms+burst", "llcsched-10ms",
                   "p99", 1, "p99 with burst of without: llcsched", NULL);
}
