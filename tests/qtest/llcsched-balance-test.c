/*
 * QTest testcase for llcsched: how plans follow the load
 *
 * What vCPUs use is x-vcpu-usage, or files of their threads in the tree; what
 * others run is /proc/stat of the tree; the test turns the clock, look by look.
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

#define BUSY ",x-vcpu-usage=90,x-vcpu-usage=90"
#define IDLE ",x-vcpu-usage=2,x-vcpu-usage=2"

/* A gather waits for its turn for eight times that at most, an escape six. */
#define TURN_LOOKS 8

/* Others use that many percent of each LLC, until it is set anew. */
typedef struct Neighbor {
    LlcschedTree *tree;
    int percent[TREE_LLCS_MAX];
} Neighbor;

/* What the two vCPUs run counts in the tree, too, on the LLCs of their mask. */
static void add_own(QTestState *qts, LlcschedTree *tree, int seconds)
{
    QDict *info = query(qts);
    const QDict *vcpu = nth(info, "vcpus", 0);
    const char *mask = qdict_get_str(vcpu, "mask");
    bool first = g_str_has_prefix(mask, "0-");
    bool second = g_str_has_suffix(mask, "-7");

    if (qdict_haskey(vcpu, "load")) {
        QNum *run = qobject_to(QNum, qdict_get(qdict_get_qdict(vcpu, "load"),
                                               "run"));
        int ms = 2 * 10 * seconds * qnum_get_double(run) / 4;

        tree->run_ms[0] += first ? ms / (1 + second) : 0;
        tree->run_ms[1] += second ? ms / (1 + first) : 0;
    }
    qobject_unref(info);
}

static void look_after(QTestState *qts, const Neighbor *others, int seconds)
{
    add_own(qts, others->tree, seconds);
    for (int i = 0; i < others->tree->llcs; i++) {
        others->tree->run_ms[i] += others->percent[i] * 10 * seconds;
    }
    tree_put_load(others->tree);
    qtest_clock_step(qts, seconds * SECOND);
}

static void look(QTestState *qts, const Neighbor *others)
{
    look_after(qts, others, 1);
}

static void looks(QTestState *qts, const Neighbor *others, int n)
{
    for (int i = 0; i < n; i++) {
        look(qts, others);
    }
}

static int64_t balance_int(QTestState *qts, const char *field)
{
    QDict *info = query(qts);
    int64_t value = qdict_get_int(qdict_get_qdict(info, "balance"), field);

    qobject_unref(info);
    return value;
}

/* The count of @name in a list of counts, whose member @key is a name. */
static int64_t count_of(QTestState *qts, const char *list, const char *key,
                        const char *name)
{
    QDict *info = query(qts);
    QDict *balance = qdict_get_qdict(info, "balance");
    const QListEntry *entry;
    int64_t count = -1;

    QLIST_FOREACH_ENTRY(qdict_get_qlist(balance, list), entry) {
        const QDict *row = qobject_to(QDict, qlist_entry_obj(entry));

        if (g_str_equal(qdict_get_str(row, key), name)) {
            count = qdict_get_int(row, "count");
        }
    }
    qobject_unref(info);
    g_assert_cmpint(count, >=, 0);
    return count;
}

static int64_t kept(QTestState *qts, const char *reason)
{
    return count_of(qts, "kept", "reason", reason);
}

static int64_t moves(QTestState *qts, const char *kind)
{
    return count_of(qts, "moves", "kind", kind);
}

/* Of all kinds but those that were not for the load. */
static int64_t all_moves(QTestState *qts)
{
    return moves(qts, "escape") + moves(qts, "gather") + moves(qts, "switch");
}

static int host_llc(QTestState *qts, int vcpu)
{
    QDict *info = query(qts);
    int llc = qdict_get_int(nth(info, "vcpus", vcpu), "host-llc");

    qobject_unref(info);
    return llc;
}

static void assert_guard(QTestState *qts, int llc, const char *cause)
{
    QDict *info = query(qts);
    const QDict *row = nth(info, "host-llcs", llc);

    g_assert_cmpstr(qdict_get_str(row, "guard-cause"), ==, cause);
    g_assert_cmpint(qdict_get_bool(row, "guarded"), ==,
                    strcmp(cause, "none") != 0);
    qobject_unref(info);
}

/* The last event of that name that was sent by now; NULL: none. */
static QDict *last_event(QTestState *qts, const char *name)
{
    QDict *event, *last = NULL;

    run_command(qts, "query-status");
    while ((event = qtest_qmp_event_ref(qts, name))) {
        qobject_unref(last);
        last = event;
    }
    return last;
}

/* A VM of one group on LLC 0, past its first looks. */
static QTestState *start_settled(Neighbor *others, const char *options)
{
    g_autofree char *all = g_strdup_printf(",cpus=0-3%s", options);
    QTestState *qts = start(others->tree, "-smp 2,cores=2", all);

    qtest_clock_step(qts, SETTLE);
    assert_success(qom_set(qts, "cpus", "[0, 1, 2, 3, 4, 5, 6, 7]"));
    g_assert_cmpint(host_llc(qts, 0), ==, 0);
    looks(qts, others, 10);
    g_assert_cmpint(host_llc(qts, 0), ==, 0);
    return qts;
}

/* Moves */

static void test_crowded_llc_is_left(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    Neighbor others = { .tree = tree };
    QTestState *qts = start_settled(&others, BUSY);
    QDict *info, *event;
    const QDict *move;

    qobject_unref(last_event(qts, "LLCSCHED_PLACEMENT"));
    others.percent[0] = 80;
    looks(qts, &others, 2 + TURN_LOOKS);
    assert_placed(qts, "matched", "AA", 4);
    assert_mask(qts, 0, "4-7");
    g_assert_cmpint(moves(qts, "escape"), ==, 1);
    info = query(qts);
    move = qdict_get_qdict(qdict_get_qdict(info, "balance"), "last-move");
    g_assert_cmpstr(qdict_get_str(move, "kind"), ==, "escape");
    g_assert_true(g_str_has_prefix(qdict_get_str(move, "explanation"),
                                   "LLC 0 (util) closed; "));
    g_assert_cmpint(qdict_get_int(move, "age-ns"), <, 10 * SECOND);
    qobject_unref(info);
    event = last_event(qts, "LLCSCHED_PLACEMENT");
    g_assert_nonnull(event);
    g_assert_cmpstr(qdict_get_str(qdict_get_qdict(event, "data"), "move"), ==,
                    "escape");
    qobject_unref(event);
    qtest_quit(qts);
}

static void test_crowd_everywhere_opens_everything(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    Neighbor others = { .tree = tree };
    QTestState *qts = start_settled(&others, BUSY);

    others.percent[0] = others.percent[1] = 60;
    looks(qts, &others, 5);
    assert_placed(qts, "guarded", "AA", 8);
    g_assert_cmpint(moves(qts, "escape"), ==, 1);
    others.percent[0] = others.percent[1] = 0;
    looks(qts, &others, 150);
    assert_placed(qts, "matched", "AA", 4);
    g_assert_cmpint(moves(qts, "gather"), ==, 1);
    qtest_quit(qts);
}

static void test_constant_load_ends_moves(void)
{
    static const int loads[][2] = {
        { 0, 0 }, { 20, 0 }, { 30, 10 }, { 50, 45 }, { 90, 20 }, { 100, 100 },
    };

    for (int i = 0; i < ARRAY_SIZE(loads); i++) {
        g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
        Neighbor others = { .tree = tree };
        QTestState *qts = start_settled(&others, BUSY);
        int64_t settled;

        others.percent[0] = loads[i][0];
        others.percent[1] = loads[i][1];
        looks(qts, &others, 40);
        settled = all_moves(qts);
        g_assert_cmpint(settled, <=, 3);
        looks(qts, &others, 40);
        g_assert_cmpint(all_moves(qts), ==, settled);
        qtest_quit(qts);
    }
}

static void test_idle_vm_stays(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    Neighbor others = { .tree = tree };
    QTestState *qts = start_settled(&others, IDLE);

    others.percent[1] = 20;
    looks(qts, &others, 60);
    g_assert_cmpint(all_moves(qts), ==, 0);
    g_assert_cmpint(kept(qts, "idle"), >, 0);
    qtest_quit(qts);
}

static void test_moves_cool_down(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    Neighbor others = { .tree = tree };
    QTestState *qts = start_settled(&others, BUSY);
    int64_t left;

    g_assert_cmpint(balance_int(qts, "cooldown-ns"), ==, 3 * SECOND);
    g_assert_cmpint(balance_int(qts, "cooldown-left-ns"), ==, 0);
    others.percent[0] = others.percent[1] = 60;
    for (int i = 0; i < 10 && !moves(qts, "escape"); i++) {
        look(qts, &others);
    }
    g_assert_cmpint(balance_int(qts, "cooldown-left-ns"), ==, 3 * SECOND);
    look(qts, &others);
    left = balance_int(qts, "cooldown-left-ns");
    g_assert_cmpint(left, ==, 2 * SECOND);
    g_assert_cmpint(kept(qts, "cooldown"), >, 0);
    /* to come back is to undo the escape: the next one waits twice as long */
    others.percent[0] = others.percent[1] = 0;
    looks(qts, &others, 150);
    g_assert_cmpint(moves(qts, "gather"), ==, 1);
    g_assert_cmpint(balance_int(qts, "undone"), ==, 1);
    g_assert_cmpint(balance_int(qts, "cooldown-ns"), ==, 6 * SECOND);
    g_assert_cmpint(balance_int(qts, "moves-last-hour"), ==, 2);
    qtest_quit(qts);
}

static void test_pulses_move_six_times_an_hour(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    Neighbor others = { .tree = tree };
    QTestState *qts = start_settled(&others, BUSY);

    assert_success(qom_set(qts, "interval", "20000"));
    for (int i = 0; i < 18; i++) {
        others.percent[i % 2] = 90;
        others.percent[(i + 1) % 2] = 0;
        for (int j = 0; j < 10; j++) {
            look_after(qts, &others, 20);
        }
        g_assert_cmpint(balance_int(qts, "moves-last-hour"), <=, 6);
    }
    g_assert_cmpint(all_moves(qts), <=, 6);
    g_assert_cmpint(all_moves(qts), >, 0);
    qtest_quit(qts);
}

static void test_every_look_is_counted(void)
{
    static const char *const reasons[] = {
        "no-plan", "unknown", "idle", "settled", "cooldown", "rate", "same",
        "gain", "equal", "full", "turn",
    };
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    Neighbor others = { .tree = tree };
    QTestState *qts = start_settled(&others, BUSY);
    int64_t sum = 0;

    others.percent[0] = 80;
    looks(qts, &others, 50);
    for (int i = 0; i < ARRAY_SIZE(reasons); i++) {
        sum += kept(qts, reasons[i]);
    }
    g_assert_cmpint(sum + all_moves(qts), ==, balance_int(qts, "looks"));
    g_assert_cmpint(balance_int(qts, "looks"), >=, 59);
    g_assert_cmpint(kept(qts, "settled"), >, 0);
    g_assert_cmpint(balance_int(qts, "plans"), >, 0);
    qtest_quit(qts);
}

static void test_unknown_load_moves_nothing(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    g_autofree char *stat = g_strdup_printf("%s/proc/stat", tree->path);
    Neighbor others = { .tree = tree };
    QTestState *qts = start_settled(&others, BUSY);

    g_assert_cmpint(unlink(stat), ==, 0);
    qtest_clock_step(qts, 20 * SECOND);
    g_assert_cmpint(kept(qts, "unknown"), >=, 19);
    g_assert_cmpint(all_moves(qts), ==, 0);
    qtest_quit(qts);
}

static void test_without_dynamic_nothing_moves(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    Neighbor others = { .tree = tree };
    QTestState *qts = start_settled(&others, BUSY);
    int64_t judged = balance_int(qts, "looks");

    assert_success(qom_set(qts, "dynamic", "false"));
    others.percent[0] = 90;
    looks(qts, &others, 60);
    g_assert_cmpint(balance_int(qts, "looks"), ==, judged);
    assert_mask(qts, 0, "0-3");
    replan(qts);
    assert_mask(qts, 0, "4-7");
    g_assert_cmpint(moves(qts, "told"), >, 0);
    qtest_quit(qts);
}

/* What was known of the host's LLCs is of other ones. */
static void test_a_changed_host_starts_anew(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    Neighbor others = { .tree = tree };
    QTestState *qts = start_settled(&others, BUSY);

    others.percent[0] = 80;
    looks(qts, &others, 2 + TURN_LOOKS);
    assert_guard(qts, 0, "util");
    tree_put(tree, TREE_CPUS "/online", "4-7\n");
    looks(qts, &others, 2);
    assert_placed(qts, "single", "AA", 4);
    tree_put(tree, TREE_CPUS "/online", "0-7\n");
    looks(qts, &others, 2);
    assert_placed(qts, "matched", "AA", 4);
    looks(qts, &others, 3 + TURN_LOOKS);
    assert_mask(qts, 0, "4-7");
    assert_guard(qts, 0, "util");
    qtest_quit(qts);
}

/* Guard */

static void assert_guard_event(QTestState *qts, int llc, bool guarded,
                               const char *cause)
{
    QDict *event = last_event(qts, "LLCSCHED_GUARD");
    const QDict *data;

    g_assert_nonnull(event);
    data = qdict_get_qdict(event, "data");
    g_assert_cmpstr(qdict_get_str(data, "id"), ==, "sched0");
    g_assert_cmpint(qdict_get_int(data, "llc"), ==, llc);
    g_assert_cmpstr(qdict_get_str(data, "cpus"), ==, llc ? "4-7" : "0-3");
    g_assert_cmpint(qdict_get_bool(data, "guarded"), ==, guarded);
    g_assert_cmpstr(qdict_get_str(data, "cause"), ==, cause);
    qobject_unref(event);
}

static void test_guard_opens_lower_than_it_closes(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    Neighbor others = { .tree = tree };
    QTestState *qts = start_settled(&others, IDLE);

    g_assert_null(last_event(qts, "LLCSCHED_GUARD"));
    others.percent[1] = 24;
    looks(qts, &others, 30);
    g_assert_null(last_event(qts, "LLCSCHED_GUARD"));
    assert_guard(qts, 1, "none");
    others.percent[1] = 30;
    looks(qts, &others, 20);
    assert_guard_event(qts, 1, true, "util");
    assert_guard(qts, 1, "util");
    /* where it did not close it does not open, however long */
    others.percent[1] = 20;
    looks(qts, &others, 150);
    g_assert_null(last_event(qts, "LLCSCHED_GUARD"));
    assert_guard(qts, 1, "util");
    others.percent[1] = 15;
    looks(qts, &others, 150);
    assert_guard_event(qts, 1, false, "none");
    assert_guard(qts, 1, "none");
    g_assert_cmpint(balance_int(qts, "guard-closed"), ==, 1);
    g_assert_cmpint(balance_int(qts, "guard-opened"), ==, 1);
    qtest_quit(qts);
}

static void test_a_spike_closes_nothing(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    Neighbor others = { .tree = tree };
    QTestState *qts = start_settled(&others, BUSY);

    for (int i = 0; i < 10; i++) {
        others.percent[0] = 90;
        look(qts, &others);
        others.percent[0] = 0;
        looks(qts, &others, 20);
    }
    g_assert_cmpint(balance_int(qts, "guard-closed"), ==, 0);
    g_assert_cmpint(all_moves(qts), ==, 0);
    qtest_quit(qts);
}

/* vCPU threads whose times are files in the tree */
static void put_times(QTestState *qts, const LlcschedTree *tree, int64_t run_ms,
                      int64_t wait_ms)
{
    QDict *info = query(qts);
    const QListEntry *entry;

    QLIST_FOREACH_ENTRY(qdict_get_qlist(info, "vcpus"), entry) {
        const QDict *vcpu = qobject_to(QDict, qlist_entry_obj(entry));
        g_autofree char *file = g_strdup_printf(
            "proc/self/task/%" PRId64 "/schedstat",
            qdict_get_int(vcpu, "thread-id"));

        tree_put(tree, file, "%" PRId64 "000000 %" PRId64 "000000 %" PRId64
                 "\n", run_ms, wait_ms, run_ms / 5);
    }
    qobject_unref(info);
}

/* Below the guard's thresholds, but our own vCPUs wait. */
static void test_lost_time_closes(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    Neighbor others = { .tree = tree };
    QTestState *qts = start_settled(&others, "");

    others.percent[0] = 20;
    for (int i = 1; i <= 25 && !moves(qts, "escape"); i++) {
        put_times(qts, tree, i * 700, MAX(i - 5, 0) * 300);
        look(qts, &others);
    }
    assert_guard(qts, 0, "wait");
    assert_guard(qts, 1, "none");
    assert_mask(qts, 0, "4-7");
    assert_guard_event(qts, 0, true, "wait");
    g_assert_cmpint(moves(qts, "escape"), ==, 1);
    qtest_quit(qts);
}

/* The load of vCPUs */

static void assert_number(const QDict *dict, const char *field, double value)
{
    QNum *number = qobject_to(QNum, qdict_get(dict, field));

    g_assert_cmpfloat_with_epsilon(qnum_get_double(number), value, 0.5);
}

static void test_load_of_vcpus_is_told(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    Neighbor others = { .tree = tree };
    QTestState *qts = start_settled(&others, "");
    QDict *info = query(qts);
    const QDict *load;

    g_assert_false(qdict_haskey(nth(info, "vcpus", 0), "load"));
    qobject_unref(info);
    for (int i = 1; i <= 10; i++) {
        put_times(qts, tree, i * 600, i * 10);
        look(qts, &others);
    }
    info = query(qts);
    load = qdict_get_qdict(nth(info, "vcpus", 1), "load");
    g_assert_cmpstr(qdict_get_str(load, "source"), ==, "schedstat");
    assert_number(load, "run", 60);
    assert_number(load, "wait", 1);
    g_assert_cmpint(qdict_get_int(load, "burst-ns") / MS, ==, 5);
    g_assert_false(qdict_haskey(load, "halts")); /* there is no KVM */
    qobject_unref(info);
    qtest_quit(qts);
}

/* placement=off */

static void test_off_counts_what_it_would_do(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    Neighbor others = { .tree = tree };
    QTestState *qts = start_settled(&others, BUSY);
    int64_t misaligned;
    QDict *info;

    g_assert_cmpint(balance_int(qts, "misaligned-ns"), ==, 0);
    assert_success(qom_set(qts, "placement", "'off'"));
    qobject_unref(last_event(qts, "LLCSCHED_PLACEMENT"));
    looks(qts, &others, 10);
    /* half of the CPUs that they may use are those of the plan */
    misaligned = balance_int(qts, "misaligned-ns");
    g_assert_cmpint(misaligned, >=, 8 * SECOND);
    g_assert_cmpint(misaligned, <=, 10 * SECOND);
    others.percent[host_llc(qts, 0)] = 80;
    looks(qts, &others, 20);
    g_assert_cmpint(moves(qts, "escape"), ==, 1);
    assert_mask(qts, 0, "0-7");
    g_assert_null(last_event(qts, "LLCSCHED_PLACEMENT"));
    info = query(qts);
    g_assert_false(qdict_get_bool(qdict_get_qdict(info, "balance"),
                                  "applied"));
    qobject_unref(info);
    qtest_quit(qts);
}

static void test_kernel_that_gathers_too_is_told(void)
{
    static const char enabled[] =
        "sys/kernel/debug/sched/llc_balancing/enabled";
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    QTestState *qts;
    QDict *info;

    tree_put(tree, enabled, "1\n");
    qts = start(tree, "-smp 2", "");
    info = query(qts);
    g_assert_true(qdict_get_bool(qdict_get_qdict(info, "balance"),
                                 "kernel-cache-aware"));
    qobject_unref(info);
    tree_put(tree, enabled, "0\n");
    replan(qts);
    info = query(qts);
    g_assert_false(qdict_get_bool(qdict_get_qdict(info, "balance"),
                                  "kernel-cache-aware"));
    qobject_unref(info);
    qtest_quit(qts);
}

/* HMP */

static void test_hmp_tells_of_it(void)
{
    static const char *const lines[] = {
        "vCPU  LLC  run wait", "\nLLC 0: closed", "\nbalance: ",
        "last escape", "kept: ",
    };
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    Neighbor others = { .tree = tree };
    QTestState *qts = start_settled(&others, BUSY);
    g_autofree char *text = NULL;

    others.percent[0] = 80;
    looks(qts, &others, 30);
    text = qtest_hmp(qts, "info llcsched");
    for (int i = 0; i < ARRAY_SIZE(lines); i++) {
        if (!strstr(text, lines[i])) {
            fail("no '%s' in:\n%s", lines[i], text);
        }
    }
    qtest_quit(qts);
}

static const TestCase tests[] = {
    { "move/crowded-llc-is-left", test_crowded_llc_is_left },
    { "move/crowd-everywhere-opens-everything",
      test_crowd_everywhere_opens_everything },
    { "move/none-under-constant-load", test_constant_load_ends_moves },
    { "move/idle-vm-stays", test_idle_vm_stays },
    { "move/cools-down", test_moves_cool_down },
    { "move/six-an-hour-for-pulses", test_pulses_move_six_times_an_hour },
    { "move/every-look-is-counted", test_every_look_is_counted },
    { "move/none-while-the-load-is-unknown", test_unknown_load_moves_nothing },
    { "move/none-without-dynamic", test_without_dynamic_nothing_moves },
    { "move/changed-host-starts-anew", test_a_changed_host_starts_anew },
    { "guard/opens-lower-than-it-closes",
      test_guard_opens_lower_than_it_closes },
    { "guard/spike-closes-nothing", test_a_spike_closes_nothing },
    { "guard/lost-time-closes", test_lost_time_closes },
    { "load/of-vcpus-is-told", test_load_of_vcpus_is_told },
    { "off/counts-what-it-would-do", test_off_counts_what_it_would_do },
    { "kernel/that-gathers-too-is-told", test_kernel_that_gathers_too_is_told },
    { "hmp/tells-of-it", test_hmp_tells_of_it },
};

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    add_tests("llcsched/balance", tests, ARRAY_SIZE(tests));
    return g_test_run();
}
