/*
 * A lab host is what its .conf file says, and so is what we read of it
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "lab-host.h"
#include "lab-vm.h"

#include "hw/sched/host-topology.h"

#include <errno.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static LabHost host;

/* libllcsched reads the same LLCs, cores and nodes. */
static void test_topology(void)
{
    g_autoptr(GError) err = NULL;
    HostTopology *read = host_topology_read("", &err);

    g_assert_no_error(err);
    g_assert_cmpint(read->n_llcs, ==, host.n_llcs);
    g_assert_cmpint(read->n_cores, ==, host.n_cores);
    g_assert_cmpint(read->n_nodes, ==, host.n_nodes);
    for (int i = 0; i < host.n_llcs; i++) {
        g_autofree char *cpus = host_cpuset_to_list(&read->llcs[i].cpus);

        g_assert_cmpstr(cpus, ==, host.llcs[i]);
    }
    host_topology_unref(read);
}

/* A cookie for this process, which stays with it: so in a child. */
static void test_core_scheduling(void)
{
    const char *declared = g_getenv("LAB_CORE_SCHEDULING");
    int expected = g_str_equal(declared, "yes") ? 0 :
                   g_str_equal(declared, "no-smt") ? ENODEV : EINVAL;
    int status;
    pid_t pid = fork();

    g_assert_cmpint(pid, >=, 0);
    if (pid == 0) {
        int err = prctl(PR_SCHED_CORE, PR_SCHED_CORE_CREATE, 0, 0, 0)
                  ? errno : 0;

        _exit(err);
    }
    g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
    g_assert_true(WIFEXITED(status));
    g_assert_cmpint(WEXITSTATUS(status), ==, expected);
}

int main(int argc, char **argv)
{
    int ret;

    lab_vm_test_init(&argc, &argv);
    lab_host_init(&host);
    g_test_add_func("/kernel/topology-is-read-as-it-is", test_topology);
    g_test_add_func("/kernel/core-scheduling-is-as-declared",
                    test_core_scheduling);
    ret = g_test_run();
    lab_host_clear(&host);
    return ret;
}
