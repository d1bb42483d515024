/*
 * Cores for cookies: what its files share
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef HW_SCHED_CORE_TRUST_REFINE_H
#define HW_SCHED_CORE_TRUST_REFINE_H

#include "hw/sched/trust-cores.h"

#define TRUST_NOBODY (-1)
#define TRUST_SEVERAL (-2)

/* What one cookie asks for in one set of LLCs of the plan. */
typedef struct TrustClaim {
    int tenant, run;        /* of the plan; -1: any LLC */
    HostCpuSet allowed;     /* cores of those LLCs */
    HostCpuSet cores;       /* given */
    HostCpuSet before;      /* what the vCPUs were given last time */
    HostCpuSet placed;      /* those of narrow masks in this plan */
    uint64_t demand;        /* milli-cores */
    unsigned capacity;      /* of the cores given, in all */
    unsigned n_cores, n_before; /* now, and of the previous plan */
    bool done;              /* nothing is left that it could get */
    bool keeps_plan;        /* its masks stay as planned */
} TrustClaim;

/* A cookie that is present. */
typedef struct TrustTenant {
    unsigned cookie;
    bool ours;              /* has vCPUs that are not foreign */
    uint64_t demand;
    int llc;                /* matched: one core of it is for this; or -1 */
    int n_cores;
} TrustTenant;

typedef struct TrustRefine {
    const PlacementInput *in;
    Plan *plan;
    const TrustPlan *previous;
    bool kernel;
    int n_tenants;
    TrustTenant *tenants;
    int *order;             /* of tenants, those of most demand first */
    int *tenant_of;         /* per vCPU; -1: absent */
    int n_claims;
    TrustClaim *claims;
    int *claim_of;          /* per vCPU; -1: absent or foreign */
    HostCpuSet usable;      /* cores with a candidate */
    HostCpuSet before;      /* of all claims */
    int *owner;             /* per core: tenant, or TRUST_NOBODY */
    int *foreign;           /* per core: tenant of masks set from outside */
} TrustRefine;

/* trust-deal.c */
void trust_deal(TrustRefine *r);

/* trust-match.c */
void trust_match(TrustRefine *r);

/* trust-narrow.c */
void trust_narrow(TrustRefine *r);

/* Whether @tenant may have @core for itself. */
static inline bool trust_core_is_free(const TrustRefine *r, int core,
                                      int tenant)
{
    return r->owner[core] == TRUST_NOBODY &&
           (r->foreign[core] == TRUST_NOBODY || r->foreign[core] == tenant);
}

#endif
