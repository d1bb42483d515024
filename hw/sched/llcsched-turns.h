/*
 * LLC-aware vCPU scheduler: turns of cookies, and the vCPUs that take them
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef HW_SCHED_LLCSCHED_TURNS_H
#define HW_SCHED_LLCSCHED_TURNS_H

#include "hw/sched/trust-turns.h"
#include "hw/sched/vcpu-blocking.h"
#include "llcsched-alarm.h"
#include "llcsched-types.h"

/* A vCPU whose cookie takes turns.  Guarded by the lock. */
typedef struct LlcschedVcpuTurn {
    unsigned cookie;            /* its number, as it takes part now */
    uint64_t ticket;            /* of the last order to close its gate */
    bool open_due;              /* in the main loop */
    bool leaving;               /* work to prove it out is on its way */
    bool dry;                   /* its quota's gate was closed when told */
    bool joining;               /* work to take part anew is on its way */
    bool strayed;               /* seen on cores where it might not be before */
    HostCpuSet target;          /* mask that waits to be set; empty: none */
} LlcschedVcpuTurn;

/* Turns of cookies.  Guarded by the lock. */
typedef struct LlcschedTurns {
    bool active;                /* from set-up to take-down */
    TrustTurns *turns;          /* NULL: trust-backend is another */
    GPtrArray *vcpus;           /* LlcschedVcpu *, by index; NULL: not there */
    bool masks_due;             /* some wait until their cores are settled */
    LlcschedAlarm look_alarm;   /* in the thread: a turn may end */
    LlcschedAlarm open_alarm;   /* in the main loop: what needs the BQL */
    int64_t kick_at_ns;         /* then, if vCPUs have not left; 0: not */
} LlcschedTurns;

/* trust-backend=gate: cookies take turns, and the kernel gives none. */
bool llcsched_turns_used(const Llcsched *s);

/* Set up and take down; in between, have them decide no more.  BQL held. */
bool llcsched_turns_init(Llcsched *s, Error **errp);
void llcsched_turns_stop(Llcsched *s);
void llcsched_turns_fini(Llcsched *s);

/* The VM stops, or runs.  BQL held, lock not held. */
void llcsched_turns_pause(Llcsched *s);
void llcsched_turns_resume(Llcsched *s);

/* In the vCPU's thread, BQL and lock held: it has come to be, or is let go. */
void llcsched_turns_join(LlcschedVcpu *vcpu);
void llcsched_turns_forget(LlcschedVcpu *vcpu);

/* Its thread ends.  Lock held; from here on the lock is held. */
void llcsched_turns_leave(LlcschedVcpu *vcpu);

/* It takes turns with the cookie that it should have. */
bool llcsched_turns_has(const LlcschedVcpu *vcpu);

/* Read masks back, and see cookies, weights and options that changed. */
void llcsched_turns_look(Llcsched *s);

/* Gates were closed or opened for quotas. */
void llcsched_turns_quota(Llcsched *s);

/*
 * Whether @mask may be set now: cookies that will meet are apart already.  If
 * not they part now, and llcsched_move_masks() follows.
 */
bool llcsched_turns_may_move(LlcschedVcpu *vcpu, const HostCpuSet *mask);
void llcsched_turns_moved(LlcschedVcpu *vcpu);

/* The numbers of cores mean others now. */
void llcsched_turns_host_changed(Llcsched *s);

#endif
