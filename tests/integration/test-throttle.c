/*
 * A real guest that is throttled: it gets its share, and nothing hangs
 *
 * Whatever stops, resets, moves or ends a VM is done here in loops while its
 * vCPUs are gated most of the time; then every vCPU must go on.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "rsp.h"
#include "vm-sched.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>

/* Two spinning vCPUs are gated for nine tenths of each period. */
#define LIMITS "quota-us=2000,period-us=10000"
#define GROUP "-object llcsched-group,id=top " \
              "-object llcsched-group,id=g,parent=top,vcpus=0-1," LIMITS

/* Where it can be, the time is shown to the guest. */
#define STEAL " -fw_cfg name=opt/llcsched/steal,string=own"

/* Gated for nearly all of a second. */
#define HARDLY "'id': 'g', 'quota-us': 100, 'period-us': 1000000"

static SchedHost host;

static int rounds(void)
{
    return g_getenv("LLCSCHED_SOAK") ? 200 : 20;
}

static Vm *start_with(const char *accel, const char *smp, const char *more)
{
    g_autofree char *object = sched_object(&host, "");
    g_autofree char *args = g_strconcat(object, STEAL " ", more, NULL);

    return vm_start(&(VmConfig) { .accel = accel, .smp = smp, .args = args });
}

static Vm *start(const char *accel)
{
    Vm *vm = start_with(accel, "2,sockets=2", GROUP);

    vm_wait_up(vm, 2);
    return vm;
}

/* --- Throttling --- */

/* It is throttled, period after period. */
static void wait_throttled(Vm *vm)
{
    sched_wait_throttled(vm, "g", 2);
}

static bool g_is_gated(Vm *vm, void *opaque)
{
    return sched_group_is_throttled(vm, "g");
}

/* --- Share --- */

static gint64 vcpus_cpu_ns(Vm *vm)
{
    gint64 ns = 0;

    for (int i = 0; i < 2; i++) {
        gint64 run_ns, wait_ns;

        sched_vcpu_times(vm, i, &run_ns, &wait_ns);
        ns += run_ns;
    }
    return ns;
}

typedef struct Window {
    gint64 begin_us, cpu_ns;
    double share;           /* of one CPU, since then */
} Window;

static bool window_is_over(Vm *vm, void *opaque)
{
    Window *window = opaque;
    gint64 us = g_get_monotonic_time() - window->begin_us;

    if (us < 2 * G_USEC_PER_SEC) {
        return false;
    }
    window->share = (vcpus_cpu_ns(vm) - window->cpu_ns) / (1e3 * us);
    return true;
}

static double share_of_window(Vm *vm)
{
    Window window = {
        .begin_us = g_get_monotonic_time(),
        .cpu_ns = vcpus_cpu_ns(vm),
    };

    vm_wait(vm, window_is_over, &window, "two seconds");
    return window.share;
}

/*
 * Above its share it never is; below it may be where the machine has no time
 * for it, so that one window of five will do.
 */
static void test_share(gconstpointer accel)
{
    g_autoptr(Vm) vm = NULL;
    double share = 0;

    if (vm_skip_without_kvm(accel)) {
        return;
    }
    vm = start_with(accel, "2,sockets=2", "-object llcsched-group,id=g,"
                    "vcpus=0-1,quota-us=5000,period-us=10000");
    vm_wait_up(vm, 2);
    wait_throttled(vm);
    for (int i = 0; i < 5 && share < 0.4; i++) {
        share = share_of_window(vm);
        g_test_message("share %.4f of 0.5", share);
        g_assert_cmpfloat(share, <, 0.6);
    }
    g_assert_cmpfloat(share, >, 0.4);
    vm_wait_all_move(vm, 2);
}

/* --- Loops --- */

static void stop_and_cont(Vm *vm)
{
    gint64 periods;

    vm_do(vm, "stop", NULL);
    periods = sched_group_int(vm, "g", "periods");
    vm_do(vm, "query-cpus-fast", NULL);
    g_assert_cmpint(sched_group_int(vm, "g", "periods"), ==, periods);
    vm_do(vm, "cont", NULL);
    vm_wait_all_move(vm, 2);
}

static void reset(Vm *vm)
{
    vm_do(vm, "system_reset", NULL);
    vm_wait_up(vm, 2);
    vm_wait_all_move(vm, 2);
}

static void delete_and_add(Vm *vm)
{
    vm_do(vm, "object-del", "{'id': 'g'}");
    vm_wait_all_move(vm, 2);
    vm_do(vm, "object-add", "{'qom-type': 'llcsched-group', 'id': 'g',"
          " 'parent': 'top', 'vcpus': [0, 1], 'quota-us': 2000}");
}

/* Gated for long when it is let go: no vCPU may sleep on. */
static void unlimit_and_limit(Vm *vm)
{
    vm_do(vm, "llcsched-set-limits", "{" HARDLY "}");
    vm_wait(vm, g_is_gated, NULL, "the gate to close");
    vm_do(vm, "llcsched-set-limits", "{'id': 'g', 'quota-us': 0}");
    g_assert_false(sched_group_is_throttled(vm, "g"));
    vm_wait_all_move(vm, 2);
    vm_do(vm, "llcsched-set-limits", "{'id': 'g', 'quota-us': 2000,"
          " 'period-us': 10000}");
}

/* The limits of an ancestor act on the same gates. */
static void limit_ancestor(Vm *vm)
{
    vm_do(vm, "llcsched-set-limits", "{'id': 'top', 'quota-us': 1000}");
    vm_wait_all_move(vm, 2);
    vm_do(vm, "llcsched-set-limits", "{'id': 'top', 'quota-us': 0}");
    vm_wait_all_move(vm, 2);
}

typedef struct Loop {
    const char *name;
    void (*body)(Vm *vm);
} Loop;

static const Loop loops[] = {
    { "stop-and-cont", stop_and_cont },
    { "reset", reset },
    { "group-deleted-and-added", delete_and_add },
    { "unlimited-and-limited-again", unlimit_and_limit },
    { "ancestor-limited-and-not", limit_ancestor },
};

typedef struct LoopCase {
    const Loop *loop;
    const char *accel;
} LoopCase;

static void test_loop(gconstpointer data)
{
    const LoopCase *c = data;
    g_autoptr(Vm) vm = NULL;

    if (vm_skip_without_kvm(c->accel)) {
        return;
    }
    vm = start(c->accel);
    for (int i = 0; i < rounds(); i++) {
        wait_throttled(vm);
        c->loop->body(vm);
    }
    wait_throttled(vm);
}

/* --- Hot-plug --- */

/* Never the same vCPU twice: see test-placement-changes.c. */
static void test_hotplug(gconstpointer accel)
{
    int vms = rounds() / 20;

    if (vm_skip_without_kvm(accel)) {
        return;
    }
    for (int i = 0; i < vms; i++) {
        g_autoptr(Vm) vm = start_with(accel, "1,sockets=21,maxcpus=21",
                                      "-object llcsched-group,id=g,"
                                      "vcpus=0-20," LIMITS);

        vm_wait_up(vm, 1);
        for (int socket = 1; socket <= 20; socket++) {
            vm_plug(vm, socket);
            vm_send(vm, 'p');
            vm_wait_up(vm, 2);
            wait_throttled(vm);
            vm_wait_all_move(vm, 2);
            vm_unplug(vm);
            vm_wait_up(vm, 1);
            vm_wait_all_move(vm, 1);
        }
    }
}

/* --- Gated for nearly all of the time --- */

static void info_registers(Vm *vm)
{
    g_autofree char *text = vm_hmp(vm, "info registers -a");

    g_assert_nonnull(strstr(text, "CPU#1"));
}

static void query_cpus(Vm *vm)
{
    vm_do(vm, "query-cpus-fast", NULL);
}

static void stop(Vm *vm)
{
    vm_do(vm, "stop", NULL);
}

static void reset_at_once(Vm *vm)
{
    g_autoptr(JsonNode) data = NULL;

    vm_forget_events(vm);
    vm_do(vm, "system_reset", NULL);
    data = vm_wait_event(vm, "RESET");
}

/*
 * True if @opaque was done and the gate was closed all the time: only a refill
 * opens it, and none was due.  (What the vCPU threads do for the command is
 * charged, so that tells nothing.)
 */
static bool done_while_gated(Vm *vm, void *opaque)
{
    void (**action)(Vm *) = opaque;
    gint64 refills = sched_group_int(vm, "g", "throttled-periods");
    bool gated = sched_group_is_throttled(vm, "g");

    (*action)(vm);
    gated = gated && sched_group_is_throttled(vm, "g") &&
            sched_group_int(vm, "g", "throttled-periods") == refills;
    vm_do(vm, "cont", NULL);
    return gated;
}

/* No command waits until the gate opens again, by itself or for it. */
static void test_commands_while_gated(gconstpointer accel)
{
    static void (*const actions[])(Vm *) = {
        query_cpus, info_registers, stop, reset_at_once,
    };
    g_autoptr(Vm) vm = NULL;

    if (vm_skip_without_kvm(accel)) {
        return;
    }
    vm = start(accel);
    vm_do(vm, "llcsched-set-limits", "{" HARDLY "}");
    for (int i = 0; i < rounds() / 4; i++) {
        for (guint a = 0; a < G_N_ELEMENTS(actions); a++) {
            void (*action)(Vm *) = actions[a];

            vm_wait(vm, done_while_gated, &action,
                    "a command while the vCPUs are gated");
        }
    }
    vm_do(vm, "llcsched-set-limits", "{'id': 'g', 'quota-us': 0}");
    vm_wait_up(vm, 2);
    vm_wait_all_move(vm, 2);
}

/* The boot CPU, which ejects the other, is in no group. */
static void test_unplug_while_gated(gconstpointer accel)
{
    g_autoptr(Vm) vm = NULL;

    if (vm_skip_without_kvm(accel)) {
        return;
    }
    vm = start_with(accel, "1,sockets=21,maxcpus=21",
                    "-object llcsched-group,id=g,vcpus=1-20");
    vm_wait_up(vm, 1);
    for (int socket = 1; socket <= 20; socket++) {
        vm_plug(vm, socket);
        vm_send(vm, 'p');
        vm_wait_up(vm, 2);
        vm_do(vm, "llcsched-set-limits", "{" HARDLY "}");
        vm_wait(vm, g_is_gated, NULL, "the plugged vCPU to be gated");
        vm_unplug(vm);
        vm_wait_up(vm, 1);
        vm_wait_all_move(vm, 1);
        vm_do(vm, "llcsched-set-limits", "{'id': 'g', 'quota-us': 0}");
    }
}

/* --- Migration --- */

static Vm *migrate(Vm *from, const char *accel)
{
    Vm *to = start_with(accel, "2,sockets=2", GROUP " -incoming defer");

    vm_migrate(from, to);
    return to;
}

static void test_migration(gconstpointer accel)
{
    Vm *vm, *to;

    if (vm_skip_without_kvm(accel)) {
        return;
    }
    vm = start(accel);
    for (int i = 0; i < rounds(); i++) {
        wait_throttled(vm);
        to = migrate(vm, accel);
        vm_free(vm);
        vm = to;
        vm_wait_all_move(vm, 2);
    }
    wait_throttled(vm);
    vm_free(vm);
}

/* --- Snapshots --- */

/* Neither waits for a gate to open, and what was saved gated goes on. */
static void test_snapshots(gconstpointer accel)
{
    g_autoptr(Vm) vm = NULL;

    if (vm_skip_without_kvm(accel)) {
        return;
    }
    vm = start(accel);
    vm_add_snapshot_disk(vm);
    for (int i = 0; i < rounds(); i++) {
        wait_throttled(vm);
        vm_savevm(vm, "throttled");
        wait_throttled(vm);
        vm_loadvm(vm, "throttled");
        vm_drop_cut_line(vm);
        vm_wait_all_move(vm, 2);
        vm_do(vm, "llcsched-set-limits", "{" HARDLY "}");
        vm_wait(vm, g_is_gated, NULL, "the gate to close");
        vm_savevm(vm, "gated");
        vm_loadvm(vm, "gated");
        vm_do(vm, "llcsched-set-limits", "{'id': 'g', 'quota-us': 2000,"
              " 'period-us': 10000}");
        vm_drop_cut_line(vm);
        vm_wait_all_move(vm, 2);
    }
    wait_throttled(vm);
}

/* --- Debugger --- */

static void test_debugger(gconstpointer accel)
{
    g_autoptr(GError) err = NULL;
    g_autofree char *dir = g_dir_make_tmp("llcsched-gdb-XXXXXX", &err);
    g_autofree char *path = g_build_filename(dir, "gdb", NULL);
    g_autofree char *gdb = rsp_args(path);
    g_autofree char *args = g_strconcat(GROUP " ", gdb, NULL);
    g_autoptr(Vm) vm = NULL;
    g_autoptr(Rsp) rsp = NULL;

    if (vm_skip_without_kvm(accel)) {
        return;
    }
    vm = start_with(accel, "2,sockets=2", args);
    vm_wait_up(vm, 2);
    wait_throttled(vm);
    rsp = rsp_connect(vm, path);
    for (int i = 0; i < rounds(); i++) {
        g_autofree char *registers = rsp_registers(rsp);
        g_autofree char *again = NULL;

        g_assert_cmpint(strlen(registers), >, 100);
        again = rsp_registers(rsp);
        g_assert_cmpstr(registers, ==, again);
        rsp_continue(rsp);
        wait_throttled(vm);
        vm_wait_all_move(vm, 2);
        rsp_interrupt(rsp);
    }
    rsp_detach(rsp);
    wait_throttled(vm);
    vm_wait_all_move(vm, 2);
    unlink(path);
    rmdir(dir);
}

/* --- Ends --- */

static void end_by_guest(Vm *vm)
{
    vm_send(vm, 'q');
}

static void end_by_quit(Vm *vm)
{
    vm_do(vm, "quit", NULL);
}

static void end_by_signal(Vm *vm)
{
    kill(vm_pid(vm), SIGTERM);
}

/* Even the last thing that it does must not need the guest. */
static void end_while_gated(Vm *vm)
{
    vm_do(vm, "llcsched-set-limits", "{" HARDLY "}");
    vm_wait(vm, g_is_gated, NULL, "the gate to close");
    vm_do(vm, "quit", NULL);
}

static const Loop ends[] = {
    { "guest-powers-off", end_by_guest },
    { "quit", end_by_quit },
    { "quit-while-gated-for-long", end_while_gated },
    { "sigterm", end_by_signal },
};

static void test_end(gconstpointer data)
{
    const LoopCase *c = data;

    if (vm_skip_without_kvm(c->accel)) {
        return;
    }
    for (int i = 0; i < rounds(); i++) {
        g_autoptr(Vm) vm = start(c->accel);
        int status;

        wait_throttled(vm);
        c->loop->body(vm);
        status = vm_wait_exit(vm);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
            vm_fail(vm, "QEMU ended with status 0x%x", status);
        }
    }
}

/* --- */

static const VmTest tests[] = {
    { "share-is-kept", test_share },
    { "plugging", test_hotplug },
    { "commands-while-gated", test_commands_while_gated },
    { "unplugging-while-gated", test_unplug_while_gated },
    { "migration", test_migration },
    { "savevm-and-loadvm", test_snapshots },
    { "debugger", test_debugger },
};

static void add_loops(const char *accel, const char *name, const Loop *list,
                      guint n, GTestDataFunc test)
{
    for (guint i = 0; i < n; i++) {
        g_autofree char *path = g_strdup_printf("/throttle/%s/%s", name,
                                                list[i].name);
        LoopCase *c = g_new(LoopCase, 1);

        *c = (LoopCase) { .loop = &list[i], .accel = accel };
        g_test_add_data_func_full(path, c, test, g_free);
    }
}

int main(int argc, char **argv)
{
    static const char *const accels[][2] = {
        { "kvm", "kvm" }, { VM_TCG, "tcg" },
    };
    int ret;

    vm_test_init(&argc, &argv);
    sched_host_init(&host);
    vm_add_accel_tests("/throttle", tests, G_N_ELEMENTS(tests));
    for (guint i = 0; i < G_N_ELEMENTS(accels); i++) {
        const char *accel = accels[i][0], *name = accels[i][1];

        add_loops(accel, name, loops, G_N_ELEMENTS(loops), test_loop);
        add_loops(accel, name, ends, G_N_ELEMENTS(ends), test_end);
    }
    ret = g_test_run();
    sched_host_clear(&host);
    return ret;
}
