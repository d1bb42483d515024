/*
 * Tests of what the host's cgroups leave to threads of this process
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hw/sched/host-quota.h"

#include "host-tree.h"

typedef struct CgroupCase {
    const char *name, *text;
    bool good;
    HostCgroupVersion version;
    const char *path;
} CgroupCase;

static const CgroupCase cgroup_cases[] = {
    { "/host-quota/cgroup-v2-alone", "0::/machine.slice/a.scope/libvirt/vcpu0",
      true, HOST_CGROUP_V2, "/machine.slice/a.scope/libvirt/vcpu0" },
    { "/host-quota/cgroup-v1-wins-where-it-has-the-controller",
      "0::/system\n4:cpu:/machine/a\n3:memory:/x", true, HOST_CGROUP_V1,
      "/machine/a" },
    { "/host-quota/cgroup-v1-may-have-several-controllers",
      "4:cpu,cpuacct:/machine\n0::/", true, HOST_CGROUP_V1, "/machine" },
    { "/host-quota/cgroup-v1-of-other-controllers-does-not-count",
      "5:cpuset:/a\n2:cpuacct:/b\n1:name=cpu:/c\n0::/d", true, HOST_CGROUP_V2,
      "/d" },
    { "/host-quota/cgroup-may-have-colons", "0::/a:b:c", true, HOST_CGROUP_V2,
      "/a:b:c" },
    { "/host-quota/cgroup-above-its-namespace-is-refused", "0::/../b", false },
    { "/host-quota/cgroup-with-an-empty-name-is-refused", "0::/a//b", false },
    { "/host-quota/cgroup-that-is-not-absolute-is-refused", "0::a", false },
    { "/host-quota/cgroup-that-ends-in-a-slash-is-refused", "0::/a/", false },
    { "/host-quota/cgroup-text-without-one-is-refused", "3:memory:/x", false },
    { "/host-quota/cgroup-text-that-is-empty-is-refused", "", false },
    { "/host-quota/cgroup-text-that-is-none-is-refused", "0:/a\n:\n::", false },
};

static void test_cgroup(const void *data)
{
    const CgroupCase *c = data;
    HostCgroupVersion version = 7;
    g_autofree char *path = NULL;

    g_assert_true(host_quota_parse_cgroup(c->text, &version, &path) ==
                  c->good);
    g_assert_cmpstr(path, ==, c->path);
    g_assert_cmpint(version, ==, c->good ? c->version : 7);
}

static void test_depth(void)
{
    g_autoptr(GString) text = g_string_new("0::");
    HostCgroupVersion version;

    for (int i = 0; i < HOST_CGROUP_DEPTH_MAX; i++) {
        g_string_append(text, "/a");
    }
    for (int more = 0; more < 2; more++) {
        g_autofree char *path = NULL;

        g_assert_true(host_quota_parse_cgroup(text->str, &version, &path) ==
                      !more);
        g_string_append(text, "/a");
    }
}

static void test_max(void)
{
    const HostQuota untouched = { 7, 7 };
    static const struct {
        const char *text;
        bool good;
        HostQuota quota;
    } rows[] = {
        { "max 100000", true, { 0, 100000 } },
        { "20000 100000", true, { 20000, 100000 } },
        { "17592186044416 1000000", true, { HOST_QUOTA_US_MAX, 1000000 } },
        { "17592186044417 1000000", false },
        { "20000 1000001", false }, { "20000 0", false }, { "0 100000", false },
        { "-1 100000", false }, { "20000", false }, { "max", false },
        { "", false }, { "20000 100000 1", false }, { "20000  100000", false },
        { "2e4 100000", false }, { "20000 100000x", false },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        HostQuota quota = untouched, want;

        g_test_message("%s", rows[i].text);
        g_assert_true(host_quota_parse_max(rows[i].text, &quota) ==
                      rows[i].good);
        want = rows[i].good ? rows[i].quota : untouched;
        g_assert_cmpint(quota.quota_us, ==, want.quota_us);
        g_assert_cmpint(quota.period_us, ==, want.period_us);
    }
}

static void test_cfs(void)
{
    HostQuota quota = { 7, 7 };

    g_assert_false(host_quota_parse_cfs("max", "100000", &quota));
    g_assert_false(host_quota_parse_cfs("-2", "100000", &quota));
    g_assert_false(host_quota_parse_cfs("5000", "", &quota));
    g_assert_cmpint(quota.quota_us, ==, 7);
    g_assert_true(host_quota_parse_cfs("-1", "100000", &quota));
    g_assert_cmpint(quota.quota_us, ==, 0);
    g_assert_true(host_quota_parse_cfs("5000", "10000", &quota));
    g_assert_cmpint(quota.quota_us, ==, 5000);
    g_assert_cmpint(quota.period_us, ==, 10000);
}

static const HostQuota none = { }, half = { 5000, 10000 },
                       two = { 200000, 100000 };

static void test_tightest(void)
{
    g_autoptr(HostQuotas) quotas = host_quotas_new();
    int top = host_quotas_add(quotas, "/", -1, &none);
    int vm = host_quotas_add(quotas, "/vm", top, &two);
    int vcpu = host_quotas_add(quotas, "/vm/vcpu0", vm, &half);
    int other = host_quotas_add(quotas, "/vm/vcpu1", vm, &two);

    g_assert_cmpint(host_quotas_tightest(quotas, top), ==, -1);
    g_assert_cmpint(host_quotas_tightest(quotas, vm), ==, vm);
    g_assert_cmpint(host_quotas_tightest(quotas, vcpu), ==, vcpu);
    g_assert_cmpint(host_quotas_tightest(quotas, other), ==, other);
    g_assert_cmpint(host_quotas_find(quotas, "/vm/vcpu0"), ==, vcpu);
    g_assert_cmpint(host_quotas_find(quotas, "/v"), ==, -1);
}

static void assert_cpus(const HostQuotas *quotas, const int *groups, int n,
                        double cpus)
{
    g_assert_cmpfloat_with_epsilon(host_quotas_cpus(quotas, groups, n), cpus,
                                   0.000001);
}

static void test_cpus(void)
{
    g_autoptr(HostQuotas) quotas = host_quotas_new();
    int top = host_quotas_add(quotas, "/", -1, &none);
    int vm = host_quotas_add(quotas, "/vm", top, &two);
    int groups[8];

    for (int i = 0; i < 6; i++) {
        g_autofree char *path = g_strdup_printf("/vm/vcpu%d", i);

        groups[i] = host_quotas_add(quotas, path, vm, &half);
    }
    groups[6] = top;
    groups[7] = -1;
    assert_cpus(quotas, groups, 0, 0);
    assert_cpus(quotas, groups, 1, 0.5);
    assert_cpus(quotas, groups, 3, 1.5);
    assert_cpus(quotas, groups, 6, 2);      /* not 3: the VM has two */
    assert_cpus(quotas, groups, 7, 3);      /* who is beside it has a CPU */
    assert_cpus(quotas, groups, 8, 4);
    groups[1] = groups[0];
    assert_cpus(quotas, groups, 2, 0.5);    /* they share one */
}

static void test_bounded(void)
{
    g_autoptr(HostQuotas) quotas = host_quotas_new();

    for (int i = 0; i < HOST_QUOTA_GROUPS_MAX; i++) {
        g_autofree char *path = g_strdup_printf("/%d", i);

        g_assert_cmpint(host_quotas_add(quotas, path, -1, &none), ==, i);
    }
    g_assert_cmpint(host_quotas_add(quotas, "/x", -1, &none), ==, -1);
}

/* As libvirt has it without systemd; vCPU 0's thread is 10. */
static char *tree_v1(void)
{
    char *dir = host_tree_new();

    host_tree_put_text(dir, "proc/self/task/10/cgroup",
                       "4:cpu:/machine/a/vcpu0\n0::/\n");
    host_tree_put_text(dir, "sys/fs/cgroup/cpu/cpu.shares", "1024\n");
    host_tree_put_text(dir, "sys/fs/cgroup/cpu/machine/cpu.cfs_quota_us",
                       "-1\n");
    host_tree_put_text(dir, "sys/fs/cgroup/cpu/machine/cpu.cfs_period_us",
                       "100000\n");
    host_tree_put_text(dir, "sys/fs/cgroup/cpu/machine/a/cpu.shares", "9\n");
    host_tree_put_text(dir,
                       "sys/fs/cgroup/cpu/machine/a/vcpu0/cpu.cfs_quota_us",
                       "20000\n");
    host_tree_put_text(dir,
                       "sys/fs/cgroup/cpu/machine/a/vcpu0/cpu.cfs_period_us",
                       "100000\n");
    return dir;
}

static void assert_tightest(const char *dir, int tid, const char *path,
                            int64_t quota_us)
{
    g_autoptr(HostQuotas) quotas = host_quotas_new();
    int hidden = 0;
    int group = host_quotas_read(quotas, dir, tid, &hidden);

    g_assert_cmpint(group, >=, 0);
    g_assert_cmpint(hidden, ==, 0);
    group = host_quotas_tightest(quotas, group);
    g_assert_cmpint(group >= 0, ==, path != NULL);
    if (path) {
        g_assert_cmpstr(host_quotas_path(quotas, group), ==, path);
        g_assert_cmpint(host_quotas_quota(quotas, group)->quota_us, ==,
                        quota_us);
    }
}

static void test_read_v1(void)
{
    char *dir = tree_v1();

    assert_tightest(dir, 10, "/machine/a/vcpu0", 20000);
    host_tree_put_text(dir, "sys/fs/cgroup/cpu/machine/cpu.cfs_quota_us",
                       "10000\n");
    assert_tightest(dir, 10, "/machine", 10000);
    host_tree_free(dir);
}

static char *tree_v2(void)
{
    char *dir = host_tree_new();

    host_tree_put_text(dir, "proc/self/cgroup", "0::/pod/vm\n");
    host_tree_put_text(dir, "sys/fs/cgroup/cgroup.controllers", "cpu\n");
    host_tree_put_text(dir, "sys/fs/cgroup/pod/cpu.max", "150000 100000\n");
    host_tree_put_text(dir, "sys/fs/cgroup/pod/vm/cpu.max", "max 100000\n");
    return dir;
}

static void test_read_v2(void)
{
    char *dir = tree_v2();

    assert_tightest(dir, 10, "/pod", 150000);
    host_tree_put_text(dir, "sys/fs/cgroup/pod/vm/cpu.max", "9000 100000\n");
    assert_tightest(dir, 10, "/pod/vm", 9000);
    host_tree_free(dir);
}

/* Without a cgroup namespace a container sees its part under host paths. */
static void test_read_container(void)
{
    char *dir = host_tree_new();

    host_tree_put_text(dir, "proc/self/cgroup", "0::/host/path/pod\n");
    host_tree_put_text(dir, "sys/fs/cgroup/cpu.max", "50000 100000\n");
    assert_tightest(dir, 10, "/", 50000);
    host_tree_free(dir);
}

static void test_read_once(void)
{
    char *dir = tree_v1();
    g_autoptr(HostQuotas) quotas = host_quotas_new();
    int hidden = 0, first, second;

    host_tree_put_text(dir, "proc/self/task/11/cgroup",
                       "4:cpu:/machine/a/vcpu1\n");
    host_tree_put_text(dir, "sys/fs/cgroup/cpu/machine/a/vcpu1/cpu.shares",
                       "1\n");
    first = host_quotas_read(quotas, dir, 10, &hidden);
    second = host_quotas_read(quotas, dir, 11, &hidden);
    g_assert_cmpint(first, !=, second);
    g_assert_cmpint(host_quotas_read(quotas, dir, 10, &hidden), ==, first);
    /* "/", "/machine", "/machine/a" and the two */
    g_assert_cmpint(MAX(first, second), ==, 4);
    host_tree_free(dir);
}

static void test_hidden(void)
{
    char *dir = tree_v2();
    g_autoptr(HostQuotas) quotas = host_quotas_new();
    int hidden = 0, group;

    host_tree_put_text(dir, "sys/fs/cgroup/pod/cpu.max", "much\n");
    group = host_quotas_read(quotas, dir, 10, &hidden);
    g_assert_cmpint(group, >=, 0);
    g_assert_cmpint(hidden, ==, -EBADMSG);
    g_assert_cmpint(host_quotas_tightest(quotas, group), ==, -1);
    host_tree_free(dir);
}

static void test_nothing_there(void)
{
    char *dir = host_tree_new();
    g_autoptr(HostQuotas) quotas = host_quotas_new();
    int hidden = 0;

    g_assert_cmpint(host_quotas_read(quotas, dir, 10, &hidden), ==, -ENOENT);
    host_tree_put_text(dir, "proc/self/cgroup", "0::/a\n");
    g_assert_cmpint(host_quotas_read(quotas, dir, 10, &hidden), ==, -ENOENT);
    host_tree_put_text(dir, "proc/self/cgroup", "0::/../a\n");
    g_assert_cmpint(host_quotas_read(quotas, dir, 10, &hidden), ==, -EBADMSG);
    g_assert_cmpint(hidden, ==, 0);
    host_tree_free(dir);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(cgroup_cases); i++) {
        g_test_add_data_func(cgroup_cases[i].name, &cgroup_cases[i],
                             test_cgroup);
    }
    g_test_add_func("/host-quota/depth-has-a-limit", test_depth);
    g_test_add_func("/host-quota/cpu-max-as-linux-prints-it", test_max);
    g_test_add_func("/host-quota/cfs-files-as-linux-prints-them", test_cfs);
    g_test_add_func("/host-quota/the-tightest-on-the-way-up", test_tightest);
    g_test_add_func("/host-quota/together-no-more-than-any-above",
                    test_cpus);
    g_test_add_func("/host-quota/groups-have-a-limit", test_bounded);
    g_test_add_func("/host-quota/read-v1-up-to-the-first-group", test_read_v1);
    g_test_add_func("/host-quota/read-v2-up-to-the-first-group", test_read_v2);
    g_test_add_func("/host-quota/read-what-a-container-sees",
                    test_read_container);
    g_test_add_func("/host-quota/read-each-group-once", test_read_once);
    g_test_add_func("/host-quota/what-cannot-be-read-is-told", test_hidden);
    g_test_add_func("/host-quota/nothing-there-is-an-error",
                    test_nothing_there);
    return g_test_run();
}
