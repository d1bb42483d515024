/*
 * How far masks keep cookies apart, and that in words
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "hw/sched/trust-cores.h"

static const char *const reason_names[TRUST_REASON_MAX] = {
    [TRUST_ABSENT] = "absent",
    [TRUST_ALONE] = "alone",
    [TRUST_OWN_CORES] = "own-cores",
    [TRUST_OTHER_LLC] = "other-llc",
    [TRUST_TIME_SHARED] = "time-shared",
    [TRUST_BESIDE_FOREIGN] = "beside-foreign",
    [TRUST_FOREIGN] = "foreign",
};

const char *trust_reason_name(TrustReason reason)
{
    return reason_names[reason];
}

/* The cookies of present vCPUs: which is whose, and where they may be. */
typedef struct Tenants {
    int n;
    unsigned *cookie;
    HostCpuSet *cores;
    const HostCpuSet **sets;  /* into cores, for trust_domains() */
    int *domain;
    int *in_domain;           /* per domain: how many of them */
    int n_domains;
} Tenants;

static int tenant_of(Tenants *t, unsigned cookie)
{
    int i;

    for (i = 0; i < t->n && t->cookie[i] != cookie; i++) {
        continue;
    }
    if (i == t->n) {
        t->cookie[t->n++] = cookie;
    }
    return i;
}

static void tenants_init(Tenants *t, const HostTopology *host,
                         const GuestTopology *guest, const unsigned *cookie,
                         const HostCpuSet *const *masks)
{
    int n = guest->n_vcpus, v, i;

    *t = (Tenants) {
        .cookie = g_new0(unsigned, n), .cores = g_new0(HostCpuSet, n),
        .sets = g_new0(const HostCpuSet *, n), .domain = g_new0(int, n),
        .in_domain = g_new0(int, n),
    };
    for (v = 0; v < n; v++) {
        HostCpuSet cores;

        if (guest->vcpus[v].present) {
            trust_cores_widen(host, masks[v], &cores);
            host_cpuset_or(&t->cores[tenant_of(t, cookie[v])], &cores);
        }
    }
    for (i = 0; i < t->n; i++) {
        t->sets[i] = &t->cores[i];
    }
    t->n_domains = trust_domains(t->sets, t->n, t->domain);
    for (i = 0; i < t->n; i++) {
        t->in_domain[t->domain[i]]++;
    }
}

static void tenants_clear(Tenants *t)
{
    g_free(t->cookie);
    g_free(t->cores);
    g_free(t->sets);
    g_free(t->domain);
    g_free(t->in_domain);
}

TrustPlan *trust_judge(const HostTopology *host, const GuestTopology *guest,
                       const unsigned *cookie, const HostCpuSet *const *masks)
{
    TrustPlan *trust = g_new0(TrustPlan, 1);
    Tenants t;
    int v, i;

    tenants_init(&t, host, guest, cookie, masks);
    trust->n_vcpus = guest->n_vcpus;
    trust->vcpus = g_new0(TrustVcpuPlan, guest->n_vcpus);
    trust->n_cookies = t.n;
    trust->n_domains = t.n_domains;
    for (i = 0; i < t.n; i++) {
        trust->n_sharing += t.in_domain[t.domain[i]] > 1;
    }
    trust->disjoint = trust->n_sharing == 0;
    for (v = 0; v < guest->n_vcpus; v++) {
        TrustVcpuPlan *p = &trust->vcpus[v];

        p->domain = -1;
        if (guest->vcpus[v].present) {
            p->domain = t.domain[tenant_of(&t, cookie[v])];
            p->reason = t.in_domain[p->domain] > 1 ? TRUST_TIME_SHARED :
                        t.n > 1 ? TRUST_OWN_CORES : TRUST_ALONE;
        }
    }
    tenants_clear(&t);
    return trust;
}

void trust_plan_free(TrustPlan *trust)
{
    if (trust) {
        g_free(trust->vcpus);
        g_free(trust);
    }
}

static const char *plural(int n)
{
    return n == 1 ? "" : "s";
}

char *trust_explain(const TrustPlan *trust, const Plan *plan,
                    const HostTopology *host, int vcpu)
{
    g_autofree char *cpus = host_cpuset_to_list(&plan->vcpus[vcpu].mask);
    HostCpuSet cores;
    int n;

    trust_cores_widen(host, &plan->vcpus[vcpu].mask, &cores);
    n = host_cpuset_count(&cores);
    switch (trust->vcpus[vcpu].reason) {
    case TRUST_ABSENT:
        return g_strdup("not plugged");
    case TRUST_ALONE:
        return g_strdup("no other cookie to keep apart from");
    case TRUST_OWN_CORES:
        return g_strdup_printf("its cookie alone has %d whole core%s: "
                               "CPUs %s", n, plural(n), cpus);
    case TRUST_OTHER_LLC:
        return g_strdup_printf("its cookie alone has %d whole core%s: CPUs "
                               "%s, away from the LLC that suits it, which "
                               "has too few cores for all cookies", n,
                               plural(n), cpus);
    case TRUST_TIME_SHARED:
        return g_strdup_printf("its cookie shares cores with others, since "
                               "%d cookies are too many for the cores",
                               trust->n_cookies);
    case TRUST_BESIDE_FOREIGN:
        return g_strdup("its cookie shares cores with others, whose masks "
                        "were set from outside");
    case TRUST_FOREIGN:
        return g_strdup("its mask was set from outside: kept");
    case TRUST_REASON_MAX:
        break;
    }
    g_assert_not_reached();
}

char *trust_summary(const TrustPlan *trust)
{
    int apart = trust->n_cookies - trust->n_sharing;

    if (trust->n_cookies < 2) {
        return g_strdup_printf("%d cookie%s: nothing to keep apart",
                               trust->n_cookies, plural(trust->n_cookies));
    }
    if (trust->disjoint) {
        return g_strdup_printf("%d cookies on cores of their own", apart);
    }
    return g_strdup_printf("%d of %d cookies share cores", trust->n_sharing,
                           trust->n_cookies);
}
