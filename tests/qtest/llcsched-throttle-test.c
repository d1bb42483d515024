/*
 * QTest testcase for llcsched-group: throttling, in virtual time
 *
 * Under qtest a vCPU runs for the part of the virtual time that x-vcpu-usage
 * gives it, while its gate is open: so all numbers are the same in each run.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "libqtest.h"
#include "llcsched-tree.h"
#include "llcsched-util.h"
#include "qobject/qdict.h"

#define US 1000ll
#define PERIOD (10 * MS)                /* the default */
#define LOOK (250 * US)                 /* no two looks are nearer */

#define ONE_BUSY ",dynamic=off,x-vcpu-usage=100"
#define TWO_BUSY ONE_BUSY ",x-vcpu-usage=100"

/* Wide: groups begin their periods when they are added. */
static QTestState *start_busy(const LlcschedTree *tree, const char *smp,
                              const char *options)
{
    QTestState *qts = start(tree, smp, options);

    qtest_clock_step(qts, SETTLE);
    return qts;
}

static void add(QTestState *qts, const char *id, const char *json)
{
    assert_success(group_add(qts, id, json));
}

static void limit(QTestState *qts, const char *id, const char *json)
{
    assert_success(set_limits(qts, id, json));
}

static void use(QTestState *qts, const char *json)
{
    assert_success(qom_set(qts, "x-vcpu-usage", json));
}

/* A look charges, and setting nothing anew looks: up to now. */
static int64_t used_now(QTestState *qts, const char *id)
{
    limit(qts, id, "");
    return group_int(qts, id, "used-ns");
}

/* Step until @id is throttled, or no longer: within @bound. */
static void step_until_throttled(QTestState *qts, const char *id,
                                 bool throttled, int64_t bound)
{
    for (int64_t t = 0; t < bound; t += LOOK) {
        if (group_bool(qts, id, "throttled") == throttled) {
            return;
        }
        qtest_clock_step(qts, LOOK);
    }
    fail("'%s' is not %s in %" PRId64 " ns", id,
         throttled ? "throttled" : "let go", bound);
}

/* Share */

typedef struct ShareCase {
    const char *name;
    const char *smp, *usage;
    const char *vcpus;
    const char *limits;
    int64_t quota, period;  /* us */
    bool throttled;
} ShareCase;

static const ShareCase share_cases[] = {
    { "a-tenth-of-one", "-smp 1", ONE_BUSY, "[0]", "'quota-us': 1000",
      1000, 10000, true },
    { "half-of-one", "-smp 1", ONE_BUSY, "[0]", "'quota-us': 5000",
      5000, 10000, true },
    { "three-quarters-of-one", "-smp 1", ONE_BUSY, "[0]", "'quota-us': 7500",
      7500, 10000, true },
    { "a-quarter-of-two", "-smp 2", TWO_BUSY, "[0, 1]", "'quota-us': 5000",
      5000, 10000, true },
    { "three-quarters-of-two", "-smp 2", TWO_BUSY, "[0, 1]",
      "'quota-us': 15000", 15000, 10000, true },
    { "half-in-the-kernels-period", "-smp 1", ONE_BUSY, "[0]",
      "'quota-us': 50000, 'period-us': 100000", 50000, 100000, true },
    { "half-in-the-shortest-period", "-smp 1", ONE_BUSY, "[0]",
      "'quota-us': 500, 'period-us': 1000", 500, 1000, true },
    { "half-in-the-longest-period", "-smp 1", ONE_BUSY, "[0]",
      "'quota-us': 500000, 'period-us': 1000000", 500000, 1000000, true },
    { "the-smallest-in-the-longest", "-smp 1", ONE_BUSY, "[0]",
      "'quota-us': 100, 'period-us': 1000000", 100, 1000000, true },
    { "with-burst-it-is-the-same", "-smp 1", ONE_BUSY, "[0]",
      "'quota-us': 5000, 'burst-us': 50000", 5000, 10000, true },
    { "one-spinner-of-two", "-smp 2", ONE_BUSY ",x-vcpu-usage=0", "[0, 1]",
      "'quota-us': 5000", 5000, 10000, true },
    { "half-busy-is-below-three-quarters", "-smp 1", ",dynamic=off,"
      "x-vcpu-usage=50", "[0]", "'quota-us': 7500", 5000, 10000, false },
};

#define SHARE_PERIODS 100

static void test_share(const void *opaque)
{
    const ShareCase *c = opaque;
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    QTestState *qts = start_busy(tree, c->smp, c->usage);
    g_autofree char *json = g_strdup_printf("'vcpus': %s, %s", c->vcpus,
                                            c->limits);
    int64_t due = SHARE_PERIODS * c->quota * US;
    QDict *g;

    add(qts, "g", json);
    qtest_clock_step(qts, SHARE_PERIODS * c->period * US);
    g = group_query(qts, "g");
    g_test_message("used %" PRId64 " of %" PRId64 ", debt %" PRId64,
                   qdict_get_int(g, "used-ns"), due,
                   qdict_get_int(g, "debt-ns"));
    /* what is still owed, and what the period that begins repaid of it */
    g_assert_cmpint(qdict_get_int(g, "used-ns"), <=,
                    due + qdict_get_int(g, "debt-ns") + c->quota * US / 2);
    g_assert_cmpint(qdict_get_int(g, "used-ns"), >=,
                    due - MAX(c->quota * US / 2, LOOK));
    g_assert_cmpint(qdict_get_int(g, "forgiven-ns"), ==, 0);
    g_assert_cmpint(qdict_get_int(g, "late-looks"), ==, 0);
    g_assert_cmpint(qdict_get_int(g, "throttled-periods") > 0, ==,
                    c->throttled);
    qobject_unref(g);
    qtest_quit(qts);
}

/* Counters */

static void test_counters_of_a_spinner(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    QTestState *qts = start_busy(tree, "-smp 1", ONE_BUSY);
    QDict *g;

    add(qts, "g", "'vcpus': [0], 'quota-us': 4000");
    qtest_clock_step(qts, 100 * PERIOD);
    g = group_query(qts, "g");
    g_assert_cmpint(qdict_get_int(g, "periods"), ==, 100);
    g_assert_cmpint(qdict_get_int(g, "throttled-periods"), ==, 100);
    g_assert_cmpint(qdict_get_int(g, "consecutive-throttled"), ==, 100);
    g_assert_cmpint(qdict_get_int(g, "consecutive-throttled-max"), ==, 100);
    g_assert_cmpint(qdict_get_int(g, "bursts"), ==, 0);
    g_assert_cmpint(qdict_get_int(g, "burst-ns"), ==, 0);
    g_assert_cmpint(qdict_get_int(g, "gated-ns"), ==,
                    qdict_get_int(g, "throttled-ns"));
    /* it runs or is gated, and nothing else */
    g_assert_cmpint(qdict_get_int(g, "used-ns") + qdict_get_int(g, "gated-ns"),
                    <=, 100 * PERIOD);
    g_assert_cmpint(qdict_get_int(g, "used-ns") + qdict_get_int(g, "gated-ns"),
                    >=, 100 * PERIOD - LOOK);
    /* half of a quota is the most that a period repays */
    g_assert_cmpint(qdict_get_int(g, "longest-stall-ns"), >=, 6 * MS - LOOK);
    g_assert_cmpint(qdict_get_int(g, "longest-stall-ns"), <=, 8 * MS);
    qobject_unref(g);
    qtest_quit(qts);
}

static int64_t vcpu_throttled(QTestState *qts, int n)
{
    QDict *info = query(qts);
    const QDict *vcpu = nth(info, "vcpus", n);
    int64_t ns = qdict_get_int(vcpu, "throttled-ns");

    /* no guest runs here that could be told */
    g_assert_cmpint(qdict_get_int(vcpu, "steal-ns"), ==, 0);
    g_assert_cmpstr(qdict_get_str(vcpu, "steal-state"), ==, "unsupported");
    qobject_unref(info);
    return ns;
}

/* As long as their group, however that came and ended; idle ones as well. */
static void test_time_of_each_vcpu(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    QTestState *qts = start_busy(tree, "-smp 3", ONE_BUSY ",x-vcpu-usage=0");
    int64_t ns;

    add(qts, "g", "'vcpus': [0, 1], 'quota-us': 4000");
    qtest_clock_step(qts, 100 * PERIOD);
    ns = group_int(qts, "g", "gated-ns");
    g_assert_cmpint(ns, >=, 59 * PERIOD);
    g_assert_cmpint(vcpu_throttled(qts, 0), ==, ns);
    g_assert_cmpint(vcpu_throttled(qts, 1), ==, ns);
    g_assert_cmpint(vcpu_throttled(qts, 2), ==, 0);
    step_until_throttled(qts, "g", true, PERIOD);
    qtest_clock_step(qts, MS);
    ns = group_int(qts, "g", "gated-ns");
    qtest_qmp_assert_success(qts, "{'execute': 'stop'}");
    qtest_clock_step(qts, 7 * PERIOD);
    g_assert_cmpint(vcpu_throttled(qts, 0), ==, ns);
    qtest_qmp_assert_success(qts, "{'execute': 'cont'}");
    qtest_clock_step(qts, 10 * PERIOD);
    g_assert_cmpint(vcpu_throttled(qts, 0), ==,
                    group_int(qts, "g", "gated-ns"));
    step_until_throttled(qts, "g", true, PERIOD);
    ns = group_int(qts, "g", "gated-ns");
    assert_success(delete_object(qts, "g"));
    qtest_clock_step(qts, PERIOD);
    g_assert_cmpint(vcpu_throttled(qts, 0), ==, ns);
    qtest_quit(qts);
}

static void test_ancestor_throttles_all_below(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    QTestState *qts = start_busy(tree, "-smp 3", TWO_BUSY
                                 ",x-vcpu-usage=100");
    static const char *const below[] = { "mid", "a", "b" };

    add(qts, "top", "'quota-us': 5000");
    add(qts, "mid", "'parent': 'top'");
    add(qts, "a", "'parent': 'mid', 'vcpus': [0], 'quota-us': 9000");
    add(qts, "b", "'parent': 'top', 'vcpus': [1]");
    add(qts, "outside", "'vcpus': [2], 'quota-us': 9900");
    step_until_throttled(qts, "top", true, PERIOD);
    for (int i = 0; i < ARRAY_SIZE(below); i++) {
        g_autofree char *by = group_text(qts, below[i], "throttled-by");

        g_assert_cmpstr(by, ==, "top");
        g_assert_true(group_bool(qts, below[i], "throttled"));
    }
    g_assert_false(group_bool(qts, "outside", "throttled"));
    qtest_clock_step(qts, 100 * PERIOD);
    for (int i = 0; i < ARRAY_SIZE(below); i++) {
        g_assert_cmpint(group_int(qts, below[i], "throttled-periods"), ==, 0);
        g_assert_cmpint(group_int(qts, below[i], "throttled-ns"), ==, 0);
        g_assert_cmpint(group_int(qts, below[i], "gated-ns"), ==,
                        group_int(qts, "top", "gated-ns"));
        g_assert_cmpint(group_int(qts, below[i], "longest-stall-ns"), ==,
                        group_int(qts, "top", "longest-stall-ns"));
    }
    g_assert_cmpint(group_int(qts, "a", "used-ns"), ==,
                    group_int(qts, "b", "used-ns"));
    g_assert_cmpint(group_int(qts, "a", "used-ns") +
                    group_int(qts, "b", "used-ns"), ==,
                    group_int(qts, "top", "used-ns"));
    g_assert_cmpint(group_int(qts, "outside", "used-ns"), >=,
                    98 * PERIOD);
    qtest_quit(qts);
}

/* One that runs dry leaves the rest to its sibling. */
static void test_sibling_is_left_alone(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    QTestState *qts = start_busy(tree, "-smp 2", TWO_BUSY);
    g_autofree char *by = NULL;

    add(qts, "top", "'quota-us': 15000");
    add(qts, "a", "'parent': 'top', 'vcpus': [0], 'quota-us': 2000");
    add(qts, "b", "'parent': 'top', 'vcpus': [1]");
    step_until_throttled(qts, "a", true, PERIOD);
    by = group_text(qts, "a", "throttled-by");
    g_assert_cmpstr(by, ==, "a");
    qtest_clock_step(qts, 100 * PERIOD);
    g_assert_cmpint(group_int(qts, "a", "throttled-periods"), >=, 99);
    g_assert_cmpint(group_int(qts, "b", "gated-ns"), ==, 0);
    g_assert_cmpint(group_int(qts, "top", "throttled-periods"), ==, 0);
    g_assert_cmpint(group_int(qts, "b", "used-ns"), >=, 100 * PERIOD);
    qtest_quit(qts);
}

/* Burst */

static void test_unused_quota_carries_over_up_to_the_burst(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    QTestState *qts = start_busy(tree, "-smp 1", ONE_BUSY);

    use(qts, "[0]");
    add(qts, "g", "'vcpus': [0], 'quota-us': 1000, 'burst-us': 3000");
    qtest_clock_step(qts, 20 * PERIOD);
    /* an idle group is looked at by the way, not when a period ends */
    g_assert_cmpint(used_now(qts, "g"), ==, 0);
    g_assert_cmpint(group_int(qts, "g", "remaining-ns"), ==, 4 * MS);
    use(qts, "[100]");
    qtest_clock_step(qts, PERIOD);
    g_assert_cmpint(group_int(qts, "g", "bursts"), ==, 1);
    g_assert_cmpint(group_int(qts, "g", "burst-ns"), ==, 3 * MS);
    /* no more than that, and nothing of it is owed */
    g_assert_cmpint(group_int(qts, "g", "used-ns"), >=, 4 * MS);
    g_assert_cmpint(group_int(qts, "g", "used-ns"), <=, 4 * MS + LOOK);
    g_assert_cmpint(group_int(qts, "g", "throttled-periods"), ==, 1);
    qtest_clock_step(qts, 20 * PERIOD);
    g_assert_cmpint(group_int(qts, "g", "bursts"), ==, 1);
    g_assert_cmpint(group_int(qts, "g", "used-ns"), <=, 25 * MS);
    qtest_quit(qts);
}

static void test_nothing_carries_over_without_burst(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    QTestState *qts = start_busy(tree, "-smp 1", ONE_BUSY);

    use(qts, "[0]");
    add(qts, "g", "'vcpus': [0], 'quota-us': 1000");
    qtest_clock_step(qts, 20 * PERIOD);
    g_assert_cmpint(group_int(qts, "g", "remaining-ns"), ==, 1 * MS);
    g_assert_cmpint(group_int(qts, "g", "periods"), ==, 0);
    /* three looks a period at a group that was idle: the rest is owed */
    g_assert_cmpint(used_now(qts, "g"), ==, 0);
    use(qts, "[100]");
    qtest_clock_step(qts, PERIOD - 1);
    g_assert_cmpint(group_int(qts, "g", "used-ns"), <=, PERIOD / 3 + LOOK);
    g_assert_cmpint(group_int(qts, "g", "used-ns"), ==,
                    1 * MS + group_int(qts, "g", "debt-ns"));
    g_assert_cmpint(group_int(qts, "g", "bursts"), ==, 0);
    qtest_quit(qts);
}

/* Nothing limited, nothing done */

/* How often QEMU's clock had something to do in a second. */
static int count_timers(QTestState *qts)
{
    int64_t end = qtest_clock_step(qts, 1) + SECOND;
    int n = 0;

    while (qtest_clock_step_next(qts) < end) {
        n++;
    }
    return n;
}

static void assert_timers_as_without(QTestState *qts, int without)
{
    int n = count_timers(qts);

    /* others' timers need not divide a second */
    if (ABS(n - without) > 2) {
        fail("%d timers in a second, %d without a limit", n, without);
    }
}

static void test_nothing_limited_costs_no_looks(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    QTestState *qts = start_busy(tree, "-smp 2", TWO_BUSY);
    int without = count_timers(qts);

    add(qts, "top", "");
    add(qts, "empty", "'parent': 'top', 'quota-us': 100");
    add(qts, "wide", "'parent': 'top', 'vcpus': [0], 'quota-us': 10000");
    add(qts, "g", "'parent': 'top', 'vcpus': [1]");
    assert_timers_as_without(qts, without);
    g_assert_cmpint(group_int(qts, "wide", "used-ns"), ==, 0);
    limit(qts, "g", "'quota-us': 5000");
    g_assert_cmpint(count_timers(qts), >=, without + 150);
    limit(qts, "g", "'quota-us': 0");
    assert_timers_as_without(qts, without);
    g_assert_false(group_bool(qts, "g", "throttled"));
    limit(qts, "g", "'quota-us': 5000");
    g_assert_cmpint(count_timers(qts), >=, without + 150);
    assert_success(delete_object(qts, "g"));
    assert_timers_as_without(qts, without);
    qtest_quit(qts);
}

/* Changes */

static void test_unlimited_lets_go_at_once(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    QTestState *qts = start_busy(tree, "-smp 2", TWO_BUSY);
    int64_t used;

    add(qts, "top", "'quota-us': 19900");
    add(qts, "g", "'parent': 'top', 'vcpus': [0, 1], 'quota-us': 1000, "
        "'period-us': 1000000");
    step_until_throttled(qts, "g", true, 100 * MS);
    limit(qts, "g", "'quota-us': 0");
    g_assert_false(group_bool(qts, "g", "throttled"));
    used = used_now(qts, "g");
    qtest_clock_step(qts, PERIOD / 2);
    /* both vCPUs run again */
    g_assert_cmpint(used_now(qts, "g") - used, ==, PERIOD);
    qtest_quit(qts);
}

static void test_new_limits_start_a_new_period(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    QTestState *qts = start_busy(tree, "-smp 1", ONE_BUSY);

    add(qts, "g", "'vcpus': [0], 'quota-us': 1000, 'period-us': 1000000");
    step_until_throttled(qts, "g", true, 100 * MS);
    limit(qts, "g", "'quota-us': 1000");
    g_assert_true(group_bool(qts, "g", "throttled"));
    limit(qts, "g", "'quota-us': 2000");
    g_assert_false(group_bool(qts, "g", "throttled"));
    step_until_throttled(qts, "g", true, 100 * MS);
    assert_error(set_limits(qts, "g", "'quota-us': 1"), "quota-us");
    g_assert_true(group_bool(qts, "g", "throttled"));
    qtest_quit(qts);
}

static void test_deleting_lets_go(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    QTestState *qts = start_busy(tree, "-smp 2", TWO_BUSY);

    for (int round = 0; round < 20; round++) {
        add(qts, "g", "'vcpus': [0, 1], 'quota-us': 100, "
            "'period-us': 1000000");
        step_until_throttled(qts, "g", true, 10 * MS);
        qtest_clock_step(qts, PERIOD);
        g_assert_true(group_bool(qts, "g", "throttled"));
        assert_success(delete_object(qts, "g"));
        /* a gate that stayed closed would leave the next group unused */
        add(qts, "g", "'vcpus': [0, 1], 'quota-us': 19900");
        qtest_clock_step(qts, PERIOD / 2);
        g_assert_cmpint(used_now(qts, "g"), ==, PERIOD);
        assert_success(delete_object(qts, "g"));
    }
    qtest_quit(qts);
}

static void test_group_below_a_dry_one_waits(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    QTestState *qts = start_busy(tree, "-smp 2", TWO_BUSY);
    int64_t used;

    add(qts, "top", "'quota-us': 1000, 'period-us': 1000000");
    add(qts, "a", "'parent': 'top', 'vcpus': [0]");
    step_until_throttled(qts, "top", true, 100 * MS);
    used = used_now(qts, "top");
    add(qts, "b", "'parent': 'top', 'vcpus': [1]");
    g_assert_true(group_bool(qts, "b", "throttled"));
    qtest_clock_step(qts, 100 * MS);
    g_assert_cmpint(used_now(qts, "b"), ==, 0);
    g_assert_cmpint(group_int(qts, "top", "used-ns"), ==, used);
    qtest_quit(qts);
}

static void test_reset_changes_nothing(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    QTestState *qts = start_busy(tree, "-smp 1", ONE_BUSY);
    int64_t periods;

    add(qts, "g", "'vcpus': [0], 'quota-us': 5000");
    qtest_clock_step(qts, 10 * PERIOD);
    periods = group_int(qts, "g", "periods");
    qtest_system_reset(qts);
    g_assert_cmpint(group_int(qts, "g", "quota-us"), ==, 5000);
    qtest_clock_step(qts, 90 * PERIOD);
    g_assert_cmpint(group_int(qts, "g", "periods"), ==, periods + 90);
    g_assert_cmpint(group_int(qts, "g", "throttled-periods"), ==,
                    periods + 90);
    qtest_quit(qts);
}

/* Pause */

static void test_pause_gives_one_refill(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    QTestState *qts = start_busy(tree, "-smp 1", ONE_BUSY);
    int64_t used, periods;

    add(qts, "g", "'vcpus': [0], 'quota-us': 2000, 'burst-us': 200000");
    step_until_throttled(qts, "g", true, PERIOD);
    run_command(qts, "stop");
    used = group_int(qts, "g", "used-ns");
    periods = group_int(qts, "g", "periods");
    qtest_clock_step(qts, 1000 * PERIOD + 3 * MS);
    g_assert_cmpint(group_int(qts, "g", "used-ns"), ==, used);
    g_assert_cmpint(group_int(qts, "g", "periods"), ==, periods);
    run_command(qts, "cont");
    qtest_clock_step(qts, PERIOD);
    /* none of the pause is charged, and the burst has not filled */
    g_assert_cmpint(group_int(qts, "g", "used-ns") - used, <=,
                    4 * MS + LOOK);
    g_assert_cmpint(group_int(qts, "g", "used-ns") - used, >=, 1 * MS);
    g_assert_cmpint(group_int(qts, "g", "periods") - periods, <=, 2);
    g_assert_cmpint(group_int(qts, "g", "longest-stall-ns"), <, PERIOD);
    g_assert_cmpint(group_int(qts, "g", "late-looks"), ==, 0);
    g_assert_cmpint(group_int(qts, "g", "forgiven-ns"), ==, 0);
    qtest_quit(qts);
}

static void test_nothing_runs_while_stopped(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    QTestState *qts = start_busy(tree, "-smp 1", ONE_BUSY);

    add(qts, "g", "'vcpus': [0], 'quota-us': 5000");
    qtest_clock_step(qts, 1 * MS);
    g_assert_false(group_bool(qts, "g", "throttled"));
    run_command(qts, "stop");
    g_assert_cmpint(group_int(qts, "g", "used-ns"), ==, 1 * MS);
    qtest_clock_step(qts, 1000 * PERIOD);
    g_assert_cmpint(used_now(qts, "g"), ==, 1 * MS);
    run_command(qts, "cont");
    g_assert_cmpint(used_now(qts, "g"), ==, 1 * MS);
    qtest_clock_step(qts, 1 * MS);
    g_assert_cmpint(used_now(qts, "g"), ==, 2 * MS);
    g_assert_cmpint(group_int(qts, "g", "forgiven-ns"), ==, 0);
    qtest_quit(qts);
}

/* What runs when the VM is stopped in the middle of it is charged for. */
static void test_pausing_often_gains_nothing(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    QTestState *qts = start_busy(tree, "-smp 1", ONE_BUSY);
    int64_t used;

    add(qts, "g", "'vcpus': [0], 'quota-us': 2000");
    for (int i = 0; i < 200; i++) {
        qtest_clock_step(qts, 500 * US);
        run_command(qts, "stop");
        run_command(qts, "cont");
    }
    used = group_int(qts, "g", "used-ns");
    g_assert_cmpint(used, <=, 10 * 2 * MS + group_int(qts, "g", "debt-ns"));
    g_assert_cmpint(used, >=, 10 * 2 * MS - 1 * MS);
    qtest_quit(qts);
}

static void test_stopped_from_the_start_waits_for_cont(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    QTestState *qts = start(tree, "-S -smp 1", ONE_BUSY
                            " -object llcsched-group,id=g,vcpus=0,"
                            "quota-us=5000");

    qtest_clock_step(qts, 100 * PERIOD);
    g_assert_cmpint(group_int(qts, "g", "used-ns"), ==, 0);
    g_assert_cmpint(group_int(qts, "g", "periods"), ==, 0);
    g_assert_false(group_bool(qts, "g", "throttled"));
    run_command(qts, "cont");
    qtest_clock_step(qts, 100 * PERIOD);
    g_assert_cmpint(group_int(qts, "g", "throttled-periods"), >=, 99);
    g_assert_cmpint(group_int(qts, "g", "forgiven-ns"), ==, 0);
    qtest_quit(qts);
}

/* Hot-plug */

static void test_plugged_vcpu_joins(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    QTestState *qts = start_busy(tree, ROOM_TO_PLUG, TWO_BUSY);
    int64_t used;

    add(qts, "g", "'vcpus': [0, 1], 'quota-us': 10000");
    qtest_clock_step(qts, 10 * PERIOD);
    g_assert_false(group_bool(qts, "g", "limited"));
    plug(qts, 0, 1);
    wait_for_vcpus(qts, 2);
    g_assert_true(group_bool(qts, "g", "limited"));
    used = group_int(qts, "g", "used-ns");
    qtest_clock_step(qts, 100 * PERIOD);
    g_assert_cmpint(group_int(qts, "g", "throttled-periods"), >=, 99);
    used = group_int(qts, "g", "used-ns") - used;
    g_assert_cmpint(used, <=, 100 * PERIOD + group_int(qts, "g", "debt-ns"));
    g_assert_cmpint(used, >=, 99 * PERIOD);
    qtest_quit(qts);
}

/* Its gate is closed before it runs, not with the next period. */
static void test_vcpu_plugged_into_a_dry_group_waits(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    QTestState *qts = start_busy(tree, ROOM_TO_PLUG, TWO_BUSY);
    int64_t used;

    add(qts, "g", "'vcpus': [0, 1], 'quota-us': 1000, 'period-us': 1000000");
    step_until_throttled(qts, "g", true, 100 * MS);
    used = used_now(qts, "g");
    plug(qts, 0, 1);
    wait_for_vcpus(qts, 2);
    g_assert_true(group_bool(qts, "g", "throttled"));
    qtest_clock_step(qts, 100 * MS);
    g_assert_cmpint(used_now(qts, "g"), ==, used);
    limit(qts, "g", "'quota-us': 500000");
    qtest_clock_step(qts, 100 * MS);
    g_assert_cmpint(used_now(qts, "g") - used, ==, 200 * MS);
    qtest_quit(qts);
}

static void test_plugged_vcpu_of_no_group_is_free(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    QTestState *qts = start_busy(tree, ROOM_TO_PLUG, TWO_BUSY);

    add(qts, "g", "'vcpus': [0, 1], 'quota-us': 10000");
    plug(qts, 1, 0);
    wait_for_vcpus(qts, 2);
    g_assert_false(group_bool(qts, "g", "limited"));
    qtest_quit(qts);
}

/* By the registers of docs/specs/acpi_cpu_hotplug.rst, at the pc's address. */
static void eject(QTestState *qts, const char *id, int vcpu)
{
    qtest_outb(qts, 0xaf00, 0);         /* leave the mode that cannot unplug */
    qtest_qmp_assert_success(qts, "{ 'execute': 'device_del', 'arguments': {"
                             " 'id': %s } }", id);
    qtest_outl(qts, 0xaf00, vcpu);
    qtest_outb(qts, 0xaf04, 8);
    qtest_qmp_eventwait(qts, "DEVICE_DELETED");
}

static void test_unplugged_vcpu_leaves(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    QTestState *qts = start_busy(tree, ROOM_TO_PLUG, TWO_BUSY);
    int64_t used;

    add(qts, "g", "'vcpus': [0, 1], 'quota-us': 500000, "
        "'period-us': 500000");
    qtest_qmp_assert_success(qts, "{ 'execute': 'device_add', 'arguments': {"
                             "  'driver': 'qemu64-x86_64-cpu', 'id': 'cpu1',"
                             "  'socket-id': 0, 'core-id': 1,"
                             "  'thread-id': 0 } }");
    wait_for_vcpus(qts, 2);
    step_until_throttled(qts, "g", true, 500 * MS);
    eject(qts, "cpu1", 1);
    g_assert_false(group_bool(qts, "g", "limited"));
    g_assert_false(group_bool(qts, "g", "throttled"));
    limit(qts, "g", "'quota-us': 400000");
    used = used_now(qts, "g");
    qtest_clock_step(qts, 100 * MS);
    g_assert_cmpint(used_now(qts, "g") - used, ==, 100 * MS);
    qtest_quit(qts);
}

/* Event */

#define EVENT "LLCSCHED_THROTTLE"

static void no_event(QTestState *qts)
{
    QDict *event;

    run_command(qts, "query-status"); /* takes in what was sent before it */
    event = qtest_qmp_event_ref(qts, EVENT);
    if (event) {
        fail("'%s' was told to be throttled: %d",
             qdict_get_str(qdict_get_qdict(event, "data"), "id"),
             qdict_get_bool(qdict_get_qdict(event, "data"), "throttled"));
    }
}

/* It has been sent already: no clock goes on while we wait. */
static void one_event(QTestState *qts, const char *id, bool throttled,
                      int at_least)
{
    QDict *event, *data;

    run_command(qts, "query-status");
    event = qtest_qmp_event_ref(qts, EVENT);
    if (!event) {
        fail("'%s' was not told to be %s", id,
             throttled ? "throttled" : "let go");
    }
    data = qdict_get_qdict(event, "data");
    g_assert_cmpstr(qdict_get_str(data, "id"), ==, id);
    g_assert_cmpint(qdict_get_bool(data, "throttled"), ==, throttled);
    g_assert_cmpint(qdict_get_int(data, "consecutive-throttled-max"), >=,
                    at_least);
    qobject_unref(event);
}

typedef struct EndCase {
    const char *name;
    const char *usage;      /* from now on, or NULL */
    const char *limits;     /* or NULL: then it must last to be an end */
} EndCase;

static const EndCase end_cases[] = {
    { "uses-less", "[30]", NULL },
    { "goes-idle", "[0]", NULL },
    { "gets-all-it-can-use", NULL, "'quota-us': 10000" },
    { "gets-unlimited", NULL, "'quota-us': 0" },
};

static void test_event_begins_and_ends(const void *opaque)
{
    const EndCase *c = opaque;
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    QTestState *qts = start_busy(tree, "-smp 1", ONE_BUSY);

    add(qts, "g", "'vcpus': [0], 'quota-us': 5000");
    qtest_clock_step(qts, 9 * PERIOD + PERIOD / 2);
    no_event(qts);
    qtest_clock_step(qts, PERIOD);
    one_event(qts, "g", true, 10);
    qtest_clock_step(qts, 200 * PERIOD);
    no_event(qts);
    if (c->limits) {
        limit(qts, "g", c->limits);
    } else {
        use(qts, c->usage);
        qtest_clock_step(qts, 9 * PERIOD);
        no_event(qts);
        qtest_clock_step(qts, 5 * PERIOD);
    }
    one_event(qts, "g", false, 200);
    qtest_clock_step(qts, 200 * PERIOD);
    no_event(qts);
    g_assert_cmpint(group_int(qts, "g", "consecutive-throttled"), ==, 0);
    qtest_quit(qts);
}

/* What an ancestor does is not this group's. */
static void test_event_ends_below_a_limited_group(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    QTestState *qts = start_busy(tree, "-smp 1", ONE_BUSY);

    add(qts, "top", "'quota-us': 9900");
    add(qts, "g", "'parent': 'top', 'vcpus': [0], 'quota-us': 5000");
    qtest_clock_step(qts, 200 * PERIOD);
    one_event(qts, "g", true, 10);
    limit(qts, "g", "'quota-us': 0");
    qtest_clock_step(qts, 12 * PERIOD);
    one_event(qts, "g", false, 190);
    g_assert_cmpint(group_int(qts, "g", "consecutive-throttled"), ==, 0);
    qtest_quit(qts);
}

static void test_short_throttling_is_no_event(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    QTestState *qts = start_busy(tree, "-smp 1", ONE_BUSY);

    add(qts, "g", "'vcpus': [0], 'quota-us': 5000");
    for (int i = 0; i < 10; i++) {
        use(qts, "[100]");
        qtest_clock_step(qts, 7 * PERIOD);
        use(qts, "[20]");
        qtest_clock_step(qts, 7 * PERIOD);
        no_event(qts);
    }
    g_assert_cmpint(group_int(qts, "g", "throttled-periods"), >=, 60);
    qtest_quit(qts);
}

/* Only the group that runs dry is told of, not those below it. */
static void test_event_names_who_runs_dry(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    QTestState *qts = start_busy(tree, "-smp 1", ONE_BUSY);

    add(qts, "top", "'quota-us': 5000");
    add(qts, "leaf", "'parent': 'top', 'vcpus': [0], 'quota-us': 9000");
    qtest_clock_step(qts, 50 * PERIOD);
    one_event(qts, "top", true, 10);
    no_event(qts);
    qtest_quit(qts);
}

/* Each group has a second of its own, and the last word is told in the end. */
static void test_event_is_limited_for_each_group(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    QTestState *qts = start_busy(tree, "-smp 2", TWO_BUSY);

    add(qts, "a", "'vcpus': [0], 'quota-us': 5000");
    add(qts, "b", "'vcpus': [1], 'quota-us': 5000");
    qtest_clock_step(qts, 12 * PERIOD);
    one_event(qts, "a", true, 10);
    one_event(qts, "b", true, 10);
    use(qts, "[20, 100]");
    qtest_clock_step(qts, 15 * PERIOD);
    use(qts, "[100, 100]");
    qtest_clock_step(qts, 15 * PERIOD);
    use(qts, "[20, 100]");
    qtest_clock_step(qts, 15 * PERIOD);
    no_event(qts);
    qtest_clock_step(qts, SECOND);
    one_event(qts, "a", false, 10);
    no_event(qts);
    qtest_quit(qts);
}

static void test_deleted_group_is_told_of_no_more(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    QTestState *qts = start_busy(tree, "-smp 1", ONE_BUSY);

    add(qts, "g", "'vcpus': [0], 'quota-us': 5000");
    qtest_clock_step(qts, 9 * PERIOD + PERIOD / 2);
    assert_success(delete_object(qts, "g"));
    add(qts, "g", "'vcpus': [0], 'quota-us': 5000");
    qtest_clock_step(qts, 9 * PERIOD);
    no_event(qts);
    qtest_quit(qts);
}

static const TestCase tests[] = {
    { "counters/of-a-spinner", test_counters_of_a_spinner },
    { "counters/of-each-vcpu", test_time_of_each_vcpu },
    { "counters/ancestor-throttles-all-below",
      test_ancestor_throttles_all_below },
    { "counters/sibling-is-left-alone", test_sibling_is_left_alone },
    { "burst/unused-quota-carries-over",
      test_unused_quota_carries_over_up_to_the_burst },
    { "burst/nothing-carries-over-without-it",
      test_nothing_carries_over_without_burst },
    { "looks/none-when-nothing-is-limited",
      test_nothing_limited_costs_no_looks },
    { "changes/unlimited-lets-go-at-once", test_unlimited_lets_go_at_once },
    { "changes/new-limits-start-a-new-period",
      test_new_limits_start_a_new_period },
    { "changes/deleting-lets-go", test_deleting_lets_go },
    { "changes/group-below-a-dry-one-waits",
      test_group_below_a_dry_one_waits },
    { "changes/reset-changes-nothing", test_reset_changes_nothing },
    { "pause/gives-one-refill", test_pause_gives_one_refill },
    { "pause/nothing-runs-meanwhile", test_nothing_runs_while_stopped },
    { "pause/often-gains-nothing", test_pausing_often_gains_nothing },
    { "pause/from-the-start-waits-for-cont",
      test_stopped_from_the_start_waits_for_cont },
    { "plug/vcpu-joins", test_plugged_vcpu_joins },
    { "plug/into-a-dry-group-waits",
      test_vcpu_plugged_into_a_dry_group_waits },
    { "plug/of-no-group-is-free", test_plugged_vcpu_of_no_group_is_free },
    { "plug/unplugged-vcpu-leaves", test_unplugged_vcpu_leaves },
    { "event/not-for-short-throttling", test_short_throttling_is_no_event },
    { "event/ends-below-a-limited-group",
      test_event_ends_below_a_limited_group },
    { "event/names-who-runs-dry", test_event_names_who_runs_dry },
    { "event/is-limited-for-each-group",
      test_event_is_limited_for_each_group },
    { "event/none-of-a-deleted-group",
      test_deleted_group_is_told_of_no_more },
};

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    add_data_tests("llcsched-throttle/share", share_cases,
                   ARRAY_SIZE(share_cases), sizeof(share_cases[0]),
                   test_share);
    add_tests("llcsched-throttle", tests, ARRAY_SIZE(tests));
    add_data_tests("llcsched-throttle/event/begins-and-ends-when-it", end_cases,
                   ARRAY_SIZE(end_cases), sizeof(end_cases[0]),
                   test_event_begins_and_ends);
    return g_test_run();
}
