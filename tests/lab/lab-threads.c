/*
 * The threads that are not vCPUs are near them, or off them, as asked for
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

/* What all threads but those of vCPUs must fulfill. */
typedef struct Wanted {
    const char *within;     /* these CPUs */
    const char *off;        /* and none of these; NULL: no matter */
} Wanted;

static bool lists_meet(const char *a, const char *b)
{
    HostCpuSet left, right;

    g_assert_true(host_cpuset_parse_list(a, &left));
    g_assert_true(host_cpuset_parse_list(b, &right));
    return host_cpuset_intersects(&left, &right);
}

static bool all_are_right(Vm *vm, void *opaque)
{
    const Wanted *wanted = opaque;
    g_autoptr(GArray) tids = sched_other_threads(vm);

    for (guint i = 0; i < tids->len; i++) {
        g_autofree char *mask = thread_mask(g_array_index(tids, int, i));

        if (mask && (!lab_list_within(mask, wanted->within) ||
                     (wanted->off && lists_meet(mask, wanted->off)))) {
            return false;
        }
    }
    return true;
}

static void wait_threads(Vm *vm, const char *within, const char *off)
{
    Wanted wanted = { .within = within, .off = off };

    vm_wait(vm, all_are_right, &wanted, within);
}

/* Two vCPUs leave room in an LLC: its index. */
static Vm *start(const char *more, int *ret_llc)
{
    Vm *vm = lab_vm_start("2,sockets=1,cores=2", more,
                          "-object iothread,id=io");
    g_autofree char *mask = NULL;

    vm_wait_up(vm, 2);
    sched_assert_placed(vm, 2);
    mask = sched_real_mask(vm, 0);
    *ret_llc = lab_list_of(host.llcs, mask);
    g_assert_cmpint(*ret_llc, >=, 0);
    return vm;
}

static void test_near(void)
{
    int llc;
    g_autoptr(Vm) vm = start("", &llc);

    wait_threads(vm, host.llcs[llc], NULL);
    vm_do(vm, "object-add", "{'qom-type': 'iothread', 'id': 'late'}");
    sched_wait_looks(vm, 2);
    wait_threads(vm, host.llcs[llc], NULL);
    vm_do(vm, "object-del", "{'id': 'late'}");
    sched_wait_looks(vm, 2);
    vm_wait_all_move(vm, 2);
    vm_do(vm, "object-del", "{'id': 'sched0'}");
    wait_threads(vm, host.online, NULL);
    sched_assert_real_masks(vm, 2, host.online);
}

static void test_other(void)
{
    int llc;
    g_autoptr(Vm) vm = start(",emulator=other", &llc);

    wait_threads(vm, host.online, host.llcs[llc]);
    vm_do(vm, "qom-set", "{'path': '/objects/sched0', 'property': 'emulator',"
          " 'value': 'near'}");
    wait_threads(vm, host.llcs[llc], NULL);
    vm_wait_all_move(vm, 2);
}

/* Each vCPU has a CPU of its own, and nothing else of the VM is on it. */
static void test_beside(void)
{
    int llc;
    g_autofree char *first = NULL;
    g_autofree char *second = NULL;
    g_autoptr(Vm) vm = start(",placement=cpu", &llc);

    first = sched_real_mask(vm, 0);
    second = sched_real_mask(vm, 1);
    wait_threads(vm, host.llcs[llc], first);
    wait_threads(vm, host.llcs[llc], second);
    vm_wait_all_move(vm, 2);
}

/* As many vCPUs as CPUs: what else runs need not wait behind them. */
static void test_full(void)
{
    int n = host.llc_cpus;
    g_autofree char *smp = g_strdup_printf("%d,sockets=1,cores=%d,threads=%d",
                                           n, host.llc_cores, host.threads);
    g_autoptr(Vm) vm = lab_vm_start(smp, "", "");
    g_autofree char *mask = NULL;
    int node;

    vm_wait_up(vm, n);
    sched_assert_placed(vm, n);
    mask = sched_real_mask(vm, 0);
    node = lab_list_of(host.nodes, mask);
    g_assert_cmpint(node, >=, 0);
    wait_threads(vm, host.nodes[node], NULL);
    vm_wait_all_move(vm, n);
}

int main(int argc, char **argv)
{
    int ret;

    lab_vm_test_init(&argc, &argv);
    lab_host_init(&host);
    g_test_add_func("/threads/near-is-the-llc-of-the-vcpus", test_near);
    g_test_add_func("/threads/other-is-another-llc", test_other);
    g_test_add_func("/threads/cpus-of-vcpus-are-left-alone", test_beside);
    g_test_add_func("/threads/full-llc-opens-its-node", test_full);
    ret = g_test_run();
    lab_host_clear(&host);
    return ret;
}
