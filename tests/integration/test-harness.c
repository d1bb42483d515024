/*
 * The harness and the guest themselves, with any QEMU
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "remove-tree.h"
#include "vm.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOBODY 65534
#define FLOOD 64            /* letters sent at once */
#define ALARM_SECONDS 120  /* longer than the harness's patience */

static void assert_exit_code(int status, int code)
{
    g_assert_true(WIFEXITED(status));
    g_assert_cmpint(WEXITSTATUS(status), ==, code);
}

static void test_platform(gconstpointer data)
{
    const VmPlatform *platform = data;
    g_autoptr(Vm) vm = NULL;

    if (vm_skip_without_kvm(platform->accel)) {
        return;
    }
    vm = vm_start(&(VmConfig) { .machine = platform->machine,
                                .accel = platform->accel, .smp = "3" });
    vm_wait_up(vm, 3);
    vm_wait_all_move(vm, 3);
    vm_send(vm, 'q');
    assert_exit_code(vm_wait_exit(vm), 0);
}

static void test_modes(gconstpointer data)
{
    static const struct {
        char letter;
        const char *name;
    } modes[] = {
        { 'h', "halt" }, { 'o', "hop" }, { 'i', "ipi" }, { 'f', "half" },
        { 'n', "one" }, { 'g', "gap" }, { 'l', "lag" }, { 'b', "burst" },
        { 'm', "meet" }, { 'a', "nap" }, { 's', "spin" },
    };
    const char *accel = data;
    g_autofree char *first = NULL;
    g_autoptr(Vm) vm = NULL;

    if (vm_skip_without_kvm(accel)) {
        return;
    }
    vm = vm_start(&(VmConfig) { .accel = accel, .smp = "3", .mode = "ipi" });
    vm_wait_up(vm, 3);
    first = vm_wait_line(vm, "mode ");
    g_assert_cmpstr(first, ==, "ipi");
    vm_wait_all_move(vm, 3);
    for (guint i = 0; i < G_N_ELEMENTS(modes); i++) {
        g_autofree char *mode = NULL;

        vm_send(vm, modes[i].letter);
        mode = vm_wait_line(vm, "mode ");
        g_assert_cmpstr(mode, ==, modes[i].name);
        vm_wait_all_move(vm, 3);
    }
}

/* Whoever asks without end is answered, and the boot CPU works all the same. */
static void test_flood(void)
{
    g_autoptr(Vm) vm = vm_start(&(VmConfig) { .smp = "2" });
    g_autofree char *last = NULL;

    vm_wait_up(vm, 2);
    for (int i = 0; i < FLOOD; i++) {
        vm_send(vm, 't');
    }
    for (int i = 0; i < FLOOD; i++) {
        g_autofree char *now = vm_wait_line(vm, "ticks ");
        char *end = strchr(now, ' ');

        g_assert_nonnull(end);
        *end = '\0';
        g_assert_cmpstr(now, !=, last);
        g_free(last);
        last = g_steal_pointer(&now);
    }
}

static void test_many(void)
{
    g_autoptr(Vm) vm = NULL;

    vm = vm_start(&(VmConfig) { .smp = "24,sockets=2,cores=3,threads=4",
                                .mode = "halt" });
    vm_wait_up(vm, 24);
    vm_wait_all_move(vm, 24);
}

/* Its memory survives a reset; what it remembers must not. */
static void test_reset(void)
{
    g_autoptr(Vm) vm = vm_start(&(VmConfig) { .smp = "2" });
    g_autofree char *before = NULL;
    g_autofree char *after = NULL;

    vm_wait_up(vm, 2);
    vm_send(vm, 'h');
    do {
        g_free(before);
        before = vm_wait_line(vm, "mode ");
    } while (strcmp(before, "halt") != 0);
    vm_do(vm, "system_reset", NULL);
    vm_wait_up(vm, 2);
    after = vm_wait_line(vm, "mode ");
    g_assert_cmpstr(after, ==, "spin");
    vm_wait_all_move(vm, 2);
}

static void test_debug_exit(void)
{
    g_autoptr(Vm) vm = NULL;

    vm = vm_start(&(VmConfig) {
        .args = "-device isa-debug-exit,iobase=0xf4" });
    vm_wait_up(vm, 2);
    vm_send(vm, 'q');
    assert_exit_code(vm_wait_exit(vm), 1);
}

/*
 * Plug a vCPU, see it run, unplug it; then another.  Not the same one again:
 * TCG has a context for each possible vCPU's thread and takes none back
 * (tcg_register_thread()), and some KVMs refuse a vCPU that has run before.
 */
static void test_hotplug(gconstpointer data)
{
    const VmPlatform *platform = data;
    g_autoptr(Vm) vm = NULL;

    if (vm_skip_without_kvm(platform->accel)) {
        return;
    }
    vm = vm_start(&(VmConfig) { .machine = platform->machine,
                                .accel = platform->accel,
                                .smp = "1,sockets=3,maxcpus=3" });
    vm_wait_up(vm, 1);
    for (int socket = 1; socket <= 2; socket++) {
        g_autoptr(JsonNode) deleted = NULL;

        vm_do(vm, "device_add",
              "{'driver': 'qemu64-x86_64-cpu', 'id': 'plugged',"
              " 'socket-id': %d, 'core-id': 0, 'thread-id': 0}", socket);
        vm_send(vm, 'p');
        vm_wait_up(vm, 2);
        vm_wait_all_move(vm, 2);
        vm_do(vm, "device_del", "{'id': 'plugged'}");
        vm_send(vm, 'p');
        deleted = vm_wait_event(vm, "DEVICE_DELETED");
        vm_wait_up(vm, 1);
        vm_wait_all_move(vm, 1);
    }
}

static void test_paused(void)
{
    g_autoptr(Vm) vm = vm_start(&(VmConfig) { .paused = true });
    g_autoptr(JsonNode) status = vm_qmp(vm, "query-status", NULL);
    g_autoptr(JsonNode) resumed = NULL;

    g_assert_cmpstr(
        json_object_get_string_member(json_node_get_object(status), "status"),
        ==, "prelaunch");
    vm_do(vm, "cont", NULL);
    resumed = vm_wait_event(vm, "RESUME");
    vm_wait_up(vm, 2);
}

static void test_monitor(void)
{
    g_autoptr(Vm) vm = vm_start(&(VmConfig) { .paused = true });
    g_autofree char *text = vm_hmp(vm, "info status");
    g_autofree char *refused = vm_qmp_refused(vm, "no-such-command", NULL);

    g_assert_true(g_str_has_prefix(text, "VM status: paused"));
    g_assert_nonnull(strstr(refused, "no-such-command"));
}

static void test_refused(void)
{
    int status;
    g_autofree char *messages = NULL;

    messages = vm_start_refused(
        &(VmConfig) { .args = "-object no-such-object,id=o0" }, &status);
    assert_exit_code(status, 1);
    g_assert_nonnull(strstr(messages, "no-such-object"));
}

/* A mask set here is the one read back; a thread that is gone has none. */
static void test_masks(void)
{
    g_autoptr(Vm) vm = vm_start(&(VmConfig) { .smp = "2" });
    g_autoptr(GArray) threads = vm_vcpu_threads(vm);
    g_autofree char *before = thread_mask(getpid());
    g_auto(GStrv) parts = g_strsplit_set(before, ",-", 2);
    int last;

    g_assert_cmpint(threads->len, ==, 2);
    last = g_array_index(threads, int, 1);
    g_assert_cmpint(thread_set_mask(last, parts[0]), ==, 0);
    for (int i = 0; i < 2; i++) {
        g_autofree char *mask = thread_mask(g_array_index(threads, int, i));

        g_assert_cmpstr(mask, ==, i == 1 ? parts[0] : before);
    }
    vm_do(vm, "quit", NULL);
    assert_exit_code(vm_wait_exit(vm), 0);
    g_assert_null(thread_mask(last));
    g_assert_cmpint(thread_set_mask(last, parts[0]), ==, ESRCH);
}

static void test_daemon(void)
{
    g_autoptr(Vm) vm = vm_start(&(VmConfig) { .daemonize = true });

    vm_wait_up(vm, 2);
    vm_wait_all_move(vm, 2);
    vm_send(vm, 'q');
    assert_exit_code(vm_wait_exit(vm), 0);
}

static void test_user(void)
{
    g_autoptr(Vm) vm = NULL;

    if (geteuid() != 0) {
        g_test_skip("only root can change the user");
        return;
    }
    vm = vm_start(&(VmConfig) { .uid = NOBODY });
    vm_wait_up(vm, 2);
    vm_wait_all_move(vm, 2);
}

typedef struct Death {
    bool daemonize;
    void (*die)(Vm *vm);
    int signal;
} Death;

static void die_killed(Vm *vm)
{
    raise(SIGKILL);
}

/* Lines of the guest are left unread; that must not hide QEMU's end. */
static void die_of_dead_qemu(Vm *vm)
{
    vm_wait_up(vm, 2);
    vm_wait_all_move(vm, 2);
    vm_send(vm, 't');
    vm_do(vm, "query-status", NULL);
    kill(vm_pid(vm), SIGKILL);
    vm_do(vm, "query-status", NULL);
}

/* In a process of its own: says what it started, and then dies. */
static void G_NORETURN run_tester(const Death *death, int report)
{
    int null = open("/dev/null", O_WRONLY);
    Vm *vm;

    alarm(ALARM_SECONDS);
    vm = vm_start(&(VmConfig) { .daemonize = death->daemonize });
    dprintf(report, "%d %s", (int)vm_pid(vm), vm_dir(vm));
    dup2(null, STDOUT_FILENO);
    dup2(null, STDERR_FILENO);
    death->die(vm);
    _exit(0);
}

/* As the tester's subreaper we inherit its QEMU. */
static void test_death(gconstpointer data)
{
    const Death *death = data;
    g_autofree char *dir = NULL;
    char text[256] = "";
    char *end;
    int fds[2], status;
    pid_t tester, qemu;

    g_assert_cmpint(pipe(fds), ==, 0);
    fflush(NULL);
    tester = fork();
    g_assert_cmpint(tester, >=, 0);
    if (tester == 0) {
        run_tester(death, fds[1]);
    }
    g_assert_cmpint(waitpid(tester, &status, 0), ==, tester);
    g_assert_true(WIFSIGNALED(status));
    g_assert_cmpint(WTERMSIG(status), ==, death->signal);
    g_assert_cmpint(read(fds[0], text, sizeof(text) - 1), >, 0);
    qemu = g_ascii_strtoll(text, &end, 10);
    dir = g_strdup(g_strchug(end));
    if (waitpid(qemu, &status, 0) < 0) {
        g_assert_cmpint(errno, ==, ECHILD); /* the tester has seen it end */
    } else {
        g_assert_true(WIFSIGNALED(status));
        g_assert_cmpint(WTERMSIG(status), ==, SIGKILL);
    }
    remove_tree(dir);
    close(fds[0]);
    close(fds[1]);
}

static const Death killed = { .die = die_killed, .signal = SIGKILL };
static const Death killed_with_daemon = {
    .daemonize = true, .die = die_killed, .signal = SIGKILL,
};
static const Death dead_qemu = { .die = die_of_dead_qemu, .signal = SIGABRT };

int main(int argc, char **argv)
{
    vm_test_init(&argc, &argv);
    vm_add_platform_tests("/guest/every-vcpu-counts", test_platform, false);
    vm_add_platform_tests("/guest/plugged-cpu-starts-unplugged-one-goes",
                          test_hotplug, true);
    g_test_add_data_func("/guest/every-mode-counts/kvm", "kvm", test_modes);
    g_test_add_data_func("/guest/every-mode-counts/tcg", VM_TCG, test_modes);
    g_test_add_func("/guest/flood-of-letters-starves-no-vcpu", test_flood);
    g_test_add_func("/guest/many-vcpus-with-sparse-ids", test_many);
    g_test_add_func("/guest/reset-starts-afresh", test_reset);
    g_test_add_func("/guest/debug-exit-is-seen", test_debug_exit);
    g_test_add_func("/harness/paused-until-cont", test_paused);
    g_test_add_func("/harness/monitors-answer", test_monitor);
    g_test_add_func("/harness/refused-start-tells-why", test_refused);
    g_test_add_func("/harness/masks-are-the-kernels", test_masks);
    g_test_add_func("/harness/daemon-is-followed", test_daemon);
    g_test_add_func("/harness/other-user-can-run", test_user);
    g_test_add_data_func("/harness/killed-test-takes-qemu-along", &killed,
                         test_death);
    g_test_add_data_func("/harness/killed-test-takes-daemon-along",
                         &killed_with_daemon, test_death);
    g_test_add_data_func("/harness/dead-qemu-ends-the-test", &dead_qemu,
                         test_death);
    return g_test_run();
}
