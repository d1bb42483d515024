/*
 * The cost of a whole assignment, and small changes that lower it
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <string.h>
#include "placement-internal.h"

/* Trials times LLCs plus groups, about 10 ns each: a pass within 1 ms. */
#define POLISH_STEPS_MAX 100000

/* Every pass that goes on has lowered the cost; few ever do. */
#define POLISH_PASSES_MAX 8

/* Scratch for evaluating: runs, and the LLCs of each one after the other. */
typedef struct Runs {
    PlacementNeed *need;
    int *start;
    int *llcs;
} Runs;

static void runs_init(const PlacementCtx *ctx, Runs *r)
{
    r->need = g_new(PlacementNeed, ctx->n_groups + 1);
    r->start = g_new(int, ctx->n_groups + 2);
    r->llcs = g_new(int, MAX(ctx->n_rooms, 1));
}

static void runs_clear(Runs *r)
{
    g_free(r->need);
    g_free(r->start);
    g_free(r->llcs);
}

static int run_length(const Runs *r, int run)
{
    return r->start[run + 1] - r->start[run];
}

/* Sort the LLCs by run (counting sort) and sum up the groups of each run. */
static void collect(const PlacementCtx *ctx, const Assignment *a, Runs *r)
{
    int i, sum = 0;

    memset(r->need, 0, (ctx->n_groups + 1) * sizeof(*r->need));
    memset(r->start, 0, (ctx->n_groups + 2) * sizeof(*r->start));
    for (i = 0; i < ctx->n_rooms; i++) {
        if (a->owner[i] >= 0) {
            r->start[a->owner[i] + 1]++;
        }
    }
    for (i = 0; i <= ctx->n_groups; i++) {
        sum += r->start[i];
        r->start[i] = sum;
    }
    /* Filling moves each start on to its end, which is the next start. */
    for (i = 0; i < ctx->n_rooms; i++) {
        if (a->owner[i] >= 0) {
            r->llcs[r->start[a->owner[i]]++] = i;
        }
    }
    for (i = ctx->n_groups + 1; i > 0; i--) {
        r->start[i] = r->start[i - 1];
    }
    r->start[0] = 0;
    for (i = 0; i < ctx->n_groups; i++) {
        if (a->run_of[i] >= 0) {
            placement_need_add(&r->need[a->run_of[i]], &ctx->groups[i]);
        }
    }
}

/* Folded groups may belong to different places: each has its own way. */
static int64_t folded_distance(const PlacementCtx *ctx, const Assignment *a,
                               const Runs *r)
{
    int64_t sum = 0;
    int i;

    for (i = 0; i < ctx->n_groups; i++) {
        int run = a->run_of[i];

        if (run >= 0 && r->need[run].n_groups > 1) {
            sum += placement_distance(ctx, &ctx->groups[i],
                                      &r->llcs[r->start[run]],
                                      run_length(r, run), a->home);
        }
    }
    return sum;
}

static PlacementCost total_cost(const PlacementCtx *ctx, const Assignment *a,
                                Runs *r)
{
    PlacementCost sum = { { 0 } };
    int i;

    collect(ctx, a, r);
    for (i = 0; i < ctx->n_groups; i++) {
        if (a->run_of[i] < 0 && ctx->groups[i].n_vcpus) {
            sum.part[COST_UNPLACED]++;
        }
        if (r->need[i].n_groups) {
            PlacementCost cost =
                placement_set_cost(ctx, &r->need[i], &r->llcs[r->start[i]],
                                   run_length(r, i), a->home);

            if (r->need[i].n_groups > 1) {
                cost.part[COST_DISTANCE] = 0;
            }
            placement_cost_add(&sum, &cost);
        }
    }
    sum.part[COST_DISTANCE] += folded_distance(ctx, a, r);
    return sum;
}

/* Sets the home of @a and its cost there. */
void placement_evaluate(const PlacementCtx *ctx, int home, Assignment *a)
{
    Runs r;

    a->home = home;
    runs_init(ctx, &r);
    a->cost = total_cost(ctx, a, &r);
    runs_clear(&r);
}

static bool keep_if_less(const PlacementCtx *ctx, Assignment *a, Runs *r)
{
    PlacementCost cost = total_cost(ctx, a, r);

    if (placement_cost_less(&cost, &a->cost)) {
        a->cost = cost;
        return true;
    }
    return false;
}

/* Two runs exchange an LLC, or one changes it for a free one. */
static bool try_swaps(const PlacementCtx *ctx, Assignment *a, Runs *r)
{
    bool better = false;
    int i, j;

    for (i = 0; i < ctx->n_rooms; i++) {
        for (j = 0; j < i; j++) {
            int owner_i = a->owner[i], owner_j = a->owner[j];

            if (owner_i == owner_j || !ctx->rooms[i].usable ||
                !ctx->rooms[j].usable) {
                continue;
            }
            a->owner[i] = owner_j;
            a->owner[j] = owner_i;
            if (keep_if_less(ctx, a, r)) {
                better = true;
            } else {
                a->owner[i] = owner_i;
                a->owner[j] = owner_j;
            }
        }
    }
    return better;
}

/* Groups that fit an LLC share only single ones: no run splits them. */
static bool may_join(const PlacementCtx *ctx, const Runs *r, int group, int run)
{
    bool large = ctx->groups[group].n_oversize &&
                 r->need[run].n_oversize == r->need[run].n_groups;

    return run_length(r, run) == 1 || large;
}

/* The next group in the direction @step that is placed; -1: none. */
static int neighbor(const PlacementCtx *ctx, const Assignment *a, int group,
                    int step)
{
    bool large = ctx->groups[group].n_oversize;
    int g;

    for (g = group + step; g >= 0 && g < ctx->n_groups; g += step) {
        if (a->run_of[g] >= 0 && ctx->groups[g].n_oversize == large) {
            return g;
        }
    }
    return -1;
}

/* The group at the end of a run goes over to the neighboring run. */
static bool try_cuts(const PlacementCtx *ctx, Assignment *a, Runs *r)
{
    bool better = false;
    int g, step;

    for (g = 0; g < ctx->n_groups; g++) {
        for (step = -1; step <= 1; step += 2) {
            int other, run = a->run_of[g];

            other = run < 0 ? -1 : neighbor(ctx, a, g, step);
            if (other < 0 || a->run_of[other] == run) {
                continue;
            }
            collect(ctx, a, r);
            if (r->need[run].n_groups < 2 ||
                !may_join(ctx, r, g, a->run_of[other])) {
                continue;
            }
            a->run_of[g] = a->run_of[other];
            if (keep_if_less(ctx, a, r)) {
                better = true;
            } else {
                a->run_of[g] = run;
            }
        }
    }
    return better;
}

/*
 * Lower the cost of @a by single steps until none helps.  What the stages
 * build one group after the other may be improved where groups differ; large
 * cases are left as they are.
 */
void placement_polish(const PlacementCtx *ctx, Assignment *a)
{
    int64_t trials = (int64_t)ctx->n_rooms * ctx->n_rooms / 2 + ctx->n_groups;
    bool better = true;
    int pass;
    Runs r;

    if (trials * (ctx->n_rooms + ctx->n_groups) > POLISH_STEPS_MAX) {
        return;
    }
    runs_init(ctx, &r);
    for (pass = 0; better && pass < POLISH_PASSES_MAX; pass++) {
        better = try_swaps(ctx, a, &r);
        better |= try_cuts(ctx, a, &r);
    }
    runs_clear(&r);
}
