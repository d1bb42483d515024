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

#include "vm-turns.h"

#include <string.h>
#include <sys/wait.h>

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

/* --- What the query says --- */

typedef struct Granted {
    gint64 one, two;
} Granted;

/* The cookies of vCPUs 0 and 1, in one look. */
static Granted granted(Vm *vm)
{
    JsonArray *turns;
    g_autoptr(JsonNode) info = turns_query(vm, &turns);
    Granted granted = { 0 };

    for (guint i = 0; i < json_array_get_length(turns); i++) {
        JsonObject *one = json_array_get_object_element(turns, i);
        gint64 ns = json_object_get_int_member(one, "granted-ns");
        const char *vcpus = json_object_get_string_member(one, "vcpus");

        if (g_str_equal(vcpus, "0")) {
            granted.one = ns;
        } else if (g_str_equal(vcpus, "1")) {
            granted.two = ns;
        }
    }
    return granted;
}

typedef struct GrantWait {
    Granted from;
    double least, most;     /* that the share of vCPU 0 may be */
    double share;           /* that it is */
} GrantWait;

#define SHARE_WINDOW_NS 3000000000ll

static bool share_is_there(Vm *vm, void *opaque)
{
    GrantWait *wait = opaque;
    Granted now = granted(vm);
    gint64 one = now.one - wait->from.one, two = now.two - wait->from.two;

    if (one + two < SHARE_WINDOW_NS) {
        return false;
    }
    wait->share = one / (double)(one + two);
    return wait->share > wait->least && wait->share < wait->most;
}

/*
 * At least over three seconds.  What a busy machine takes from one or the other
 * is made up for later, so the longer they are the closer it is.
 */
static void wait_share(Vm *vm, double least, double most)
{
    GrantWait wait = { .from = granted(vm), .least = least, .most = most };

    vm_wait(vm, share_is_there, &wait, "the share of vCPU 0");
    g_test_message("share %.4f", wait.share);
}

static void wait_share_near(Vm *vm, double share)
{
    wait_share(vm, share - 0.02, share + 0.02);
}

static void note_hand_overs(Vm *vm)
{
    for (int cookie = 1; cookie <= 2; cookie++) {
        gint64 n = turns_int(vm, cookie, "hand-overs");

        g_test_message("cookie %d: %" G_GINT64_FORMAT " hand-overs, exit %.1f "
                       "us, longest %.1f us, longest wait %.2f ms, %"
                       G_GINT64_FORMAT " delayed, late looks %.2f ms", cookie,
                       n, turns_int(vm, cookie, "exit-ns") / 1e3 / MAX(n, 1),
                       turns_int(vm, cookie, "longest-exit-ns") / 1e3,
                       turns_int(vm, cookie, "longest-wait-ns") / 1e6,
                       turns_int(vm, cookie, "delayed-exits"),
                       turns_int(vm, cookie, "late-look-ns") / 1e6);
    }
}

/* --- Two cookies, one core --- */

static void test_apart(gconstpointer accel)
{
    g_autoptr(Vm) vm = NULL;

    if (vm_skip_without_kvm(accel)) {
        return;
    }
    vm = start_with(accel, GATE, GROUP_A GROUP_B);
    sched_assert_trust(vm, "gate", "this-vm");
    g_assert_cmpuint(turns_meets_after(vm, 5000), ==, 0);
    wait_share_near(vm, 0.5);
    note_hand_overs(vm);
    vm_wait_all_move(vm, 2);
}

/* A cookie that names none is one like the others. */
static void test_without_cookie(gconstpointer accel)
{
    g_autoptr(Vm) vm = NULL;

    if (vm_skip_without_kvm(accel)) {
        return;
    }
    vm = start_with(accel, GATE ",slice-us=1000", GROUP_A);
    g_assert_cmpuint(turns_meets_after(vm, 3000), ==, 0);
    vm_wait_all_move(vm, 2);
}

static void test_weights(gconstpointer accel)
{
    g_autoptr(Vm) vm = NULL;

    if (vm_skip_without_kvm(accel)) {
        return;
    }
    vm = start_with(accel, GATE,
                    "-object llcsched-group,id=a,vcpus=0,cookie=one,weight=300 "
                    GROUP_B);
    wait_share_near(vm, 0.75);
    vm_do(vm, "qom-set", "{'path': '/objects/b', 'property': 'weight',"
          " 'value': 900}");
    wait_share_near(vm, 0.25);
    g_assert_cmpuint(turns_meets_after(vm, 1000), ==, 0);
}

/* Nothing holds them apart: the guest can see that they run together. */
static void test_together(gconstpointer accel)
{
    g_autoptr(Vm) vm = NULL;

    if (vm_skip_without_kvm(accel)) {
        return;
    }
    vm = start_with(accel, GATE ",cookie=one", "");
    turns_wait_meets(vm, 1000);
}

/* All but the boot CPU halt. */
static void test_halting(gconstpointer accel)
{
    g_autoptr(Vm) vm = NULL;

    if (vm_skip_without_kvm(accel)) {
        return;
    }
    vm = start_with(accel, GATE, GROUP_A GROUP_B);
    vm_send(vm, 'n');
    g_free(vm_wait_line(vm, "mode one"));
    wait_share(vm, 0.85, 1);
    g_assert_cmpint(turns_int(vm, 2, "early-ends"), >, 0);
    /* its interrupts cannot be seen, but it wakes */
    vm_wait_all_move(vm, 2);
    vm_send(vm, 'm');
    g_free(vm_wait_line(vm, "mode meet"));
    g_assert_cmpuint(turns_meets_after(vm, 1000), ==, 0);
}

/* Partners have different cookies, others the same. */
static void test_four(gconstpointer accel)
{
    g_autofree char *object = sched_object(&host, GATE);
    g_autofree char *args = g_strconcat(
        object, " -object llcsched-group,id=a,vcpus=0,vcpus=2,cookie=one"
        " -object llcsched-group,id=b,vcpus=1,vcpus=3,cookie=two", NULL);
    g_autoptr(Vm) vm = NULL;

    if (vm_skip_without_kvm(accel)) {
        return;
    }
    vm = vm_start(&(VmConfig) { .accel = accel, .smp = "4,sockets=4",
                                .mode = "meet", .args = args });
    vm_wait_up(vm, 4);
    g_assert_cmpuint(turns_meets_after(vm, 5000), ==, 0);
    vm_wait_all_move(vm, 4);
}

/* --- Whatever happens to the VM --- */

static int rounds(void)
{
    return g_getenv("LLCSCHED_SOAK") ? 200 : 20;
}

/* Everything at once is in test-turns-churn.c; this is one after the other. */
static void test_quotas(gconstpointer accel)
{
    g_autoptr(Vm) vm = NULL;

    if (vm_skip_without_kvm(accel)) {
        return;
    }
    vm = start_with(accel, GATE, GROUP_A GROUP_B);
    vm_do(vm, "llcsched-set-limits", "{'id': 'a', 'quota-us': 2000,"
          " 'period-us': 10000}");
    sched_wait_throttled(vm, "a", 2);
    vm_do(vm, "llcsched-set-limits", "{'id': 'b', 'quota-us': 100,"
          " 'period-us': 100000}");
    sched_wait_throttled(vm, "b", 2);
    vm_wait_all_move(vm, 2);
    vm_do(vm, "llcsched-set-limits", "{'id': 'a', 'quota-us': 0}");
    vm_do(vm, "llcsched-set-limits", "{'id': 'b', 'quota-us': 0}");
    g_assert_cmpuint(turns_meets_after(vm, 1000), ==, 0);
}

/* Whoever waits for a turn when they go waits no more. */
static void test_objects_go(gconstpointer accel)
{
    g_autoptr(Vm) vm = NULL;

    if (vm_skip_without_kvm(accel)) {
        return;
    }
    vm = start_with(accel, GATE, GROUP_A GROUP_B);
    vm_do(vm, "object-del", "{'id': 'a'}");
    vm_wait_all_move(vm, 2);
    vm_do(vm, "object-del", "{'id': 'b'}");
    turns_wait_meets(vm, 100);
    vm_do(vm, "object-del", "{'id': 'sched0'}");
    vm_wait_all_move(vm, 2);
}

static void test_migration(gconstpointer accel)
{
    Vm *vm, *to;

    if (vm_skip_without_kvm(accel)) {
        return;
    }
    vm = start_with(accel, GATE, GROUP_A GROUP_B);
    for (int i = 0; i < rounds() / 4; i++) {
        g_autofree char *object = sched_object(&host, GATE);
        g_autofree char *args = g_strconcat(
            object, " " GROUP_A GROUP_B "-incoming defer", NULL);

        g_assert_cmpuint(turns_meets_after(vm, 1000), ==, 0);
        to = vm_start(&(VmConfig) { .accel = accel, .smp = "2,sockets=2",
                                    .mode = "meet", .args = args });
        vm_migrate(vm, to);
        vm_free(vm);
        vm = to;
        vm_wait_all_move(vm, 2);
    }
    vm_free(vm);
}

/* Never the same vCPU twice: see test-placement-changes.c. */
static void test_plug(gconstpointer accel)
{
    g_autofree char *object = sched_object(&host, GATE);
    g_autofree char *args = g_strconcat(
        object, " " GROUP_A
        "-object llcsched-group,id=b,vcpus=1-20,cookie=two,"
        "quota-us=5000,period-us=10000", NULL);
    g_autoptr(Vm) vm = NULL;

    if (vm_skip_without_kvm(accel)) {
        return;
    }
    vm = vm_start(&(VmConfig) { .accel = accel,
                                .smp = "1,sockets=21,maxcpus=21",
                                .mode = "meet", .args = args });
    vm_wait_up(vm, 1);
    for (int socket = 1; socket <= rounds() / 2 && socket <= 20; socket++) {
        vm_plug(vm, socket);
        vm_send(vm, 'p');
        vm_wait_up(vm, 2);
        vm_wait_all_move(vm, 2);
        g_assert_cmpuint(turns_meets_after(vm, 500), ==, 0);
        vm_unplug(vm);
        vm_wait_up(vm, 1);
        vm_wait_all_move(vm, 1);
    }
}

static void test_quit(gconstpointer accel)
{
    if (vm_skip_without_kvm(accel)) {
        return;
    }
    for (int i = 0; i < rounds() / 4; i++) {
        g_autoptr(Vm) vm = start_with(accel, GATE, GROUP_A GROUP_B);
        int status;

        if (i % 2) {
            vm_do(vm, "quit", NULL);
        } else {
            vm_send(vm, 'q');
        }
        status = vm_wait_exit(vm);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
            vm_fail(vm, "QEMU ended with status 0x%x", status);
        }
    }
}

static const VmTest tests[] = {
    { "two-cookies-never-meet-and-share-alike", test_apart },
    { "vcpus-without-a-cookie-never-meet-one", test_without_cookie },
    { "weights-are-kept", test_weights },
    { "one-cookie-runs-on-both-siblings", test_together },
    { "who-halts-gives-up-its-turn", test_halting },
    { "two-vcpus-of-each-cookie", test_four },
    { "quotas-of-both", test_quotas },
    { "objects-go", test_objects_go },
    { "migration", test_migration },
    { "plugging", test_plug },
    { "quitting", test_quit },
};

int main(int argc, char **argv)
{
    int ret;

    vm_test_init(&argc, &argv);
    sched_host_init_siblings(&host);
    vm_add_accel_tests("/turns", tests, G_N_ELEMENTS(tests));
    ret = g_test_run();
    sched_host_clear(&host);
    return ret;
}
