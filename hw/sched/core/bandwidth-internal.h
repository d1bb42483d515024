/*
 * CPU bandwidth: what the files of the quota tree share
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef HW_SCHED_BANDWIDTH_INTERNAL_H
#define HW_SCHED_BANDWIDTH_INTERNAL_H

#include "hw/sched/bandwidth.h"

/* No clock runs for so long (36 years): a larger charge is cut to this. */
#define BANDWIDTH_CHARGE_NS_MAX (1ull << 60)

/* Rates of use are in parts of one CPU. */
#define BANDWIDTH_RATE_ONE 1024ull

/* What a group may use, and what it used: bandwidth-account.c. */
typedef struct BandwidthAccount {
    uint64_t remaining;         /* of the budget of this period */
    uint64_t debt;              /* over-use that later periods repay */
    uint64_t debt_at_start;     /* of this period, after what it repaid */
    uint64_t carried;           /* unused quota in its budget, by the burst */
    uint64_t late;              /* and what a late release left unspent */
    uint64_t used;              /* in this period */
    int64_t period_end;
    bool dry;                   /* throttled by itself */
    bool released;              /* dry when the period before ended */
    bool shut;                  /* dry ever since: saving up */
    bool fresh;                 /* let go by the last refill, not seen since */
} BandwidthAccount;

/* How fast a group uses CPU time, and how late it stops: -predict.c. */
typedef struct BandwidthPredict {
    uint64_t rate;              /* recent maximum, slowly forgotten */
    uint64_t overrun;           /* learned: used from the aim to the stop */
    uint64_t margin;            /* dry when no more than this remains */
    uint64_t aim;               /* of it, meant to be left at that look */
    int64_t idle;               /* for so long it used nothing */
    uint64_t window_used;
    int64_t window_start;
} BandwidthPredict;

struct BandwidthGroup {
    BandwidthTree *tree;
    BandwidthGroup *parent;
    unsigned n_children;
    unsigned depth;
    unsigned own_vcpus;
    uint64_t n_vcpus;           /* itself and below */
    uint64_t open_vcpus;        /* those of them that are not gated */
    BandwidthLimits limits;
    bool can_run_dry;
    uint64_t pending;           /* charged, not settled yet */
    BandwidthAccount account;
    BandwidthPredict predict;
    const BandwidthGroup *gated_by;
    int64_t gated_since;
    int64_t dry_since;
    BandwidthStats stats;       /* without what is still going on */
};

struct BandwidthTree {
    GPtrArray *groups;          /* parents before their children */
    int64_t now;                /* of the latest call */
    int64_t epoch;              /* periods of all lengths begin here */
    int64_t look_due;           /* INT64_MAX: none was asked for */
    uint64_t cpus;              /* of the host: as many vCPUs run at once */
    bool gates_stale;           /* some group ran dry or is so no more */
    bool gates_changed;         /* since the caller was last told */
    bool paused;
};

static inline uint64_t bandwidth_add_saturated(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* The vCPUs that can use CPU time at once, at least one. */
static inline uint64_t bandwidth_parallel(const BandwidthGroup *group)
{
    return CLAMP(group->n_vcpus, 1, BANDWIDTH_VCPUS_MAX);
}

/* bandwidth-account.c */

/* A debt in parts of what is never forgiven: from 0 to all of it. */
#define BANDWIDTH_DEBT_LEVELS 6
unsigned bandwidth_account_debt_level(const BandwidthGroup *group,
                                      uint64_t debt);

void bandwidth_account_start(BandwidthGroup *group, int64_t now);
void bandwidth_account_settle(BandwidthGroup *group, uint64_t used,
                              int64_t now);
void bandwidth_account_set_dry(BandwidthGroup *group, bool dry, int64_t now);

/* bandwidth-predict.c */
void bandwidth_predict_start(BandwidthGroup *group, int64_t now);
void bandwidth_predict_observe(BandwidthGroup *group, int64_t now);
void bandwidth_predict_learn(BandwidthGroup *group);
uint64_t bandwidth_predict_need(const BandwidthGroup *group);
uint64_t bandwidth_predict_late_max(const BandwidthGroup *group);
void bandwidth_predict_release(BandwidthGroup *group);

#endif
