/*
 * A real guest whose vCPU cannot be isolated stays out, and nothing hangs
 *
 * The made-up host turns SMT on under it; the kernel of this machine must have
 * no core scheduling, as most have none.  vCPU 1 has a cookie, vCPU 0 has not.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "vm-sched.h"

#include "hw/sched/core-cookie.h"

#include <string.h>

#define GROUP " -object llcsched-group,id=g,vcpus=1,cookie=red"

static SchedHost host;

static void set_smt(bool on)
{
    g_autofree char *dir = g_build_filename(host.tree->dir, "sys", "devices",
                                            "system", "cpu", "smt", NULL);
    g_autofree char *path = g_build_filename(dir, "active", NULL);
    g_autoptr(GError) err = NULL;

    g_assert_cmpint(g_mkdir_with_parents(dir, 0755), ==, 0);
    /* replaces the file as a whole: a reader sees the old or the new one */
    g_file_set_contents_full(path, on ? "1\n" : "0\n", -1,
                             G_FILE_SET_CONTENTS_CONSISTENT, 0644, &err);
    g_assert_no_error(err);
}

static Vm *start(gconstpointer accel, const char *smp, const char *more)
{
    g_autofree char *object = sched_object(&host, ",interval=100");
    g_autofree char *args = g_strconcat(object, GROUP, more, NULL);
    Vm *vm;

    set_smt(false);
    vm = vm_start(&(VmConfig) { .accel = accel, .smp = smp, .args = args });
    return vm;
}

static Vm *start_two(gconstpointer accel)
{
    Vm *vm = start(accel, "2,sockets=2", "");

    vm_wait_up(vm, 2);
    sched_wait_vcpu_text(vm, 1, "cookie-state", "not-needed");
    return vm;
}

static guint32 counter(Vm *vm, int vcpu)
{
    g_autoptr(GArray) counters = vm_counters(vm);

    return g_array_index(counters, guint32, vcpu);
}

static bool stands(Vm *vm, void *opaque)
{
    guint32 *last = opaque;
    guint32 now = counter(vm, 1);
    bool same = now == *last;

    *last = now;
    return same;
}

/* vCPU 0 goes on: it answers. */
static void wait_kept_out(Vm *vm)
{
    guint32 last = 0;

    sched_wait_vcpu_text(vm, 1, "cookie-state", "failed");
    vm_wait(vm, stands, &last, "vCPU 1 to stand");
}

static void keep_out(Vm *vm)
{
    set_smt(true);
    wait_kept_out(vm);
}

static void let_in(Vm *vm)
{
    set_smt(false);
    sched_wait_vcpu_text(vm, 1, "cookie-state", "not-needed");
    vm_wait_all_move(vm, 2);
}

static void test_out_and_in(gconstpointer accel)
{
    g_autoptr(Vm) vm = start_two(accel);

    for (int round = 0; round < 5; round++) {
        guint32 before;

        keep_out(vm);
        before = counter(vm, 1);
        sched_wait_looks(vm, 3);
        g_assert_cmpuint(counter(vm, 1), ==, before);
        let_in(vm);
    }
}

static void test_stop_and_cont(gconstpointer accel)
{
    g_autoptr(Vm) vm = start_two(accel);

    keep_out(vm);
    for (int round = 0; round < 20; round++) {
        vm_do(vm, "stop", NULL);
        vm_do(vm, "cont", NULL);
    }
    wait_kept_out(vm);
    let_in(vm);
}

static void test_reset(gconstpointer accel)
{
    g_autoptr(Vm) vm = start_two(accel);

    keep_out(vm);
    vm_do(vm, "system_reset", NULL);
    set_smt(false);
    vm_wait_up(vm, 2);
    vm_wait_all_move(vm, 2);
}

static void test_object_goes(gconstpointer accel)
{
    g_autoptr(Vm) vm = start_two(accel);

    keep_out(vm);
    vm_do(vm, "object-del", "{'id': 'g'}");
    vm_wait_all_move(vm, 2);
    vm_do(vm, "object-del", "{'id': 'sched0'}");
    vm_wait_all_move(vm, 2);
}

/* What kept it out here does not there. */
static void test_migration(gconstpointer accel)
{
    g_autoptr(Vm) here = start_two(accel);
    g_autoptr(Vm) there = NULL;

    there = vm_start(&(VmConfig) { .accel = accel, .smp = "2,sockets=2",
                                   .args = "-incoming defer" });
    keep_out(here);
    vm_migrate(here, there);
    vm_wait_all_move(there, 2);
}

/* An incoming VM that could not be isolated fails before anything arrives. */
static void test_destination_refuses(gconstpointer accel)
{
    g_autofree char *object = sched_object(&host, "");
    g_autofree char *args = g_strconcat(object, GROUP " -incoming defer",
                                        NULL);
    g_autofree char *messages = NULL;
    int status;

    set_smt(true);
    messages = vm_start_refused(&(VmConfig) { .accel = accel, .args = args },
                                &status);
    g_assert_nonnull(strstr(messages, "CONFIG_SCHED_CORE"));
    g_assert_nonnull(strstr(messages, "trust=best-effort"));
}

static void test_plug_is_vetoed(gconstpointer accel)
{
    g_autoptr(Vm) vm = start(accel, "1,sockets=3,maxcpus=3", "");
    g_autofree char *error = NULL;

    vm_wait_up(vm, 1);
    set_smt(true);
    error = vm_qmp_refused(vm, "device_add",
                           "{'driver': 'qemu64-x86_64-cpu', 'id': 'plugged',"
                           " 'socket-id': 1, 'core-id': 0, 'thread-id': 0}");
    g_assert_nonnull(strstr(error, "plugged"));
    g_assert_nonnull(strstr(error, "CONFIG_SCHED_CORE"));
    vm_wait_all_move(vm, 1);
}

static const struct {
    const char *name;
    void (*test)(gconstpointer accel);
} tests[] = {
    { "kept-out-and-let-in", test_out_and_in },
    { "kept-out-stops-and-continues", test_stop_and_cont },
    { "kept-out-is-reset", test_reset },
    { "kept-out-is-let-go-by-object-del", test_object_goes },
    { "kept-out-migrates", test_migration },
    { "destination-refuses", test_destination_refuses },
    { "plug-is-vetoed", test_plug_is_vetoed },
};

int main(int argc, char **argv)
{
    CoreCookie here = core_cookie_get(core_cookie_prctl, 0);
    int ret;

    vm_test_init(&argc, &argv);
    if (here.verdict != CORE_COOKIE_UNSUPPORTED) {
        g_print("1..0 # SKIP this kernel has core scheduling\n");
        return 0;
    }
    sched_host_init(&host);
    for (size_t i = 0; i < G_N_ELEMENTS(tests); i++) {
        g_autofree char *path = g_strconcat("/trust/", tests[i].name, NULL);

        g_test_add_data_func(path, vm_accel(0), tests[i].test);
    }
    ret = g_test_run();
    sched_host_clear(&host);
    return ret;
}
