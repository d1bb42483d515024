/*
 * LLC-aware vCPU scheduler: cookies of vCPUs, and how things stand with them
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef HW_SCHED_LLCSCHED_TRUST_H
#define HW_SCHED_LLCSCHED_TRUST_H

#include "hw/sched/core-cookie.h"
#include "hw/sched/host-trust.h"
#include "llcsched-types.h"

/* A vCPU thread's cookie.  Guarded by the lock. */
typedef struct LlcschedVcpuTrust {
    LlcschedHolder *holder;     /* whose it should have, when last settled */
    LlcschedCookieState state;
    uint64_t hash;              /* as read back last; 0: none */
    CoreCookie fault;           /* why @state is failed */
    bool foreign;               /* it has somebody else's, to be respected */
    bool settled;               /* once, before it first entered the guest */
    bool queued;                /* work to settle it is on its way */
    uint64_t judged_ns;         /* CPU time of its thread, then */
    uint64_t untagged_ns;       /* what it ran, at most, without proof */
    bool has_forced_idle;       /* the kernel counts it */
    uint64_t forced_idle_ns;    /* at the last look */
} LlcschedVcpuTrust;

/* How things stand with cookies, as events tell it. */
typedef struct LlcschedTrustStatus {
    LlcschedTrustMode mode;
    LlcschedIsolation isolation;
    int cookies, with_cookie, isolated, gated;
    uint64_t changes;
} LlcschedTrustStatus;

/* Guarded by the lock, but for what is set once, before the first look. */
typedef struct LlcschedTrustData {
    char *cookie;               /* only compared; NULL: none */
    LlcschedHolder *holder;     /* of @cookie */
    GPtrArray *numbered;        /* LlcschedHolder *, each cookie's once seen */
    bool kernel;                /* it had a cookie for the last that asked */
    HostPeers peers;
    bool smt_off;               /* at the last look: surely no siblings */
    bool sched_ext;
    bool has_fault;
    CoreCookie fault;           /* the last failure */
    uint64_t changes;           /* cookies that were changed from outside */
    LlcschedTrustStatus told;
    QEMUTimer *timer;
} LlcschedTrustData;

/* Take @value for a property 'cookie', if it may be one. */
void llcsched_trust_take_cookie(char **cookie, const char *value,
                                Error **errp);

/*
 * Make @cookie, before any thread needs it.  False if the vCPUs of it cannot
 * be isolated and have to be.  BQL held, other locks not.
 */
bool llcsched_trust_prepare(Llcsched *s, const char *cookie,
                            LlcschedHolder **ret_holder, Error **errp);

/* Set up, with the object's own cookie, and take down.  BQL held. */
bool llcsched_trust_init(Llcsched *s, Error **errp);
void llcsched_trust_fini(Llcsched *s);

/*
 * Read every cookie back, and do what follows.  While the VM runs and has
 * cookies, this is done again soon.  Locks not held.
 */
void llcsched_trust_look(Llcsched *s);

/* Have it done soon for the first time.  Lock not held. */
void llcsched_trust_arm(Llcsched *s);

/*
 * Whose cookie the vCPUs of @group (NULL: of none) should have: the nearest on
 * the way up; or NULL.  The same for a vCPU.
 */
LlcschedHolder *llcsched_trust_of(const Llcsched *s,
                                  const LlcschedGroup *group);
LlcschedHolder *llcsched_trust_wanted(const LlcschedVcpu *vcpu);

/*
 * What its thread ran since this was asked last, it may have run as is found
 * now: isolated, or @unproven.  Lock held.
 */
void llcsched_trust_charge(LlcschedVcpu *vcpu, bool unproven);

/* The different holders of this VM, for the caller to free.  Lock held. */
GPtrArray *llcsched_trust_holders(const Llcsched *s);

/* A vCPU in this state may be in the guest. */
bool llcsched_trust_proven(LlcschedCookieState state);

/* In the vCPU's thread, BQL and lock held: it has come to be, or is let go. */
void llcsched_trust_enter(LlcschedVcpu *vcpu);
void llcsched_trust_forget(LlcschedVcpu *vcpu);

/* False if a vCPU that is to be plugged could not be isolated.  BQL held. */
bool llcsched_trust_admits(Llcsched *s, Error **errp);

/* llcsched-trust-report.c */

/* Send the event that is due, if one is.  Lock not held. */
void llcsched_trust_tell(Llcsched *s);

/* Lock held. */
LlcschedTrustInfo *llcsched_trust_info(const Llcsched *s);

/* Set the cookie's members of @info.  Lock held. */
void llcsched_trust_fill_vcpu(LlcschedVcpuInfo *info, const LlcschedVcpu *vcpu);

#endif
