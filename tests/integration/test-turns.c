/*
 * A real guest whose vCPUs have cookies, on a host whose kernel has none
 *
 * The host that QEMU is shown makes two CPUs of this machine the siblings of
 * one core, so that two cookies must take turns.  Whether they do, the guest
 * says itself: each vCPU looks whether the other one runs while it does.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "vm-sched.h"

#include <string.h>

#define GATE ",trust-backend=gate"
#define GROUP_A "-object llcsched-group,id=a,vcpus=0,cookie=one "
#define GROUP_B "-object llcsched-group,id=b,vcpus=1,cookie=two "

static SchedHost host;

static Vm *start_with(const char *accel, const char *options,
                      const char *groups)
{
    g_autofree char *object = sched_object(&host, options);
    g_autofree char *args = g_strconcat(object, " ", groups, NULL);
    Vm *vm = vm_start(&(VmConfig) { .accel = accel, .smp = "2,sockets=2",
                                    .mode = "meet", .args = args });

    vm_wait_up(vm, 2);
    return vm;
}

/* --- What the guest saw --- */

typedef struct Sight {
    guint64 looks, meets;
} Sight;

static guint64 sum_line(Vm *vm, char letter, const char *start)
{
    g_autofree char *text = NULL;
    g_auto(GStrv) words = NULL;
    guint64 sum = 0;

    vm_send(vm, letter);
    text = vm_wait_line(vm, start);
    words = g_strsplit(text, " ", -1);
    for (char **word = words; *word; word++) {
        sum += g_ascii_strtoull(*word, NULL, 10);
    }
    return sum;
}

static Sight guest_saw(Vm *vm)
{
    Sight sight;

    sight.looks = sum_line(vm, 'k', "looks ");
    sight.meets = sum_line(vm, 'v', "meets ");
    return sight;
}

typedef struct SightWait {
    guint64 looks, meets;
    Sight now;
} SightWait;

static bool has_seen(Vm *vm, void *opaque)
{
    SightWait *wait = opaque;

    wait->now = guest_saw(vm);
    return wait->now.looks >= wait->looks && wait->now.meets >= wait->meets;
}

/* Wait for that many looks; the meetings in all so far. */
static guint64 meets_after(Vm *vm, guint64 looks)
{
    SightWait wait = { .looks = looks };

    vm_wait(vm, has_seen, &wait, "the guest to look");
    g_test_message("%" G_GUINT64_FORMAT " looks, %" G_GUINT64_FORMAT
                   " meetings", wait.now.looks, wait.now.meets);
    return wait.now.meets;
}

/* --- */

static void test_apart(gconstpointer accel)
{
    g_autoptr(Vm) vm = NULL;

    if (vm_skip_without_kvm(accel)) {
        return;
    }
    vm = start_with(accel, GATE, GROUP_A GROUP_B);
    g_assert_cmpuint(meets_after(vm, 5000), ==, 0);
    vm_wait_all_move(vm, 2);
}

/* Nothing holds them apart: the guest can see that they run together. */
static void test_together(gconstpointer accel)
{
    g_autoptr(Vm) vm = NULL;
    SightWait wait = { .meets = 1000 };

    if (vm_skip_without_kvm(accel)) {
        return;
    }
    vm = start_with(accel, GATE ",cookie=one", "");
    vm_wait(vm, has_seen, &wait, "two vCPUs of one cookie to meet");
}

static void add_cases(const char *accel, const char *name)
{
    static const struct {
        const char *name;
        GTestDataFunc test;
    } tests[] = {
        { "two-cookies-never-meet", test_apart },
        { "one-cookie-runs-on-both-siblings", test_together },
    };

    for (guint i = 0; i < G_N_ELEMENTS(tests); i++) {
        g_autofree char *path = g_strdup_printf("/turns/%s/%s", name,
                                                tests[i].name);

        g_test_add_data_func(path, accel, tests[i].test);
    }
}

int main(int argc, char **argv)
{
    int ret;

    vm_test_init(&argc, &argv);
    sched_host_init_siblings(&host);
    add_cases("kvm", "kvm");
    add_cases(VM_TCG, "tcg");
    ret = g_test_run();
    sched_host_clear(&host);
    return ret;
}
