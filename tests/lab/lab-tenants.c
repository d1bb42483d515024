/*
 * Tenants who are not to be trusted, and cookies that have to stay right
 *
 * Neighbors that meddle are children of this program with the user id that the
 * VM has, or with another one.  What QEMU says is compared with the kernel.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "lab-cookie.h"
#include "lab-host.h"
#include "lab-vm.h"

#include <errno.h>
#include <grp.h>
#include <linux/prctl.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define TENANT 1000
#define OTHER_TENANT 1001
#define NOGROUP 65534

static LabHost host;

static bool skip_without_cookies(void)
{
    if (g_strcmp0(g_getenv("LAB_CORE_SCHEDULING"), "yes")) {
        g_test_skip("this host has no core scheduling");
        return true;
    }
    return false;
}

static void wait_ours(Vm *vm, int n)
{
    for (int i = 0; i < n; i++) {
        sched_wait_vcpu_text(vm, i, "cookie-state", "ours");
    }
}

/* --- Neighbors --- */

/*
 * The errno of @verb that a process of user @uid, in the group that VMs have
 * here, does; it has no cookie.
 */
static int neighbor(uid_t uid, unsigned long verb, int tid)
{
    int status;
    pid_t pid = fork();

    g_assert_cmpint(pid, >=, 0);
    if (pid == 0) {
        if (setgroups(0, NULL) || setgid(NOGROUP) || setuid(uid)) {
            _exit(255);
        }
        _exit(prctl(PR_SCHED_CORE, verb, (unsigned long)tid, 0, 0)
              ? errno : 0);
    }
    g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
    g_assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static Vm *start_as_tenant(void)
{
    Vm *vm;

    g_assert_cmpint(chmod("/dev/kvm", 0666), ==, 0);
    vm = vm_start(&(VmConfig) {
        .smp = "2,sockets=1,cores=2", .uid = TENANT,
        .args = "-object llcsched,id=sched0,interval=100,cookie=blue" });
    vm_wait_up(vm, 2);
    wait_ours(vm, 2);
    return vm;
}

/* One of the same user can: it is seen within a look, and mended. */
static void test_same_user(void)
{
    g_autoptr(Vm) vm = NULL;
    g_autoptr(JsonNode) event = NULL;
    g_autofree char *peers = NULL;
    guint64 cookie;

    if (skip_without_cookies()) {
        return;
    }
    vm = start_as_tenant();
    peers = sched_trust_text(vm, "peer-isolation");
    g_assert_cmpstr(peers, ==, "uid");
    cookie = lab_vcpu_cookie(vm, 1);
    vm_forget_events(vm);
    g_assert_cmpint(neighbor(TENANT, PR_SCHED_CORE_SHARE_TO,
                             lab_vcpu_tid(vm, 1)), ==, 0);
    sched_wait_looks(vm, 2);
    event = vm_wait_event(vm, "LLCSCHED_TRUST");
    wait_ours(vm, 2);
    g_assert_cmphex(lab_vcpu_cookie(vm, 1), ==, cookie);
    g_assert_cmpint(sched_trust_int(vm, "changes"), ==, 1);
    /* a copy changes nothing here, and so cannot be seen */
    g_assert_cmpint(neighbor(TENANT, PR_SCHED_CORE_SHARE_FROM,
                             lab_vcpu_tid(vm, 1)), ==, 0);
    sched_wait_looks(vm, 2);
    g_assert_cmpint(sched_trust_int(vm, "changes"), ==, 1);
    vm_wait_all_move(vm, 2);
}

/* One of another user cannot, as peer-isolation says. */
static void test_other_user(void)
{
    g_autoptr(Vm) vm = NULL;
    guint64 cookie;

    if (skip_without_cookies()) {
        return;
    }
    vm = start_as_tenant();
    cookie = lab_vcpu_cookie(vm, 0);
    for (int i = 0; i < 2; i++) {
        g_assert_cmpint(neighbor(OTHER_TENANT, PR_SCHED_CORE_SHARE_TO,
                                 lab_vcpu_tid(vm, i)), ==, EPERM);
        g_assert_cmpint(neighbor(OTHER_TENANT, PR_SCHED_CORE_SHARE_FROM,
                                 lab_vcpu_tid(vm, i)), ==, EPERM);
    }
    sched_wait_looks(vm, 2);
    g_assert_cmphex(lab_vcpu_cookie(vm, 0), ==, cookie);
    g_assert_cmphex(lab_vcpu_cookie(vm, 1), ==, cookie);
    g_assert_cmpint(sched_trust_int(vm, "changes"), ==, 0);
}

/* --- Two VMs --- */

/* One vCPU of a VM on @core, spinning. */
static Vm *start_on(const char *core)
{
    g_autofree char *object = g_strdup_printf(",cookie=blue,cpus=%s", core);
    Vm *vm = lab_vm_start("1", object, "");

    vm_wait_up(vm, 1);
    wait_ours(vm, 1);
    vm_send(vm, 's');
    vm_wait_all_move(vm, 1);
    return vm;
}


static bool was_forced_idle(Vm *vm, void *opaque)
{
    Vm *other = opaque;

    return sched_vcpu_int(vm, 0, "forced-idle-ns") > 0 &&
           sched_vcpu_int(other, 0, "forced-idle-ns") > 0;
}

/*
 * Each keeps the sibling idle for the other: the kernel says so.  (How much
 * they get of the core is compared in lab-trust.c.)
 */
static void test_two_vms(void)
{
    const char *core = host.cores[host.n_cores - 1];
    g_autoptr(Vm) one = NULL;
    g_autoptr(Vm) other = NULL;

    if (skip_without_cookies()) {
        return;
    }
    lab_write("/proc/sys/kernel/sched_schedstats", "1");
    one = start_on(core);
    other = start_on(core);
    g_assert_cmphex(lab_vcpu_cookie(one, 0), !=, lab_vcpu_cookie(other, 0));
    vm_wait(one, was_forced_idle, other, "each to keep the other off");
    vm_wait_all_move(one, 1);
    vm_wait_all_move(other, 1);
}

/* --- Everything at once --- */

#define VCPUS 3
#define SOCKETS 60

typedef struct Churn {
    Vm *vm;
    GRand *rand;
    int socket;             /* of the last vCPU that was plugged */
    bool plugged, smt, grouped;
} Churn;

static int n_vcpus(const Churn *churn)
{
    return VCPUS + churn->plugged;
}

static void meddle(Churn *churn)
{
    int tid = lab_vcpu_tid(churn->vm, g_rand_int_range(churn->rand, 0,
                                                   n_vcpus(churn)));

    if (!churn->smt) {
        return; /* the kernel refuses */
    }
    if (g_rand_boolean(churn->rand)) {
        lab_cookie_give(&tid, 1);
    } else {
        lab_cookie_clear(&tid, 1);
    }
}

static void switch_smt(Churn *churn)
{
    churn->smt = !churn->smt;
    lab_smt_set(&host, churn->smt);
}

static void pause_and_cont(Churn *churn)
{
    vm_do(churn->vm, "stop", NULL);
    meddle(churn);
    vm_do(churn->vm, "cont", NULL);
}

static void reset(Churn *churn)
{
    vm_do(churn->vm, "system_reset", NULL);
    vm_wait_up(churn->vm, n_vcpus(churn));
}

/* The vCPU that goes may have been the first of its cookie. */
static void plug_or_unplug(Churn *churn)
{
    if (churn->plugged) {
        vm_unplug(churn->vm);
        churn->plugged = false;
    } else if (churn->socket + 1 < SOCKETS) {
        vm_plug(churn->vm, ++churn->socket);
        vm_send(churn->vm, 'p');
        churn->plugged = true;
    } else {
        return;
    }
    vm_wait_up(churn->vm, n_vcpus(churn));
}

static void regroup(Churn *churn)
{
    if (churn->grouped) {
        vm_do(churn->vm, "object-del", "{'id': 'g'}");
    } else {
        vm_do(churn->vm, "object-add", "{'qom-type': 'llcsched-group',"
              " 'id': 'g', 'vcpus': [0, 2], 'cookie': 'red'}");
    }
    churn->grouped = !churn->grouped;
}

static void limit(Churn *churn)
{
    if (churn->grouped) {
        vm_do(churn->vm, "llcsched-set-limits", "{'id': 'g', 'quota-us': %d,"
              " 'period-us': 10000}", g_rand_int_range(churn->rand, 1, 4) *
              5000);
    }
}

static void replace(Churn *churn)
{
    vm_do(churn->vm, "qom-set", "{'path': '/objects/sched0', 'property':"
          " 'placement', 'value': '%s'}",
          g_rand_boolean(churn->rand) ? "core" : "llc");
}

static void (*const actions[])(Churn *churn) = {
    meddle, meddle, switch_smt, pause_and_cont, reset, plug_or_unplug, regroup,
    limit, replace,
};

/* vCPUs 0 and 2 have a cookie of their own when they are grouped. */
static bool same_cookie(const Churn *churn, int i, int j)
{
    bool grouped[] = { i == 0 || i == 2, j == 0 || j == 2 };

    return !churn->grouped || grouped[0] == grouped[1];
}

/* The kernel has the same cookie for the same, and others for others. */
static void check(Churn *churn)
{
    int n = n_vcpus(churn);

    if (!churn->smt) {
        switch_smt(churn);
    }
    sched_wait_looks(churn->vm, 2);
    wait_ours(churn->vm, VCPUS);
    if (churn->plugged) {
        sched_wait_vcpu_text(churn->vm, churn->socket, "cookie-state", "ours");
    }
    sched_assert_trust(churn->vm, "kernel", "host");
    for (int i = 0; i < n; i++) {
        /* the plugged one comes last in the list of threads, too */
        g_assert_cmphex(lab_vcpu_cookie(churn->vm, i), !=, 0);
        for (int j = 0; j < i; j++) {
            g_assert_true((lab_vcpu_cookie(churn->vm, i) ==
                           lab_vcpu_cookie(churn->vm, j)) ==
                          same_cookie(churn, i, j));
        }
    }
    g_assert_cmpint(sched_trust_int(churn->vm, "gated"), ==, 0);
    vm_wait_all_move(churn->vm, n);
}

static void test_churn(void)
{
    guint32 seed = g_test_rand_int();
    Churn churn = { .smt = true, .socket = VCPUS - 1 };

    if (skip_without_cookies()) {
        return;
    }
    g_test_message("seed %u", seed);
    churn.rand = g_rand_new_with_seed(seed);
    churn.vm = lab_vm_start("3,sockets=60,maxcpus=60", ",cookie=blue", "");
    vm_wait_up(churn.vm, VCPUS);
    for (int round = 0; round < 25; round++) {
        for (int i = g_rand_int_range(churn.rand, 1, 5); i > 0; i--) {
            actions[g_rand_int_range(churn.rand, 0,
                                     G_N_ELEMENTS(actions))](&churn);
        }
        check(&churn);
    }
    vm_free(churn.vm);
    g_rand_free(churn.rand);
}

static const struct {
    const char *name;
    void (*test)(void);
} tests[] = {
    { "same-user-is-seen-and-mended", test_same_user },
    { "other-user-is-refused", test_other_user },
    { "two-vms-keep-each-other-off", test_two_vms },
    { "everything-at-once", test_churn },
};

int main(int argc, char **argv)
{
    int ret;

    lab_vm_test_init(&argc, &argv);
    lab_host_init(&host);
    for (size_t i = 0; i < G_N_ELEMENTS(tests); i++) {
        g_autofree char *path = g_strconcat("/tenants/", tests[i].name, NULL);

        g_test_add_func(path, tests[i].test);
    }
    ret = g_test_run();
    lab_host_clear(&host);
    return ret;
}
