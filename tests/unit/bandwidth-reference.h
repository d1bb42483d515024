/*
 * The rules of docs/devel/bandwidth.rst again: slow and obvious, to compare
 *
 * Nothing is predicted here: how early a gate closes (margin) and with how
 * much it opens (need) are taken from the code under test.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TESTS_UNIT_BANDWIDTH_REFERENCE_H
#define TESTS_UNIT_BANDWIDTH_REFERENCE_H

#include "hw/sched/bandwidth.h"

typedef __int128 RefTime;       /* never overflows, never wraps */

typedef struct RefGroup {
    struct RefGroup *parent;
    BandwidthGroup *real;       /* what it is compared with */
    BandwidthLimits limits;
    RefTime own_vcpus;
    bool finite;
    RefTime charged;            /* since the last settling */
    RefTime budget, debt;
    RefTime burst_part, late_part;
    RefTime used_in_period, used, forgiven;
    RefTime period_end;
    bool dry, was_dry;
    RefTime periods, throttled_periods, bursts, burst_ns;
    RefTime streak, longest_streak;
    RefTime margin, need;
} RefGroup;

typedef struct RefTree {
    GPtrArray *groups;          /* in any order */
    RefTime now, epoch;
    bool paused;
} RefTree;

RefTree *ref_tree_new(void);
void ref_tree_free(RefTree *tree);

RefGroup *ref_add(RefTree *tree, RefGroup *parent, BandwidthGroup *real,
                  const BandwidthLimits *limits, int64_t now);
void ref_remove(RefTree *tree, RefGroup *group, int64_t now);
void ref_set_limits(RefTree *tree, RefGroup *group,
                    const BandwidthLimits *limits, int64_t now);
void ref_set_vcpus(RefTree *tree, RefGroup *group, unsigned n, int64_t now);
void ref_charge(RefGroup *group, uint64_t ns);
void ref_advance(RefTree *tree, int64_t now);
void ref_pause(RefTree *tree, int64_t now);
void ref_resume(RefTree *tree, int64_t now);

/* To be called before the code under test is told the time. */
void ref_take_predictions(RefTree *tree, int64_t now);
RefGroup *ref_gated_by(RefGroup *group);
void ref_assert_equal(RefTree *tree, int64_t now);

#endif
