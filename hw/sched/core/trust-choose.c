/*
 * Whose turn is next, and for how long
 *
 * The least virtual time first, unless that would make somebody wait longer
 * than the slices of the others: docs/devel/trust.rst, "Whose turn".
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "trust-internal.h"

/* The first of those that rank lowest; NULL: none counts. */
TrustCookie *trust_lowest(const TrustDomain *d, TrustRank *rank)
{
    TrustCookie *lowest = NULL;
    int64_t least = INT64_MAX;
    unsigned i;

    for (i = 0; i < d->queue->len; i++) {
        TrustCookie *c = trust_member(d, i);
        int64_t at = rank(c);

        if (at < least) {
            least = at;
            lowest = c;
        }
    }
    return lowest;
}

/*
 * Slices in proportion to the weights, their mean the configured one, so that
 * a round of n cookies takes n slices whatever the weights; but the smallest
 * no shorter than a slice may be, since a hand-over costs the same for all.
 */
static void set_slices(TrustTurns *turns, TrustDomain *d)
{
    int64_t sum = 0, least = TRUST_WEIGHT_MAX, mul, div;
    unsigned i;

    d->contenders = 0;
    for (i = 0; i < d->queue->len; i++) {
        TrustCookie *c = trust_member(d, i);

        if (!trust_cookie_dry(c)) {
            d->contenders++;
            sum += c->weight;
            least = MIN(least, c->weight);
        }
    }
    mul = turns->slice * d->contenders;
    div = MAX(sum, 1);
    if (mul * least < (int64_t)TRUST_SLICE_NS_MIN * div) {
        mul = TRUST_SLICE_NS_MIN;
        div = least;
    }
    for (i = 0; i < d->queue->len; i++) {
        TrustCookie *c = trust_member(d, i);

        c->slice = trust_cookie_dry(c) ? 0 : mul * c->weight / div;
    }
}

/* What is known of a cookie's wish to run, of the holder as seen till now. */
TrustWish trust_wish(const TrustCookie *c)
{
    if (!c->held) {
        return c->wish;
    }
    if (!trust_cookie_blocked(c)) {
        return TRUST_WANTS;
    }
    return c->ran ? TRUST_MAY_WANT : TRUST_IDLE;
}

/* Whether a cookie besides @c would make use of its turn, for all we know. */
bool trust_other_may_want(const TrustDomain *d, const TrustCookie *c)
{
    unsigned i;

    for (i = 0; i < d->queue->len; i++) {
        const TrustCookie *o = trust_member(d, i);

        if (o != c && !trust_cookie_dry(o) && trust_wish(o) != TRUST_IDLE) {
            return true;
        }
    }
    return false;
}

static int64_t to_vtime(const TrustCookie *c, int64_t ns)
{
    return ns * TRUST_VTIME_ONE / c->weight;
}

static int64_t rank_wishing(const TrustCookie *c, TrustWish wish)
{
    return trust_cookie_dry(c) || trust_wish(c) != wish ? INT64_MAX : c->vtime;
}

static int64_t rank_wants(const TrustCookie *c)
{
    return rank_wishing(c, TRUST_WANTS);
}

static int64_t rank_may_want(const TrustCookie *c)
{
    return rank_wishing(c, TRUST_MAY_WANT);
}

/*
 * Set the domain's virtual time, the least of those that want to run, to 0.
 * One that wants to run keeps what it is owed: the kernel's snapshot at forced
 * idle.  One that blocked keeps two slices of it, so that a cookie whose vCPUs
 * block together for a moment loses nothing: the turns of the others get
 * shorter when it is one slice behind.  One that was idle keeps nothing, so
 * that sleep earns no credit.
 */
static void set_vtimes(TrustDomain *d)
{
    const TrustCookie *first = trust_lowest(d, rank_wants);
    int64_t least;
    unsigned i;

    if (!first) {
        first = trust_lowest(d, rank_may_want);
    }
    least = first ? MAX(first->vtime, 0) : 0;
    for (i = 0; i < d->queue->len; i++) {
        TrustCookie *c = trust_member(d, i);

        c->vtime -= least;
        if (trust_cookie_dry(c) || trust_wish(c) == TRUST_IDLE) {
            c->vtime = MAX(c->vtime, 0);
        } else if (trust_wish(c) == TRUST_MAY_WANT) {
            c->vtime = MAX(c->vtime, -to_vtime(c, 2 * c->slice));
        }
    }
}

static gint compare_queued(gconstpointer pa, gconstpointer pb)
{
    const TrustCookie *a = *(TrustCookie *const *)pa;
    const TrustCookie *b = *(TrustCookie *const *)pb;

    return a->queued < b->queued ? -1 : a->queued > b->queued;
}

/* Bring up to date what a choice is made from. */
void trust_choose_prepare(TrustTurns *turns, TrustDomain *d)
{
    g_ptr_array_sort(d->queue, compare_queued);
    set_slices(turns, d);
    set_vtimes(d);
}

/* By virtual time, of those that would make use of a turn. */
static int64_t rank_next(const TrustCookie *c)
{
    return trust_cookie_dry(c) || c->passed || trust_wish(c) == TRUST_IDLE ?
           INT64_MAX : c->vtime;
}

/*
 * The one that has waited longest; if there is no other, the one that has just
 * given up its turn, or whose turn it is.
 */
static TrustCookie *find_first(const TrustDomain *d)
{
    TrustCookie *last = NULL;
    unsigned i;

    for (i = 0; i < d->queue->len; i++) {
        TrustCookie *c = trust_member(d, i);

        if (trust_cookie_dry(c)) {
            continue;
        }
        if (!c->passed && !c->held) {
            return c;
        }
        last = last ? last : c;
    }
    return last;
}

/*
 * For how long @c may run now so that each of the others still gets its turn
 * within the slices of the others, if those that wait run in their order.
 */
static int64_t room_for(const TrustTurns *turns, const TrustDomain *d,
                        const TrustCookie *c)
{
    int64_t round = 0, ahead = 0, room = INT64_MAX;
    unsigned i;

    for (i = 0; i < d->queue->len; i++) {
        round += trust_member(d, i)->slice;
    }
    for (i = 0; i < d->queue->len; i++) {
        const TrustCookie *o = trust_member(d, i);

        if (o == c || o->held || trust_cookie_dry(o)) {
            continue;
        }
        room = MIN(room, o->wait_base + round - o->slice - turns->now - ahead);
        ahead += o->slice;
    }
    return room;
}

/*
 * A whole slice; less if it would then be more than one slice, of virtual
 * time, ahead of another: what is owed to one that blocks often is given back
 * by shorter turns of the others.
 */
static int64_t length_of(const TrustDomain *d, const TrustCookie *c)
{
    int64_t next = INT64_MAX, length;
    unsigned i;

    for (i = 0; i < d->queue->len; i++) {
        const TrustCookie *o = trust_member(d, i);

        if (o != c && !trust_cookie_dry(o) && trust_wish(o) != TRUST_IDLE) {
            next = MIN(next, o->vtime);
        }
    }
    if (next == INT64_MAX || next >= c->vtime) {
        return c->slice;
    }
    length = c->slice - (int64_t)((double)(c->vtime - next) * c->weight /
                                  TRUST_VTIME_ONE);
    return CLAMP(length, TRUST_TURN_NS_MIN, c->slice);
}

/*
 * The cookie whose turn is next: maybe that whose turn it is.  NULL: all are
 * out of quota.  trust_choose_prepare() goes before.
 */
TrustCookie *trust_choose(TrustTurns *turns, TrustDomain *d,
                          int64_t *ret_length)
{
    TrustCookie *first = find_first(d);
    TrustCookie *least = trust_lowest(d, rank_next);
    int64_t room;

    if (least && least != first) {
        room = room_for(turns, d, least);
        if (room >= TRUST_TURN_NS_MIN) {
            *ret_length = MIN(length_of(d, least), room);
            return least;
        }
    }
    if (first) {
        *ret_length = length_of(d, first);
    }
    return first;
}
