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

/* Groups that are split though they would fit, where others are folded. */
#define FORCED_MAX 4

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
    int n_forced; /* of oversize: would fit an LLC, but none is left */
    int *llcs;    /* scratch: one set */
} Search;

/*
 * One way to run a stage.  Where LLCs are unequal, or groups are bound to
 * different places, what is best cannot be known before: all are tried.
 */
typedef struct Try {
    int home;
    bool small_first;   /* small groups choose before large ones */
    bool tight;         /* sets of small LLCs, folds onto large ones */
    bool apart;         /* groups bound elsewhere do not share an LLC */
} Try;

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

static void assignment_reset(const PlacementCtx *ctx, Assignment *a)
{
    memset(a->run_of, -1, ctx->n_groups * sizeof(int));
    memset(a->owner, -1, ctx->n_rooms * sizeof(int));
}

static void add_need(PlacementNeed *sum, const PlacementNeed *need)
{
    if (!sum->n_groups) {
        sum->row = need->row;
    }
    sum->demand += need->demand;
    sum->threads += need->threads;
    sum->n_groups++;
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

        add_need(&runs[a->run_of[g]], &s->ctx->groups[g]);
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

static Assignment *run_stage(Search *s, Stage stage, const Try *t)
{
    Assignment *a = assignment_new(s->ctx);

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

/* The best assignment of @stage over all homes and ways. */
static Assignment *best_of_stage(Search *s, Stage stage)
{
    g_autofree Home *homes = g_new(Home, s->ctx->n_nodes);
    bool folds = stage == STAGE_FOLD || stage == STAGE_OVERFILL;
    int n = list_homes(s, homes);
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
            a = run_stage(s, stage, &t);
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

/* Treat the group at @i of the fitting ones as large. */
static void force_large(Search *s, int i)
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

    search_init(&s, ctx);
    while (s.n_fitting && s.n_forced < FORCED_MAX &&
           (stage == STAGE_OVERFILL || !is_complete(a))) {
        force_large(&s, s.n_fitting - 1);
        a = cheaper(a, best_of_stage(&s, stage));
    }
    search_clear(&s);
    return a;
}

/* Each group, large or not, on one LLC: the shortage is small or even. */
static Assignment *fold_all(PlacementCtx *ctx)
{
    Assignment *a;
    Search s;
    int g;

    search_init(&s, ctx);
    s.n_fitting = s.n_oversize = 0;
    for (g = 0; g < ctx->n_groups; g++) {
        if (ctx->groups[g].n_vcpus) {
            s.fitting[s.n_fitting++] = g;
        }
    }
    a = best_of_stage(&s, STAGE_OVERFILL);
    search_clear(&s);
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

/* Group @g back on its LLCs, in a run with those that had the same ones. */
static bool recall_group(const PlacementCtx *ctx, int g, Assignment *a)
{
    const PlacementNeed *need = &ctx->groups[g];
    int run, size = 0, i;

    if (!need->n_previous) {
        return false;
    }
    run = a->owner[need->previous[0]];
    for (i = 0; i < need->n_previous; i++) {
        int llc = need->previous[i];

        if (!ctx->rooms[llc].usable || a->owner[llc] != run) {
            return false;
        }
        a->owner[llc] = run < 0 ? g : run;
    }
    for (i = 0; run >= 0 && i < ctx->n_rooms; i++) {
        size += a->owner[i] == run;
    }
    a->run_of[g] = run < 0 ? g : run;
    return run < 0 || (size == need->n_previous &&
                       (size == 1 || need->n_oversize));
}

/* The assignment of the previous plan at its best home; NULL: not possible. */
static Assignment *recall(PlacementCtx *ctx)
{
    Assignment *a = assignment_new(ctx);
    PlacementCost best;
    int g, home, best_home = 0;

    for (g = 0; g < ctx->n_groups; g++) {
        if (ctx->groups[g].n_vcpus && !recall_group(ctx, g, a)) {
            placement_assignment_free(a);
            return NULL;
        }
    }
    placement_evaluate(ctx, 0, a);
    best = a->cost;
    for (home = 1; home < ctx->n_nodes; home++) {
        placement_evaluate(ctx, home, a);
        if (placement_cost_less(&a->cost, &best)) {
            best = a->cost;
            best_home = home;
        }
    }
    placement_evaluate(ctx, best_home, a);
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

    search_init(&s, ctx);
    a = try_stages(&s, partial);
    if (!is_complete(a)) {
        a = cheaper(a, split_and_fold(ctx, STAGE_FOLD));
    }
    if (!is_complete(a) && !partial) {
        placement_assignment_free(a);
        a = must ? overfill(&s) : NULL;
    }
    search_clear(&s);
    if (a && ctx->in->previous) {
        a = cheaper(a, recall(ctx));
    }
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
