/*
 * One LLC for each group that fits one: a matching of least cost
 *
 * Small cases are solved exactly by the Hungarian method (successive shortest
 * augmenting paths with potentials; Kuhn 1955, Munkres 1957).  It needs only
 * that costs can be added, subtracted and compared, so it runs on the vectors
 * of placement-cost.c as they are.  Large cases take the largest group first
 * and give each the nearest LLC: exact where all LLCs are alike.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <string.h>
#include "placement-internal.h"

/* Steps of the inner loop over all homes, about 15 ns each: within 3 ms. */
#define EXACT_STEPS_MAX 150000

typedef struct Matching {
    const PlacementCtx *ctx;
    const int *groups;
    int n;                  /* rows */
    int *columns;           /* free LLCs; after them n that mean none */
    int n_llcs, n_columns;
    int home;
    PlacementCost *pair;    /* n x n_llcs */
    PlacementCost *u, *v;   /* potentials, from 1 */
    PlacementCost *least;   /* per column */
    int *row_of, *way;      /* per column, from 0 (the start of a path) */
    bool *used;
} Matching;

static void fill_pairs(Matching *m)
{
    int i, c;

    m->pair = g_new(PlacementCost, m->n * MAX(m->n_llcs, 1));
    for (i = 0; i < m->n; i++) {
        const PlacementNeed *need = &m->ctx->groups[m->groups[i]];

        for (c = 0; c < m->n_llcs; c++) {
            PlacementCost *cost = &m->pair[i * m->n_llcs + c];

            *cost = placement_set_cost(m->ctx, need, &m->columns[c], 1,
                                       m->home);
            if (!placement_room_takes(&m->ctx->rooms[m->columns[c]], need)) {
                cost->part[COST_UNPLACED] = 2;
            }
        }
    }
}

/* Staying without an LLC costs 1, an LLC that is too small 2: never taken. */
static PlacementCost pair_cost(const Matching *m, int row, int column)
{
    static const PlacementCost none = { .part[COST_UNPLACED] = 1 };

    return column < m->n_llcs ? m->pair[row * m->n_llcs + column] : none;
}

/* One step of the search from column @from; returns the nearest new column. */
static int relax(Matching *m, int from)
{
    PlacementCost delta = { .part[COST_UNPLACED] = INT64_MAX };
    int row = m->row_of[from];
    int next = 0, j;

    for (j = 1; j <= m->n_columns; j++) {
        PlacementCost cost;

        if (m->used[j]) {
            continue;
        }
        cost = pair_cost(m, row - 1, j - 1);
        placement_cost_sub(&cost, &m->u[row]);
        placement_cost_sub(&cost, &m->v[j]);
        if (placement_cost_less(&cost, &m->least[j])) {
            m->least[j] = cost;
            m->way[j] = from;
        }
        if (placement_cost_less(&m->least[j], &delta)) {
            delta = m->least[j];
            next = j;
        }
    }
    for (j = 0; j <= m->n_columns; j++) {
        if (m->used[j]) {
            placement_cost_add(&m->u[m->row_of[j]], &delta);
            placement_cost_sub(&m->v[j], &delta);
        } else {
            placement_cost_sub(&m->least[j], &delta);
        }
    }
    return next;
}

static void add_row(Matching *m, int row)
{
    int j, column = 0;

    m->row_of[0] = row;
    for (j = 0; j <= m->n_columns; j++) {
        m->least[j] = (PlacementCost) { .part[COST_UNPLACED] = INT32_MAX };
        m->used[j] = false;
    }
    do {
        m->used[column] = true;
        column = relax(m, column);
    } while (m->row_of[column]);
    while (column) {
        m->row_of[column] = m->row_of[m->way[column]];
        column = m->way[column];
    }
}

static void solve(Matching *m)
{
    int i;

    m->u = g_new0(PlacementCost, m->n + 1);
    m->v = g_new0(PlacementCost, m->n_columns + 1);
    m->least = g_new0(PlacementCost, m->n_columns + 1);
    m->row_of = g_new0(int, m->n_columns + 1);
    m->way = g_new0(int, m->n_columns + 1);
    m->used = g_new0(bool, m->n_columns + 1);
    for (i = 1; i <= m->n; i++) {
        add_row(m, i);
    }
}

static void matching_clear(Matching *m)
{
    g_free(m->columns);
    g_free(m->pair);
    g_free(m->u);
    g_free(m->v);
    g_free(m->least);
    g_free(m->row_of);
    g_free(m->way);
    g_free(m->used);
}

static PlacementCost cost_of(const Matching *m, const int *llc_of)
{
    PlacementCost sum = { { 0 } };
    int i;

    for (i = 0; i < m->n; i++) {
        const PlacementNeed *need = &m->ctx->groups[m->groups[i]];
        PlacementCost cost = placement_set_cost(m->ctx, need, &llc_of[i],
                                                llc_of[i] >= 0, m->home);

        if (llc_of[i] >= 0 &&
            !placement_room_takes(&m->ctx->rooms[llc_of[i]], need)) {
            cost.part[COST_UNPLACED] = 2;
        }
        placement_cost_add(&sum, &cost);
    }
    return sum;
}

/*
 * Among equal plans the one in which neighbours are neighbours: the same
 * LLCs, dealt out by index from the nearest node on.
 */
static void straighten(const Matching *m, int *llc_of)
{
    g_autofree int *dealt = g_new(int, m->n);
    g_autofree bool *taken = g_new0(bool, m->ctx->n_rooms);
    const int *order = &m->ctx->order[m->home * m->ctx->n_with_cpus];
    PlacementCost before = cost_of(m, llc_of), after;
    int i, n = 0;

    for (i = 0; i < m->n; i++) {
        if (llc_of[i] < 0) {
            return;
        }
        taken[llc_of[i]] = true;
    }
    for (i = 0; i < m->ctx->n_with_cpus; i++) {
        if (taken[order[i]]) {
            dealt[n++] = order[i];
        }
    }
    after = cost_of(m, dealt);
    if (n && !placement_cost_less(&before, &after)) {
        memcpy(llc_of, dealt, n * sizeof(int));
    }
}

static void match_exact(Matching *m, int *llc_of)
{
    int i, j;

    m->n_columns = m->n_llcs + m->n;
    fill_pairs(m);
    solve(m);
    for (i = 0; i < m->n; i++) {
        llc_of[i] = -1;
    }
    for (j = 1; j <= m->n_llcs; j++) {
        if (m->row_of[j]) {
            llc_of[m->row_of[j] - 1] = m->columns[j - 1];
        }
    }
    straighten(m, llc_of);
}

typedef struct LargestFirst {
    const PlacementCtx *ctx;
    const int *groups;
} LargestFirst;

static gint compare_demand(gconstpointer pa, gconstpointer pb, gpointer opaque)
{
    const LargestFirst *key = opaque;
    int ia = *(const int *)pa, ib = *(const int *)pb;
    const PlacementNeed *a = &key->ctx->groups[key->groups[ia]];
    const PlacementNeed *b = &key->ctx->groups[key->groups[ib]];

    if (a->demand != b->demand) {
        return a->demand > b->demand ? -1 : 1;
    }
    if (a->threads != b->threads) {
        return a->threads > b->threads ? -1 : 1;
    }
    return ia - ib;
}

/* The LLC of the previous plan, if nothing is against it; else -1. */
static int keep_previous(const PlacementCtx *ctx, const PlacementNeed *need,
                         int home, int best, const bool *taken)
{
    PlacementCost was_cost, best_cost;
    int was = need->was_llc;

    if (was < 0 || taken[was] ||
        !placement_room_takes(&ctx->rooms[was], need)) {
        return -1;
    }
    was_cost = placement_set_cost(ctx, need, &was, 1, home);
    best_cost = placement_set_cost(ctx, need, &best, 1, home);
    return placement_cost_less(&was_cost, &best_cost) ? was : -1;
}

/* The start of each row moves on over what is taken: linear in the end. */
static void match_largest_first(Matching *m, const int *owner, int *llc_of)
{
    const PlacementCtx *ctx = m->ctx;
    LargestFirst key = { .ctx = ctx, .groups = m->groups };
    g_autofree int *sequence = g_new(int, m->n);
    g_autofree int *start = g_new0(int, ctx->n_rows);
    g_autofree bool *taken = g_new0(bool, ctx->n_rooms);
    int i, p, n = ctx->n_with_cpus;

    for (i = 0; i < ctx->n_rooms; i++) {
        taken[i] = owner[i] >= 0 || !ctx->rooms[i].usable;
    }
    for (i = 0; i < m->n; i++) {
        sequence[i] = i;
    }
    g_qsort_with_data(sequence, m->n, sizeof(int), compare_demand, &key);
    for (i = 0; i < m->n; i++) {
        const PlacementNeed *need = &ctx->groups[m->groups[sequence[i]]];
        int row = placement_row(need, m->home);
        const int *order = &ctx->order[row * n];
        int llc = -1, kept;

        while (start[row] < n && taken[order[start[row]]]) {
            start[row]++;
        }
        for (p = start[row]; p < n && llc < 0; p++) {
            if (!taken[order[p]] &&
                placement_room_takes(&ctx->rooms[order[p]], need)) {
                llc = order[p];
            }
        }
        if (llc >= 0) {
            kept = keep_previous(ctx, need, m->home, llc, taken);
            llc = kept >= 0 ? kept : llc;
            taken[llc] = true;
        }
        llc_of[sequence[i]] = llc;
    }
}

/*
 * Give each of @groups (the @n that fit an LLC) a free LLC of its own, as run
 * of its own number.  False if some got none; the others have theirs.
 */
bool placement_match(const PlacementCtx *ctx, const int *groups, int n,
                     int home, Assignment *a)
{
    Matching m = { .ctx = ctx, .groups = groups, .n = n, .home = home };
    g_autofree int *llc_of = g_new(int, MAX(n, 1));
    bool all = true;
    int64_t steps;
    int i;

    m.columns = g_new(int, MAX(ctx->n_rooms, 1));
    for (i = 0; i < ctx->n_rooms; i++) {
        if (ctx->rooms[i].usable && a->owner[i] < 0) {
            m.columns[m.n_llcs++] = i;
        }
    }
    steps = (int64_t)n * n * (m.n_llcs + n) * ctx->n_nodes;
    if (steps <= EXACT_STEPS_MAX) {
        match_exact(&m, llc_of);
    } else {
        match_largest_first(&m, a->owner, llc_of);
    }
    matching_clear(&m);
    for (i = 0; i < n; i++) {
        if (llc_of[i] >= 0) {
            a->owner[llc_of[i]] = groups[i];
            a->run_of[groups[i]] = groups[i];
        } else {
            all = false;
        }
    }
    return all;
}
