/*
 * What llcsched's own thread costs
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "throttle.h"

/* All vCPUs are in one group, which binds unless it has no limit. */
typedef struct ThreadCase {
    const char *name;
    int n_vcpus;
    double cpus;            /* 0: nothing is limited */
    const char *args;
} ThreadCase;

/* A guest that has enabled its steal clock, as Linux does, is told of stops. */
#define STEAL "-fw_cfg name=opt/llcsched/steal,string=own"

static const ThreadCase cases[] = {
    { "2 vCPUs", 2, 1, "" },
    { "16 vCPUs", 16, 1, "" },
    { "16 vCPUs told of it", 16, 1, STEAL },
    { "unlimited", 2, 0, "" },
};

typedef struct ThreadRun {
    const char *row;
    const ThreadCase *c;
} ThreadRun;

static void measure(Throttle *throttle, const LimitSide *side, int round,
                    void *opaque)
{
    const ThreadRun *run = opaque;
    const ThreadCase *c = run->c;
    LimitSide named = *side;
    uint64_t wakeups, ns;
    int64_t start_ns;
    double wall_ns;

    named.name = c->name;
    throttle_settle(throttle, side, c->cpus);
    wakeups = throttle_wakeups(throttle);
    ns = throttle_thread_ns(throttle);
    start_ns = bench_now_ns();
    g_usleep(throttle->window_ms * 1000);
    wall_ns = bench_now_ns() - start_ns;
    wakeups = throttle_wakeups(throttle) - wakeups;
    ns = throttle_thread_ns(throttle) - ns;
    throttle_add(throttle, run->row, &named, round, "CPU", "%",
                 100 * ns / wall_ns);
    if (c->cpus) {
        throttle_add(throttle, run->row, &named, round, "wake-ups a period",
                     "", wakeups * (side->period_us * 1e3 / wall_ns));
    } else {
        throttle_add(throttle, run->row, &named, round, "wake-ups", "1/s",
                     wakeups * 1e9 / wall_ns);
    }
}

void throttle_thread(Throttle *throttle, const char *row)
{
    const BenchBound looks = { .median = 5 }, cpu = { .median = 1 };
    const BenchBound none = { .median = 0.001 };

    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        ThreadRun run = { .row = row, .c = &cases[i] };

        bench_say("%s", cases[i].name);
        throttle_vm_start_with(throttle, "spin", cases[i].n_vcpus,
                               cases[i].args);
        throttle_rounds(throttle, &limit_sides[SIDE_LLCSCHED_10], 1, measure,
                        &run);
        throttle_vm_end(throttle);
        throttle_summary(throttle, row, cases[i].name, "wake-ups a period",
                         "thread's wake-ups a period", "", &looks);
        throttle_summary(throttle, row, cases[i].name, "wake-ups",
                         "thread's wake-ups", "1/s", &none);
        throttle_summary(throttle, row, cases[i].name, "CPU",
                         "thread's CPU time", "%", &cpu);
    }
}
