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
 * Measure, and keep it: as the last load, and in the history.  @sample is taken
 * over if it is to be kept.  @note: why less than all was read, or NULL.  Lock
 * held.
 */
void llcsched_take_load(Llcsched *s, HostLoadSample **sample,
                        const char *note);

/*
 * The LLC where a thread ran: that of its mask, if this lies within one, else
 * where it is now; -1: cannot be told.  Lock held.
 */
int llcsched_thread_llc(Llcsched *s, const HostTopology *host,
                        const LlcschedThread *thread);

#endif
