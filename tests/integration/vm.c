/*
 * A QEMU with the test guest: its life
 *
 * Whatever happens to the test program, the QEMU ends with it: the kernel
 * kills it (PR_SET_PDEATHSIG), or, for a daemon, a guard process does.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "vm-internal.h"
#include "remove-tree.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_DEFAULT 60     /* seconds: a busy machine, TCG */
#define PATIENCE_MAX 3600
#define REPORT_BYTES 3000       /* of each log, when a test fails */
#define NOGROUP 65534

static GList *live_vms;

/* Made once: the address stays good. */
static const char *qemu_path(void)
{
    static char *path;
    const char *root = g_getenv("LLCSCHED_SOURCE_ROOT");

    if (!path) {
        path = g_strdup(g_getenv("LLCSCHED_QEMU"));
    }
    if (!path) {
        path = g_build_filename(root ? root : ".", "build", "bin",
                                "qemu-system-x86_64", NULL);
    }
    return path;
}

static const char *guest_path(void)
{
    const char *path = g_getenv("LLCSCHED_GUEST");

    return path ? path : "build/standalone/tests/guest/llcsched-guest.bin";
}

const char *vm_accel(uid_t uid)
{
    const char *accel = g_getenv("LLCSCHED_ACCEL");
    struct stat st;
    int fd;

    if (accel) {
        return accel;
    }
    fd = open("/dev/kvm", O_RDWR | O_CLOEXEC);
    if (fd < 0) {
        return VM_TCG;
    }
    close(fd);
    if (uid && (stat("/dev/kvm", &st) < 0 || (st.st_mode & 06) != 06)) {
        return VM_TCG;
    }
    return "kvm";
}

bool vm_skip_without_kvm(const char *accel)
{
    if (strcmp(accel, "kvm") == 0 && strcmp(vm_accel(0), "kvm") != 0) {
        g_test_skip("/dev/kvm does not open");
        return true;
    }
    return false;
}

static void add_accel_tests(const char *prefix, const VmTest *tests, guint n,
                            const char *accel, const char *name)
{
    for (guint i = 0; i < n; i++) {
        g_autofree char *path = g_strdup_printf("%s/%s/%s", prefix, name,
                                                tests[i].name);

        g_test_add_data_func(path, accel, tests[i].test);
    }
}

void vm_add_accel_tests(const char *prefix, const VmTest *tests, guint n)
{
    add_accel_tests(prefix, tests, n, "kvm", "kvm");
    add_accel_tests(prefix, tests, n, VM_TCG, "tcg");
}

void vm_add_platform_tests(const char *prefix, GTestDataFunc test, bool plugs)
{
    static const VmPlatform platforms[] = {
        { "pc", "kvm" }, { "q35", "kvm" }, { "microvm", "kvm" },
        { "pc", VM_TCG }, { "q35", VM_TCG }, { "microvm", VM_TCG },
    };

    for (guint i = 0; i < G_N_ELEMENTS(platforms); i++) {
        const VmPlatform *platform = &platforms[i];
        g_autofree char *path = g_strdup_printf(
            "%s/%s/%s", prefix, platform->machine,
            strcmp(platform->accel, "kvm") ? "tcg" : "kvm");

        if (!plugs || strcmp(platform->machine, "microvm") != 0) {
            g_test_add_data_func(path, platform, test);
        }
    }
}

gint64 vm_deadline(void)
{
    const char *text = g_getenv("LLCSCHED_TEST_PATIENCE");
    gint64 seconds = text ? g_ascii_strtoll(text, NULL, 10) : 0;

    if (seconds < 1) {
        seconds = PATIENCE_DEFAULT;
    }
    return g_get_monotonic_time() +
           MIN(seconds, PATIENCE_MAX) * G_USEC_PER_SEC;
}

/* --- When a test fails --- */

static void report_text(const char *title, const char *text)
{
    g_auto(GStrv) lines = NULL;
    gsize len = strlen(text);

    lines = g_strsplit(text + (len > REPORT_BYTES ? len - REPORT_BYTES : 0),
                       "\n", -1);
    fprintf(stderr, "# --- %s\n", title);
    for (char **line = lines; *line; line++) {
        if (**line) {
            fprintf(stderr, "# %s\n", *line);
        }
    }
}

/*
 * abort() is called where an assertion failed, in this program's only thread,
 * never inside the allocator or stdio: so this may use both.
 */
static void report_live_vms(int signal)
{
    for (GList *item = live_vms; item; item = item->next) {
        Vm *vm = item->data;
        char *messages = vm_messages(vm);

        line_channel_fill(&vm->qmp);
        line_channel_fill(&vm->serial);
        fprintf(stderr, "# QEMU %d, files in %s\n", (int)vm->pid, vm->dir);
        report_text("messages", messages);
        report_text("guest", vm->serial.log->str);
        report_text("QMP", vm->qmp.log->str);
        g_free(messages);
    }
}

void vm_fail(Vm *vm, const char *format, ...)
{
    g_autofree char *message = NULL;
    va_list ap;

    va_start(ap, format);
    message = g_strdup_vprintf(format, ap);
    va_end(ap);
    g_assertion_message(G_LOG_DOMAIN, "QEMU", vm->pid, "vm_fail", message);
    abort();
}

static void skip_all(const char *reason, const char *path)
{
    printf("1..0 # SKIP %s: %s\n", reason, path);
    exit(0);
}

void vm_test_init(int *argc, char ***argv)
{
    struct sigaction on_abort = { .sa_handler = report_live_vms };

    g_test_init(argc, argv, NULL);
    if (access(qemu_path(), X_OK) < 0) {
        skip_all("no QEMU (scripts/build-qemu makes one)", qemu_path());
    }
    if (access(guest_path(), R_OK) < 0) {
        skip_all("no test guest (it needs as and ld for x86)", guest_path());
    }
    sigaction(SIGABRT, &on_abort, NULL);
    /* so that a daemon can be reaped */
    g_assert_cmpint(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), ==, 0);
    printf("# accel: %s\n", vm_accel(0));
}

/* --- Start --- */

G_GNUC_PRINTF(2, 3)
static void add_arg(GPtrArray *args, const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    g_ptr_array_add(args, g_strdup_vprintf(format, ap));
    va_end(ap);
}

static void add_shell_args(GPtrArray *args, const char *text)
{
    g_autoptr(GError) err = NULL;
    g_auto(GStrv) words = NULL;

    g_shell_parse_argv(text, NULL, &words, &err);
    g_assert_no_error(err);
    for (char **word = words; *word; word++) {
        add_arg(args, "%s", *word);
    }
}

static GPtrArray *build_args(const VmConfig *config, const char *dir,
                             int qmp, int serial)
{
    GPtrArray *args = g_ptr_array_new_with_free_func(g_free);
    const char *accel = config->accel ? config->accel : vm_accel(config->uid);

    add_arg(args, "%s", qemu_path());
    add_shell_args(args, "-nodefaults -no-user-config -display none -m 16");
    add_arg(args, "-bios");
    add_arg(args, "%s", guest_path());
    add_arg(args, "-machine");
    add_arg(args, "%s", config->machine ? config->machine : "pc");
    add_arg(args, "-accel");
    add_arg(args, "%s", accel);
    add_arg(args, "-smp");
    add_arg(args, "%s", config->smp ? config->smp : "2");
    add_arg(args, "-chardev");
    add_arg(args, "socket,id=qmp,fd=%d", qmp);
    add_shell_args(args, "-mon chardev=qmp,mode=control");
    add_arg(args, "-chardev");
    add_arg(args, "socket,id=serial,fd=%d", serial);
    add_shell_args(args, "-serial chardev:serial");
    if (config->mode) {
        add_arg(args, "-fw_cfg");
        add_arg(args, "name=opt/llcsched/mode,string=%s", config->mode);
    }
    if (config->paused) {
        add_arg(args, "-S");
    }
    if (config->daemonize) {
        add_shell_args(args, "-daemonize -pidfile");
        add_arg(args, "%s/pid", dir);
    }
    if (config->args) {
        add_shell_args(args, config->args);
    }
    g_ptr_array_add(args, NULL);
    return args;
}

/* In the new process: become QEMU, or end with 127 and a message. */
static void G_NORETURN exec_qemu(char **args, int messages, pid_t parent,
                                 uid_t uid)
{
    int null = open("/dev/null", O_RDONLY);

    dup2(null, STDIN_FILENO);
    dup2(messages, STDOUT_FILENO);
    dup2(messages, STDERR_FILENO);
    if (uid && (setgroups(0, NULL) < 0 || setgid(NOGROUP) < 0 ||
                setuid(uid) < 0)) {
        perror("cannot change the user");
        _exit(127);
    }
    /* after setuid(), which clears it */
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (getppid() != parent) {
        _exit(127);
    }
    execv(args[0], args);
    perror(args[0]);
    _exit(127);
}

static void make_socketpair(int *ret_ours, int *ret_theirs)
{
    int fds[2];

    g_assert_cmpint(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), ==, 0);
    g_assert_cmpint(fcntl(fds[0], F_SETFD, FD_CLOEXEC), ==, 0);
    *ret_ours = fds[0];
    *ret_theirs = fds[1];
}

/* Fork and execute; nothing is known yet about how that went. */
static Vm *vm_spawn(const VmConfig *config)
{
    Vm *vm = g_new0(Vm, 1);
    g_autoptr(GPtrArray) args = NULL;
    g_autoptr(GError) err = NULL;
    g_autofree char *path = NULL;
    int qmp, qemu_qmp, serial, qemu_serial, messages;
    pid_t parent = getpid();

    vm->dir = g_dir_make_tmp("llcsched-vm-XXXXXX", &err);
    g_assert_no_error(err);
    /* a QEMU of another user reads the tree, and writes its pid file */
    g_assert_cmpint(chmod(vm->dir, 0755), ==, 0);
    path = g_build_filename(vm->dir, "messages", NULL);
    messages = open(path, O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0644);
    g_assert_cmpint(messages, >=, 0);
    make_socketpair(&qmp, &qemu_qmp);
    make_socketpair(&serial, &qemu_serial);
    args = build_args(config, vm->dir, qemu_qmp, qemu_serial);

    fflush(NULL);
    vm->pid = fork();
    g_assert_cmpint(vm->pid, >=, 0);
    if (vm->pid == 0) {
        exec_qemu((char **)args->pdata, messages, parent, config->uid);
    }
    close(messages);
    close(qemu_qmp);
    close(qemu_serial);
    line_channel_init(&vm->qmp, qmp);
    line_channel_init(&vm->serial, serial);
    g_queue_init(&vm->events);
    vm->guard = -1;
    live_vms = g_list_prepend(live_vms, vm);
    return vm;
}

/*
 * A daemon has left the process that we started and outlives us: a process
 * that waits for our end kills it then, by a descriptor that cannot mean
 * another process.
 */
static void guard_daemon(Vm *vm)
{
    int daemon = syscall(SYS_pidfd_open, vm->pid, 0);
    int pipe_fds[2];
    char byte;

    g_assert_cmpint(daemon, >=, 0);
    g_assert_cmpint(pipe2(pipe_fds, O_CLOEXEC), ==, 0);
    fflush(NULL);
    vm->guard_pid = fork();
    g_assert_cmpint(vm->guard_pid, >=, 0);
    if (vm->guard_pid == 0) {
        dup2(pipe_fds[0], 0);
        dup2(daemon, 1);
        syscall(SYS_close_range, 2, ~0u, 0);
        while (read(0, &byte, 1) < 0 && errno == EINTR) {
            /* again */
        }
        syscall(SYS_pidfd_send_signal, 1, SIGKILL, NULL, 0);
        _exit(0);
    }
    close(daemon);
    close(pipe_fds[0]);
    vm->guard = pipe_fds[1];
}

/* The process that we started ends when the daemon is ready. */
static void follow_daemon(Vm *vm)
{
    g_autofree char *path = g_build_filename(vm->dir, "pid", NULL);
    g_autofree char *text = NULL;
    g_autoptr(GError) err = NULL;
    int status = vm_wait_exit(vm);

    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        vm_fail(vm, "QEMU did not become a daemon: status 0x%x", status);
    }
    g_file_get_contents(path, &text, NULL, &err);
    g_assert_no_error(err);
    vm->pid = g_ascii_strtoll(text, NULL, 10);
    g_assert_cmpint(vm->pid, >, 1);
    guard_daemon(vm);
}

Vm *vm_start(const VmConfig *config)
{
    Vm *vm = vm_spawn(config);

    if (config->daemonize) {
        follow_daemon(vm);
    }
    vm_qmp_open(vm);
    return vm;
}

char *vm_start_refused(const VmConfig *config, int *ret_status)
{
    g_autoptr(Vm) vm = vm_spawn(config);

    *ret_status = vm_wait_exit(vm);
    return vm_messages(vm);
}

/* --- End --- */

void vm_free(Vm *vm)
{
    if (!vm) {
        return;
    }
    live_vms = g_list_remove(live_vms, vm);
    if (vm->pid) {
        kill(vm->pid, SIGKILL);
        waitpid(vm->pid, NULL, 0);
    }
    if (vm->guard >= 0) {
        close(vm->guard);
        waitpid(vm->guard_pid, NULL, 0);
    }
    line_channel_clear(&vm->qmp);
    line_channel_clear(&vm->serial);
    g_queue_clear_full(&vm->events, (GDestroyNotify)json_node_unref);
    remove_tree(vm->dir);
    g_free(vm->dir);
    g_free(vm);
}

bool vm_ended(Vm *vm)
{
    if (vm->pid && waitpid(vm->pid, &vm->status, WNOHANG) == vm->pid) {
        vm->pid = 0;
    }
    return vm->pid == 0;
}

/* --- Wait --- */

/* Until something happens or the time is over. */
static void poll_once(Vm *vm, int ms, gint64 deadline, const char *what)
{
    gint64 left = (deadline - g_get_monotonic_time()) / 1000;
    struct pollfd fds[3] = {
        { .fd = vm->qmp.fd, .events = POLLIN },
        { .fd = vm->serial.fd, .events = POLLIN },
        { .fd = syscall(SYS_pidfd_open, vm->pid, 0), .events = POLLIN },
    };

    if (left <= 0) {
        vm_fail(vm, "waited too long for %s", what);
    }
    if (poll(fds, 3, ms < 0 ? left : MIN(ms, left)) < 0 && errno != EINTR) {
        vm_fail(vm, "poll: %s", strerror(errno));
    }
    close(fds[2].fd);
    line_channel_fill(&vm->qmp);
    line_channel_fill(&vm->serial);
}

void vm_poll(Vm *vm, int ms, gint64 deadline, const char *what)
{
    gsize known = vm->qmp.log->len + vm->serial.log->len;

    if (!vm_ended(vm)) {
        poll_once(vm, ms, deadline, what);
        return;
    }
    /* its last words may be what the caller waits for */
    line_channel_fill(&vm->qmp);
    line_channel_fill(&vm->serial);
    if (vm->qmp.log->len + vm->serial.log->len == known) {
        vm_fail(vm, "QEMU ended with status 0x%x instead of %s", vm->status,
                what);
    }
}

int vm_wait_exit(Vm *vm)
{
    gint64 deadline = vm_deadline();

    while (!vm_ended(vm)) {
        poll_once(vm, -1, deadline, "the end of QEMU");
    }
    return vm->status;
}

void vm_wait(Vm *vm, VmCondition *done, void *opaque, const char *what)
{
    gint64 deadline = vm_deadline();

    /* a condition that QEMU does not announce is looked at now and then */
    while (!done(vm, opaque)) {
        vm_poll(vm, 20, deadline, what);
    }
}

pid_t vm_pid(const Vm *vm)
{
    return vm->pid;
}

const char *vm_dir(const Vm *vm)
{
    return vm->dir;
}

char *vm_messages(const Vm *vm)
{
    g_autofree char *path = g_build_filename(vm->dir, "messages", NULL);
    char *text = NULL;

    return g_file_get_contents(path, &text, NULL, NULL) ? text : g_strdup("");
}
