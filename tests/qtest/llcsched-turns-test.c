/*
 * QTest testcase for llcsched: cookies without the kernel's help
 *
 * On a host whose kernel has no core scheduling: what masks do for cookies,
 * what turns do (trust-backend=gate), and how far each is said to isolate.
 * vCPU threads are real: what is done in them is waited for.
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

#define FOUR_VCPUS "-smp 4,cores=4"
#define GATE ",trust-backend=gate"
#define BEST_EFFORT ",trust=best-effort"

/* One cookie for each of two groups. */
static void add_groups(QTestState *qts)
{
    assert_success(group_add(qts, "a", "'vcpus': [0, 1], 'cookie': 'red'"));
    assert_success(group_add(qts, "b", "'vcpus': [2, 3], 'cookie': 'blue'"));
}

static QDict *trust(QTestState *qts)
{
    QDict *info = query(qts);
    QDict *copy = qdict_clone_shallow(qdict_get_qdict(info, "trust"));

    qobject_unref(info);
    return copy;
}

static bool trust_is(QTestState *qts, const char *mode, const char *isolation)
{
    QDict *info = trust(qts);
    bool is = g_str_equal(qdict_get_str(info, "mode"), mode) &&
              g_str_equal(qdict_get_str(info, "isolation"), isolation);

    qobject_unref(info);
    return is;
}

static int64_t deadline(void)
{
    return g_get_monotonic_time() + 60 * G_USEC_PER_SEC;
}

/* vCPU threads take part by themselves: wait for it, a minute at most. */
static void wait_trust(QTestState *qts, const char *mode,
                       const char *isolation)
{
    int64_t end = deadline();

    while (!trust_is(qts, mode, isolation)) {
        if (g_get_monotonic_time() > end) {
            QDict *info = trust(qts);

            fail("%s, %s is not %s, %s", qdict_get_str(info, "mode"),
                 qdict_get_str(info, "isolation"), mode, isolation);
        }
    }
}

static void assert_cookies(QTestState *qts, const char *numbers)
{
    QDict *info = query(qts);

    for (int i = 0; numbers[i]; i++) {
        g_assert_cmpint(qdict_get_int(nth(info, "vcpus", i), "cookie"), ==,
                        numbers[i] - '0');
        g_assert_false(qdict_get_bool(nth(info, "vcpus", i), "cookie-gated"));
    }
    qobject_unref(info);
}

/* --- Options --- */

static const struct BadOption {
    const char *name, *property, *json, *words;
} bad_options[] = {
    { "slice-too-short", "slice-us", "999", "slice-us|999 us|1000 to 20000" },
    { "slice-too-long", "slice-us", "20001",
      "slice-us|20001 us|1000 to 20000" },
    { "slice-negative", "slice-us", "-1", "slice-us" },
    { "backend-unknown", "trust-backend", "'turns'", "trust-backend|turns" },
};

static void test_bad_option(const void *data)
{
    const struct BadOption *bad = data;
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 2, 2);
    QTestState *qts = start_without_object(FOUR_VCPUS);

    assert_error(object_add(qts, tree->path, bad->property, bad->json),
                 bad->words);
    g_assert_null(query_one(qts, "query-llcsched"));
    qtest_quit(qts);
}

static const struct BadWeight {
    const char *name, *json, *words;
} bad_weights[] = {
    { "zero", "'cookie': 'red', 'weight': 0", "weight|0|1 to 10000" },
    { "too-much", "'cookie': 'red', 'weight': 10001",
      "weight|10001|1 to 10000" },
};

static void test_bad_weight(const void *data)
{
    const struct BadWeight *bad = data;
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 2, 2);
    QTestState *qts = start(tree, FOUR_VCPUS, GATE);

    assert_error(group_add(qts, "g", bad->json), bad->words);
    g_assert_null(group_query(qts, "g"));
    qtest_quit(qts);
}

static QDict *set_weight(QTestState *qts, const char *id, int weight)
{
    return qtest_qmp(qts, "{ 'execute': 'qom-set', 'arguments': {"
                     " 'path': %s, 'property': 'weight', 'value': %d } }",
                     id, weight);
}

static int64_t turns_int(QTestState *qts, int n, const char *field)
{
    QDict *info = trust(qts);
    int64_t value = qdict_get_int(nth(info, "cookie-turns", n), field);

    qobject_unref(info);
    return value;
}

/* The larger of two groups' counts for their cookie. */
static void test_weights(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 1, 1, 2);
    QTestState *qts = start(tree, FOUR_VCPUS, GATE ",cookie=blue");

    assert_success(group_add(qts, "a", "'vcpus': [0], 'cookie': 'red',"
                             " 'weight': 300"));
    assert_success(group_add(qts, "b", "'vcpus': [1], 'cookie': 'red',"
                             " 'weight': 200"));
    assert_success(group_add(qts, "c", "'vcpus': [2]"));
    wait_trust(qts, "gate", "this-vm");
    assert_cookies(qts, "2211");
    g_assert_cmpint(turns_int(qts, 0, "weight"), ==, 100);
    g_assert_cmpint(turns_int(qts, 1, "weight"), ==, 300);
    assert_success(set_weight(qts, "/objects/b", 1000));
    g_assert_cmpint(turns_int(qts, 1, "weight"), ==, 1000);
    assert_error(set_weight(qts, "/objects/b", 0), "weight|1 to 10000");
    /* it names none, and so weighs the one that its vCPUs have */
    assert_success(set_weight(qts, "/objects/c", 50));
    g_assert_cmpint(turns_int(qts, 0, "weight"), ==, 50);
    g_assert_cmpint(turns_int(qts, 1, "weight"), ==, 1000);
    assert_success(delete_object(qts, "b"));
    g_assert_cmpint(turns_int(qts, 1, "weight"), ==, 300);
    qtest_quit(qts);
}

static void test_slice_is_live(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 1, 1, 2);
    QTestState *qts = start(tree, FOUR_VCPUS, GATE);
    QDict *info;

    assert_success(qom_set(qts, "slice-us", "20000"));
    assert_error(qom_set(qts, "slice-us", "0"), "slice-us|1000 to 20000");
    info = trust(qts);
    g_assert_cmpint(qdict_get_int(info, "slice-us"), ==, 20000);
    qobject_unref(info);
    qtest_quit(qts);
}

/* --- What is isolated --- */

/* What the kernel shows of SMT. */
static const struct Smt {
    const char *name;
    int threads;                        /* of a core, as topology tells */
    const char *active;                 /* smt/active; NULL: there is none */
    bool off, known;                    /* so that siblings are, or not */
} smts[] = {
    { "smt", 2, "1", false, true },
    { "smt-untold", 2, NULL, false, true },
    { "siblings-hidden", 1, "1", false, false },
    { "smt-off", 2, "0", true, true },
    { "no-siblings", 1, NULL, true, true },
};

static const struct Kernel {
    const char *name, *text;            /* NULL: it has no core scheduling */
    const char *sched_ext;
    bool works;
} kernels[] = {
    { "core-scheduling", "", "disabled", true },
    { "none", NULL, "disabled", false },
    { "denied", "errno get 1\n", "disabled", false },
    { "sched-ext", "", "enabled", false },
};

/* The host of a combination; the options of its objects follow. */
typedef struct TruthHost {
    const struct Smt *smt;
    const struct Kernel *kernel;
    bool scarce;                        /* it has one core */
} TruthHost;

typedef struct TruthObject {
    bool one_cookie, placed, strict;
    const char *backend;
} TruthObject;

/* "mode isolation", as docs/system/llcsched.rst has it; NULL: refused. */
static const char *truth(const TruthHost *host, const TruthObject *object)
{
    if (host->smt->off) {
        return "not-needed host";
    }
    if (g_str_equal(object->backend, "gate")) {
        return "gate this-vm";
    }
    if (host->kernel->works) {
        return "kernel host";
    }
    if (object->strict) {
        return NULL;
    }
    return g_str_equal(object->backend, "auto") && object->placed &&
           host->smt->known && !host->scarce && !object->one_cookie
           ? "masks this-vm" : "none none";
}

static LlcschedTree *truth_tree(const TruthHost *host)
{
    LlcschedTree *tree = tree_new(1, host->scarce ? 1 : 2,
                                  host->scarce ? 1 : 2, host->smt->threads);

    if (host->smt->active) {
        tree_put(tree, TREE_CPUS "/smt/active", "%s\n", host->smt->active);
    }
    tree_put(tree, "sys/kernel/sched_ext/state", "%s\n",
             host->kernel->sched_ext);
    if (host->kernel->text) {
        /* where no core has siblings, a kernel that could says ENODEV */
        tree_put(tree, "core-sched", "%s", host->smt->off &&
                 !*host->kernel->text
                 ? "errno get 19\nerrno create 19\nerrno share-from 19\n"
                 : host->kernel->text);
    }
    return tree;
}

static void assert_truth(QTestState *qts, const LlcschedTree *tree,
                         const TruthHost *host, const TruthObject *object)
{
    const char *expected = truth(host, object);
    QDict *reply;

    g_test_message("%s %s, %s, placement %s: %s", object->backend,
                   object->strict ? "strict" : "best-effort",
                   object->one_cookie ? "one cookie" : "two cookies",
                   object->placed ? "on" : "off", expected ?: "refused");
    assert_success(qtest_qmp(
        qts, "{ 'execute': 'object-add', 'arguments': {"
        " 'qom-type': 'llcsched', 'id': 'sched0', 'x-sysfs-root': %s,"
        " 'trust': %s, 'trust-backend': %s, 'placement': %s } }", tree->path,
        object->strict ? "strict" : "best-effort", object->backend,
        object->placed ? "llc" : "off"));
    reply = group_add(qts, "a", "'vcpus': [0, 1], 'cookie': 'red'");
    if (!expected) {
        assert_error(reply, "the cookie cannot isolate");
        g_assert_true(trust_is(qts, "none", "none"));
    } else {
        g_auto(GStrv) words = g_strsplit(expected, " ", 2);

        assert_success(reply);
        assert_success(group_add(qts, "b", object->one_cookie
                                 ? "'vcpus': [2, 3], 'cookie': 'red'"
                                 : "'vcpus': [2, 3], 'cookie': 'blue'"));
        wait_trust(qts, words[0], words[1]);
        /* and so it stays */
        qtest_clock_step(qts, SECOND);
        wait_trust(qts, words[0], words[1]);
        assert_cookies(qts, object->one_cookie ? "1111" : "1122");
        assert_success(delete_object(qts, "a"));
        assert_success(delete_object(qts, "b"));
    }
    object_del(qts);
}

/* Every combination of options, on one host. */
static void test_truths(const void *data)
{
    static const char *const backends[] = { "auto", "kernel", "gate" };
    const TruthHost *host = data;
    g_autoptr(LlcschedTree) tree = truth_tree(host);
    QTestState *qts = start_without_object(FOUR_VCPUS);

    for (int backend = 0; backend < ARRAY_SIZE(backends); backend++) {
        for (unsigned bits = 0; bits < 8; bits++) {
            assert_truth(qts, tree, host, &(TruthObject) {
                .backend = backends[backend], .one_cookie = bits & 1,
                .placed = bits & 2, .strict = bits & 4 });
        }
    }
    qtest_quit(qts);
}

static void add_truths(void)
{
    static TruthHost hosts[ARRAY_SIZE(smts) * ARRAY_SIZE(kernels) * 2];
    TruthHost *host = hosts;

    for (int smt = 0; smt < ARRAY_SIZE(smts); smt++) {
        for (int kernel = 0; kernel < ARRAY_SIZE(kernels); kernel++) {
            for (int scarce = 0; scarce < 2; scarce++, host++) {
                g_autofree char *path = g_strdup_printf(
                    "llcsched-turns/isolation-is-true/%s/%s/%s",
                    smts[smt].name, kernels[kernel].name,
                    scarce ? "one-core" : "cores-enough");

                *host = (TruthHost) { &smts[smt], &kernels[kernel], scarce };
                qtest_add_data_func(path, host, test_truths);
            }
        }
    }
}

/* Whom masks keep apart, other VMs are not kept off. */
static void test_auto_strict(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 2, 2);
    QTestState *qts = start(tree, FOUR_VCPUS, "");

    assert_error(group_add(qts, "g", "'vcpus': [0], 'cookie': 'red'"),
                 "CONFIG_SCHED_CORE|trust-backend=gate");
    qtest_quit(qts);
}

/* One cookie for all of it: there is nobody in this VM to keep off. */
static void test_auto_one_cookie(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 2, 2);
    QTestState *qts = start(tree, FOUR_VCPUS, BEST_EFFORT ",cookie=red");

    wait_trust(qts, "none", "none");
    assert_cookies(qts, "1111");
    qtest_quit(qts);
}

/* --- Masks --- */

static const struct MaskCase {
    const char *name, *options, *mode;
} mask_cases[] = {
    { "auto", BEST_EFFORT, "masks" },
    { "gate", GATE, "gate" },
};

/* Each cookie has an LLC of its own; as planned before when a group goes. */
static void test_masks(const void *data)
{
    const struct MaskCase *mask_case = data;
    g_autoptr(LlcschedTree) tree = tree_new(1, 1, 4, 2);
    QTestState *qts = start(tree, FOUR_VCPUS, mask_case->options);
    QDict *info;
    g_autofree char *letters = NULL;

    add_groups(qts);
    wait_trust(qts, mask_case->mode, "this-vm");
    info = query(qts);
    letters = letters_of(info, "mask");
    g_assert_cmpstr(letters, ==, "AABB");
    g_assert_nonnull(strstr(qdict_get_str(nth(info, "vcpus", 0),
                                          "explanation"), "cookie"));
    qobject_unref(info);
    assert_success(delete_object(qts, "a"));
    assert_success(delete_object(qts, "b"));
    info = query(qts);
    g_free(letters);
    letters = letters_of(info, "mask");
    g_assert_cmpstr(letters, ==, "AAAA");
    qobject_unref(info);
    qtest_quit(qts);
}

/* --- Turns --- */

static int open_cookies(QTestState *qts)
{
    QDict *info = trust(qts);
    QList *list = qdict_get_qlist(info, "cookie-turns");
    const QListEntry *entry;
    int open = 0;

    QLIST_FOREACH_ENTRY(list, entry) {
        QDict *turns = qobject_to(QDict, qlist_entry_obj(entry));

        g_assert_cmpint(qdict_get_int(turns, "sharing"), ==, 2);
        open += qdict_get_bool(turns, "open");
    }
    qobject_unref(info);
    return open;
}

static void test_turns(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 1, 1, 2);
    QTestState *qts = start(tree, FOUR_VCPUS, GATE);
    int64_t end = deadline();
    g_autofree char *hmp = NULL;
    QDict *info;

    add_groups(qts);
    wait_trust(qts, "gate", "this-vm");
    while (turns_int(qts, 0, "turns") < 10 || turns_int(qts, 1, "turns") < 10) {
        qtest_clock_step(qts, MS / 2);
        g_assert_cmpint(open_cookies(qts), <=, 1);
        g_assert_cmpint(g_get_monotonic_time(), <, end);
    }
    info = trust(qts);
    g_assert_cmpstr(qdict_get_str(nth(info, "core-turns", 0), "cpus"), ==,
                    "0-1");
    g_assert_cmpint(qdict_get_int(nth(info, "core-turns", 0), "hand-overs"),
                    >=, 10);
    qobject_unref(info);
    hmp = qtest_hmp(qts, "info llcsched");
    g_assert_nonnull(strstr(hmp, "cookie 2: vCPU 2-3, weight 100"));
    qtest_quit(qts);
}

/* Without a second cookie nobody waits, and nothing is counted. */
static void test_alone(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 1, 1, 2);
    QTestState *qts = start(tree, FOUR_VCPUS, GATE ",cookie=red");
    QDict *info;

    wait_trust(qts, "gate", "this-vm");
    qtest_clock_step(qts, SECOND);
    info = trust(qts);
    g_assert_cmpint(qdict_get_int(nth(info, "cookie-turns", 0), "turns"), ==,
                    0);
    g_assert_true(qdict_get_bool(nth(info, "cookie-turns", 0), "open"));
    g_assert_true(qlist_empty(qdict_get_qlist(info, "core-turns")));
    qobject_unref(info);
    qtest_quit(qts);
}

/* SMT goes and comes back: seen within a second. */
static void test_smt(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 1, 1, 2);
    QTestState *qts = start(tree, FOUR_VCPUS, GATE ",dynamic=off");

    add_groups(qts);
    wait_trust(qts, "gate", "this-vm");
    tree_put(tree, TREE_CPUS "/smt/active", "0\n");
    qtest_clock_step(qts, SECOND);
    wait_trust(qts, "not-needed", "host");
    tree_put(tree, TREE_CPUS "/smt/active", "1\n");
    qtest_clock_step(qts, SECOND);
    wait_trust(qts, "gate", "this-vm");
    qtest_quit(qts);
}

static void test_object_goes(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 1, 1, 2);
    QTestState *qts = start(tree, FOUR_VCPUS, GATE);

    add_groups(qts);
    wait_trust(qts, "gate", "this-vm");
    qtest_clock_step(qts, MS);
    assert_success(delete_object(qts, "a"));
    assert_success(delete_object(qts, "b"));
    object_del(qts);
    g_assert_null(query_one(qts, "query-llcsched"));
    assert_success(object_add(qts, tree->path, NULL, NULL));
    qtest_quit(qts);
}

static const TestCase tests[] = {
    { "options/the-largest-weight-counts", test_weights },
    { "options/slice-is-live", test_slice_is_live },
    { "isolation/strict-needs-more-than-masks", test_auto_strict },
    { "isolation/one-cookie-is-not-isolated-by-masks", test_auto_one_cookie },
    { "turns/one-cookie-is-open-at-a-time", test_turns },
    { "turns/none-are-taken-alone", test_alone },
    { "turns/smt-goes-and-comes-back", test_smt },
    { "turns/object-goes", test_object_goes },
};

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    add_tests("llcsched-turns", tests, ARRAY_SIZE(tests));
    add_data_tests("llcsched-turns/options/refused", bad_options,
                   ARRAY_SIZE(bad_options), sizeof(bad_options[0]),
                   test_bad_option);
    add_data_tests("llcsched-turns/options/weight-refused", bad_weights,
                   ARRAY_SIZE(bad_weights), sizeof(bad_weights[0]),
                   test_bad_weight);
    add_truths();
    add_data_tests("llcsched-turns/masks/cores-of-their-own", mask_cases,
                   ARRAY_SIZE(mask_cases), sizeof(mask_cases[0]), test_masks);
    return g_test_run();
}
