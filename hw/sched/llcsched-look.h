/*
 * LLC-aware vCPU scheduler: one look at host and threads, and what follows
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef HW_SCHED_LLCSCHED_LOOK_H
#define HW_SCHED_LLCSCHED_LOOK_H

#include "llcsched-plan.h"

/* Why a look happens; the trace and the forgiving of contests need it. */
typedef enum LlcschedWhy {
    LLCSCHED_WHY_INTERVAL,
    LLCSCHED_WHY_START,
    LLCSCHED_WHY_VCPU,
    LLCSCHED_WHY_PROPERTY,
    LLCSCHED_WHY_COMMAND,
} LlcschedWhy;

/*
 * Look at the host and the threads; plan and place when something changed or
 * @why asks for it.  Locks not held; from any thread.  False if the host
 * cannot be read: that is an error, or, with @errp NULL, a warning.
 */
bool llcsched_look(Llcsched *s, LlcschedWhy why, Error **errp);

/*
 * Take over a view of the host; true if a new plan is due.  Both locks held.
 */
bool llcsched_take_view(Llcsched *s, LlcschedView *view);

/* The state in one line, for people; the caller frees it.  Lock held. */
char *llcsched_summary(const Llcsched *s);

/*
 * What a look would plan now, without doing it.  NULL and @errp if the host
 * cannot be read or has no CPU to use.  BQL held, other locks not.
 */
LlcschedPlanned *llcsched_dry_run(Llcsched *s, Error **errp);

#endif
