/*
 * Guests of several shapes get the masks that their shape calls for
 *
 * On a real kernel's topology, read from /proc, with KVM.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "lab-host.h"
#include "lab-vm.h"

#include "hw/sched/host-cpuset.h"

static LabHost host;

/* The CPUs of the host LLCs that vCPUs @first to @last may use; how many. */
static int llcs_used(Vm *vm, int first, int last)
{
    g_autofree bool *used = g_new0(bool, host.n_llcs);
    int n = 0;

    for (int i = first; i <= last; i++) {
        g_autofree char *mask = sched_real_mask(vm, i);

        for (int llc = 0; llc < host.n_llcs; llc++) {
            HostCpuSet cpus, set;

            g_assert_true(host_cpuset_parse_list(mask, &set));
            g_assert_true(host_cpuset_parse_list(host.llcs[llc], &cpus));
            used[llc] |= host_cpuset_intersects(&cpus, &set);
        }
    }
    for (int llc = 0; llc < host.n_llcs; llc++) {
        n += used[llc];
    }
    return n;
}

/* All of vCPUs @first to @last have one LLC, all of it: its index. */
static int assert_one_llc(Vm *vm, int first, int last)
{
    g_autofree char *mask = sched_real_mask(vm, first);
    int llc = lab_list_of(host.llcs, mask);

    g_assert_cmpint(llc, >=, 0);
    for (int i = first; i <= last; i++) {
        g_autofree char *other = sched_real_mask(vm, i);

        g_assert_cmpstr(other, ==, host.llcs[llc]);
    }
    return llc;
}

static Vm *start(int n, const char *smp, const char *more)
{
    Vm *vm = lab_vm_start(smp, more, "");

    vm_wait_up(vm, n);
    sched_assert_placed(vm, n);
    return vm;
}

static void test_one_group(void)
{
    int n = host.llc_cores;
    g_autofree char *smp = g_strdup_printf("%d,sockets=1,cores=%d", n, n);
    g_autoptr(Vm) vm = start(n, smp, "");

    assert_one_llc(vm, 0, n - 1);
    sched_wait_text(vm, "verdict", "matched");
    vm_wait_all_move(vm, n);
}

static void test_group_for_each_llc(void)
{
    int n = host.n_llcs * 2;
    g_autofree char *smp = g_strdup_printf("%d,sockets=%d,cores=2", n,
                                           host.n_llcs);
    g_autofree bool *taken = g_new0(bool, host.n_llcs);
    g_autoptr(Vm) vm = start(n, smp, "");

    for (int group = 0; group < host.n_llcs; group++) {
        int llc = assert_one_llc(vm, 2 * group, 2 * group + 1);

        g_assert_false(taken[llc]);
        taken[llc] = true;
    }
    sched_wait_text(vm, "verdict", "matched");
    vm_wait_all_move(vm, n);
}

/* One core more than an LLC has: two LLCs, and of one node if it has two. */
static void test_larger_than_llc(void)
{
    int n = host.llc_cores + 1;
    g_autofree char *smp = g_strdup_printf("%d,sockets=1,cores=%d", n, n);
    g_autoptr(Vm) vm = start(n, smp, "");
    g_autofree char *mask = sched_real_mask(vm, 0);

    g_assert_cmpint(llcs_used(vm, 0, n - 1), ==, 2);
    sched_assert_real_masks(vm, n, mask);
    if (host.n_llcs / host.n_nodes >= 2) {
        g_assert_cmpint(lab_list_of(host.nodes, mask), >=, 0);
    }
    sched_wait_text(vm, "verdict", "split");
    vm_wait_all_move(vm, n);
}

static void test_larger_than_host(void)
{
    int n = host.n_cpus + 2;
    g_autofree char *smp = g_strdup_printf("%d,sockets=1,cores=%d", n, n);
    g_autoptr(Vm) vm = start(n, smp, "");

    g_assert_cmpint(llcs_used(vm, 0, n - 1), ==, host.n_llcs);
    sched_assert_real_masks(vm, n, host.online);
    sched_wait_text(vm, "verdict", "overcommitted");
    vm_wait_all_move(vm, n);
}

/* Threads of a guest core are no more cores: the group still fits. */
static void test_smt_guest(void)
{
    int n = 2 * host.llc_cores;
    g_autofree char *smp = g_strdup_printf("%d,sockets=1,cores=%d,threads=2",
                                           n, host.llc_cores);
    g_autoptr(Vm) vm = NULL;

    if (host.threads < 2) {
        g_test_skip("this host has no SMT");
        return;
    }
    vm = start(n, smp, "");
    assert_one_llc(vm, 0, n - 1);
    sched_wait_text(vm, "verdict", "matched");
    vm_wait_all_move(vm, n);
}

/* Threads of a guest core on the siblings of a host core of their own. */
static void test_siblings(gconstpointer width)
{
    int n = 2 * host.llc_cores;
    g_autofree char *smp = g_strdup_printf("%d,sockets=1,cores=%d,threads=2",
                                           n, host.llc_cores);
    g_autofree char *more = g_strdup_printf(",placement=%s",
                                            (const char *)width);
    g_autofree bool *taken = g_new0(bool, host.n_cores);
    g_autoptr(Vm) vm = NULL;

    if (host.threads < 2) {
        g_test_skip("this host has no SMT");
        return;
    }
    vm = start(n, smp, more);
    for (int i = 0; i < n; i += 2) {
        g_autofree char *first = sched_real_mask(vm, i);
        g_autofree char *second = sched_real_mask(vm, i + 1);
        int core = lab_list_of(host.cores, first);

        g_assert_cmpint(core, >=, 0);
        g_assert_false(taken[core]);
        taken[core] = true;
        g_assert_cmpint(lab_list_of(host.cores, second), ==, core);
        if (g_str_equal(width, "cpu")) {
            g_assert_cmpstr(first, !=, second);
        } else {
            g_assert_cmpstr(first, ==, host.cores[core]);
        }
    }
    g_assert_cmpint(llcs_used(vm, 0, n - 1), ==, 1);
    vm_wait_all_move(vm, n);
}

/* More groups than LLCs: whole groups share, none is torn apart. */
static void test_more_groups_than_llcs(void)
{
    int n = host.n_llcs + 1;
    g_autofree char *smp = g_strdup_printf("%d,sockets=%d", n, n);
    g_autoptr(Vm) vm = start(n, smp, "");

    for (int i = 0; i < n; i++) {
        assert_one_llc(vm, i, i);
    }
    sched_wait_text(vm, "verdict", "folded");
    vm_wait_all_move(vm, n);
}

/*
 * Guest node 0 has its memory on the host's last node, and 1 on its first:
 * not what numbers alone would give.
 */
static void test_bound_memory(void)
{
    g_autofree char *args = NULL;
    g_autofree char *mask0 = NULL;
    g_autofree char *mask1 = NULL;
    g_autoptr(Vm) vm = NULL;

    if (host.n_nodes < 2) {
        g_test_skip("this host has one node");
        return;
    }
    args = g_strdup_printf(
        "-object memory-backend-ram,id=m0,size=8M,host-nodes=%d,policy=bind"
        " -object memory-backend-ram,id=m1,size=8M,host-nodes=0,policy=bind"
        " -numa node,nodeid=0,memdev=m0,cpus=0-1"
        " -numa node,nodeid=1,memdev=m1,cpus=2-3", host.n_nodes - 1);
    vm = lab_vm_start("4,sockets=2,cores=2", "", args);
    vm_wait_up(vm, 4);
    sched_assert_placed(vm, 4);
    assert_one_llc(vm, 0, 1);
    assert_one_llc(vm, 2, 3);
    mask0 = sched_real_mask(vm, 0);
    mask1 = sched_real_mask(vm, 2);
    g_assert_cmpint(lab_list_of(host.nodes, mask0), ==, host.n_nodes - 1);
    g_assert_cmpint(lab_list_of(host.nodes, mask1), ==, 0);
    vm_wait_all_move(vm, 4);
}

int main(int argc, char **argv)
{
    int ret;

    lab_vm_test_init(&argc, &argv);
    lab_host_init(&host);
    g_test_add_func("/placement/group-that-fits-gets-one-llc", test_one_group);
    g_test_add_func("/placement/each-group-gets-an-llc-of-its-own",
                    test_group_for_each_llc);
    g_test_add_func("/placement/group-larger-than-an-llc-gets-two",
                    test_larger_than_llc);
    g_test_add_func("/placement/guest-larger-than-the-host-gets-all",
                    test_larger_than_host);
    g_test_add_func("/placement/threads-of-a-guest-core-fit-as-one",
                    test_smt_guest);
    g_test_add_data_func("/placement/siblings-share-a-host-core", "core",
                         test_siblings);
    g_test_add_data_func("/placement/siblings-get-a-sibling-each", "cpu",
                         test_siblings);
    g_test_add_func("/placement/more-groups-than-llcs-are-folded",
                    test_more_groups_than_llcs);
    g_test_add_func("/placement/vcpus-go-where-their-memory-is-bound",
                    test_bound_memory);
    ret = g_test_run();
    lab_host_clear(&host);
    return ret;
}
