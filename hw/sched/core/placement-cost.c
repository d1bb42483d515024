/*
 * What a set of LLCs costs a guest group, and in which order LLCs are tried
 *
 * docs/devel/placement.rst states the cost and its reasons.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <string.h>
#include "placement-internal.h"

/* Hold any sum of moves, and of load steps, over all LLCs and groups. */
#define MOVES_BITS 20

bool placement_cost_less(const PlacementCost *a, const PlacementCost *b)
{
    int i;

    for (i = 0; i < COST_PARTS; i++) {
        if (a->part[i] != b->part[i]) {
            return a->part[i] < b->part[i];
        }
    }
    return false;
}

/*
 * Whether @a is worth moving for: the number of moves, below the load in the
 * same part, and the hash do not count.
 */
bool placement_cost_better(const PlacementCost *a, const PlacementCost *b)
{
    PlacementCost x = *a, y = *b;

    x.part[COST_TIE] >>= MOVES_BITS;
    y.part[COST_TIE] >>= MOVES_BITS;
    x.part[COST_HASH] = y.part[COST_HASH] = 0;
    return placement_cost_less(&x, &y);
}

void placement_cost_add(PlacementCost *sum, const PlacementCost *cost)
{
    int i;

    for (i = 0; i < COST_PARTS; i++) {
        sum->part[i] += cost->part[i];
    }
}

void placement_cost_sub(PlacementCost *sum, const PlacementCost *cost)
{
    int i;

    for (i = 0; i < COST_PARTS; i++) {
        sum->part[i] -= cost->part[i];
    }
}

static unsigned reach(const PlacementCtx *ctx, int row, int node)
{
    return ctx->reach[row * ctx->n_nodes + node];
}

/*
 * Bound: the way from each LLC to the memory.  Else the way from each LLC to
 * the group's best node of those it is on, and from there to the VM's home.
 */
int64_t placement_distance(const PlacementCtx *ctx, const PlacementNeed *need,
                           const int *llcs, int n, int home)
{
    int nodes[HOST_NODE_MAX];
    unsigned count[HOST_NODE_MAX];
    int64_t best = INT64_MAX, sum;
    int i, j, n_nodes = 0;

    memset(count, 0, ctx->n_nodes * sizeof(*count));
    for (i = 0; i < n; i++) {
        int node = ctx->rooms[llcs[i]].node;

        if (count[node]++ == 0) {
            nodes[n_nodes++] = node;
        }
    }
    for (i = 0; i < n_nodes; i++) {
        int row = placement_row(need, nodes[i]);

        for (sum = 0, j = 0; j < n_nodes; j++) {
            sum += (int64_t)count[nodes[j]] * reach(ctx, row, nodes[j]);
        }
        sum *= PLACEMENT_SPREAD_WEIGHT;
        if (need->row >= 0) {
            return sum;
        }
        best = MIN(best, sum + reach(ctx, home, nodes[i]));
    }
    return best;
}

/*
 * What the VM itself puts above the room of its LLCs, and above the part of
 * it, at least a core, to which LLCs are filled that several groups share.
 */
static void add_fill(const PlacementCtx *ctx, const PlacementNeed *need,
                     const int *llcs, int n, PlacementCost *cost)
{
    int64_t room = 0, threads = 0, limit = 0, excess = 0;
    bool shared = need->n_groups > 1, full;
    int i;

    for (i = 0; i < n; i++) {
        int64_t here = ctx->rooms[llcs[i]].room;

        room += here;
        threads += ctx->rooms[llcs[i]].thread_room;
        if (shared) {
            limit += MIN(here, MAX(1000, here * PLACEMENT_FILL_PERCENT / 100));
        }
    }
    full = need->demand > room;
    for (i = 0; i < n; i++) {
        const PlacementRoom *r = &ctx->rooms[llcs[i]];

        if (full || r->others) {
            excess += MAX(0, need->demand * (int64_t)r->room / room +
                             r->others - (int64_t)r->room);
        }
    }
    cost->part[COST_OVERFULL] = MAX(0, need->demand - room) +
                                MAX(0, need->threads - threads);
    cost->part[COST_EXCESS] = excess;
    if (shared) {
        cost->part[COST_CROWDED] = MAX(0, need->demand - limit);
    }
}

static bool was_on(const PlacementCtx *ctx, const PlacementNeed *need, int llc)
{
    return need->was_run < 0 ||
           ctx->in->previous->llcs[llc].run == need->was_run;
}

/* Preference, then load of others, then moves. */
static int64_t set_tie(const PlacementCtx *ctx, const PlacementNeed *need,
                       const int *llcs, int n, int64_t *ret_rank,
                       int64_t *ret_hash)
{
    int64_t rank = 0, load = 0, moves = 0, hash = 0;
    int i;

    for (i = 0; i < n; i++) {
        const PlacementRoom *room = &ctx->rooms[llcs[i]];

        rank += room->rank;
        load += room->load_step;
        moves += !was_on(ctx, need, llcs[i]);
        hash += room->hash;
    }
    *ret_rank = rank;
    *ret_hash = hash;
    return load << MOVES_BITS | moves;
}

/* A preference that the user gave goes before the load, `auto` after it. */
PlacementCost placement_set_cost(const PlacementCtx *ctx,
                                 const PlacementNeed *need,
                                 const int *llcs, int n, int home)
{
    bool asked = ctx->in->prefer != PLACEMENT_PREFER_AUTO;
    PlacementCost cost = { { 0 } };
    int64_t rank, hash;

    if (n == 0) {
        cost.part[COST_UNPLACED] = need->n_groups;
        return cost;
    }
    cost.part[COST_SPLIT] = n > 1 ? need->n_groups : 0;
    cost.part[COST_FOLDED] = need->n_groups - 1;
    cost.part[COST_LLCS] = (int64_t)n * need->n_groups;
    cost.part[COST_DISTANCE] = need->n_groups *
                               placement_distance(ctx, need, llcs, n,
                                                  home);
    add_fill(ctx, need, llcs, n, &cost);
    cost.part[COST_TIE] = set_tie(ctx, need, llcs, n, &rank, &hash);
    cost.part[COST_HASH] = hash;
    cost.part[asked ? COST_EXCESS : COST_TIE] += rank << 2 * MOVES_BITS;
    return cost;
}

typedef struct OrderKey {
    const PlacementCtx *ctx;
    const uint32_t *node_hash;
    int row;
} OrderKey;

#define COMPARE(a, b) \
    do {                                   \
        if ((a) != (b)) {                  \
            return (a) < (b) ? -1 : 1;     \
        }                                  \
    } while (0)

/* By node, and the best LLC of each node first. */
static gint compare_in_node(gconstpointer pa, gconstpointer pb,
                            gpointer opaque)
{
    const OrderKey *key = opaque;
    const PlacementRoom *a = &key->ctx->rooms[*(const int *)pa];
    const PlacementRoom *b = &key->ctx->rooms[*(const int *)pb];

    COMPARE(a->node, b->node);
    COMPARE(a->rank, b->rank);
    COMPARE(a->load_step, b->load_step);
    COMPARE(a->hash, b->hash);
    return *(const int *)pa - *(const int *)pb;
}

static gint compare_near(gconstpointer pa, gconstpointer pb, gpointer opaque)
{
    const OrderKey *key = opaque;
    int a = *(const int *)pa, b = *(const int *)pb;

    COMPARE(reach(key->ctx, key->row, a), reach(key->ctx, key->row, b));
    COMPARE(key->node_hash[a], key->node_hash[b]);
    return a - b;
}

static gint compare_room(gconstpointer pa, gconstpointer pb, gpointer opaque)
{
    const OrderKey *key = opaque;
    const PlacementRoom *a = &key->ctx->rooms[*(const int *)pa];
    const PlacementRoom *b = &key->ctx->rooms[*(const int *)pb];

    COMPARE(b->room, a->room);
    COMPARE(b->thread_room, a->thread_room);
    return *(const int *)pa - *(const int *)pb;
}

static void list_rooms(const PlacementCtx *ctx, int *llcs)
{
    int l, n = 0;

    for (l = 0; l < ctx->n_rooms; l++) {
        if (ctx->rooms[l].cpus) {
            llcs[n++] = l;
        }
    }
}

/* One row: whole nodes one after the other, nearest first. */
static void order_row(OrderKey *key, const int *by_node, const int *start,
                      int *nodes, int *row)
{
    int i, j, n = 0;

    for (i = 0; i < key->ctx->n_nodes; i++) {
        nodes[i] = i;
    }
    g_qsort_with_data(nodes, key->ctx->n_nodes, sizeof(int), compare_near,
                      key);
    for (i = 0; i < key->ctx->n_nodes; i++) {
        for (j = start[nodes[i]]; j < start[nodes[i] + 1]; j++) {
            row[n++] = by_node[j];
        }
    }
}

/* Needs rooms that are scaled and rows that are known. */
void placement_order_init(PlacementCtx *ctx)
{
    int n = ctx->n_with_cpus;
    g_autofree int *by_node = g_new(int, n);
    g_autofree int *start = g_new0(int, ctx->n_nodes + 1);
    g_autofree int *nodes = g_new(int, ctx->n_nodes);
    g_autofree uint32_t *node_hash = g_new0(uint32_t, ctx->n_nodes);
    OrderKey key = { .ctx = ctx, .node_hash = node_hash };
    const PlacementRoom *first;
    int i;

    list_rooms(ctx, by_node);
    g_qsort_with_data(by_node, n, sizeof(int), compare_in_node, &key);
    for (i = 0; i < n; i++) {
        const PlacementRoom *room = &ctx->rooms[by_node[i]];

        start[room->node + 1]++;
        node_hash[room->node] = room->hash >> 16;
    }
    for (i = 0; i < ctx->n_nodes; i++) {
        start[i + 1] += start[i];
    }
    ctx->order = g_new(int, ctx->n_rows * n);
    for (key.row = 0; key.row < ctx->n_rows; key.row++) {
        order_row(&key, by_node, start, nodes, &ctx->order[key.row * n]);
    }
    ctx->by_room = g_new(int, n);
    list_rooms(ctx, ctx->by_room);
    g_qsort_with_data(ctx->by_room, n, sizeof(int), compare_room, &key);
    first = &ctx->rooms[ctx->by_room[0]];
    for (i = 1; i < n; i++) {
        const PlacementRoom *room = &ctx->rooms[ctx->by_room[i]];

        ctx->unequal |= room->room != first->room ||
                        room->thread_room != first->thread_room;
    }
}
