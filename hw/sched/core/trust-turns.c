/*
 * Turns of cookies: who is there, and what is told of them
 *
 * Nothing here decides: what is told is kept for the next step.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "trust-internal.h"

static void cookie_free(gpointer cookie)
{
    TrustCookie *c = cookie;

    if (c) {
        g_array_free(c->vcpus, true);
        g_free(c);
    }
}

TrustTurns *trust_turns_new(int n_cores, uint64_t slice_ns)
{
    TrustTurns *turns = g_new0(TrustTurns, 1);

    trust_turns_set_slice(turns, slice_ns);
    g_assert(n_cores > 0 && n_cores <= HOST_CPU_MAX);
    turns->n_cores = n_cores;
    turns->core_stats = g_new0(TrustCoreStats, n_cores);
    turns->vcpus = g_ptr_array_new_with_free_func(g_free);
    turns->cookies = g_ptr_array_new_with_free_func(cookie_free);
    turns->domains = g_ptr_array_new_with_free_func(trust_domain_free);
    turns->orders = g_array_new(false, false, sizeof(TrustOrder));
    turns->paused_at = -1;
    turns->next_ticket = turns->next_queued = 1;
    return turns;
}

void trust_turns_free(TrustTurns *turns)
{
    if (turns) {
        g_ptr_array_free(turns->domains, true);
        g_ptr_array_free(turns->cookies, true);
        g_ptr_array_free(turns->vcpus, true);
        g_array_free(turns->orders, true);
        g_free(turns->core_stats);
        g_free(turns);
    }
}

void trust_turns_set_slice(TrustTurns *turns, uint64_t slice_ns)
{
    g_assert(slice_ns >= TRUST_SLICE_NS_MIN && slice_ns <= TRUST_SLICE_NS_MAX);
    turns->slice = slice_ns;
}

static void account(TrustTurns *turns, int64_t now_ns)
{
    trust_tell_time(turns, now_ns);
    trust_settle(turns);
}

static TrustCookie *get_cookie(TrustTurns *turns, unsigned number)
{
    TrustCookie *c;

    g_assert(number <= TRUST_COOKIE_MAX);
    if (number >= turns->cookies->len) {
        g_ptr_array_set_size(turns->cookies, number + 1);
    }
    c = turns->cookies->pdata[number];
    if (!c) {
        c = g_new0(TrustCookie, 1);
        c->number = number;
        c->weight = TRUST_WEIGHT_DEFAULT;
        c->vcpus = g_array_new(false, false, sizeof(int));
        c->blocked_since = -1;
        turns->cookies->pdata[number] = c;
    }
    return c;
}

void trust_turns_set_weight(TrustTurns *turns, unsigned cookie,
                            unsigned weight)
{
    g_assert(weight >= TRUST_WEIGHT_MIN && weight <= TRUST_WEIGHT_MAX);
    trust_settle(turns);
    get_cookie(turns, cookie)->weight = weight;
}

void trust_turns_set_n_cores(TrustTurns *turns, int n_cores)
{
    unsigned i;

    g_assert(n_cores > 0 && n_cores <= HOST_CPU_MAX);
    trust_settle(turns);
    g_free(turns->core_stats);
    turns->core_stats = g_new0(TrustCoreStats, n_cores);
    turns->n_cores = n_cores;
    for (i = 0; i < turns->vcpus->len; i++) {
        if (trust_vcpu(turns, i)) {
            trust_vcpu(turns, i)->any_core = true;
        }
    }
    trust_rebuild(turns);
}

/* vCPUs that stopped, or do so no more: is any left that may run? */
static void note_stopped(TrustTurns *turns, TrustCookie *c)
{
    if (c->n_stopped < c->vcpus->len || !c->vcpus->len) {
        c->blocked_since = -1;
    } else if (c->blocked_since < 0) {
        c->blocked_since = turns->now;
    }
}

static void put_cores(const TrustTurns *turns, TrustVcpu *v,
                      const HostCpuSet *cores)
{
    v->any_core = !cores;
    if (cores) {
        g_assert(!host_cpuset_empty(cores));
        g_assert(host_cpuset_next(cores, turns->n_cores) < 0);
        v->cores = *cores;
    }
}

/* @c may run from now on: it may keep debt, and has earned nothing. */
static void join(TrustTurns *turns, TrustCookie *c)
{
    c->wish = TRUST_WANTS;
    c->vtime = MAX(c->vtime, 0);
    trust_requeue(turns, c);
}

void trust_turns_add(TrustTurns *turns, int vcpu, unsigned cookie,
                     const HostCpuSet *cores, bool in_guest, int64_t now_ns)
{
    TrustCookie *c = get_cookie(turns, cookie);
    TrustVcpu *v = g_new0(TrustVcpu, 1);

    g_assert(vcpu >= 0 && vcpu < GUEST_VCPU_MAX);
    g_assert(!trust_vcpu(turns, vcpu));
    account(turns, now_ns);
    if (vcpu >= (int)turns->vcpus->len) {
        g_ptr_array_set_size(turns->vcpus, vcpu + 1);
    }
    turns->vcpus->pdata[vcpu] = v;
    put_cores(turns, v, cores);
    v->cookie = c;
    v->place = in_guest ? TRUST_IN : TRUST_OUT;
    if (trust_cookie_dry(c)) {
        join(turns, c);
    }
    g_array_append_val(c->vcpus, vcpu);
    c->n_in += in_guest;
    note_stopped(turns, c);
    turns->stale = true;
}

void trust_turns_remove(TrustTurns *turns, int vcpu, int64_t now_ns)
{
    TrustVcpu *v = trust_vcpu(turns, vcpu);
    TrustCookie *c = v->cookie;
    unsigned i;

    account(turns, now_ns);
    for (i = 0; trust_vcpu_of(turns, c, i) != v; i++) {
        continue;
    }
    g_array_remove_index(c->vcpus, i);
    c->n_in -= v->place != TRUST_OUT;
    c->n_dry -= v->dry;
    c->n_stopped -= v->blocking || v->dry;
    note_stopped(turns, c);
    turns->vcpus->pdata[vcpu] = NULL;
    g_free(v);
    turns->stale = true;
}

bool trust_turns_has(const TrustTurns *turns, int vcpu)
{
    return trust_vcpu(turns, vcpu);
}

bool trust_turns_set_cores(TrustTurns *turns, int vcpu,
                           const HostCpuSet *cores, int64_t now_ns)
{
    TrustVcpu *v = trust_vcpu(turns, vcpu);
    bool strays = !v->any_core &&
                  (!cores || !host_cpuset_subset(cores, &v->cores));

    if (v->any_core ? !cores : cores && host_cpuset_equal(cores, &v->cores)) {
        return false;
    }
    account(turns, now_ns);
    put_cores(turns, v, cores);
    turns->stale = true;
    return strays;
}

/* The domain is not there yet, or no more, after changes: a step makes it. */
bool trust_turns_watched(const TrustTurns *turns, int vcpu)
{
    const TrustVcpu *v = trust_vcpu(turns, vcpu);
    const TrustCookie *c = v->cookie;

    return v->place == TRUST_IN && c->held && !c->closing && c->domain &&
           c->domain->contenders > 1;
}

void trust_turns_blocking(TrustTurns *turns, int vcpu, bool blocking,
                          int64_t now_ns)
{
    TrustVcpu *v = trust_vcpu(turns, vcpu);

    if (!trust_turns_watched(turns, vcpu)) {
        return;
    }
    account(turns, now_ns);
    v->cookie->ran |= !blocking && !v->dry;
    if (v->blocking != blocking) {
        v->blocking = blocking;
        if (!v->dry) {
            v->cookie->n_stopped += blocking ? 1 : -1;
        }
        note_stopped(turns, v->cookie);
    }
}

void trust_turns_dry(TrustTurns *turns, int vcpu, bool dry, int64_t now_ns)
{
    TrustVcpu *v = trust_vcpu(turns, vcpu);
    TrustCookie *c = v->cookie;
    bool was_dry = trust_cookie_dry(c);

    if (v->dry == dry) {
        return;
    }
    account(turns, now_ns);
    if (was_dry && c->domain) {
        /* What the others used meanwhile is not owed to this one. */
        trust_choose_prepare(turns, c->domain);
    }
    v->dry = dry;
    c->n_dry += dry ? 1 : -1;
    if (!v->blocking) {
        c->n_stopped += dry ? 1 : -1;
    }
    note_stopped(turns, c);
    if (was_dry && !c->held) {
        join(turns, c);
    }
}

bool trust_turns_out(TrustTurns *turns, int vcpu, uint64_t ticket,
                     int64_t now_ns)
{
    TrustVcpu *v = trust_vcpu(turns, vcpu);

    if (!v || v->place != TRUST_LEAVING || v->ticket != ticket) {
        return false;
    }
    account(turns, now_ns);
    v->place = TRUST_OUT;
    return --v->cookie->n_in == 0;
}

bool trust_turns_is_open(const TrustTurns *turns, int vcpu)
{
    return trust_vcpu(turns, vcpu)->place == TRUST_IN;
}
