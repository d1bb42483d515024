/*
 * LLC-aware vCPU scheduler: what the host's cgroups leave to the vCPUs
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef HW_SCHED_LLCSCHED_QUOTA_H
#define HW_SCHED_LLCSCHED_QUOTA_H

#include "hw/sched/bandwidth.h"
#include "hw/sched/host-quota.h"
#include "llcsched-types.h"

/* Guarded by the lock, but for @wait, which is look_lock's. */
typedef struct LlcschedQuota {
    HostQuotas *quotas;         /* as last read; NULL: never */
    GHashTable *groups;         /* thread id to the number of its group */
    int error;                  /* negative errno of one that was not read */
    int wait;                   /* looks until they are read again */
} LlcschedQuota;

void llcsched_quota_fini(Llcsched *s);

/*
 * Read the cgroups of the vCPUs' threads, if that is due or @now.  look_lock
 * held, lock not held.
 */
void llcsched_quota_look(Llcsched *s, bool now);

/* Lock held. */
LlcschedHostQuota *llcsched_quota_info(const Llcsched *s);

/* The host leaves the vCPUs of @group less than @limits do.  Lock held. */
bool llcsched_quota_tighter(const LlcschedGroup *group,
                            const BandwidthLimits *limits);

#endif
