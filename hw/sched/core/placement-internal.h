/*
 * What the files of placement share
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef HW_SCHED_CORE_PLACEMENT_INTERNAL_H
#define HW_SCHED_CORE_PLACEMENT_INTERNAL_H

#include "hw/sched/placement.h"

/*
 * Loads of others that differ by less are alike: per mille of an LLC.  A QEMU
 * that starts keeps a thread busy, and on a small LLC one thread is much: with
 * finer steps, VMs that start together all see the same noise and gather where
 * it is not.
 */
#define PLACEMENT_LOAD_STEP 200

/* Weight of a group's own spread against its distance from its home. */
#define PLACEMENT_SPREAD_WEIGHT 4

/*
 * A cost, compared part by part in this order: the written cost of
 * docs/devel/placement.rst, and two parts that break ties.
 */
typedef enum CostPart {
    COST_UNPLACED,  /* groups without LLCs of their own */
    COST_OVERFULL,  /* milli-cores of this VM above the room of its LLCs */
    COST_SPLIT,     /* groups on more than one LLC */
    COST_FOLDED,    /* groups less the LLC sets that they have */
    COST_LLCS,      /* LLCs, summed over the groups */
    COST_CROWDED,   /* milli-cores above what shared LLCs are filled to */
    COST_DISTANCE,  /* between nodes */
    COST_EXCESS,    /* milli-cores above the room, those of others as well */
    COST_TIE,       /* preference, load of others, moves */
    COST_HASH,
    COST_PARTS,
} CostPart;

typedef struct PlacementCost {
    int64_t part[COST_PARTS];
} PlacementCost;

/* A host LLC as this VM sees it.  Milli-cores and milli-CPUs count 1000. */
typedef struct PlacementRoom {
    HostCpuSet mask;        /* its candidates */
    unsigned cpus, cores;   /* candidates; cores with at least one */
    unsigned room;          /* milli-cores that our groups may fill */
    unsigned thread_room;   /* milli-CPUs */
    unsigned foreign;       /* milli-cores of vCPUs that others placed */
    unsigned others;        /* milli-cores of others, in load steps */
    unsigned load_step;     /* the same, as a number of steps */
    unsigned capacity;      /* mean of its candidates */
    int node;               /* index, 0 where the host has none */
    int rank;               /* 0: what `prefer` likes best */
    bool closed;            /* by the guard */
    bool usable;            /* in the present search */
    uint32_t hash;
} PlacementRoom;

/* What a guest LLC group, or several folded together, need. */
typedef struct PlacementNeed {
    unsigned demand, threads; /* milli-cores, milli-CPUs */
    unsigned n_vcpus;
    int n_groups;             /* of which it is made */
    int n_oversize;           /* of them, those that fit no usable LLC */
    int row;                  /* where it belongs: row of reach, -1: home */
    int was_run;              /* its run in the previous plan, -1: none */
    int was_llc;              /* the LLC of that if it had one, else -1 */
} PlacementNeed;

/* Disjoint sets of LLCs, one per run; a run is one group or several. */
typedef struct Assignment {
    int *run_of;              /* per group, -1: not placed */
    int *owner;               /* per LLC: the run, -1: none */
    int home;                 /* node for which the cost holds */
    PlacementCost cost;
} Assignment;

/* A mask that others set, once for all vCPUs that have it. */
typedef struct PlacementForeign {
    const HostCpuSet *mask;
    uint64_t demand;          /* of its vCPUs */
    unsigned vcpus;
    int host_llc, n_llcs;     /* the lowest that it touches; how many */
} PlacementForeign;

typedef struct PlacementCtx {
    const PlacementInput *in;
    Plan *plan;
    int n_rooms;
    PlacementRoom *rooms;     /* one per host LLC */
    int n_with_cpus;          /* LLCs that hold candidates */
    int n_nodes;              /* at least 1 */
    int n_rows;               /* n_nodes homes, then one per binding */
    unsigned *reach;          /* n_rows x n_nodes distances */
    int *order;               /* n_rows x n_with_cpus LLCs, nearest first */
    int *by_room;             /* n_with_cpus LLCs, largest first */
    int n_groups;
    PlacementNeed *groups;    /* one per guest LLC */
    PlacementForeign *foreign;
    int n_foreign;
    int *foreign_of;          /* per foreign vCPU, index into foreign */
    bool overcommitted;
    bool unequal;             /* LLCs have different room, or threads */
} PlacementCtx;

/* placement-rooms.c */
void placement_rooms_init(PlacementCtx *ctx);
void placement_rooms_scale(PlacementCtx *ctx);
unsigned placement_vcpu_demand(const PlacementInput *in, int vcpu);
bool placement_vcpu_is_ours(const PlacementInput *in, int vcpu);
bool placement_room_takes(const PlacementRoom *room,
                          const PlacementNeed *need);

/* placement-foreign.c */
void placement_foreign_init(PlacementCtx *ctx);
void placement_foreign_free(PlacementCtx *ctx);
void placement_foreign_plan(PlacementCtx *ctx, int vcpu);

/* placement-needs.c */
void placement_needs_init(PlacementCtx *ctx);
void placement_need_add(PlacementNeed *sum, const PlacementNeed *need);
void placement_needs_recall(PlacementCtx *ctx, const Plan *previous);
void placement_needs_classify(PlacementCtx *ctx);

/* placement-cost.c */
bool placement_cost_less(const PlacementCost *a, const PlacementCost *b);
bool placement_cost_better(const PlacementCost *a, const PlacementCost *b);
void placement_cost_add(PlacementCost *sum, const PlacementCost *cost);
void placement_cost_sub(PlacementCost *sum, const PlacementCost *cost);
int64_t placement_distance(const PlacementCtx *ctx, const PlacementNeed *need,
                           const int *llcs, int n, int home);
PlacementCost placement_set_cost(const PlacementCtx *ctx,
                                 const PlacementNeed *need,
                                 const int *llcs, int n, int home);
void placement_order_init(PlacementCtx *ctx);

/* placement-match.c */
bool placement_match(const PlacementCtx *ctx, const int *groups, int n,
                     int home, Assignment *a);

/* placement-set.c */
int placement_choose_set(const PlacementCtx *ctx, const PlacementNeed *need,
                         int home, bool tight, const int *owner, int *llcs);

/* placement-fold.c */
void placement_fold_balanced(const PlacementCtx *ctx, const int *groups, int n,
                             int n_runs, Assignment *a);
bool placement_fold_onto(const PlacementCtx *ctx, const int *groups, int n,
                         int home, bool apart, bool by_size, unsigned limit,
                         int first_run, Assignment *a);

/* placement-polish.c */
void placement_evaluate(const PlacementCtx *ctx, int home, Assignment *a);
void placement_polish(const PlacementCtx *ctx, Assignment *a);

/* placement-stages.c */
Assignment *placement_assignment_new(const PlacementCtx *ctx);
void placement_assignment_free(Assignment *a);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Assignment, placement_assignment_free)

/* placement-assign.c */
Assignment *placement_assign(PlacementCtx *ctx);

/* placement-width.c */
void placement_narrow(PlacementCtx *ctx);

/* The node of a group that is not split; the row that its LLCs are near to. */
static inline int placement_row(const PlacementNeed *need, int home)
{
    return need->row >= 0 ? need->row : home;
}

#endif
