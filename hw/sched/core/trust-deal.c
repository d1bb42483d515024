/*
 * Cores for cookies: who gets which
 *
 * Each cookie gets one core first, then the rest is dealt out in proportion to
 * demand, core by core: those that it had, so long as that makes sense.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "trust-refine.h"

/*
 * A claim that had more cores before counts for a quarter more until it has
 * them again: demand that wavers moves nothing.
 */
#define STICKY_PERCENT 125

/* --- which core --- */

/* 2: @claim had @core before; 1: nobody had; 0: another claim had. */
static int habit(const TrustRefine *r, const TrustClaim *claim, int core)
{
    return host_cpuset_has(&claim->before, core) ? 2 :
           !host_cpuset_has(&r->before, core);
}

/*
 * How well @core suits @claim, apart from its number: those it had before and
 * nobody else had, where the plan put its vCPUs, fast ones, near those it has.
 */
static int64_t suits(const TrustRefine *r, const TrustClaim *claim, int core)
{
    const HostTopology *host = r->in->host;
    const HostCpuSet *llc = &host->llcs[host->cores[core].llc].cpus;
    bool near = false;

    HOST_CPUSET_FOREACH(own, &claim->cores) {
        near |= host_cpuset_intersects(&host->cores[own].cpus, llc);
    }
    return habit(r, claim, core) * 8192 +
           host_cpuset_has(&claim->placed, core) * 4096 +
           host->cores[core].capacity * 2 + near;
}

/* The best free core of @among; -1: there is none. */
static int best_core(const TrustRefine *r, const TrustClaim *claim,
                     const HostCpuSet *among)
{
    int64_t best_suits = -1;
    int best = -1;

    HOST_CPUSET_FOREACH(core, among) {
        if (trust_core_is_free(r, core, claim->tenant)) {
            int64_t fit = suits(r, claim, core);

            if (fit > best_suits) {
                best_suits = fit;
                best = core;
            }
        }
    }
    return best;
}

static void give(TrustRefine *r, TrustClaim *claim, int core)
{
    host_cpuset_add(&claim->cores, core);
    claim->capacity += r->in->host->cores[core].capacity;
    claim->n_cores++;
    if (r->owner[core] == TRUST_NOBODY) {
        r->owner[core] = claim->tenant;
        r->tenants[claim->tenant].n_cores++;
    }
}

/* Of @tenant, the claim with most demand that may have @llc (-1: any). */
static TrustClaim *main_claim(TrustRefine *r, int tenant, int llc)
{
    TrustClaim *best = NULL;
    int i;

    for (i = 0; i < r->n_claims; i++) {
        TrustClaim *claim = &r->claims[i];

        if (claim->tenant == tenant &&
            (llc < 0 || claim->run < 0 ||
             r->plan->llcs[llc].run == claim->run) &&
            (!best || claim->demand > best->demand)) {
            best = claim;
        }
    }
    return best;
}

/* --- one core for each --- */

static void give_matched(TrustRefine *r)
{
    const HostTopology *host = r->in->host;
    int t;

    for (t = 0; t < r->n_tenants; t++) {
        HostCpuSet cores = { { 0 } };
        int llc = r->tenants[t].llc;

        if (llc < 0) {
            continue;
        }
        HOST_CPUSET_FOREACH(core, &r->usable) {
            if (host->cores[core].llc == llc &&
                r->foreign[core] == TRUST_NOBODY) {
                host_cpuset_add(&cores, core);
            }
        }
        give(r, main_claim(r, t, llc),
             best_core(r, main_claim(r, t, llc), &cores));
    }
}

/* The distance of @core from the LLCs that the plan gave @claim. */
static unsigned distance(const TrustRefine *r, const TrustClaim *claim,
                         int core)
{
    const HostTopology *host = r->in->host;
    unsigned least = UINT_MAX;

    HOST_CPUSET_FOREACH(own, &claim->allowed) {
        least = MIN(least, host_topology_distance(host, host->cores[own].node,
                                                  host->cores[core].node));
    }
    return least;
}

/*
 * For a cookie without a match: the nearest core that is free; if all those
 * are taken, one that a mask set from outside may use as well.
 */
static int find_elsewhere(const TrustRefine *r, const TrustClaim *claim)
{
    unsigned best_cost = UINT_MAX;
    int best = -1;

    HOST_CPUSET_FOREACH(core, &r->usable) {
        unsigned cost = distance(r, claim, core) * 4 +
                        2 - habit(r, claim, core);

        if (r->owner[core] != TRUST_NOBODY) {
            continue;
        }
        if (!trust_core_is_free(r, core, claim->tenant)) {
            cost += 1u << 20;
        }
        if (cost < best_cost) {
            best_cost = cost;
            best = core;
        }
    }
    return best;
}

static void give_elsewhere(TrustRefine *r)
{
    int i, core;

    for (i = 0; i < r->n_tenants; i++) {
        TrustClaim *claim = main_claim(r, r->order[i], -1);

        if (claim && !r->tenants[r->order[i]].n_cores) {
            core = find_elsewhere(r, claim);
            if (core >= 0) {
                give(r, claim, core);
            }
        }
    }
}

/* --- the rest --- */

/* Claims without a core go first; then those of most demand per capacity. */
static double hunger(const TrustClaim *claim)
{
    double demand = MAX(claim->demand, 1);

    if (!claim->n_cores) {
        return demand * (1ull << 40);
    }
    if (claim->n_cores < claim->n_before) {
        demand = demand * STICKY_PERCENT / 100;
    }
    return demand / claim->capacity;
}

static void deal_rest(TrustRefine *r)
{
    for (;;) {
        TrustClaim *next = NULL;
        int i, core;

        for (i = 0; i < r->n_claims; i++) {
            TrustClaim *claim = &r->claims[i];

            if (!claim->done && r->tenants[claim->tenant].n_cores &&
                (!next || hunger(claim) > hunger(next))) {
                next = claim;
            }
        }
        if (!next) {
            return;
        }
        core = best_core(r, next, &next->allowed);
        if (core >= 0) {
            give(r, next, core);
        } else {
            next->done = true;
        }
    }
}

/* A claim for which its LLCs have no core joins one of the same cookie. */
static void join_claims(TrustRefine *r)
{
    int i, j;

    for (i = 0; i < r->n_claims; i++) {
        TrustClaim *claim = &r->claims[i], *best = NULL;

        for (j = 0; !claim->n_cores && j < r->n_claims; j++) {
            TrustClaim *other = &r->claims[j];

            if (other->tenant == claim->tenant && other->n_cores &&
                (!best || other->n_cores > best->n_cores)) {
                best = other;
            }
        }
        if (best) {
            claim->cores = best->cores;
        }
    }
}

/* The core of @claim that has least demand so far. */
static int least_loaded(const TrustClaim *claim, const uint64_t *load)
{
    int best = -1;

    HOST_CPUSET_FOREACH(core, &claim->allowed) {
        if (best < 0 || load[core] < load[best]) {
            best = core;
        }
    }
    return best;
}

/* More cookies than cores: the others, most demand first, share evenly. */
static void share_cores(TrustRefine *r)
{
    g_autofree uint64_t *load = g_new0(uint64_t,
                                       MAX(r->in->host->n_cores, 1));
    int i, t;

    for (i = 0; i < r->n_claims; i++) {
        HOST_CPUSET_FOREACH(core, &r->claims[i].cores) {
            load[core] += r->tenants[r->claims[i].tenant].demand;
        }
    }
    for (;;) {
        TrustClaim *next = NULL;

        for (i = 0; i < r->n_claims; i++) {
            TrustClaim *claim = &r->claims[i];

            t = claim->tenant;
            if (!r->tenants[t].n_cores && host_cpuset_empty(&claim->cores) &&
                !claim->keeps_plan && (!next || claim->demand > next->demand)) {
                next = claim;
            }
        }
        if (!next) {
            return;
        }
        if (r->kernel && r->plan->width == PLACEMENT_WIDTH_LLC) {
            next->keeps_plan = true;
        } else {
            i = least_loaded(next, load);
            host_cpuset_add(&next->cores, i);
            load[i] += next->demand;
        }
    }
}

/* Give each claim its cores, or leave its masks to the kernel. */
void trust_deal(TrustRefine *r)
{
    trust_match(r);
    give_matched(r);
    give_elsewhere(r);
    deal_rest(r);
    join_claims(r);
    share_cores(r);
}
