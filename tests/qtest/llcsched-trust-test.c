/*
 * QTest testcase for llcsched: cookies, with a kernel that is made of a file
 *
 * Under qtest, the file core-sched in the host's tree says what PR_SCHED_CORE
 * fails with and what others do to cookies (hw/sched/llcsched-qtest-cookie.c).
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
#include "qobject/qjson.h"
#include "qobject/qlist.h"

#define EVENT "LLCSCHED_TRUST"
#define TWO_VCPUS "-smp 2,cores=2"
#define FOUR_VCPUS "-smp 4,cores=4"
#define NO_SMT "errno get 19\nerrno create 19\nerrno share-from 19\n"

/* A host with siblings, whose kernel does what @text says; NULL: has none. */
static LlcschedTree *host_new(const char *text)
{
    LlcschedTree *tree = tree_new(1, 2, 2, 2);

    if (text) {
        tree_put(tree, "core-sched", "%s", text);
    }
    return tree;
}

static void kernel_does(const LlcschedTree *tree, const char *text)
{
    tree_put(tree, "core-sched", "%s", text);
}

/* Somebody gives the thread of @vcpu @hash. */
static void change_cookie(QTestState *qts, const LlcschedTree *tree, int vcpu,
                          uint64_t hash, const char *more)
{
    QDict *info = query(qts);
    g_autofree char *text = g_strdup_printf(
        "set %" PRId64 " %" PRIx64 "\n%s",
        qdict_get_int(nth(info, "vcpus", vcpu), "thread-id"), hash, more);

    kernel_does(tree, text);
    qobject_unref(info);
}

/* The next look, also where dynamic=off: SMT may have come back. */
static void look(QTestState *qts)
{
    qtest_clock_step(qts, SECOND);
}

static char *vcpu_text(QTestState *qts, int vcpu, const char *field)
{
    QDict *info = query(qts);
    char *text = g_strdup(qdict_get_try_str(nth(info, "vcpus", vcpu), field));

    qobject_unref(info);
    return text;
}

static bool vcpu_gated(QTestState *qts, int vcpu)
{
    QDict *info = query(qts);
    bool gated = qdict_get_bool(nth(info, "vcpus", vcpu), "cookie-gated");

    qobject_unref(info);
    return gated;
}

static QDict *trust(QTestState *qts)
{
    QDict *info = query(qts);
    QDict *copy = qdict_clone_shallow(qdict_get_qdict(info, "trust"));

    qobject_unref(info);
    return copy;
}

static void assert_trust(QTestState *qts, const char *mode,
                         const char *isolation)
{
    QDict *info = trust(qts);

    g_assert_cmpstr(qdict_get_str(info, "mode"), ==, mode);
    g_assert_cmpstr(qdict_get_str(info, "isolation"), ==, isolation);
    qobject_unref(info);
}

static int64_t trust_int(QTestState *qts, const char *field)
{
    QDict *info = trust(qts);
    int64_t value = qdict_get_int(info, field);

    qobject_unref(info);
    return value;
}

static void assert_trust_error(QTestState *qts, int number, const char *word)
{
    QDict *info = trust(qts);

    g_assert_cmpint(qdict_get_int(info, "errno"), ==, number);
    g_assert_nonnull(strstr(qdict_get_str(info, "error"), word));
    qobject_unref(info);
}

/* A thread settles its own cookie: wait for it, a minute at most. */
static void wait_state(QTestState *qts, int vcpu, const char *state, bool gated)
{
    int64_t end = g_get_monotonic_time() + 60 * G_USEC_PER_SEC;

    for (;;) {
        g_autofree char *now = vcpu_text(qts, vcpu, "cookie-state");

        if (g_str_equal(now, state) && vcpu_gated(qts, vcpu) == gated) {
            return;
        }
        g_assert_cmpint(g_get_monotonic_time(), <, end);
    }
}

static void wait_states(QTestState *qts, int n, const char *state)
{
    for (int i = 0; i < n; i++) {
        wait_state(qts, i, state, false);
    }
}

/* Letters as letters_of() gives: those with one cookie have the same. */
static void assert_cookies(QTestState *qts, const char *letters)
{
    QDict *info = query(qts);
    g_autofree char *now = letters_of(info, "cookie-hash");

    g_assert_cmpstr(now, ==, letters);
    qobject_unref(info);
}

static QTestState *start_two(const LlcschedTree *tree, const char *options,
                             const char *state)
{
    QTestState *qts = start(tree, TWO_VCPUS, options);

    wait_states(qts, 2, state);
    return qts;
}

/* The thread of @vcpu loses its cookie, and cannot have it again. */
static void lose_cookie(QTestState *qts, const LlcschedTree *tree, int vcpu,
                        bool gated)
{
    change_cookie(qts, tree, vcpu, 0, "errno share-from 1\n");
    look(qts);
    wait_state(qts, vcpu, "failed", gated);
}

static void can_have_it_again(QTestState *qts, const LlcschedTree *tree,
                              int vcpu)
{
    kernel_does(tree, "");
    look(qts);
    wait_state(qts, vcpu, "ours", false);
}

/* --- Options --- */

static const struct BadCookie {
    const char *name, *json;
} bad_cookies[] = {
    { "empty", "''" },
    { "too-long", "'0123456789012345678901234567890123456789"
                  "0123456789012345678901234'" },
    { "not-printable", "'a\\tb'" },
    { "not-ascii", "'\\u00e4'" },
};

static void test_bad_cookie(const void *data)
{
    const struct BadCookie *bad = data;
    g_autoptr(LlcschedTree) tree = host_new("");
    g_autofree char *group = g_strdup_printf("'cookie': %s", bad->json);
    QTestState *qts = start_without_object(TWO_VCPUS);

    assert_error(object_add(qts, tree->path, "cookie", bad->json),
                 "cookie|1 to 64 printable");
    assert_success(object_add(qts, tree->path, NULL, NULL));
    assert_error(group_add(qts, "g", group), "cookie|1 to 64 printable");
    qtest_quit(qts);
}

static void test_words(void)
{
    g_autoptr(LlcschedTree) tree = host_new("");
    QTestState *qts = start_without_object(TWO_VCPUS);

    assert_error(object_add(qts, tree->path, "trust", "'maybe'"),
                 "trust|maybe");
    assert_error(object_add(qts, tree->path, "trust-backend", "'magic'"),
                 "trust-backend|magic");
    qtest_quit(qts);
}

static void test_fixed(void)
{
    g_autoptr(LlcschedTree) tree = host_new("");
    QTestState *qts = start(tree, TWO_VCPUS, ",cookie=blue");

    assert_error(qom_set(qts, "cookie", "'red'"), "cookie|cannot be changed");
    assert_error(qom_set(qts, "trust", "'best-effort'"),
                 "trust|cannot be changed");
    assert_error(qom_set(qts, "trust-backend", "'kernel'"),
                 "trust-backend|cannot be changed");
    assert_success(group_add(qts, "g", "'vcpus': [0], 'cookie': 'red'"));
    assert_error(qtest_qmp(qts, "{ 'execute': 'qom-set', 'arguments': {"
                           " 'path': '/objects/g', 'property': 'cookie',"
                           " 'value': 'green' } }"),
                 "cookie|cannot be changed");
    qtest_quit(qts);
}

/* What a cookie is called is told to nobody, the group's neither. */
static void test_told_to_nobody(void)
{
    g_autoptr(LlcschedTree) tree = host_new("");
    QTestState *qts = start(tree, TWO_VCPUS, ",cookie=unguessable");
    g_autofree char *hmp = NULL;
    QDict *reply;
    GString *text;

    assert_success(group_add(qts, "g",
                             "'vcpus': [0], 'cookie': 'unguessable too'"));
    reply = qtest_qmp(qts, "{ 'execute': 'query-llcsched' }");
    text = qobject_to_json(QOBJECT(reply));
    g_assert_null(strstr(text->str, "unguessable"));
    g_string_free(text, true);
    qobject_unref(reply);
    hmp = qtest_hmp(qts, "info llcsched");
    g_assert_null(strstr(hmp, "unguessable"));
    assert_error(qtest_qmp(qts, "{ 'execute': 'qom-get', 'arguments': {"
                           " 'path': '/objects/sched0',"
                           " 'property': 'cookie' } }"), "cookie");
    assert_error(qtest_qmp(qts, "{ 'execute': 'qom-get', 'arguments': {"
                           " 'path': '/objects/g',"
                           " 'property': 'cookie' } }"), "cookie");
    qtest_quit(qts);
}

/* --- Creation --- */

static const struct Refusal {
    const char *name, *kernel, *words;
} refusals[] = {
    { "no-support", NULL, "errno 22|CONFIG_SCHED_CORE|best-effort|smt" },
    { "denied", "errno get 1\n", "errno 1|seccomp" },
    { "create-denied", "errno create 1\n", "errno 1|seccomp" },
    { "no-memory", "errno create 12\n", "errno 12|memory" },
    { "bad-address", "errno get 14\n", "errno 14|PR_SCHED_CORE" },
    { "not-read-back", "errno get 3\n", "errno 3|PID namespace" },
};

static void test_strict_refuses(const void *data)
{
    const struct Refusal *refusal = data;
    g_autoptr(LlcschedTree) tree = host_new(refusal->kernel);
    QTestState *qts = start_without_object(TWO_VCPUS);

    assert_error(object_add(qts, tree->path, "cookie", "'blue'"),
                 refusal->words);
    g_assert_null(query_one(qts, "query-llcsched"));
    /* without a cookie it makes no difference */
    assert_success(object_add(qts, tree->path, NULL, NULL));
    assert_error(group_add(qts, "g", "'vcpus': [0], 'cookie': 'red'"),
                 refusal->words);
    g_assert_null(group_query(qts, "g"));
    assert_success(group_add(qts, "g", "'vcpus': [0]"));
    assert_trust(qts, "none", "none");
    qtest_quit(qts);
}

static void test_best_effort_runs(const void *data)
{
    const struct Refusal *refusal = data;
    g_autoptr(LlcschedTree) tree = host_new(refusal->kernel);
    QTestState *qts = start_two(tree, ",cookie=blue,trust=best-effort",
                                "failed");

    assert_trust(qts, "none", "none");
    g_assert_cmpint(trust_int(qts, "gated"), ==, 0);
    look(qts);
    wait_states(qts, 2, "failed");
    g_assert_cmpint(trust_int(qts, "gated"), ==, 0);
    qtest_quit(qts);
}

static void test_no_siblings(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 2, 1);
    QTestState *qts = start_two(tree, ",cookie=blue", "not-needed");

    assert_trust(qts, "not-needed", "host");
    qtest_quit(qts);
}

static void test_sched_ext(void)
{
    g_autoptr(LlcschedTree) tree = host_new("");
    QTestState *qts = start_without_object(TWO_VCPUS);

    tree_put(tree, "sys/kernel/sched_ext/state", "enabled\n");
    assert_error(object_add(qts, tree->path, "cookie", "'blue'"),
                 "sched_ext|unload");
    tree_put(tree, "sys/kernel/sched_ext/state", "disabled\n");
    assert_success(object_add(qts, tree->path, "cookie", "'blue'"));
    wait_states(qts, 2, "ours");
    qtest_quit(qts);
}

/* What isolation is said to be, in every combination; NULL: refused. */
static const struct Truth {
    const char *name, *kernel, *smt, *sched_ext;
    const char *strict, *best_effort;   /* mode, isolation, state of vCPU 0 */
} truths[] = {
    { "support-smt", "", "1", NULL,
      "kernel host ours", "kernel host ours" },
    { "support-no-smt", NO_SMT, "0", NULL,
      "not-needed host not-needed", "not-needed host not-needed" },
    { "no-support-smt", NULL, "1", NULL, NULL, "none none failed" },
    { "no-support-no-smt", NULL, "0", NULL,
      "not-needed host not-needed", "not-needed host not-needed" },
    { "no-support-siblings-seen", NULL, NULL, NULL, NULL, "none none failed" },
    { "sched-ext-smt", "", "1", "enabled", NULL, "none none failed" },
    { "sched-ext-no-smt", NO_SMT, "0", "enabled",
      "not-needed host not-needed", "not-needed host not-needed" },
    { "denied-smt", "errno get 1\n", "1", NULL, NULL, "none none failed" },
    { "denied-no-smt", "errno get 1\n", "0", NULL,
      "not-needed host not-needed", "not-needed host not-needed" },
    { "foreign", "inherited 77\n", "1", NULL,
      "kernel host foreign", "kernel host foreign" },
};

static void assert_truth(const LlcschedTree *tree, const char *trust_json,
                         const char *expected)
{
    QTestState *qts = start_without_object(TWO_VCPUS);
    QDict *reply = qtest_qmp(qts, "{ 'execute': 'object-add', 'arguments': {"
                             " 'qom-type': 'llcsched', 'id': 'sched0',"
                             " 'x-sysfs-root': %s, 'cookie': 'blue',"
                             " 'trust': %s } }", tree->path, trust_json);

    if (!expected) {
        assert_error(reply, "the cookie cannot isolate");
    } else {
        g_auto(GStrv) word = g_strsplit(expected, " ", 3);

        assert_success(reply);
        wait_states(qts, 2, word[2]);
        assert_trust(qts, word[0], word[1]);
        g_assert_cmpint(trust_int(qts, "gated"), ==, 0);
    }
    qtest_quit(qts);
}

static void test_truth(const void *data)
{
    const struct Truth *truth = data;
    g_autoptr(LlcschedTree) tree = host_new(truth->kernel);

    if (truth->smt) {
        tree_put(tree, TREE_CPUS "/smt/active", "%s\n", truth->smt);
    }
    if (truth->sched_ext) {
        tree_put(tree, "sys/kernel/sched_ext/state", "%s\n",
                 truth->sched_ext);
    }
    assert_truth(tree, "strict", truth->strict);
    assert_truth(tree, "best-effort", truth->best_effort);
}

/* --- Cookies --- */

static void test_one_cookie(void)
{
    g_autoptr(LlcschedTree) tree = host_new("");
    QTestState *qts = start(tree, FOUR_VCPUS, ",cookie=blue");

    wait_states(qts, 4, "ours");
    assert_cookies(qts, "AAAA");
    assert_trust(qts, "kernel", "host");
    g_assert_cmpint(trust_int(qts, "cookies"), ==, 1);
    qtest_quit(qts);
}

static void test_no_cookie(void)
{
    g_autoptr(LlcschedTree) tree = host_new("");
    QTestState *qts = start(tree, TWO_VCPUS, "");

    look(qts);
    wait_states(qts, 2, "none");
    assert_trust(qts, "none", "none");
    g_assert_cmpint(trust_int(qts, "cookies"), ==, 0);
    qtest_quit(qts);
}

/* Nearest on the way up; as it was when a group goes. */
static void test_groups(void)
{
    g_autoptr(LlcschedTree) tree = host_new("");
    QTestState *qts = start(tree, FOUR_VCPUS, ",cookie=blue");

    assert_success(group_add(qts, "top", "'cookie': 'red'"));
    assert_success(group_add(qts, "a", "'parent': 'top', 'vcpus': [1]"));
    assert_success(group_add(qts, "b", "'parent': 'top', 'vcpus': [2],"
                                       " 'cookie': 'green'"));
    assert_success(group_add(qts, "c", "'vcpus': [3], 'cookie': 'red'"));
    wait_states(qts, 4, "ours");
    assert_cookies(qts, "ABCB");
    g_assert_cmpint(trust_int(qts, "cookies"), ==, 3);
    assert_success(delete_object(qts, "b"));
    wait_states(qts, 4, "ours");
    assert_cookies(qts, "ABAB");
    g_assert_cmpint(trust_int(qts, "changes"), ==, 0);
    qtest_quit(qts);
}

static void test_cookie_goes_with_its_group(void)
{
    g_autoptr(LlcschedTree) tree = host_new("");
    QTestState *qts = start(tree, TWO_VCPUS, "");
    g_autofree char *hash = NULL;

    assert_success(group_add(qts, "g", "'vcpus': [0], 'cookie': 'red'"));
    wait_state(qts, 0, "ours", false);
    wait_state(qts, 1, "none", false);
    assert_success(delete_object(qts, "g"));
    wait_states(qts, 2, "none");
    hash = vcpu_text(qts, 0, "cookie-hash");
    g_assert_null(hash);
    qtest_quit(qts);
}

static void test_object_goes(void)
{
    g_autoptr(LlcschedTree) tree = host_new("");
    QTestState *qts = start_two(tree, ",cookie=blue", "ours");

    object_del(qts);
    /* whoever comes next finds no cookie that it would take for foreign */
    assert_success(object_add(qts, tree->path, NULL, NULL));
    assert_success(group_add(qts, "g", "'vcpus': [0], 'cookie': 'red'"));
    wait_state(qts, 0, "ours", false);
    wait_state(qts, 1, "none", false);
    qtest_quit(qts);
}

/* --- Changes from outside --- */

static const struct Change {
    const char *name;
    uint64_t hash;
    const char *options;
} changes[] = {
    { "cleared", 0, ",cookie=blue" },
    { "another", 0x77, ",cookie=blue" },
    { "cleared-without-looks", 0, ",cookie=blue,dynamic=off" },
    { "cleared-with-rare-looks", 0, ",cookie=blue,interval=60000" },
    { "cleared-best-effort", 0, ",cookie=blue,trust=best-effort" },
};

static void test_change_is_mended(const void *data)
{
    const struct Change *change = data;
    g_autoptr(LlcschedTree) tree = host_new("");
    QTestState *qts = start_two(tree, change->options, "ours");
    QDict *event;

    look(qts);
    change_cookie(qts, tree, 1, change->hash, "");
    look(qts);
    event = qtest_qmp_eventwait_ref(qts, EVENT);
    g_assert_cmpint(qdict_get_int(qdict_get_qdict(event, "data"), "changes"),
                    ==, 1);
    qobject_unref(event);
    wait_states(qts, 2, "ours");
    assert_cookies(qts, "AA");
    assert_trust(qts, "kernel", "host");
    g_assert_cmpint(trust_int(qts, "changes"), ==, 1);
    qtest_quit(qts);
}

static void test_change_that_stays(void)
{
    g_autoptr(LlcschedTree) tree = host_new("");
    QTestState *qts = start_two(tree, ",cookie=blue", "ours");

    lose_cookie(qts, tree, 1, true);
    wait_state(qts, 0, "ours", false);
    assert_trust(qts, "none", "none");
    assert_trust_error(qts, 1, "seccomp");
    g_assert_cmpint(trust_int(qts, "gated"), ==, 1);
    look(qts);
    wait_state(qts, 1, "failed", true);
    can_have_it_again(qts, tree, 1);
    assert_trust(qts, "kernel", "host");
    assert_trust_error(qts, 1, "seccomp"); /* the last one, still */
    qtest_quit(qts);
}

static void test_change_that_stays_best_effort(void)
{
    g_autoptr(LlcschedTree) tree = host_new("");
    QTestState *qts = start_two(tree, ",cookie=blue,trust=best-effort",
                                "ours");

    lose_cookie(qts, tree, 1, false);
    assert_trust(qts, "none", "none");
    can_have_it_again(qts, tree, 1);
    qtest_quit(qts);
}

static void test_gate_passes_what_must(void)
{
    g_autoptr(LlcschedTree) tree = host_new("");
    QTestState *qts = start_two(tree, ",cookie=blue", "ours");

    lose_cookie(qts, tree, 1, true);
    run_command(qts, "stop");
    run_command(qts, "system_reset");
    run_command(qts, "cont");
    wait_state(qts, 1, "failed", true);
    object_del(qts);
    qtest_quit(qts);
}

/* Nobody had a cookie when the VM started, so nobody looked. */
static void test_late_cookie_is_watched(void)
{
    g_autoptr(LlcschedTree) tree = host_new("");
    QTestState *qts = start(tree, ROOM_TO_PLUG, ",dynamic=off");

    assert_success(group_add(qts, "g", "'vcpus': [1], 'cookie': 'red'"));
    plug(qts, 0, 1);
    wait_for_vcpus(qts, 2);
    wait_state(qts, 1, "ours", false);
    lose_cookie(qts, tree, 1, true);
    can_have_it_again(qts, tree, 1);
    qtest_quit(qts);
}

/* What it ran since the last look is told: it may have been all untagged. */
static void test_untagged_time_is_told(void)
{
    g_autoptr(LlcschedTree) tree = host_new("");
    QTestState *qts = start(tree, "-smp 1", ",cookie=blue,x-vcpu-usage=50");
    QDict *info;

    wait_states(qts, 1, "ours");
    look(qts);
    look(qts);
    info = query(qts);
    g_assert_cmpint(qdict_get_int(nth(info, "vcpus", 0), "untagged-run-ns"),
                    ==, 0);
    qobject_unref(info);
    change_cookie(qts, tree, 0, 0, "");
    look(qts);
    wait_states(qts, 1, "ours");
    look(qts);
    info = query(qts);
    g_assert_cmpint(qdict_get_int(nth(info, "vcpus", 0), "untagged-run-ns"),
                    ==, SECOND / 2);
    qobject_unref(info);
    qtest_quit(qts);
}

/* --- Foreign cookies --- */

static void test_foreign_before_start(void)
{
    g_autoptr(LlcschedTree) tree = host_new("");
    QTestState *qts = start(tree, TWO_VCPUS " -S", ",cookie=blue");
    g_autofree char *hash = NULL;

    wait_states(qts, 2, "ours");
    change_cookie(qts, tree, 0, 0x77, "");
    run_command(qts, "cont");
    wait_state(qts, 0, "foreign", false);
    wait_state(qts, 1, "ours", false);
    look(qts);
    look(qts);
    wait_state(qts, 0, "foreign", false);
    hash = vcpu_text(qts, 0, "cookie-hash");
    g_assert_cmpstr(hash, ==, "0x77");
    g_assert_cmpint(trust_int(qts, "changes"), ==, 0);
    qtest_quit(qts);
}

static void test_foreign_from_birth(void)
{
    g_autoptr(LlcschedTree) tree = host_new("inherited 77\n");
    QTestState *qts = start_two(tree, ",cookie=blue", "foreign");

    look(qts);
    wait_states(qts, 2, "foreign");
    assert_cookies(qts, "AA");
    assert_trust(qts, "kernel", "host");
    qtest_quit(qts);
}

static void test_foreign_that_goes(void)
{
    g_autoptr(LlcschedTree) tree = host_new("inherited 77\n");
    QTestState *qts = start_two(tree, ",cookie=blue", "foreign");

    change_cookie(qts, tree, 1, 0, "");
    look(qts);
    wait_state(qts, 1, "ours", false);
    wait_state(qts, 0, "foreign", false);
    qtest_quit(qts);
}

/* One cookie from outside cannot keep our two apart. */
static void test_foreign_for_two(void)
{
    g_autoptr(LlcschedTree) tree = host_new("inherited 77\n");
    QTestState *qts = start_two(tree, ",cookie=blue", "foreign");

    assert_success(group_add(qts, "g", "'vcpus': [1], 'cookie': 'red'"));
    wait_state(qts, 0, "failed", true);
    wait_state(qts, 1, "failed", true);
    assert_trust(qts, "none", "none");
    assert_trust_error(qts, 0, "outside");
    assert_success(delete_object(qts, "g"));
    wait_states(qts, 2, "foreign");
    qtest_quit(qts);
}

/* --- SMT --- */

static void test_smt_comes_back(const void *data)
{
    const struct Change *change = data;
    g_autoptr(LlcschedTree) tree = host_new(NO_SMT);
    QTestState *qts = start_two(tree, change->options, "not-needed");

    assert_trust(qts, "not-needed", "host");
    kernel_does(tree, "");
    look(qts);
    wait_states(qts, 2, "ours");
    assert_cookies(qts, "AA");
    assert_trust(qts, "kernel", "host");
    kernel_does(tree, NO_SMT);
    look(qts);
    wait_states(qts, 2, "not-needed");
    assert_trust(qts, "not-needed", "host");
    kernel_does(tree, "");
    look(qts);
    wait_states(qts, 2, "ours");
    g_assert_cmpint(trust_int(qts, "changes"), ==, 0);
    qtest_quit(qts);
}

/* Without support, siblings that come online close the gates. */
static void test_smt_comes_without_support(void)
{
    g_autoptr(LlcschedTree) tree = host_new(NULL);
    QTestState *qts;

    tree_put(tree, TREE_CPUS "/smt/active", "0\n");
    qts = start(tree, TWO_VCPUS, ",cookie=blue");
    wait_states(qts, 2, "not-needed");
    tree_put(tree, TREE_CPUS "/smt/active", "1\n");
    look(qts);
    wait_state(qts, 0, "failed", true);
    wait_state(qts, 1, "failed", true);
    assert_trust(qts, "none", "none");
    assert_trust_error(qts, 22, "CONFIG_SCHED_CORE");
    tree_put(tree, TREE_CPUS "/smt/active", "0\n");
    look(qts);
    wait_states(qts, 2, "not-needed");
    assert_trust(qts, "not-needed", "host");
    qtest_quit(qts);
}

/* --- Plug --- */

static QDict *try_plug(QTestState *qts)
{
    return qtest_qmp(qts, "{ 'execute': 'device_add', 'arguments': {"
                     "  'driver': 'qemu64-x86_64-cpu', 'id': 'more',"
                     "  'socket-id': 0, 'core-id': 1, 'thread-id': 0 } }");
}

static void test_plug(void)
{
    g_autoptr(LlcschedTree) tree = host_new("");
    QTestState *qts = start(tree, ROOM_TO_PLUG, ",cookie=blue");

    wait_states(qts, 1, "ours");
    plug(qts, 0, 1);
    wait_for_vcpus(qts, 2);
    wait_states(qts, 2, "ours");
    assert_cookies(qts, "AA");
    qtest_quit(qts);
}

static void test_plug_beside_foreign(void)
{
    g_autoptr(LlcschedTree) tree = host_new("");
    QTestState *qts = start(tree, ROOM_TO_PLUG " -S", ",cookie=blue");

    wait_states(qts, 1, "ours");
    change_cookie(qts, tree, 0, 0x77, "");
    run_command(qts, "cont");
    wait_state(qts, 0, "foreign", false);
    plug(qts, 0, 1);
    wait_for_vcpus(qts, 2);
    wait_states(qts, 2, "foreign");
    assert_cookies(qts, "AA");
    qtest_quit(qts);
}

static void test_plug_is_vetoed(void)
{
    g_autoptr(LlcschedTree) tree = host_new("");
    QTestState *qts = start(tree, ROOM_TO_PLUG, ",cookie=blue");

    wait_states(qts, 1, "ours");
    kernel_does(tree, "errno get 1\n");
    assert_error(try_plug(qts), "plugged|errno 1|seccomp");
    kernel_does(tree, "");
    assert_success(try_plug(qts));
    wait_for_vcpus(qts, 2);
    qtest_quit(qts);
}

static void test_plug_best_effort(void)
{
    g_autoptr(LlcschedTree) tree = host_new(NULL);
    QTestState *qts = start(tree, ROOM_TO_PLUG,
                            ",cookie=blue,trust=best-effort");

    assert_success(try_plug(qts));
    wait_for_vcpus(qts, 2);
    wait_states(qts, 2, "failed");
    qtest_quit(qts);
}

static const TestCase tests[] = {
    { "options/words", test_words },
    { "options/fixed-once-created", test_fixed },
    { "options/cookies-are-told-to-nobody", test_told_to_nobody },
    { "start/no-siblings-need-no-support", test_no_siblings },
    { "start/not-with-sched-ext", test_sched_ext },
    { "cookies/one-for-the-vm", test_one_cookie },
    { "cookies/none-unless-asked-for", test_no_cookie },
    { "cookies/groups-have-their-own", test_groups },
    { "cookies/gone-with-their-group", test_cookie_goes_with_its_group },
    { "cookies/gone-with-the-object", test_object_goes },
    { "change/that-stays-keeps-the-vcpu-out", test_change_that_stays },
    { "change/that-stays-is-told-by-best-effort",
      test_change_that_stays_best_effort },
    { "change/kept-out-but-stop-reset-delete-pass",
      test_gate_passes_what_must },
    { "change/of-a-late-cookie-is-seen", test_late_cookie_is_watched },
    { "change/time-without-it-is-told", test_untagged_time_is_told },
    { "foreign/before-the-start-is-respected", test_foreign_before_start },
    { "foreign/from-birth-is-respected", test_foreign_from_birth },
    { "foreign/that-goes-makes-room-for-ours", test_foreign_that_goes },
    { "foreign/one-for-two-of-ours-is-a-failure", test_foreign_for_two },
    { "smt/without-support-siblings-close-the-gates",
      test_smt_comes_without_support },
    { "plug/vcpu-joins", test_plug },
    { "plug/vcpu-joins-foreign-peers", test_plug_beside_foreign },
    { "plug/vetoed-if-not-isolated", test_plug_is_vetoed },
    { "plug/best-effort-plugs", test_plug_best_effort },
};

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    add_tests("llcsched-trust", tests, ARRAY_SIZE(tests));
    add_data_tests("llcsched-trust/options/bad-cookie", bad_cookies,
                   ARRAY_SIZE(bad_cookies), sizeof(bad_cookies[0]),
                   test_bad_cookie);
    add_data_tests("llcsched-trust/start/strict-refuses", refusals,
                   ARRAY_SIZE(refusals), sizeof(refusals[0]),
                   test_strict_refuses);
    add_data_tests("llcsched-trust/start/best-effort-runs", refusals,
                   ARRAY_SIZE(refusals), sizeof(refusals[0]),
                   test_best_effort_runs);
    add_data_tests("llcsched-trust/isolation-is-true", truths,
                   ARRAY_SIZE(truths), sizeof(truths[0]), test_truth);
    add_data_tests("llcsched-trust/change/is-mended", changes,
                   ARRAY_SIZE(changes), sizeof(changes[0]),
                   test_change_is_mended);
    add_data_tests("llcsched-trust/smt/comes-back", changes + 2,
                   ARRAY_SIZE(changes) - 2, sizeof(changes[0]),
                   test_smt_comes_back);
    return g_test_run();
}
