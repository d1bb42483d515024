/*
 * Whole cores for each cookie, out of the plan's LLCs
 *
 * A pass after the plan.  It counts in claims: what the vCPUs of one cookie
 * ask for in one set of LLCs of the plan.  This file finds the claims, and
 * makes masks of what they were given.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <string.h>
#include "placement-internal.h"
#include "trust-refine.h"

/* --- what is there --- */

static int tenant_of(TrustRefine *r, unsigned cookie)
{
    int t;

    for (t = 0; t < r->n_tenants; t++) {
        if (r->tenants[t].cookie == cookie) {
            return t;
        }
    }
    r->tenants[t] = (TrustTenant) { .cookie = cookie, .llc = -1 };
    return r->n_tenants++;
}

static void note_user(int *user, int core, int tenant)
{
    user[core] = user[core] == TRUST_NOBODY || user[core] == tenant ?
                 tenant : TRUST_SEVERAL;
}

/* @tenant's cores are what @mask, set from outside, may use. */
static void note_foreign(const TrustRefine *r, const HostCpuSet *mask,
                         int tenant)
{
    HostCpuSet cores;

    trust_cores_widen(r->in->host, mask, &cores);
    HOST_CPUSET_FOREACH(core, &cores) {
        note_user(r->foreign, core, tenant);
    }
}

static void allow_cores(const TrustRefine *r, TrustClaim *claim)
{
    HOST_CPUSET_FOREACH(core, &r->usable) {
        int llc = r->in->host->cores[core].llc;

        if (claim->run < 0 || r->plan->llcs[llc].run == claim->run) {
            host_cpuset_add(&claim->allowed, core);
        }
    }
}

static int claim_of(TrustRefine *r, int tenant, int run)
{
    TrustClaim *claim;
    int i;

    for (i = 0; i < r->n_claims; i++) {
        if (r->claims[i].tenant == tenant && r->claims[i].run == run) {
            return i;
        }
    }
    claim = &r->claims[r->n_claims];
    *claim = (TrustClaim) { .tenant = tenant, .run = run };
    allow_cores(r, claim);
    return r->n_claims++;
}

static void note_vcpu(TrustRefine *r, int v)
{
    const GuestVcpu *guest = &r->in->guest->vcpus[v];
    const VcpuPlan *plan = &r->plan->vcpus[v];
    uint64_t demand = placement_vcpu_demand(r->in, v);
    int t = r->tenant_of[v];
    TrustClaim *claim;

    r->tenants[t].demand += demand;
    if (!placement_vcpu_is_ours(r->in, v)) {
        note_foreign(r, r->in->foreign[v], t);
        return;
    }
    r->tenants[t].ours = true;
    r->claim_of[v] = claim_of(r, t, r->plan->run_of[guest->llc]);
    claim = &r->claims[r->claim_of[v]];
    claim->demand += demand;
    if (plan->host_core >= 0) {
        host_cpuset_add(&claim->placed, plan->host_core);
    }
    if (r->previous) {
        host_cpuset_or(&claim->before, &r->previous->vcpus[v].cores);
    }
}

static int *new_users(int n)
{
    int *user = g_new(int, MAX(n, 1));

    memset(user, 0xff, MAX(n, 1) * sizeof(int));
    return user;
}

static gint compare_tenant(gconstpointer pa, gconstpointer pb,
                           gpointer opaque)
{
    const TrustTenant *tenants = opaque;
    int a = *(const int *)pa, b = *(const int *)pb;

    if (tenants[a].demand != tenants[b].demand) {
        return tenants[a].demand > tenants[b].demand ? -1 : 1;
    }
    return a - b;
}

static void set_order(TrustRefine *r)
{
    int t;

    r->order = g_new(int, MAX(r->n_tenants, 1));
    for (t = 0; t < r->n_tenants; t++) {
        r->order[t] = t;
    }
    g_qsort_with_data(r->order, r->n_tenants, sizeof(int), compare_tenant,
                      r->tenants);
}

static void refine_init(TrustRefine *r, const unsigned *cookie)
{
    const HostTopology *host = r->in->host;
    int n = r->plan->n_vcpus, v, i;

    r->tenants = g_new0(TrustTenant, n);
    r->tenant_of = new_users(n);
    r->claims = g_new0(TrustClaim, n);
    r->claim_of = new_users(n);
    r->owner = new_users(host->n_cores);
    r->foreign = new_users(host->n_cores);
    HOST_CPUSET_FOREACH(cpu, r->in->candidates) {
        host_cpuset_add(&r->usable, host->cpus[cpu].core);
    }
    for (v = 0; v < n; v++) {
        if (r->in->guest->vcpus[v].present) {
            r->tenant_of[v] = tenant_of(r, cookie[v]);
            note_vcpu(r, v);
        }
    }
    set_order(r);
    for (i = 0; i < r->n_claims; i++) {
        TrustClaim *claim = &r->claims[i];

        host_cpuset_or(&r->before, &claim->before);
        claim->n_before = host_cpuset_count_and(&claim->allowed,
                                                &claim->before);
    }
}

static void refine_clear(TrustRefine *r)
{
    g_free(r->tenants);
    g_free(r->order);
    g_free(r->tenant_of);
    g_free(r->claims);
    g_free(r->claim_of);
    g_free(r->owner);
    g_free(r->foreign);
}

/* --- masks --- */

static void set_wide_masks(TrustRefine *r)
{
    const HostTopology *host = r->in->host;
    int v;

    for (v = 0; v < r->plan->n_vcpus; v++) {
        HostCpuSet mask = { { 0 } };
        const TrustClaim *claim;

        if (r->claim_of[v] < 0 || r->plan->vcpus[v].host_core >= 0) {
            continue;
        }
        claim = &r->claims[r->claim_of[v]];
        if (claim->keeps_plan) {
            continue;
        }
        HOST_CPUSET_FOREACH(core, &claim->cores) {
            host_cpuset_or(&mask, &host->cores[core].cpus);
        }
        host_cpuset_and(&mask, r->in->candidates);
        r->plan->vcpus[v].mask = mask;
    }
}

/* What the plan says of LLCs, as it is now. */
static void recount(TrustRefine *r)
{
    const HostTopology *host = r->in->host;
    Plan *plan = r->plan;
    int v, l;

    for (l = 0; l < plan->n_llcs; l++) {
        plan->llcs[l].vcpus = 0;
    }
    for (v = 0; v < plan->n_vcpus; v++) {
        VcpuPlan *p = &plan->vcpus[v];
        int first = -1, n = 0;

        for (l = 0; l < plan->n_llcs; l++) {
            if (host_cpuset_intersects(&p->mask, &host->llcs[l].cpus)) {
                first = n++ ? first : l;
                plan->llcs[l].vcpus++;
            }
        }
        if (r->claim_of[v] >= 0) {
            p->host_llc = first;
            p->n_llcs = n;
            p->llc_aligned = n == 1;
        }
    }
}

/* --- what came of it --- */

static bool meets_foreign(const TrustRefine *r, int v)
{
    HostCpuSet cores;

    trust_cores_widen(r->in->host, &r->plan->vcpus[v].mask, &cores);
    HOST_CPUSET_FOREACH(core, &cores) {
        if (r->foreign[core] != TRUST_NOBODY &&
            r->foreign[core] != r->tenant_of[v]) {
            return true;
        }
    }
    return false;
}

static bool stays_in_llcs(const TrustRefine *r, int v)
{
    HostCpuSet cores;

    trust_cores_widen(r->in->host, &r->plan->vcpus[v].mask, &cores);
    return host_cpuset_subset(&cores, &r->claims[r->claim_of[v]].allowed);
}

/* trust_judge() has said what the masks say; this is why. */
static void set_reasons(const TrustRefine *r, TrustPlan *trust)
{
    int v;

    for (v = 0; v < trust->n_vcpus; v++) {
        TrustReason *reason = &trust->vcpus[v].reason;

        if (*reason == TRUST_ABSENT) {
            continue;
        }
        if (r->claim_of[v] >= 0) {
            trust->vcpus[v].cores = r->claims[r->claim_of[v]].cores;
        }
        if (r->claim_of[v] < 0) {
            *reason = TRUST_FOREIGN;
        } else if (*reason == TRUST_TIME_SHARED && meets_foreign(r, v)) {
            *reason = TRUST_BESIDE_FOREIGN;
        } else if (*reason == TRUST_OWN_CORES && !stays_in_llcs(r, v)) {
            *reason = TRUST_OTHER_LLC;
        }
    }
}

static void split_cores(TrustRefine *r)
{
    trust_deal(r);
    trust_narrow(r);
    set_wide_masks(r);
    recount(r);
}

TrustPlan *trust_refine(Plan *plan, const PlacementInput *in,
                        const unsigned *cookie, const TrustPlan *previous,
                        bool kernel)
{
    TrustRefine r = {
        .in = in, .plan = plan, .previous = previous, .kernel = kernel,
    };
    g_autofree const HostCpuSet **masks = g_new(const HostCpuSet *,
                                                plan->n_vcpus);
    TrustPlan *trust;
    int v;

    refine_init(&r, cookie);
    if (r.n_tenants > 1) {
        split_cores(&r);
    }
    for (v = 0; v < plan->n_vcpus; v++) {
        masks[v] = &plan->vcpus[v].mask;
    }
    trust = trust_judge(in->host, in->guest, cookie, masks);
    set_reasons(&r, trust);
    refine_clear(&r);
    return trust;
}
