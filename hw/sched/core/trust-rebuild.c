/*
 * Turns of cookies: which cookies form a domain
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "trust-internal.h"

void trust_domain_free(gpointer domain)
{
    TrustDomain *d = domain;

    g_ptr_array_free(d->queue, true);
    g_free(d);
}

static void set_cookie_cores(TrustTurns *turns, TrustCookie *c)
{
    HostCpuSet cores = { { 0 } };
    unsigned i;
    int core;

    for (i = 0; i < c->vcpus->len; i++) {
        const TrustVcpu *v = trust_vcpu_of(turns, c, i);

        if (!v->any_core) {
            host_cpuset_or(&cores, &v->cores);
            continue;
        }
        for (core = 0; core < turns->n_cores; core++) {
            host_cpuset_add(&cores, core);
        }
    }
    c->cores = cores;
    c->n_cores = host_cpuset_count(&cores);
}

/* Cookies with vCPUs; what the others held is over. */
static GPtrArray *list_cookies(TrustTurns *turns)
{
    GPtrArray *list = g_ptr_array_new();
    unsigned i;

    for (i = 0; i < turns->cookies->len; i++) {
        TrustCookie *c = turns->cookies->pdata[i];

        if (!c) {
            continue;
        }
        c->domain = NULL;
        if (c->vcpus->len) {
            set_cookie_cores(turns, c);
            g_ptr_array_add(list, c);
        } else {
            c->held = c->closing = false;
        }
    }
    return list;
}

static void add_member(TrustTurns *turns, TrustCookie *c, int domain)
{
    TrustDomain *d;

    while (turns->domains->len <= (unsigned)domain) {
        d = g_new0(TrustDomain, 1);
        d->queue = g_ptr_array_new();
        g_ptr_array_add(turns->domains, d);
    }
    d = turns->domains->pdata[domain];
    g_ptr_array_add(d->queue, c);
    c->domain = d;
    d->last = c->held ? c : d->last;
}

/* One that is alone owes nothing and is owed nothing. */
static void forget_past(TrustTurns *turns, TrustCookie *c)
{
    c->vtime = 0;
    c->wish = TRUST_WANTS;
    c->wait_since = c->wait_base = turns->now;
}

/*
 * Virtual times count from that of a domain: brought up to date in the old
 * ones, they can be compared in the new ones.
 */
void trust_rebuild(TrustTurns *turns)
{
    g_autoptr(GPtrArray) list = NULL;
    g_autofree const HostCpuSet **cores = NULL;
    g_autofree int *domain = NULL;
    unsigned i;

    for (i = 0; i < turns->domains->len; i++) {
        trust_choose_prepare(turns, turns->domains->pdata[i]);
    }
    list = list_cookies(turns);
    cores = g_new(const HostCpuSet *, list->len + 1);
    domain = g_new(int, list->len + 1);
    g_ptr_array_set_size(turns->domains, 0);
    for (i = 0; i < list->len; i++) {
        cores[i] = &((TrustCookie *)list->pdata[i])->cores;
    }
    trust_domains(cores, list->len, domain);
    for (i = 0; i < list->len; i++) {
        add_member(turns, list->pdata[i], domain[i]);
    }
    for (i = 0; i < turns->domains->len; i++) {
        TrustDomain *d = turns->domains->pdata[i];

        if (d->queue->len == 1) {
            forget_past(turns, trust_member(d, 0));
        }
    }
    turns->stale = false;
}
