/*
 * What the depth of the tree costs a guest
 *
 * Every level has a finite quota, and one ancestor binds; the effective quota
 * is the same at every depth.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "throttle.h"
#include "throttle-depth.h"
#include "stats.h"

#define N_VCPUS 2
#define CPUS 1.0

static const int depths[] = { 1, 3, 5 };
static const int sides[] = { SIDE_KERNEL_10, SIDE_LLCSCHED_10 };

/* A side of a depth, as the samples have it; the caller frees it. */
static char *side_name(int side, int depth)
{
    return g_strdup_printf("%s depth %d", limit_sides[side].name, depth);
}

/* So that each depth comes first, in the middle and last as often. */
static void measure_round(Throttle *throttle, const DepthLoad *load,
                          int round, int side)
{
    for (guint i = 0; i < G_N_ELEMENTS(depths); i++) {
        int depth = depths[(i + round) % G_N_ELEMENTS(depths)];
        g_autofree char *name = side_name(side, depth);
        LimitSide named = limit_sides[side];

        named.name = name;
        limiter_set_depth(&throttle->limiter, depth);
        throttle_settle(throttle, &limit_sides[side], CPUS);
        load->measure(throttle, load, &named, round);
    }
}

void throttle_depth_rounds(Throttle *throttle, const DepthLoad *load)
{
    for (int round = 0; round < throttle->rounds; round++) {
        for (guint i = 0; i < G_N_ELEMENTS(sides); i++) {
            int side = sides[(i + round) % G_N_ELEMENTS(sides)];

            if (limit_sides[side].by != LIMIT_BY_KERNEL || throttle->tree) {
                measure_round(throttle, load, round, side);
            }
        }
    }
}

/* Standard deviation of mean, as the kernel's authors told it. */
static void summarize_variation(const Throttle *throttle,
                                const DepthLoad *load, const char *side)
{
    const GArray *values = samples_get(throttle->samples, load->row, side,
                                       load->metric);
    g_autoptr(GArray) one = g_array_new(false, false, sizeof(double));
    g_autofree char *name = g_strdup_printf("- variation: %s", side);
    double variation;

    if (values && values->len > 1) {
        variation = 100 * stats_variation((double *)values->data,
                                          values->len);
        g_array_append_val(one, variation);
        bench_row(&throttle->bench, name, "%", one, NULL);
    }
}

void throttle_depth_summarize(Throttle *throttle, const DepthLoad *load)
{
    const BenchBound level = { .around = 1 };

    for (guint s = 0; s < G_N_ELEMENTS(sides); s++) {
        bool ours = limit_sides[sides[s]].by == LIMIT_BY_LLCSCHED;
        g_autofree char *first = side_name(sides[s], depths[0]);

        for (guint i = 0; i < G_N_ELEMENTS(depths); i++) {
            g_autofree char *name = side_name(sides[s], depths[i]);
            g_autofree char *what = NULL;

            throttle_summary(throttle, load->row, name, load->metric,
                             load->what, load->unit, NULL);
            summarize_variation(throttle, load, name);
            if (i) {
                what = g_strdup_printf("- of depth 1: %s", name);
                throttle_ratio(throttle, load->row, name, first, load->metric,
                               1, what, ours ? &level : NULL);
            }
        }
    }
}

/* --- With the test guest --- */

static void measure_rate(Throttle *throttle, const DepthLoad *load,
                         const LimitSide *side, int round)
{
    throttle_add(throttle, load->row, side, round, load->metric, load->unit,
                 guest_vm_rate(&throttle->guest, throttle->window_ms));
}

static void measure_guest(Throttle *throttle, const DepthLoad *load,
                          const char *mode)
{
    throttle_vm_start(throttle, mode, N_VCPUS);
    throttle_depth_rounds(throttle, load);
    throttle_vm_end(throttle);
    throttle_depth_summarize(throttle, load);
}

void throttle_depth(Throttle *throttle, const char *row)
{
    const DepthLoad load = {
        .row = row, .metric = "work", .unit = "1/s", .what = "work",
        .measure = measure_rate,
    };

    measure_guest(throttle, &load, "spin");
}

void throttle_depth_hop(Throttle *throttle, const char *row)
{
    const DepthLoad load = {
        .row = row, .metric = "hand-offs", .unit = "1/s",
        .what = "hand-offs", .measure = measure_rate,
    };

    measure_guest(throttle, &load, "hop");
}
