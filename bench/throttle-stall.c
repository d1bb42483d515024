/*
 * How long a guest is stopped, and how far it overruns
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "throttle.h"
#include "guest-times.h"
#include "usage.h"

#define N_VCPUS 2
#define CPUS 1.0

/* The kernel's default, and ours. */
#define KERNEL_DEFAULT SIDE_KERNEL_100
#define OUR_DEFAULT SIDE_LLCSCHED_10

/* A guest that does not count for so long does not run: see usage(). */
#define STEP_US 300

/* Of each period, all vCPUs run to use the quota and then stand still. */
static double fair_stall_ms(const LimitSide *side)
{
    return side->period_us * (1 - CPUS / N_VCPUS) / 1e3;
}

static double stall_ms(const Throttle *throttle)
{
    return guest_times_since(&throttle->guest, NULL) / throttle->ticks_per_ms;
}

static void measure_stall(Throttle *throttle, const LimitSide *side,
                          int round, void *opaque)
{
    const char *row = opaque;

    throttle_settle(throttle, side, CPUS);
    guest_times_reset(&throttle->guest, NULL);
    g_usleep(throttle->window_ms * 1000);
    throttle_add(throttle, row, side, round, "longest", "ms",
                 stall_ms(throttle));
}

void throttle_stall(Throttle *throttle, const char *row)
{
    const BenchBound fifth = { .median = 0.2 };

    throttle_vm_start_noting(throttle, "gap", N_VCPUS);
    throttle_rounds(throttle, limit_sides, N_SIDES, measure_stall,
                    (void *)row);
    throttle_vm_end(throttle);
    for (int i = 0; i < N_SIDES; i++) {
        const LimitSide *side = &limit_sides[i];
        const BenchBound bound = { .median = fair_stall_ms(side) + 1 };

        throttle_summary(throttle, row, side->name, "longest",
                         "longest stall", "ms",
                         side->by == LIMIT_BY_LLCSCHED ? &bound : NULL);
    }
    throttle_ratio(throttle, row, limit_sides[OUR_DEFAULT].name,
                   limit_sides[KERNEL_DEFAULT].name, "longest", 1,
                   "longest stall: our default of the kernel's", &fifth);
}

/*
 * What the vCPUs used at each moment at which none ran, since what a thread
 * that runs has used is known up to the last tick only: GArray of UsagePoint.
 * A vCPU that waits for a CPU looks the same; that is as well.
 */
static GArray *usage_when_still(const GuestVm *guest, int ms)
{
    GArray *points = g_array_new(false, false, sizeof(UsagePoint));
    int64_t end_ns = bench_now_ns() + ms * 1000000ll;
    uint64_t before, count = guest_vm_count(guest);
    UsagePoint point;

    do {
        g_usleep(STEP_US);
        before = count;
        point.used_ns = guest_vm_vcpus_ns(guest);
        point.when_ns = bench_now_ns();
        count = guest_vm_count(guest);
        if (count == before) {
            g_array_append_val(points, point);
        }
    } while (point.when_ns < end_ns);
    return points;
}

/* A quota at once is no overrun. */
static double overrun_ms(const GArray *points, const LimitSide *side)
{
    double excess = usage_excess((UsagePoint *)points->data, points->len,
                                 CPUS) / 1e6;

    return MAX(0, excess - side->period_us * CPUS / 1e3 *
                           (1 - CPUS / N_VCPUS));
}

/* What llcsched itself says, as often as it can be asked. */
static void watch_debt(Throttle *throttle, const LimitSide *side, int round,
                       const char *row)
{
    int64_t end_ns = bench_now_ns() + throttle->window_ms * 1000000ll / 2;
    int64_t most_ns = 0, free_ns = bench_now_ns(), longest_ns = 0;

    while (bench_now_ns() < end_ns) {
        int64_t debt_ns = limiter_group_int(&throttle->limiter, "debt-ns");

        most_ns = MAX(most_ns, debt_ns);
        if (!debt_ns) {
            free_ns = bench_now_ns();
        }
        longest_ns = MAX(longest_ns, bench_now_ns() - free_ns);
        g_usleep(STEP_US * 3);
    }
    throttle_add(throttle, row, side, round, "debt", "ms", most_ns / 1e6);
    throttle_add(throttle, row, side, round, "in debt", "ms",
                 longest_ns / 1e6);
}

static void measure_endless(Throttle *throttle, const LimitSide *side,
                            int round, void *opaque)
{
    g_autoptr(GArray) points = NULL;
    const char *row = opaque;

    throttle_settle(throttle, side, CPUS);
    guest_times_reset(&throttle->guest, NULL);
    points = usage_when_still(&throttle->guest, throttle->window_ms);
    if (points->len) {
        throttle_add(throttle, row, side, round, "overrun", "ms",
                     overrun_ms(points, side));
    }
    throttle_add(throttle, row, side, round, "repayment", "ms",
                 MAX(0, stall_ms(throttle) - fair_stall_ms(side)));
    if (side->by == LIMIT_BY_LLCSCHED) {
        watch_debt(throttle, side, round, row);
    }
}

void throttle_endless(Throttle *throttle, const char *row)
{
    static const char *const metrics[][2] = {
        { "overrun", "largest overrun" },
        { "repayment", "longest stall beyond the fair one" },
        { "debt", "largest debt" },
        { "in debt", "longest time in debt" },
    };

    throttle_vm_start_noting(throttle, "gap", N_VCPUS);
    throttle_rounds(throttle, limit_sides, SIDE_NONE, measure_endless,
                    (void *)row);
    throttle_vm_end(throttle);
    for (guint m = 0; m < G_N_ELEMENTS(metrics); m++) {
        for (int i = 0; i < SIDE_NONE; i++) {
            throttle_summary(throttle, row, limit_sides[i].name,
                             metrics[m][0], metrics[m][1], "ms", NULL);
        }
    }
}
