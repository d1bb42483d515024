/*
 * vCPUs, their gates and a thread that looks, all of them late: simulated
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TESTS_UNIT_BANDWIDTH_SIM_H
#define TESTS_UNIT_BANDWIDTH_SIM_H

#include "hw/sched/bandwidth.h"

#define SIM_MS 1000000ll
#define SIM_S 1000000000ll
#define SIM_WINDOWS_MAX 64
#define SIM_VCPUS_MAX 16

/* From min to max, evenly. */
typedef struct SimRange {
    int64_t min, max;
} SimRange;

typedef struct Sim {
    unsigned n_vcpus;
    unsigned n_spinning;        /* the others halt */
    BandwidthLimits limits;     /* of the root */
    unsigned depth;             /* further levels have an eighth more */
    int64_t run_ns;             /* all that spin halt after so much CPU time */
    int64_t every_ns;           /* and are woken up again; 0: they never halt */
    SimRange look_late;         /* after the time that was asked for */
    int64_t stuck_ns;           /* and so late for sure ... */
    int stuck_every;            /* ... one look in so many; 0: none */
    SimRange close_late;        /* from the decision to out of the guest */
    SimRange open_late;         /* and into it */
    int64_t other_run_ns;       /* a competitor on each CPU runs so long */
    int64_t other_every_ns;     /* once in so long, at a random time; 0: none */
    int64_t length_ns;
    guint32 seed;
} Sim;

typedef struct SimResult {
    int64_t used_ns;
    double share_error;         /* against the quota, 0.01 is 1 % */
    double window_error_p99;    /* of windows of 1 s */
    double looks_per_period;
    int64_t longest_stall_ns;
    BandwidthStats stats;       /* of the root */
} SimResult;

void sim_run(const Sim *sim, SimResult *ret_result);

#endif
