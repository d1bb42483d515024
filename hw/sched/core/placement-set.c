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

static bool set_takes(const PlacementCtx *ctx, const PlacementNeed *need,
                      const int *llcs, int n)
{
    uint64_t room = 0, threads = 0;
    int i;

    for (i = 0; i < n; i++) {
        room += ctx->rooms[llcs[i]].room;
        threads += ctx->rooms[llcs[i]].thread_room;
    }
    return need->demand <= room && need->threads <= threads;
}

/* The largest free LLCs until they take @need: as few as can be.  0: never. */
static int choose_largest(const PlacementCtx *ctx, const PlacementNeed *need,
                          const int *owner, int *llcs)
{
    uint64_t room = 0, threads = 0;
    int i, n = 0;

    for (i = 0; i < ctx->n_with_cpus; i++) {
        int llc = ctx->by_room[i];

        if (!is_free(ctx, owner, llc)) {
            continue;
        }
        llcs[n++] = llc;
        room += ctx->rooms[llc].room;
        threads += ctx->rooms[llc].thread_room;
        if (need->demand <= room && need->threads <= threads) {
            return n;
        }
    }
    return 0;
}

static int smallest_of(const PlacementCtx *ctx, const int *llcs, int n)
{
    int i, smallest = 0;

    for (i = 1; i < n; i++) {
        if (ctx->rooms[llcs[i]].room < ctx->rooms[llcs[smallest]].room) {
            smallest = i;
        }
    }
    return smallest;
}

/*
 * The @k LLCs nearest to @row that take @need: the search goes outwards and
 * keeps the @k largest that it has seen.  False if no such set was met.
 */
static bool choose_near(const PlacementCtx *ctx, const PlacementNeed *need,
                        int row, const int *owner, int k, int *llcs)
{
    const int *order = &ctx->order[row * ctx->n_with_cpus];
    int i, n = 0;

    for (i = 0; i < ctx->n_with_cpus; i++) {
        if (!is_free(ctx, owner, order[i])) {
            continue;
        }
        if (n < k) {
            llcs[n++] = order[i];
        } else {
            int smallest = smallest_of(ctx, llcs, k);

            if (ctx->rooms[order[i]].room <= ctx->rooms[llcs[smallest]].room) {
                continue;
            }
            llcs[smallest] = order[i];
        }
        if (n == k && set_takes(ctx, need, llcs, k)) {
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

/*
 * Exchange LLCs for smaller ones that still do, the smallest that there are:
 * leaves the large ones to others.
 */
static void tighten(const PlacementCtx *ctx, const PlacementNeed *need,
                    const int *owner, int *llcs, int n)
{
    g_autofree bool *mine = g_new0(bool, ctx->n_rooms);
    int i, p;

    for (i = 0; i < n; i++) {
        mine[llcs[i]] = true;
    }
    for (i = 0; i < n; i++) {
        for (p = ctx->n_with_cpus - 1; p >= 0; p--) {
            int old = llcs[i], llc = ctx->by_room[p];

            if (ctx->rooms[llc].room >= ctx->rooms[old].room) {
                break;
            }
            if (mine[llc] || !is_free(ctx, owner, llc)) {
                continue;
            }
            llcs[i] = llc;
            if (set_takes(ctx, need, llcs, n)) {
                mine[old] = false;
                mine[llc] = true;
                break;
            }
            llcs[i] = old;
        }
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
