/*
 * Which vCPUs may share a core, and which cores each cookie gets
 *
 * Pure: no I/O, no clock, no global state; the same input gives the same
 * answer.  Cookies are small numbers, equal where the user's texts are equal.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef HW_SCHED_TRUST_CORES_H
#define HW_SCHED_TRUST_CORES_H

#include "hw/sched/placement.h"

/* vCPUs without a cookie trust each other and nobody else, as in Linux. */
#define TRUST_COOKIE_NONE 0u

/* One for each vCPU that there can be, and none. */
#define TRUST_COOKIE_MAX GUEST_VCPU_MAX

static inline bool trust_may_share_core(unsigned cookie_a, unsigned cookie_b)
{
    return cookie_a == cookie_b;
}

/*
 * The cores (indexes into host->cores, as a set) on which a thread with @mask
 * may be.  All of them if the mask is not known (NULL), is empty, or holds a
 * CPU that is not online: when that comes online, it can be any core's.
 */
void trust_cores_widen(const HostTopology *host, const HostCpuSet *mask,
                       HostCpuSet *ret_cores);

/*
 * Number the domains: sets of which each meets another of the same domain.
 * @ret_domain gets one number for each of the @n sets of @cores, 0 .. by the
 * first member; -1 for an empty set.  Returns how many domains there are.
 */
int trust_domains(const HostCpuSet *const *cores, int n, int *ret_domain);

/* What became of a vCPU's mask. */
typedef enum TrustReason {
    TRUST_ABSENT,         /* possible, but not plugged */
    TRUST_ALONE,          /* no other cookie is present: as planned */
    TRUST_OWN_CORES,      /* cores that no other cookie may use */
    TRUST_OTHER_LLC,      /* the same, but those of the plan's LLCs are gone */
    TRUST_TIME_SHARED,    /* its cookie meets others: too few cores */
    TRUST_BESIDE_FOREIGN, /* the same, since masks were set from outside */
    TRUST_FOREIGN,        /* its own mask was set from outside: kept */
    TRUST_REASON_MAX,
} TrustReason;

typedef struct TrustVcpuPlan {
    TrustReason reason;
    int domain;           /* of its cookie; -1: absent */
    HostCpuSet cores;     /* that it was given; narrow masks use some of them */
} TrustVcpuPlan;

/* How far a plan's masks keep cookies apart. */
typedef struct TrustPlan {
    int n_vcpus;
    TrustVcpuPlan *vcpus;
    int n_cookies;        /* of present vCPUs, TRUST_COOKIE_NONE too */
    int n_domains;
    int n_sharing;        /* cookies that are not alone in their domain */
    /*
     * No two cookies meet on a core: masks isolate, in this VM, as long as
     * they are what the threads have.  Else those that share must take turns.
     */
    bool disjoint;
} TrustPlan;

/*
 * Narrow the masks of @plan, which placement_plan() has just made from @in, so
 * that each cookie has whole cores of its own.  @cookie has one entry for each
 * possible vCPU.  @previous is what this gave for in->previous; or NULL.
 * Rules, in this order:
 *
 *  - cookies are disjoint whenever there is a core for each;
 *  - within the LLCs of the plan if that can be, else on the nearest others;
 *  - cores in proportion to demand, as before until a core is worth about a
 *    quarter more to another cookie;
 *  - more cookies than cores: each core has one, those of most demand first;
 *    each of the others joins where the least demand is.  With @kernel, the
 *    wide masks of these stay as planned: the kernel keeps them apart, and
 *    chooses better who shares when;
 *  - narrow widths: guest cores spread over the cookie's cores before two meet,
 *    guest siblings on host siblings.
 *
 * Masks set from outside are kept, and avoided.  With one cookie nothing
 * changes.  Never fails; returns a new TrustPlan.
 */
TrustPlan *trust_refine(Plan *plan, const PlacementInput *in,
                        const unsigned *cookie, const TrustPlan *previous,
                        bool kernel);
void trust_plan_free(TrustPlan *trust); /* NULL is allowed */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(TrustPlan, trust_plan_free)

/*
 * The same judgement of masks as they are: @masks has an entry for each
 * possible vCPU; NULL: not known, anywhere.  Reasons are TRUST_ABSENT, _ALONE,
 * _OWN_CORES and _TIME_SHARED only.
 */
TrustPlan *trust_judge(const HostTopology *host, const GuestTopology *guest,
                       const unsigned *cookie, const HostCpuSet *const *masks);

/* A sentence, without full stop, for people; the caller frees it. */
char *trust_explain(const TrustPlan *trust, const Plan *plan,
                    const HostTopology *host, int vcpu);

/* One line about all: "3 cookies on cores of their own".  Caller frees. */
char *trust_summary(const TrustPlan *trust);

/* Stable lower-case names ("own-cores"); never NULL for valid values. */
const char *trust_reason_name(TrustReason reason);

#endif
