/*
 * LLC-aware vCPU scheduler: throttled time, shown as steal
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef HW_SCHED_LLCSCHED_STEAL_H
#define HW_SCHED_LLCSCHED_STEAL_H

#include "llcsched-types.h"

/* Whether the guest is told of @vcpu's throttled time, or why not. */
LlcschedStealState llcsched_steal_state(const LlcschedVcpu *vcpu);

/* Close the gate of @vcpu: what follows may be stolen time.  Lock held. */
void llcsched_steal_begin(LlcschedVcpu *vcpu);

/* It is open again, and throttled_ns complete: tell.  BQL and lock held. */
void llcsched_steal_end(LlcschedVcpu *vcpu);

/* The VM stands, as do the clocks: tell.  BQL held, lock not held. */
void llcsched_steal_pause(Llcsched *s);

/* The VM is about to run.  Lock held. */
void llcsched_steal_resume(Llcsched *s);

#endif
