/*
 * Turns of cookies: what their files share
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef HW_SCHED_CORE_TRUST_INTERNAL_H
#define HW_SCHED_CORE_TRUST_INTERNAL_H

#include "hw/sched/trust-turns.h"

/* Virtual time passes at this rate per ns for a cookie of weight 1. */
#define TRUST_VTIME_ONE ((int64_t)TRUST_WEIGHT_MAX)

/* No time between two looks is longer (a day): products stay in 64 bits. */
#define TRUST_STRETCH_NS_MAX (24 * 3600 * 1000000000ll)
#define TRUST_VTIME_MAX (INT64_MAX / 4)

typedef struct TrustCookie TrustCookie;
typedef struct TrustDomain TrustDomain;

typedef enum TrustPlace {
    TRUST_OUT,              /* gate closed, proven out */
    TRUST_IN,               /* gate open */
    TRUST_LEAVING,          /* gate ordered closed, no proof yet */
} TrustPlace;

/* What is known of a cookie that is kept out: a parked vCPU shows nothing. */
typedef enum TrustWish {
    TRUST_WANTS,            /* its turn ended while it ran, or it is new */
    TRUST_MAY_WANT,         /* it blocked after it had run */
    TRUST_IDLE,             /* nothing ran in its last turn */
} TrustWish;

typedef struct TrustVcpu {
    TrustCookie *cookie;
    HostCpuSet cores;
    bool any_core;          /* then @cores is not used */
    TrustPlace place;
    bool blocking, dry;
    uint64_t ticket;        /* of the last close */
} TrustVcpu;

struct TrustCookie {
    unsigned number, weight;
    GArray *vcpus;          /* of int */
    unsigned n_in;          /* not proven out */
    unsigned n_dry;
    unsigned n_stopped;     /* blocking or dry */
    HostCpuSet cores;       /* of all its vCPUs; since the last rebuild */
    unsigned n_cores;
    TrustDomain *domain;    /* NULL: no vCPU; since the last rebuild */
    int64_t vtime;          /* ahead of the domain's, which is 0 */
    uint64_t queued;        /* waits behind those with a lower number */
    int64_t slice;
    TrustWish wish;         /* before its turn, while that is on */
    bool held;              /* let in, or not proven out yet */
    bool closing;           /* of those: ordered out */
    bool passed;            /* gave up its turn; until another's begins */
    bool ran;               /* in this turn, as seen, or as is known */
    int64_t turn_start, turn_end;
    int64_t close_start;
    int64_t blocked_since;  /* -1: some vCPU may run */
    int64_t look_at;
    int64_t last_run;       /* how long it ran in its last turn */
    int64_t margin;         /* learned: from the order to the proof */
    int64_t wait_since;
    int64_t wait_base;      /* the same without what delayed others' turns */
    TrustCookieStats stats;
};

struct TrustDomain {
    GPtrArray *queue;       /* of TrustCookie, by their queued number */
    unsigned contenders;    /* those that are not out of quota */
    TrustCookie *last;      /* whose turn was last */
};

struct TrustTurns {
    int n_cores;
    int64_t slice;
    GPtrArray *vcpus;       /* by index, NULL: none */
    GPtrArray *cookies;     /* by number, NULL: never used */
    GPtrArray *domains;
    TrustCoreStats *core_stats;
    GArray *orders;         /* of TrustOrder */
    int64_t now;            /* without the time that the VM was stopped */
    int64_t settled;        /* up to here all is accounted */
    int64_t stopped;        /* for so long the VM was */
    int64_t paused_at;      /* -1: it runs */
    uint64_t next_ticket, next_queued;
    bool stale;             /* the domains are to be rebuilt */
};

/* Wholly out of quota, or empty: takes no turns. */
static inline bool trust_cookie_dry(const TrustCookie *c)
{
    return c->n_dry == c->vcpus->len;
}

/* Nothing of it runs, as far as was seen. */
static inline bool trust_cookie_blocked(const TrustCookie *c)
{
    return c->blocked_since >= 0;
}

static inline TrustCookie *trust_member(const TrustDomain *d, unsigned i)
{
    return g_ptr_array_index(d->queue, i);
}

static inline TrustVcpu *trust_vcpu(const TrustTurns *turns, int vcpu)
{
    return vcpu < (int)turns->vcpus->len ?
           g_ptr_array_index(turns->vcpus, vcpu) : NULL;
}

static inline TrustVcpu *trust_vcpu_of(const TrustTurns *turns,
                                       const TrustCookie *c, unsigned i)
{
    return trust_vcpu(turns, g_array_index(c->vcpus, int, i));
}

/* trust-account.c */
void trust_tell_time(TrustTurns *turns, int64_t now_ns);
void trust_settle(TrustTurns *turns);
void trust_account_start(TrustTurns *turns, TrustCookie *c);
void trust_account_late(TrustDomain *d, TrustCookie *c, int64_t late);
void trust_account_exit(TrustTurns *turns, TrustCookie *c);

/* How a member ranks; INT64_MAX: it does not count. */
typedef int64_t TrustRank(const TrustCookie *c);

/* trust-choose.c */
TrustCookie *trust_lowest(const TrustDomain *d, TrustRank *rank);
void trust_choose_prepare(TrustTurns *turns, TrustDomain *d);
TrustWish trust_wish(const TrustCookie *c);
bool trust_other_may_want(const TrustDomain *d, const TrustCookie *c);
TrustCookie *trust_choose(TrustTurns *turns, TrustDomain *d,
                          int64_t *ret_length);

/* trust-rebuild.c */
void trust_domain_free(gpointer domain);
void trust_rebuild(TrustTurns *turns);

/* trust-step.c */
void trust_requeue(TrustTurns *turns, TrustCookie *c);

#endif
