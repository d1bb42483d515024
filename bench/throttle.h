/*
 * The parts of bench-throttle: the kernel's CPU quota and llcsched's
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef BENCH_THROTTLE_H
#define BENCH_THROTTLE_H

#include "bench.h"
#include "guest-sample.h"
#include "limiter.h"
#include "samples.h"

/* Pairs of windows, the two of a pair in turns the first. */
#define THROTTLE_ROUNDS_DEFAULT 10

typedef struct Throttle {
    Bench bench;            /* the summary */
    Samples *samples;       /* everything */
    CgroupTree *tree;       /* NULL: no kernel to compare with */
    int rounds;
    int window_ms;          /* of one side in one round */
    int skipped;            /* rows that could not be measured */

    /* The VM of the row that is measured now. */
    GuestVm guest;
    Limiter limiter;
    double ticks_per_ms;    /* of the guest's TSC; 0: not known */
    int thread;             /* id of llcsched's thread */
} Throttle;

/* One part of the benchmark.  @row is its name, and that of its samples. */
typedef void ThrottleRow(Throttle *throttle, const char *row);

ThrottleRow throttle_share, throttle_beside, throttle_one, throttle_crowd;
ThrottleRow throttle_stall, throttle_endless;
ThrottleRow throttle_hop, throttle_lag;
ThrottleRow throttle_burst, throttle_throttles;
ThrottleRow throttle_depth, throttle_depth_hop, throttle_linux;
ThrottleRow throttle_thread;

/* --- What the parts share --- */

/* A VM with the test guest, whose vCPUs @throttle->limiter can limit. */
void throttle_vm_start(Throttle *throttle, const char *mode, int n_vcpus);
/* The same with @more arguments. */
void throttle_vm_start_with(Throttle *throttle, const char *mode, int n_vcpus,
                            const char *more);
void throttle_vm_end(Throttle *throttle);

/* The same in a mode that notes times; sets @throttle->ticks_per_ms. */
void throttle_vm_start_noting(Throttle *throttle, const char *mode,
                              int n_vcpus);

/* For a VM that was started otherwise, in @throttle->guest. */
void throttle_take_vm(Throttle *throttle);

/* How often llcsched's thread woke up so far, and its CPU time. */
uint64_t throttle_wakeups(const Throttle *throttle);
uint64_t throttle_thread_ns(const Throttle *throttle);

/* Let @side limit, and forget what was before. */
void throttle_settle(Throttle *throttle, const LimitSide *side, double cpus);

/* Measure one side once. */
typedef void ThrottleMeasure(Throttle *throttle, const LimitSide *side,
                             int round, void *opaque);

/*
 * All rounds of the @n @sides, forwards and backwards in turns.  Without
 * cgroups the kernel's are left out.
 */
void throttle_rounds(Throttle *throttle, const LimitSide *sides, int n,
                     ThrottleMeasure *measure, void *opaque);

/*
 * The same by more and shorter windows, for what this machine does faster or
 * slower for seconds, whatever limits it: the sides of a round have to be near
 * each other.
 */
void throttle_rounds_short(Throttle *throttle, const LimitSide *sides, int n,
                           ThrottleMeasure *measure, void *opaque);

/* Add what was measured of one side. */
void throttle_add(const Throttle *throttle, const char *row,
                  const LimitSide *side, int round, const char *metric,
                  const char *unit, double value);

/*
 * Add the row of a metric of one side to the summary, "WHAT: SIDE", if it was
 * measured.
 */
void throttle_summary(const Throttle *throttle, const char *row,
                      const char *side, const char *metric, const char *what,
                      const char *unit, const BenchBound *bound);

/*
 * The same for @factor times the ratio of two metrics, round by round; it is a
 * skipped row if one was not measured.
 */
void throttle_ratio(Throttle *throttle, const char *row,
                    const char *side, const char *to_side,
                    const char *metric, double factor, const char *what,
                    const BenchBound *bound);

#endif
