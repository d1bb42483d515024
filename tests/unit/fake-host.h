/*
 * Hosts made of numbers, for tests of policy that need no sysfs
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TESTS_UNIT_FAKE_HOST_H
#define TESTS_UNIT_FAKE_HOST_H

#include "hw/sched/host-topology.h"

/* CPU numbers: first one thread of every core, then the second ones (x86). */
#define FAKE_HOST_SIBLINGS_APART 1
/* Nodes are numbered 0, 8, 16 ... as on POWER. */
#define FAKE_HOST_SPARSE_NODES   2

/*
 * @packages x @nodes_per_package x @llcs_per_node x @cores_per_llc x @threads.
 * Distances: 10 local, 12 in a package, 32 between packages; L3s of 32 MiB.
 */
HostTopology *fake_host_new(int packages, int nodes_per_package,
                            int llcs_per_node, int cores_per_llc, int threads,
                            int flags);

/* Take CPUs offline; LLCs and cores that are left empty disappear. */
void fake_host_offline(HostTopology *host, const char *cpus);

void fake_host_set_bytes(HostTopology *host, int llc, uint64_t bytes);

/* The first @n_fast cores of every LLC keep capacity 1024, others get @slow. */
void fake_host_make_hybrid(HostTopology *host, int n_fast, unsigned slow);

/* A node with memory and no CPUs, at @distance from all others. */
void fake_host_add_memory_node(HostTopology *host, int id, unsigned distance);

#endif
