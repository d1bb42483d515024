/*
 * Which LLCs each guest group gets: the search through stages and homes
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
#include "placement-stages.h"

/*
 * Groups times LLCs times homes, about 10 ns each: some ms.  For a large group
 * LLCs are gone through once for each center, see placement-set.c, and nodes
 * are compared with each other.
 */
#define HOMES_WORK_MAX 500000
#define LARGE_GROUP_WORK 16
#define LARGE_GROUP_WORK_UNEQUAL 64

/* Folding goes through groups and LLCs for up to 32 limits in 4 ways. */
#define FOLD_WORK 128

/* Groups that are split though they would fit, where others are folded. */
#define FORCED_MAX 4

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
static int list_homes(const Search *s, bool folds, Home *homes)
{
    const PlacementCtx *ctx = s->ctx;
    int large = s->n_oversize * (ctx->unequal ? LARGE_GROUP_WORK_UNEQUAL :
                                 LARGE_GROUP_WORK);
    int64_t work = (int64_t)MAX(s->n_fitting + large, 1) * ctx->n_with_cpus +
                   (int64_t)s->n_oversize * ctx->n_nodes * ctx->n_nodes;
    int64_t fold_work = (int64_t)FOLD_WORK * (ctx->n_groups + ctx->n_rooms);
    int i, n = 0;

    work = folds ? MAX(work, fold_work) : work;
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

/* The best assignment of @stage over all homes and ways. */
static Assignment *best_of_stage(Search *s, Stage stage)
{
    g_autofree Home *homes = g_new(Home, s->ctx->n_nodes);
    bool folds = stage == STAGE_FOLD || stage == STAGE_OVERFILL;
    int n = list_homes(s, folds, homes);
    Assignment *best = NULL;
    int i, way;

    if (!has_unbound(s) && !folds) {
        n = 1;
    }
    for (i = 0; i < n; i++) {
        for (way = 0; way < 8; way++) {
            Try t = { .home = homes[i].node, .small_first = way & 1,
                      .tight = way & 2, .apart = !(way & 4) };
            Assignment *a;

            if ((t.small_first && (!s->n_fitting || !s->n_oversize)) ||
                (t.tight && !s->ctx->unequal) || (!t.apart && !folds)) {
                continue;
            }
            a = placement_run_stage(s, stage, &t);
            if (!best || placement_cost_less(&a->cost, &best->cost)) {
                placement_assignment_free(best);
                best = a;
            } else {
                placement_assignment_free(a);
            }
        }
    }
    placement_polish(s->ctx, best);
    return best;
}

static bool is_complete(const Assignment *a)
{
    return a && a->cost.part[COST_UNPLACED] == 0;
}

/* The cheaper of two, either of which may be NULL; the other is freed. */
static Assignment *cheaper(Assignment *a, Assignment *b)
{
    if (!a || (b && placement_cost_less(&b->cost, &a->cost))) {
        placement_assignment_free(a);
        return b;
    }
    placement_assignment_free(b);
    return a;
}

/*
 * Neither folding nor splitting alone does: split as few as can be, the last
 * ones, and fold the rest.  Of STAGE_OVERFILL, the best of these.
 */
static Assignment *split_and_fold(PlacementCtx *ctx, Stage stage)
{
    Assignment *a = NULL;
    Search s;

    placement_search_init(&s, ctx);
    while (s.n_fitting && s.n_forced < FORCED_MAX &&
           (stage == STAGE_OVERFILL || !is_complete(a))) {
        placement_search_force_large(&s, s.n_fitting - 1);
        a = cheaper(a, best_of_stage(&s, stage));
    }
    placement_search_clear(&s);
    return a;
}

/* Each group, large or not, on one LLC: the shortage is small or even. */
static Assignment *fold_all(PlacementCtx *ctx)
{
    Assignment *a;
    Search s;
    int g;

    placement_search_init(&s, ctx);
    s.n_fitting = s.n_oversize = 0;
    for (g = 0; g < ctx->n_groups; g++) {
        if (ctx->groups[g].n_vcpus) {
            s.fitting[s.n_fitting++] = g;
        }
    }
    a = best_of_stage(&s, STAGE_OVERFILL);
    placement_search_clear(&s);
    return a;
}

static Assignment *overfill(Search *s)
{
    Assignment *a = best_of_stage(s, STAGE_OVERFILL);

    a = cheaper(a, split_and_fold(s->ctx, STAGE_OVERFILL));
    return s->n_oversize ? cheaper(a, fold_all(s->ctx)) : a;
}

static Assignment *try_stages(Search *s, bool partial)
{
    bool too_many = s->n_fitting + s->n_oversize > s->n_usable;
    Assignment *a = NULL;
    Stage stage;

    for (stage = STAGE_APART; stage <= STAGE_SPLIT && !is_complete(a);
         stage++) {
        if (too_many && stage != STAGE_FOLD && !partial) {
            continue;
        }
        placement_assignment_free(a);
        a = best_of_stage(s, stage);
    }
    return a;
}

/*
 * The assignment of the previous plan; what it does not place, or not any
 * more, costs.  NULL: there is none.
 */
static Assignment *recall(const PlacementCtx *ctx)
{
    const Plan *previous = ctx->in->previous;
    g_autofree bool *is_left = g_new0(bool, MAX(ctx->n_groups, 1));
    g_autofree bool *in_use = g_new0(bool, MAX(ctx->n_groups, 1));
    Assignment *a;
    int i;

    if (!previous || previous->n_groups != ctx->n_groups) {
        return NULL;
    }
    a = placement_assignment_new(ctx);
    for (i = 0; i < ctx->n_rooms; i++) {
        if (ctx->rooms[i].usable && previous->llcs[i].run >= 0) {
            is_left[previous->llcs[i].run] = true;
        }
    }
    for (i = 0; i < ctx->n_groups; i++) {
        int run = ctx->groups[i].n_vcpus ? previous->run_of[i] : -1;

        if (run >= 0 && is_left[run]) {
            a->run_of[i] = run;
            in_use[run] = true;
        }
    }
    for (i = 0; i < ctx->n_rooms; i++) {
        int run = previous->llcs[i].run;

        if (run >= 0 && in_use[run] && ctx->rooms[i].usable) {
            a->owner[i] = run;
        }
    }
    placement_evaluate(ctx, previous->home, a);
    return a;
}

/*
 * Search among the usable LLCs.  With @partial, groups that cannot be taken
 * stay unplaced; with @must, something is found whatever it costs; else NULL
 * means that these LLCs cannot take the guest.
 */
static Assignment *search(PlacementCtx *ctx, bool partial, bool must)
{
    Assignment *a;
    Search s;

    placement_search_init(&s, ctx);
    a = try_stages(&s, partial);
    if (!is_complete(a)) {
        a = cheaper(a, split_and_fold(ctx, STAGE_FOLD));
    }
    if (!is_complete(a) && !partial) {
        placement_assignment_free(a);
        a = must ? overfill(&s) : NULL;
    }
    placement_search_clear(&s);
    return a;
}

/* The better one; @b if only what breaks ties tells them apart. */
static Assignment *better(Assignment *a, Assignment *b)
{
    if (b && placement_cost_better(&a->cost, &b->cost)) {
        placement_assignment_free(b);
        b = NULL;
    } else if (b) {
        placement_assignment_free(a);
    }
    return b ? b : a;
}

/*
 * What was before stays unless a search that knows nothing of it finds better.
 * Only then one that keeps moves few is tried as well.  So no plan is worse
 * than a fresh one, and planning again with nothing changed moves nothing.
 */
static Assignment *search_or_keep(PlacementCtx *ctx, bool partial, bool must)
{
    Assignment *fresh, *was;

    placement_needs_recall(ctx, NULL);
    fresh = search(ctx, partial, must);
    was = fresh ? recall(ctx) : NULL;
    if (!was) {
        return fresh;
    }
    if (!placement_cost_better(&fresh->cost, &was->cost)) {
        placement_assignment_free(fresh);
        return was;
    }
    placement_assignment_free(was);
    placement_needs_recall(ctx, ctx->in->previous);
    return better(fresh, search(ctx, partial, must));
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

/* One LLC to choose from: no choice, so no guard. */
static Assignment *only_llc(PlacementCtx *ctx)
{
    Assignment *a = placement_assignment_new(ctx);
    int i;

    for (i = 0; i < ctx->n_groups; i++) {
        a->run_of[i] = ctx->groups[i].n_vcpus ? 0 : -1;
    }
    a->owner[ctx->by_room[0]] = 0;
    return a;
}

/* NULL: every LLC is closed. */
Assignment *placement_assign(PlacementCtx *ctx)
{
    Assignment *a = NULL;
    bool closed;

    if (ctx->n_with_cpus == 1) {
        return only_llc(ctx);
    }
    if (ctx->in->memory_nodes && open_rooms(ctx, true, &closed) > 0) {
        a = search_or_keep(ctx, false, false);
    }
    if (!a && open_rooms(ctx, false, &closed) > 0) {
        a = search_or_keep(ctx, closed, true);
    }
    return a;
}
