/*
 * The fewest LLCs for a group that fits no single one, of one node if it can be
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <string.h>
#include "placement-internal.h"

/* Nodes that are tried as the middle of a group: the nearest to its home. */
#define CENTERS_MAX 8

static bool is_free(const PlacementCtx *ctx, const int *owner, int llc)
{
    return ctx->rooms[llc].usable && owner[llc] < 0;
}

/* What LLCs have together. */
typedef struct Sum {
    uint64_t room, threads;
} Sum;

static void sum_add(Sum *sum, const PlacementRoom *room)
{
    sum->room += room->room;
    sum->threads += room->thread_room;
}

static void sum_sub(Sum *sum, const PlacementRoom *room)
{
    sum->room -= room->room;
    sum->threads -= room->thread_room;
}

static bool sum_takes(const Sum *sum, const PlacementNeed *need)
{
    return need->demand <= sum->room && need->threads <= sum->threads;
}

/* The largest free LLCs until they take @need: as few as can be.  0: never. */
static int choose_largest(const PlacementCtx *ctx, const PlacementNeed *need,
                          const int *owner, int *llcs)
{
    Sum sum = { 0 };
    int i, n = 0;

    for (i = 0; i < ctx->n_with_cpus; i++) {
        int llc = ctx->by_room[i];

        if (!is_free(ctx, owner, llc)) {
            continue;
        }
        llcs[n++] = llc;
        sum_add(&sum, &ctx->rooms[llc]);
        if (sum_takes(&sum, need)) {
            return n;
        }
    }
    return 0;
}

/*
 * A heap of the positions in @llcs: on top the LLC with the least room, the
 * first of those.  Let what is at @i sink to its place.
 */
static void sink(const PlacementCtx *ctx, const int *llcs, int *heap, int n,
                 int i)
{
    for (;;) {
        int least = i, child;

        for (child = 2 * i + 1; child <= 2 * i + 2 && child < n; child++) {
            unsigned a = ctx->rooms[llcs[heap[child]]].room;
            unsigned b = ctx->rooms[llcs[heap[least]]].room;

            if (a < b || (a == b && heap[child] < heap[least])) {
                least = child;
            }
        }
        if (least == i) {
            return;
        }
        child = heap[i];
        heap[i] = heap[least];
        heap[least] = child;
        i = least;
    }
}

static void make_heap(const PlacementCtx *ctx, const int *llcs, int *heap,
                      int n)
{
    int i;

    for (i = 0; i < n; i++) {
        heap[i] = i;
    }
    for (i = n / 2 - 1; i >= 0; i--) {
        sink(ctx, llcs, heap, n, i);
    }
}

/*
 * The @k LLCs nearest to @row that take @need: the search goes outwards and
 * keeps the @k largest that it has seen.  False if no such set was met.
 */
static bool choose_near(const PlacementCtx *ctx, const PlacementNeed *need,
                        int row, const int *owner, int k, int *llcs)
{
    const int *order = &ctx->order[row * ctx->n_with_cpus];
    g_autofree int *heap = g_new(int, k);
    Sum sum = { 0 };
    int i, n = 0;

    for (i = 0; i < ctx->n_with_cpus; i++) {
        const PlacementRoom *room = &ctx->rooms[order[i]];

        if (!is_free(ctx, owner, order[i])) {
            continue;
        }
        if (n < k) {
            llcs[n++] = order[i];
            if (n == k) {
                make_heap(ctx, llcs, heap, k);
            }
        } else if (room->room > ctx->rooms[llcs[heap[0]]].room) {
            sum_sub(&sum, &ctx->rooms[llcs[heap[0]]]);
            llcs[heap[0]] = order[i];
            sink(ctx, llcs, heap, k, 0);
        } else {
            continue;
        }
        sum_add(&sum, room);
        if (n == k && sum_takes(&sum, need)) {
            return true;
        }
    }
    return false;
}

/* The distinct nodes with free LLCs in the order of @row; at most @max. */
static int list_centers(const PlacementCtx *ctx, int row, const int *owner,
                        int *nodes, int max)
{
    const int *order = &ctx->order[row * ctx->n_with_cpus];
    int i, n = 0;

    for (i = 0; i < ctx->n_with_cpus && n < max; i++) {
        int node = ctx->rooms[order[i]].node;

        if (is_free(ctx, owner, order[i]) && (n == 0 || nodes[n - 1] != node)) {
            nodes[n++] = node;
        }
    }
    return n;
}

/* The order of by_room, backwards. */
static bool smaller(const PlacementRoom *a, const PlacementRoom *b)
{
    return a->room != b->room ? a->room < b->room :
                                a->thread_room < b->thread_room;
}

/* The smallest free LLC that does in place of @old; -1: none is smaller. */
static int find_smaller(const PlacementCtx *ctx, const PlacementNeed *need,
                        const int *owner, const bool *mine, const Sum *sum,
                        int old)
{
    int p;

    for (p = ctx->n_with_cpus - 1; p >= 0; p--) {
        int llc = ctx->by_room[p];
        Sum with = *sum;

        if (!smaller(&ctx->rooms[llc], &ctx->rooms[old])) {
            return -1;
        }
        sum_sub(&with, &ctx->rooms[old]);
        sum_add(&with, &ctx->rooms[llc]);
        if (sum_takes(&with, need) && !mine[llc] && is_free(ctx, owner, llc)) {
            return llc;
        }
    }
    return -1;
}

static bool alike(const PlacementRoom *a, const PlacementRoom *b)
{
    return a->room == b->room && a->thread_room == b->thread_room;
}

/*
 * Exchange LLCs for smaller ones that still do, the smallest that there are:
 * leaves the large ones to others.
 */
static void tighten(const PlacementCtx *ctx, const PlacementNeed *need,
                    const int *owner, int *llcs, int n)
{
    g_autofree bool *mine = g_new0(bool, ctx->n_rooms);
    const PlacementRoom *in_vain = NULL;
    Sum sum = { 0 };
    int i, llc;

    for (i = 0; i < n; i++) {
        mine[llcs[i]] = true;
        sum_add(&sum, &ctx->rooms[llcs[i]]);
    }
    for (i = 0; i < n; i++) {
        const PlacementRoom *old = &ctx->rooms[llcs[i]];

        if (in_vain && alike(old, in_vain)) {
            continue;
        }
        llc = find_smaller(ctx, need, owner, mine, &sum, llcs[i]);
        if (llc < 0) {
            in_vain = old;
            continue;
        }
        sum_sub(&sum, old);
        sum_add(&sum, &ctx->rooms[llc]);
        mine[llcs[i]] = false;
        mine[llc] = true;
        llcs[i] = llc;
        in_vain = NULL;
    }
}

static bool is_one_node(const PlacementCtx *ctx, const int *llcs, int n)
{
    int i;

    for (i = 1; i < n; i++) {
        if (ctx->rooms[llcs[i]].node != ctx->rooms[llcs[0]].node) {
            return false;
        }
    }
    return true;
}

/* True if node @b is farther from @home than node @a. */
static bool further(const PlacementCtx *ctx, int home, int a, int b)
{
    const unsigned *reach = &ctx->reach[home * ctx->n_nodes];

    return reach[b] > reach[a];
}

/*
 * Choose free LLCs for @need into @llcs (room for all LLCs); how many, or 0 if
 * all free ones together cannot take it.  @tight: rather small than near.
 */
int placement_choose_set(const PlacementCtx *ctx, const PlacementNeed *need,
                         int home, bool tight, const int *owner, int *llcs)
{
    g_autofree int *trial = g_new(int, MAX(ctx->n_rooms, 1));
    int centers[CENTERS_MAX];
    PlacementCost best;
    bool in_node = false;
    int k, c, n_centers;

    k = choose_largest(ctx, need, owner, llcs);
    if (!k) {
        return 0;
    }
    best = placement_set_cost(ctx, need, llcs, k, home);
    if (need->row >= 0) {
        n_centers = 1;
        centers[0] = need->row;
    } else {
        n_centers = list_centers(ctx, home, owner, centers, CENTERS_MAX);
    }
    for (c = 0; c < n_centers; c++) {
        PlacementCost cost;

        /* Nothing is nearer than one node, and centers only get farther. */
        if (c && in_node && further(ctx, home, centers[c - 1], centers[c])) {
            break;
        }
        if (!choose_near(ctx, need, centers[c], owner, k, trial)) {
            continue;
        }
        cost = placement_set_cost(ctx, need, trial, k, home);
        if (placement_cost_less(&cost, &best)) {
            best = cost;
            memcpy(llcs, trial, k * sizeof(int));
        }
        in_node |= is_one_node(ctx, trial, k);
    }
    if (tight) {
        tighten(ctx, need, owner, llcs, k);
    }
    return k;
}
