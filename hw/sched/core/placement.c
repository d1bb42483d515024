/*
 * Which host CPUs each vCPU should run on: the plan as a whole
 *
 * docs/devel/placement.rst states the rules.  The steps: rooms (what each
 * host LLC has), needs (what each guest LLC asks for), assignment (which LLCs
 * each gets), width (one core or CPU each, if asked), verdict.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <string.h>
#include "placement-internal.h"

/* LLC sets per run, as masks and in numbers. */
typedef struct RunSet {
    HostCpuSet mask;
    int n_llcs, n_groups;
    int first_llc;
    int node;               /* of the first */
    bool one_node;
    uint64_t room;
} RunSet;

static RunSet *collect_runs(const PlacementCtx *ctx, const Assignment *a)
{
    RunSet *runs = g_new0(RunSet, ctx->n_groups + 1);
    int i;

    for (i = 0; i < ctx->n_rooms; i++) {
        const PlacementRoom *room = &ctx->rooms[i];
        RunSet *run;

        if (a->owner[i] < 0) {
            continue;
        }
        run = &runs[a->owner[i]];
        if (run->n_llcs++ == 0) {
            run->first_llc = i;
            run->node = room->node;
            run->one_node = true;
        }
        run->one_node &= run->node == room->node;
        run->room += room->room;
        host_cpuset_or(&run->mask, &room->mask);
    }
    for (i = 0; i < ctx->n_groups; i++) {
        if (a->run_of[i] >= 0) {
            runs[a->run_of[i]].n_groups++;
        }
    }
    return runs;
}

static PlacementReason reason_of(const PlacementCtx *ctx, const RunSet *run)
{
    if (ctx->n_with_cpus == 1) {
        return PLACEMENT_ONLY_LLC;
    } else if (run->n_groups > 1) {
        return PLACEMENT_FOLDED;
    } else if (run->n_llcs == 1) {
        return PLACEMENT_FITS;
    }
    return run->one_node ? PLACEMENT_SPLIT_NODE : PLACEMENT_SPLIT_NODES;
}

/* Everything goes everywhere: one candidate LLC, or none that is open. */
static RunSet all_candidates(const PlacementCtx *ctx)
{
    RunSet all = { .mask = *ctx->in->candidates, .first_llc = -1 };
    int i;

    for (i = 0; i < ctx->n_rooms; i++) {
        if (ctx->rooms[i].cpus) {
            all.first_llc = all.first_llc < 0 ? i : all.first_llc;
            all.n_llcs++;
            all.room += ctx->rooms[i].room;
        }
    }
    return all;
}

/* Per vCPU: no other thread of its guest core is present. */
static bool *find_single_threads(const PlacementInput *in)
{
    g_autofree int *count = g_new0(int, MAX(in->guest->n_cores, 1));
    bool *single = g_new0(bool, in->guest->n_vcpus);
    int v;

    for (v = 0; v < in->guest->n_vcpus; v++) {
        count[in->guest->vcpus[v].core] += in->guest->vcpus[v].present;
    }
    for (v = 0; v < in->guest->n_vcpus; v++) {
        single[v] = count[in->guest->vcpus[v].core] == 1;
    }
    return single;
}

/* Charge one LLC with what @need puts on it and on others like it. */
static void charge(PlacementCtx *ctx, const PlacementNeed *need, int llc,
                   uint64_t room_of_set)
{
    LlcPlan *llc_plan = &ctx->plan->llcs[llc];

    llc_plan->demand += (uint64_t)need->demand * ctx->rooms[llc].room /
                        MAX(room_of_set, 1);
}

static void charge_all(PlacementCtx *ctx, const Assignment *a,
                       const RunSet *runs, const RunSet *all)
{
    g_autofree uint64_t *demand = g_new0(uint64_t, ctx->n_groups + 1);
    PlacementNeed rest = { 0 };
    int i;

    for (i = 0; i < ctx->n_groups; i++) {
        if (a && a->run_of[i] >= 0) {
            demand[a->run_of[i]] += ctx->groups[i].demand;
        } else {
            rest.demand += ctx->groups[i].demand;
        }
    }
    for (i = 0; i < ctx->n_rooms; i++) {
        ctx->plan->llcs[i].demand += ctx->rooms[i].foreign;
        if (a && a->owner[i] >= 0) {
            PlacementNeed need = { .demand = demand[a->owner[i]] };

            charge(ctx, &need, i, runs[a->owner[i]].room);
        }
        if (rest.demand && ctx->rooms[i].cpus) {
            charge(ctx, &rest, i, all->room);
        }
    }
}

static void plan_vcpu(PlacementCtx *ctx, int v, const RunSet *set,
                      PlacementReason reason)
{
    VcpuPlan *plan = &ctx->plan->vcpus[v];

    plan->mask = set->mask;
    plan->reason = reason;
    plan->host_llc = set->first_llc;
    plan->n_llcs = set->n_llcs;
    plan->llc_aligned = set->n_llcs == 1;
}

static void plan_vcpus(PlacementCtx *ctx, const Assignment *a,
                       const RunSet *runs, const RunSet *all)
{
    const PlacementInput *in = ctx->in;
    g_autofree bool *single = find_single_threads(in);
    int v;

    for (v = 0; v < in->guest->n_vcpus; v++) {
        VcpuPlan *plan = &ctx->plan->vcpus[v];
        int run = a ? a->run_of[in->guest->vcpus[v].llc] : -1;

        plan->host_core = -1;
        plan->host_llc = -1;
        if (!in->guest->vcpus[v].present) {
            plan->reason = PLACEMENT_ABSENT;
            continue;
        }
        plan->smt_aligned = single[v];
        if (!placement_vcpu_is_ours(in, v)) {
            placement_foreign_plan(ctx, v);
        } else if (run >= 0) {
            plan_vcpu(ctx, v, &runs[run], reason_of(ctx, &runs[run]));
        } else {
            plan_vcpu(ctx, v, all, PLACEMENT_GUARDED);
        }
    }
}

/* Foreign vCPUs were counted with their masks. */
static void count_vcpus(PlacementCtx *ctx, const Assignment *a)
{
    const PlacementInput *in = ctx->in;
    g_autofree unsigned *of_run = g_new0(unsigned, MAX(ctx->n_groups, 1));
    unsigned everywhere = 0;
    int v, l;

    for (v = 0; v < in->guest->n_vcpus; v++) {
        const VcpuPlan *plan = &ctx->plan->vcpus[v];

        if (!placement_vcpu_is_ours(in, v)) {
            continue;
        }
        if (plan->n_llcs == 1) {
            ctx->plan->llcs[plan->host_llc].vcpus++;
        } else if (plan->reason == PLACEMENT_GUARDED) {
            everywhere++;
        } else {
            of_run[a->run_of[in->guest->vcpus[v].llc]]++;
        }
    }
    for (l = 0; l < ctx->n_rooms; l++) {
        LlcPlan *llc = &ctx->plan->llcs[l];

        llc->vcpus += ctx->rooms[l].cpus ? everywhere : 0;
        llc->vcpus += a && a->owner[l] >= 0 ? of_run[a->owner[l]] : 0;
    }
}

/* The first of these that holds: what hurts most comes first. */
static PlacementVerdict verdict_of(const PlacementCtx *ctx)
{
    static const struct {
        PlacementReason reason;
        PlacementVerdict verdict;
    } by_reason[] = {
        { PLACEMENT_SPLIT_NODES, PLACEMENT_VERDICT_SPLIT },
        { PLACEMENT_SPLIT_NODE, PLACEMENT_VERDICT_SPLIT },
        { PLACEMENT_FOLDED, PLACEMENT_VERDICT_FOLDED },
    };
    unsigned count[PLACEMENT_REASON_MAX] = { 0 };
    int v;
    gsize i;

    for (v = 0; v < ctx->plan->n_vcpus; v++) {
        count[ctx->plan->vcpus[v].reason]++;
    }
    if (count[PLACEMENT_FOREIGN] && count[PLACEMENT_FOREIGN] +
        count[PLACEMENT_ABSENT] == (unsigned)ctx->plan->n_vcpus) {
        return PLACEMENT_VERDICT_FOREIGN;
    }
    if (count[PLACEMENT_GUARDED]) {
        return PLACEMENT_VERDICT_GUARDED;
    }
    if (ctx->overcommitted) {
        return PLACEMENT_VERDICT_OVERCOMMITTED;
    }
    if (ctx->n_with_cpus == 1) {
        return PLACEMENT_VERDICT_SINGLE;
    }
    for (i = 0; i < G_N_ELEMENTS(by_reason); i++) {
        if (count[by_reason[i].reason]) {
            return by_reason[i].verdict;
        }
    }
    return PLACEMENT_VERDICT_MATCHED;
}

static void check_input(const PlacementInput *in)
{
    g_assert(in->host && in->guest && in->candidates);
    g_assert(!host_cpuset_empty(in->candidates));
    g_assert(!in->previous || in->previous->n_vcpus == in->guest->n_vcpus);
    g_assert(!in->previous || in->previous->n_llcs == in->host->n_llcs);
}

static Plan *plan_new(const PlacementInput *in)
{
    Plan *plan = g_new0(Plan, 1);

    plan->n_vcpus = in->guest->n_vcpus;
    plan->n_llcs = in->host->n_llcs;
    plan->vcpus = g_new0(VcpuPlan, plan->n_vcpus);
    plan->llcs = g_new0(LlcPlan, MAX(plan->n_llcs, 1));
    plan->candidates = *in->candidates;
    plan->width = in->uses_isolated ? PLACEMENT_WIDTH_CPU : in->width;
    plan->width_forced = plan->width != in->width;
    return plan;
}

/* What the next plan is told of this one. */
static void keep_for_next(PlacementCtx *ctx, const Assignment *a)
{
    Plan *plan = ctx->plan;
    int i;

    plan->n_groups = ctx->n_groups;
    plan->run_of = g_new(int, MAX(ctx->n_groups, 1));
    plan->home = a ? a->home : 0;
    for (i = 0; i < ctx->n_groups; i++) {
        plan->run_of[i] = a ? a->run_of[i] : -1;
    }
    for (i = 0; i < ctx->n_rooms; i++) {
        plan->llcs[i].run = a ? a->owner[i] : -1;
    }
}

static void ctx_clear(PlacementCtx *ctx)
{
    placement_foreign_free(ctx);
    g_free(ctx->groups);
    g_free(ctx->rooms);
    g_free(ctx->reach);
    g_free(ctx->order);
    g_free(ctx->by_room);
}

Plan *placement_plan(const PlacementInput *in)
{
    PlacementCtx ctx = { .in = in };
    g_autoptr(Assignment) a = NULL;
    g_autofree RunSet *runs = NULL;
    RunSet all;

    check_input(in);
    ctx.plan = plan_new(in);
    placement_rooms_init(&ctx);
    placement_foreign_init(&ctx);
    placement_needs_init(&ctx);
    placement_rooms_scale(&ctx);
    placement_order_init(&ctx);
    all = all_candidates(&ctx);
    a = placement_assign(&ctx);
    keep_for_next(&ctx, a);
    if (a) {
        runs = collect_runs(&ctx, a);
        ctx.overcommitted |= a->cost.part[COST_OVERFULL] > 0;
    }
    plan_vcpus(&ctx, a, runs, &all);
    charge_all(&ctx, a, runs, &all);
    if (ctx.plan->width != PLACEMENT_WIDTH_LLC) {
        placement_narrow(&ctx);
    }
    count_vcpus(&ctx, a);
    ctx.plan->verdict = verdict_of(&ctx);
    ctx_clear(&ctx);
    return ctx.plan;
}

void placement_plan_free(Plan *plan)
{
    if (plan) {
        g_free(plan->vcpus);
        g_free(plan->llcs);
        g_free(plan->run_of);
        g_free(plan);
    }
}

bool placement_plan_same_masks(const Plan *a, const Plan *b)
{
    int v;

    if (a->n_vcpus != b->n_vcpus) {
        return false;
    }
    for (v = 0; v < a->n_vcpus; v++) {
        if (!host_cpuset_equal(&a->vcpus[v].mask, &b->vcpus[v].mask)) {
            return false;
        }
    }
    return true;
}
