/*
 * Tests of reading and setting thread masks, on the running kernel
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <errno.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hw/sched/host-affinity.h"

static HostCpuSet own_mask(void)
{
    HostCpuSet mask;

    g_assert_cmpint(host_affinity_get(0, &mask), ==, 0);
    return mask;
}

static void test_get_agrees_with_glibc(void)
{
    HostCpuSet mask = own_mask();
    cpu_set_t set;

    g_assert_cmpint(sched_getaffinity(0, sizeof(set), &set), ==, 0);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        g_assert_cmpint(!!CPU_ISSET(cpu, &set), ==,
                        host_cpuset_has(&mask, cpu));
    }
}

static void test_set_is_read_back(void)
{
    HostCpuSet before = own_mask(), one = { { 0 } }, after;

    host_cpuset_add(&one, host_cpuset_next(&before, 0));
    g_assert_cmpint(host_affinity_set(0, &one), ==, 0);
    after = own_mask();
    g_assert_true(host_cpuset_equal(&after, &one));
    g_assert_cmpint(host_affinity_set(0, &before), ==, 0);
}

static void test_a_thread_that_is_gone_gives_esrch(void)
{
    HostCpuSet mask = own_mask();
    pid_t pid = fork();

    if (pid == 0) {
        _exit(0);
    }
    g_assert_cmpint(pid, >, 0);
    g_assert_cmpint(waitpid(pid, NULL, 0), ==, pid);
    g_assert_cmpint(host_affinity_set(pid, &mask), ==, -ESRCH);
    g_assert_cmpint(host_affinity_get(pid, &mask), ==, -ESRCH);
}

static void test_a_mask_without_an_online_cpu_gives_einval(void)
{
    HostCpuSet none = { { 0 } };

    g_assert_cmpint(host_affinity_set(0, &none), ==, -EINVAL);
    host_cpuset_add(&none, HOST_CPU_MAX - 1);
    g_assert_cmpint(host_affinity_set(0, &none), ==, -EINVAL);
}

static void test_probe_stays_in_the_limit_and_changes_no_mask(void)
{
    HostCpuSet before = own_mask(), after, got;
    HostCpuSet everything = { { 0 } }, one = { { 0 } };

    for (int cpu = 0; cpu < HOST_CPU_MAX; cpu++) {
        host_cpuset_add(&everything, cpu);
    }
    g_assert_cmpint(host_affinity_probe(&everything, &got), ==, 0);
    g_assert_true(host_cpuset_subset(&before, &got));

    host_cpuset_add(&one, host_cpuset_next(&before, 0));
    g_assert_cmpint(host_affinity_probe(&one, &got), ==, 0);
    g_assert_true(host_cpuset_equal(&one, &got));
    after = own_mask();
    g_assert_true(host_cpuset_equal(&before, &after));
}

static void test_probe_sees_past_the_callers_own_mask(void)
{
    HostCpuSet before = own_mask(), one = { { 0 } }, got;

    if (host_cpuset_count(&before) < 2) {
        g_test_skip("needs two CPUs");
        return;
    }
    host_cpuset_add(&one, host_cpuset_next(&before, 0));
    g_assert_cmpint(host_affinity_set(0, &one), ==, 0);
    g_assert_cmpint(host_affinity_probe(&before, &got), ==, 0);
    g_assert_cmpint(host_affinity_set(0, &before), ==, 0);
    g_assert_true(host_cpuset_equal(&before, &got));
}

static void test_probe_outside_of_what_is_allowed_finds_nothing(void)
{
    HostCpuSet none = { { 0 } }, got;

    host_cpuset_add(&none, HOST_CPU_MAX - 1);
    g_assert_cmpint(host_affinity_probe(&none, &got), ==, 0);
    g_assert_true(host_cpuset_empty(&got));
}

/* CPUs that come online, or into the cpuset, later may be used then. */
static void test_a_mask_that_nobody_chose_is_no_limit(void)
{
    HostCpuSet before = own_mask(), everything = { { 0 } }, all, limit;

    for (int cpu = 0; cpu < HOST_CPU_MAX; cpu++) {
        host_cpuset_add(&everything, cpu);
    }
    g_assert_cmpint(host_affinity_set(0, &everything), ==, 0);
    all = own_mask();
    g_assert_cmpint(host_affinity_limit(&limit), ==, 0);
    g_assert_cmpint(host_affinity_set(0, &before), ==, 0);
    g_assert_true(host_cpuset_equal(&limit, &everything));
    g_assert_true(host_cpuset_subset(&before, &all));
}

static void test_a_mask_that_somebody_chose_is_a_limit(void)
{
    HostCpuSet before = own_mask(), one = { { 0 } }, limit;

    if (host_cpuset_count(&before) < 2) {
        g_test_skip("needs two CPUs");
        return;
    }
    host_cpuset_add(&one, host_cpuset_next(&before, 0));
    g_assert_cmpint(host_affinity_set(0, &one), ==, 0);
    g_assert_cmpint(host_affinity_limit(&limit), ==, 0);
    g_assert_cmpint(host_affinity_set(0, &before), ==, 0);
    g_assert_true(host_cpuset_equal(&limit, &one));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/host-affinity/get-agrees-with-glibc",
                    test_get_agrees_with_glibc);
    g_test_add_func("/host-affinity/set-is-read-back", test_set_is_read_back);
    g_test_add_func("/host-affinity/a-thread-that-is-gone-gives-esrch",
                    test_a_thread_that_is_gone_gives_esrch);
    g_test_add_func("/host-affinity/a-mask-without-an-online-cpu-gives-einval",
                    test_a_mask_without_an_online_cpu_gives_einval);
    g_test_add_func("/host-affinity/"
                    "probe-stays-in-the-limit-and-changes-no-mask",
                    test_probe_stays_in_the_limit_and_changes_no_mask);
    g_test_add_func("/host-affinity/probe-sees-past-the-callers-own-mask",
                    test_probe_sees_past_the_callers_own_mask);
    g_test_add_func("/host-affinity/"
                    "probe-outside-of-what-is-allowed-finds-nothing",
                    test_probe_outside_of_what_is_allowed_finds_nothing);
    g_test_add_func("/host-affinity/a-mask-that-nobody-chose-is-no-limit",
                    test_a_mask_that_nobody_chose_is_no_limit);
    g_test_add_func("/host-affinity/a-mask-that-somebody-chose-is-a-limit",
                    test_a_mask_that_somebody_chose_is_a_limit);
    return g_test_run();
}
