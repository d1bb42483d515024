/*
 * VMs that start together do not all choose the same cache
 *
 * None of them can see the others' load yet, so ties are broken by the VM's
 * UUID.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "lab-host.h"
#include "lab-vm.h"

#define VMS 4

static LabHost host;

/*
 * Let @n run at once, as a management layer does that starts them paused, and
 * tell how many LLCs they use when each has seen what others run.
 */
static int llcs_of_vms(int n, unsigned first_uuid)
{
    Vm *vms[VMS];
    g_autofree bool *used = g_new0(bool, host.n_llcs);
    int llcs = 0;

    for (int i = 0; i < n; i++) {
        g_autofree char *args = g_strdup_printf(
            "-S -uuid 2f0c7d5a-6a0e-4d1b-9c53-%012x", first_uuid + i);

        /* starting QEMUs and this program crowd the LLCs of so small a host */
        vms[i] = lab_vm_start("2,sockets=1,cores=2",
                              ",interval=1000,guard-util=100,guard-tasks=100",
                              args);
    }
    for (int i = 0; i < n; i++) {
        vm_do(vms[i], "cont", NULL);
    }
    for (int i = 0; i < n; i++) {
        g_autofree char *mask = NULL;
        int llc;

        vm_wait_up(vms[i], 2);
        sched_wait_looks(vms[i], 2);
        sched_assert_placed(vms[i], 2);
        mask = sched_real_mask(vms[i], 0);
        llc = lab_list_of(host.llcs, mask);
        g_assert_cmpint(llc, >=, 0);
        g_assert_cmpstr(mask, ==, host.llcs[llc]);
        sched_assert_real_masks(vms[i], 2, mask);
        llcs += !used[llc];
        used[llc] = true;
        g_test_message("VM %d: LLC %d", i, llc);
    }
    for (int i = 0; i < n; i++) {
        vm_wait_all_move(vms[i], 2);
        vm_free(vms[i]);
    }
    return llcs;
}

static void test_two(void)
{
    g_assert_cmpint(llcs_of_vms(2, 1), ==, 2);
}

/* A VM that comes later sees the work of the first, whatever its UUID. */
static void test_second_avoids_first(void)
{
    g_autofree char *mask = NULL;
    g_autofree char *other = NULL;
    g_autoptr(Vm) first = lab_vm_start("2,sockets=1,cores=2", "", "");
    g_autoptr(Vm) second = NULL;

    vm_wait_up(first, 2);
    sched_wait_looks(first, 2);
    vm_send(first, 's');
    vm_wait_all_move(first, 2);
    mask = sched_real_mask(first, 0);
    second = lab_vm_start("2,sockets=1,cores=2", ",guard-util=30", "");
    vm_wait_up(second, 2);
    sched_wait_looks(second, 2);
    vm_do(second, "llcsched-replan", NULL);
    other = sched_real_mask(second, 0);
    g_assert_cmpint(lab_list_of(host.llcs, other), >=, 0);
    g_assert_cmpstr(other, !=, mask);
}

static void test_four(void)
{
    g_assert_cmpint(llcs_of_vms(4, 1), >=, MIN(host.n_llcs, 3));
}

int main(int argc, char **argv)
{
    int ret;

    lab_vm_test_init(&argc, &argv);
    lab_host_init(&host);
    g_test_add_func("/spread/two-vms-on-two-llcs", test_two);
    g_test_add_func("/spread/four-vms-on-most-llcs", test_four);
    g_test_add_func("/spread/later-vm-avoids-the-llc-of-a-busy-one",
                    test_second_avoids_first);
    ret = g_test_run();
    lab_host_clear(&host);
    return ret;
}
