/*
 * Tests of the quota tree, rule by rule
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <string.h>

#include "hw/sched/bandwidth.h"

#define US 1000ll
#define MS 1000000ll

/* 5 ms of 10 for two vCPUs, unless a test says otherwise. */
#define QUOTA (5 * MS)
#define PERIOD (10 * MS)

static const BandwidthLimits five_of_ten = { QUOTA, PERIOD, 0 };
static const BandwidthLimits unlimited = { 0, PERIOD, 0 };

static BandwidthGroup *add(BandwidthTree *tree, BandwidthGroup *parent,
                           BandwidthLimits limits, unsigned n_vcpus)
{
    g_autoptr(GError) err = NULL;
    BandwidthGroup *group;

    group = bandwidth_group_add(tree, parent, &limits, 0, &err);
    g_assert_no_error(err);
    bandwidth_group_set_vcpus(group, n_vcpus, 0);
    return group;
}

static BandwidthGroup *add_default(BandwidthTree *tree)
{
    return add(tree, NULL, five_of_ten, 2);
}

static bool use(BandwidthTree *tree, BandwidthGroup *group, int64_t ns,
                int64_t now)
{
    bandwidth_charge(group, ns);
    return bandwidth_advance(tree, now);
}

static BandwidthStats stats(const BandwidthGroup *group, int64_t now)
{
    BandwidthStats s;

    bandwidth_group_stats(group, now, &s);
    return s;
}

/* --- limits --- */

static void assert_limits(int64_t quota, int64_t period, int64_t burst)
{
    g_autoptr(GError) err = NULL;
    BandwidthLimits limits;

    g_assert_true(bandwidth_limits_from_us(quota, period, burst, &limits,
                                           &err));
    g_assert_no_error(err);
    g_assert_cmpuint(limits.quota_ns, ==, quota * US);
    g_assert_cmpuint(limits.period_ns, ==, period * US);
    g_assert_cmpuint(limits.burst_ns, ==, burst * US);
    g_assert_true(bandwidth_limits_valid(&limits));
}

static void assert_refused(int64_t quota, int64_t period, int64_t burst,
                           const char *message)
{
    g_autoptr(GError) err = NULL;
    BandwidthLimits before = { 1, 2, 3 }, limits = before;

    g_assert_false(bandwidth_limits_from_us(quota, period, burst, &limits,
                                            &err));
    g_assert_error(err, BANDWIDTH_ERROR, 0);
    g_assert_cmpstr(err->message, ==, message);
    g_assert_cmpmem(&limits, sizeof(limits), &before, sizeof(before));
}

static void test_limits_in_range_are_taken(void)
{
    assert_limits(0, 10000, 0);
    assert_limits(100, 1000, 0);
    assert_limits(100, 1000000, 10000);
    assert_limits(9007199254740, 1000, 900719925474000);
}

static void test_limits_out_of_range_are_refused_with_the_range(void)
{
    assert_refused(-1, 10000, 0, "quota-us -1: cannot be negative; 0 is "
                   "unlimited, else from 100 to 9007199254740");
    assert_refused(INT64_MIN, 10000, 0, "quota-us -9223372036854775808: cannot "
                   "be negative; 0 is unlimited, else from 100 to "
                   "9007199254740");
    assert_refused(99, 10000, 0, "quota-us 99: must be from 100 to "
                   "9007199254740, or 0 for unlimited");
    assert_refused(9007199254741, 10000, 0, "quota-us 9007199254741: must be "
                   "from 100 to 9007199254740, or 0 for unlimited");
    assert_refused(INT64_MAX, 10000, 0, "quota-us 9223372036854775807: must "
                   "be from 100 to 9007199254740, or 0 for unlimited");
    assert_refused(5000, 999, 0, "period-us 999: must be from 1000 to 1000000");
    assert_refused(5000, 1000001, 0, "period-us 1000001: must be from 1000 to "
                   "1000000");
    assert_refused(0, 0, 0, "period-us 0: must be from 1000 to 1000000");
    assert_refused(5000, 10000, -1, "burst-us -1: cannot be negative; 0 is no "
                   "burst");
    assert_refused(5000, 10000, 500001, "burst-us 500001: must be from 0 to "
                   "500000, 100 times the quota-us 5000");
    assert_refused(5000, 10000, INT64_MAX, "burst-us 9223372036854775807: must "
                   "be from 0 to 500000, 100 times the quota-us 5000");
    assert_refused(0, 10000, 1, "burst-us 1: needs a quota-us: with 0, "
                   "unlimited, there is nothing to carry over");
}

static void test_the_smallest_share_of_the_path_is_effective(void)
{
    g_autoptr(BandwidthTree) tree = bandwidth_tree_new();
    BandwidthGroup *top = add(tree, NULL, five_of_ten, 0);
    BandwidthGroup *mid = add(tree, top, (BandwidthLimits) {
        .quota_ns = 49 * MS, .period_ns = 100 * MS }, 0);
    BandwidthGroup *leaf = add(tree, mid, (BandwidthLimits) {
        .quota_ns = BANDWIDTH_QUOTA_NS_MAX, .period_ns = MS }, 2);
    BandwidthLimits limits;

    g_assert_true(bandwidth_group_effective(leaf, &limits) == mid);
    g_assert_cmpuint(limits.quota_ns, ==, 49 * MS);
    g_assert_true(bandwidth_group_effective(top, &limits) == top);
    bandwidth_group_set_limits(mid, &unlimited, 0);
    g_assert_true(bandwidth_group_effective(leaf, &limits) == top);
    bandwidth_group_set_limits(leaf, &five_of_ten, 0);
    g_assert_true(bandwidth_group_effective(leaf, &limits) == leaf);
    bandwidth_group_set_limits(leaf, &unlimited, 0);
    bandwidth_group_set_limits(top, &unlimited, 0);
    g_assert_null(bandwidth_group_effective(leaf, &limits));
    g_assert_cmpuint(limits.quota_ns, ==, 0);
}

/* --- quota and refill --- */

static void test_a_group_runs_until_its_quota_is_used(void)
{
    g_autoptr(BandwidthTree) tree = bandwidth_tree_new();
    BandwidthGroup *group = add_default(tree);

    g_assert_false(use(tree, group, QUOTA - 1, 3 * MS));
    g_assert_false(bandwidth_group_gated(group));
    g_assert_true(use(tree, group, 1, 3 * MS + 1));
    g_assert_true(bandwidth_group_gated_by(group) == group);
    g_assert_false(bandwidth_advance(tree, PERIOD - 1));
    g_assert_true(bandwidth_group_gated(group));
    g_assert_true(bandwidth_advance(tree, PERIOD));
    g_assert_false(bandwidth_group_gated(group));
    g_assert_cmpuint(stats(group, PERIOD).remaining_ns, ==, QUOTA);
}

static void test_running_time_is_settled_before_refill(void)
{
    g_autoptr(BandwidthTree) tree = bandwidth_tree_new();
    BandwidthGroup *group = add_default(tree);

    use(tree, group, QUOTA, PERIOD);
    g_assert_false(bandwidth_group_gated(group));
    g_assert_cmpuint(stats(group, PERIOD).remaining_ns, ==, QUOTA);
    g_assert_cmpuint(stats(group, PERIOD).throttled_periods, ==, 0);
}

static void test_unused_quota_is_lost_without_burst(void)
{
    g_autoptr(BandwidthTree) tree = bandwidth_tree_new();
    BandwidthGroup *group = add_default(tree);

    use(tree, group, 1 * MS, PERIOD);
    g_assert_cmpuint(stats(group, PERIOD).remaining_ns, ==, QUOTA);
}

static void test_unused_quota_carries_over_up_to_the_burst(void)
{
    g_autoptr(BandwidthTree) tree = bandwidth_tree_new();
    BandwidthGroup *group = add(tree, NULL, (BandwidthLimits) {
        QUOTA, PERIOD, 7 * MS }, 4);

    use(tree, group, 1 * MS, PERIOD);
    g_assert_cmpuint(stats(group, 0).remaining_ns, ==, QUOTA + 4 * MS);
    use(tree, group, 1 * MS, 2 * PERIOD);
    g_assert_cmpuint(stats(group, 0).remaining_ns, ==, QUOTA + 7 * MS);
    g_assert_cmpuint(stats(group, 0).bursts, ==, 0);
    use(tree, group, 11 * MS, 3 * PERIOD);
    g_assert_cmpuint(stats(group, 0).bursts, ==, 1);
    g_assert_cmpuint(stats(group, 0).burst_ns, ==, 6 * MS);
    g_assert_cmpuint(stats(group, 0).remaining_ns, ==, QUOTA + 1 * MS);
    g_assert_cmpuint(stats(group, 0).throttled_periods, ==, 0);
}

static void test_a_late_look_gives_the_quota_of_every_period(void)
{
    g_autoptr(BandwidthTree) tree = bandwidth_tree_new();
    BandwidthGroup *group = add(tree, NULL, (BandwidthLimits) {
        QUOTA, PERIOD, 12 * MS }, 2);

    bandwidth_advance(tree, 3 * PERIOD);
    g_assert_cmpuint(stats(group, 0).remaining_ns, ==, QUOTA + 12 * MS);
    /* Four periods in which it used as much as it may: no debt. */
    use(tree, group, 4 * QUOTA, 7 * PERIOD);
    g_assert_cmpuint(stats(group, 0).remaining_ns, ==, QUOTA + 12 * MS);
    g_assert_cmpuint(stats(group, 0).debt_ns, ==, 0);
    g_assert_cmpuint(stats(group, 0).periods, ==, 4);
}

static void test_what_a_late_release_left_carries_over_to_half_a_quota(void)
{
    g_autoptr(BandwidthTree) tree = bandwidth_tree_new();
    BandwidthGroup *group = add_default(tree);

    use(tree, group, QUOTA, 5 * MS);
    bandwidth_advance(tree, PERIOD);
    use(tree, group, 4 * MS, 2 * PERIOD);
    g_assert_cmpuint(stats(group, 0).remaining_ns, ==, QUOTA + 1 * MS);
    /* Kept while it is busy, but it does not grow. */
    use(tree, group, 4 * MS, 3 * PERIOD);
    g_assert_cmpuint(stats(group, 0).remaining_ns, ==, QUOTA + 1 * MS);
    use(tree, group, QUOTA / 2 - 1, 4 * PERIOD);
    g_assert_cmpuint(stats(group, 0).remaining_ns, ==, QUOTA);
    use(tree, group, QUOTA, 4 * PERIOD + 5 * MS);
    bandwidth_advance(tree, 5 * PERIOD);
    bandwidth_advance(tree, 5 * PERIOD + 1 * MS);
    bandwidth_advance(tree, 6 * PERIOD);
    /* Half, and what the early gate would have left. */
    g_assert_cmpuint(stats(group, 0).remaining_ns, >=, QUOTA + QUOTA / 2);
    g_assert_cmpuint(stats(group, 0).remaining_ns, <=, QUOTA + QUOTA / 2 +
                     2 * BANDWIDTH_LOOK_NS_MIN);
}

/* --- debt --- */

static void test_debt_is_repaid_by_half_a_quota_each_period(void)
{
    g_autoptr(BandwidthTree) tree = bandwidth_tree_new();
    BandwidthGroup *group = add_default(tree);

    use(tree, group, QUOTA + 4 * MS, 5 * MS);
    g_assert_cmpuint(stats(group, 0).debt_ns, ==, 4 * MS);
    g_assert_cmpuint(stats(group, 0).remaining_ns, ==, 0);
    bandwidth_advance(tree, PERIOD);
    g_assert_false(bandwidth_group_gated(group));
    g_assert_cmpuint(stats(group, 0).remaining_ns, ==, QUOTA / 2);
    g_assert_cmpuint(stats(group, 0).debt_ns, ==, 1500 * US);
    use(tree, group, QUOTA / 2, 2 * PERIOD);
    g_assert_cmpuint(stats(group, 0).remaining_ns, ==, QUOTA - 1500 * US);
    g_assert_cmpuint(stats(group, 0).debt_ns, ==, 0);
}

static void test_what_is_left_repays_debt_first(void)
{
    g_autoptr(BandwidthTree) tree = bandwidth_tree_new();
    BandwidthGroup *group = add(tree, NULL, (BandwidthLimits) {
        QUOTA, PERIOD, QUOTA }, 2);

    use(tree, group, QUOTA + 9 * MS, 5 * MS);
    bandwidth_advance(tree, PERIOD);
    g_assert_cmpuint(stats(group, 0).debt_ns, ==, 6500 * US);
    bandwidth_advance(tree, 2 * PERIOD);
    /* 2.5 left pay, then half of 5: nothing is carried over. */
    g_assert_cmpuint(stats(group, 0).debt_ns, ==, 1500 * US);
    g_assert_cmpuint(stats(group, 0).remaining_ns, ==, QUOTA / 2);
}

static void test_only_debt_above_what_is_ever_owed_is_forgiven(void)
{
    g_autoptr(BandwidthTree) tree = bandwidth_tree_new();
    BandwidthGroup *small = add_default(tree);
    BandwidthGroup *large = add(tree, NULL, (BandwidthLimits) {
        15 * MS, PERIOD, 0 }, 2);

    /* Two vCPUs, two periods. */
    use(tree, small, QUOTA + 40 * MS, 1 * MS);
    g_assert_cmpuint(stats(small, 0).forgiven_ns, ==, 0);
    use(tree, small, 1 * MS, 2 * MS);
    g_assert_cmpuint(stats(small, 0).forgiven_ns, ==, 1 * MS);
    g_assert_cmpuint(stats(small, 0).debt_ns, ==, 40 * MS);
    /* Four quotas. */
    use(tree, large, 5 * 15 * MS, 2 * MS);
    g_assert_cmpuint(stats(large, 0).forgiven_ns, ==, 0);
    use(tree, large, 1, 2 * MS);
    g_assert_cmpuint(stats(large, 0).forgiven_ns, ==, 1);
}

static void test_a_huge_charge_is_forgiven_not_wrapped(void)
{
    g_autoptr(BandwidthTree) tree = bandwidth_tree_new();
    BandwidthGroup *top = add_default(tree);
    BandwidthGroup *leaf = add(tree, top, five_of_ten, 2);

    for (int i = 0; i < 20; i++) {
        bandwidth_charge(top, UINT64_MAX);
        use(tree, leaf, UINT64_MAX, BANDWIDTH_NOW_NS_MAX - PERIOD + i);
    }
    g_assert_cmpuint(stats(top, 0).used_ns, ==, UINT64_MAX);
    g_assert_cmpuint(stats(top, 0).debt_ns, ==, 2 * 4 * PERIOD);
    bandwidth_advance(tree, BANDWIDTH_NOW_NS_MAX);
    g_assert_false(bandwidth_group_gated(leaf));
}

/* --- the tree --- */

static void test_a_charge_counts_for_all_ancestors(void)
{
    g_autoptr(BandwidthTree) tree = bandwidth_tree_new();
    BandwidthGroup *top = add_default(tree);
    BandwidthGroup *mid = add(tree, top, unlimited, 0);
    BandwidthGroup *one = add(tree, mid, five_of_ten, 1);
    BandwidthGroup *two = add(tree, mid, five_of_ten, 1);

    bandwidth_charge(one, 1 * MS);
    bandwidth_charge(two, 2 * MS);
    bandwidth_advance(tree, 3 * MS);
    g_assert_cmpuint(stats(one, 0).used_ns, ==, 1 * MS);
    g_assert_cmpuint(stats(two, 0).used_ns, ==, 2 * MS);
    g_assert_cmpuint(stats(mid, 0).used_ns, ==, 3 * MS);
    g_assert_cmpuint(stats(top, 0).used_ns, ==, 3 * MS);
    g_assert_cmpuint(stats(top, 0).remaining_ns, ==, 2 * MS);
}

static void test_an_ancestor_gates_all_below_it_at_once(void)
{
    g_autoptr(BandwidthTree) tree = bandwidth_tree_new();
    BandwidthGroup *top = add_default(tree);
    BandwidthGroup *one = add(tree, top, unlimited, 2);
    BandwidthGroup *two = add(tree, top, (BandwidthLimits) {
        4 * MS, PERIOD, 0 }, 2);
    BandwidthGroup *other = add_default(tree);

    g_assert_true(use(tree, one, QUOTA, 3 * MS));
    g_assert_true(bandwidth_group_gated_by(one) == top);
    g_assert_true(bandwidth_group_gated_by(two) == top);
    g_assert_false(bandwidth_group_gated(other));
    /* Running on until it stops, a group may run dry itself. */
    g_assert_false(use(tree, two, 4 * MS, 4 * MS));
    g_assert_true(bandwidth_group_gated_by(two) == two);
    g_assert_true(bandwidth_group_gated_by(one) == top);
    g_assert_cmpuint(stats(one, 9 * MS).throttled_ns, ==, 0);
    g_assert_cmpuint(stats(one, 9 * MS).gated_ns, ==, 6 * MS);
    g_assert_cmpuint(stats(two, 9 * MS).throttled_ns, ==, 5 * MS);
    g_assert_cmpuint(stats(two, 9 * MS).gated_ns, ==, 6 * MS);
    g_assert_true(bandwidth_advance(tree, PERIOD));
    g_assert_false(bandwidth_group_gated(one));
    g_assert_false(bandwidth_group_gated(two));
}

static void test_a_group_that_is_added_below_a_gate_is_gated(void)
{
    g_autoptr(BandwidthTree) tree = bandwidth_tree_new();
    BandwidthGroup *top = add_default(tree), *leaf;

    use(tree, top, QUOTA, 3 * MS);
    leaf = bandwidth_group_add(tree, top, &unlimited, 3 * MS, NULL);
    g_assert_true(bandwidth_group_gated_by(leaf) == top);
    g_assert_true(bandwidth_advance(tree, 3 * MS));
}

static void test_a_removed_group_leaves_its_use_with_its_ancestors(void)
{
    g_autoptr(BandwidthTree) tree = bandwidth_tree_new();
    BandwidthGroup *top = add_default(tree);
    BandwidthGroup *leaf = add(tree, top, (BandwidthLimits) {
        1 * MS, PERIOD, 0 }, 2);

    use(tree, leaf, 2 * MS, 1 * MS);
    g_assert_true(bandwidth_group_gated(leaf));
    bandwidth_charge(leaf, 1 * MS);
    bandwidth_group_remove(leaf, 2 * MS);
    bandwidth_advance(tree, 2 * MS);
    g_assert_cmpuint(stats(top, 0).used_ns, ==, 3 * MS);
    g_assert_cmpuint(stats(top, 0).remaining_ns, ==, 2 * MS);
}

static void test_the_depth_is_limited(void)
{
    g_autoptr(BandwidthTree) tree = bandwidth_tree_new();
    g_autoptr(GError) err = NULL;
    BandwidthGroup *group = NULL;

    for (int i = 0; i < BANDWIDTH_DEPTH_MAX; i++) {
        group = add(tree, group, five_of_ten, 2);
    }
    g_assert_null(bandwidth_group_add(tree, group, &five_of_ten, 0, &err));
    g_assert_error(err, BANDWIDTH_ERROR, 0);
    g_assert_cmpstr(err->message, ==,
                    "groups can be nested 32 deep, not deeper");
    use(tree, group, 2 * QUOTA, 1 * MS);
    g_assert_true(bandwidth_group_gated_by(group) == group);
    g_assert_true(bandwidth_advance(tree, PERIOD));
}

static void test_equal_periods_end_together(void)
{
    g_autoptr(BandwidthTree) tree = bandwidth_tree_new();
    BandwidthGroup *first = add_default(tree), *second;

    second = bandwidth_group_add(tree, NULL, &five_of_ten, 7 * MS, NULL);
    bandwidth_group_set_vcpus(second, 2, 7 * MS);
    bandwidth_charge(first, QUOTA);
    use(tree, second, QUOTA, 8 * MS);
    g_assert_true(bandwidth_group_gated(first));
    g_assert_true(bandwidth_group_gated(second));
    bandwidth_advance(tree, PERIOD);
    g_assert_false(bandwidth_group_gated(first));
    g_assert_false(bandwidth_group_gated(second));
}

/* --- what is no limit --- */

static void test_a_quota_of_all_vcpus_is_no_limit(void)
{
    g_autoptr(BandwidthTree) tree = bandwidth_tree_new();
    BandwidthGroup *group = add(tree, NULL, (BandwidthLimits) {
        2 * PERIOD, PERIOD, 0 }, 2);

    g_assert_false(bandwidth_group_limited(group));
    g_assert_false(use(tree, group, 3 * PERIOD, PERIOD));
    g_assert_cmpint(bandwidth_next_look(tree, PERIOD), ==, INT64_MAX);
    bandwidth_group_set_vcpus(group, 3, PERIOD);
    g_assert_true(bandwidth_group_limited(group));
    g_assert_cmpint(bandwidth_next_look(tree, PERIOD), <, INT64_MAX);
    use(tree, group, 2 * PERIOD, PERIOD + 1);
    g_assert_true(bandwidth_group_gated(group));
    /* A vCPU is unplugged: what is left cannot use more. */
    bandwidth_group_set_vcpus(group, 2, PERIOD + 2);
    g_assert_false(bandwidth_group_gated(group));
    g_assert_true(bandwidth_advance(tree, PERIOD + 2));
}

static void test_a_limit_holds_for_the_vcpus_of_groups_below(void)
{
    g_autoptr(BandwidthTree) tree = bandwidth_tree_new();
    BandwidthGroup *top = add(tree, NULL, (BandwidthLimits) {
        15 * MS, PERIOD, 0 }, 0);
    BandwidthGroup *one = add(tree, top, unlimited, 1);
    BandwidthGroup *two = add(tree, top, unlimited, 0);

    g_assert_false(bandwidth_group_limited(one));
    bandwidth_group_set_vcpus(two, 1, 0);
    g_assert_true(bandwidth_group_limited(one));
    g_assert_true(bandwidth_group_limited(two));
    bandwidth_group_remove(two, 0);
    g_assert_false(bandwidth_group_limited(one));
}

/* --- changes --- */

static void test_new_limits_begin_a_period_but_keep_debt(void)
{
    g_autoptr(BandwidthTree) tree = bandwidth_tree_new();
    BandwidthGroup *group = add_default(tree);
    BandwidthLimits limits = { 8 * MS, 20 * MS, 0 };

    use(tree, group, QUOTA + 6 * MS, 5 * MS);
    g_assert_true(bandwidth_group_gated(group));
    bandwidth_group_set_limits(group, &limits, 6 * MS);
    g_assert_false(bandwidth_group_gated(group));
    g_assert_true(bandwidth_advance(tree, 6 * MS));
    g_assert_cmpuint(stats(group, 0).remaining_ns, ==, 4 * MS);
    g_assert_cmpuint(stats(group, 0).debt_ns, ==, 2 * MS);
    g_assert_cmpuint(stats(group, 6 * MS).throttled_ns, ==, 1 * MS);
}

static void test_debt_is_cut_to_what_new_limits_may_owe(void)
{
    g_autoptr(BandwidthTree) tree = bandwidth_tree_new();
    BandwidthGroup *group = add_default(tree);
    BandwidthLimits limits = { 500 * US, MS, 0 };

    use(tree, group, QUOTA + 30 * MS, 5 * MS);
    bandwidth_group_set_limits(group, &limits, 6 * MS);
    g_assert_cmpuint(stats(group, 0).debt_ns, ==, 4 * MS);
    g_assert_cmpuint(stats(group, 0).forgiven_ns, ==, 25750 * US);
}

static void test_equal_limits_give_nothing(void)
{
    g_autoptr(BandwidthTree) tree = bandwidth_tree_new();
    BandwidthGroup *group = add_default(tree);

    use(tree, group, QUOTA, 5 * MS);
    bandwidth_group_set_limits(group, &five_of_ten, 6 * MS);
    g_assert_true(bandwidth_group_gated(group));
}

static void test_no_limit_opens_the_gate(void)
{
    g_autoptr(BandwidthTree) tree = bandwidth_tree_new();
    BandwidthGroup *group = add_default(tree);

    use(tree, group, QUOTA, 5 * MS);
    bandwidth_group_set_limits(group, &unlimited, 6 * MS);
    g_assert_false(bandwidth_group_gated(group));
    g_assert_true(bandwidth_advance(tree, 6 * MS));
    g_assert_cmpint(bandwidth_next_look(tree, 6 * MS), ==, INT64_MAX);
}

static void test_after_a_pause_there_is_one_refill(void)
{
    g_autoptr(BandwidthTree) tree = bandwidth_tree_new();
    BandwidthGroup *group = add(tree, NULL, (BandwidthLimits) {
        QUOTA, PERIOD, 50 * MS }, 2);

    use(tree, group, QUOTA + 1 * MS, 5 * MS);
    bandwidth_pause(tree, 6 * MS);
    g_assert_cmpint(bandwidth_next_look(tree, 6 * MS), ==, INT64_MAX);
    g_assert_cmpuint(stats(group, 90 * MS).gated_ns, ==, 1 * MS);
    bandwidth_advance(tree, 90 * MS);
    g_assert_true(bandwidth_group_gated(group));
    bandwidth_resume(tree, 102 * MS);
    g_assert_true(bandwidth_advance(tree, 102 * MS));
    g_assert_false(bandwidth_group_gated(group));
    g_assert_cmpuint(stats(group, 0).remaining_ns, ==, QUOTA - 1 * MS);
    g_assert_cmpuint(stats(group, 0).longest_stall_ns, ==, 1 * MS);
    g_assert_cmpuint(stats(group, 0).periods, ==, 1);
    g_assert_cmpuint(stats(group, 0).late_looks, ==, 0);
    /* Periods end when they would have ended. */
    use(tree, group, QUOTA, 109 * MS);
    g_assert_true(bandwidth_advance(tree, 110 * MS));
    g_assert_false(bandwidth_group_gated(group));
}

static void test_a_pause_within_a_period_gives_nothing(void)
{
    g_autoptr(BandwidthTree) tree = bandwidth_tree_new();
    BandwidthGroup *group = add_default(tree);

    use(tree, group, QUOTA, 5 * MS);
    bandwidth_pause(tree, 6 * MS);
    bandwidth_pause(tree, 7 * MS);
    bandwidth_resume(tree, 8 * MS);
    bandwidth_resume(tree, 9 * MS);
    g_assert_false(use(tree, group, 0, 9 * MS));
    g_assert_true(bandwidth_group_gated(group));
    g_assert_cmpuint(stats(group, 9 * MS).gated_ns, ==, 2 * MS);
    g_assert_cmpuint(stats(group, 9 * MS).throttled_ns, ==, 2 * MS);
}

static void test_limits_change_while_the_vm_is_stopped(void)
{
    g_autoptr(BandwidthTree) tree = bandwidth_tree_new();
    BandwidthGroup *group = add_default(tree);
    BandwidthLimits limits = { 2 * MS, PERIOD, 0 };

    use(tree, group, QUOTA, 5 * MS);
    bandwidth_pause(tree, 6 * MS);
    bandwidth_group_set_limits(group, &limits, 50 * MS);
    g_assert_true(bandwidth_advance(tree, 50 * MS));
    g_assert_false(bandwidth_group_gated(group));
    bandwidth_resume(tree, 95 * MS);
    bandwidth_advance(tree, 95 * MS);
    g_assert_cmpuint(stats(group, 0).remaining_ns, ==, 2 * MS);
    use(tree, group, 2 * MS, 97 * MS);
    g_assert_true(bandwidth_group_gated(group));
    g_assert_cmpint(bandwidth_next_look(tree, 97 * MS), ==, 100 * MS);
}

static void test_a_clock_that_goes_back_stands_still(void)
{
    g_autoptr(BandwidthTree) tree = bandwidth_tree_new();
    BandwidthGroup *group = add_default(tree);

    use(tree, group, QUOTA, 15 * MS);
    use(tree, group, QUOTA, 16 * MS);
    g_assert_false(bandwidth_advance(tree, 5 * MS));
    g_assert_true(bandwidth_group_gated(group));
    g_assert_cmpuint(stats(group, 5 * MS).gated_ns, ==, 0);
    g_assert_cmpint(bandwidth_next_look(tree, 5 * MS), ==, 20 * MS);
}

/* --- when to look --- */

static void test_nothing_limited_needs_no_look(void)
{
    g_autoptr(BandwidthTree) tree = bandwidth_tree_new();
    BandwidthGroup *group;

    g_assert_cmpint(bandwidth_next_look(tree, 0), ==, INT64_MAX);
    group = add(tree, NULL, unlimited, 2);
    g_assert_cmpint(bandwidth_next_look(tree, 0), ==, INT64_MAX);
    /* A quota without vCPUs is none. */
    bandwidth_group_set_limits(group, &five_of_ten, 0);
    bandwidth_group_set_vcpus(group, 0, 0);
    g_assert_cmpint(bandwidth_next_look(tree, 0), ==, INT64_MAX);
}

static void test_the_look_comes_when_a_group_could_be_dry(void)
{
    g_autoptr(BandwidthTree) tree = bandwidth_tree_new();
    BandwidthGroup *group = add_default(tree);

    /* Until it was seen running, all its vCPUs could. */
    g_assert_cmpint(bandwidth_next_look(tree, 0), ==, QUOTA / 2);
    use(tree, group, 2 * MS, 1 * MS);
    g_assert_cmpint(bandwidth_next_look(tree, 1 * MS), ==, 2500 * US);
    use(tree, group, 2800 * US, 2400 * US);
    g_assert_cmpint(bandwidth_next_look(tree, 2400 * US), ==,
                    2400 * US + BANDWIDTH_LOOK_NS_MIN);
    use(tree, group, 200 * US, 2500 * US);
    g_assert_cmpint(bandwidth_next_look(tree, 2500 * US), ==, PERIOD);
}

static void test_a_refill_below_a_closed_gate_needs_a_look(void)
{
    g_autoptr(BandwidthTree) tree = bandwidth_tree_new();
    BandwidthGroup *top = add(tree, NULL, (BandwidthLimits) {
        50 * MS, 100 * MS, 0 }, 0);
    BandwidthGroup *leaf = add(tree, top, five_of_ten, 2);

    use(tree, leaf, QUOTA, 3 * MS);
    g_assert_cmpint(bandwidth_next_look(tree, 3 * MS), ==, PERIOD);
    use(tree, top, 45 * MS, 4 * MS);
    bandwidth_advance(tree, PERIOD);
    g_assert_true(bandwidth_group_gated_by(leaf) == top);
    g_assert_cmpint(bandwidth_next_look(tree, PERIOD), ==, 100 * MS);
}

/* How far off the next look is after a hundred periods without use. */
static int64_t idle_look(BandwidthTree *tree, int from)
{
    for (int i = from; i < from + 100; i++) {
        bandwidth_advance(tree, i * PERIOD);
        bandwidth_next_look(tree, i * PERIOD);
    }
    from += 99;
    return bandwidth_next_look(tree, from * PERIOD) - from * PERIOD;
}

/* Looks in a hundred periods of 16 spinning vCPUs on two CPUs. */
static int crowded_looks(BandwidthTree *tree, BandwidthGroup *group)
{
    int64_t now = 0;
    int looks = 0;

    while (now < 100 * PERIOD) {
        int64_t next = bandwidth_next_look(tree, now);

        if (!bandwidth_group_gated(group)) {
            bandwidth_charge(group, 2 * (next - now));
        }
        now = next;
        bandwidth_advance(tree, now);
        looks++;
    }
    return looks;
}

/* One to close and one to refill; the risk that all run at once is none. */
static void test_no_more_vcpus_run_than_there_are_cpus(void)
{
    g_autoptr(BandwidthTree) tree = bandwidth_tree_new();
    BandwidthGroup *group = add(tree, NULL, (BandwidthLimits) {
        PERIOD, PERIOD, 0 }, 16);

    bandwidth_tree_set_cpus(tree, 2);
    g_assert_cmpint(crowded_looks(tree, group), <=, 240);
}

static void test_many_idle_vcpus_need_few_looks(void)
{
    g_autoptr(BandwidthTree) tree = bandwidth_tree_new();
    BandwidthGroup *group = add(tree, NULL, (BandwidthLimits) {
        MS, PERIOD, 0 }, 1000);

    /* Three a period for one that wakes up. */
    g_assert_cmpint(idle_look(tree, 0), ==, PERIOD / 3);
    /* No more than two, or one in 5 ms, for all that may. */
    bandwidth_group_set_limits(group, &(BandwidthLimits) {
        9 * MS, PERIOD, 0 }, 99 * PERIOD);
    g_assert_cmpint(idle_look(tree, 100), ==, PERIOD / 2);
    bandwidth_group_set_limits(group, &(BandwidthLimits) {
        500 * MS, 1000 * MS, 0 }, 199 * PERIOD);
    g_assert_cmpint(idle_look(tree, 200), ==, 5 * MS);
    /* Three quotas would be used up by all of them, no sooner. */
    bandwidth_group_set_limits(group, &(BandwidthLimits) {
        2500 * MS, PERIOD, 0 }, 299 * PERIOD);
    g_assert_cmpint(idle_look(tree, 300), ==, 7500 * US);
}

/* One of two vCPUs runs; what still runs behind a gate tells nothing. */
static void test_the_rate_is_learned_from_what_ran_ungated(void)
{
    g_autoptr(BandwidthTree) tree = bandwidth_tree_new();
    BandwidthGroup *group = add_default(tree);
    int64_t due;

    use(tree, group, QUOTA, 5 * MS);
    use(tree, group, 500 * US, 6 * MS);
    bandwidth_advance(tree, PERIOD);
    g_assert_cmpuint(stats(group, 0).remaining_ns, ==, QUOTA - 500 * US);
    due = bandwidth_next_look(tree, PERIOD) - PERIOD;
    /* The rate is 2 - 1/8 now, and the aim 125 us early. */
    g_assert_cmpint(due, ==, 2333333);
    use(tree, group, 500 * US, PERIOD + MS);
    due = bandwidth_next_look(tree, PERIOD + MS) - PERIOD - MS;
    g_assert_cmpint(due, >=, 2250 * US);
    g_assert_cmpint(due, <=, 2300 * US);
}

/* Its vCPUs cannot use up what is left to the others above. */
static void test_a_gated_group_costs_its_ancestors_no_look(void)
{
    g_autoptr(BandwidthTree) tree = bandwidth_tree_new();
    BandwidthGroup *top = add(tree, NULL, (BandwidthLimits) {
        6 * MS, PERIOD, 0 }, 0);
    BandwidthGroup *leaf = add(tree, top, five_of_ten, 2), *other;

    use(tree, leaf, QUOTA, 3 * MS);
    g_assert_cmpint(bandwidth_next_look(tree, 3 * MS), ==, PERIOD);
    other = add(tree, top, unlimited, 1);
    g_assert_cmpint(bandwidth_next_look(tree, 3 * MS), <, 5 * MS);
    bandwidth_group_set_vcpus(leaf, 3, 3 * MS);
    bandwidth_group_remove(other, 3 * MS);
    g_assert_cmpint(bandwidth_next_look(tree, 3 * MS), ==, PERIOD);
    bandwidth_advance(tree, PERIOD);
    g_assert_cmpint(bandwidth_next_look(tree, PERIOD), <, PERIOD + 5 * MS);
}

static void test_looks_more_than_a_period_late_are_counted(void)
{
    g_autoptr(BandwidthTree) tree = bandwidth_tree_new();
    BandwidthGroup *group = add_default(tree);
    BandwidthGroup *slow = add(tree, NULL, (BandwidthLimits) {
        50 * MS, 100 * MS, 0 }, 2);
    int64_t due = bandwidth_next_look(tree, 0);

    bandwidth_advance(tree, due + PERIOD);
    g_assert_cmpuint(stats(group, 0).late_looks, ==, 0);
    /* Nobody asked when to look. */
    bandwidth_advance(tree, due + 5 * PERIOD);
    g_assert_cmpuint(stats(group, 0).late_looks, ==, 0);
    due = bandwidth_next_look(tree, due + 5 * PERIOD);
    bandwidth_advance(tree, due + PERIOD + 1);
    g_assert_cmpuint(stats(group, 0).late_looks, ==, 1);
    g_assert_cmpuint(stats(slow, 0).late_looks, ==, 0);
}

/* --- counters, and gates that close early --- */

static void test_periods_without_use_are_not_counted(void)
{
    g_autoptr(BandwidthTree) tree = bandwidth_tree_new();
    BandwidthGroup *group = add_default(tree);

    bandwidth_advance(tree, 5 * PERIOD);
    g_assert_cmpuint(stats(group, 0).periods, ==, 0);
    use(tree, group, 1, 6 * PERIOD);
    g_assert_cmpuint(stats(group, 0).periods, ==, 1);
}

static void test_throttled_periods_in_a_row_are_counted(void)
{
    g_autoptr(BandwidthTree) tree = bandwidth_tree_new();
    BandwidthGroup *group = add_default(tree);
    BandwidthStats s;

    for (int i = 0; i < 3; i++) {
        use(tree, group, QUOTA, i * PERIOD + 6 * MS);
        bandwidth_advance(tree, (i + 1) * PERIOD);
    }
    s = stats(group, 3 * PERIOD);
    g_assert_cmpuint(s.periods, ==, 3);
    g_assert_cmpuint(s.throttled_periods, ==, 3);
    g_assert_cmpuint(s.consecutive_throttled, ==, 3);
    g_assert_cmpuint(s.throttled_ns, ==, 12 * MS);
    g_assert_cmpuint(s.longest_stall_ns, ==, 4 * MS);
    use(tree, group, QUOTA, 3 * PERIOD + 9 * MS);
    bandwidth_advance(tree, 4 * PERIOD);
    g_assert_cmpuint(stats(group, 0).longest_stall_ns, ==, 4 * MS);
    use(tree, group, 1, 5 * PERIOD);
    s = stats(group, 5 * PERIOD);
    g_assert_cmpuint(s.consecutive_throttled, ==, 0);
    g_assert_cmpuint(s.consecutive_throttled_max, ==, 4);
}

static void test_an_idle_period_ends_the_row(void)
{
    g_autoptr(BandwidthTree) tree = bandwidth_tree_new();
    BandwidthGroup *group = add_default(tree);

    use(tree, group, QUOTA, 6 * MS);
    bandwidth_advance(tree, PERIOD);
    g_assert_cmpuint(stats(group, 0).consecutive_throttled, ==, 1);
    bandwidth_advance(tree, 2 * PERIOD);
    g_assert_cmpuint(stats(group, 0).consecutive_throttled, ==, 0);
    g_assert_cmpuint(stats(group, 0).periods, ==, 1);
}

/* A group that ran dry last time is stopped earlier, by what it overran. */
static void test_a_gate_closes_early_after_over_use(void)
{
    g_autoptr(BandwidthTree) tree = bandwidth_tree_new();
    BandwidthGroup *group = add_default(tree);
    uint64_t margin;

    g_assert_cmpuint(stats(group, 0).margin_ns, ==, 0);
    use(tree, group, QUOTA + 800 * US, 3 * MS);
    bandwidth_advance(tree, PERIOD);
    margin = stats(group, 0).margin_ns;
    g_assert_cmpuint(margin, >=, 200 * US);
    g_assert_cmpuint(margin, <=, 200 * US + BANDWIDTH_LOOK_NS_MIN);
    use(tree, group, QUOTA - 800 * US - margin - 1, PERIOD + 2 * MS);
    g_assert_false(bandwidth_group_gated(group));
    use(tree, group, 1, PERIOD + 2 * MS + 1);
    g_assert_true(bandwidth_group_gated(group));
    /* Not in a period after one that did not run dry. */
    bandwidth_advance(tree, 2 * PERIOD);
    use(tree, group, 1 * MS, 3 * PERIOD);
    g_assert_cmpuint(stats(group, 0).margin_ns, ==, 0);
}

static void test_one_very_late_look_teaches_little(void)
{
    g_autoptr(BandwidthTree) tree = bandwidth_tree_new();
    BandwidthGroup *group = add_default(tree);

    use(tree, group, QUOTA + 20 * MS, 5 * MS);
    bandwidth_advance(tree, PERIOD);
    g_assert_cmpuint(stats(group, 0).margin_ns, <=,
                     QUOTA / 4 + BANDWIDTH_LOOK_NS_MIN);
    g_assert_cmpuint(stats(group, 0).need_ns, ==, 0);
}

/* Nobody knows what happened in two periods. */
static void test_a_look_that_missed_a_period_teaches_nothing(void)
{
    g_autoptr(BandwidthTree) tree = bandwidth_tree_new();
    BandwidthGroup *group = add_default(tree);

    use(tree, group, QUOTA + 4 * MS, 5 * MS);
    bandwidth_advance(tree, 2 * PERIOD);
    g_assert_cmpuint(stats(group, 0).margin_ns, <=, BANDWIDTH_LOOK_NS_MIN);
}

/* 2 ms in each release and 0.1 ms of quota: twenty periods for each. */
static void test_a_quota_below_one_release_is_saved_up(void)
{
    g_autoptr(BandwidthTree) tree = bandwidth_tree_new();
    BandwidthGroup *group = add(tree, NULL, (BandwidthLimits) {
        100 * US, PERIOD, 0 }, 8);
    BandwidthStats s;

    for (int i = 0; i < 4000; i++) {
        if (!bandwidth_group_gated(group)) {
            use(tree, group, 2 * MS, i * PERIOD + MS);
        }
        bandwidth_advance(tree, (i + 1) * PERIOD);
    }
    s = stats(group, 4000 * PERIOD);
    g_assert_cmpuint(s.need_ns, >, 100 * US);
    g_assert_cmpuint(s.forgiven_ns, ==, 0);
    g_assert_cmpuint(s.used_ns, <=, 4000 * 100 * US + s.debt_ns);
    g_assert_cmpuint(s.used_ns, >=, 4000 * 98 * US);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
#define ADD(name, f) g_test_add_func("/bandwidth/" name, f)
    ADD("limits-in-range-are-taken", test_limits_in_range_are_taken);
    ADD("limits-out-of-range-are-refused-with-the-range",
        test_limits_out_of_range_are_refused_with_the_range);
    ADD("the-smallest-share-of-the-path-is-effective",
        test_the_smallest_share_of_the_path_is_effective);
    ADD("a-group-runs-until-its-quota-is-used",
        test_a_group_runs_until_its_quota_is_used);
    ADD("running-time-is-settled-before-refill",
        test_running_time_is_settled_before_refill);
    ADD("unused-quota-is-lost-without-burst",
        test_unused_quota_is_lost_without_burst);
    ADD("unused-quota-carries-over-up-to-the-burst",
        test_unused_quota_carries_over_up_to_the_burst);
    ADD("a-late-look-gives-the-quota-of-every-period",
        test_a_late_look_gives_the_quota_of_every_period);
    ADD("what-a-late-release-left-carries-over-to-half-a-quota",
        test_what_a_late_release_left_carries_over_to_half_a_quota);
    ADD("debt-is-repaid-by-half-a-quota-each-period",
        test_debt_is_repaid_by_half_a_quota_each_period);
    ADD("what-is-left-repays-debt-first", test_what_is_left_repays_debt_first);
    ADD("only-debt-above-what-is-ever-owed-is-forgiven",
        test_only_debt_above_what_is_ever_owed_is_forgiven);
    ADD("a-huge-charge-is-forgiven-not-wrapped",
        test_a_huge_charge_is_forgiven_not_wrapped);
    ADD("a-charge-counts-for-all-ancestors",
        test_a_charge_counts_for_all_ancestors);
    ADD("an-ancestor-gates-all-below-it-at-once",
        test_an_ancestor_gates_all_below_it_at_once);
    ADD("a-group-that-is-added-below-a-gate-is-gated",
        test_a_group_that_is_added_below_a_gate_is_gated);
    ADD("a-removed-group-leaves-its-use-with-its-ancestors",
        test_a_removed_group_leaves_its_use_with_its_ancestors);
    ADD("the-depth-is-limited", test_the_depth_is_limited);
    ADD("equal-periods-end-together", test_equal_periods_end_together);
    ADD("a-quota-of-all-vcpus-is-no-limit",
        test_a_quota_of_all_vcpus_is_no_limit);
    ADD("a-limit-holds-for-the-vcpus-of-groups-below",
        test_a_limit_holds_for_the_vcpus_of_groups_below);
    ADD("new-limits-begin-a-period-but-keep-debt",
        test_new_limits_begin_a_period_but_keep_debt);
    ADD("debt-is-cut-to-what-new-limits-may-owe",
        test_debt_is_cut_to_what_new_limits_may_owe);
    ADD("equal-limits-give-nothing", test_equal_limits_give_nothing);
    ADD("no-limit-opens-the-gate", test_no_limit_opens_the_gate);
    ADD("after-a-pause-there-is-one-refill",
        test_after_a_pause_there_is_one_refill);
    ADD("a-pause-within-a-period-gives-nothing",
        test_a_pause_within_a_period_gives_nothing);
    ADD("limits-change-while-the-vm-is-stopped",
        test_limits_change_while_the_vm_is_stopped);
    ADD("a-clock-that-goes-back-stands-still",
        test_a_clock_that_goes_back_stands_still);
    ADD("nothing-limited-needs-no-look", test_nothing_limited_needs_no_look);
    ADD("the-look-comes-when-a-group-could-be-dry",
        test_the_look_comes_when_a_group_could_be_dry);
    ADD("a-refill-below-a-closed-gate-needs-a-look",
        test_a_refill_below_a_closed_gate_needs_a_look);
    ADD("no-more-vcpus-run-than-there-are-cpus",
        test_no_more_vcpus_run_than_there_are_cpus);
    ADD("many-idle-vcpus-need-few-looks", test_many_idle_vcpus_need_few_looks);
    ADD("the-rate-is-learned-from-what-ran-ungated",
        test_the_rate_is_learned_from_what_ran_ungated);
    ADD("a-gated-group-costs-its-ancestors-no-look",
        test_a_gated_group_costs_its_ancestors_no_look);
    ADD("looks-more-than-a-period-late-are-counted",
        test_looks_more_than_a_period_late_are_counted);
    ADD("periods-without-use-are-not-counted",
        test_periods_without_use_are_not_counted);
    ADD("throttled-periods-in-a-row-are-counted",
        test_throttled_periods_in_a_row_are_counted);
    ADD("an-idle-period-ends-the-row", test_an_idle_period_ends_the_row);
    ADD("a-gate-closes-early-after-over-use",
        test_a_gate_closes_early_after_over_use);
    ADD("one-very-late-look-teaches-little",
        test_one_very_late_look_teaches_little);
    ADD("a-look-that-missed-a-period-teaches-nothing",
        test_a_look_that_missed_a_period_teaches_nothing);
    ADD("a-quota-below-one-release-is-saved-up",
        test_a_quota_below_one_release_is_saved_up);
#undef ADD
    return g_test_run();
}
