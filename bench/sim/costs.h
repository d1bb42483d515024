/*
 * What the simulated hardware and kernel cost
 *
 * Chosen from what others published, before any policy of ours ran in the
 * simulator, and not changed since: git log of this file shows it.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef BENCH_SIM_COSTS_H
#define BENCH_SIM_COSTS_H

/* Linux' base_slice_ns on hosts of 8 CPUs and more, until 6.15: 3 ms. */
#define SIM_SLICE_NS 3000000

/*
 * One cache line from another core: about 25 ns in an L3, 110 ns between two
 * L3s of a socket, 200 ns between sockets (public core-to-core measurements of
 * EPYC 7003).
 */
#define SIM_LINE_LLC_NS 25
#define SIM_LINE_NODE_NS 110
#define SIM_LINE_PACKAGE_NS 200

/* Lines that a request or its response touches: 4 KiB.  An assumption. */
#define SIM_LINES_PER_MESSAGE 64

/*
 * A task that moves runs slower until its cache is warm.  The kernel takes a
 * task for cache-hot for 500 us (sched_migration_cost_ns); within an LLC only
 * the core's own caches, a tenth of that here, are lost.
 */
#define SIM_MIGRATE_FAR_NS 500000
#define SIM_MIGRATE_NEAR_NS 50000

/* Both siblings busy: each runs at that speed, percent (15..30 % by SMT). */
#define SIM_SMT_PERCENT 62

/* A wake-up: from the waker's call until an idle CPU runs the task. */
#define SIM_WAKE_NS 3000

/* The kernel's periodic balance: once in so long per CPU, one task. */
#define SIM_BALANCE_NS 8000000

#endif
