/*
 * One search for LLCs: the groups by kind, and the ways to run a stage
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef HW_SCHED_CORE_PLACEMENT_STAGES_H
#define HW_SCHED_CORE_PLACEMENT_STAGES_H

#include "placement-internal.h"

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

void placement_search_init(Search *s, PlacementCtx *ctx);
void placement_search_clear(Search *s);

/* Treat the group at @i of the fitting ones as large. */
void placement_search_force_large(Search *s, int i);

/* What @stage makes in this way, evaluated; groups may be left unplaced. */
Assignment *placement_run_stage(Search *s, Stage stage, const Try *t);

#endif
