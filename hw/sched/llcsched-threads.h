/*
 * LLC-aware vCPU scheduler: the threads that are not vCPUs
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef HW_SCHED_LLCSCHED_THREADS_H
#define HW_SCHED_LLCSCHED_THREADS_H

#include "llcsched-mask.h"

/* A thread of the process that is no vCPU's.  Guarded by the lock. */
typedef struct LlcschedOther {
    LlcschedThread thread;
    bool pending;               /* not known yet what it is: not touched */
    bool fixed;                 /* the kernel lets nobody set its mask */
    LlcschedThreadRole role;
    char *name;
} LlcschedOther;

/* Begin and end; nothing looks yet, or any more.  BQL held, lock not held. */
void llcsched_threads_init(Llcsched *s);
void llcsched_threads_fini(Llcsched *s);

/* Devices came or went.  BQL held. */
void llcsched_threads_changed(Llcsched *s);

/* Read what may take time.  look_lock held, lock not held. */
void llcsched_threads_read(Llcsched *s);

/*
 * See which threads there are, and their masks.  New ones are known when the
 * main loop has told what they are, at once if the BQL is held.  Lock held.
 */
void llcsched_threads_see(Llcsched *s, bool forgive);

/* Set their masks as planned.  Lock held. */
void llcsched_threads_apply(Llcsched *s, bool retry);

/* Give their masks back, also of threads not seen yet.  Lock held. */
void llcsched_threads_restore(Llcsched *s);

/* Add what they ran and waited since the last measurement.  Lock held. */
void llcsched_threads_add_times(Llcsched *s, const HostTopology *host,
                                uint64_t *run_ns, uint64_t *wait_ns,
                                bool keep);

#endif
