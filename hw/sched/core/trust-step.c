/*
 * Turns of cookies: one step from turn to turn
 *
 * A domain goes from "A is let in" to "A is ordered out" to "all of A are
 * proven out" to "B is let in".  The last only happens where no vCPU of any
 * other cookie of the domain lacks its proof, however it came to be there.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "trust-internal.h"

/* The wait of @c begins, behind all others. */
void trust_requeue(TrustTurns *turns, TrustCookie *c)
{
    c->queued = turns->next_queued++;
    c->wait_since = c->wait_base = turns->now;
}

static void order(TrustTurns *turns, const TrustCookie *c, unsigned i,
                  bool open)
{
    TrustVcpu *v = trust_vcpu_of(turns, c, i);
    TrustOrder o = { .vcpu = g_array_index(c->vcpus, int, i), .open = open };

    if (!open) {
        v->ticket = turns->next_ticket++;
    }
    o.ticket = v->ticket;
    v->place = open ? TRUST_IN : TRUST_LEAVING;
    g_array_append_val(turns->orders, o);
}

static void close_vcpus(TrustTurns *turns, TrustCookie *c)
{
    unsigned i;

    for (i = 0; i < c->vcpus->len; i++) {
        if (trust_vcpu_of(turns, c, i)->place == TRUST_IN) {
            order(turns, c, i, false);
        }
    }
}

static void open_vcpus(TrustTurns *turns, TrustCookie *c)
{
    unsigned i;

    for (i = 0; i < c->vcpus->len; i++) {
        if (trust_vcpu_of(turns, c, i)->place == TRUST_OUT) {
            order(turns, c, i, true);
            c->n_in++;
        }
    }
}

/* All of @c are proven out. */
static void finish(TrustTurns *turns, TrustCookie *c)
{
    int64_t end = trust_cookie_blocked(c) ? c->blocked_since : turns->now;

    trust_account_exit(turns, c);
    c->wish = trust_wish(c);
    c->stats.fruitless_probes += c->wish == TRUST_IDLE;
    c->last_run = end - c->turn_start;
    c->held = c->closing = false;
    trust_requeue(turns, c);
}

/* Whether @c, all of which blocks, has been seen so for long enough. */
static int64_t yields_at(const TrustCookie *c)
{
    return c->blocked_since +
           (c->wish == TRUST_IDLE && !c->ran ? 0 : TRUST_BLOCKED_NS_MIN);
}

static void set_turn_end(TrustTurns *turns, TrustCookie *c, int64_t length)
{
    /* The exit is part of the turn, as far as it can be foreseen. */
    c->turn_end = turns->now + length - MIN(c->margin, length / 4);
}

/* Whether the turn of @c is over; else it may begin anew without a break. */
static bool must_yield(TrustTurns *turns, TrustDomain *d, TrustCookie *c)
{
    int64_t length;

    if (trust_cookie_dry(c)) {
        return d->contenders > 0;
    }
    if (d->contenders < 2) {
        return false;
    }
    if (trust_cookie_blocked(c) && turns->now >= yields_at(c) &&
        trust_other_may_want(d, c)) {
        c->stats.early_ends++;
        c->passed = true;
        return true;
    }
    if (turns->now < c->turn_end) {
        return false;
    }
    trust_account_late(d, c, turns->now - c->turn_end);
    if (trust_choose(turns, d, &length) != c) {
        return true;
    }
    set_turn_end(turns, c, length);
    return false;
}

static int64_t rank_holder(const TrustCookie *c)
{
    return c->held && !c->closing ? c->turn_start : INT64_MAX;
}

/* The one whose turn it is; of several that met just now the first. */
static TrustCookie *find_holder(const TrustDomain *d)
{
    return trust_lowest(d, rank_holder);
}

/* Order @c, whose turn it is not, out; the last proof ends its turn. */
static void expel(TrustTurns *turns, TrustCookie *c)
{
    if (c->held && !c->closing) {
        c->closing = true;
        c->close_start = turns->now;
    }
    close_vcpus(turns, c);
    if (c->closing && c->n_in == 0) {
        finish(turns, c);
    }
}

static void end_turns(TrustTurns *turns, TrustDomain *d)
{
    bool alone = d->contenders < 2;
    TrustCookie *holder;
    unsigned i;

    trust_choose_prepare(turns, d);
    holder = find_holder(d);
    if (holder && alone) {
        holder->turn_end = MAX(holder->turn_end, turns->now);
    }
    if (holder && d->queue->len > 1 && must_yield(turns, d, holder)) {
        holder = NULL;
    }
    if (holder && turns->now >= holder->look_at) {
        holder->look_at = turns->now + MAX(turns->now - holder->turn_start,
                                           TRUST_LOOK_NS_MIN);
    }
    for (i = 0; i < d->queue->len; i++) {
        TrustCookie *c = trust_member(d, i);

        if (c != holder && (c->closing || d->queue->len > 1)) {
            expel(turns, c);
        }
    }
}

/* Whether a turn of @holder (NULL: of whomever) must wait for a proof. */
static bool others_are_in(const TrustDomain *d, const TrustCookie *holder)
{
    unsigned i;

    if (d->queue->len == 1) {
        return trust_member(d, 0)->closing;
    }
    for (i = 0; i < d->queue->len; i++) {
        if (trust_member(d, i) != holder && trust_member(d, i)->n_in) {
            return true;
        }
    }
    return false;
}

/*
 * The first look comes soon after the opening if it is a probe, else when half
 * of what ran last time has run again; each further one when the turn is twice
 * as old.  So a spinning cookie costs one look, and no more core time is lost
 * than was used.
 */
static int64_t first_look(const TrustCookie *c)
{
    return c->wish == TRUST_WANTS ?
           CLAMP(c->last_run / 2, TRUST_LOOK_NS_MIN,
                 MAX(c->slice / 2, TRUST_LOOK_NS_MIN)) : TRUST_LOOK_NS_MIN;
}

static void start(TrustTurns *turns, TrustDomain *d, TrustCookie *c,
                  int64_t length)
{
    unsigned i;

    if (d->queue->len > 1) {
        trust_account_start(turns, c);
    }
    for (i = 0; i < d->queue->len; i++) {
        trust_member(d, i)->passed = false;
    }
    c->held = true;
    c->ran = c->wish == TRUST_WANTS;
    c->turn_start = turns->now;
    c->look_at = turns->now + first_look(c);
    set_turn_end(turns, c, length);
    for (i = 0; i < c->vcpus->len; i++) {
        trust_vcpu_of(turns, c, i)->blocking = false;
    }
    c->n_stopped = c->n_dry;
    c->blocked_since = trust_cookie_dry(c) ? turns->now : -1;
    trust_requeue(turns, c);
}

static void begin_turn(TrustTurns *turns, TrustDomain *d)
{
    TrustCookie *c = find_holder(d);
    int64_t length = 0;

    if (others_are_in(d, c)) {
        return;
    }
    if (!c) {
        trust_choose_prepare(turns, d);
        c = d->queue->len == 1 ? trust_member(d, 0) :
                                 trust_choose(turns, d, &length);
        if (!c) {
            return;
        }
        start(turns, d, c, length);
    }
    open_vcpus(turns, c);
}

const TrustOrder *trust_turns_step(TrustTurns *turns, int64_t now_ns,
                                   unsigned *ret_n)
{
    unsigned i;

    trust_tell_time(turns, now_ns);
    trust_settle(turns);
    g_array_set_size(turns->orders, 0);
    if (turns->stale) {
        trust_rebuild(turns);
    }
    for (i = 0; i < turns->domains->len; i++) {
        end_turns(turns, turns->domains->pdata[i]);
    }
    for (i = 0; i < turns->domains->len; i++) {
        begin_turn(turns, turns->domains->pdata[i]);
    }
    *ret_n = turns->orders->len;
    return (const TrustOrder *)turns->orders->data;
}

/* When the domain wants a look; INT64_MAX: only news can change anything. */
static int64_t domain_look(const TrustDomain *d)
{
    const TrustCookie *c = find_holder(d);
    int64_t at;

    if (!c || d->queue->len < 2 || d->contenders < 2) {
        return INT64_MAX;
    }
    at = c->turn_end;
    if (trust_other_may_want(d, c)) {
        at = MIN(at, trust_cookie_blocked(c) ? yields_at(c) : c->look_at);
    }
    return at;
}

int64_t trust_turns_next_look(const TrustTurns *turns, int64_t now_ns)
{
    int64_t at = INT64_MAX;
    unsigned i;

    if (turns->paused_at >= 0) {
        return INT64_MAX;
    }
    if (turns->stale) {
        return now_ns;
    }
    for (i = 0; i < turns->domains->len; i++) {
        at = MIN(at, domain_look(turns->domains->pdata[i]));
    }
    return at == INT64_MAX ? at : MAX(at + turns->stopped, now_ns);
}

bool trust_turns_settled(TrustTurns *turns, int64_t now_ns)
{
    unsigned i, j;

    trust_tell_time(turns, now_ns);
    trust_settle(turns);
    if (turns->stale) {
        trust_rebuild(turns);
    }
    for (i = 0; i < turns->domains->len; i++) {
        const TrustDomain *d = turns->domains->pdata[i];
        unsigned in = 0;

        for (j = 0; j < d->queue->len; j++) {
            in += trust_member(d, j)->n_in > 0;
        }
        if (in > 1) {
            return false;
        }
    }
    return true;
}
