/*
 * The host changes under running guests, and they follow
 *
 * CPUs go offline and come back, cpusets shrink, grow and are changed for
 * others: within two looks (the first may have begun before) every mask is
 * as planned again, and no vCPU is lost.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "lab-crowd.h"
#include "lab-host.h"
#include "lab-vm.h"

#include <string.h>
#include <unistd.h>

#define VCPUS 4         /* two groups of two cores */
#define SMP "4,sockets=2,cores=2"

static LabHost host;

/* --- What must hold --- */

/* Each group has all of one host LLC, and no two the same. */
static void assert_groups_apart(Vm *vm)
{
    g_autofree char *first = sched_real_mask(vm, 0);
    g_autofree char *second = sched_real_mask(vm, 2);

    sched_assert_placed(vm, VCPUS);
    for (int i = 0; i < VCPUS; i++) {
        g_autofree char *mask = sched_real_mask(vm, i);
        int llc = lab_list_of(host.llcs, mask);

        g_assert_cmpint(llc, >=, 0);
        g_assert_cmpstr(mask, ==, host.llcs[llc]);
        g_assert_cmpstr(mask, ==, i < 2 ? first : second);
    }
    g_assert_cmpstr(first, !=, second);
}

static void assert_within(Vm *vm, const char *cpus)
{
    sched_assert_placed(vm, VCPUS);
    for (int i = 0; i < VCPUS; i++) {
        g_autofree char *mask = sched_real_mask(vm, i);

        if (!lab_list_within(mask, cpus)) {
            vm_fail(vm, "vCPU %d may use %s, not only %s", i, mask, cpus);
        }
    }
}

static void settle(Vm *vm)
{
    sched_wait_looks(vm, 2);
}

static Vm *start(void)
{
    Vm *vm = lab_vm_start(SMP, "", "");

    vm_wait_up(vm, VCPUS);
    return vm;
}

static Vm *start_in_cgroup(const char *name)
{
    Vm *vm;

    lab_cgroup_enter(name, getpid());
    vm = lab_vm_start(SMP, "", "");
    lab_cgroup_enter("", getpid());
    vm_wait_up(vm, VCPUS);
    return vm;
}

/* --- CPUs go offline --- */

/* All CPUs of every LLC but the first go, and come back. */
static void test_llc_offline(void)
{
    g_autoptr(Vm) vm = start();

    assert_groups_apart(vm);
    for (int i = 1; i < host.n_llcs; i++) {
        lab_cpus_set_online(host.llcs[i], false);
    }
    settle(vm);
    assert_within(vm, host.llcs[0]);
    vm_wait_all_move(vm, VCPUS);
    for (int i = 1; i < host.n_llcs; i++) {
        lab_cpus_set_online(host.llcs[i], true);
    }
    settle(vm);
    assert_groups_apart(vm);
    vm_wait_all_move(vm, VCPUS);
}

/* CPU 0 stays, so the first LLC loses the rest. */
static void test_most_of_llc_offline(void)
{
    g_autoptr(Vm) vm = start();

    for (int round = 0; round < 3; round++) {
        for (int cpu = 1; cpu < host.llc_cpus; cpu++) {
            lab_cpu_set_online(cpu, false);
        }
        settle(vm);
        sched_assert_placed(vm, VCPUS);
        vm_wait_all_move(vm, VCPUS);
        for (int cpu = 1; cpu < host.llc_cpus; cpu++) {
            lab_cpu_set_online(cpu, true);
        }
        settle(vm);
        assert_groups_apart(vm);
        vm_wait_all_move(vm, VCPUS);
    }
}

/* What was offline when QEMU started is no limit on QEMU. */
static void test_offline_at_start(void)
{
    g_autoptr(Vm) vm = NULL;

    for (int i = 1; i < host.n_llcs; i++) {
        lab_cpus_set_online(host.llcs[i], false);
    }
    vm = start();
    assert_within(vm, host.llcs[0]);
    for (int i = 1; i < host.n_llcs; i++) {
        lab_cpus_set_online(host.llcs[i], true);
    }
    settle(vm);
    assert_groups_apart(vm);
    vm_wait_all_move(vm, VCPUS);
}

/* Half of each LLC's CPUs go with SMT; the groups stay where they are. */
static void test_smt(void)
{
    g_autoptr(Vm) vm = NULL;

    if (host.threads < 2) {
        g_test_skip("this host has one thread per core");
        return;
    }
    vm = start();
    assert_groups_apart(vm);
    for (int round = 0; round < 3; round++) {
        lab_smt_set(&host, false);
        settle(vm);
        sched_assert_placed(vm, VCPUS);
        vm_wait_all_move(vm, VCPUS);
        lab_smt_set(&host, true);
        settle(vm);
        assert_groups_apart(vm);
        vm_wait_all_move(vm, VCPUS);
    }
}

/* --- cpusets --- */

static void test_cpuset_shrinks(void)
{
    g_autoptr(Vm) vm = NULL;

    lab_cgroup_make("lab", host.online);
    vm = start_in_cgroup("lab");
    assert_groups_apart(vm);
    /* more often than resets of masks would be taken for a contest */
    for (int round = 0; round < 5; round++) {
        lab_cgroup_set_cpus("lab", host.llcs[round % host.n_llcs]);
        settle(vm);
        assert_within(vm, host.llcs[round % host.n_llcs]);
        lab_cgroup_set_cpus("lab", host.online);
        settle(vm);
        assert_groups_apart(vm);
        vm_wait_all_move(vm, VCPUS);
    }
    g_clear_pointer(&vm, vm_free);
    lab_cgroup_remove("lab");
}

/* A cpuset is a limit for as long as it is there, not for ever. */
static void test_cpuset_grows(void)
{
    g_autoptr(Vm) vm = NULL;

    lab_cgroup_make("lab", host.llcs[1]);
    vm = start_in_cgroup("lab");
    assert_within(vm, host.llcs[1]);
    lab_cgroup_set_cpus("lab", host.online);
    settle(vm);
    assert_groups_apart(vm);
    vm_wait_all_move(vm, VCPUS);
    g_clear_pointer(&vm, vm_free);
    lab_cgroup_remove("lab");
}

static void test_other_cgroup(void)
{
    g_autoptr(Vm) vm = NULL;

    lab_cgroup_make("lab", host.llcs[0]);
    lab_cgroup_make("other", host.llcs[1]);
    vm = start_in_cgroup("lab");
    assert_within(vm, host.llcs[0]);
    for (int round = 0; round < 3; round++) {
        lab_cgroup_enter("other", vm_pid(vm));
        settle(vm);
        assert_within(vm, host.llcs[1]);
        vm_wait_all_move(vm, VCPUS);
        lab_cgroup_enter("lab", vm_pid(vm));
        settle(vm);
        assert_within(vm, host.llcs[0]);
        vm_wait_all_move(vm, VCPUS);
    }
    lab_cgroup_enter("", vm_pid(vm));
    settle(vm);
    assert_groups_apart(vm);
    vm_wait_all_move(vm, VCPUS);
    g_clear_pointer(&vm, vm_free);
    lab_cgroup_remove("lab");
    lab_cgroup_remove("other");
}

/* A user's own mask at the start stays a limit whatever the cpuset does. */
static void test_inherited_mask(void)
{
    g_autoptr(Vm) vm = NULL;

    lab_cgroup_make("lab", host.online);
    g_assert_cmpint(thread_set_mask(getpid(), host.llcs[1]), ==, 0);
    vm = start();
    g_assert_cmpint(thread_set_mask(getpid(), host.online), ==, 0);
    assert_within(vm, host.llcs[1]);
    lab_cgroup_enter("lab", vm_pid(vm));
    settle(vm);
    assert_within(vm, host.llcs[1]);
    lab_cgroup_enter("", vm_pid(vm));
    settle(vm);
    assert_within(vm, host.llcs[1]);
    vm_wait_all_move(vm, VCPUS);
    g_clear_pointer(&vm, vm_free);
    lab_cgroup_remove("lab");
}

/* Nothing of it is in the cpuset: the guest runs where the kernel says. */
static void test_cpuset_outside_of_mask(void)
{
    g_autoptr(Vm) vm = NULL;

    lab_cgroup_make("lab", host.llcs[0]);
    g_assert_cmpint(thread_set_mask(getpid(), host.llcs[1]), ==, 0);
    vm = start();
    g_assert_cmpint(thread_set_mask(getpid(), host.online), ==, 0);
    lab_cgroup_enter("lab", vm_pid(vm));
    settle(vm);
    sched_wait_text(vm, "status", "degraded");
    sched_assert_real_masks(vm, VCPUS, host.llcs[0]);
    vm_wait_all_move(vm, VCPUS);
    sched_wait_looks(vm, 12); /* longer than a contest takes */
    lab_cgroup_enter("", vm_pid(vm));
    settle(vm);
    assert_within(vm, host.llcs[1]);
    sched_wait_text(vm, "status", "placed");
    vm_wait_all_move(vm, VCPUS);
    g_clear_pointer(&vm, vm_free);
    lab_cgroup_remove("lab");
}

/* --- What others run --- */

static bool replanned_into(Vm *vm, void *opaque)
{
    g_autofree char *mask = NULL;

    vm_do(vm, "llcsched-replan", NULL);
    mask = sched_real_mask(vm, 0);
    return strcmp(mask, opaque) == 0;
}

/* Real work of others on all LLCs but one. */
static void test_crowded(void)
{
    for (int quiet = 0; quiet < host.n_llcs; quiet++) {
        GString *cpus = g_string_new(NULL);
        g_autoptr(Vm) vm = NULL;
        GArray *crowd;

        for (int i = 0; i < host.n_llcs; i++) {
            if (i != quiet) {
                g_string_append_printf(cpus, "%s%s", cpus->len ? "," : "",
                                       host.llcs[i]);
            }
        }
        crowd = lab_crowd_start(&host, cpus->str);
        vm = lab_vm_start("2,sockets=1,cores=2",
                          ",guard-util=50,guard-tasks=50", "");
        vm_wait_up(vm, 2);
        vm_wait(vm, replanned_into, host.llcs[quiet], "the quiet LLC");
        sched_assert_placed(vm, 2);
        vm_wait_all_move(vm, 2);
        lab_crowd_end(crowd);
        g_string_free(cpus, true);
    }
}

int main(int argc, char **argv)
{
    int ret;

    lab_vm_test_init(&argc, &argv);
    lab_host_init(&host);
    g_test_add_func("/changes/llc-goes-offline-and-comes-back",
                    test_llc_offline);
    g_test_add_func("/changes/most-of-an-llc-goes-offline-and-comes-back",
                    test_most_of_llc_offline);
    g_test_add_func("/changes/cpus-that-come-online-later-are-used",
                    test_offline_at_start);
    g_test_add_func("/changes/smt-is-switched-off-and-on", test_smt);
    g_test_add_func("/changes/cpuset-shrinks-and-grows", test_cpuset_shrinks);
    g_test_add_func("/changes/cpuset-that-was-small-at-start-grows",
                    test_cpuset_grows);
    g_test_add_func("/changes/qemu-moves-to-another-cgroup",
                    test_other_cgroup);
    g_test_add_func("/changes/inherited-mask-stays-a-limit",
                    test_inherited_mask);
    g_test_add_func("/changes/cpuset-outside-of-the-mask-costs-no-guest",
                    test_cpuset_outside_of_mask);
    g_test_add_func("/changes/crowded-llcs-are-left", test_crowded);
    ret = g_test_run();
    lab_host_clear(&host);
    return ret;
}
