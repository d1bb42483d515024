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

/*
 * Of a group that used nothing for so long, each look is for that: no more than
 * RISK_LOOKS for one vCPU that wakes up, and fewer do for all of them.
 */
#define IDLE_NS (4 * (int64_t)BANDWIDTH_LOOK_NS_MIN)
#define IDLE_LOOKS 2

/*
 * The first look after a release, where one uses more than half a quota: sooner
 * means less, so that the group need not save up, or not for so long.  Still
 * its vCPUs should be in the guest by then, or the look finds nothing.
 */
#define FRESH_NS 100000ll

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
    p->idle = p->window_used ? 0 : p->idle + window;
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

/* The largest error that is believed: what all may use until two looks. */
static uint64_t error_max(const BandwidthGroup *group)
{
    return MAX(group->predict.overrun,
               bandwidth_parallel(group) * 2 * BANDWIDTH_LOOK_NS_MIN);
}

/*
 * At the end of a period that ran dry: it used what was to be left then, and
 * new debt, but not what is left now.  One look that came very late says
 * little of the next, so the estimate grows slowly.
 */
void bandwidth_predict_learn(BandwidthGroup *group)
{
    const BandwidthAccount *a = &group->account;
    BandwidthPredict *p = &group->predict;
    uint64_t max = bandwidth_parallel(group) * group->limits.period_ns;
    uint64_t seen = bandwidth_add_saturated(p->aim, a->debt - a->debt_at_start);

    if (a->shut) {
        return;
    }
    seen -= MIN(seen, a->remaining);
    if (seen > p->overrun) {
        p->overrun += MIN(seen - p->overrun, error_max(group)) /
                      OVERRUN_FORGETS;
        p->overrun = MIN(p->overrun, max);
    } else {
        p->overrun -= (p->overrun - seen) / OVERRUN_FORGETS;
    }
}

/*
 * The budget without which a group is not let go.  None, except where a quota
 * is smaller than what one release uses at the least: such a group saves up,
 * since it would only run into ever more debt.  What is learned leaves out the
 * looks that come very late, so debt that grows tells of them: at its most,
 * what a release may use is half a quota.
 */
uint64_t bandwidth_predict_need(const BandwidthGroup *group)
{
    uint64_t overrun = group->predict.overrun;
    uint64_t quota = group->limits.quota_ns;
    uint64_t debt = group->account.debt_at_start;
    unsigned level;

    if (overrun <= quota / 2) {
        return 0;
    }
    level = bandwidth_account_debt_level(group, debt);
    return overrun > quota - quota / (2 * BANDWIDTH_DEBT_LEVELS) * level ?
           overrun : 0;
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
void bandwidth_predict_release(BandwidthGroup *group)
{
    BandwidthPredict *p = &group->predict;
    uint64_t near = p->rate * (BANDWIDTH_LOOK_NS_MIN / 2) / BANDWIDTH_RATE_ONE;
    bool released = group->account.released;

    p->margin = released ? p->overrun + near : 0;
    p->aim = released ? MIN(p->overrun, group->account.remaining) : 0;
}

/* In ns of wall time.  No group that can run dry has 2^53 ns to use. */
static int64_t time_to_use(uint64_t used, uint64_t rate)
{
    return used / rate * BANDWIDTH_RATE_ONE +
           used % rate * BANDWIDTH_RATE_ONE / rate;
}

/* How much may be used until the look that is meant to find the group dry. */
static uint64_t left_to_aim(const BandwidthGroup *group)
{
    uint64_t remaining = group->account.remaining;

    return remaining - MIN(remaining, group->predict.aim);
}

/* How many vCPUs can run at once, if all that are let in want to. */
static uint64_t most_at_once(const BandwidthGroup *group)
{
    return MIN(group->open_vcpus, group->tree->cpus);
}

static int64_t time_to_dry(const BandwidthGroup *group)
{
    uint64_t risk = group->account.remaining +
                    RISK_QUOTAS * group->limits.quota_ns;
    int64_t expected = time_to_use(left_to_aim(group), group->predict.rate);
    int64_t rest = MIN(group->limits.period_ns / RISK_LOOKS, RISK_NS_MAX);
    int64_t risked = risk / most_at_once(group);

    if (group->predict.idle >= IDLE_NS) {
        expected = MAX(expected, rest);
        rest = MIN(group->limits.period_ns / IDLE_LOOKS, RISK_NS_MAX);
    }
    return MIN(expected, MAX(risked, rest));
}

/* Whether all its vCPUs together cannot use what is left in @time. */
static bool lasts(const BandwidthGroup *group, int64_t time)
{
    return left_to_aim(group) >= most_at_once(group) * time;
}

static bool is_open(const BandwidthGroup *group)
{
    return group->can_run_dry && !group->account.dry && group->open_vcpus;
}

/* The earlier of @due and the time at which @group could be dry. */
static int64_t group_next_close(BandwidthGroup *group, int64_t now, int64_t due)
{
    int64_t soonest = BANDWIDTH_LOOK_NS_MIN;

    /* Most ancestors have more left than what binds: no division for them. */
    if (!is_open(group) || (due < INT64_MAX && lasts(group, due - now))) {
        return due;
    }
    if (group->account.fresh &&
        group->predict.overrun > group->limits.quota_ns / 2) {
        soonest = FRESH_NS;
    }
    bandwidth_predict_observe(group, now);
    return MIN(due, now + MAX(time_to_dry(group), soonest));
}

static int64_t group_next_open(const BandwidthGroup *group, int64_t due)
{
    bool dry = group->can_run_dry && group->account.dry;

    return dry ? MIN(due, group->account.period_end) : due;
}

void bandwidth_next_looks(BandwidthTree *tree, int64_t now_ns,
                          int64_t *ret_close_ns, int64_t *ret_open_ns)
{
    int64_t now = MAX(now_ns, tree->now);
    int64_t close = INT64_MAX, open = INT64_MAX;

    for (guint i = tree->groups->len; i-- > 0 && !tree->paused;) {
        BandwidthGroup *group = g_ptr_array_index(tree->groups, i);

        close = group_next_close(group, now, close);
        open = group_next_open(group, open);
    }
    tree->look_due = MIN(close, open);
    *ret_close_ns = close;
    *ret_open_ns = open;
}

int64_t bandwidth_next_look(BandwidthTree *tree, int64_t now_ns)
{
    int64_t close, open;

    bandwidth_next_looks(tree, now_ns, &close, &open);
    return MIN(close, open);
}
