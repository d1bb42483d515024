/*
 * QTest testcase for llcsched: the object's life, properties and commands
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
#include "qemu/units.h"
#include "qobject/qdict.h"
#include "qobject/qjson.h"
#include "qobject/qlist.h"

static QObject *qom_get(QTestState *qts, const char *name)
{
    QDict *reply = qtest_qmp(qts, "{ 'execute': 'qom-get', 'arguments': {"
                             "  'path': '/objects/sched0',"
                             "  'property': %s } }", name);
    QObject *value = qobject_ref(qdict_get(reply, "return"));

    g_assert_nonnull(value);
    qobject_unref(reply);
    return value;
}

static void assert_property(QTestState *qts, const char *name,
                            const char *json)
{
    QObject *want = qobject_from_json(json, &error_abort);
    QObject *value = qom_get(qts, name);
    GString *text = qobject_to_json(value);

    if (!qobject_is_equal(want, value)) {
        fail("%s is %s, should be %s", name, text->str, json);
    }
    g_string_free(text, true);
    qobject_unref(value);
    qobject_unref(want);
}

static void test_host_of_isolated_cpus_alone_is_refused(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    QTestState *qts = start_without_object("");

    tree_put(tree, TREE_CPUS "/isolated", "0-7\n");
    assert_error(object_add(qts, tree->path, NULL, NULL),
                 "0-7|isolated|name those to use in cpus");
    assert_success(object_add(qts, tree->path, "cpus", "[1]"));
    qtest_quit(qts);
}

/* Commands */

static void test_commands_without_an_object(void)
{
    QTestState *qts = start_without_object("");
    g_autofree char *text = NULL;

    g_assert_null(query(qts));
    g_assert_null(query_one(qts, "query-llcsched-plan"));
    assert_error(qtest_qmp(qts, "{ 'execute': 'llcsched-replan' }"),
                 "no llcsched object|object-add");
    text = qtest_hmp(qts, "info llcsched");
    g_assert_cmpstr(text, ==, "no llcsched object\r\n");
    qtest_quit(qts);
}

static void test_nothing_is_placed_before_the_vm_runs(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    QTestState *qts = start(tree, "-S " TWO_GROUPS, "");
    QDict *info = query(qts);
    QDict *plan = query_one(qts, "query-llcsched-plan");

    g_assert_cmpstr(qdict_get_str(info, "status"), ==, "waiting");
    g_assert_false(qdict_haskey(info, "verdict"));
    g_assert_cmpstr(qdict_get_str(info, "effective-placement"), ==, "off");
    g_assert_cmpint(qdict_get_int(info, "masks-set"), ==, 0);
    g_assert_cmpint(qdict_get_int(info, "looks"), ==, 0);
    g_assert_cmpint(qlist_size(qdict_get_qlist(info, "host-llcs")), ==, 2);
    g_assert_cmpstr(qdict_get_str(plan, "verdict"), ==, "matched");
    g_assert_cmpint(qdict_get_int(plan, "changes"), ==, 4);
    assert_error(qtest_qmp(qts, "{ 'execute': 'llcsched-replan' }"),
                 "has not run yet|when it starts");
    qtest_clock_step(qts, 10 * SECOND);
    g_assert_cmpint(query_int(qts, "looks"), ==, 0);
    run_command(qts, "cont");
    assert_placed(qts, "matched", "AABB", 4);
    qobject_unref(plan);
    qobject_unref(info);
    qtest_quit(qts);
}

static void test_query_tells_what_the_host_has(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(2, 4, 2, 2);
    QTestState *qts = start(tree, TWO_GROUPS, "");
    QDict *info = query(qts);
    const QDict *llc = nth(info, "host-llcs", 2);
    const QDict *group = nth(info, "guest-llcs", 1);

    g_assert_cmpint(qlist_size(qdict_get_qlist(info, "host-llcs")), ==, 4);
    g_assert_cmpstr(qdict_get_str(llc, "cpus"), ==, "8-11");
    g_assert_cmpstr(qdict_get_str(llc, "candidate-cpus"), ==, "8-11");
    g_assert_cmpint(qdict_get_int(llc, "id"), ==, 2);
    g_assert_cmpint(qdict_get_int(llc, "level"), ==, 3);
    g_assert_cmpint(qdict_get_int(llc, "bytes"), ==, 32 * MiB);
    g_assert_cmpint(qdict_get_int(llc, "node"), ==, 1);
    g_assert_cmpint(qdict_get_int(llc, "package"), ==, 0);
    g_assert_cmpint(qlist_size(qdict_get_qlist(info, "guest-llcs")), ==, 2);
    g_assert_cmpstr(qdict_get_str(group, "vcpus"), ==, "2-3");
    g_assert_cmpint(qdict_get_int(group, "cores"), ==, 2);
    g_assert_true(qdict_get_bool(group, "aligned"));
    g_assert_cmpint(qdict_get_int(nth(info, "vcpus", 3), "guest-llc"), ==, 1);
    g_assert_cmpint(qdict_get_int(nth(info, "vcpus", 3), "guest-core"), ==, 3);
    g_assert_cmpstr(qdict_get_str(info, "allowed"), ==, "0-15");
    qobject_unref(info);
    qtest_quit(qts);
}

/* What changes only when something is done: other threads run by themselves. */
static QDict *query_state(QTestState *qts)
{
    QDict *info = query(qts);

    qdict_del(info, "uncharged-ns");
    return info;
}

static void test_plan_query_changes_nothing(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    QTestState *qts = start(tree, TWO_GROUPS, "");
    QDict *before = query_state(qts);
    QDict *plan, *after;

    tree_put(tree, TREE_CPUS "/online", "0-3\n");
    plan = query_one(qts, "query-llcsched-plan");
    g_assert_cmpstr(qdict_get_str(plan, "verdict"), ==, "single");
    g_assert_cmpint(qdict_get_int(plan, "changes"), ==, 2);
    after = query_state(qts);
    g_assert_true(qobject_is_equal(QOBJECT(before), QOBJECT(after)));
    qobject_unref(plan);
    qobject_unref(before);
    qobject_unref(after);
    qtest_quit(qts);
}

static void test_off_observes(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    QTestState *qts = start(tree, TWO_GROUPS, ",placement=off");
    QDict *plan = query_one(qts, "query-llcsched-plan");
    QDict *info = query(qts);
    g_autofree char *planned = letters_of(plan, "mask");

    g_assert_cmpstr(planned, ==, "AABB");
    g_assert_cmpint(qdict_get_int(plan, "changes"), ==, 4);
    g_assert_cmpstr(qdict_get_str(info, "status"), ==, "observing");
    g_assert_cmpstr(qdict_get_str(info, "verdict"), ==, "matched");
    g_assert_cmpstr(qdict_get_str(info, "effective-placement"), ==, "off");
    g_assert_cmpint(qdict_get_int(info, "masks-set"), ==, 0);
    for (int vcpu = 0; vcpu < 4; vcpu++) {
        const QDict *v = nth(info, "vcpus", vcpu);

        g_assert_cmpstr(qdict_get_str(v, "mask"), ==, "0-7");
        g_assert_cmpstr(qdict_get_str(v, "mask-state"), ==, "unset");
    }
    qobject_unref(plan);
    qobject_unref(info);
    qtest_quit(qts);
}

static void test_off_gives_masks_back(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    QTestState *qts = start(tree, TWO_GROUPS, "");

    assert_placed(qts, "matched", "AABB", 4);
    assert_success(qom_set(qts, "placement", "'off'"));
    assert_field(qts, "status", "observing");
    assert_mask(qts, 0, "0-7");
    assert_mask(qts, 3, "0-7");
    assert_success(qom_set(qts, "placement", "'llc'"));
    assert_placed(qts, "matched", "AABB", 4);
    qtest_quit(qts);
}

static void assert_info_fits(QTestState *qts)
{
    g_autofree char *text = qtest_hmp(qts, "info llcsched");
    g_auto(GStrv) line = g_strsplit(text, "\r\n", 0);

    /* what went wrong, and what then holds, may take more lines */
    g_assert_cmpint(g_strv_length(line), >=, 6);
    for (int i = 0; line[i]; i++) {
        if (strlen(line[i]) > 80) {
            fail("wider than 80 columns: %s", line[i]);
        }
    }
}

static void test_info_has_a_verdict_and_80_columns(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 16, 1);
    QTestState *qts = start(tree, TWO_GROUPS,
                            ",cpus=0,cpus=2,cpus=4,cpus=6,cpus=8,cpus=10,"
                            "cpus=12,cpus=14,cpus=16,cpus=18,cpus=20,cpus=22,"
                            "cpus=24,cpus=26,cpus=28,cpus=30");
    g_autofree char *text = qtest_hmp(qts, "info llcsched");

    g_assert_true(g_str_has_prefix(text, "sched0: 4 vCPUs on 2 LLCs: matched "
                                   "(placed, placement llc)\r\n"));
    assert_info_fits(qts);
    qtest_quit(qts);
}

static void test_info_before_the_vm_runs(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    QTestState *qts = start(tree, "-S " TWO_GROUPS, "");
    g_autofree char *text = qtest_hmp(qts, "info llcsched");

    g_assert_true(g_str_has_prefix(text, "sched0: nothing placed: the VM has "
                                   "not run yet (waiting, "));
    assert_info_fits(qts);
    qtest_quit(qts);
}

static void test_info_has_80_columns_when_cpus_are_lost(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    QTestState *qts = start(tree, TWO_GROUPS, ",cpus=4-7");

    tree_put(tree, TREE_CPUS "/online", "0-3\n");
    qtest_clock_step(qts, SETTLE);
    assert_field(qts, "status", "degraded");
    assert_info_fits(qts);
    qtest_quit(qts);
}

/* Properties */

typedef struct Value {
    const char *name, *json;
    const char *words;      /* of its error */
} Value;

static const Value defaults[] = {
    { "placement", "'llc'" }, { "dynamic", "true" }, { "interval", "1000" },
    { "cpus", "[]" }, { "guard-util", "25" }, { "guard-tasks", "33" },
    { "prefer", "'auto'" }, { "steal-time", "true" },
    { "x-sysfs-root", "''" }, { "x-vcpu-usage", "[]" },
};

static const Value good_values[] = {
    { "placement", "'off'" }, { "placement", "'llc'" },
    { "placement", "'core'" }, { "placement", "'cpu'" },
    { "dynamic", "false" }, { "dynamic", "true" },
    { "steal-time", "false" }, { "steal-time", "true" },
    { "interval", "100" }, { "interval", "60000" },
    { "guard-util", "1" }, { "guard-util", "100" },
    { "guard-tasks", "1" }, { "guard-tasks", "100" },
    { "prefer", "'auto'" }, { "prefer", "'cache'" },
    { "prefer", "'capacity'" },
    { "cpus", "[0]" }, { "cpus", "[6]" }, { "cpus", "[0, 3, 5]" },
    { "x-vcpu-usage", "[]" }, { "x-vcpu-usage", "[0, 100]" },
};

/* Of a host whose CPU 7 is offline. */
static const Value bad_values[] = {
    { "placement", "'numa'", "placement|numa" },
    { "placement", "''", "placement" },
    { "placement", "1", "placement|string" },
    { "dynamic", "'maybe'", "dynamic|boolean" },
    { "steal-time", "'maybe'", "steal-time|boolean" },
    { "interval", "99", "interval|99 ms|100 to 60000" },
    { "interval", "60001", "interval|60001 ms|100 to 60000" },
    { "interval", "0", "interval|0 ms|100 to 60000" },
    { "interval", "4294967295", "interval|4294967295 ms|100 to 60000" },
    { "interval", "-1", "interval" },
    { "interval", "4294967296", "interval" },
    { "interval", "'1s'", "interval" },
    { "guard-util", "0", "guard-util|0 percent|1 to 100" },
    { "guard-util", "101", "guard-util|101 percent|1 to 100" },
    { "guard-util", "null", "guard-util" },
    { "guard-tasks", "0", "guard-tasks|0 percent|1 to 100" },
    { "guard-tasks", "101", "guard-tasks|101 percent|1 to 100" },
    { "guard-tasks", "1.5", "guard-tasks" },
    { "prefer", "'speed'", "prefer|speed" },
    { "cpus", "[]", "cpus|empty|at least one" },
    { "cpus", "[1, 2, 1]", "cpus|CPU 1|twice" },
    { "cpus", "[0, 8]", "cpus|CPU 8|does not exist|this host has 0-7" },
    { "cpus", "[7]", "cpus|CPU 7|offline|use 0-6" },
    { "cpus", "[8192]", "cpus|8192|0 to 8191" },
    { "cpus", "[65536]", "uint16" },
    { "cpus", "[-1]", "uint16" },
    { "cpus", "['zero']", "cpus" },
    { "cpus", "'0-3'", "cpus" },
    { "cpus", "3", "cpus" },
    { "cpus", "{}", "cpus" },
    { "x-vcpu-usage", "[-1]", "uint32" },
    { "x-vcpu-usage", "7", "x-vcpu-usage" },
    { "x-vcpu-usage", "[50, 101]", "x-vcpu-usage|101|0 to 100" },
};

static LlcschedTree *tree_with_cpu_7_offline(void)
{
    LlcschedTree *tree = tree_new(1, 2, 4, 1);

    tree_put(tree, TREE_CPUS "/online", "0-6\n");
    return tree;
}

static void test_defaults(void)
{
    QTestState *qts = start_without_object("");

    /* of the host that runs this test */
    assert_success(object_add(qts, "", NULL, NULL));
    for (int i = 0; i < ARRAY_SIZE(defaults); i++) {
        assert_property(qts, defaults[i].name, defaults[i].json);
    }
    assert_field(qts, "placement", "llc");
    g_assert_cmpint(query_int(qts, "interval"), ==, 1000);
    qtest_quit(qts);
}

static void test_good_values_at_creation(void)
{
    g_autoptr(LlcschedTree) tree = tree_with_cpu_7_offline();
    QTestState *qts = start_without_object("-smp 2");

    for (int i = 0; i < ARRAY_SIZE(good_values); i++) {
        const Value *v = &good_values[i];

        assert_success(object_add(qts, tree->path, v->name, v->json));
        assert_property(qts, v->name, v->json);
        object_del(qts);
    }
    qtest_quit(qts);
}

static void test_good_values_live(void)
{
    g_autoptr(LlcschedTree) tree = tree_with_cpu_7_offline();
    QTestState *qts = start(tree, "-smp 2", "");

    for (int i = 0; i < ARRAY_SIZE(good_values); i++) {
        const Value *v = &good_values[i];

        assert_success(qom_set(qts, v->name, v->json));
        assert_property(qts, v->name, v->json);
    }
    assert_placed(qts, "matched", "AB", 1);
    qtest_quit(qts);
}

static void test_bad_values_at_creation(void)
{
    g_autoptr(LlcschedTree) tree = tree_with_cpu_7_offline();
    QTestState *qts = start_without_object("-smp 2");

    for (int i = 0; i < ARRAY_SIZE(bad_values); i++) {
        const Value *v = &bad_values[i];

        g_test_message("%s=%s", v->name, v->json);
        assert_error(object_add(qts, tree->path, v->name, v->json), v->words);
        g_assert_null(query(qts));
    }
    assert_success(object_add(qts, tree->path, NULL, NULL));
    assert_placed(qts, "matched", "AA", 4);
    qtest_quit(qts);
}

static void test_bad_values_live(void)
{
    g_autoptr(LlcschedTree) tree = tree_with_cpu_7_offline();
    QTestState *qts = start(tree, TWO_GROUPS, ",cpus=0-6,interval=100");

    for (int i = 0; i < ARRAY_SIZE(bad_values); i++) {
        const Value *v = &bad_values[i];
        QDict *before = query_state(qts);
        QObject *value = qom_get(qts, v->name);
        GString *kept = qobject_to_json(value);
        QDict *after;

        g_test_message("%s=%s", v->name, v->json);
        assert_error(qom_set(qts, v->name, v->json), v->words);
        after = query_state(qts);
        g_assert_true(qobject_is_equal(QOBJECT(before), QOBJECT(after)));
        assert_property(qts, v->name, kept->str);
        g_string_free(kept, true);
        qobject_unref(value);
        qobject_unref(before);
        qobject_unref(after);
    }
    qtest_quit(qts);
}

static void test_root_cannot_be_changed(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    g_autoptr(LlcschedTree) other = tree_new(1, 1, 4, 1);
    g_autofree char *json = g_strdup_printf("'%s'", other->path);
    QTestState *qts = start(tree, TWO_GROUPS, "");

    assert_error(qom_set(qts, "x-sysfs-root", json),
                 "x-sysfs-root|cannot be changed|created");
    assert_placed(qts, "matched", "AABB", 4);
    qtest_quit(qts);
}

static void test_host_that_cannot_be_read_is_refused(void)
{
    g_autoptr(LlcschedTree) tree = tree_new_empty();
    QTestState *qts = start_without_object("");

    assert_error(object_add(qts, "/nonexistent", NULL, NULL),
                 "topology cannot be read|/nonexistent/sys|No such file");
    assert_error(object_add(qts, tree->path, NULL, NULL),
                 "topology cannot be read|No such file");
    tree_put(tree, TREE_CPUS "/online", "banana\n");
    assert_error(object_add(qts, tree->path, NULL, NULL),
                 "cpu/online|not in the format");
    tree_put(tree, TREE_CPUS "/online", "%s", "");
    assert_error(object_add(qts, tree->path, NULL, NULL),
                 "cpu/online|names no CPU");
    g_assert_null(query(qts));
    qtest_quit(qts);
}

/* What can be read is used, and the rest is told. */
static void test_garbage_in_the_host_costs_no_guest(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    g_autofree char *huge = g_strnfill(10 * MiB, '7');
    QTestState *qts;
    QDict *info;
    g_autofree char *warnings = NULL;
    GString *json;

    tree_put_cpu(tree, 1, "topology/physical_package_id", "zero");
    tree_put_cpu(tree, 2, "cache/index3/level", "-3");
    tree_put_cpu(tree, 3, "cache/index3/shared_cpu_list", huge);
    tree_put(tree, TREE_NODES "/node0/distance", "near\n");
    tree_put(tree, TREE_CPUS "/isolated", "4-\n");
    qts = start(tree, TWO_GROUPS, "");
    info = query(qts);
    json = qobject_to_json(qdict_get(info, "warnings"));
    warnings = g_string_free(json, false);
    g_assert_nonnull(strstr(warnings, "cpu1/topology/physical_package_id"));
    g_assert_nonnull(strstr(warnings, "cpu2/cache/index3/level"));
    g_assert_nonnull(strstr(warnings, "cpu3/cache/index3/shared_cpu_list"));
    g_assert_nonnull(strstr(warnings, "node0/distance"));
    g_assert_nonnull(strstr(warnings, "isolated"));
    qobject_unref(info);
    assert_placed(qts, "matched", "AABB", 4);
    qtest_quit(qts);
}

/* Life */

static void test_second_object_is_refused(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    QTestState *qts = start(tree, TWO_GROUPS, "");
    QDict *before = query_state(qts);
    QDict *after;

    assert_error(qtest_qmp(qts, "{ 'execute': 'object-add', 'arguments': {"
                           "  'qom-type': 'llcsched', 'id': 'sched1',"
                           "  'x-sysfs-root': %s } }", tree->path),
                 "already|one|delete it");
    after = query_state(qts);
    g_assert_true(qobject_is_equal(QOBJECT(before), QOBJECT(after)));
    qtest_clock_step(qts, SETTLE + 5 * SECOND);
    g_assert_cmpint(query_int(qts, "looks"), ==, 7);
    qobject_unref(before);
    qobject_unref(after);
    qtest_quit(qts);
}

static void test_object_can_be_deleted_and_added_again(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    QTestState *qts = start(tree, TWO_GROUPS, "");

    for (int i = 0; i < 3; i++) {
        assert_placed(qts, "matched", "AABB", 4);
        object_del(qts);
        g_assert_null(query(qts));
        qtest_clock_step(qts, 5 * SECOND);
        assert_success(object_add(qts, tree->path, NULL, NULL));
    }
    qtest_clock_step(qts, SETTLE + SECOND);
    g_assert_cmpint(query_int(qts, "looks"), ==, 3);
    qtest_quit(qts);
}

static void test_object_added_to_a_running_vm_places_it(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    QTestState *qts = start_without_object(TWO_GROUPS);

    assert_success(object_add(qts, tree->path, NULL, NULL));
    assert_placed(qts, "matched", "AABB", 4);
    qtest_quit(qts);
}

static void test_object_added_before_the_machine_is_there(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    QTestState *qts = start_without_object("-preconfig " TWO_GROUPS);

    assert_success(object_add(qts, tree->path, NULL, NULL));
    run_command(qts, "x-exit-preconfig");
    assert_placed(qts, "matched", "AABB", 4);
    qtest_quit(qts);
}

static void test_object_added_by_hmp(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    QTestState *qts = start_without_object(TWO_GROUPS);
    g_autofree char *text = qtest_hmp(qts, "object_add llcsched,id=sched0,"
                                      "x-sysfs-root=%s,cpus.0=1,cpus.1=6",
                                      tree->path);

    g_assert_cmpstr(text, ==, "");
    assert_placed(qts, "overcommitted", "AABB", 1);
    qtest_quit(qts);
}

static void test_object_needs_a_machine(void)
{
    QTestState *qts = start_without_object("-machine none");

    assert_error(object_add(qts, "", NULL, NULL), "machine 'none'|-machine");
    g_assert_null(query(qts));
    qtest_quit(qts);
}

static void test_object_added_to_a_stopped_vm_waits_for_cont(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    QTestState *qts = start_without_object(TWO_GROUPS);

    run_command(qts, "stop");
    assert_success(object_add(qts, tree->path, NULL, NULL));
    assert_field(qts, "status", "waiting");
    run_command(qts, "cont");
    assert_placed(qts, "matched", "AABB", 4);
    qtest_quit(qts);
}

static void test_incoming_vm_waits(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    QTestState *qts = start(tree, "-incoming defer " TWO_GROUPS, "");

    assert_field(qts, "status", "waiting");
    g_assert_cmpint(query_int(qts, "masks-set"), ==, 0);
    qtest_quit(qts);
}

static void test_reset_keeps_the_placement(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    QTestState *qts = start(tree, TWO_GROUPS, "");

    qtest_system_reset(qts);
    assert_placed(qts, "matched", "AABB", 4);
    qtest_quit(qts);
}

static void test_ranges_of_cpus_on_the_command_line(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    QTestState *qts = start(tree, "", ",cpus=0-2,cpus=6,placement=core,"
                            "dynamic=off,interval=500,guard-util=40,"
                            "guard-tasks=50,prefer=cache,steal-time=off");

    assert_property(qts, "cpus", "[0, 1, 2, 6]");
    assert_property(qts, "placement", "'core'");
    assert_property(qts, "dynamic", "false");
    assert_property(qts, "interval", "500");
    assert_property(qts, "guard-util", "40");
    assert_property(qts, "guard-tasks", "50");
    assert_property(qts, "prefer", "'cache'");
    assert_property(qts, "steal-time", "false");
    assert_field(qts, "candidates", "0-2,6");
    qtest_quit(qts);
}

static void test_json_on_the_command_line(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    QTestState *qts = qtest_initf("-nodefaults -object '{"
                                  "\"qom-type\":\"llcsched\","
                                  "\"id\":\"sched0\",\"cpus\":[0,1,6],"
                                  "\"x-vcpu-usage\":[10],\"interval\":250,"
                                  "\"x-sysfs-root\":\"%s\"}'", tree->path);

    assert_property(qts, "cpus", "[0, 1, 6]");
    assert_property(qts, "x-vcpu-usage", "[10]");
    assert_property(qts, "interval", "250");
    qtest_quit(qts);
}

/* Refused at the start, without qtest */

typedef struct RefusedCase {
    const char *name, *args;
    const char *words;
} RefusedCase;

static const RefusedCase refused_cases[] = {
    { "machine-none", "-machine none -accel tcg -object llcsched,id=s",
      "machine 'none'|-machine" },
    { "single-thread", "-accel tcg,thread=single -object llcsched,id=s",
      "thread=multi|-accel kvm" },
    { "icount", "-accel tcg -icount shift=3 -object llcsched,id=s",
      "-icount|leave out" },
    { "record", "-accel tcg -icount shift=3,rr=record,rrfile=/dev/null "
      "-object llcsched,id=s", "record/replay|leave out" },
    { "second-object", "-accel tcg -object llcsched,id=s "
      "-object llcsched,id=t", "already|delete it" },
    { "bad-interval", "-accel tcg -object llcsched,id=s,interval=7",
      "interval|7 ms|100 to 60000" },
    { "unknown-property", "-accel tcg -object llcsched,id=s,speed=7",
      "speed" },
    { "bad-range", "-accel tcg -object llcsched,id=s,cpus=3-1", "cpus" },
    { "range-wider-than-any-host",
      "-accel tcg -object llcsched,id=s,cpus=0-9000", "cpus|8192|0 to 8191" },
    { "missing-host", "-accel tcg -object "
      "llcsched,id=s,x-sysfs-root=/nonexistent", "/nonexistent|No such file" },
};

static void test_refused(const void *opaque)
{
    const RefusedCase *c = opaque;

    assert_start_refused(c->args, c->words);
}

/* vCPU hot-plug */

static void test_plugged_vcpu_is_placed(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    QTestState *qts = start(tree, ROOM_TO_PLUG, "");
    QDict *info;

    assert_placed(qts, "matched", "A", 4);
    plug(qts, 1, 0);
    wait_for_vcpus(qts, 2);
    assert_placed(qts, "matched", "AB", 4);
    info = query(qts);
    g_assert_cmpint(qdict_get_int(nth(info, "vcpus", 1), "vcpu"), ==, 2);
    qobject_unref(info);
    plug(qts, 0, 1);
    plug(qts, 1, 1);
    wait_for_vcpus(qts, 4);
    assert_placed(qts, "matched", "ABAB", 4);
    qtest_quit(qts);
}

static void test_vcpu_plugged_while_stopped_is_placed_by_cont(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    QTestState *qts = start(tree, ROOM_TO_PLUG, "");

    run_command(qts, "stop");
    plug(qts, 1, 0);
    run_command(qts, "cont");
    assert_placed(qts, "matched", "AB", 4);
    qtest_quit(qts);
}

static void test_plug_after_object_del_does_no_harm(void)
{
    g_autoptr(LlcschedTree) tree = tree_new(1, 2, 4, 1);
    QTestState *qts = start(tree, ROOM_TO_PLUG, "");

    object_del(qts);
    plug(qts, 1, 0);
    assert_success(object_add(qts, tree->path, NULL, NULL));
    assert_placed(qts, "matched", "AB", 4);
    qtest_quit(qts);
}

static const TestCase tests[] = {
    { "commands/without-an-object", test_commands_without_an_object },
    { "commands/nothing-is-placed-before-the-vm-runs",
      test_nothing_is_placed_before_the_vm_runs },
    { "commands/query-tells-what-the-host-has",
      test_query_tells_what_the_host_has },
    { "commands/plan-query-changes-nothing", test_plan_query_changes_nothing },
    { "commands/info-has-a-verdict-and-80-columns",
      test_info_has_a_verdict_and_80_columns },
    { "commands/info-has-80-columns-when-cpus-are-lost",
      test_info_has_80_columns_when_cpus_are_lost },
    { "commands/info-before-the-vm-runs", test_info_before_the_vm_runs },
    { "off/observes", test_off_observes },
    { "off/gives-masks-back", test_off_gives_masks_back },
    { "properties/defaults", test_defaults },
    { "properties/good-values-at-creation", test_good_values_at_creation },
    { "properties/good-values-live", test_good_values_live },
    { "properties/bad-values-at-creation", test_bad_values_at_creation },
    { "properties/bad-values-change-nothing", test_bad_values_live },
    { "properties/root-cannot-be-changed", test_root_cannot_be_changed },
    { "host/that-cannot-be-read-is-refused",
      test_host_that_cannot_be_read_is_refused },
    { "host/garbage-costs-no-guest", test_garbage_in_the_host_costs_no_guest },
    { "host/of-isolated-cpus-alone-is-refused",
      test_host_of_isolated_cpus_alone_is_refused },
    { "life/second-object-is-refused", test_second_object_is_refused },
    { "life/deleted-and-added-again",
      test_object_can_be_deleted_and_added_again },
    { "life/added-to-a-running-vm",
      test_object_added_to_a_running_vm_places_it },
    { "life/added-before-the-machine-is-there",
      test_object_added_before_the_machine_is_there },
    { "life/added-by-hmp", test_object_added_by_hmp },
    { "life/needs-a-machine", test_object_needs_a_machine },
    { "life/added-to-a-stopped-vm",
      test_object_added_to_a_stopped_vm_waits_for_cont },
    { "life/incoming-vm-waits", test_incoming_vm_waits },
    { "life/reset-keeps-the-placement", test_reset_keeps_the_placement },
    { "command-line/ranges-of-cpus", test_ranges_of_cpus_on_the_command_line },
    { "command-line/json", test_json_on_the_command_line },
    { "plug/vcpu-is-placed", test_plugged_vcpu_is_placed },
    { "plug/while-stopped-is-placed-by-cont",
      test_vcpu_plugged_while_stopped_is_placed_by_cont },
    { "plug/after-object-del-does-no-harm",
      test_plug_after_object_del_does_no_harm },
};

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    add_tests("llcsched", tests, ARRAY_SIZE(tests));
    add_data_tests("llcsched/refused", refused_cases,
                   ARRAY_SIZE(refused_cases), sizeof(refused_cases[0]),
                   test_refused);
    return g_test_run();
}
