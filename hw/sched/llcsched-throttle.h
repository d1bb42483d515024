/*
 * LLC-aware vCPU scheduler: groups, and vCPUs kept out for their quotas
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef HW_SCHED_LLCSCHED_THROTTLE_H
#define HW_SCHED_LLCSCHED_THROTTLE_H

#include "hw/sched/bandwidth.h"
#include "hw/sched/host-cpuset.h"
#include "llcsched-types.h"

/* Limits as the user gives them, us; all three change as one. */
typedef struct LlcschedLimitsUs {
    int64_t quota, period, burst;
} LlcschedLimitsUs;

/* A node of the tree of groups.  Guarded by the lock but for its options. */
struct LlcschedGroup {
    Object parent_obj;

    Llcsched *sched;            /* a reference; NULL until complete */
    char *id;
    char *parent_id;            /* as given; NULL: the llcsched object */
    LlcschedGroup *parent;      /* NULL: the llcsched object */
    int children;
    bool has_vcpus;
    HostCpuSet vcpus;           /* used as a set of vCPU indexes */
    LlcschedLimitsUs limits;
    BandwidthGroup *bandwidth;
    char *cookie;               /* only compared; NULL: none of its own */
    LlcschedHolder *holder;     /* of @cookie */
    uint32_t weight;            /* of its vCPUs' cookie; 0: not given */
    bool sustained;             /* was told of throttling that goes on */
    int64_t last_throttled_ns;  /* when a period was last throttled */
    QTAILQ_ENTRY(LlcschedGroup) next;
};

/* Set up and take down; nothing looks yet, or any more. */
bool llcsched_throttle_init(Llcsched *s, Error **errp);
void llcsched_throttle_fini(Llcsched *s);

/* The view is of another host.  Lock held, or the object is new. */
void llcsched_throttle_host_changed(Llcsched *s);

/* The VM stops, or is about to run: a look follows.  Lock not held. */
void llcsched_throttle_pause(Llcsched *s);
void llcsched_throttle_resume(Llcsched *s);

/* Charge, gate, open and set the timer anew.  Any thread, lock not held. */
void llcsched_throttle_look(Llcsched *s);

/* A complete group joins and leaves.  BQL held, lock not held. */
bool llcsched_throttle_add(LlcschedGroup *group, const BandwidthLimits *limits,
                           Error **errp);
void llcsched_throttle_remove(LlcschedGroup *group);
void llcsched_throttle_set_limits(LlcschedGroup *group,
                                  const BandwidthLimits *limits);

/* For how long quotas kept it out so far.  Lock held. */
uint64_t llcsched_throttled_ns(const LlcschedVcpu *vcpu, int64_t now_ns);

/* A vCPU's thread is known, or the vCPU goes.  Lock held. */
void llcsched_throttle_join(LlcschedVcpu *vcpu);
void llcsched_throttle_leave(LlcschedVcpu *vcpu);

#endif
