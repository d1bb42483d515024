/*
 * A QEMU with llcsched inside a lab host
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "lab-vm.h"

void lab_vm_test_init(int *argc, char ***argv)
{
    vm_test_init(argc, argv);
    if (g_getenv("LAB_HOST")) {
        g_assert_cmpstr(vm_accel(0), ==, "kvm");
    }
}

Vm *lab_vm_start(const char *smp, const char *object, const char *args)
{
    g_autofree char *all = g_strdup_printf(
        "-object llcsched,id=sched0,interval=100,guard-util=100,"
        "guard-tasks=100%s %s", object, args);

    return vm_start(&(VmConfig) { .smp = smp, .mode = "halt", .args = all });
}
