/*
 * Turns of cookies: the clock, and what each cookie and core got
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "trust-internal.h"

/* The clock stands still while the VM is stopped, and never runs back. */
void trust_tell_time(TrustTurns *turns, int64_t now_ns)
{
    g_assert(now_ns >= 0 && now_ns <= TRUST_NOW_NS_MAX);
    if (turns->paused_at < 0) {
        turns->now = MAX(turns->now, now_ns - turns->stopped);
    }
}

void trust_turns_pause(TrustTurns *turns, int64_t now_ns)
{
    if (turns->paused_at < 0) {
        trust_tell_time(turns, now_ns);
        turns->paused_at = turns->now + turns->stopped;
    }
}

void trust_turns_resume(TrustTurns *turns, int64_t now_ns)
{
    if (turns->paused_at >= 0) {
        turns->stopped += MAX(now_ns - turns->paused_at, 0);
        turns->paused_at = -1;
        trust_tell_time(turns, now_ns);
    }
}

/* The cores of the cookie's vCPUs that are not proven out. */
static void cores_in(const TrustTurns *turns, const TrustCookie *c,
                     HostCpuSet *cores)
{
    unsigned i;

    if (c->n_in == c->vcpus->len) {
        host_cpuset_or(cores, &c->cores);
        return;
    }
    for (i = 0; c->n_in && i < c->vcpus->len; i++) {
        const TrustVcpu *v = trust_vcpu_of(turns, c, i);

        if (v->place == TRUST_OUT) {
            continue;
        }
        host_cpuset_or(cores, v->any_core ? &c->cores : &v->cores);
    }
}

static bool waits(const TrustCookie *c)
{
    return !c->held && c->wish == TRUST_WANTS && !trust_cookie_dry(c);
}

static void settle_cookie(TrustCookie *c, int64_t ns, unsigned idle_cores)
{
    if (c->held) {
        c->stats.granted_ns += ns;
        c->stats.granted_core_ns += ns * c->n_cores;
        c->stats.forced_idle_core_ns += ns * idle_cores;
        c->vtime = MIN(c->vtime + ns * TRUST_VTIME_ONE / c->weight,
                       TRUST_VTIME_MAX);
    } else if (waits(c)) {
        c->stats.waited_ns += ns;
    }
}

static void settle_domain(TrustTurns *turns, const TrustDomain *d, int64_t ns)
{
    HostCpuSet in = { { 0 } }, idle = { { 0 } };
    unsigned i, n_idle;

    for (i = 0; i < d->queue->len; i++) {
        const TrustCookie *c = trust_member(d, i);

        cores_in(turns, c, &in);
        if (waits(c)) {
            host_cpuset_or(&idle, &c->cores);
        }
    }
    host_cpuset_andnot(&idle, &in);
    n_idle = host_cpuset_count(&idle);
    for (i = 0; i < d->queue->len; i++) {
        settle_cookie(trust_member(d, i), ns, n_idle);
    }
    HOST_CPUSET_FOREACH(core, &in) {
        turns->core_stats[core].granted_ns += ns;
    }
    HOST_CPUSET_FOREACH(idle_core, &idle) {
        turns->core_stats[idle_core].forced_idle_ns += ns;
    }
}

/* Account what has been since the last call, before anything changes. */
void trust_settle(TrustTurns *turns)
{
    int64_t ns = MIN(turns->now - turns->settled, TRUST_STRETCH_NS_MAX);
    unsigned i;

    turns->settled = turns->now;
    for (i = 0; ns && i < turns->domains->len; i++) {
        const TrustDomain *d = turns->domains->pdata[i];

        if (d->queue->len > 1) {
            settle_domain(turns, d, ns);
        }
    }
}

static void count_hand_over(TrustTurns *turns, TrustCookie *from,
                            const TrustCookie *to)
{
    HostCpuSet cores = from->cores;

    from->stats.hand_overs++;
    host_cpuset_and(&cores, &to->cores);
    HOST_CPUSET_FOREACH(core, &cores) {
        turns->core_stats[core].hand_overs++;
    }
}

/* A turn begins: a wait is over. */
void trust_account_start(TrustTurns *turns, TrustCookie *c)
{
    TrustCookieStats *s = &c->stats;
    TrustDomain *d = c->domain;

    s->turns++;
    s->longest_wait_ns = MAX(s->longest_wait_ns,
                             MAX(turns->now - c->wait_base, 0));
    s->longest_gross_wait_ns = MAX(s->longest_gross_wait_ns,
                                   turns->now - c->wait_since);
    if (d->last && d->last != c) {
        count_hand_over(turns, d->last, c);
    }
    d->last = c;
}

/* What nobody's slice is to blame for does not count as waiting for one. */
static void excuse(TrustDomain *d, int64_t ns)
{
    unsigned i;

    for (i = 0; i < d->queue->len; i++) {
        trust_member(d, i)->wait_base += ns;
    }
}

/* The turn of @c went on for @late since nobody looked. */
void trust_account_late(TrustDomain *d, TrustCookie *c, int64_t late)
{
    c->stats.late_look_ns += late;
    excuse(d, late);
}

/* All vCPUs of @c are proven out. */
void trust_account_exit(TrustTurns *turns, TrustCookie *c)
{
    int64_t ns = turns->now - c->close_start;
    int64_t delay = MAX(ns - TRUST_EXIT_NS_MAX, 0);
    TrustCookieStats *s = &c->stats;

    s->exit_ns += ns;
    s->longest_exit_ns = MAX(s->longest_exit_ns, ns);
    s->delayed_exits += delay > 0;
    s->delayed_exit_ns += delay;
    excuse(c->domain, delay);
    c->margin += (MIN(ns, TRUST_EXIT_NS_MAX) - c->margin) / 4;
}

bool trust_turns_cookie_stats(TrustTurns *turns, unsigned cookie,
                              int64_t now_ns, TrustCookieStats *ret_stats)
{
    TrustCookie *c = cookie < turns->cookies->len ?
                     turns->cookies->pdata[cookie] : NULL;

    if (!c) {
        return false;
    }
    trust_tell_time(turns, now_ns);
    trust_settle(turns);
    *ret_stats = c->stats;
    ret_stats->domain_cookies = c->domain ? c->domain->queue->len : 0;
    ret_stats->slice_ns = ret_stats->domain_cookies > 1 ? c->slice : 0;
    ret_stats->open = c->held && !c->closing;
    ret_stats->closing = c->closing;
    ret_stats->closing_ns = c->closing ? turns->now - c->close_start : 0;
    return true;
}

bool trust_turns_core_stats(TrustTurns *turns, int core, int64_t now_ns,
                            TrustCoreStats *ret_stats)
{
    if (core < 0 || core >= turns->n_cores) {
        return false;
    }
    trust_tell_time(turns, now_ns);
    trust_settle(turns);
    *ret_stats = turns->core_stats[core];
    return true;
}
