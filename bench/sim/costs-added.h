/*
 * Costs of the simulated hardware that costs.h does not name
 *
 * Added when the simulated kernel was compared with published tables, which
 * need them, and before any policy of ours ran with them; not changed since.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef BENCH_SIM_COSTS_ADDED_H
#define BENCH_SIM_COSTS_ADDED_H

/*
 * Cache lines that go from the waker to the woken CPU one after the other: of
 * the task, its run queue and what both wait on.  Counted in the path from
 * try_to_wake_up() to the first schedule() of Linux 6.15: three of the task's,
 * four of the queue's, two of the entity's, three of the futex or the halted
 * vCPU.  An assumption, since some are shared already.
 */
#define SIM_WAKE_LINES 12

/* One core that streams: about 20 GB/s (public STREAM results of Zen 3). */
#define SIM_STREAM_MBPS 20000

/*
 * The link of one LLC of several in a package: 32 bytes for each fabric clock
 * of 1.6 GHz (AMD's tuning guides for EPYC 7003).
 */
#define SIM_LLC_LINK_MBPS 51200

/* A package's memory: eight channels of DDR4-3200 (EPYC 7003). */
#define SIM_PACKAGE_MBPS 204800

#endif
