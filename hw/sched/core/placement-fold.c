/*
 * More groups than LLCs: whole neighbouring groups share one
 *
 * A row of groups is cut into runs so that the fullest LLC is as little full
 * as can be.  For a given limit, filling one LLC after the other finds out
 * whether the limit can be kept; the least limit is found by bisection.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <string.h>
#include "placement-internal.h"

/* A row of groups and the LLCs that they are cut onto, in this order. */
typedef struct Fold {
    const PlacementCtx *ctx;
    const int *groups;
    int n;
    const int *llcs;
    int n_llcs;
    /* Per group: the last LLC from which on it and the rest find one each. */
    int *spare_from;
    uint64_t *demand_from;  /* of each group and those behind it */
    uint64_t *room_from;    /* of each LLC and those behind it */
    bool eager;         /* no LLC stays empty for nothing */
    bool even;          /* stop at the average of what is left */
    int *slot;          /* result: per group, index into llcs */
} Fold;

static bool within(const PlacementRoom *room, uint64_t demand,
                   uint64_t threads, uint64_t limit)
{
    return demand * 1000 <= room->room * limit &&
           threads * 1000 <= room->thread_room * limit;
}

/* What is the same for every limit, in one go from the end. */
static void fold_init(Fold *f)
{
    PlacementNeed largest = { 0 };
    int i, l, found = 0;

    f->spare_from = g_new(int, f->n);
    f->demand_from = g_new0(uint64_t, f->n + 1);
    f->room_from = g_new0(uint64_t, f->n_llcs + 1);
    for (l = f->n_llcs - 1; l >= 0; l--) {
        f->room_from[l] = f->room_from[l + 1] + f->ctx->rooms[f->llcs[l]].room;
    }
    l = f->n_llcs;
    for (i = f->n - 1; i >= 0; i--) {
        const PlacementNeed *need = &f->ctx->groups[f->groups[i]];

        f->demand_from[i] = f->demand_from[i + 1] + need->demand;
        if (need->demand > largest.demand || need->threads > largest.threads) {
            largest.demand = MAX(largest.demand, need->demand);
            largest.threads = MAX(largest.threads, need->threads);
            l = f->n_llcs;
            found = 0;
        }
        while (l > 0 && found < f->n - i) {
            found += placement_room_takes(&f->ctx->rooms[f->llcs[--l]],
                                          &largest);
        }
        f->spare_from[i] = found == f->n - i ? l : -1;
    }
}

static void fold_clear(Fold *f)
{
    g_free(f->spare_from);
    g_free(f->demand_from);
    g_free(f->room_from);
}

/* What LLC @slot should get so that all from it on are equally full. */
static uint64_t average(const Fold *f, int slot, int i)
{
    return f->demand_from[i] * f->ctx->rooms[f->llcs[slot]].room /
           f->room_from[slot];
}

/*
 * Fill up to @limit (per mille of the room).  If eager, a new LLC is begun
 * early where the groups that follow can then have one each.  Above 1000 LLCs
 * are overfull anyway, and none is too small for a group.
 */
static bool fill(const Fold *f, uint64_t limit)
{
    uint64_t demand = 0, threads = 0, share = 0;
    int slot = 0, i;
    bool empty = true;

    for (i = 0; i < f->n; i++) {
        const PlacementNeed *need = &f->ctx->groups[f->groups[i]];

        if (!empty && ((f->eager && slot + 1 <= f->spare_from[i]) ||
                       (f->even && slot + 1 < f->n_llcs &&
                        demand + need->demand / 2 > share))) {
            slot++;
            empty = true;
        }
        for (;; slot++, empty = true) {
            const PlacementRoom *room;

            if (slot == f->n_llcs) {
                return false;
            }
            room = &f->ctx->rooms[f->llcs[slot]];
            if (empty) {
                demand = threads = 0;
                share = f->even ? average(f, slot, i) : 0;
            }
            if ((limit > 1000 || placement_room_takes(room, need)) &&
                within(room, demand + need->demand, threads + need->threads,
                       limit)) {
                break;
            }
        }
        demand += need->demand;
        threads += need->threads;
        empty = false;
        f->slot[i] = slot;
    }
    return true;
}

/*
 * Fill with the least limit that can be kept, and evenly if that keeps it as
 * well.  False if @max cannot be kept.
 */
static bool keep_least_limit(Fold *f, unsigned max)
{
    unsigned low = 0, high = max;

    if (!fill(f, max)) {
        return false;
    }
    while (low + 1 < high) {
        unsigned middle = low + (high - low) / 2;

        if (fill(f, middle)) {
            high = middle;
        } else {
            low = middle;
        }
    }
    f->even = true;
    if (fill(f, high)) {
        return true;
    }
    f->even = false;
    return fill(f, high);
}

typedef struct RoomOrder {
    const PlacementCtx *ctx;
} RoomOrder;

static gint compare_larger(gconstpointer pa, gconstpointer pb, gpointer opaque)
{
    const RoomOrder *key = opaque;
    unsigned a = key->ctx->rooms[*(const int *)pa].room;
    unsigned b = key->ctx->rooms[*(const int *)pb].room;

    return a > b ? -1 : a < b ? 1 : *(const int *)pa - *(const int *)pb;
}

/*
 * Cut @groups onto @llcs in their order, or @by_size, the largest first.  Run
 * numbers start at *@run, which moves on.
 */
static bool fold_class(const PlacementCtx *ctx, const int *groups, int n,
                       int *llcs, int n_llcs, bool by_size, unsigned max,
                       int *run, Assignment *a)
{
    g_autofree int *slot = g_new(int, n);
    Fold f = { .ctx = ctx, .groups = groups, .n = n, .llcs = llcs,
               .n_llcs = n_llcs, .slot = slot, .eager = true };
    RoomOrder key = { .ctx = ctx };
    bool done;
    int i;

    if (by_size) {
        g_qsort_with_data(llcs, n_llcs, sizeof(int), compare_larger, &key);
    }
    fold_init(&f);
    done = keep_least_limit(&f, max);
    if (!done) {
        f.eager = false;
        done = keep_least_limit(&f, max);
    }
    fold_clear(&f);
    for (i = 0; done && i < n; i++) {
        *run += i == 0 || slot[i] != slot[i - 1];
        a->run_of[groups[i]] = *run - 1;
        a->owner[llcs[slot[i]]] = *run - 1;
    }
    return done;
}

static uint64_t sum_demand(const PlacementCtx *ctx, const int *groups, int n)
{
    uint64_t sum = 0;
    int i;

    for (i = 0; i < n; i++) {
        sum += ctx->groups[groups[i]].demand;
    }
    return sum;
}

/* The nearest @max LLCs of @row that are not taken yet. */
static int take_near(const PlacementCtx *ctx, int row, int max,
                     bool *taken, int *llcs)
{
    const int *order = &ctx->order[row * ctx->n_with_cpus];
    int i, n = 0;

    for (i = 0; i < ctx->n_with_cpus && n < max; i++) {
        if (!taken[order[i]]) {
            taken[order[i]] = true;
            llcs[n++] = order[i];
        }
    }
    return n;
}

typedef struct RowOrder {
    const PlacementCtx *ctx;
} RowOrder;

static gint compare_row(gconstpointer pa, gconstpointer pb, gpointer opaque)
{
    const RowOrder *key = opaque;
    int a = *(const int *)pa, b = *(const int *)pb;
    int row_a = key->ctx->groups[a].row, row_b = key->ctx->groups[b].row;

    return row_a != row_b ? row_a - row_b : a - b;
}

/* How many of @groups, from the first on, belong to the same row. */
static int class_length(const PlacementCtx *ctx, const int *groups, int n)
{
    int i = 1;

    while (i < n && ctx->groups[groups[i]].row == ctx->groups[groups[0]].row) {
        i++;
    }
    return i;
}

static int count_classes(const PlacementCtx *ctx, const int *groups, int n)
{
    int i = 0, count = 0;

    while (i < n) {
        i += class_length(ctx, groups + i, n - i);
        count++;
    }
    return count;
}

/* Each class (groups bound to one place) gets LLCs near to it by its demand. */
static bool fold_classes(const PlacementCtx *ctx, const int *groups, int n,
                         int home, bool apart, bool by_size, unsigned limit,
                         int run, bool *taken, int n_free, Assignment *a)
{
    g_autofree int *llcs = g_new(int, MAX(n_free, 1));
    int classes = count_classes(ctx, groups, n);
    uint64_t left = sum_demand(ctx, groups, n);
    int i = 0;

    apart &= classes <= n_free;

    while (i < n) {
        int length = apart ? class_length(ctx, groups + i, n - i) : n;
        uint64_t demand = sum_demand(ctx, groups + i, length);
        int quota = n_free;
        int row, got;

        if (apart && --classes > 0) {
            quota = (n_free * demand + left / 2) / left;
            quota = CLAMP(quota, 1, MIN(n_free - classes, length));
        }
        row = apart ? placement_row(&ctx->groups[groups[i]], home) : home;
        got = take_near(ctx, row, quota, taken, llcs);
        if (!fold_class(ctx, groups + i, length, llcs, got, by_size, limit,
                        &run, a)) {
            return false;
        }
        left -= demand;
        n_free -= got;
        i += length;
    }
    return true;
}

/*
 * Put @groups, all of which fit some LLC, onto the free LLCs, none filled
 * above @limit per mille of its room.  @apart: those bound to different places
 * do not share.  @by_size: large LLCs before near ones.  Runs are numbered from
 * @first_run.  False, with @a half done, if it cannot be.
 */
bool placement_fold_onto(const PlacementCtx *ctx, const int *groups, int n,
                         int home, bool apart, bool by_size, unsigned limit,
                         int first_run, Assignment *a)
{
    g_autofree int *sorted = NULL;
    g_autofree bool *taken = g_new0(bool, MAX(ctx->n_rooms, 1));
    RowOrder key = { .ctx = ctx };
    int l, n_free = 0;

    if (n == 0) {
        return true;
    }
    for (l = 0; l < ctx->n_rooms; l++) {
        taken[l] = !ctx->rooms[l].usable || a->owner[l] >= 0;
        n_free += !taken[l];
    }
    sorted = g_memdup2(groups, n * sizeof(int));
    if (apart) {
        g_qsort_with_data(sorted, n, sizeof(int), compare_row, &key);
    }
    return fold_classes(ctx, sorted, n, home, apart, by_size, limit, first_run,
                        taken, n_free, a);
}

/* How many runs of at most @most milli-cores @groups make. */
static int count_runs(const PlacementCtx *ctx, const int *groups, int n,
                      uint64_t most)
{
    uint64_t sum = 0;
    int i, runs = 1;

    for (i = 0; i < n; i++) {
        unsigned demand = ctx->groups[groups[i]].demand;

        if (sum + demand > most && sum) {
            runs++;
            sum = 0;
        }
        sum += demand;
    }
    return runs;
}

/* Cut groups that are larger than an LLC into @n_runs runs of like size. */
void placement_fold_balanced(const PlacementCtx *ctx, const int *groups, int n,
                             int n_runs, Assignment *a)
{
    uint64_t low = 0, high = sum_demand(ctx, groups, n), sum = 0;
    int i, run = 0, in_run = 0;

    while (low + 1 < high) {
        uint64_t middle = low + (high - low) / 2;
        bool fits = count_runs(ctx, groups, n, middle) <= n_runs;

        for (i = 0; fits && i < n; i++) {
            fits = ctx->groups[groups[i]].demand <= middle;
        }
        *(fits ? &high : &low) = middle;
    }
    for (i = 0; i < n; i++) {
        unsigned demand = ctx->groups[groups[i]].demand;
        bool spare = n - i <= n_runs - run - 1;

        if (in_run && (sum + demand > high || spare)) {
            run++;
            sum = in_run = 0;
        }
        sum += demand;
        in_run++;
        a->run_of[groups[i]] = run;
    }
}
