/*
 * LLC-aware vCPU scheduler: the mask of one thread, and whose it is
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef HW_SCHED_LLCSCHED_MASK_H
#define HW_SCHED_LLCSCHED_MASK_H

#include "hw/sched/host-load.h"
#include "hw/sched/mask-watch.h"
#include "llcsched-types.h"

/*
 * A thread whose mask may be set, and whose that is.  Guarded by the lock.
 */
struct LlcschedThread {
    int id;                     /* 0: not known, or gone */
    MaskWatch watch;
    LlcschedMaskState state;
    HostCpuSet found;           /* before we set one; restored by object-del */
    bool has_found;
    HostCpuSet mask;            /* at the last look or change */
    int failed_errno;           /* of the last attempt to set a mask */
    HostCpuSet failed_mask;     /* what that was */
    ThreadTimes times;          /* at the last look */
    HostCpuSet sim_mask;        /* qtest: the mask of a thread that has none */
};

/* The lock is held, and the thread alive, but where it is said. */

/*
 * @base is what the process may use without us: what threads, and programs,
 * get that inherit a mask of ours.  BQL held, lock not needed.
 */
void llcsched_mask_start(const HostCpuSet *base);

/* A thread that makes others has this mask of ours. */
void llcsched_mask_inheritable(const HostCpuSet *mask);

/* True if a new thread has @mask only since its creator got it from us. */
bool llcsched_mask_inherited(const HostCpuSet *mask);

/* Give a new thread that inherited such a mask what it would have without. */
void llcsched_mask_disinherit(Llcsched *s, LlcschedThread *thread);

/* What a look at a mask calls for. */
typedef struct LlcschedMaskNeed {
    bool plan;    /* what plans are made from has changed */
    bool apply;   /* it is not as planned, and free to be set */
} LlcschedMaskNeed;
LlcschedMaskNeed llcsched_mask_see(Llcsched *s, LlcschedThread *thread);

/* Somebody else's: not to be set. */
bool llcsched_mask_kept_off(const LlcschedThread *thread);

/*
 * Set a mask that is not ours already; true if it changed.  What failed is
 * tried again only with @retry.
 */
bool llcsched_mask_set(Llcsched *s, LlcschedThread *thread,
                       const HostCpuSet *mask, bool retry);

/* Give a mask that is ours back as it was found; true if it was. */
bool llcsched_mask_restore(Llcsched *s, LlcschedThread *thread);

#endif
