/*
 * Tests of asking for short slices, on the running kernel
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <errno.h>
#include <glib.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hw/sched/host-slice.h"

/* In a process of its own: what is asked for ends with it. */
static int in_child(int (*run)(void))
{
    pid_t pid = fork();
    int status;

    if (pid == 0) {
        _exit(run());
    }
    g_assert_cmpint(pid, >, 0);
    g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
    g_assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static bool refused(void)
{
    int ret = host_slice_set(0, HOST_SLICE_NS_MIN);

    if (ret == -EPERM || ret == -ENOSYS) {
        g_test_skip("a filter forbids sched_setattr()");
        return true;
    }
    g_assert_cmpint(ret, ==, 0);
    return false;
}

static int set_twice(void)
{
    if (host_slice_set(0, HOST_SLICE_NS_MIN) ||
        host_slice_get(0) != (int64_t)HOST_SLICE_NS_MIN) {
        return 1;
    }
    return host_slice_set(getpid(), 3 * HOST_SLICE_NS_MIN) ||
           host_slice_get(0) != 3 * (int64_t)HOST_SLICE_NS_MIN;
}

static void test_a_slice_is_read_back(void)
{
    if (refused()) {
        return;
    }
    if (host_slice_get(0) != (int64_t)HOST_SLICE_NS_MIN) {
        g_test_skip("the kernel has no slices to ask for (before 6.12)");
        return;
    }
    g_assert_cmpint(in_child(set_twice), ==, 0);
}

static int keep_nice(void)
{
    if (setpriority(PRIO_PROCESS, 0, 7)) {
        return 1;
    }
    if (host_slice_set(0, HOST_SLICE_NS_MIN)) {
        return 2;
    }
    return getpriority(PRIO_PROCESS, 0) == 7 ? 0 : 3;
}

static void test_the_nice_value_is_kept(void)
{
    if (!refused()) {
        g_assert_cmpint(in_child(keep_nice), ==, 0);
    }
}

static int be_batch(void)
{
    struct sched_param param = { 0 };

    if (sched_setscheduler(0, SCHED_BATCH, &param)) {
        return 1;
    }
    if (host_slice_set(0, HOST_SLICE_NS_MIN) != -EOPNOTSUPP) {
        return 2;
    }
    return sched_getscheduler(0) == SCHED_BATCH ? 0 : 3;
}

static void test_a_chosen_policy_is_left_alone(void)
{
    g_assert_cmpint(in_child(be_batch), ==, 0);
}

static void test_a_thread_that_is_gone_gives_esrch(void)
{
    pid_t pid = fork();

    if (pid == 0) {
        _exit(0);
    }
    g_assert_cmpint(waitpid(pid, NULL, 0), ==, pid);
    g_assert_cmpint(host_slice_set(pid, HOST_SLICE_NS_MIN), ==, -ESRCH);
    g_assert_cmpint(host_slice_get(pid), ==, -ESRCH);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
#define ADD(name, f) g_test_add_func("/host-slice/" name, f)
    ADD("a-slice-is-read-back", test_a_slice_is_read_back);
    ADD("the-nice-value-is-kept", test_the_nice_value_is_kept);
    ADD("a-chosen-policy-is-left-alone", test_a_chosen_policy_is_left_alone);
    ADD("a-thread-that-is-gone-gives-esrch",
        test_a_thread_that_is_gone_gives_esrch);
#undef ADD
    return g_test_run();
}
