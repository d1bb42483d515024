/*
 * The parts of bench-host: what the policy costs, without a guest
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef BENCH_BENCH_HOST_H
#define BENCH_BENCH_HOST_H

#include "bench.h"

/* A host of this many CPUs stands for the large ones that are sold. */
#define BENCH_HOST_CPUS 384

/*
 * Reading topologies; @root is a tree of BENCH_HOST_CPUS CPUs, as for
 * host_topology_read().
 */
void bench_read(const Bench *bench, const char *root);

/* Planning 1024 vCPUs on 4096 CPUs. */
void bench_plan(const Bench *bench);

/* One look at 64 vCPUs: of this machine, and with the files of @root. */
void bench_look(const Bench *bench, const char *root);

#endif
