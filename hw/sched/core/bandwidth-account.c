/*
 * CPU bandwidth: the budget, the debt and the periods of one group
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "bandwidth-internal.h"

/*
 * Over-use of a look that comes a whole period late is still repaid, however
 * small the quota is: what all vCPUs can use in two periods is never forgiven.
 */
static uint64_t debt_max(const BandwidthGroup *group)
{
    uint64_t two_periods = 2 * bandwidth_parallel(group) *
                           group->limits.period_ns;

    return MAX(group->limits.quota_ns * BANDWIDTH_DEBT_QUOTAS_MAX,
               two_periods);
}

unsigned bandwidth_account_debt_level(const BandwidthGroup *group,
                                      uint64_t debt)
{
    uint64_t max = debt_max(group);

    return MIN(debt, max) * BANDWIDTH_DEBT_LEVELS / max;
}

static void forgive(BandwidthGroup *group)
{
    BandwidthAccount *a = &group->account;
    uint64_t max = debt_max(group);

    if (a->debt > max) {
        group->stats.forgiven_ns =
            bandwidth_add_saturated(group->stats.forgiven_ns, a->debt - max);
        a->debt = max;
    }
}

void bandwidth_account_set_dry(BandwidthGroup *group, bool dry, int64_t now)
{
    if (group->account.dry == dry) {
        return;
    }
    group->account.dry = dry;
    group->tree->gates_stale = true;
    if (dry) {
        group->dry_since = now;
    } else {
        group->stats.throttled_ns += now - group->dry_since;
    }
}

/*
 * At most half of a quota repays debt, so that no period goes dark from debt
 * alone.  A group that saves up is dark anyway, the longer the more it repays:
 * an eighth for small debts, up to seven of them before any is forgiven.
 */
static uint64_t repay_max(const BandwidthGroup *group, bool saves)
{
    uint64_t quota = group->limits.quota_ns;
    uint64_t debt = group->account.debt;

    if (!saves) {
        return quota / 2;
    }
    return quota / 8 * (1 + bandwidth_account_debt_level(group, debt));
}

/* Quota for a new period, on top of @carried and @late. */
static void fill(BandwidthGroup *group, uint64_t carried, uint64_t late,
                 bool saves)
{
    BandwidthAccount *a = &group->account;
    uint64_t quota = group->limits.quota_ns;
    uint64_t repaid = MIN(a->debt, repay_max(group, saves));

    a->debt -= repaid;
    a->debt_at_start = a->debt;
    a->carried = carried;
    a->late = late;
    a->remaining = carried + late + quota - repaid;
    a->used = 0;
}

/*
 * Periods of all lengths are counted from the tree's epoch, so that groups
 * with equal periods are refilled in one look.
 */
void bandwidth_account_start(BandwidthGroup *group, int64_t now)
{
    int64_t period = group->limits.period_ns;
    int64_t epoch = group->tree->epoch;

    bandwidth_account_set_dry(group, false, now);
    group->account.released = false;
    group->account.shut = false;
    group->account.fresh = false;
    group->account.period_end = epoch + ((now - epoch) / period + 1) * period;
    fill(group, 0, 0, false);
    forgive(group);
}

static void spend(BandwidthAccount *a, uint64_t used)
{
    uint64_t paid = MIN(used, a->remaining);

    a->used = bandwidth_add_saturated(a->used, used);
    a->remaining -= paid;
    a->debt += used - paid;
}

/* Use beyond the quotas of @n periods; as many of them are below 2^62. */
static void count_burst(BandwidthGroup *group, uint64_t n)
{
    const BandwidthAccount *a = &group->account;
    uint64_t quotas = MIN(n, 256) * group->limits.quota_ns + a->late;

    if (a->used > quotas) {
        group->stats.bursts++;
        group->stats.burst_ns += MIN(a->used - quotas, a->carried);
    }
}

/* The counters of the kernel's cpu.stat, for @n periods that end. */
static void count_periods(BandwidthGroup *group, uint64_t n)
{
    BandwidthAccount *a = &group->account;
    BandwidthStats *s = &group->stats;

    if (!a->used && !a->dry) {
        s->consecutive_throttled = 0;
        return;     /* not counted: the kernel's timer stands still, too */
    }
    s->periods += n;
    if (a->carried) {
        count_burst(group, n);
    }
    if (!a->dry) {
        s->consecutive_throttled = 0;
        return;
    }
    s->throttled_periods += n;
    s->consecutive_throttled += n;
    s->consecutive_throttled_max = MAX(s->consecutive_throttled_max,
                                       s->consecutive_throttled);
}

/*
 * What is left first repays debt, but for @need, for which a dry group saves
 * up: a debt must not keep it dark.  Of several periods that are over only the
 * last can be made dark by debt; the quotas of the others repay it in full.
 */
static void close_periods(BandwidthGroup *group, uint64_t n, uint64_t need)
{
    BandwidthAccount *a = &group->account;
    uint64_t quota = group->limits.quota_ns;
    uint64_t most, paid;

    if (n > 1) {
        /* More quotas than these do not carry over anyway. */
        most = a->debt + need + group->limits.burst_ns +
               MAX(bandwidth_predict_late_max(group), a->late);
        a->remaining += MIN(n - 1, most / quota + 1) * quota;
    }
    paid = MIN(a->remaining - MIN(a->remaining, need), a->debt);
    a->debt -= paid;
    a->remaining -= paid;
}

/*
 * How much of what is left above the burst comes from a late release, a late
 * look or a gate that closed early.  It is kept until it is used, by a group
 * that still is busy.
 */
static uint64_t late_carry(const BandwidthGroup *group, uint64_t over)
{
    const BandwidthAccount *a = &group->account;

    if (a->dry || a->released) {
        return MIN(over, bandwidth_predict_late_max(group));
    }
    return a->used >= group->limits.quota_ns / 2 ? MIN(over, a->late) : 0;
}

static void refill(BandwidthGroup *group, int64_t now)
{
    BandwidthAccount *a = &group->account;
    int64_t period = group->limits.period_ns;
    uint64_t n = now - a->period_end < period ? 1 :
                 (now - a->period_end) / period + 1;
    bool was_dry = a->dry;
    uint64_t need = was_dry ? bandwidth_predict_need(group) : 0;
    uint64_t carried, late;

    count_periods(group, n);
    if (was_dry && n == 1) {
        bandwidth_predict_learn(group);
    }
    a->period_end += n * period;
    close_periods(group, n, need);
    carried = MIN(a->remaining, group->limits.burst_ns);
    late = late_carry(group, a->remaining - carried);
    fill(group, carried, late, need);
    if (was_dry && a->remaining >= need) {
        bandwidth_account_set_dry(group, false, now);
    }
    a->released = was_dry;
    a->shut = a->dry;
    a->fresh = was_dry && !a->dry;
    if (was_dry || group->predict.margin) {
        bandwidth_predict_release(group);
    }
}

/*
 * Running time is settled before refill: as the kernel found, a group that is
 * let go first and settled then runs dry again at once.
 */
void bandwidth_account_settle(BandwidthGroup *group, uint64_t used,
                              int64_t now)
{
    BandwidthAccount *a = &group->account;

    spend(a, used);
    a->fresh = false;
    group->predict.window_used += used;
    if (now >= a->period_end) {
        refill(group, now);
    } else if (!a->dry &&
               a->remaining <= (used ? group->predict.margin : 0)) {
        bandwidth_predict_observe(group, now);
        bandwidth_account_set_dry(group, true, now);
    }
    if (a->debt) {
        forgive(group);
    }
}
