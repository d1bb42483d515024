/*
 * CPU bandwidth: when will a group run dry, and how late will it stop?
 *
 * A look costs a wake-up of some 25 us, so each should hit.  Three things are
 * estimated from what was charged, without knowing why it is so:
 *
 * - the rate of use: the highest one seen lately;
 * - the overrun: what a group uses between the look that was meant to find it
 *   dry and the time that its last vCPU is out of the guest.  The look is
 *   late, the kick takes time, the guest's exit takes time;
 * - a group that ran dry in the period before will run dry again, so it is
 *   gated by as much earlier.  What that leaves unspent is carried over, what
 *   it used too much is debt: an error of the estimate moves CPU time between
 *   periods but loses none.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "bandwidth-internal.h"

/* Rates over shorter times tell how exact the clocks are read, no more. */
#define WINDOW_NS_MIN ((int64_t)BANDWIDTH_LOOK_NS_MIN / 2)

/* A new value counts one part in so many. */
#define RATE_FORGETS 8
#define OVERRUN_FORGETS 4

/* Slower use than this is not told from none; keeps times below 2^63. */
#define RATE_MIN (BANDWIDTH_RATE_ONE / 16)

/*
 * How much over-use is risked when vCPUs wake up that were idle: one spinner
 * among many idle ones needs no look for each of them.  With small quotas that
 * still is many looks, so there are no more than so many in a period for it,
 * and in long ones, where this is cheap, one in so long.
 */
#define RISK_QUOTAS 2
#define RISK_LOOKS 3
#define RISK_NS_MAX (5 * 1000 * 1000ll)

void bandwidth_predict_start(BandwidthGroup *group, int64_t now)
{
    group->predict = (BandwidthPredict) {
        .rate = bandwidth_parallel(group) * BANDWIDTH_RATE_ONE,
        .window_start = now,
    };
}

/* To be called where the rate is needed: it costs a division. */
void bandwidth_predict_observe(BandwidthGroup *group, int64_t now)
{
    BandwidthPredict *p = &group->predict;
    int64_t window = now - p->window_start;
    uint64_t seen;

    if (window < WINDOW_NS_MIN) {
        return;
    }
    seen = MIN(p->window_used, BANDWIDTH_QUOTA_NS_MAX) * BANDWIDTH_RATE_ONE /
           window;
    if (!seen) {
        /* An idle guest wakes up one vCPU first. */
        p->rate = MAX(p->rate - p->rate / RATE_FORGETS, BANDWIDTH_RATE_ONE);
    } else if (seen < p->rate) {
        p->rate = MAX(p->rate - (p->rate - seen) / RATE_FORGETS, RATE_MIN);
    } else {
        p->rate = MIN(seen, bandwidth_parallel(group) * BANDWIDTH_RATE_ONE);
    }
    p->window_used = 0;
    p->window_start = now;
}

/*
 * At the end of a period that ran dry: what is left shows a gate that closed
 * too early, new debt one that closed too late.  One look that came very late
 * says little of the next, so the estimate grows by a quarter at most.
 */
void bandwidth_predict_learn(BandwidthGroup *group)
{
    const BandwidthAccount *a = &group->account;
    BandwidthPredict *p = &group->predict;
    uint64_t max = bandwidth_parallel(group) * group->limits.period_ns;
    uint64_t more;

    if (a->shut) {
        return;
    }
    if (a->debt > a->debt_at_start) {
        more = MIN(a->debt - a->debt_at_start,
                   MAX(p->overrun, group->limits.quota_ns));
        p->overrun = MIN(p->overrun + more / OVERRUN_FORGETS, max);
    } else {
        p->overrun -= MIN(p->overrun, a->remaining / OVERRUN_FORGETS);
    }
}

/*
 * The budget without which a group is not let go.  None, except where a quota
 * is smaller than what one release uses at the least: such a group saves up,
 * since it would only run into ever more debt.
 */
uint64_t bandwidth_predict_need(const BandwidthGroup *group)
{
    uint64_t overrun = group->predict.overrun;

    return overrun > group->limits.quota_ns ? overrun : 0;
}

/*
 * What may carry over besides the burst: half a quota for what came late, and
 * what a gate leaves that closes early by the margin.
 */
uint64_t bandwidth_predict_late_max(const BandwidthGroup *group)
{
    return group->limits.quota_ns / 2 + group->predict.margin;
}

/*
 * Only a group that ran dry in the period before is gated while something is
 * left, so that one that stays within its quota never is.  A look that finds
 * less than half of what runs until the next possible one is near enough.
 */
void bandwidth_predict_set_margin(BandwidthGroup *group)
{
    BandwidthPredict *p = &group->predict;
    uint64_t near = p->rate * (BANDWIDTH_LOOK_NS_MIN / 2) / BANDWIDTH_RATE_ONE;

    p->margin = group->account.released ? p->overrun + near : 0;
}

/* In ns of wall time.  No group that can run dry has 2^53 ns to use. */
static int64_t time_to_use(uint64_t used, uint64_t rate)
{
    return used / rate * BANDWIDTH_RATE_ONE +
           used % rate * BANDWIDTH_RATE_ONE / rate;
}

/* How much will be left at the look that is meant to find the group dry. */
static uint64_t left_to_aim(const BandwidthGroup *group)
{
    const BandwidthPredict *p = &group->predict;
    uint64_t aim = MIN(p->overrun, p->margin);

    return group->account.remaining - MIN(group->account.remaining, aim);
}

static int64_t time_to_dry(const BandwidthGroup *group)
{
    uint64_t risk = group->account.remaining +
                    RISK_QUOTAS * group->limits.quota_ns;
    int64_t expected = time_to_use(left_to_aim(group), group->predict.rate);
    int64_t rest = MIN(group->limits.period_ns / RISK_LOOKS, RISK_NS_MAX);
    int64_t risked = risk / group->open_vcpus;

    return MIN(expected, MAX(risked, rest));
}

/* Whether all its vCPUs together cannot use what is left in @time. */
static bool lasts(const BandwidthGroup *group, int64_t time)
{
    return left_to_aim(group) >= group->open_vcpus * time;
}

/* The earlier of @due and the time at which @group needs a look. */
static int64_t group_next_look(BandwidthGroup *group, int64_t now, int64_t due)
{
    if (!group->can_run_dry) {
        return due;
    }
    if (group->account.dry) {
        return MIN(due, group->account.period_end);
    }
    /* Most ancestors have more left than what binds: no division for them. */
    if (!group->open_vcpus || (due < INT64_MAX && lasts(group, due - now))) {
        return due;
    }
    bandwidth_predict_observe(group, now);
    return MIN(due, now + time_to_dry(group));
}

int64_t bandwidth_next_look(BandwidthTree *tree, int64_t now_ns)
{
    int64_t now = MAX(now_ns, tree->now);
    int64_t due = INT64_MAX;

    for (guint i = tree->groups->len; i-- > 0 && !tree->paused;) {
        due = group_next_look(g_ptr_array_index(tree->groups, i), now, due);
    }
    tree->look_due = MAX(due, now + (int64_t)BANDWIDTH_LOOK_NS_MIN);
    return tree->look_due;
}
