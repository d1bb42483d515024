/*
 * A guest that migrates between two QEMUs is placed anew where it arrives
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "lab-host.h"
#include "lab-vm.h"

#include <string.h>

static LabHost host;

static char *cpus_option(const char *cpus)
{
    return g_strdup_printf(",cpus=%s", cpus);
}

static void assert_placed_within(Vm *vm, int n, const char *cpus)
{
    sched_assert_placed(vm, n);
    for (int i = 0; i < n; i++) {
        g_autofree char *mask = sched_real_mask(vm, i);

        g_assert_true(lab_list_within(mask, cpus));
    }
}

/* There and back: to a QEMU with other CPUs, then to a third. */
static void test_other_cpus(void)
{
    static const char smp[] = "2,sockets=1,cores=2";
    g_autofree char *first = cpus_option(host.llcs[0]);
    g_autofree char *second = cpus_option(host.llcs[host.n_llcs - 1]);
    g_autofree char *status = NULL;
    g_autoptr(Vm) here = lab_vm_start(smp, first, "");
    g_autoptr(Vm) there = NULL;
    g_autoptr(Vm) back = NULL;

    vm_wait_up(here, 2);
    assert_placed_within(here, 2, host.llcs[0]);
    there = lab_vm_start(smp, second, "-incoming defer");
    status = sched_query_text(there, "status");
    g_assert_cmpstr(status, ==, "waiting");
    vm_migrate(here, there);
    sched_wait_text(there, "status", "placed");
    assert_placed_within(there, 2, host.llcs[host.n_llcs - 1]);
    vm_wait_all_move(there, 2);

    back = lab_vm_start(smp, first, "-incoming defer");
    vm_migrate(there, back);
    sched_wait_text(back, "status", "placed");
    assert_placed_within(back, 2, host.llcs[0]);
    vm_wait_all_move(back, 2);
}

/* A guest that works while it moves. */
static void test_spinning(void)
{
    static const char smp[] = "4,sockets=2,cores=2";
    g_autoptr(Vm) here = lab_vm_start(smp, "", "");
    g_autoptr(Vm) there = lab_vm_start(smp, "", "-incoming defer");

    vm_wait_up(here, 4);
    vm_send(here, 's');
    vm_wait_all_move(here, 4);
    vm_migrate(here, there);
    sched_wait_text(there, "status", "placed");
    sched_wait_looks(there, 2);
    sched_assert_placed(there, 4);
    vm_wait_all_move(there, 4);
}

/* To a QEMU without the object and back to one with it. */
static void test_without_object(void)
{
    static const char smp[] = "2,sockets=1,cores=2";
    g_autoptr(Vm) here = lab_vm_start(smp, "", "");
    g_autoptr(Vm) there = vm_start(&(VmConfig) {
        .smp = smp, .args = "-incoming defer" });
    g_autoptr(Vm) back = NULL;

    vm_wait_up(here, 2);
    vm_migrate(here, there);
    vm_wait_all_move(there, 2);
    sched_assert_real_masks(there, 2, host.online);
    back = lab_vm_start(smp, "", "-incoming defer");
    vm_migrate(there, back);
    sched_wait_text(back, "status", "placed");
    sched_assert_placed(back, 2);
    vm_wait_all_move(back, 2);
}

int main(int argc, char **argv)
{
    int ret;

    lab_vm_test_init(&argc, &argv);
    lab_host_init(&host);
    g_test_add_func("/migration/other-cpus-at-the-destination",
                    test_other_cpus);
    g_test_add_func("/migration/busy-guest-arrives-placed", test_spinning);
    g_test_add_func("/migration/with-and-without-the-object",
                    test_without_object);
    ret = g_test_run();
    lab_host_clear(&host);
    return ret;
}
