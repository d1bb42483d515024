/*
 * QTest testcase for llcsched: quotas of cgroups above the vCPUs
 *
 * Under qtest cgroups are those of the host's tree, and every vCPU's thread is
 * in the process's.
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

#define TWO_VCPUS "-smp 2"

static LlcschedTree *host_with_cgroup(const char *path, const char *quota)
{
    LlcschedTree *tree = tree_new(1, 2, 4, 1);
    g_autofree char *file = g_strdup_printf("sys/fs/cgroup%s/cpu.max", path);

    tree_put(tree, "proc/self/cgroup", "0::%s\n", path);
    tree_put(tree, file, "%s\n", quota);
    return tree;
}

/* Words are parted by '|' and must all be in the sentence. */
static void assert_host_quota(QTestState *qts, const char *state,
                              int64_t quota_us, const char *words)
{
    QDict *info = query(qts);
    const QDict *quota = qdict_get_qdict(info, "host-quota");
    const char *explanation = qdict_get_str(quota, "explanation");
    g_auto(GStrv) word = g_strsplit(words, "|", 0);

    g_assert_cmpstr(qdict_get_str(quota, "state"), ==, state);
    g_assert_cmpint(qdict_get_try_int(quota, "quota-us", 0), ==, quota_us);
    g_assert_cmpint(qdict_haskey(quota, "cgroup"), ==, quota_us != 0);
    for (int i = 0; word[i]; i++) {
        if (!strstr(explanation, word[i])) {
            fail("no '%s' in: %s", word[i], explanation);
        }
    }
    qobject_unref(info);
}

static void test_tightest_is_told(void)
{
    g_autoptr(LlcschedTree) tree = host_with_cgroup("/pod/vm", "max 100000");
    QTestState *qts;
    g_autofree char *text = NULL;

    tree_put(tree, "sys/fs/cgroup/pod/cpu.max", "150000 100000\n");
    qts = start(tree, TWO_VCPUS, "");
    assert_host_quota(qts, "limited", 150000,
                      "/pod |150000 us|100000 us|vCPU 0-1|1.50 CPUs");
    text = qtest_hmp(qts, "info llcsched");
    g_assert_nonnull(strstr(text, "\r\nhost quota: cgroup /pod has a quota"));
    qtest_quit(qts);
}

static void test_none_is_told(void)
{
    g_autoptr(LlcschedTree) tree = host_with_cgroup("/vm", "max 100000");
    QTestState *qts = start(tree, TWO_VCPUS, "");
    g_autofree char *text = qtest_hmp(qts, "info llcsched");

    assert_host_quota(qts, "none", 0, "no cgroup");
    g_assert_null(strstr(text, "host quota"));
    qtest_quit(qts);
}

static void test_what_cannot_be_read_is_not_none(void)
{
    g_autoptr(LlcschedTree) tree = host_with_cgroup("/vm", "a lot");
    QTestState *qts = start(tree, "-S " TWO_VCPUS, "");

    assert_host_quota(qts, "unknown", 0, "not run yet");
    run_command(qts, "cont");
    assert_host_quota(qts, "unknown", 0, "not all|can be read|format");
    qtest_quit(qts);
}

static void test_change_is_seen_in_ten_looks(void)
{
    g_autoptr(LlcschedTree) tree = host_with_cgroup("/vm", "max 100000");
    QTestState *qts = start(tree, TWO_VCPUS, "");

    qtest_clock_step(qts, SETTLE);
    tree_put(tree, "sys/fs/cgroup/vm/cpu.max", "50000 100000\n");
    for (int i = 0; i < 9; i++) {
        qtest_clock_step(qts, SECOND);
    }
    assert_host_quota(qts, "limited", 50000, "0.50 CPUs");
    tree_put(tree, "sys/fs/cgroup/vm/cpu.max", "max 100000\n");
    qtest_clock_step(qts, SECOND);
    assert_host_quota(qts, "limited", 50000, "0.50 CPUs");
    replan(qts);
    assert_host_quota(qts, "none", 0, "no cgroup");
    qtest_quit(qts);
}

static void test_group_knows_who_is_tighter(void)
{
    static const struct {
        const char *host;
        int quota_us;
        bool limited;
    } rows[] = {
        { "100000 100000", 15000, true },   /* 1 CPU for 1.5 */
        { "100000 100000", 5000, false },   /* 1 CPU for 0.5 */
        { "100000 100000", 0, false },      /* the group has no limit */
        { "300000 100000", 15000, false },  /* they cannot use three */
        { "max 100000", 15000, false },
    };

    for (int i = 0; i < ARRAY_SIZE(rows); i++) {
        g_autoptr(LlcschedTree) tree = host_with_cgroup("/vm", rows[i].host);
        g_autofree char *limits = g_strdup_printf(
            "'vcpus': [0, 1], 'quota-us': %d", rows[i].quota_us);
        QTestState *qts = start(tree, TWO_VCPUS, "");

        assert_success(group_add(qts, "parent", ""));
        assert_success(group_add(qts, "g", limits));
        g_test_message("row %d", i);
        g_assert_cmpint(group_bool(qts, "g", "host-limited"), ==,
                        rows[i].limited);
        g_assert_false(group_bool(qts, "parent", "host-limited"));
        qtest_quit(qts);
    }
}

static void test_path_of_any_length_fits_80_columns(void)
{
    g_autofree char *name = g_strnfill(200, 'x');
    g_autofree char *path = g_strconcat("/", name, NULL);
    g_autoptr(LlcschedTree) tree = host_with_cgroup(path, "50000 100000");
    QTestState *qts = start(tree, TWO_VCPUS, "");
    g_autofree char *text = qtest_hmp(qts, "info llcsched");
    g_auto(GStrv) line = g_strsplit(text, "\r\n", 0);

    assert_host_quota(qts, "limited", 50000, name);
    for (int i = 0; line[i]; i++) {
        g_assert_cmpint(strlen(line[i]), <=, 80);
    }
    qtest_quit(qts);
}

static const TestCase tests[] = {
    { "tightest-is-told", test_tightest_is_told },
    { "none-is-told", test_none_is_told },
    { "what-cannot-be-read-is-not-none",
      test_what_cannot_be_read_is_not_none },
    { "change-is-seen-in-ten-looks", test_change_is_seen_in_ten_looks },
    { "group-knows-who-is-tighter", test_group_knows_who_is_tighter },
    { "path-of-any-length-fits-80-columns",
      test_path_of_any_length_fits_80_columns },
};

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    add_tests("llcsched-quota", tests, ARRAY_SIZE(tests));
    return g_test_run();
}
