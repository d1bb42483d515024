/*
 * Cookies without the kernel's help, on cores that have siblings
 *
 * Of every lab host with SMT, core scheduling or not.  Whether two vCPUs run
 * together the guest says itself; where they may run, the kernel.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "lab-host.h"
#include "lab-vm.h"
#include "vm-turns.h"

#include <string.h>

#define GATE ",trust-backend=gate"
#define TWO_VCPUS "2,sockets=2"
#define TWO_COOKIES "-object llcsched-group,id=a,vcpus=0,cookie=red " \
                    "-object llcsched-group,id=b,vcpus=1,cookie=blue"
/* Of a guest that looks at most at half of the time, and slowly. */
#define LOOKS 300

static LabHost host;

static bool skip_without_siblings(void)
{
    if (host.threads == 1) {
        g_test_skip("this host has no siblings");
        return true;
    }
    return false;
}

static Vm *start_spinning(const char *object, const char *cpus,
                          const char *cookies)
{
    g_autofree char *all = g_strdup_printf("%s,cpus=%s", object, cpus);
    Vm *vm = lab_vm_start(TWO_VCPUS, all, cookies);

    vm_wait_up(vm, 2);
    vm_send(vm, 'm');
    g_free(vm_wait_line(vm, "mode meet"));
    return vm;
}

/* Siblings of a core take turns; without cookies they meet all the time. */
static void test_one_core(void)
{
    g_autoptr(Vm) vm = NULL;

    if (skip_without_siblings()) {
        return;
    }
    vm = start_spinning(GATE, host.cores[host.n_cores - 1], TWO_COOKIES);
    sched_assert_trust(vm, "gate", "this-vm");
    g_assert_cmpuint(turns_meets_after(vm, LOOKS), ==, 0);
    vm_wait_all_move(vm, 2);
    g_assert_cmpint(turns_int(vm, 1, "hand-overs"), >, 0);
    g_assert_cmpint(turns_int(vm, 1, "sharing"), ==, 2);
    g_assert_cmpint(sched_vcpu_int(vm, 0, "untagged-run-ns"), ==, 0);
    vm_do(vm, "object-del", "{'id': 'a'}");
    vm_do(vm, "object-del", "{'id': 'b'}");
    turns_wait_meets(vm, 1);
}

/* As many cores as cookies: nobody waits, and they do meet, apart. */
static void test_a_core_for_each(void)
{
    g_autoptr(Vm) vm = NULL;
    g_autofree char *masks[2] = { NULL, NULL };

    if (skip_without_siblings()) {
        return;
    }
    vm = start_spinning(GATE, host.llcs[host.n_llcs - 1], TWO_COOKIES);
    sched_wait_looks(vm, 2);
    sched_assert_placed(vm, 2);
    for (int i = 0; i < 2; i++) {
        masks[i] = sched_real_mask(vm, i);
        g_assert_cmpint(lab_list_of(host.cores, masks[i]), >=, 0);
    }
    g_assert_cmpstr(masks[0], !=, masks[1]);
    sched_assert_trust(vm, "gate", "this-vm");
    g_assert_cmpint(turns_int(vm, 1, "sharing"), ==, 1);
    turns_wait_meets(vm, 1);
}

/* The two CPUs of the last core; each is a mask that is none of ours. */
static char **last_siblings(void)
{
    char **cpus = g_strsplit(host.cores[host.n_cores - 1], "-", -1);

    g_assert_cmpint(g_strv_length(cpus), ==, 2);
    return cpus;
}

/* The first time proves that the two are apart. */
static bool handed_over(Vm *vm, void *opaque)
{
    return turns_int(vm, 1, "hand-overs") > 0;
}

/* Whom somebody pins to one core meanwhile takes turns from the next look. */
static void test_pinned_together(void)
{
    g_auto(GStrv) siblings = NULL;
    g_autoptr(Vm) vm = NULL;
    TurnsSight before;

    if (skip_without_siblings()) {
        return;
    }
    siblings = last_siblings();
    vm = start_spinning(GATE, host.llcs[host.n_llcs - 1], TWO_COOKIES);
    sched_taskset(vm, 0, siblings[0]);
    sched_taskset(vm, 1, siblings[1]);
    vm_wait(vm, handed_over, NULL, "turns to be taken");
    /* until then nothing held them apart: that is told */
    g_assert_cmpint(sched_vcpu_int(vm, 0, "untagged-run-ns") +
                    sched_vcpu_int(vm, 1, "untagged-run-ns"), >, 0);
    before = turns_sight(vm);
    g_assert_cmpuint(turns_meets_after(vm, before.looks + LOOKS), ==,
                     before.meets);
}

static bool trust_is(Vm *vm, void *opaque)
{
    g_autofree char *mode = sched_trust_text(vm, "mode");

    return strcmp(mode, opaque) == 0;
}

static void test_smt(void)
{
    g_autoptr(Vm) vm = NULL;
    TurnsSight before;

    if (skip_without_siblings()) {
        return;
    }
    vm = start_spinning(GATE, host.cores[0], TWO_COOKIES);
    for (int round = 0; round < 2; round++) {
        lab_smt_set(&host, false);
        vm_wait(vm, trust_is, (void *)"not-needed", "turns to end");
        sched_assert_trust(vm, "not-needed", "host");
        vm_wait_all_move(vm, 2);
        lab_smt_set(&host, true);
        vm_wait(vm, trust_is, (void *)"gate", "turns to be taken");
        sched_wait_looks(vm, 2);
        before = turns_sight(vm);
        g_assert_cmpuint(turns_meets_after(vm, before.looks + LOOKS), ==,
                         before.meets);
    }
}

static void test_no_siblings(void)
{
    g_autoptr(Vm) vm = NULL;

    if (host.threads > 1) {
        g_test_skip("this host has siblings");
        return;
    }
    vm = start_spinning(GATE, host.cores[0], TWO_COOKIES);
    sched_assert_trust(vm, "not-needed", "host");
    vm_wait_all_move(vm, 2);
}

/* Cores of their own by masks, which is all that the default can do there. */
static void test_masks(void)
{
    g_autoptr(Vm) vm = NULL;
    g_auto(GStrv) siblings = NULL;

    if (g_strcmp0(g_getenv("LAB_CORE_SCHEDULING"), "no")) {
        g_test_skip("this host has core scheduling, or no siblings");
        return;
    }
    siblings = last_siblings();
    vm = lab_vm_start("4,sockets=4", ",trust=best-effort",
                      "-object llcsched-group,id=a,vcpus=0-1,cookie=red "
                      "-object llcsched-group,id=b,vcpus=2-3,cookie=blue");
    vm_wait_up(vm, 4);
    sched_wait_looks(vm, 2);
    sched_assert_placed(vm, 4);
    sched_assert_trust(vm, "masks", "this-vm");
    for (int i = 0; i < 2; i++) {
        g_autofree char *red = sched_real_mask(vm, i);

        for (int j = 2; j < 4; j++) {
            g_autofree char *blue = sched_real_mask(vm, j);

            g_assert_false(lab_cores_meet(&host, red, blue));
        }
    }
    /* who is pinned is avoided, unless both are */
    sched_taskset(vm, 0, siblings[0]);
    sched_taskset(vm, 2, siblings[1]);
    sched_wait_looks(vm, 2);
    sched_assert_trust(vm, "none", "none");
}

static const struct {
    const char *name;
    void (*test)(void);
} tests[] = {
    { "cookies-on-one-core-never-meet", test_one_core },
    { "a-core-for-each-cookie", test_a_core_for_each },
    { "pinned-together-take-turns", test_pinned_together },
    { "smt-off-and-on", test_smt },
    { "no-siblings-no-turns", test_no_siblings },
    { "masks-keep-cookies-apart-and-say-so", test_masks },
};

int main(int argc, char **argv)
{
    int ret;

    lab_vm_test_init(&argc, &argv);
    lab_host_init(&host);
    for (size_t i = 0; i < G_N_ELEMENTS(tests); i++) {
        g_autofree char *path = g_strconcat("/turns/", tests[i].name, NULL);

        g_test_add_func(path, tests[i].test);
    }
    ret = g_test_run();
    lab_host_clear(&host);
    return ret;
}
