/*
 * Cookies of vCPU threads, as the kernel has them
 *
 * Whatever QEMU says is compared with what the kernel says of each thread,
 * which root may ask.  Neighbors that meddle are children of this program.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "lab-cookie.h"
#include "lab-host.h"
#include "lab-vm.h"

#include "hw/sched/core-cookie.h"

#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define BLUE ",cookie=blue"
#define TWO_VCPUS "2,sockets=1,cores=2"
#define FOUR_VCPUS "4,sockets=1,cores=4"
#define ROOM_TO_PLUG "1,sockets=4,maxcpus=4"

static LabHost host;

/* A test, and the core scheduling that a host must have for it. */
typedef struct TrustTest {
    const char *name, *core_scheduling;
    void (*test)(void);
} TrustTest;

static void run(gconstpointer data)
{
    const TrustTest *test = data;

    if (g_strcmp0(g_getenv("LAB_CORE_SCHEDULING"), test->core_scheduling)) {
        g_test_skip("this host has other core scheduling");
        return;
    }
    test->test();
}

/* --- What the kernel says --- */

/* The one that has the cookie of the first vCPU. */
static int holder_tid(Vm *vm)
{
    g_autoptr(GArray) others = sched_other_threads(vm);
    guint64 cookie = lab_vcpu_cookie(vm, 0);

    for (guint i = 0; i < others->len; i++) {
        int tid = g_array_index(others, int, i);

        if (lab_cookie_of(tid) == cookie) {
            return tid;
        }
    }
    vm_fail(vm, "no thread holds the cookie");
}

/* --- What QEMU says --- */

/* The kernel has the cookie that QEMU says, and it is ours. */
static void assert_ours(Vm *vm, int index)
{
    g_autofree char *state = sched_vcpu_text(vm, index, "cookie-state");
    g_autofree char *hash = sched_vcpu_text(vm, index, "cookie-hash");
    g_autofree char *real = g_strdup_printf("0x%" G_GINT64_MODIFIER "x",
                                            lab_vcpu_cookie(vm, index));

    g_assert_cmpstr(state, ==, "ours");
    g_assert_cmpstr(hash, ==, real);
    g_assert_cmpstr(hash, !=, "0x0");
}

static void assert_all_ours(Vm *vm, int n)
{
    for (int i = 0; i < n; i++) {
        assert_ours(vm, i);
    }
    sched_assert_trust(vm, "kernel", "host");
    g_assert_cmphex(lab_cookie_of(vm_pid(vm)), ==, 0); /* the main thread */
}

static void wait_state(Vm *vm, int index, const char *state)
{
    sched_wait_vcpu_text(vm, index, "cookie-state", state);
}

/* --- Neighbors --- */

static void give(int tid)
{
    lab_cookie_give(&tid, 1);
}

static void clear(int tid)
{
    lab_cookie_clear(&tid, 1);
}

/* --- Cookies --- */

static Vm *start_blue(void)
{
    Vm *vm = lab_vm_start(TWO_VCPUS, BLUE, "");

    vm_wait_up(vm, 2);
    return vm;
}

/* At -S nothing has run yet. */
static void test_before_they_run(void)
{
    g_autoptr(Vm) vm = lab_vm_start(FOUR_VCPUS, BLUE, "-S");

    for (int i = 0; i < 4; i++) {
        wait_state(vm, i, "ours");
        g_assert_cmphex(lab_vcpu_cookie(vm, i), ==, lab_vcpu_cookie(vm, 0));
    }
    assert_all_ours(vm, 4);
    vm_do(vm, "cont", NULL);
    vm_wait_up(vm, 4);
    sched_wait_looks(vm, 2);
    assert_all_ours(vm, 4);
    g_assert_cmpint(sched_trust_int(vm, "changes"), ==, 0);
}

/* The same word in two VMs is not the same cookie. */
static void test_two_vms(void)
{
    g_autoptr(Vm) one = start_blue();
    g_autoptr(Vm) other = start_blue();

    assert_all_ours(one, 2);
    assert_all_ours(other, 2);
    g_assert_cmphex(lab_vcpu_cookie(one, 0), ==, lab_vcpu_cookie(one, 1));
    g_assert_cmphex(lab_vcpu_cookie(other, 0), ==, lab_vcpu_cookie(other, 1));
    g_assert_cmphex(lab_vcpu_cookie(one, 0), !=, lab_vcpu_cookie(other, 0));
}

static void test_groups(void)
{
    g_autoptr(Vm) vm = lab_vm_start(
        FOUR_VCPUS, BLUE,
        "-object llcsched-group,id=a,vcpus=0-1,cookie=red "
        "-object llcsched-group,id=b,vcpus=2,cookie=green");

    vm_wait_up(vm, 4);
    assert_all_ours(vm, 4);
    g_assert_cmphex(lab_vcpu_cookie(vm, 0), ==, lab_vcpu_cookie(vm, 1));
    g_assert_cmphex(lab_vcpu_cookie(vm, 0), !=, lab_vcpu_cookie(vm, 2));
    g_assert_cmphex(lab_vcpu_cookie(vm, 0), !=, lab_vcpu_cookie(vm, 3));
    g_assert_cmphex(lab_vcpu_cookie(vm, 2), !=, lab_vcpu_cookie(vm, 3));
    g_assert_cmpint(sched_trust_int(vm, "cookies"), ==, 3);

    vm_do(vm, "object-del", "{'id': 'b'}");
    wait_state(vm, 2, "ours");
    g_assert_cmphex(lab_vcpu_cookie(vm, 2), ==, lab_vcpu_cookie(vm, 3));
    vm_do(vm, "object-del", "{'id': 'a'}");
    vm_do(vm, "object-del", "{'id': 'sched0'}");
    for (int i = 0; i < 4; i++) {
        g_assert_cmphex(lab_vcpu_cookie(vm, i), ==, 0);
    }
    vm_wait_all_move(vm, 4);
}

/* --- Plug --- */

static void plug(Vm *vm, int socket)
{
    vm_do(vm, "device_add",
          "{'driver': 'qemu64-x86_64-cpu', 'id': 'cpu%d',"
          " 'socket-id': %d, 'core-id': 0, 'thread-id': 0}", socket, socket);
    wait_state(vm, socket, "ours");
    vm_send(vm, 'p');
}

static void unplug(Vm *vm, int socket)
{
    g_autoptr(JsonNode) deleted = NULL;

    vm_forget_events(vm);
    vm_do(vm, "device_del", "{'id': 'cpu%d'}", socket);
    vm_send(vm, 'p');
    deleted = vm_wait_event(vm, "DEVICE_DELETED");
}

/* The thread that came first is no more; who comes next joins all the same. */
static void test_first_goes(void)
{
    g_autoptr(Vm) vm = lab_vm_start(
        ROOM_TO_PLUG, "",
        "-object llcsched-group,id=g,vcpus=1-3,cookie=red");
    guint64 cookie;

    vm_wait_up(vm, 1);
    plug(vm, 1);
    vm_wait_up(vm, 2);
    cookie = lab_vcpu_cookie(vm, 1);
    plug(vm, 2);
    vm_wait_up(vm, 3);
    g_assert_cmphex(lab_vcpu_cookie(vm, 2), ==, cookie);
    unplug(vm, 1);
    vm_wait_up(vm, 2);
    plug(vm, 3);
    vm_wait_up(vm, 3);
    /* query-cpus-fast has no hole: these are vCPUs 2 and 3 */
    g_assert_cmphex(lab_vcpu_cookie(vm, 1), ==, cookie);
    g_assert_cmphex(lab_vcpu_cookie(vm, 2), ==, cookie);
    g_assert_cmphex(lab_vcpu_cookie(vm, 0), ==, 0);
    sched_assert_trust(vm, "kernel", "host");
}

/* --- Meddling --- */

static void assert_mended(Vm *vm, guint64 cookie)
{
    wait_state(vm, 1, "ours");
    assert_all_ours(vm, 2);
    g_assert_cmphex(lab_vcpu_cookie(vm, 1), ==, cookie);
    vm_wait_all_move(vm, 2);
}

/* Within two looks, since one may have been under way. */
static void test_vcpu_changed(void)
{
    g_autoptr(Vm) vm = start_blue();
    g_autoptr(JsonNode) event = NULL;
    guint64 cookie;

    vm_send(vm, 's');
    cookie = lab_vcpu_cookie(vm, 1);
    vm_forget_events(vm);
    clear(lab_vcpu_tid(vm, 1));
    sched_wait_looks(vm, 2);
    event = vm_wait_event(vm, "LLCSCHED_TRUST");
    assert_mended(vm, cookie);
    g_assert_cmpint(sched_trust_int(vm, "changes"), ==, 1);

    give(lab_vcpu_tid(vm, 1));
    sched_wait_looks(vm, 2);
    assert_mended(vm, cookie);
    g_assert_cmpint(sched_trust_int(vm, "changes"), ==, 2);
}

/* What the holder was given is not passed on. */
static void test_holder_changed(void)
{
    g_autoptr(Vm) vm = start_blue();
    int holder;

    holder = holder_tid(vm);
    for (int round = 0; round < 2; round++) {
        guint64 given;

        if (round == 0) {
            clear(holder);
        } else {
            give(holder);
        }
        given = lab_cookie_of(holder);
        sched_wait_looks(vm, 2);
        wait_state(vm, 0, "ours");
        wait_state(vm, 1, "ours");
        assert_all_ours(vm, 2);
        g_assert_cmphex(lab_vcpu_cookie(vm, 0), ==, lab_vcpu_cookie(vm, 1));
        g_assert_cmphex(lab_vcpu_cookie(vm, 0), ==, lab_cookie_of(holder));
        g_assert_cmphex(lab_vcpu_cookie(vm, 0), !=, given);
        vm_wait_all_move(vm, 2);
    }
}

/* Whatever comes, in whatever order: in the end all is as it should be. */
static void test_changed_all_the_time(void)
{
    g_autoptr(GRand) rand = NULL;
    g_autoptr(Vm) vm = NULL;
    guint32 seed = g_test_rand_int();
    int tids[3];

    g_test_message("seed %u", seed);
    rand = g_rand_new_with_seed(seed);
    vm = start_blue();
    vm_send(vm, 's');
    tids[0] = lab_vcpu_tid(vm, 0);
    tids[1] = lab_vcpu_tid(vm, 1);
    tids[2] = holder_tid(vm);
    for (int round = 0; round < 40; round++) {
        int tid = tids[g_rand_int_range(rand, 0, 3)];

        if (g_rand_boolean(rand)) {
            clear(tid);
        } else {
            give(tid);
        }
        if (round % 8 == 7) {
            vm_do(vm, round & 8 ? "cont" : "stop", NULL);
        }
    }
    vm_do(vm, "cont", NULL);
    sched_wait_looks(vm, 2);
    wait_state(vm, 0, "ours");
    wait_state(vm, 1, "ours");
    assert_all_ours(vm, 2);
    g_assert_cmphex(lab_vcpu_cookie(vm, 0), ==, lab_vcpu_cookie(vm, 1));
    g_assert_cmpint(sched_trust_int(vm, "gated"), ==, 0);
    vm_wait_all_move(vm, 2);
}

/* A copy cannot be seen; that nothing prevents it is told. */
static void test_copied(void)
{
    g_autofree char *peers = NULL;
    g_autoptr(Vm) vm = start_blue();

    lab_cookie_copy(lab_vcpu_tid(vm, 1));
    peers = sched_trust_text(vm, "peer-isolation");
    g_assert_cmpstr(peers, ==, "none");
    assert_all_ours(vm, 2);
}

/* As libvirt's sched_core does it: between the start of QEMU and cont. */
static void test_foreign_before_start(void)
{
    g_autoptr(Vm) vm = lab_vm_start(TWO_VCPUS, BLUE, "-S");
    guint64 cookies[2];

    wait_state(vm, 0, "ours");
    wait_state(vm, 1, "ours");
    for (int i = 0; i < 2; i++) {
        give(lab_vcpu_tid(vm, i));
        cookies[i] = lab_vcpu_cookie(vm, i);
    }
    vm_do(vm, "cont", NULL);
    vm_wait_up(vm, 2);
    sched_wait_looks(vm, 2);
    for (int i = 0; i < 2; i++) {
        g_autofree char *state = sched_vcpu_text(vm, i, "cookie-state");

        g_assert_cmpstr(state, ==, "foreign");
        g_assert_cmphex(lab_vcpu_cookie(vm, i), ==, cookies[i]);
    }
    g_assert_cmpint(sched_trust_int(vm, "changes"), ==, 0);
}

/* --- SMT --- */

static void test_smt_off_and_on(void)
{
    g_autoptr(Vm) vm = start_blue();
    g_autoptr(Vm) late = NULL;
    guint64 cookie;

    cookie = lab_vcpu_cookie(vm, 0);
    lab_smt_set(&host, false);
    wait_state(vm, 0, "not-needed");
    wait_state(vm, 1, "not-needed");
    sched_assert_trust(vm, "not-needed", "host");
    /* one that starts now has no cookie yet, and gets it when it counts */
    late = start_blue();
    sched_assert_trust(late, "not-needed", "host");
    lab_smt_set(&host, true);
    for (int i = 0; i < 2; i++) {
        wait_state(vm, i, "ours");
        wait_state(late, i, "ours");
    }
    assert_all_ours(vm, 2);
    assert_all_ours(late, 2);
    g_assert_cmphex(lab_vcpu_cookie(vm, 0), ==, cookie);
    g_assert_cmphex(lab_vcpu_cookie(late, 0), !=, cookie);
    g_assert_cmpint(sched_trust_int(vm, "changes"), ==, 0);
    g_assert_cmpint(sched_trust_int(late, "changes"), ==, 0);
    vm_wait_all_move(vm, 2);
    vm_wait_all_move(late, 2);
}

static void test_no_siblings(void)
{
    g_autoptr(Vm) vm = start_blue();

    sched_assert_trust(vm, "not-needed", "host");
}

/* --- A kernel without it --- */

static void test_strict_refuses(void)
{
    static const char *const remedies[] = {
        "CONFIG_SCHED_CORE", "trust=best-effort", "smt/control",
    };
    g_autofree char *messages = NULL;
    int status;

    messages = vm_start_refused(&(VmConfig) {
        .args = "-object llcsched,id=sched0,cookie=blue" }, &status);
    g_assert_true(WIFEXITED(status));
    g_assert_cmpint(WEXITSTATUS(status), ==, 1);
    for (size_t i = 0; i < G_N_ELEMENTS(remedies); i++) {
        g_assert_nonnull(strstr(messages, remedies[i]));
    }
}

static void test_best_effort(void)
{
    g_autofree char *error = NULL;
    g_autoptr(Vm) vm = lab_vm_start(TWO_VCPUS, BLUE ",trust=best-effort", "");

    vm_wait_up(vm, 2);
    sched_assert_trust(vm, "none", "none");
    g_assert_cmpint(sched_trust_int(vm, "errno"), ==, EINVAL);
    g_assert_cmpint(sched_trust_int(vm, "gated"), ==, 0);
    error = sched_trust_text(vm, "error");
    g_assert_nonnull(strstr(error, "CONFIG_SCHED_CORE"));
    vm_wait_all_move(vm, 2);
}

/* --- What the kernel makes of it --- */

static guint64 run_ns(int tid)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/schedstat", tid);
    g_autofree char *text = NULL;
    g_autoptr(GError) err = NULL;

    g_file_get_contents(path, &text, NULL, &err);
    g_assert_no_error(err);
    return g_ascii_strtoull(text, NULL, 10);
}

/* Whatever is not a vCPU leaves the last LLC to them. */
static void keep_others_off(Vm *vm)
{
    g_autoptr(GArray) others = sched_other_threads(vm);

    for (guint i = 0; i < others->len; i++) {
        thread_set_mask(g_array_index(others, int, i), host.llcs[0]);
    }
    thread_set_mask(getpid(), host.llcs[0]);
}

/*
 * CPUs that the two vCPUs of a VM, both spinning on @cpus, used on average over
 * some looks.  @ret_least: the smaller of their two shares; @ret_forced_ns: for
 * how long siblings had to be idle for them.
 */
static double cpus_used(const char *cpus, const char *cookies,
                        double *ret_least, gint64 *ret_forced_ns)
{
    g_autofree char *object = g_strdup_printf(",placement=llc,cpus=%s", cpus);
    g_autoptr(Vm) vm = lab_vm_start(TWO_VCPUS, object, cookies);
    guint64 ns[2];
    gint64 us;
    double share[2];

    vm_wait_up(vm, 2);
    vm_send(vm, 's');
    vm_wait_all_move(vm, 2);
    keep_others_off(vm);
    sched_wait_looks(vm, 2);
    us = g_get_monotonic_time();
    for (int i = 0; i < 2; i++) {
        ns[i] = run_ns(lab_vcpu_tid(vm, i));
    }
    sched_wait_looks(vm, 30);
    us = g_get_monotonic_time() - us;
    for (int i = 0; i < 2; i++) {
        share[i] = (run_ns(lab_vcpu_tid(vm, i)) - ns[i]) / 1e3 / us;
    }
    thread_set_mask(getpid(), host.online);
    *ret_forced_ns = sched_vcpu_int(vm, 0, "forced-idle-ns") +
                     sched_vcpu_int(vm, 1, "forced-idle-ns");
    g_test_message("CPUs %s, %s: %.2f + %.2f", cpus, cookies, share[0],
                   share[1]);
    *ret_least = MIN(share[0], share[1]);
    return share[0] + share[1];
}

#define SAME "-object llcsched-group,id=a,vcpus=0-1,cookie=red"
#define DIFFERENT "-object llcsched-group,id=a,vcpus=0,cookie=red " \
                  "-object llcsched-group,id=b,vcpus=1,cookie=blue"

/*
 * On an idle machine they are 2, 1 and 2 CPUs.  But all CPUs of a lab host
 * share those of this one, so they are compared with each other.
 */
static void test_shares_of_a_core(void)
{
    const char *core = host.cores[host.n_cores - 1];
    double same, different, spread, least;
    gint64 forced_ns;

    lab_write("/proc/sys/kernel/sched_schedstats", "1");
    same = cpus_used(core, SAME, &least, &forced_ns);
    different = cpus_used(core, DIFFERENT, &least, &forced_ns);
    g_assert_cmpint(forced_ns, >, 0);
    g_assert_cmpfloat(least, >, different * 0.25);
    g_assert_cmpfloat(same, >, different * 1.4);
    /* as many cores as cookies: none has to wait */
    spread = cpus_used(host.llcs[host.n_llcs - 1], DIFFERENT, &least,
                       &forced_ns);
    g_assert_cmpfloat(spread, >, different * 1.4);
}

/* --- Migration --- */

static void test_migration(void)
{
    g_autoptr(Vm) here = NULL;
    g_autoptr(Vm) there = NULL;

    here = lab_vm_start(TWO_VCPUS, BLUE, "");
    there = lab_vm_start(TWO_VCPUS, BLUE, "-incoming defer");
    vm_wait_up(here, 2);
    vm_send(here, 's');
    /* the destination has them before anything arrives */
    for (int i = 0; i < 2; i++) {
        wait_state(there, i, "ours");
    }
    assert_all_ours(there, 2);
    vm_migrate(here, there);
    vm_wait_all_move(there, 2);
    sched_wait_looks(there, 2);
    assert_all_ours(there, 2);
    g_assert_cmpint(sched_trust_int(there, "changes"), ==, 0);
}

static const TrustTest tests[] = {
    { "cookies-before-they-run", "yes", test_before_they_run },
    { "two-vms-two-cookies", "yes", test_two_vms },
    { "groups-have-their-own", "yes", test_groups },
    { "first-vcpu-goes", "yes", test_first_goes },
    { "changed-vcpu-is-mended", "yes", test_vcpu_changed },
    { "changed-holder-is-mended", "yes", test_holder_changed },
    { "changed-all-the-time", "yes", test_changed_all_the_time },
    { "copies-are-possible-and-told", "yes", test_copied },
    { "foreign-before-start-is-respected", "yes", test_foreign_before_start },
    { "smt-off-and-on", "yes", test_smt_off_and_on },
    { "no-siblings-no-need", "no-smt", test_no_siblings },
    { "strict-refuses-with-remedies", "no", test_strict_refuses },
    { "best-effort-runs-and-says-so", "no", test_best_effort },
    { "shares-of-a-core", "yes", test_shares_of_a_core },
    { "migration", "yes", test_migration },
};

int main(int argc, char **argv)
{
    int ret;

    lab_vm_test_init(&argc, &argv);
    lab_host_init(&host);
    for (size_t i = 0; i < G_N_ELEMENTS(tests); i++) {
        g_autofree char *path = g_strconcat("/trust/", tests[i].name, NULL);

        g_test_add_data_func(path, &tests[i], run);
    }
    ret = g_test_run();
    lab_host_clear(&host);
    return ret;
}
