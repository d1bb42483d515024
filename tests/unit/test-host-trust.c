/*
 * Tests of what a host says about SMT, sched_ext and its other processes
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <unistd.h>

#include "hw/sched/host-trust.h"

#include "host-tree.h"

static void put_pidns(const char *dir, const char *target)
{
    g_autofree char *folder = g_strconcat(dir, "/proc/self/ns", NULL);
    g_autofree char *link = g_strconcat(folder, "/pid", NULL);

    g_assert_cmpint(g_mkdir_with_parents(folder, 0777), ==, 0);
    unlink(link);
    g_assert_cmpint(symlink(target, link), ==, 0);
}

static void test_smt(void)
{
    char *dir = host_tree_new();

    g_assert_cmpint(host_trust_smt(dir), ==, HOST_SMT_UNKNOWN);
    host_tree_put(dir, "cpu/smt/active", "1\n", -1);
    g_assert_cmpint(host_trust_smt(dir), ==, HOST_SMT_ON);
    host_tree_put(dir, "cpu/smt/active", "0\n", -1);
    g_assert_cmpint(host_trust_smt(dir), ==, HOST_SMT_OFF);
    host_tree_put(dir, "cpu/smt/active", "perhaps\n", -1);
    g_assert_cmpint(host_trust_smt(dir), ==, HOST_SMT_UNKNOWN);
    host_tree_free(dir);
}

static void test_sched_ext(void)
{
    static const struct {
        const char *text;
        bool active;
    } states[] = {
        { "enabled\n", true }, { "enabling\n", true },
        { "disabled\n", false }, { "disabling\n", false }, { "", false },
    };
    char *dir = host_tree_new();

    g_assert_false(host_trust_sched_ext(dir));
    for (size_t i = 0; i < G_N_ELEMENTS(states); i++) {
        host_tree_put_text(dir, "/sys/kernel/sched_ext/state", states[i].text);
        g_assert_true(host_trust_sched_ext(dir) == states[i].active);
    }
    host_tree_free(dir);
}

static const struct {
    const char *name, *text;
    bool good;
    uint64_t ns;
} forced_idle[] = {
    { "counted", "\ncore_forceidle_sum                            :"
                 "          1234.056789\nnr_switches : 3\n", true, 1234056789 },
    { "none-yet", "\ncore_forceidle_sum : 0.000000\n", true, 0 },
    { "not-counted", "\nse.exec_start : 5.000001\n", false, 0 },
    { "no-number", "\ncore_forceidle_sum : much\n", false, 0 },
    { "no-fraction", "\ncore_forceidle_sum : 12\n", false, 0 },
    { "short-fraction", "\ncore_forceidle_sum : 12.5\n", false, 0 },
    { "too-large", "\ncore_forceidle_sum : 99999999999999999999.000000\n",
      false, 0 },
    { "no-colon", "\ncore_forceidle_sum 12.000000\n", false, 0 },
};

static void test_forced_idle(void)
{
    char *dir = host_tree_new();
    uint64_t ns = 7;

    g_assert_false(host_trust_forced_idle(dir, 42, &ns));
    for (size_t i = 0; i < G_N_ELEMENTS(forced_idle); i++) {
        ns = 7;
        g_test_message("%s", forced_idle[i].name);
        host_tree_put_text(dir, "/proc/self/task/42/sched",
                           forced_idle[i].text);
        g_assert_true(host_trust_forced_idle(dir, 42, &ns) ==
                      forced_idle[i].good);
        g_assert_cmpuint(ns, ==, forced_idle[i].good ? forced_idle[i].ns : 7);
    }
    host_tree_free(dir);
}

static void test_peers(void)
{
    static const struct {
        const char *label, *enforce, *pidns;
        bool root;
        HostPeers peers;
    } cases[] = {
        { "unconfined", "0", "pid:[4026531836]", true, HOST_PEERS_NONE },
        { "unconfined", "0", "pid:[4026531836]", false, HOST_PEERS_UID },
        { "unconfined", "0", "pid:[4026532000]", true, HOST_PEERS_PIDNS },
        { "libvirt-a3c0 (enforce)", "0", "pid:[4026531836]", false,
          HOST_PEERS_LSM },
        { "libvirt-a3c0 (complain)", "0", "pid:[4026531836]", false,
          HOST_PEERS_UID },
        { "qemu (enforce)", "0", "pid:[4026531836]", false, HOST_PEERS_UID },
        { "system_u:system_r:svirt_t:s0:c87,c520", "1", "pid:[4026531836]",
          false, HOST_PEERS_LSM },
        { "system_u:system_r:svirt_t:s0:c87,c520", "0", "pid:[4026531836]",
          false, HOST_PEERS_UID },
        { "system_u:system_r:svirt_t:s0:c1,c3.c7", "1", "pid:[4026531836]",
          false, HOST_PEERS_UID },
        { "system_u:system_r:svirt_t:s0", "1", "pid:[4026531836]", false,
          HOST_PEERS_UID },
        { "unconfined_u:unconfined_r:unconfined_t:s0-s0:c0.c1023", "1",
          "pid:[4026531836]", false, HOST_PEERS_UID },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        char *dir = host_tree_new();

        host_tree_put_text(dir, "/proc/self/attr/current", cases[i].label);
        host_tree_put_text(dir, "/sys/fs/selinux/enforce", cases[i].enforce);
        put_pidns(dir, cases[i].pidns);
        g_test_message("case %zu", i);
        g_assert_cmpint(host_trust_peers(dir, cases[i].root), ==,
                        cases[i].peers);
        host_tree_free(dir);
    }
}

/* What is not there separates nobody. */
static void test_nothing_there(void)
{
    char *dir = host_tree_new();

    g_assert_cmpint(host_trust_peers(dir, true), ==, HOST_PEERS_NONE);
    g_assert_cmpint(host_trust_peers(dir, false), ==, HOST_PEERS_UID);
    host_tree_free(dir);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/host-trust/smt-is-on-off-or-not-known", test_smt);
    g_test_add_func("/host-trust/sched-ext-only-if-surely", test_sched_ext);
    g_test_add_func("/host-trust/forced-idle-where-it-is-counted",
                    test_forced_idle);
    g_test_add_func("/host-trust/what-separates-peers", test_peers);
    g_test_add_func("/host-trust/nothing-there-separates-nobody",
                    test_nothing_there);
    return g_test_run();
}
