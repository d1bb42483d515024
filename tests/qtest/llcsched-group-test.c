/*
 * QTest testcase for llcsched-group: the life of groups, and their limits
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "libqtest.h"
#include "llcsched-tree.h"
#include "llcsched-util.h"
#include "qapi/error.h"
#include "qobject/qdict.h"
#include "qobject/qjson.h"
#include "qobject/qlist.h"

#define FOUR_OF_SIX "-smp 4,maxcpus=6,sockets=6,cores=1"

/* In the order of the query: "a b c". */
static void assert_groups(QTestState *qts, const char *names)
{
    QDict *info = query(qts);
    GString *found = g_string_new(NULL);
    const QListEntry *entry;

    QLIST_FOREACH_ENTRY(qdict_get_qlist(info, "groups"), entry) {
        const QDict *group = qobject_to(QDict, qlist_entry_obj(entry));

        g_string_append_printf(found, "%s%s", found->len ? " " : "",
                               qdict_get_str(group, "id"));
    }
    g_assert_cmpstr(found->str, ==, names);
    g_string_free(found, true);
    qobject_unref(info);
}

static QDict *group_qom_set(QTestState *qts, const char *id, const char *name,
                            const char *json)
{
    g_autofree char *path = g_strdup_printf("/objects/%s", id);

    return qtest_qmp(qts, "{ 'execute': 'qom-set', 'arguments': {"
                     "  'path': %s, 'property': %s, 'value': %p } }",
                     path, name, qobject_from_json(json, &error_abort));
}

static int64_t group_qom_int(QTestState *qts, const char *id, const char *name)
{
    g_autofree char *path = g_strdup_printf("/objects/%s", id);
    QDict *reply = qtest_qmp(qts, "{ 'execute': 'qom-get', 'arguments': {"
                             "  'path': %s, 'property': %s } }", path, name);
    int64_t value = qdict_get_int(reply, "return");

    qobject_unref(reply);
    return value;
}

/* The properties and the query say the same. */
static void assert_limits(QTestState *qts, const char *id, int64_t quota_us,
                          int64_t period_us, int64_t burst_us)
{
    g_assert_cmpint(group_qom_int(qts, id, "quota-us"), ==, quota_us);
    g_assert_cmpint(group_qom_int(qts, id, "period-us"), ==, period_us);
    g_assert_cmpint(group_qom_int(qts, id, "burst-us"), ==, burst_us);
    g_assert_cmpint(group_int(qts, id, "quota-us"), ==, quota_us);
    g_assert_cmpint(group_int(qts, id, "period-us"), ==, period_us);
    g_assert_cmpint(group_int(qts, id, "burst-us"), ==, burst_us);
}

static void assert_text(QTestState *qts, const char *id, const char *field,
                        const char *text)
{
    g_autofree char *found = group_text(qts, id, field);

    g_assert_cmpstr(found, ==, text);
}

/* Life */

typedef struct LifeCase {
    const char *id, *json;
    const char *words;      /* of the error */
} LifeCase;

/* To a VM that has group "inner", and "leaf" below it with vCPU 0 and 1. */
static const LifeCase refused_groups[] = {
    { "g", "'parent': 'ghost'", "parent|ghost|does not exist|before" },
    { "g", "'parent': ''", "parent|''|does not exist" },
    { "g", "'parent': 'g'", "parent|'g'|does not exist" },
    { "g", "'parent': 'io0'", "parent|io0|iothread|llcsched-group" },
    { "g", "'parent': 'leaf', 'vcpus': [2]", "parent|leaf|has vCPUs" },
    { "g", "'parent': 7", "parent|string" },
    { "g", "'vcpus': [6]", "vcpus|6|0 to 5" },
    { "g", "'vcpus': [2, 65535]", "vcpus|65535|0 to 5" },
    { "g", "'vcpus': [65536]", "uint16" },
    { "g", "'vcpus': [-1]", "uint16" },
    { "g", "'vcpus': []", "vcpus|empty|leave it out" },
    { "g", "'vcpus': [2, 3, 2]", "vcpus|2|twice" },
    { "g", "'vcpus': 2", "vcpus|array" },
    { "g", "'vcpus': [2, 1]", "vcpus|1|'leaf'|one group" },
    { "g", "'parent': 'inner', 'vcpus': [0]", "vcpus|0|'leaf'" },
    { "leaf", "'vcpus': [2]", "leaf" },
    { "sched0", "'vcpus': [2]", "sched0" },
    { "g", "'speed': 7", "speed" },
};

static QTestState *start_with_groups(const LlcschedTree *tree)
{
    QTestState *qts = start(tree, FOUR_OF_SIX " -object iothread,id=io0", "");

    assert_success(group_add(qts, "inner", ""));
    assert_success(group_add(qts, "leaf", "'parent': 'inner', "
                             "'vcpus': [0, 1]"));
    return qts;
}

static void test_refused_groups_leave_nothing(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    QTestState *qts = start_with_groups(tree);

    for (int i = 0; i < ARRAY_SIZE(refused_groups); i++) {
        const LifeCase *c = &refused_groups[i];

        g_test_message("%s: %s", c->id, c->json);
        assert_error(group_add(qts, c->id, c->json), c->words);
        assert_groups(qts, "inner leaf");
    }
    /* what was refused holds no name, no vCPU and no parent */
    assert_success(group_add(qts, "g", "'parent': 'inner', "
                             "'vcpus': [2, 3, 5]"));
    assert_success(delete_object(qts, "g"));
    assert_success(delete_object(qts, "leaf"));
    assert_success(delete_object(qts, "inner"));
    assert_success(delete_object(qts, "sched0"));
    qtest_quit(qts);
}

static void test_groups_need_an_llcsched_object(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    QTestState *qts = start_without_object("");

    assert_error(group_add(qts, "g", "'vcpus': [0]"),
                 "no llcsched object|create one before");
    assert_error(set_limits(qts, "g", "'quota-us': 100"), "llcsched-group|'g'");
    assert_success(object_add(qts, tree->path, NULL, NULL));
    assert_success(group_add(qts, "g", "'vcpus': [0]"));
    assert_groups(qts, "g");
    qtest_quit(qts);
}

static void test_parents_come_first_and_go_last(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    QTestState *qts = start_with_groups(tree);

    for (int round = 0; round < 3; round++) {
        assert_error(delete_object(qts, "inner"), "inner|in use");
        assert_error(delete_object(qts, "sched0"), "sched0|in use");
        assert_success(delete_object(qts, "leaf"));
        assert_error(delete_object(qts, "sched0"), "sched0|in use");
        assert_success(delete_object(qts, "inner"));
        assert_success(delete_object(qts, "sched0"));
        assert_error(delete_object(qts, "leaf"), "leaf");
        assert_success(object_add(qts, tree->path, NULL, NULL));
        assert_groups(qts, "");
        assert_success(group_add(qts, "inner", "'parent': 'sched0'"));
        assert_success(group_add(qts, "leaf", "'parent': 'inner', "
                                 "'vcpus': [1]"));
        assert_groups(qts, "inner leaf");
    }
    qtest_quit(qts);
}

static void test_query_tells_what_was_asked_for(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    QTestState *qts = start_with_groups(tree);

    assert_success(group_add(qts, "named", "'parent': 'sched0', "
                             "'vcpus': [5, 2, 3], 'quota-us': 7000, "
                             "'period-us': 20000, 'burst-us': 1000"));
    assert_text(qts, "inner", "parent", NULL);
    assert_text(qts, "inner", "vcpus", "");
    assert_limits(qts, "inner", 0, 10000, 0);
    assert_text(qts, "leaf", "parent", "inner");
    assert_text(qts, "leaf", "vcpus", "0-1");
    assert_text(qts, "named", "parent", NULL);
    assert_text(qts, "named", "vcpus", "2-3,5");
    assert_limits(qts, "named", 7000, 20000, 1000);
    assert_text(qts, "named", "throttled-by", NULL);
    g_assert_false(group_bool(qts, "named", "throttled"));
    qtest_quit(qts);
}

static void test_parent_and_vcpus_are_fixed(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    QTestState *qts = start_with_groups(tree);

    assert_error(group_qom_set(qts, "inner", "vcpus", "[2]"),
                 "vcpus|cannot be changed|delete");
    assert_error(group_qom_set(qts, "leaf", "vcpus", "[0, 1]"),
                 "vcpus|cannot be changed|delete");
    assert_error(group_qom_set(qts, "leaf", "parent", "'sched0'"),
                 "parent|cannot be changed|delete");
    assert_error(group_qom_set(qts, "inner", "parent", "'leaf'"),
                 "parent|cannot be changed|delete");
    assert_text(qts, "leaf", "parent", "inner");
    assert_text(qts, "leaf", "vcpus", "0-1");
    assert_text(qts, "inner", "vcpus", "");
    qtest_quit(qts);
}

static void test_vcpu_of_a_deleted_group_is_free(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    QTestState *qts = start_with_groups(tree);

    assert_error(group_add(qts, "g", "'vcpus': [0]"), "vcpus|0|'leaf'");
    assert_success(delete_object(qts, "leaf"));
    assert_success(group_add(qts, "g", "'vcpus': [0]"));
    assert_error(group_add(qts, "leaf", "'vcpus': [0]"), "vcpus|0|'g'");
    qtest_quit(qts);
}

static void test_depth_has_a_limit(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    QTestState *qts = start(tree, "-smp 2", "");

    for (int depth = 1; depth <= 32; depth++) {
        g_autofree char *id = g_strdup_printf("g%d", depth);
        g_autofree char *json = depth > 1
            ? g_strdup_printf("'parent': 'g%d'", depth - 1) : g_strdup("");

        assert_success(group_add(qts, id, json));
    }
    assert_error(group_add(qts, "deeper", "'parent': 'g32', 'vcpus': [0]"),
                 "32");
    g_assert_null(group_query(qts, "deeper"));
    assert_success(group_add(qts, "leaf", "'parent': 'g31', 'vcpus': [0]"));
    assert_success(set_limits(qts, "g1", "'quota-us': 5000"));
    assert_text(qts, "leaf", "effective-group", "g1");
    qtest_quit(qts);
}

static void test_added_to_a_stopped_vm(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    QTestState *qts = start(tree, "-S -smp 2", "");

    assert_success(group_add(qts, "g", "'vcpus': [0, 1], 'quota-us': 500"));
    assert_groups(qts, "g");
    assert_success(delete_object(qts, "g"));
    run_command(qts, "cont");
    assert_success(group_add(qts, "g", "'vcpus': [0, 1]"));
    qtest_quit(qts);
}

static void test_added_by_hmp(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    QTestState *qts = start(tree, FOUR_OF_SIX, "");
    g_autofree char *text = qtest_hmp(qts, "object_add llcsched-group,id=g,"
                                      "vcpus.0=0,vcpus.1=1,vcpus.2=4,"
                                      "quota-us=5000");

    g_assert_cmpstr(text, ==, "");
    assert_text(qts, "g", "vcpus", "0-1,4");
    assert_limits(qts, "g", 5000, 10000, 0);
    qtest_quit(qts);
}

static void test_info_has_a_line_of_80_columns(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    QTestState *qts = start(tree, FOUR_OF_SIX, "");
    g_autofree char *text = NULL;
    g_auto(GStrv) line = NULL;
    int groups = 0;

    assert_success(group_add(qts, "tenant-with-a-name-longer-than-many",
                             "'quota-us': 900000, 'period-us': 1000000"));
    assert_success(group_add(qts, "leaf", "'vcpus': [0, 2, 4], 'parent': "
                             "'tenant-with-a-name-longer-than-many'"));
    text = qtest_hmp(qts, "info llcsched");
    g_assert_nonnull(strstr(text, "\r\nsteal time unsupported: vCPU 0"));
    line = g_strsplit(text, "\r\n", 0);
    for (int i = 0; line[i]; i++) {
        groups += g_str_has_prefix(line[i], "group ");
        if (strlen(line[i]) > 80) {
            fail("wider than 80 columns: %s", line[i]);
        }
    }
    g_assert_cmpint(groups, ==, 2);
    qtest_quit(qts);
}

/* Limits */

#define QUOTA_US_MAX 9007199254740      /* 2^53 ns */
#define STRING(x) #x
#define TEXT(x) STRING(x)

typedef struct LimitsCase {
    const char *json;
    int64_t quota_us, period_us, burst_us;
    const char *words;      /* of the error; NULL: it is good */
} LimitsCase;

static const LimitsCase limits_cases[] = {
    { "'quota-us': 100", 100, 10000, 0 },
    { "'quota-us': " TEXT(QUOTA_US_MAX), QUOTA_US_MAX, 10000, 0 },
    { "'quota-us': 0", 0, 10000, 0 },
    { "'period-us': 1000", 0, 1000, 0 },
    { "'period-us': 1000000", 0, 1000000, 0 },
    { "'quota-us': 100, 'burst-us': 10000", 100, 10000, 10000 },
    { "'quota-us': 5000, 'period-us': 20000, 'burst-us': 500000",
      5000, 20000, 500000 },
    { "'quota-us': " TEXT(QUOTA_US_MAX) ", 'burst-us': 900719925474000",
      QUOTA_US_MAX, 10000, 900719925474000 },
    { "'quota-us': 99", .words = "quota-us|99|100 to 9007199254740|unlimited" },
    { "'quota-us': 1", .words = "quota-us|1|100 to 9007199254740" },
    { "'quota-us': -1", .words = "quota-us|-1|0 is unlimited|100 to" },
    { "'quota-us': -9223372036854775808", .words = "quota-us|0 is unlimited" },
    { "'quota-us': 9007199254741",
      .words = "quota-us|9007199254741|100 to 9007199254740" },
    { "'quota-us': 9223372036854775807", .words = "quota-us|9007199254740" },
    { "'quota-us': 9223372036854775808", .words = "quota-us|integer" },
    { "'quota-us': 1.5", .words = "quota-us|integer" },
    { "'quota-us': 'max'", .words = "quota-us|integer" },
    { "'quota-us': 5000, 'period-us': 999",
      .words = "period-us|999|1000 to 1000000" },
    { "'period-us': 1000001", .words = "period-us|1000001|1000 to 1000000" },
    { "'period-us': 0", .words = "period-us|0|1000 to 1000000" },
    { "'period-us': -10000", .words = "period-us|-10000|1000 to 1000000" },
    { "'quota-us': 5000, 'burst-us': 500001",
      .words = "burst-us|500001|0 to 500000|100 times|5000" },
    { "'quota-us': 5000, 'burst-us': 9223372036854775807",
      .words = "burst-us|0 to 500000" },
    { "'quota-us': 5000, 'burst-us': -1", .words = "burst-us|-1|0 is" },
    { "'burst-us': 1", .words = "burst-us|1|quota-us|unlimited" },
    { "'quota-us': 5000, 'period-us': 2000000, 'burst-us': 1",
      .words = "period-us|2000000" },
};

static void test_limits_at_creation(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    QTestState *qts = start(tree, "-smp 2", "");

    for (int i = 0; i < ARRAY_SIZE(limits_cases); i++) {
        const LimitsCase *c = &limits_cases[i];
        QDict *reply = group_add(qts, "g", c->json);

        g_test_message("%s", c->json);
        if (c->words) {
            assert_error(reply, c->words);
            assert_groups(qts, "");
        } else {
            assert_success(reply);
            assert_limits(qts, "g", c->quota_us, c->period_us, c->burst_us);
            assert_success(delete_object(qts, "g"));
        }
    }
    qtest_quit(qts);
}

static void test_limits_live(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    QTestState *qts = start(tree, "-smp 2", "");

    assert_success(group_add(qts, "g", "'vcpus': [0, 1]"));
    for (int i = 0; i < ARRAY_SIZE(limits_cases); i++) {
        const LimitsCase *c = &limits_cases[i];

        g_test_message("%s", c->json);
        if (c->words) {
            assert_error(set_limits(qts, "g", c->json), c->words);
        } else {
            assert_success(set_limits(qts, "g", c->json));
            assert_limits(qts, "g", c->quota_us, c->period_us, c->burst_us);
        }
        assert_success(set_limits(qts, "g", "'quota-us': 0, 'burst-us': 0, "
                                  "'period-us': 10000"));
        assert_limits(qts, "g", 0, 10000, 0);
    }
    qtest_quit(qts);
}

static void test_what_is_not_named_stays(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    QTestState *qts = start(tree, "-smp 2", "");

    assert_success(group_add(qts, "g", "'quota-us': 5000, 'burst-us': 1000"));
    assert_success(set_limits(qts, "g", "'period-us': 20000"));
    assert_limits(qts, "g", 5000, 20000, 1000);
    assert_success(set_limits(qts, "g", "'quota-us': 4000"));
    assert_limits(qts, "g", 4000, 20000, 1000);
    assert_success(set_limits(qts, "g", "'burst-us': 0"));
    assert_limits(qts, "g", 4000, 20000, 0);
    assert_success(set_limits(qts, "g", ""));
    assert_limits(qts, "g", 4000, 20000, 0);
    assert_success(set_limits(qts, "g", "'quota-us': 100, 'period-us': 1000, "
                              "'burst-us': 10000"));
    assert_limits(qts, "g", 100, 1000, 10000);
    qtest_quit(qts);
}

/* What is named is checked with what stays. */
static void test_nothing_is_half_applied(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    QTestState *qts = start(tree, "-smp 2", "");

    assert_success(group_add(qts, "g", "'quota-us': 5000, 'burst-us': 6000"));
    assert_error(set_limits(qts, "g", "'quota-us': 0"),
                 "burst-us|6000|quota-us");
    assert_error(set_limits(qts, "g", "'quota-us': 4000, 'period-us': 1"),
                 "period-us|1|1000 to 1000000");
    assert_error(set_limits(qts, "g", "'burst-us': 7000, 'quota-us': 7"),
                 "quota-us|7|100 to");
    assert_error(set_limits(qts, "g", "'period-us': 30000, "
                            "'burst-us': 500001"), "burst-us|0 to 500000");
    assert_error(set_limits(qts, "g", "'quota-us': 7000, 'speed': 1"),
                 "speed");
    assert_error(group_qom_set(qts, "g", "quota-us", "0"),
                 "burst-us|6000|quota-us");
    assert_error(group_qom_set(qts, "g", "quota-us", "50"), "quota-us|50");
    assert_error(group_qom_set(qts, "g", "period-us", "50"), "period-us|50");
    assert_error(group_qom_set(qts, "g", "burst-us", "600000"),
                 "burst-us|600000|0 to 500000");
    assert_error(group_qom_set(qts, "g", "burst-us", "'many'"), "burst-us");
    assert_limits(qts, "g", 5000, 10000, 6000);
    qtest_quit(qts);
}

static void test_one_limit_is_set_live(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    QTestState *qts = start(tree, "-smp 2", "");

    assert_success(group_add(qts, "g", "'vcpus': [0, 1]"));
    assert_success(group_qom_set(qts, "g", "quota-us", "5000"));
    assert_success(group_qom_set(qts, "g", "period-us", "20000"));
    assert_success(group_qom_set(qts, "g", "burst-us", "7000"));
    assert_limits(qts, "g", 5000, 20000, 7000);
    g_assert_true(group_bool(qts, "g", "limited"));
    qtest_quit(qts);
}

static void test_only_groups_have_limits(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    QTestState *qts = start(tree, "-smp 2", "");

    assert_error(set_limits(qts, "ghost", "'quota-us': 5000"),
                 "llcsched-group|'ghost'");
    assert_error(set_limits(qts, "sched0", "'quota-us': 5000"),
                 "llcsched-group|'sched0'");
    assert_error(set_limits(qts, "", "'quota-us': 5000"), "llcsched-group|''");
    qtest_quit(qts);
}

/* A child above its parent is accepted, and the query shows what it gets. */
static void test_smallest_ratio_on_the_path_is_effective(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    QTestState *qts = start(tree, "-smp 2", "");

    assert_success(group_add(qts, "top", "'quota-us': 40000, "
                             "'period-us': 50000"));
    assert_success(group_add(qts, "mid", "'parent': 'top'"));
    assert_success(group_add(qts, "leaf", "'parent': 'mid', 'vcpus': [0, 1], "
                             "'quota-us': 9000"));
    assert_text(qts, "leaf", "effective-group", "top");
    g_assert_cmpint(group_int(qts, "leaf", "effective-quota-us"), ==, 40000);
    g_assert_cmpint(group_int(qts, "leaf", "effective-period-us"), ==, 50000);
    assert_limits(qts, "leaf", 9000, 10000, 0);
    assert_text(qts, "mid", "effective-group", "top");
    assert_success(set_limits(qts, "leaf", "'quota-us': 7900"));
    assert_text(qts, "leaf", "effective-group", "leaf");
    g_assert_cmpint(group_int(qts, "leaf", "effective-quota-us"), ==, 7900);
    assert_text(qts, "mid", "effective-group", "top");
    assert_success(set_limits(qts, "mid", "'quota-us': 700, "
                              "'period-us': 1000"));
    assert_text(qts, "leaf", "effective-group", "mid");
    assert_text(qts, "top", "effective-group", "top");
    qtest_quit(qts);
}

static void test_what_is_no_limit_has_none(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    QTestState *qts = start(tree, "-smp 2", "");

    assert_success(group_add(qts, "empty", "'quota-us': 500"));
    assert_success(group_add(qts, "g", "'vcpus': [0, 1]"));
    g_assert_false(group_bool(qts, "empty", "limited"));
    g_assert_false(group_bool(qts, "g", "limited"));
    assert_text(qts, "g", "effective-group", NULL);
    g_assert_cmpint(group_int(qts, "g", "effective-quota-us"), ==, 0);
    g_assert_cmpint(group_int(qts, "g", "effective-period-us"), ==, 0);
    assert_success(set_limits(qts, "g", "'quota-us': 20000"));
    g_assert_false(group_bool(qts, "g", "limited"));
    assert_success(set_limits(qts, "g", "'quota-us': 19999"));
    g_assert_true(group_bool(qts, "g", "limited"));
    qtest_quit(qts);
}

/* Command line */

static void test_tree_on_the_command_line(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    QTestState *qts = start(tree, "-smp 4", " -object llcsched-group,id=top,"
                            "quota-us=30000 -object llcsched-group,id=leaf,"
                            "parent=top,vcpus=0-1,vcpus=3,quota-us=5000,"
                            "period-us=20000,burst-us=1000 -object '"
                            "{\"qom-type\":\"llcsched-group\",\"id\":\"json\","
                            "\"parent\":\"top\",\"vcpus\":[2]}'");

    assert_groups(qts, "top leaf json");
    assert_text(qts, "leaf", "vcpus", "0-1,3");
    assert_text(qts, "json", "vcpus", "2");
    assert_limits(qts, "leaf", 5000, 20000, 1000);
    assert_text(qts, "leaf", "parent", "top");
    g_assert_true(group_bool(qts, "leaf", "limited"));
    qtest_quit(qts);
}

typedef struct RefusedStart {
    const char *name, *args, *words;
} RefusedStart;

#define LLCSCHED "-accel tcg -smp 4 -object llcsched,id=s "

static const RefusedStart refused_starts[] = {
    { "without-llcsched", "-accel tcg -object llcsched-group,id=g,vcpus=0",
      "no llcsched object" },
    { "before-llcsched", "-accel tcg -object llcsched-group,id=g,vcpus=0 "
      "-object llcsched,id=s", "no llcsched object|create one before" },
    { "child-before-parent", LLCSCHED "-object llcsched-group,id=g,parent=h "
      "-object llcsched-group,id=h", "parent|'h'|before their children" },
    { "cycle", LLCSCHED "-object llcsched-group,id=g,parent=h "
      "-object llcsched-group,id=h,parent=g", "parent|'h'" },
    { "vcpu-that-cannot-be", LLCSCHED "-object llcsched-group,id=g,vcpus=2-4",
      "vcpus|4|0 to 3" },
    { "range-beyond-all", LLCSCHED
      "-object llcsched-group,id=g,vcpus=0-99999", "vcpus" },
    { "vcpu-in-two", LLCSCHED "-object llcsched-group,id=g,vcpus=0-2 "
      "-object llcsched-group,id=h,vcpus=2-3", "vcpus|2|'g'" },
    { "small-quota", LLCSCHED "-object llcsched-group,id=g,quota-us=7",
      "quota-us|7|100 to" },
};

static void test_start_refused(const void *opaque)
{
    const RefusedStart *c = opaque;

    assert_start_refused(c->args, c->words);
}

static const TestCase tests[] = {
    { "life/refused-groups-leave-nothing", test_refused_groups_leave_nothing },
    { "life/needs-an-llcsched-object", test_groups_need_an_llcsched_object },
    { "life/parents-come-first-and-go-last",
      test_parents_come_first_and_go_last },
    { "life/query-tells-what-was-asked-for",
      test_query_tells_what_was_asked_for },
    { "life/parent-and-vcpus-are-fixed", test_parent_and_vcpus_are_fixed },
    { "life/vcpu-of-a-deleted-group-is-free",
      test_vcpu_of_a_deleted_group_is_free },
    { "life/depth-has-a-limit", test_depth_has_a_limit },
    { "life/added-to-a-stopped-vm", test_added_to_a_stopped_vm },
    { "life/added-by-hmp", test_added_by_hmp },
    { "life/info-has-a-line-of-80-columns",
      test_info_has_a_line_of_80_columns },
    { "limits/at-creation", test_limits_at_creation },
    { "limits/live", test_limits_live },
    { "limits/what-is-not-named-stays", test_what_is_not_named_stays },
    { "limits/nothing-is-half-applied", test_nothing_is_half_applied },
    { "limits/one-is-set-live", test_one_limit_is_set_live },
    { "limits/only-groups-have-them", test_only_groups_have_limits },
    { "limits/smallest-ratio-on-the-path-is-effective",
      test_smallest_ratio_on_the_path_is_effective },
    { "limits/what-is-no-limit-has-none", test_what_is_no_limit_has_none },
    { "command-line/tree", test_tree_on_the_command_line },
};

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    add_tests("llcsched-group", tests, ARRAY_SIZE(tests));
    add_data_tests("llcsched-group/refused", refused_starts,
                   ARRAY_SIZE(refused_starts), sizeof(refused_starts[0]),
                   test_start_refused);
    return g_test_run();
}
