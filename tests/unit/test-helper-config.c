/*
 * Tests of what an administrator can write, and of cgroups' CPUs
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <string.h>

#include "../../helper/cgroup.h"
#include "../../helper/config.h"
#include "../integration/remove-tree.h"

static const struct {
    const char *name, *text;
    const char *says;        /* NULL: accepted */
} files[] = {
    { "empty", "", NULL },
    { "comment", "# nothing\n", NULL },
    { "empty-group", "[helper]\n", NULL },
    { "all", "[helper]\ncpus=0-3\nconnections=10\nconnections-per-user=5\n"
      "threads=100\nrate=1000\nburst=2000\nload=no\n", NULL },
    { "unknown-key", "[helper]\ncpu=0\n", "[helper] cpu: not a key" },
    { "unknown-group", "[other]\ncpus=0\n", "[other]: not a group" },
    { "no-group", "cpus=0\n", "" },
    { "no-cpus", "[helper]\ncpus=\n", "cpus=: expected" },
    { "cpus-backwards", "[helper]\ncpus=3-0\n", "cpus=3-0: expected" },
    { "cpus-beyond", "[helper]\ncpus=8192\n", "cpus=8192: expected" },
    { "no-connections", "[helper]\nconnections=0\n", "from 1 to 65536" },
    { "negative", "[helper]\nrate=-1\n", "rate=-1: expected" },
    { "overflow", "[helper]\nthreads=4294967297\n", "from 1 to 16384" },
    { "burst-below-a-request", "[helper]\nburst=299\n", "from 300" },
    { "load-maybe", "[helper]\nload=maybe\n", "expected yes or no" },
};

static void test_file(gconstpointer data)
{
    int i = GPOINTER_TO_INT(data);
    g_autoptr(GError) err = NULL;
    HelperConfig config;
    bool good;

    memset(&config, 0x55, sizeof(config));
    good = helper_config_parse(files[i].text, strlen(files[i].text), &config,
                               &err);
    if (!files[i].says) {
        g_assert_no_error(err);
        g_assert_true(good);
        return;
    }
    g_assert_false(good);
    g_assert_nonnull(strstr(err->message, files[i].says));
    /* Nothing is half taken over. */
    g_assert_cmpuint(config.connections, ==, 0x55555555);
}

static void test_values(void)
{
    HelperConfig config;

    g_assert_true(helper_config_parse(files[3].text, strlen(files[3].text),
                                      &config, NULL));
    g_assert_cmpint(host_cpuset_count(&config.cpus), ==, 4);
    g_assert_cmpuint(config.connections, ==, 10);
    g_assert_cmpuint(config.connections_per_user, ==, 5);
    g_assert_cmpuint(config.threads, ==, 100);
    g_assert_cmpuint(config.budget.rate, ==, 1000);
    g_assert_cmpuint(config.budget.burst, ==, 2000);
    g_assert_false(config.load);
}

static void put(const char *root, const char *path, const char *text)
{
    g_autofree char *file = g_build_filename(root, "sys/fs/cgroup", path,
                                             NULL);
    g_autofree char *dir = g_path_get_dirname(file);

    g_assert_cmpint(g_mkdir_with_parents(dir, 0700), ==, 0);
    g_assert_true(g_file_set_contents(file, text, -1, NULL));
}

static void check(const char *root, const char *text, const char *expected)
{
    HostCpuSet cpus;
    bool found = cgroup_cpuset(root, text, &cpus);
    g_autofree char *list = found ? host_cpuset_to_list(&cpus) : NULL;

    g_assert_cmpstr(list, ==, expected);
}

static void test_cgroup_v2(void)
{
    g_autofree char *root = g_dir_make_tmp("llcsched-test-XXXXXX", NULL);

    put(root, "cpuset.cpus.effective", "0-7\n");
    put(root, "machine/cpuset.cpus.effective", "2-5\n");
    put(root, "machine/vm/cgroup.procs", "");
    check(root, "0::/machine\n", "2-5");
    check(root, "0::/machine/vm\n", "2-5");
    check(root, "0::/\n", "0-7");
    check(root, "0::/elsewhere\n", NULL);
    check(root, "0::/../host\n", NULL);
    check(root, "", NULL);
    remove_tree(root);
}

static void test_cgroup_v1(void)
{
    g_autofree char *root = g_dir_make_tmp("llcsched-test-XXXXXX", NULL);

    put(root, "cpuset/cpuset.effective_cpus", "0-7\n");
    put(root, "cpuset/machine/cpuset.effective_cpus", "6\n");
    put(root, "cpuset/old/cpuset.cpus", "1\n");
    put(root, "cpuset/empty/cpuset.cpus", "\n");
    check(root, "4:cpuset:/machine\n0::/x\n", "6");
    check(root, "4:cpu,cpuset:/old\n", "1");
    check(root, "4:cpuset:/empty\n", "0-7");
    remove_tree(root);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(files); i++) {
        g_autofree char *path = g_strdup_printf("/helper-config/%s",
                                                files[i].name);

        g_test_add_data_func(path, GINT_TO_POINTER(i), test_file);
    }
    g_test_add_func("/helper-config/values-are-taken", test_values);
    g_test_add_func("/helper-cgroup/v2", test_cgroup_v2);
    g_test_add_func("/helper-cgroup/v1", test_cgroup_v1);
    return g_test_run();
}
