/*
 * The stages: ways to give guest groups disjoint sets of LLCs
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <string.h>
#include "placement-stages.h"

void placement_search_init(Search *s, PlacementCtx *ctx)
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

void placement_search_clear(Search *s)
{
    g_free(s->fitting);
    g_free(s->oversize);
    g_free(s->llcs);
}

void placement_search_force_large(Search *s, int i)
{
    int g = s->fitting[i], j = s->n_oversize++;

    memmove(&s->fitting[i], &s->fitting[i + 1],
            (--s->n_fitting - i) * sizeof(int));
    while (j > 0 && s->oversize[j - 1] > g) {
        s->oversize[j] = s->oversize[j - 1];
        j--;
    }
    s->oversize[j] = g;
    s->n_forced++;
}

static void assignment_reset(const PlacementCtx *ctx, Assignment *a)
{
    memset(a->run_of, -1, ctx->n_groups * sizeof(int));
    memset(a->owner, -1, ctx->n_rooms * sizeof(int));
}

Assignment *placement_assignment_new(const PlacementCtx *ctx)
{
    Assignment *a = g_new0(Assignment, 1);

    a->run_of = g_new(int, MAX(ctx->n_groups, 1));
    a->owner = g_new(int, MAX(ctx->n_rooms, 1));
    assignment_reset(ctx, a);
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

/* A set of its own for run @run.  False, and nothing done, if none is left. */
static bool take_set(Search *s, const PlacementNeed *need, int run,
                     const Try *t, Assignment *a)
{
    int i, n = placement_choose_set(s->ctx, need, t->home, t->tight, a->owner,
                                    s->llcs);

    for (i = 0; i < n; i++) {
        a->owner[s->llcs[i]] = run;
    }
    return n > 0;
}

/* Each of @groups a set of its own; those already placed are passed over. */
static void take_sets(Search *s, const int *groups, int n, const Try *t,
                      Assignment *a)
{
    int i;

    for (i = 0; i < n; i++) {
        int g = groups[i];

        if (a->run_of[g] < 0 && take_set(s, &s->ctx->groups[g], g, t, a)) {
            a->run_of[g] = g;
        }
    }
}

static void stage_apart(Search *s, const Try *t, bool split, Assignment *a)
{
    if (t->small_first) {
        placement_match(s->ctx, s->fitting, s->n_fitting, t->home, a);
    }
    take_sets(s, s->oversize, s->n_oversize, t, a);
    if (!t->small_first) {
        placement_match(s->ctx, s->fitting, s->n_fitting, t->home, a);
    }
    if (split) {
        take_sets(s, s->fitting, s->n_fitting, t, a);
    }
}

/* The large groups as @n_runs runs with a set of LLCs each. */
static bool place_large(Search *s, const Try *t, int n_runs, Assignment *a)
{
    g_autofree PlacementNeed *runs = g_new0(PlacementNeed, n_runs + 1);
    int i;

    if (s->n_oversize) {
        placement_fold_balanced(s->ctx, s->oversize, s->n_oversize, n_runs, a);
    }
    for (i = 0; i < s->n_oversize; i++) {
        int g = s->oversize[i];

        placement_need_add(&runs[a->run_of[g]], &s->ctx->groups[g]);
    }
    for (i = 0; i < n_runs; i++) {
        if (runs[i].n_groups && !take_set(s, &runs[i], i, t, a)) {
            return false;
        }
    }
    return true;
}

static bool fold_small(Search *s, const Try *t, int first_run, unsigned limit,
                       Assignment *a)
{
    return placement_fold_onto(s->ctx, s->fitting, s->n_fitting, t->home,
                               t->apart, t->tight, limit, first_run, a);
}

static bool try_fold(Search *s, const Try *t, int n_runs, unsigned limit,
                     Assignment *a)
{
    assignment_reset(s->ctx, a);
    if (t->small_first) {
        return fold_small(s, t, n_runs, limit, a) &&
               place_large(s, t, n_runs, a);
    }
    return place_large(s, t, n_runs, a) && fold_small(s, t, n_runs, limit, a);
}

/*
 * As many runs of large groups as can be had: bisection.  Not if some of them
 * are large only because nothing is left for them: these share with nobody.
 */
static bool stage_fold(Search *s, const Try *t, unsigned limit, Assignment *a)
{
    int low = 0, high = s->n_oversize;

    if (try_fold(s, t, high, limit, a)) {
        return true;
    }
    while (low + 1 < high && !s->n_forced) {
        int middle = low + (high - low) / 2;

        if (try_fold(s, t, middle, limit, a)) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low && try_fold(s, t, low, limit, a);
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

/* Everything on everything: there is not even one LLC for each size. */
static void all_on_all(Search *s, Assignment *a)
{
    int i;

    for (i = 0; i < s->ctx->n_groups; i++) {
        a->run_of[i] = s->ctx->groups[i].n_vcpus ? 0 : -1;
    }
    for (i = 0; i < s->ctx->n_rooms; i++) {
        a->owner[i] = s->ctx->rooms[i].usable ? 0 : -1;
    }
}

/* No bound on how full an LLC gets but that of the arithmetic. */
static void stage_overfill(Search *s, const Try *t, Assignment *a)
{
    unsigned limit = G_MAXUINT;
    int first_run = 0;

    if (stage_fold(s, t, limit, a)) {
        return;
    }
    assignment_reset(s->ctx, a);
    if (s->n_forced) {
        return;
    }
    if (s->n_oversize && s->n_usable > 1) {
        share_out(s, t->home, a);
        first_run = 1;
    }
    if ((s->n_oversize && !first_run) ||
        !fold_small(s, t, first_run, limit, a)) {
        all_on_all(s, a);
    }
}

Assignment *placement_run_stage(Search *s, Stage stage, const Try *t)
{
    Assignment *a = placement_assignment_new(s->ctx);

    switch (stage) {
    case STAGE_APART:
    case STAGE_SPLIT:
        stage_apart(s, t, stage == STAGE_SPLIT, a);
        break;
    case STAGE_FOLD:
        if (!stage_fold(s, t, 1000, a)) {
            assignment_reset(s->ctx, a);
        }
        break;
    case STAGE_OVERFILL:
        stage_overfill(s, t, a);
        break;
    }
    placement_evaluate(s->ctx, t->home, a);
    return a;
}
