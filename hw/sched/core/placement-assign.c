/*
 * Which LLCs each guest group gets: the stages of the search
 *
 * Every stage gives disjoint sets of LLCs.  The first stage that places all
 * groups wins, and in it the home (the host node near which a VM that is
 * bound nowhere gathers) with the least cost.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <stdlib.h>
#include <string.h>
#include "placement-internal.h"

/* Groups times LLCs times homes, about 10 ns each: some ms. */
#define HOMES_WORK_MAX 500000

typedef enum Stage {
    STAGE_APART,    /* each group its own: one LLC if it fits one */
    STAGE_FOLD,     /* groups share LLCs, none of which is overfull */
    STAGE_SPLIT,    /* a group for which no LLC is left takes several */
    STAGE_OVERFILL, /* groups share LLCs whatever it takes */
} Stage;

/* The groups that have something to place, by kind. */
typedef struct Search {
    PlacementCtx *ctx;
    int *fitting, *oversize;
    int n_fitting, n_oversize, n_usable;
    int *llcs; /* scratch: one set */
} Search;

static Assignment *assignment_new(const PlacementCtx *ctx)
{
    Assignment *a = g_new0(Assignment, 1);

    a->run_of = g_new(int, MAX(ctx->n_groups, 1));
    a->owner = g_new(int, MAX(ctx->n_rooms, 1));
    memset(a->run_of, -1, ctx->n_groups * sizeof(int));
    memset(a->owner, -1, ctx->n_rooms * sizeof(int));
    return a;
}

void placement_assignment_free(Assignment *a)
{
    if (a) {
        g_free(a->run_of);
        g_free(a->owner);
        g_free(a);
    }
}

/* The need of @groups that are folded: where the first belongs, they do. */
static void fold_need(PlacementNeed *sum, const PlacementNeed *need)
{
    if (!sum->n_groups) {
        *sum = *need;
        return;
    }
    sum->demand += need->demand;
    sum->threads += need->threads;
    sum->n_vcpus += need->n_vcpus;
    sum->n_cores += need->n_cores;
    sum->n_groups++;
    sum->n_oversize += need->n_oversize;
}

/* Runs are numbered below the sum of groups and LLCs, not without gaps. */
static void evaluate(Search *s, Assignment *a, int home)
{
    const PlacementCtx *ctx = s->ctx;
    g_autofree PlacementNeed *runs = g_new0(PlacementNeed, ctx->n_groups + 1);
    g_autofree int *start = g_new0(int, ctx->n_groups + 2);
    g_autofree int *llcs = g_new(int, MAX(ctx->n_rooms, 1));
    g_autofree int *fill = NULL;
    int i;

    for (i = 0; i < ctx->n_rooms; i++) {
        if (a->owner[i] >= 0) {
            start[a->owner[i] + 1]++;
        }
    }
    for (i = 0; i < ctx->n_groups; i++) {
        start[i + 1] += start[i];
    }
    fill = g_memdup2(start, (ctx->n_groups + 1) * sizeof(int));
    for (i = 0; i < ctx->n_rooms; i++) {
        if (a->owner[i] >= 0) {
            llcs[fill[a->owner[i]]++] = i;
        }
    }
    memset(&a->cost, 0, sizeof(a->cost));
    for (i = 0; i < ctx->n_groups; i++) {
        if (a->run_of[i] >= 0) {
            fold_need(&runs[a->run_of[i]], &ctx->groups[i]);
        } else if (ctx->groups[i].n_vcpus) {
            a->cost.part[COST_UNPLACED]++;
        }
    }
    for (i = 0; i < ctx->n_groups; i++) {
        if (runs[i].n_groups) {
            PlacementCost cost = placement_set_cost(ctx, &runs[i],
                                                    &llcs[start[i]],
                                                    start[i + 1] - start[i],
                                                    home);
            placement_cost_add(&a->cost, &cost);
        }
    }
}

/* A set of its own for run @run.  False, and nothing done, if none is left. */
static bool take_set(Search *s, const PlacementNeed *need, int run, int home,
                     Assignment *a)
{
    int i, n = placement_choose_set(s->ctx, need, home, a->owner, s->llcs);

    for (i = 0; i < n; i++) {
        a->owner[s->llcs[i]] = run;
    }
    return n > 0;
}

/* Each of @groups a set of its own; those already placed are passed over. */
static bool take_sets(Search *s, const int *groups, int n, int home,
                      Assignment *a)
{
    bool all = true;
    int i;

    for (i = 0; i < n; i++) {
        int g = groups[i];

        if (a->run_of[g] >= 0) {
            continue;
        }
        if (take_set(s, &s->ctx->groups[g], g, home, a)) {
            a->run_of[g] = g;
        } else {
            all = false;
        }
    }
    return all;
}

/*
 * The large groups and the small ones compete for LLCs where these are
 * unequal; which kind should choose first cannot be known: both are tried.
 */
static void stage_apart(Search *s, int home, bool small_first, bool split,
                        Assignment *a)
{
    if (small_first) {
        placement_match(s->ctx, s->fitting, s->n_fitting, home, a);
    }
    take_sets(s, s->oversize, s->n_oversize, home, a);
    if (!small_first) {
        placement_match(s->ctx, s->fitting, s->n_fitting, home, a);
    }
    if (split) {
        take_sets(s, s->fitting, s->n_fitting, home, a);
    }
}

/* The large groups as @n_runs runs with a set each, the small ones folded. */
static bool try_fold(Search *s, int home, int n_runs, unsigned limit,
                     Assignment *a)
{
    PlacementCtx *ctx = s->ctx;
    g_autofree PlacementNeed *runs = g_new0(PlacementNeed, n_runs + 1);
    int i;

    memset(a->run_of, -1, ctx->n_groups * sizeof(int));
    memset(a->owner, -1, ctx->n_rooms * sizeof(int));
    if (s->n_oversize) {
        placement_fold_balanced(ctx, s->oversize, s->n_oversize, n_runs, a);
        for (i = 0; i < s->n_oversize; i++) {
            int g = s->oversize[i];

            fold_need(&runs[a->run_of[g]], &ctx->groups[g]);
        }
    }
    for (i = 0; i < n_runs; i++) {
        if (runs[i].n_groups && !take_set(s, &runs[i], i, home, a)) {
            return false;
        }
    }
    return placement_fold_onto(ctx, s->fitting, s->n_fitting, home, limit,
                               n_runs, a);
}

/* As many runs of large groups as can be had: bisection. */
static bool stage_fold(Search *s, int home, unsigned limit, Assignment *a)
{
    int low = 0, high = s->n_oversize;

    if (try_fold(s, home, high, limit, a)) {
        return true;
    }
    while (low + 1 < high) {
        int middle = low + (high - low) / 2;

        if (try_fold(s, home, middle, limit, a)) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low && try_fold(s, home, low, limit, a);
}

static uint64_t demand_of(const Search *s, const int *groups, int n)
{
    uint64_t sum = 0;
    int i;

    for (i = 0; i < n; i++) {
        sum += s->ctx->groups[groups[i]].demand;
    }
    return sum;
}

/* A share of the LLCs, by demand, for all large groups as one run. */
static void share_out(Search *s, int home, Assignment *a)
{
    const int *order = &s->ctx->order[home * s->ctx->n_with_cpus];
    uint64_t large = demand_of(s, s->oversize, s->n_oversize);
    uint64_t small = demand_of(s, s->fitting, s->n_fitting);
    int n = s->n_usable * large / (large + small);
    int i;

    n = CLAMP(n, 1, s->n_usable - (small ? 1 : 0));
    for (i = 0; i < s->n_oversize; i++) {
        a->run_of[s->oversize[i]] = 0;
    }
    for (i = 0; i < s->ctx->n_with_cpus && n; i++) {
        if (s->ctx->rooms[order[i]].usable) {
            a->owner[order[i]] = 0;
            n--;
        }
    }
}

/* No bound on how full an LLC gets but that of the arithmetic. */
static void stage_overfill(Search *s, int home, Assignment *a)
{
    unsigned limit = 1000 * (s->n_fitting + 1);
    int first_run = 0;

    if (stage_fold(s, home, limit, a)) {
        return;
    }
    memset(a->run_of, -1, s->ctx->n_groups * sizeof(int));
    memset(a->owner, -1, s->ctx->n_rooms * sizeof(int));
    if (s->n_oversize && s->n_usable > 1) {
        share_out(s, home, a);
        first_run = 1;
    }
    if (!placement_fold_onto(s->ctx, s->fitting, s->n_fitting, home, limit,
                             first_run, a)) {
        memset(a->run_of, -1, s->ctx->n_groups * sizeof(int));
        memset(a->owner, -1, s->ctx->n_rooms * sizeof(int));
    }
}

static Assignment *run_stage(Search *s, Stage stage, int home,
                             bool small_first)
{
    Assignment *a = assignment_new(s->ctx);

    switch (stage) {
    case STAGE_APART:
    case STAGE_SPLIT:
        stage_apart(s, home, small_first, stage == STAGE_SPLIT, a);
        break;
    case STAGE_FOLD:
        if (!stage_fold(s, home, 1000, a)) {
            memset(a->run_of, -1, s->ctx->n_groups * sizeof(int));
            memset(a->owner, -1, s->ctx->n_rooms * sizeof(int));
        }
        break;
    case STAGE_OVERFILL:
        stage_overfill(s, home, a);
        break;
    }
    evaluate(s, a, home);
    return a;
}

typedef struct Home {
    int node;
    uint64_t room;      /* of its usable LLCs */
    unsigned load_step;
    uint32_t hash;
} Home;

/* The most room first, then the least load: where a large VM is best off. */
static gint compare_homes(gconstpointer pa, gconstpointer pb)
{
    const Home *a = pa, *b = pb;

    if (a->room != b->room) {
        return a->room > b->room ? -1 : 1;
    }
    if (a->load_step != b->load_step) {
        return a->load_step < b->load_step ? -1 : 1;
    }
    if (a->hash != b->hash) {
        return a->hash < b->hash ? -1 : 1;
    }
    return a->node - b->node;
}

/*
 * The nodes worth trying, into @homes: all of them, or as many as the time
 * allows for a guest and a host that are very large.
 */
static int list_homes(const Search *s, Home *homes)
{
    const PlacementCtx *ctx = s->ctx;
    int64_t work = (int64_t)MAX(ctx->n_groups, 1) * ctx->n_with_cpus;
    int i, n = 0;

    memset(homes, 0, ctx->n_nodes * sizeof(*homes));
    for (i = 0; i < ctx->n_rooms; i++) {
        const PlacementRoom *room = &ctx->rooms[i];

        if (room->usable) {
            homes[room->node].room += room->room;
            homes[room->node].load_step += room->load_step;
            homes[room->node].hash = room->hash >> 16;
        }
    }
    for (i = 0; i < ctx->n_nodes; i++) {
        homes[i].node = i;
    }
    qsort(homes, ctx->n_nodes, sizeof(*homes), compare_homes);
    while (n < ctx->n_nodes && homes[n].room) {
        n++;
    }
    return MIN(n, MAX(HOMES_WORK_MAX / work, 1));
}

/* True if some group may go anywhere, so that the home matters. */
static bool has_unbound(const Search *s)
{
    int g;

    for (g = 0; g < s->ctx->n_groups; g++) {
        if (s->ctx->groups[g].n_vcpus && s->ctx->groups[g].row < 0) {
            return true;
        }
    }
    return false;
}

/* The best assignment of @stage over all homes. */
static Assignment *best_of_stage(Search *s, Stage stage)
{
    g_autofree Home *homes = g_new(Home, s->ctx->n_nodes);
    bool mixed = s->n_fitting && s->n_oversize;
    int n = has_unbound(s) ? list_homes(s, homes) : 1;
    Assignment *best = NULL;
    int i;

    if (!has_unbound(s)) {
        homes[0].node = 0;
    }
    for (i = 0; i < (mixed ? 2 : 1) * n; i++) {
        Assignment *a = run_stage(s, stage, homes[i % n].node, i >= n);

        if (!best || placement_cost_less(&a->cost, &best->cost)) {
            placement_assignment_free(best);
            best = a;
        } else {
            placement_assignment_free(a);
        }
    }
    return best;
}

static void search_init(Search *s, PlacementCtx *ctx)
{
    int i;

    memset(s, 0, sizeof(*s));
    s->ctx = ctx;
    s->fitting = g_new(int, MAX(ctx->n_groups, 1));
    s->oversize = g_new(int, MAX(ctx->n_groups, 1));
    s->llcs = g_new(int, MAX(ctx->n_rooms, 1));
    placement_needs_classify(ctx);
    for (i = 0; i < ctx->n_groups; i++) {
        if (!ctx->groups[i].n_vcpus) {
            continue;
        }
        if (ctx->groups[i].n_oversize) {
            s->oversize[s->n_oversize++] = i;
        } else {
            s->fitting[s->n_fitting++] = i;
        }
    }
    for (i = 0; i < ctx->n_rooms; i++) {
        s->n_usable += ctx->rooms[i].usable;
    }
}

static void search_clear(Search *s)
{
    g_free(s->fitting);
    g_free(s->oversize);
    g_free(s->llcs);
}

static bool is_complete(const Assignment *a)
{
    return a && a->cost.part[COST_UNPLACED] == 0;
}

/*
 * Search among the usable LLCs.  With @partial, groups that cannot be taken
 * stay unplaced; with @must, something is found whatever it costs; else NULL
 * means that these LLCs cannot take the guest.
 */
static Assignment *search(PlacementCtx *ctx, bool partial, bool must)
{
    Assignment *a = NULL;
    Stage stage;
    Search s;

    search_init(&s, ctx);
    for (stage = STAGE_APART; stage <= STAGE_SPLIT && !is_complete(a);
         stage++) {
        bool too_many = s.n_fitting + s.n_oversize > s.n_usable;

        if (too_many && stage != STAGE_FOLD && !partial) {
            continue;
        }
        placement_assignment_free(a);
        a = best_of_stage(&s, stage);
    }
    if (!is_complete(a) && !partial) {
        placement_assignment_free(a);
        a = must ? best_of_stage(&s, STAGE_OVERFILL) : NULL;
    }
    search_clear(&s);
    return a;
}

static bool in_memory_nodes(const PlacementCtx *ctx, int llc)
{
    const HostTopology *host = ctx->in->host;
    int node = ctx->rooms[llc].node;

    return node < host->n_nodes &&
           host_cpuset_has(ctx->in->memory_nodes, host->nodes[node].id);
}

/* Mark the open LLCs, only those near the memory if so asked; how many. */
static int open_rooms(PlacementCtx *ctx, bool near_memory, bool *ret_closed)
{
    int l, n = 0;

    *ret_closed = false;
    for (l = 0; l < ctx->n_rooms; l++) {
        PlacementRoom *room = &ctx->rooms[l];

        *ret_closed |= room->cpus && room->closed;
        room->usable = room->cpus && !room->closed &&
                       (!near_memory || in_memory_nodes(ctx, l));
        n += room->usable;
    }
    return n;
}

/* NULL: every LLC is closed. */
Assignment *placement_assign(PlacementCtx *ctx)
{
    Assignment *a = NULL;
    bool closed;

    if (ctx->in->memory_nodes && open_rooms(ctx, true, &closed) > 0) {
        a = search(ctx, false, false);
    }
    if (!a && open_rooms(ctx, false, &closed) > 0) {
        a = search(ctx, closed, true);
    }
    return a;
}
