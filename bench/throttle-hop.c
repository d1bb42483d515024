/*
 * A word that two vCPUs hand to and fro, as a lock is
 *
 * Whoever stops one of the two alone, stops both.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "throttle.h"
#include "guest-times.h"

#define N_VCPUS 2
#define CPUS 1.0

static void measure_hop(Throttle *throttle, const LimitSide *side, int round,
                        void *opaque)
{
    const char *row = opaque;

    throttle_settle(throttle, side, CPUS);
    throttle_add(throttle, row, side, round, "hand-offs", "1/s",
                 guest_vm_rate(&throttle->guest, throttle->window_ms));
}

void throttle_hop(Throttle *throttle, const char *row)
{
    static const struct {
        int side, to_side;
        double factor;
        const char *what;
        BenchBound bound;
    } ratios[] = {
        { SIDE_LLCSCHED_10, SIDE_NONE, N_VCPUS / CPUS,
          "hand-offs: our default of half the unlimited", { .least = 0.9 } },
        { SIDE_LLCSCHED_10, SIDE_KERNEL_10, 1,
          "hand-offs: ours of the kernel's at 10 ms", { .least = 1.8 } },
        { SIDE_LLCSCHED_100, SIDE_KERNEL_100, 1,
          "hand-offs: ours of the kernel's at 100 ms", { .least = 1 } },
        { SIDE_LLCSCHED_10, SIDE_KERNEL_100, 1,
          "hand-offs: our default of the kernel's", { .least = 1 } },
    };

    throttle_vm_start(throttle, "hop", N_VCPUS);
    throttle_rounds_short(throttle, limit_sides, N_SIDES, measure_hop,
                          (void *)row);
    throttle_vm_end(throttle);
    for (int i = 0; i < N_SIDES; i++) {
        throttle_summary(throttle, row, limit_sides[i].name, "hand-offs",
                         "hand-offs", "1/s", NULL);
    }
    for (guint i = 0; i < G_N_ELEMENTS(ratios); i++) {
        throttle_ratio(throttle, row, limit_sides[ratios[i].side].name,
                       limit_sides[ratios[i].to_side].name, "hand-offs",
                       ratios[i].factor, ratios[i].what, &ratios[i].bound);
    }
}

static void measure_lag(Throttle *throttle, const LimitSide *side, int round,
                        void *opaque)
{
    static const struct {
        const char *metric;
        double percent;
    } percentiles[] = {
        { "median", 50 }, { "p99", 99 }, { "p99.9", 99.9 },
        { "p99.99", 99.99 },
    };
    const char *row = opaque;
    uint32_t counts[HISTOGRAM_BUCKETS];
    double ticks_per_us = throttle->ticks_per_ms / 1e3;
    uint32_t longest;

    throttle_settle(throttle, side, CPUS);
    guest_times_reset(&throttle->guest, counts);
    g_usleep(throttle->window_ms * 1000);
    longest = guest_times_since(&throttle->guest, counts);
    for (guint i = 0; i < G_N_ELEMENTS(percentiles); i++) {
        throttle_add(throttle, row, side, round, percentiles[i].metric, "us",
                     histogram_percentile(counts, percentiles[i].percent) /
                     ticks_per_us);
    }
    throttle_add(throttle, row, side, round, "longest", "us",
                 longest / ticks_per_us);
}

void throttle_lag(Throttle *throttle, const char *row)
{
    static const char *const metrics[][2] = {
        { "median", "turn to turn" },
        { "p99.9", "- p99.9" },
        { "longest", "- longest" },
    };

    throttle_vm_start_noting(throttle, "lag", N_VCPUS);
    throttle_rounds(throttle, limit_sides, N_SIDES, measure_lag, (void *)row);
    throttle_vm_end(throttle);
    for (int i = 0; i < N_SIDES; i++) {
        for (guint m = 0; m < G_N_ELEMENTS(metrics); m++) {
            throttle_summary(throttle, row, limit_sides[i].name,
                             metrics[m][0], metrics[m][1], "us", NULL);
        }
    }
}
