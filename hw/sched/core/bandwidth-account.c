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
 * Quota for a new period, on top of @carried and @late.  At most half of it
 * repays debt, so that no period goes dark from debt alone.
 */
static void fill(BandwidthGroup *group, uint64_t carried, uint64_t late)
{
    BandwidthAccount *a = &group->account;
    uint64_t quota = group->limits.quota_ns;
    uint64_t repaid = MIN(a->debt, quota / 2);

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
    group->account.period_end = epoch + ((now - epoch) / period + 1) * period;
    fill(group, 0, 0);
    forgive(group);
}

static void spend(BandwidthAccount *a, uint64_t used)
{
    uint64_t paid = MIN(used, a->remaining);

    a->used = bandwidth_add_saturated(a->used, used);
    a->remaining -= paid;
    a->debt += used - paid;
}

/* The five counters of the kernel's cpu.stat, for @n periods that end. */
static void count_periods(BandwidthGroup *group, uint64_t n)
{
    BandwidthAccount *a = &group->account;
    BandwidthStats *s = &group->stats;
    /* Late looks end several periods at once; n quotas are below 2^62. */
    uint64_t quotas = MIN(n, 256) * group->limits.quota_ns + a->late;

    if (!a->used && !a->dry) {
        return;     /* the kernel's timer stands still, too */
    }
    s->periods += n;
    if (a->carried && a->used > quotas) {
        s->bursts++;
        s->burst_ns += MIN(a->used - quotas, a->carried);
    }
    s->throttled_periods += a->dry ? n : 0;
    s->consecutive_throttled = a->dry ? s->consecutive_throttled + n : 0;
    s->consecutive_throttled_max = MAX(s->consecutive_throttled_max,
                                       s->consecutive_throttled);
}

/*
 * What is left first repays debt.  Of several periods that are over only the
 * last can be made dark by debt; the quotas of the others repay it in full.
 */
static void close_periods(BandwidthGroup *group, uint64_t n)
{
    BandwidthAccount *a = &group->account;
    uint64_t quota = group->limits.quota_ns;
    uint64_t most = a->debt + group->limits.burst_ns +
                    MAX(bandwidth_predict_late_max(group), a->late);
    uint64_t left = a->remaining;
    uint64_t paid;

    /* More quotas than these do not carry over anyway. */
    left += MIN(n - 1, most / quota + 1) * quota;
    paid = MIN(left, a->debt);
    a->debt -= paid;
    a->remaining = left - paid;
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
    uint64_t n = (now - a->period_end) / period + 1;
    uint64_t need = bandwidth_predict_need(group);
    uint64_t carried, late;
    bool was_dry = a->dry;

    count_periods(group, n);
    if (n == 1) {
        bandwidth_predict_learn(group);
    }
    a->period_end += n * period;
    close_periods(group, n);
    carried = MIN(a->remaining, group->limits.burst_ns);
    late = late_carry(group, a->remaining - carried);
    fill(group, carried, late);
    if (was_dry && a->remaining >= need) {
        bandwidth_account_set_dry(group, false, now);
    }
    a->released = was_dry;
    a->shut = a->dry;
    bandwidth_predict_set_margin(group);
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
    bandwidth_predict_observe(group, used, now);
    if (now >= a->period_end) {
        refill(group, now);
    } else if (a->remaining <= (used ? group->predict.margin : 0)) {
        bandwidth_account_set_dry(group, true, now);
    }
    forgive(group);
}
