/*
 * qemu-llcsched-helper knows threads in containers, and numbers that are reused
 *
 * The processes here are in a PID namespace of their own, which since Linux
 * 6.14 can be given so few numbers that they are soon reused.  On older
 * kernels that limit is the whole host's, so it is left alone.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client.h"
#include "daemon.h"
#include "hw/sched/host-affinity.h"
#include "others.h"

/* Few; below RESERVED_PIDS (300) the kernel uses no number again. */
#define FEW_NUMBERS "400"
#define FIRST_REUSED 300
#define TRIES 100000

/* Threads in one request. */
#define MANY 200

typedef struct Inside {
    const Daemon *daemon;
    OtherBody *body;
} Inside;

/* Becomes the first process of a PID namespace, with a /proc for it. */
static void enter(Other *parent, const void *data)
{
    const Inside *inside = data;
    pid_t pid;

    g_assert_cmpint(unshare(CLONE_NEWPID | CLONE_NEWNS), ==, 0);
    /* not "/", which in a chroot is no mount */
    g_assert_cmpint(mount(NULL, "/proc", NULL, MS_REC | MS_PRIVATE, NULL),
                    ==, 0);
    pid = fork();
    g_assert_cmpint(pid, >=, 0);
    if (pid == 0) {
        g_assert_cmpint(mount("proc", "/proc", "proc", 0, NULL), ==, 0);
        inside->body(parent, inside->daemon);
        _exit(0);
    }
    g_assert_cmpint(waitpid(pid, NULL, 0), ==, pid);
}

/* False: the test is skipped. */
static bool may_enter(void)
{
    if (geteuid()) {
        g_test_skip("needs root, to make a PID namespace");
    }
    return geteuid() == 0;
}

/* The same for tests that limit the namespace's numbers. */
static bool may_enter_with_few(void)
{
    struct utsname name;
    int major, minor;

    g_assert_cmpint(uname(&name), ==, 0);
    g_assert_cmpint(sscanf(name.release, "%d.%d", &major, &minor), ==, 2);
    if (major < 6 || (major == 6 && minor < 14)) {
        g_test_skip("needs Linux 6.14, where PID namespaces limit numbers");
        return false;
    }
    return may_enter();
}

static void set_inside(Other *parent, const void *data)
{
    const Daemon *daemon = data;
    Client *client = client_new(daemon->socket);
    Worker *worker = worker_start();
    g_autofree char *last = g_strdup_printf("%d", own_last_cpu());
    g_autofree char *mask = NULL;

    g_assert_cmpint(getpid(), ==, 1);
    other_tell(parent, client_set_cpus(client, worker->tid, last));
    mask = mask_of(worker->tid);
    g_assert_cmpstr(mask, ==, last);
    other_tell(parent, client_set_cpus(client, 1, last));
    mask = mask_of(1);
    g_assert_cmpstr(mask, ==, last);
    /* The number that it has outside says nothing inside. */
    other_tell(parent, client_prove(client, other_must_hear(parent)));
    worker_end(worker);
}

/* Many threads, and a request about as many numbers that are none. */
static void miss_inside(Other *parent, const void *data)
{
    const Daemon *daemon = data;
    g_autoptr(GArray) tids = g_array_new(FALSE, FALSE, sizeof(uint32_t));
    g_autoptr(GArray) statuses = NULL;
    g_auto(HelperMessage) message = { };
    Client *client = client_new(daemon->socket);
    Worker *workers[MANY];

    for (uint32_t i = 0; i < MANY; i++) {
        uint32_t tid = 1000000 + i;

        workers[i] = worker_start();
        g_array_append_val(tids, tid);
    }
    other_tell(parent, 0);
    other_must_hear(parent);
    g_assert_true(client_send(client, HELPER_THREADS,
                              helper_threads_body(tids)));
    g_assert_true(client_hear(client, &message));
    statuses = helper_statuses_parse(&message, NULL);
    for (guint i = 0; i < MANY; i++) {
        g_assert_cmpint(g_array_index(statuses, uint8_t, i), ==,
                        HELPER_NOT_YOURS);
    }
    other_tell(parent, 0);
    for (guint i = 0; i < MANY; i++) {
        worker_end(workers[i]);
    }
}

/* How often it has read a file, or anything else. */
static guint64 reads_of(const Daemon *daemon)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/io", daemon->pid);
    g_autofree char *text = NULL;
    const char *found;

    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    found = strstr(text, "syscr: ");
    g_assert_nonnull(found);
    return g_ascii_strtoull(found + strlen("syscr: "), NULL, 10);
}

static void test_misses_are_cheap(void)
{
    g_autoptr(Daemon) daemon = NULL;
    Inside inside = { NULL, miss_inside };
    guint64 before;
    Other *other;

    if (!may_enter()) {
        return;
    }
    daemon = daemon_start(NULL, -1);
    inside.daemon = daemon;
    other = other_start(enter, &inside);
    other_must_hear(other);
    before = reads_of(daemon);
    other_tell(other, 0);
    other_must_hear(other);
    /* Each thread once for all, not once for each number; some ticks. */
    g_assert_cmpuint(reads_of(daemon) - before, <, 10 * MANY);
    other_end(other);
}

/* The host's number of the process that @pid is waiting for. */
static pid_t child_of(pid_t pid)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/task/%d/children", pid,
                                            pid);
    g_autofree char *text = NULL;

    if (!g_file_get_contents(path, &text, NULL, NULL)) {
        return 0;
    }
    return g_ascii_strtoll(text, NULL, 10);
}

static void test_numbers_inside(void)
{
    g_autoptr(Daemon) daemon = NULL;
    Inside inside = { NULL, set_inside };
    HostCpuSet before = { }, after = { };
    Other *other;

    if (!may_enter()) {
        return;
    }
    daemon = daemon_start(NULL, -1);
    inside.daemon = daemon;
    host_affinity_get(1, &before);
    other = other_start(enter, &inside);
    g_assert_cmpint(other_must_hear(other), ==, HELPER_OK);
    g_assert_cmpint(other_must_hear(other), ==, HELPER_OK);
    other_tell(other, MAX(child_of(other->pid), 100));
    g_assert_cmpint(other_must_hear(other), ==, HELPER_NOT_YOURS);
    host_affinity_get(1, &after);
    g_assert_true(host_cpuset_equal(&before, &after));
    other_end(other);
}

/* Processes that end at once use up numbers, until one has @tid and stays. */
static pid_t process_with_number(int tid)
{
    for (int i = 0; i < TRIES; i++) {
        pid_t pid = fork();

        if (pid == 0) {
            /* Its number is known here as soon as the parent's is. */
            if (getpid() != tid) {
                _exit(0);
            }
            for (;;) {
                pause();
            }
        }
        g_assert_cmpint(pid, >, 0);
        if (pid == tid) {
            return pid;
        }
        g_assert_cmpint(waitpid(pid, NULL, 0), ==, pid);
    }
    g_assert_not_reached();
}

static void end_process(pid_t pid)
{
    g_assert_cmpint(kill(pid, SIGKILL), ==, 0);
    g_assert_cmpint(waitpid(pid, NULL, 0), ==, pid);
}

static void use_few_numbers(void)
{
    int fd = open("/proc/sys/kernel/pid_max", O_WRONLY | O_CLOEXEC);

    g_assert_cmpint(fd, >=, 0);
    g_assert_cmpint(write(fd, FEW_NUMBERS, sizeof(FEW_NUMBERS) - 1), ==,
                    sizeof(FEW_NUMBERS) - 1);
    close(fd);
    end_process(process_with_number(FIRST_REUSED));
}

static Worker *thread_with_number(int tid)
{
    for (int i = 0; i < TRIES; i++) {
        Worker *worker = worker_start();

        if (worker->tid == tid) {
            return worker;
        }
        worker_end(worker);
    }
    g_assert_not_reached();
}

static void reuse_inside(Other *parent, const void *data)
{
    const Daemon *daemon = data;
    g_autofree char *first = g_strdup_printf("%d", own_first_cpu());
    g_autofree char *last = g_strdup_printf("%d", own_last_cpu());
    g_autofree char *all = own_cpus();
    g_autofree char *mask = NULL;
    Client *client;
    Worker *worker;
    pid_t pid;
    int tid;

    use_few_numbers();
    client = client_new(daemon->socket);
    worker = worker_start();
    tid = worker->tid;
    other_tell(parent, client_set_cpus(client, tid, first));
    worker_end(worker);

    pid = process_with_number(tid);
    other_tell(parent, client_set_cpus(client, tid, last));
    mask = mask_of(tid);
    g_assert_cmpstr(mask, ==, all);
    end_process(pid);

    worker = thread_with_number(tid);
    other_tell(parent, client_set_cpus(client, tid, last));
    g_free(mask);
    mask = mask_of(tid);
    g_assert_cmpstr(mask, ==, last);
    worker_end(worker);
}

static void test_reused_number(void)
{
    g_autoptr(Daemon) daemon = NULL;
    Inside inside = { NULL, reuse_inside };
    g_autofree char *before = NULL, *after = NULL;
    Other *other;

    if (!may_enter_with_few()) {
        return;
    }
    g_file_get_contents("/proc/sys/kernel/pid_max", &before, NULL, NULL);
    daemon = daemon_start(NULL, -1);
    inside.daemon = daemon;
    other = other_start(enter, &inside);
    g_assert_cmpint(other_must_hear(other), ==, HELPER_OK);
    g_assert_cmpint(other_must_hear(other), ==, HELPER_NOT_YOURS);
    g_assert_cmpint(other_must_hear(other), ==, HELPER_OK);
    other_end(other);
    g_file_get_contents("/proc/sys/kernel/pid_max", &after, NULL, NULL);
    g_assert_cmpstr(before, ==, after);
}

/*
 * Threads that come and go while their masks are set, and processes that get
 * their numbers: each must have the mask that it came with when it is asked,
 * with everything answered that may have touched it.
 */
static gpointer come_and_go(gpointer opaque)
{
    int *tid = opaque;

    g_atomic_int_set(tid, gettid());
    return NULL;
}

static void check_child(const char *all)
{
    pid_t pid = fork();
    int status;

    if (pid == 0) {
        g_autofree char *now = own_cpus();

        _exit(!g_str_equal(now, all));
    }
    g_assert_cmpint(pid, >, 0);
    g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
    g_assert_cmpint(status, ==, 0);
}

static void churn_inside(Other *parent, const void *data)
{
    const Daemon *daemon = data;
    unsigned rounds = g_getenv("LLCSCHED_SOAK") ? 100000 : 2000;
    unsigned set = 0, refused = 0;
    g_autofree char *all = own_cpus();
    g_autofree char *first = g_strdup_printf("%d", own_first_cpu());
    Client *client;

    use_few_numbers();
    client = client_new(daemon->socket);
    for (unsigned i = 0; i < rounds; i++) {
        int tid = 0;
        GThread *thread = g_thread_new("brief", come_and_go, &tid);
        HelperStatus status;

        while (!g_atomic_int_get(&tid)) {
            g_thread_yield();
        }
        if (i % 2) {
            g_thread_join(thread);
        }
        status = client_set_cpus(client, tid, first);
        if (!(i % 2)) {
            g_thread_join(thread);
        }
        set += status == HELPER_OK;
        refused += status == HELPER_NOT_YOURS ||
                   status == HELPER_CHANGED_HANDS;
        check_child(all);
    }
    g_assert_cmpuint(set + refused, ==, rounds);
    g_assert_cmpuint(refused, >=, rounds / 2);
    other_tell(parent, refused);
}

static void test_churn(void)
{
    g_autoptr(Daemon) daemon = NULL;
    Inside inside = { NULL, churn_inside };
    Other *other;

    if (!may_enter_with_few()) {
        return;
    }
    daemon = daemon_start("[helper]\nrate=100000\nburst=1000000\n", -1);
    inside.daemon = daemon;
    other = other_start(enter, &inside);
    g_assert_cmpint(other_must_hear(other), >, 0);
    other_end(other);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/helper-namespace/threads-by-the-numbers-inside",
                    test_numbers_inside);
    g_test_add_func("/helper-namespace/threads-are-looked-at-once-a-request",
                    test_misses_are_cheap);
    g_test_add_func("/helper-namespace/a-reused-number-is-another-thread",
                    test_reused_number);
    g_test_add_func("/helper-namespace/churn-touches-nobody-else",
                    test_churn);
    return g_test_run();
}
