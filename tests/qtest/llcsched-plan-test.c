/*
 * QTest testcase for llcsched: what it plans on made-up hosts, and when
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
#include "qobject/qlist.h"
#include "qobject/qnum.h"

static bool all_vcpus(QTestState *qts, const char *flag)
{
    QDict *info = query(qts);
    const QListEntry *entry;
    bool all = true;

    QLIST_FOREACH_ENTRY(qdict_get_qlist(info, "vcpus"), entry) {
        all &= qdict_get_bool(qobject_to(QDict, qlist_entry_obj(entry)), flag);
    }
    qobject_unref(info);
    return all;
}

typedef struct PlanCase {
    const char *name;
    int nodes, llcs, cores, threads;    /* of the host */
    const char *args, *options;
    const char *verdict, *letters;
    int width;
    bool aligned, paired;               /* every vCPU, LLC and SMT */
} PlanCase;

#define BOUND_NODE(n, cpus)                                                 \
    " -object memory-backend-ram,id=m" n ",size=64M,host-nodes=0,policy=bind" \
    " -numa node,memdev=m" n ",cpus=" cpus

static const PlanCase plan_cases[] = {
    { "guest-llcs-get-host-llcs-of-their-own", 1, 2, 4, 1,
      TWO_GROUPS, "", "matched", "AABB", 4, true, true },
    { "group-that-fits-is-not-split", 1, 2, 4, 1,
      "-smp 4,cores=4", "", "matched", "AAAA", 4, true, true },
    { "threads-fill-one-llc", 1, 2, 4, 2,
      "-smp 8,cores=4,threads=2", "", "matched", "AAAAAAAA", 8, true, false },
    { "core-width-puts-a-guest-core-on-a-host-core", 1, 2, 2, 2,
      "-smp 4,cores=2,threads=2", ",placement=core", "matched", "AABB", 2,
      true, true },
    { "cpu-width-gives-each-vcpu-a-cpu", 1, 2, 2, 2,
      "-smp 4,cores=2,threads=2", ",placement=cpu", "matched", "ABCD", 1,
      true, true },
    { "guest-cores-without-threads-get-cores-of-their-own", 1, 2, 2, 2,
      "-smp 2,cores=2", ",placement=core", "matched", "AB", 2, true, true },
    { "groups-share-llcs-when-there-are-too-few", 1, 2, 4, 1,
      "-smp 8,sockets=4,cores=2", "", "folded", "AAAABBBB", 4, true, true },
    { "group-that-fits-no-llc-takes-the-fewest", 1, 3, 4, 1,
      "-smp 6,cores=6", "", "split", "AAAAAA", 8, false, true },
    { "single-llc-is-named-single", 1, 1, 4, 1,
      "-smp 2", "", "single", "AA", 4, true, true },
    { "more-vcpus-than-cpus-is-named-overcommitted", 1, 2, 2, 1,
      "-smp 8,cores=8", "", "overcommitted", "AAAAAAAA", 4, false, true },
    { "usage-of-vcpus-decides-what-is-overcommitted", 1, 1, 2, 1,
      "-smp 4,cores=4", ",x-vcpu-usage=10,x-vcpu-usage=10,x-vcpu-usage=10,"
      "x-vcpu-usage=10", "single", "AAAA", 2, true, true },
    { "cpus-limit-the-masks", 1, 2, 4, 1,
      TWO_GROUPS, ",cpus=1-2,cpus=5-6", "matched", "AABB", 2, true, true },
    { "a-pc-die-has-an-llc", 1, 2, 4, 1,
      "-machine pc -smp 4,dies=2,cores=2", "", "matched", "AABB", 4, true,
      true },
    { "a-q35-die-has-an-llc", 1, 2, 4, 1,
      "-machine q35 -smp 4,dies=2,cores=2", "", "matched", "AABB", 4, true,
      true },
    { "modules-share-an-llc-by-default", 1, 2, 4, 1,
      "-machine q35 -smp 4,modules=2,cores=2", "", "matched", "AAAA", 4, true,
      true },
    { "smp-cache-gives-modules-an-llc", 1, 2, 4, 1,
      "-machine q35,smp-cache.0.cache=l3,smp-cache.0.topology=module"
      " -smp 4,modules=2,cores=2", "", "matched", "AABB", 4, true, true },
    { "smp-cache-gives-dies-one-llc", 1, 2, 4, 1,
      "-machine pc,smp-cache.0.cache=l3,smp-cache.0.topology=socket"
      " -smp 4,dies=2,cores=2", "", "matched", "AAAA", 4, true, true },
    { "without-l3-each-core-is-a-group", 1, 4, 2, 1,
      "-cpu qemu64,l3-cache=off -smp 4,cores=4", "", "matched", "ABCD", 2,
      true, true },
    { "microvm-is-placed", 1, 2, 4, 1,
      "-machine microvm " TWO_GROUPS, "", "matched", "AABB", 4, true, true },
};

static void test_plan(const void *opaque)
{
    const PlanCase *c = opaque;
    g_autoptr(LlcschedTree) tree = tree_new(c->nodes, c->llcs, c->cores,
                                            c->threads);
    QTestState *qts = start(tree, c->args, c->options);
    QDict *info;

    assert_placed(qts, c->verdict, c->letters, c->width);
    g_assert_cmpint(all_vcpus(qts, "llc-aligned"), ==, c->aligned);
    g_assert_cmpint(all_vcpus(qts, "smt-aligned"), ==, c->paired);
    info = query(qts);
    g_assert_true(qlist_empty(qdict_get_qlist(info, "warnings")));
    g_assert_cmpint(qdict_get_int(info, "masks-set"), ==, strlen(c->letters));
    qobject_unref(info);
    qtest_quit(qts);
}

static void test_bound_memory_pulls_vcpus(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(2, 4, 2, 1);
    QTestState *qts;

    if (access("/sys/devices/system/node/node0", F_OK)) {
        g_test_skip("this host has no NUMA node 0 to bind memory to");
        return;
    }
    qts = start(tree, TWO_GROUPS " -m 128M" BOUND_NODE("0", "0-1")
                BOUND_NODE("1", "2-3"), "");
    for (int vcpu = 0; vcpu < 4; vcpu++) {
        QDict *info = query(qts);

        g_assert_cmpint(qdict_get_int(nth(info, "vcpus", vcpu), "host-llc"),
                        <, 2);
        qobject_unref(info);
    }
    assert_placed(qts, "matched", "AABB", 2);
    qtest_quit(qts);
}

/* By the UUID alone: the same VM goes to the same LLC each time. */
static void test_vms_started_together_spread(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    int on_first = 0;

    for (int vm = 0; vm < 8; vm++) {
        g_autofree char *args = g_strdup_printf(
            "-smp 2 -uuid 4f3d0c2a-0000-4000-8000-%012d", vm);
        int llc[2];

        for (int run = 0; run < 2; run++) {
            QTestState *qts = start(tree, args, "");
            QDict *info = query(qts);

            llc[run] = qdict_get_int(nth(info, "vcpus", 0), "host-llc");
            qobject_unref(info);
            qtest_quit(qts);
        }
        g_assert_cmpint(llc[0], ==, llc[1]);
        on_first += llc[0] == 0;
    }
    g_assert_cmpint(on_first, >, 0);
    g_assert_cmpint(on_first, <, 8);
}

static void test_isolated_cpus_are_used_only_by_name(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    QTestState *qts;

    tree_put(tree, TREE_CPUS "/isolated", "4-7\n");
    qts = start(tree, TWO_GROUPS, "");
    assert_placed(qts, "single", "AAAA", 4);
    assert_field(qts, "candidates", "0-3");
    assert_field(qts, "effective-placement", "llc");
    assert_success(qom_set(qts, "cpus", "[2, 3, 4, 5]"));
    assert_placed(qts, "matched", "ABCD", 1);
    assert_field(qts, "placement", "llc");
    assert_field(qts, "effective-placement", "cpu");
    qtest_quit(qts);
}

static void test_prefer_chooses_between_unequal_llcs(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    QTestState *qts;

    for (int cpu = 0; cpu < 8; cpu++) {
        tree_put_cpu(tree, cpu, "cpu_capacity", cpu < 4 ? "1024" : "512");
        tree_put_cpu(tree, cpu, "cache/index3/size",
                     cpu < 4 ? "32768K" : "98304K");
    }
    qts = start(tree, "-smp 2,cores=2", "");
    assert_mask(qts, 0, "0-3");
    assert_success(qom_set(qts, "prefer", "'cache'"));
    assert_mask(qts, 0, "4-7");
    assert_success(qom_set(qts, "prefer", "'capacity'"));
    assert_mask(qts, 1, "0-3");
    qtest_quit(qts);
}

static void test_moves_between_llcs_are_counted(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    QTestState *qts = start(tree, "-smp 2", ",cpus=0-3");
    QDict *info;

    assert_mask(qts, 0, "0-3");
    assert_success(qom_set(qts, "cpus", "[4, 5]"));
    assert_mask(qts, 0, "4-5");
    assert_success(qom_set(qts, "cpus", "[5]"));
    info = query(qts);
    g_assert_cmpint(qdict_get_int(nth(info, "vcpus", 0), "moves"), ==, 1);
    g_assert_cmpint(qdict_get_int(info, "masks-set"), ==, 6);
    g_assert_cmpint(qdict_get_int(info, "replans"), ==, 3);
    qobject_unref(info);
    qtest_quit(qts);
}

/* Looks */

static void test_looks_come_by_the_interval(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    QTestState *qts = start(tree, TWO_GROUPS, ",interval=500");

    g_assert_cmpint(query_int(qts, "looks"), ==, 1);
    qtest_clock_step(qts, SETTLE);
    g_assert_cmpint(query_int(qts, "looks"), ==, 2);
    qtest_clock_step(qts, 5 * SECOND);
    g_assert_cmpint(query_int(qts, "looks"), ==, 12);
    assert_success(qom_set(qts, "interval", "2000"));
    g_assert_cmpint(query_int(qts, "looks"), ==, 13);
    qtest_clock_step(qts, 10 * SECOND);
    g_assert_cmpint(query_int(qts, "looks"), ==, 18);
    g_assert_cmpint(query_int(qts, "masks-set"), ==, 4);
    qtest_quit(qts);
}

static void test_looks_keep_the_interval_when_the_load_is_unknown(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    g_autofree char *stat = g_strdup_printf("%s/proc/stat", tree->path);
    QTestState *qts;

    g_assert_cmpint(unlink(stat), ==, 0);
    qts = start(tree, TWO_GROUPS, "");
    assert_field(qts, "load-source", "none");
    qtest_clock_step(qts, SETTLE + 10 * SECOND);
    g_assert_cmpint(query_int(qts, "looks"), <=, 12);
    qtest_quit(qts);
}

static void test_no_looks_without_dynamic(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    QTestState *qts = start(tree, TWO_GROUPS, ",dynamic=off");

    qtest_clock_step(qts, SETTLE);
    g_assert_cmpint(query_int(qts, "looks"), ==, 2);
    qtest_clock_step(qts, 10 * SECOND);
    g_assert_cmpint(query_int(qts, "looks"), ==, 2);
    replan(qts);
    g_assert_cmpint(query_int(qts, "looks"), ==, 3);
    qtest_quit(qts);
}

static void test_dynamic_turns_looks_on_and_off(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    QTestState *qts = start(tree, TWO_GROUPS, "");
    int64_t looks;

    qtest_clock_step(qts, SETTLE + SECOND);
    assert_success(qom_set(qts, "dynamic", "false"));
    looks = query_int(qts, "looks");
    qtest_clock_step(qts, 10 * SECOND);
    g_assert_cmpint(query_int(qts, "looks"), ==, looks);
    assert_success(qom_set(qts, "dynamic", "true"));
    qtest_clock_step(qts, 10 * SECOND);
    g_assert_cmpint(query_int(qts, "looks"), ==, looks + 11);
    qtest_quit(qts);
}

static void test_no_looks_while_the_vm_is_stopped(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    QTestState *qts = start(tree, TWO_GROUPS, "");

    run_command(qts, "stop");
    qtest_clock_step(qts, 10 * SECOND);
    g_assert_cmpint(query_int(qts, "looks"), ==, 1);
    run_command(qts, "cont");
    g_assert_cmpint(query_int(qts, "looks"), ==, 2);
    assert_placed(qts, "matched", "AABB", 4);
    qtest_quit(qts);
}

/* Hosts that change */

static void test_cpus_that_go_offline_are_left(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    QTestState *qts = start(tree, TWO_GROUPS, "");

    qtest_clock_step(qts, SETTLE);
    tree_put(tree, TREE_CPUS "/online", "0-3\n");
    qtest_clock_step(qts, SECOND);
    assert_placed(qts, "single", "AAAA", 4);
    tree_put(tree, TREE_CPUS "/online", "0-7\n");
    qtest_clock_step(qts, SECOND);
    assert_placed(qts, "matched", "AABB", 4);
    qtest_quit(qts);
}

/* Groups stay apart on what is left of their LLCs. */
static void test_smt_is_switched_off_and_on(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 2);
    QTestState *qts = start(tree, TWO_GROUPS, "");

    qtest_clock_step(qts, SETTLE);
    for (int i = 0; i < 3; i++) {
        tree_put(tree, TREE_CPUS "/online", "0,2,4,6,8,10,12,14\n");
        qtest_clock_step(qts, 2 * SECOND);
        assert_placed(qts, "matched", "AABB", 4);
        tree_put(tree, TREE_CPUS "/online", "0-15\n");
        qtest_clock_step(qts, 2 * SECOND);
        assert_placed(qts, "matched", "AABB", 8);
    }
    qtest_quit(qts);
}

static void test_losing_all_named_cpus_is_told_and_heals(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    QTestState *qts = start(tree, "-smp 2", ",cpus=4-7");

    qtest_clock_step(qts, SETTLE);
    tree_put(tree, TREE_CPUS "/online", "0-3\n");
    qtest_clock_step(qts, SECOND);
    assert_field(qts, "status", "degraded");
    assert_field(qts, "summary",
                 "cpus: CPU 4-7 is offline; bring it online or use 0-3");
    assert_error(qtest_qmp(qts, "{ 'execute': 'llcsched-replan' }"),
                 "cpus|4-7|offline|use 0-3");
    assert_error(qtest_qmp(qts, "{ 'execute': 'query-llcsched-plan' }"),
                 "cpus|4-7|offline");
    tree_put(tree, TREE_CPUS "/online", "0-7\n");
    qtest_clock_step(qts, SECOND);
    assert_placed(qts, "single", "AA", 4);
    assert_mask(qts, 0, "4-7");
    qtest_quit(qts);
}

static void test_losing_some_named_cpus_leaves_the_others(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    QTestState *qts = start(tree, TWO_GROUPS, ",cpus=0-7");

    qtest_clock_step(qts, SETTLE);
    tree_put(tree, TREE_CPUS "/online", "0-2,4-6\n");
    qtest_clock_step(qts, SECOND);
    assert_field(qts, "candidates", "0-2,4-6");
    assert_placed(qts, "matched", "AABB", 3);
    qtest_quit(qts);
}

static void test_other_options_change_while_named_cpus_are_lost(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    QTestState *qts = start(tree, "-smp 2", ",cpus=4-7");

    tree_put(tree, TREE_CPUS "/online", "0-3\n");
    qtest_clock_step(qts, SETTLE);
    assert_success(qom_set(qts, "interval", "500"));
    assert_success(qom_set(qts, "placement", "'off'"));
    assert_success(qom_set(qts, "placement", "'llc'"));
    assert_success(qom_set(qts, "cpus", "[0, 1]"));
    assert_placed(qts, "single", "AA", 2);
    qtest_quit(qts);
}

static void test_host_that_vanishes_is_told(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    QTestState *qts = start(tree, TWO_GROUPS, "");
    g_autofree char *sys = g_strdup_printf("%s/sys", tree->path);
    g_autofree char *away = g_strdup_printf("%s/away", tree->path);
    QDict *info;

    g_assert_cmpint(rename(sys, away), ==, 0);
    qtest_clock_step(qts, SETTLE);
    info = query(qts);
    g_assert_cmpint(qlist_size(qdict_get_qlist(info, "warnings")), ==, 1);
    qobject_unref(info);
    assert_placed(qts, "matched", "AABB", 4);
    assert_error(qtest_qmp(qts, "{ 'execute': 'llcsched-replan' }"),
                 "cannot be read");
    assert_error(qtest_qmp(qts, "{ 'execute': 'query-llcsched-plan' }"),
                 "cannot be read");
    qtest_quit(qts);
}

/* Guard */

static void assert_others(QTestState *qts, int llc, double util, double tasks,
                          bool guarded)
{
    QDict *info = query(qts);
    const QDict *row = nth(info, "host-llcs", llc);
    QNum *found_util = qobject_to(QNum, qdict_get(row, "others-util"));
    QNum *found_tasks = qobject_to(QNum, qdict_get(row, "others-tasks"));

    g_assert_cmpfloat(qnum_get_double(found_util), ==, util);
    g_assert_cmpfloat(qnum_get_double(found_tasks), ==, tasks);
    g_assert_cmpint(qdict_get_bool(row, "guarded"), ==, guarded);
    qobject_unref(info);
}

static void test_crowded_llc_is_left_alone(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    QTestState *qts = start(tree, "-S -smp 2", "");

    tree_run(tree, 0, 1000, 0);
    qtest_clock_step(qts, 2 * SECOND);
    run_command(qts, "cont");
    assert_field(qts, "load-source", "stat");
    g_assert_cmpint(query_int(qts, "load-window-ns"), ==, 2 * SECOND);
    assert_others(qts, 0, 50, 50, true);
    assert_others(qts, 1, 0, 0, false);
    assert_placed(qts, "matched", "AA", 4);
    assert_mask(qts, 0, "4-7");
    qtest_quit(qts);
}

static void test_all_llcs_crowded_opens_all_candidates(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    QTestState *qts = start(tree, TWO_GROUPS, "");
    QDict *info;

    assert_placed(qts, "matched", "AABB", 4);
    qtest_clock_step(qts, SETTLE);
    tree_run(tree, 0, 800, 0);
    tree_run(tree, 1, 400, 0);
    qtest_clock_step(qts, SECOND);
    replan(qts);
    assert_others(qts, 0, 80, 80, true);
    assert_others(qts, 1, 40, 40, true);
    assert_placed(qts, "guarded", "AAAA", 8);
    info = query(qts);
    g_assert_cmpstr(qdict_get_str(nth(info, "vcpus", 0), "reason"), ==,
                    "guarded");
    g_assert_cmpstr(qdict_get_str(info, "summary"), ==,
                    "4 vCPUs on 2 LLCs: guarded, 2 guarded");
    qobject_unref(info);

    qtest_clock_step(qts, SECOND / 2);
    info = query(qts);
    g_assert_cmpint(qdict_get_int(nth(info, "host-llcs", 0), "guarded-ns"), ==,
                    SECOND / 2);
    qobject_unref(info);
    qtest_clock_step(qts, 20 * SECOND);
    replan(qts);
    assert_others(qts, 0, 0, 0, false);
    assert_placed(qts, "matched", "AABB", 4);
    qtest_quit(qts);
}

static void test_load_found_after_the_start_moves_the_vm_once(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    QTestState *qts = start(tree, TWO_GROUPS, "");

    assert_placed(qts, "matched", "AABB", 4);
    tree_run(tree, 0, 150, 0);
    tree_run(tree, 1, 150, 0);
    qtest_clock_step(qts, SETTLE);
    assert_others(qts, 0, 100, 100, true);
    assert_placed(qts, "guarded", "AAAA", 8);
    qtest_quit(qts);
}

static void test_guard_options_say_what_is_crowded(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    QTestState *qts = start(tree, "-S " TWO_GROUPS,
                            ",guard-util=50,guard-tasks=50");

    tree_run(tree, 0, 500, 0);
    tree_run(tree, 1, 500, 0);
    qtest_clock_step(qts, SECOND);
    run_command(qts, "cont");
    assert_placed(qts, "matched", "AABB", 4);
    assert_success(qom_set(qts, "guard-util", "49"));
    assert_placed(qts, "guarded", "AAAA", 8);
    assert_success(qom_set(qts, "guard-util", "100"));
    assert_placed(qts, "matched", "AABB", 4);
    assert_success(qom_set(qts, "guard-tasks", "49"));
    assert_placed(qts, "guarded", "AAAA", 8);
    assert_success(qom_set(qts, "guard-tasks", "100"));
    assert_placed(qts, "matched", "AABB", 4);
    qtest_quit(qts);
}

static void test_waiting_tasks_crowd_an_llc(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    QTestState *qts;

    tree->schedstat = true;
    tree_put_load(tree);
    qts = start(tree, "-S -smp 2", "");
    tree_run(tree, 0, 100, 300);
    qtest_clock_step(qts, SECOND);
    run_command(qts, "cont");
    assert_field(qts, "load-source", "schedstat");
    assert_others(qts, 0, 10, 40, true);
    assert_mask(qts, 0, "4-7");
    qtest_quit(qts);
}

static void test_preferred_cache_stays_open_until_80_percent(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    QTestState *qts;

    for (int cpu = 0; cpu < 4; cpu++) {
        tree_put_cpu(tree, cpu, "cache/index3/size", "98304K");
    }
    qts = start(tree, "-S -smp 2", ",prefer=cache");
    tree_run(tree, 0, 800, 0);
    qtest_clock_step(qts, SECOND);
    run_command(qts, "cont");
    assert_mask(qts, 0, "0-3");
    tree_run(tree, 0, 810, 0);
    qtest_clock_step(qts, SECOND);
    replan(qts);
    assert_mask(qts, 0, "4-7");
    qtest_quit(qts);
}

/* Event */

/* Events of ours that have been sent by now; the last one, if wanted. */
static int events(QTestState *qts, QDict **ret_last)
{
    QDict *event;
    int n = 0;

    run_command(qts, "query-status");
    while ((event = qtest_qmp_event_ref(qts, "LLCSCHED_PLACEMENT"))) {
        n++;
        if (ret_last) {
            *ret_last = event;
            ret_last = NULL;
        } else {
            qobject_unref(event);
        }
    }
    return n;
}

static void test_event_tells_of_the_first_placement(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    QTestState *qts = start(tree, "-S " TWO_GROUPS, "");
    QDict *event = NULL;
    const QDict *data;

    g_assert_cmpint(events(qts, NULL), ==, 0);
    run_command(qts, "cont");
    g_assert_cmpint(events(qts, &event), ==, 1);
    data = qdict_get_qdict(event, "data");
    g_assert_cmpstr(qdict_get_str(data, "id"), ==, "sched0");
    g_assert_cmpstr(qdict_get_str(data, "status"), ==, "placed");
    g_assert_cmpstr(qdict_get_str(data, "verdict"), ==, "matched");
    g_assert_cmpstr(qdict_get_str(data, "summary"), ==,
                    "4 vCPUs on 2 LLCs: matched");
    g_assert_cmpint(qdict_get_int(data, "changes"), ==, 4);
    qobject_unref(event);
    qtest_quit(qts);
}

static void test_event_tells_of_transitions_alone(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    QTestState *qts = start(tree, "-S " TWO_GROUPS, "");

    run_command(qts, "cont");
    g_assert_cmpint(events(qts, NULL), ==, 1);
    qtest_clock_step(qts, 10 * SECOND);
    replan(qts);
    qtest_clock_step(qts, 10 * SECOND);
    g_assert_cmpint(events(qts, NULL), ==, 0);
    tree_put(tree, TREE_CPUS "/online", "0-3\n");
    qtest_clock_step(qts, 10 * SECOND);
    g_assert_cmpint(events(qts, NULL), ==, 1);
    qtest_quit(qts);
}

static void test_second_event_in_a_second_is_held_back(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    QTestState *qts = start(tree, "-S " TWO_GROUPS, "");
    QDict *event = NULL;

    run_command(qts, "cont");
    g_assert_cmpint(events(qts, NULL), ==, 1);
    assert_success(qom_set(qts, "placement", "'core'"));
    assert_success(qom_set(qts, "placement", "'off'"));
    g_assert_cmpint(events(qts, NULL), ==, 0);
    qtest_clock_step(qts, SECOND - 1);
    g_assert_cmpint(events(qts, NULL), ==, 0);
    qtest_clock_step(qts, 1);
    g_assert_cmpint(events(qts, &event), ==, 1);
    g_assert_cmpstr(qdict_get_str(qdict_get_qdict(event, "data"), "status"),
                    ==, "observing");
    qobject_unref(event);
    qtest_quit(qts);
}

static const TestCase tests[] = {
    { "host/cpus-that-go-offline-are-left",
      test_cpus_that_go_offline_are_left },
    { "host/smt-is-switched-off-and-on", test_smt_is_switched_off_and_on },
    { "host/losing-all-named-cpus-is-told-and-heals",
      test_losing_all_named_cpus_is_told_and_heals },
    { "host/losing-some-named-cpus-leaves-the-others",
      test_losing_some_named_cpus_leaves_the_others },
    { "host/other-options-change-while-named-cpus-are-lost",
      test_other_options_change_while_named_cpus_are_lost },
    { "host/that-vanishes-is-told", test_host_that_vanishes_is_told },
    { "looks/come-by-the-interval", test_looks_come_by_the_interval },
    { "looks/keep-the-interval-when-the-load-is-unknown",
      test_looks_keep_the_interval_when_the_load_is_unknown },
    { "looks/none-without-dynamic", test_no_looks_without_dynamic },
    { "looks/dynamic-turns-them-on-and-off",
      test_dynamic_turns_looks_on_and_off },
    { "looks/none-while-stopped", test_no_looks_while_the_vm_is_stopped },
    { "plan/bound-memory-pulls-vcpus", test_bound_memory_pulls_vcpus },
    { "plan/vms-started-together-spread", test_vms_started_together_spread },
    { "plan/isolated-cpus-are-used-only-by-name",
      test_isolated_cpus_are_used_only_by_name },
    { "plan/prefer-chooses-between-unequal-llcs",
      test_prefer_chooses_between_unequal_llcs },
    { "plan/moves-between-llcs-are-counted",
      test_moves_between_llcs_are_counted },
    { "guard/crowded-llc-is-left-alone", test_crowded_llc_is_left_alone },
    { "guard/all-llcs-crowded-opens-all-candidates",
      test_all_llcs_crowded_opens_all_candidates },
    { "guard/load-found-after-the-start-moves-the-vm-once",
      test_load_found_after_the_start_moves_the_vm_once },
    { "guard/options-say-what-is-crowded",
      test_guard_options_say_what_is_crowded },
    { "guard/waiting-tasks-crowd-an-llc", test_waiting_tasks_crowd_an_llc },
    { "guard/preferred-cache-stays-open-until-80-percent",
      test_preferred_cache_stays_open_until_80_percent },
    { "event/tells-of-the-first-placement",
      test_event_tells_of_the_first_placement },
    { "event/tells-of-transitions-alone",
      test_event_tells_of_transitions_alone },
    { "event/second-in-a-second-is-held-back",
      test_second_event_in_a_second_is_held_back },
};

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    add_tests("llcsched", tests, ARRAY_SIZE(tests));
    add_data_tests("llcsched/plan", plan_cases,
                   ARRAY_SIZE(plan_cases), sizeof(plan_cases[0]),
                   test_plan);
    return g_test_run();
}
