/*
 * Which thread ran on which CPU, and when: the kernel's own record
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef BENCH_SWITCHES_H
#define BENCH_SWITCHES_H

#include "hw/sched/host-cpuset.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* One thread on one CPU without a break; never the idle thread. */
typedef struct Stretch {
    int cpu, tid;
    int64_t from_ns, to_ns;     /* CLOCK_MONOTONIC */
    bool preempted;             /* it would have run on */
} Stretch;

typedef struct Switches Switches;

/*
 * Record every context switch on @cpus, which are online and stay so (needs
 * root; ends the program where the kernel refuses).  The program visits each
 * of them, so that a thread that is never switched is seen as well.
 */
Switches *switches_start(const HostCpuSet *cpus);

/*
 * All stretches since then: GArray of Stretch, for the caller to unref, CPU by
 * CPU and in order on each.  They lie within @ret_from_ns to @ret_to_ns, which
 * leaves out the visits.
 */
GArray *switches_stop(Switches *switches, int64_t *ret_from_ns,
                      int64_t *ret_to_ns);

#endif
