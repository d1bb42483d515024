/*
 * A QEMU with llcsched inside a lab host
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "lab-vm.h"

#include "hw/sched/core-cookie.h"

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

int lab_vcpu_tid(Vm *vm, int index)
{
    g_autoptr(GArray) tids = vm_vcpu_threads(vm);

    g_assert_cmpint(index, <, (int)tids->len);
    return g_array_index(tids, int, index);
}

guint64 lab_cookie_of(int tid)
{
    CoreCookie got = core_cookie_get(core_cookie_prctl, tid);

    g_assert_cmpint(got.err, ==, 0);
    return got.hash;
}

guint64 lab_vcpu_cookie(Vm *vm, int index)
{
    return lab_cookie_of(lab_vcpu_tid(vm, index));
}
