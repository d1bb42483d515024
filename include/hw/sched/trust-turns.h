/*
 * Turns: which cookie may be in guest mode where several share cores
 *
 * Pure: no clock, no lock, no thread.  For hosts whose kernel cannot keep
 * cookies apart: the caller gates vCPUs, tells what it sees, and carries out
 * the orders that it gets:
 *
 *     for each watched vCPU: trust_turns_blocking(turns, vcpu, blocks, now);
 *     orders = trust_turns_step(turns, now, &n);
 *     close and open gates in the order given; after each close, let
 *         trust_turns_out(turns, vcpu, ticket, now) come from the vCPU's own
 *         thread, once it is out of the guest, and step again if that is true;
 *     sleep until trust_turns_next_look(turns, now).
 *
 * Cookies whose core sets meet form a domain.  In a domain one cookie at a
 * time is in the guest, and it is proven out before the next one is let in.
 * Turns go by least core-wide virtual time, weighted, as in Linux' core
 * scheduling (kernel/sched/core_sched.c and the snapshot at forced idle of
 * commit c6047c2e3af6), with one bound that the kernel does not have: no
 * cookie waits longer than the slices of the others.  docs/devel/trust.rst has
 * all rules, with reasons.
 *
 * Times are ns of one monotonic clock, from 0 to TRUST_NOW_NS_MAX; a time
 * before that of an earlier call counts as that one.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef HW_SCHED_TRUST_TURNS_H
#define HW_SCHED_TRUST_TURNS_H

#include "hw/sched/trust-cores.h"

#define TRUST_NOW_NS_MAX (INT64_MAX / 2)

#define TRUST_SLICE_NS_MIN (1000 * 1000ull)
#define TRUST_SLICE_NS_MAX (20 * 1000 * 1000ull)
#define TRUST_SLICE_NS_DEFAULT (3 * 1000 * 1000ull)

#define TRUST_WEIGHT_MIN 1
#define TRUST_WEIGHT_MAX 10000
#define TRUST_WEIGHT_DEFAULT 100

/* A turn that is cut short lasts this at least: some five hand-overs. */
#define TRUST_TURN_NS_MIN (500 * 1000ll)

/*
 * An exit is delayed if it takes longer than this from the order to the proof:
 * the goal for the slowest hundredth of hand-overs.
 */
#define TRUST_EXIT_NS_MAX (500 * 1000ll)

/* A look costs a wake-up: the gap from one to the next is no smaller. */
#define TRUST_LOOK_NS_MIN (100 * 1000ll)

/*
 * All vCPUs of a cookie must have been blocking for so long before its turn
 * ends: vCPUs that wake each other are seen blocking one after the other.
 */
#define TRUST_BLOCKED_NS_MIN (100 * 1000ll)

/* What to do with one vCPU's gate. */
typedef struct TrustOrder {
    int vcpu;
    bool open;              /* else close it, and give proof with @ticket */
    uint64_t ticket;
} TrustOrder;

/*
 * Cumulative, of the time that the cookie shared a domain with others; alone
 * it is always let in and nothing is counted.  Core-ns are ns times the cores
 * on which the cookie's vCPUs may run.
 */
typedef struct TrustCookieStats {
    uint64_t turns;
    uint64_t hand_overs;        /* turns after which another cookie's came */
    uint64_t early_ends;        /* turns that ended because all blocked */
    uint64_t fruitless_probes;  /* turns in which nothing was seen to run */
    uint64_t granted_ns;        /* let in, up to the proof that it is out */
    uint64_t granted_core_ns;
    /* Of cores left idle in its turns while one with vCPUs there waited. */
    uint64_t forced_idle_core_ns;
    uint64_t waited_ns;         /* kept out though known to want to run */
    uint64_t longest_wait_ns;   /* between two turns, without what delayed */
    uint64_t longest_gross_wait_ns; /* exits and late looks add to it */
    uint64_t exit_ns;           /* from orders to close to the last proof */
    uint64_t longest_exit_ns;
    uint64_t delayed_exits;     /* above TRUST_EXIT_NS_MAX */
    uint64_t delayed_exit_ns;   /* by how much */
    uint64_t late_look_ns;      /* its turns went on since no look came */
    /* As it is now. */
    uint64_t slice_ns;          /* its turn at most; 0: shares with nobody */
    bool open;                  /* its vCPUs are let in */
    bool closing;               /* ordered out, not all proven out */
    int64_t closing_ns;         /* for how long; 0 if it is not */
    unsigned domain_cookies;    /* in its domain, itself too; 0: no vCPU */
} TrustCookieStats;

/* One core, of the time that cookies took turns on it. */
typedef struct TrustCoreStats {
    uint64_t hand_overs;
    uint64_t granted_ns;        /* a cookie with vCPUs here was let in */
    uint64_t forced_idle_ns;    /* none was, but one that wants to run has */
} TrustCoreStats;

typedef struct TrustTurns TrustTurns;

/* @n_cores is that of the host; @slice_ns in range (asserted). */
TrustTurns *trust_turns_new(int n_cores, uint64_t slice_ns);
void trust_turns_free(TrustTurns *turns); /* NULL is allowed; gates: caller */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(TrustTurns, trust_turns_free)

/* The length of turns from the next one on. */
void trust_turns_set_slice(TrustTurns *turns, uint64_t slice_ns);

/*
 * The host has other cores now, numbered anew: their statistics begin at 0,
 * and every vCPU may be anywhere until its cores are set again.
 */
void trust_turns_set_n_cores(TrustTurns *turns, int n_cores);

/*
 * The weight of a cookie: its share where it competes.  TRUST_WEIGHT_DEFAULT
 * until set.  Cookies need not be declared; their statistics stay when the
 * last vCPU goes.
 */
void trust_turns_set_weight(TrustTurns *turns, unsigned cookie,
                            unsigned weight);

/*
 * Add a vCPU that is not there yet.  @cores are the host cores on which it may
 * be (trust_cores_widen(); NULL: not known, any).  @in_guest: it runs already
 * with an open gate; else its gate is closed, it is not in the guest, and the
 * first step that finds its cookie's turn opens it.
 */
void trust_turns_add(TrustTurns *turns, int vcpu, unsigned cookie,
                     const HostCpuSet *cores, bool in_guest, int64_t now_ns);

/* Its thread has ended, or its gate is the caller's business from now on. */
void trust_turns_remove(TrustTurns *turns, int vcpu, int64_t now_ns);
bool trust_turns_has(const TrustTurns *turns, int vcpu);

/*
 * The cores that the vCPU's actual mask now allows; NULL: not known, any.
 * Before a mask is changed, set the union of old and new, step until
 * trust_turns_settled(), then change it and set the new cores.  True: it may be
 * on cores now on which it might not be before.
 */
bool trust_turns_set_cores(TrustTurns *turns, int vcpu,
                           const HostCpuSet *cores, int64_t now_ns);

/*
 * Whether to tell of this vCPU before the next step: its cookie's turn is on,
 * and another could use what it leaves.
 */
bool trust_turns_watched(const TrustTurns *turns, int vcpu);

/*
 * Whether the vCPU is halted inside its open gate, as seen now.  A vCPU that
 * was just let in counts as running until told.  What is told of one that is
 * not watched changes nothing: nobody can see what it waits for.
 */
void trust_turns_blocking(TrustTurns *turns, int vcpu, bool blocking,
                          int64_t now_ns);

/* Another gate (its quota's) keeps the vCPU out, or does so no more. */
void trust_turns_dry(TrustTurns *turns, int vcpu, bool dry, int64_t now_ns);

/*
 * Proof that the vCPU was out of the guest after the close with @ticket took
 * effect.  Proof of an earlier close, or of a vCPU that has gone, is ignored.
 * True if a step would do something now.
 */
bool trust_turns_out(TrustTurns *turns, int vcpu, uint64_t ticket,
                     int64_t now_ns);

/*
 * Decide.  Returns orders, closes before opens, valid until the next call:
 * they must be carried out before anything else is told.  An open order is
 * given only when every other cookie of the domain is proven out.
 */
const TrustOrder *trust_turns_step(TrustTurns *turns, int64_t now_ns,
                                   unsigned *ret_n);

/*
 * When to step again if nothing is told before: the end of a turn, or a look
 * at what is watched.  INT64_MAX: no cookies share a core, all wait for a
 * proof, or the VM is stopped.
 */
int64_t trust_turns_next_look(const TrustTurns *turns, int64_t now_ns);

/* The VM stops, and runs again: in between no time passes for turns. */
void trust_turns_pause(TrustTurns *turns, int64_t now_ns);
void trust_turns_resume(TrustTurns *turns, int64_t now_ns);

/* True if the vCPU's gate was last ordered open (or never closed). */
bool trust_turns_is_open(const TrustTurns *turns, int vcpu);

/* True if no domain has vCPUs of two cookies that may be in the guest. */
bool trust_turns_settled(TrustTurns *turns, int64_t now_ns);

/* False, outputs untouched, for a cookie or core that was never used. */
bool trust_turns_cookie_stats(TrustTurns *turns, unsigned cookie,
                              int64_t now_ns, TrustCookieStats *ret_stats);
bool trust_turns_core_stats(TrustTurns *turns, int core, int64_t now_ns,
                            TrustCoreStats *ret_stats);

#endif
