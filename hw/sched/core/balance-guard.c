/*
 * The over-aggregation guard with hysteresis, and the time lost to others
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "balance-internal.h"

#define NS_PER_S 1000000000.0

/* Time lost beyond what is allowed that makes us leave. */
#define LOST_LIMIT_NS NS_PER_S

/* VMs that use less than that weigh less: they lose little, per mille. */
#define LOST_DEMAND_FULL 250

/* Above that, a host that is evenly loaded makes tasks wait, per mille. */
#define ROOMY_PERMILLE 950

/* How much less loaded than our LLCs an overfull host must be, percent. */
#define OVERLOAD_GAIN_PERCENT 25

/* One long window must not count as if it had been watched. */
#define LOST_WINDOW_MAX_NS (2 * NS_PER_S)

static void set_cause(Balance *balance, int l, BalanceCause cause,
                      int64_t now_ns)
{
    BalanceGuard *guard = &balance->guards[l];

    if (guard->cause == cause) {
        return;
    }
    guard->changed = !guard->cause != !cause;
    if (guard->changed) {
        balance->stats.guard_closed += cause != BALANCE_CAUSE_NONE;
        balance->stats.guard_opened += cause == BALANCE_CAUSE_NONE;
        guard->since_ns = now_ns;
        balance->due = true;
    }
    guard->cause = cause;
    balance->closed[l] = cause != BALANCE_CAUSE_NONE;
}

static bool above(const double *load, unsigned percent)
{
    return percent < 100 && load[LOAD_FAST] > percent * 10.0 &&
           load[LOAD_LAST] > percent * 10.0;
}

/* Both averages: the fast one forgets within a pulse's pause. */
static bool below(const double *load, unsigned percent)
{
    double limit = percent * BALANCE_LEAVE_PERCENT / 10.0;

    return percent >= 100 ||
           (load[LOAD_FAST] < limit && load[LOAD_SLOW] < limit);
}

/* See BALANCE_GUARD_OFF. */
static bool is_watched(const PlacementGuard *limit)
{
    return limit->util != BALANCE_GUARD_OFF ||
           limit->tasks != BALANCE_GUARD_OFF;
}

static BalanceCause cause_now(const Balance *balance, int l, int64_t now_ns)
{
    const BalanceLlc *llc = &balance->llcs[l];
    const BalanceGuard *guard = &balance->guards[l];
    const PlacementGuard *limit = &balance->limits[l];
    bool held = guard->cause != BALANCE_CAUSE_NONE &&
                now_ns < guard->hold_ns;

    if (!llc->cpus || !is_watched(limit)) {
        return BALANCE_CAUSE_NONE;
    }
    if (above(llc->util, limit->util)) {
        return BALANCE_CAUSE_UTIL;
    }
    if (above(llc->others, limit->tasks)) {
        return BALANCE_CAUSE_TASKS;
    }
    if (held || (guard->cause != BALANCE_CAUSE_NONE && !balance->limits_new &&
                 !(below(llc->util, limit->util) &&
                   below(llc->others, limit->tasks)))) {
        return guard->cause;
    }
    return BALANCE_CAUSE_NONE;
}

/* Closes and opens LLCs by what others run there. */
void balance_guard_look(Balance *balance, int64_t now_ns)
{
    int l;

    for (l = 0; l < balance->host->n_llcs; l++) {
        balance->guards[l].changed = false;
        if (balance->known) {
            set_cause(balance, l, cause_now(balance, l, now_ns), now_ns);
        }
    }
    balance->limits_new &= !balance->known;
}

/* Of the set's LLCs some is closed, and it is not everywhere already. */
static bool set_is_exposed(const Balance *balance, const BalanceSet *set)
{
    int l;

    if (set->cpus == balance->n_candidates) {
        return false;
    }
    for (l = 0; l < balance->host->n_llcs; l++) {
        if (balance->closed[l] && balance_set_uses(set, l)) {
            return true;
        }
    }
    return false;
}

/* The part of our vCPUs, by demand, that are where the guard has closed. */
double balance_exposed(const Balance *balance, const BalanceSets *sets)
{
    g_autofree bool *exposed = g_new0(bool, MAX(sets->n_sets, 1));
    double sum = 0, weight = 0;
    int v, i;

    for (i = 0; i < sets->n_sets; i++) {
        exposed[i] = set_is_exposed(balance, &sets->sets[i]);
    }
    for (v = 0; v < sets->n_vcpus; v++) {
        if (sets->ours[v]) {
            double demand = MAX(balance->demand[v], 1);

            weight += demand;
            sum += exposed[sets->set_of[v]] ? demand : 0;
        }
    }
    return weight > 0 ? sum / weight : 0;
}

/* What others run at least where we are. */
static double least_others(const Balance *balance, const bool *used)
{
    double least = G_MAXDOUBLE;
    int l;

    for (l = 0; l < balance->host->n_llcs; l++) {
        if (used[l]) {
            least = MIN(least, balance_others(balance, l, false));
        }
    }
    return least;
}

/* Close the LLCs that we have, and those where it would be no better. */
static void close_for_loss(Balance *balance, int64_t now_ns)
{
    g_autofree bool *used = g_new0(bool, balance->host->n_llcs);
    double limit;
    int i, l;

    for (l = 0; l < balance->host->n_llcs; l++) {
        for (i = 0; i < balance->running->n_sets; i++) {
            used[l] |= balance_set_uses(&balance->running->sets[i], l);
        }
    }
    limit = least_others(balance, used) * (100 - BALANCE_GAIN_PERCENT) / 100;
    for (l = 0; l < balance->host->n_llcs; l++) {
        if (!balance->llcs[l].cpus ||
            !(used[l] || balance_others(balance, l, true) >= limit)) {
            continue;
        }
        balance->guards[l].hold_ns = now_ns + BALANCE_WAIT_HOLD_NS;
        if (balance->guards[l].cause == BALANCE_CAUSE_NONE) {
            set_cause(balance, l, BALANCE_CAUSE_WAIT, now_ns);
        }
    }
}

static bool any_watched(const Balance *balance)
{
    int l;

    for (l = 0; l < balance->host->n_llcs; l++) {
        if (is_watched(&balance->limits[l])) {
            return true;
        }
    }
    return false;
}

/*
 * What we would lose everywhere, per mille: a kernel that knows of no LLC evens
 * out all load, and up to ROOMY that costs nobody anything.  Where all is
 * overfull, the unevenness must be clear: all we could gain is a fairer share.
 */
static double share_lost_anywhere(const Balance *balance)
{
    double mean = balance_mean_load(balance);
    double here = balance_set_load(balance, balance->running, false);

    if (mean > 1000 && mean * 100 > here * (100 - OVERLOAD_GAIN_PERCENT)) {
        return 1000;
    }
    return mean > ROOMY_PERMILLE ? 1000 * (mean - ROOMY_PERMILLE) / mean : 0;
}

/*
 * Sum up the time that our vCPUs lose beyond BALANCE_LOSS_PERMILLE (a CUSUM
 * test): a heavy loss makes us leave in seconds, a slight one in minutes, a
 * spike not at all; and what is lost before is bounded whatever others do.
 */
void balance_count_loss(Balance *balance, int64_t now_ns)
{
    double window = MIN(now_ns - balance->looked_ns, LOST_WINDOW_MAX_NS);
    double share;

    if (!balance->known || !balance->looked_ns || window <= 0 ||
        !balance->running || balance->running->forced ||
        !any_watched(balance) ||
        (balance->running->guarded && balance->running->n_sets == 1)) {
        balance->lost_ns = 0;
        return;
    }
    share = MAX(balance_loss_here(balance) - share_lost_anywhere(balance),
                0) *
            MIN(1, balance->run_wait / LOST_DEMAND_FULL);
    balance->lost_ns += (share - BALANCE_LOSS_PERMILLE) / 1000 * window;
    balance->lost_ns = MAX(balance->lost_ns, 0);
    if (balance->lost_ns > LOST_LIMIT_NS) {
        close_for_loss(balance, now_ns);
        balance->lost_ns = 0;
        balance->due = true;
    }
}
