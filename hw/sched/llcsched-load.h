/*
 * LLC-aware vCPU scheduler: what others run, and what our threads did
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef HW_SCHED_LLCSCHED_LOAD_H
#define HW_SCHED_LLCSCHED_LOAD_H

#include "hw/sched/host-load.h"
#include "llcsched-types.h"

/*
 * The load since the last measurement, if that is long enough ago to tell;
 * else NULL.  @keep makes this measurement the next one's start.  Lock held.
 */
HostLoad *llcsched_measure(Llcsched *s, const HostTopology *host,
                           HostLoadSample *sample, bool keep);

/*
 * Add what a thread ran and waited since then to the LLCs of its mask, in
 * proportion to the CPUs that it may use on each.  Lock held.
 */
void llcsched_spread_own(const LlcschedThread *thread,
                         const HostTopology *host, const ThreadTimes *now,
                         uint64_t *run_ns, uint64_t *wait_ns);

#endif
