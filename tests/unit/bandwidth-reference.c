/*
 * The rules of docs/devel/bandwidth.rst again: slow and obvious, to compare
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "bandwidth-reference.h"

#define CHARGE_MAX ((RefTime)1 << 60)

RefTree *ref_tree_new(void)
{
    RefTree *tree = g_new0(RefTree, 1);

    tree->groups = g_ptr_array_new_with_free_func(g_free);
    return tree;
}

void ref_tree_free(RefTree *tree)
{
    g_ptr_array_unref(tree->groups);
    g_free(tree);
}

static RefGroup *nth(RefTree *tree, guint i)
{
    return g_ptr_array_index(tree->groups, i);
}

static bool is_below(const RefGroup *group, const RefGroup *top)
{
    while (group && group != top) {
        group = group->parent;
    }
    return group;
}

static RefTime vcpus_below(RefTree *tree, const RefGroup *top)
{
    RefTime n = 0;

    for (guint i = 0; i < tree->groups->len; i++) {
        n += is_below(nth(tree, i), top) ? nth(tree, i)->own_vcpus : 0;
    }
    return n;
}

/* The clock stands still while the VM is stopped, and never goes back. */
static void turn_to(RefTree *tree, int64_t now)
{
    if (!tree->paused && now > tree->now) {
        tree->now = now;
    }
}

/* "Four quotas, or what its vCPUs use in two periods" */
static RefTime debt_max(RefTree *tree, RefGroup *g)
{
    RefTime quotas = 4 * (RefTime)g->limits.quota_ns;
    RefTime periods = 2 * MAX(vcpus_below(tree, g), 1) * g->limits.period_ns;

    return MAX(quotas, periods);
}

static void forgive(RefTree *tree, RefGroup *g)
{
    RefTime most = debt_max(tree, g);

    if (g->debt > most) {
        g->forgiven += g->debt - most;
        g->debt = most;
    }
}

/* "At most half a quota of it; who saves up, one to seven eighths" */
static void new_period(RefTree *tree, RefGroup *g, RefTime carried,
                       RefTime late, bool saves)
{
    RefTime owed = MIN(g->debt, debt_max(tree, g));
    RefTime eighths = 1 + 6 * owed / debt_max(tree, g);
    RefTime most = saves ? g->limits.quota_ns / 8 * eighths :
                           g->limits.quota_ns / 2;
    RefTime repaid = MIN(g->debt, most);

    g->debt -= repaid;
    g->budget = g->limits.quota_ns - repaid + carried + late;
    g->burst_part = carried;
    g->late_part = late;
    g->used_in_period = 0;
}

static void start(RefTree *tree, RefGroup *g)
{
    g->dry = g->was_dry = false;
    g->period_end = tree->epoch;
    /* A loop would be more obvious still, and never end. */
    g->period_end += ((tree->now - tree->epoch) / g->limits.period_ns + 1) *
                     g->limits.period_ns;
    new_period(tree, g, 0, 0, false);
    forgive(tree, g);
}

static void count_period(RefGroup *g)
{
    if (g->used_in_period || g->dry) {
        g->periods++;
        g->throttled_periods += g->dry;
        g->streak = g->dry ? g->streak + 1 : 0;
        g->longest_streak = MAX(g->longest_streak, g->streak);
    } else {
        g->streak = 0;
    }
}

static void count_burst(RefGroup *g, RefTime n)
{
    RefTime beyond = g->used_in_period - n * g->limits.quota_ns - g->late_part;

    if (g->burst_part && beyond > 0) {
        g->bursts++;
        g->burst_ns += MIN(beyond, g->burst_part);
    }
}

/* "What is left at a period's end repays debt, but for what is saved up" */
static void repay_from_budget(RefGroup *g, RefTime saved)
{
    RefTime paid = MIN(MAX(g->budget - saved, 0), g->debt);

    g->budget -= paid;
    g->debt -= paid;
}

/* "What a late release or look left unspent carries over besides, ..." */
static RefTime late_part(const RefGroup *g, RefTime over)
{
    RefTime half = g->limits.quota_ns / 2;

    if (g->dry || g->was_dry) {
        return MIN(over, half + g->margin);
    }
    if (g->used_in_period < half) {
        return 0;
    }
    return MIN(over, g->late_part);
}

static void end_periods(RefTree *tree, RefGroup *g)
{
    bool dry = g->dry;
    RefTime saved = dry ? g->need : 0;
    RefTime carried, n = 0;

    while (g->period_end <= tree->now) {
        /* Only the last of several can still be made dark by debt. */
        g->budget += n ? g->limits.quota_ns : 0;
        repay_from_budget(g, saved);
        count_period(g);
        g->period_end += g->limits.period_ns;
        n++;
    }
    count_burst(g, MIN(n, 256));
    carried = MIN(g->budget, (RefTime)g->limits.burst_ns);
    new_period(tree, g, carried, late_part(g, g->budget - carried), saved > 0);
    if (dry && g->budget >= g->need) {
        g->dry = false;
    }
    g->was_dry = dry;
}

static void settle(RefTree *tree, RefGroup *g)
{
    RefTime used = g->charged;

    g->charged = 0;
    g->used += used;
    if (!g->finite) {
        return;
    }
    g->used_in_period += used;
    g->budget -= used;
    if (g->budget < 0) {
        g->debt -= g->budget;
        g->budget = 0;
    }
    if (tree->now >= g->period_end) {
        end_periods(tree, g);
    } else if (g->budget == 0 || (used && g->budget <= g->margin)) {
        g->dry = true;
    }
    forgive(tree, g);
}

static void settle_all(RefTree *tree)
{
    for (guint i = 0; i < tree->groups->len; i++) {
        settle(tree, nth(tree, i));
    }
}

void ref_advance(RefTree *tree, int64_t now)
{
    turn_to(tree, now);
    settle_all(tree);
}

static void refresh(RefTree *tree, RefGroup *g)
{
    bool finite = g->limits.quota_ns &&
        g->limits.quota_ns < vcpus_below(tree, g) * g->limits.period_ns;

    if (finite && !g->finite) {
        start(tree, g);
    }
    g->finite = finite;
    g->dry &= finite;
    g->streak = finite ? g->streak : 0;
}

RefGroup *ref_add(RefTree *tree, RefGroup *parent, BandwidthGroup *real,
                  const BandwidthLimits *limits, int64_t now)
{
    RefGroup *g = g_new0(RefGroup, 1);

    turn_to(tree, now);
    if (!tree->groups->len) {
        tree->epoch = tree->now;
    }
    g->parent = parent;
    g->real = real;
    g->limits = *limits;
    g_ptr_array_add(tree->groups, g);
    return g;
}

void ref_set_vcpus(RefTree *tree, RefGroup *group, unsigned n, int64_t now)
{
    ref_advance(tree, now);
    group->own_vcpus = n;
    for (RefGroup *g = group; g; g = g->parent) {
        refresh(tree, g);
    }
}

void ref_remove(RefTree *tree, RefGroup *group, int64_t now)
{
    ref_set_vcpus(tree, group, 0, now);
    g_ptr_array_remove(tree->groups, group);
}

void ref_set_limits(RefTree *tree, RefGroup *group,
                    const BandwidthLimits *limits, int64_t now)
{
    ref_advance(tree, now);
    if (limits->quota_ns != group->limits.quota_ns ||
        limits->period_ns != group->limits.period_ns ||
        limits->burst_ns != group->limits.burst_ns) {
        group->limits = *limits;
        group->finite = group->dry = false;
        refresh(tree, group);
    }
}

/* All charges of a test are below the limit that one look has. */
void ref_charge(RefGroup *group, uint64_t ns)
{
    for (; group; group = group->parent) {
        group->charged = MIN(group->charged + MIN((RefTime)ns, CHARGE_MAX),
                             CHARGE_MAX);
    }
}

void ref_pause(RefTree *tree, int64_t now)
{
    ref_advance(tree, now);
    tree->paused = true;
}

void ref_resume(RefTree *tree, int64_t now)
{
    if (!tree->paused) {
        return;
    }
    tree->paused = false;
    turn_to(tree, now);
    for (guint i = 0; i < tree->groups->len; i++) {
        RefGroup *g = nth(tree, i);

        while (g->finite && g->period_end + g->limits.period_ns <= now) {
            g->period_end += g->limits.period_ns;
        }
    }
}

void ref_take_predictions(RefTree *tree, int64_t now)
{
    BandwidthStats s;

    for (guint i = 0; i < tree->groups->len; i++) {
        bandwidth_group_stats(nth(tree, i)->real, now, &s);
        nth(tree, i)->margin = s.margin_ns;
        nth(tree, i)->need = s.need_ns;
    }
}

RefGroup *ref_gated_by(RefGroup *group)
{
    while (group && !group->dry) {
        group = group->parent;
    }
    return group;
}

static void assert_counters(const RefGroup *g, const BandwidthStats *s)
{
    g_assert_true(s->periods == g->periods);
    g_assert_true(s->throttled_periods == g->throttled_periods);
    g_assert_true(s->bursts == g->bursts);
    g_assert_true(s->burst_ns == g->burst_ns);
    g_assert_true(s->consecutive_throttled == g->streak);
    g_assert_true(s->consecutive_throttled_max == g->longest_streak);
    g_assert_true(s->used_ns == MIN(g->used, (RefTime)UINT64_MAX));
    g_assert_true(s->forgiven_ns == MIN(g->forgiven, (RefTime)UINT64_MAX));
}

void ref_assert_equal(RefTree *tree, int64_t now)
{
    for (guint i = 0; i < tree->groups->len; i++) {
        RefGroup *g = nth(tree, i);
        RefGroup *by = ref_gated_by(g);
        BandwidthStats s;

        bandwidth_group_stats(g->real, now, &s);
        g_assert_cmpint(bandwidth_group_gated(g->real), ==, by != NULL);
        g_assert_true(bandwidth_group_gated_by(g->real) ==
                      (by ? by->real : NULL));
        g_assert_true(s.debt_ns == g->debt);
        g_assert_true(s.remaining_ns == (g->finite ? g->budget : 0));
        /* A gate closes early only where it was closed before. */
        g_assert_true(!s.margin_ns || g->was_dry);
        assert_counters(g, &s);
    }
}
