/*
 * Divides CPUs into disjoint sets by what each of them claims
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef HW_SCHED_CORE_HOST_PARTITION_H
#define HW_SCHED_CORE_HOST_PARTITION_H

#include "hw/sched/host-cpuset.h"

/* Disjoint sets under construction; owner[cpu] is an index or -1. */
typedef struct Partition {
    int *owner;
    GArray *sets;    /* of HostCpuSet */
} Partition;

/* No sets; for CPUs 0 .. @n_cpus - 1. */
void partition_init(Partition *p, int n_cpus);
void partition_clear(Partition *p);

/*
 * Make what is still free of @claim, within @limit, a set of its own, and @cpu
 * its member in any case.  @cpu must be free.
 */
void partition_take(Partition *p, int cpu, const HostCpuSet *claim,
                    const HostCpuSet *limit);

/* True if @claim, as far as it is online, is the set that @cpu is in. */
bool partition_agrees(const Partition *p, int cpu, const HostCpuSet *claim,
                      const HostCpuSet *online);

/* Number the sets by their lowest CPU. */
void partition_sort(Partition *p, int n_cpus);

#endif
