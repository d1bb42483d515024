/*
 * CPU bandwidth: the tree of groups, its charges and its gates
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "bandwidth-internal.h"

BandwidthTree *bandwidth_tree_new(void)
{
    BandwidthTree *tree = g_new0(BandwidthTree, 1);

    tree->groups = g_ptr_array_new_with_free_func(g_free);
    tree->look_due = INT64_MAX;
    tree->cpus = BANDWIDTH_VCPUS_MAX;
    return tree;
}

void bandwidth_tree_set_cpus(BandwidthTree *tree, unsigned n_cpus)
{
    g_assert(n_cpus);
    tree->cpus = n_cpus;
}

void bandwidth_tree_free(BandwidthTree *tree)
{
    if (tree) {
        g_ptr_array_unref(tree->groups);
        g_free(tree);
    }
}

/* The clock never goes back, and stands still while the VM is stopped. */
static int64_t tree_turn_to(BandwidthTree *tree, int64_t now_ns)
{
    g_assert(now_ns >= 0 && now_ns <= BANDWIDTH_NOW_NS_MAX);
    if (!tree->paused) {
        tree->now = MAX(tree->now, now_ns);
    }
    return tree->now;
}

/* @vcpus of @group are not gated any more, or less than none. */
static void add_open_vcpus(BandwidthGroup *group, int64_t vcpus)
{
    for (; group; group = group->parent) {
        group->open_vcpus += vcpus;
    }
}

static void gate_close(BandwidthGroup *group, int64_t now)
{
    group->gated_since = now;
    add_open_vcpus(group, -(int64_t)group->own_vcpus);
}

static void gate_open(BandwidthGroup *group, int64_t now)
{
    uint64_t stall = now - group->gated_since;
    BandwidthStats *s = &group->stats;

    add_open_vcpus(group, group->own_vcpus);
    s->gated_ns += stall;
    s->longest_stall_ns = MAX(s->longest_stall_ns, stall);
    group->predict.window_used = 0;
    group->predict.window_start = now;
    group->predict.idle = 0;
}

static void gate_update(BandwidthGroup *group, int64_t now)
{
    const BandwidthGroup *by = group->parent ? group->parent->gated_by : NULL;

    by = group->account.dry ? group : by;
    if (by == group->gated_by) {
        return;
    }
    if (!by != !group->gated_by) {
        group->tree->gates_changed = true;
        if (by) {
            gate_close(group, now);
        } else {
            gate_open(group, now);
        }
    }
    group->gated_by = by;
}

/* Parents come first, so one pass passes all gates down. */
static void gates_update(BandwidthTree *tree, int64_t now)
{
    if (!tree->gates_stale) {
        return;
    }
    tree->gates_stale = false;
    for (guint i = 0; i < tree->groups->len; i++) {
        gate_update(g_ptr_array_index(tree->groups, i), now);
    }
}

static uint64_t add_charge(uint64_t pending, uint64_t ns)
{
    return MIN(pending + MIN(ns, BANDWIDTH_CHARGE_NS_MAX),
               BANDWIDTH_CHARGE_NS_MAX);
}

void bandwidth_charge(BandwidthGroup *group, uint64_t ran_ns)
{
    group->pending = add_charge(group->pending, ran_ns);
}

static uint64_t take_pending(BandwidthGroup *group)
{
    uint64_t used = group->pending;

    if (used) {
        group->pending = 0;
        group->stats.used_ns = bandwidth_add_saturated(group->stats.used_ns,
                                                       used);
        if (group->parent) {
            group->parent->pending = add_charge(group->parent->pending, used);
        }
    }
    return used;
}

/* Children come last, so one pass backwards passes all charges up. */
static void settle(BandwidthTree *tree, int64_t now)
{
    uint64_t late = MAX(now - tree->look_due, 0);

    tree->look_due = INT64_MAX;
    for (guint i = tree->groups->len; i-- > 0;) {
        BandwidthGroup *group = g_ptr_array_index(tree->groups, i);
        uint64_t used = take_pending(group);

        if (group->can_run_dry) {
            if (late && late > group->limits.period_ns) {
                group->stats.late_looks++;
            }
            bandwidth_account_settle(group, used, now);
        }
    }
    gates_update(tree, now);
}

bool bandwidth_advance(BandwidthTree *tree, int64_t now_ns)
{
    int64_t now = tree_turn_to(tree, now_ns);
    bool changed;

    settle(tree, now);
    changed = tree->gates_changed;
    tree->gates_changed = false;
    return changed;
}

/* Limits or vCPUs changed: can the group run dry now? */
static void group_refresh(BandwidthGroup *group, int64_t now)
{
    uint64_t quota = group->limits.quota_ns;
    uint64_t vcpus = MIN(group->n_vcpus, BANDWIDTH_VCPUS_MAX);
    bool could = group->can_run_dry;

    group->can_run_dry = quota && quota < vcpus * group->limits.period_ns;
    if (group->can_run_dry && !could) {
        bandwidth_predict_start(group, now);
        bandwidth_account_start(group, now);
    } else if (!group->can_run_dry) {
        bandwidth_account_set_dry(group, false, now);
        group->stats.consecutive_throttled = 0;
    }
}

BandwidthGroup *bandwidth_group_add(BandwidthTree *tree,
                                    BandwidthGroup *parent,
                                    const BandwidthLimits *limits,
                                    int64_t now_ns, GError **err)
{
    int64_t now = tree_turn_to(tree, now_ns);
    BandwidthGroup *group;

    g_assert(bandwidth_limits_valid(limits));
    if (parent && parent->depth == BANDWIDTH_DEPTH_MAX) {
        g_set_error(err, BANDWIDTH_ERROR, 0, "groups can be nested %d deep, "
                    "not deeper", BANDWIDTH_DEPTH_MAX);
        return NULL;
    }
    if (!tree->groups->len) {
        tree->epoch = now;
    }
    group = g_new0(BandwidthGroup, 1);
    group->tree = tree;
    group->parent = parent;
    group->depth = parent ? parent->depth + 1 : 1;
    group->limits = *limits;
    if (parent) {
        parent->n_children++;
    }
    g_ptr_array_add(tree->groups, group);
    tree->gates_stale = true;
    gates_update(tree, now);
    return group;
}

/* Everything up to now is settled by the old rules. */
static int64_t settle_before_change(BandwidthTree *tree, int64_t now_ns)
{
    int64_t now = tree_turn_to(tree, now_ns);

    settle(tree, now);
    return now;
}

void bandwidth_group_set_vcpus(BandwidthGroup *group, unsigned n_vcpus,
                               int64_t now_ns)
{
    int64_t now = settle_before_change(group->tree, now_ns);
    unsigned before = group->own_vcpus;

    g_assert(n_vcpus <= BANDWIDTH_VCPUS_MAX);
    group->own_vcpus = n_vcpus;
    if (!group->gated_by) {
        add_open_vcpus(group, (int64_t)n_vcpus - before);
    }
    for (BandwidthGroup *g = group; g; g = g->parent) {
        g->n_vcpus = g->n_vcpus - before + n_vcpus;
        group_refresh(g, now);
    }
    gates_update(group->tree, now);
}

void bandwidth_group_set_limits(BandwidthGroup *group,
                                const BandwidthLimits *limits, int64_t now_ns)
{
    int64_t now = settle_before_change(group->tree, now_ns);

    g_assert(bandwidth_limits_valid(limits));
    if (limits->quota_ns == group->limits.quota_ns &&
        limits->period_ns == group->limits.period_ns &&
        limits->burst_ns == group->limits.burst_ns) {
        return;
    }
    group->limits = *limits;
    bandwidth_account_set_dry(group, false, now);
    group->can_run_dry = false;
    group_refresh(group, now);
    gates_update(group->tree, now);
}

void bandwidth_group_remove(BandwidthGroup *group, int64_t now_ns)
{
    BandwidthTree *tree = group->tree;

    g_assert(!group->n_children);
    bandwidth_group_set_vcpus(group, 0, now_ns);
    if (group->parent) {
        group->parent->n_children--;
    }
    g_ptr_array_remove(tree->groups, group);
}

void bandwidth_pause(BandwidthTree *tree, int64_t now_ns)
{
    settle_before_change(tree, now_ns);
    tree->paused = true;
}

/* One refill: all periods that went by but the last are skipped. */
static void group_resume(BandwidthGroup *group, int64_t now, int64_t paused)
{
    int64_t period = group->limits.period_ns;

    group->gated_since += paused;
    group->dry_since += paused;
    group->predict.window_start += paused;
    if (group->can_run_dry && now > group->account.period_end) {
        group->account.period_end +=
            (now - group->account.period_end) / period * period;
    }
}

void bandwidth_resume(BandwidthTree *tree, int64_t now_ns)
{
    int64_t before = tree->now;
    int64_t now;

    if (!tree->paused) {
        return;
    }
    tree->paused = false;
    tree->look_due = INT64_MAX;
    now = tree_turn_to(tree, now_ns);
    for (guint i = 0; i < tree->groups->len; i++) {
        group_resume(g_ptr_array_index(tree->groups, i), now, now - before);
    }
}

bool bandwidth_group_gated(const BandwidthGroup *group)
{
    return group->gated_by;
}

const BandwidthGroup *bandwidth_group_gated_by(const BandwidthGroup *group)
{
    return group->gated_by;
}

bool bandwidth_group_limited(const BandwidthGroup *group)
{
    while (group && !group->can_run_dry) {
        group = group->parent;
    }
    return group;
}

void bandwidth_group_stats(const BandwidthGroup *group, int64_t now_ns,
                           BandwidthStats *ret_stats)
{
    const BandwidthAccount *a = &group->account;
    const BandwidthTree *tree = group->tree;
    int64_t now = tree->paused ? tree->now : MAX(now_ns, tree->now);
    uint64_t stall;

    *ret_stats = group->stats;
    ret_stats->debt_ns = a->debt;
    if (group->can_run_dry) {
        ret_stats->remaining_ns = a->remaining;
        ret_stats->margin_ns = group->predict.margin;
        ret_stats->need_ns = bandwidth_predict_need(group);
    }
    if (a->dry) {
        ret_stats->throttled_ns += now - group->dry_since;
    }
    if (group->gated_by) {
        stall = now - group->gated_since;
        ret_stats->gated_ns += stall;
        ret_stats->longest_stall_ns = MAX(ret_stats->longest_stall_ns, stall);
    }
}
