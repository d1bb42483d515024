/*
 * What tenants got of cores, and who was beside whom
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef BENCH_CORE_TIME_H
#define BENCH_CORE_TIME_H

#include "switches.h"

/* Who must not share a core; all other threads have no cookie. */
#define CORE_TIME_TENANTS 2

/* Sums over all cores; time in ns. */
typedef struct CoreTime {
    int64_t granted_ns[CORE_TIME_TENANTS];
    int64_t alone_ns;           /* a tenant, and the sibling idle */
    int64_t paired_ns;          /* one tenant on both siblings */
    int64_t beside_ns;          /* a tenant beside what has no cookie */
    int64_t overlap_ns;         /* two tenants on one core */
    int64_t longest_overlap_ns;
    uint64_t overlaps;
    int64_t longest_wait_ns;    /* of a thread that was preempted */
} CoreTime;

/*
 * @stretches (of switches_stop()) lie before @to_ns.  @cores: the CPUs of each
 * core, one or two, @n_cores of them.  @tenants: thread id to 1 or 2.
 */
CoreTime core_time_sum(const GArray *stretches, const HostCpuSet *cores,
                       int n_cores, GHashTable *tenants, int64_t to_ns);

#endif
