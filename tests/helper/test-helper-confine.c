/*
 * What a helper that was taken over could still do
 *
 * Each attempt is made by a child that has confined itself, as the helper does
 * before it serves anybody.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../helper/confine.h"
#include "hw/sched/host-affinity.h"
#include "hw/sched/host-load.h"

/* True: it worked, or failed for another reason than the filter's. */
typedef bool Attempt(void);

/* The test's own number: a confined child may not ask for it. */
static pid_t parent;

/* The host as it is seen without the filter. */
static HostTopology *host_before;
static HostLoadSource source_before;

static bool refused(long ret)
{
    return ret == -1 && errno == EPERM;
}

static bool write_file(void)
{
    return !refused(open("/dev/null", O_WRONLY)) ||
           !refused(open("/dev/null", O_RDWR));
}

static bool make_file(void)
{
    return !refused(open("/tmp/llcsched-none", O_RDONLY | O_CREAT, 0600)) ||
           !refused(mkdir("/tmp/llcsched-none", 0700)) ||
           !refused(unlink("/tmp/llcsched-none"));
}

static bool make_process(void)
{
    return !refused(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
}

static bool run_program(void)
{
    char *const args[] = { (char *)"true", NULL };

    return !refused(execv("/bin/true", args));
}

static bool make_socket(void)
{
    return !refused(socket(AF_UNIX, SOCK_STREAM, 0)) ||
           !refused(socket(AF_INET, SOCK_STREAM, 0));
}

static bool signal_others(void)
{
    return !refused(kill(parent, 0)) ||
           !refused(syscall(SYS_tgkill, parent, parent, 0)) ||
           !refused(fcntl(0, F_SETOWN, parent));
}

static bool look_into_others(void)
{
    char byte;
    struct iovec iov = { &byte, 1 };

    return !refused(ptrace(PTRACE_SEIZE, parent, 0, 0)) ||
           !refused(process_vm_readv(parent, &iov, 1, &iov, 1, 0));
}

static bool make_code(void)
{
    void *page = mmap(NULL, 4096, PROT_READ | PROT_EXEC,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void *plain = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return page != MAP_FAILED ||
           !refused(mprotect(plain, 4096, PROT_READ | PROT_EXEC));
}

static bool change_user(void)
{
    return !refused(setuid(1)) || !refused(syscall(SYS_setresuid, 1, 1, 1)) ||
           !refused(setgid(1)) || !refused(chroot("/"));
}

static const struct {
    const char *name;
    Attempt *attempt;
} attempts[] = {
    { "to-write-a-file", write_file },
    { "to-make-a-file", make_file },
    { "to-make-a-process", make_process },
    { "to-run-a-program", run_program },
    { "to-make-a-socket", make_socket },
    { "to-signal-others", signal_others },
    { "to-look-into-others", look_into_others },
    { "to-make-code", make_code },
    { "to-change-its-user-for-good", change_user },
};

/* What serving takes does work, also what it rarely takes. */
static bool serving_works(void)
{
    g_autoptr(HostTopology) host = host_topology_read("", NULL);
    g_autoptr(HostLoadSample) sample = NULL;
    HostCpuSet mask;

    if (!host || !host_topology_equal(host, host_before)) {
        return false;
    }
    sample = host_load_sample("", host->n_cpus, 0, NULL);
    return sample->source == source_before &&
           host_affinity_get(0, &mask) == 0 &&
           host_affinity_set(0, &mask) == 0;
}

static int status_of_confined(Attempt *attempt)
{
    pid_t pid = fork();
    int status;

    if (pid == 0) {
        if (!confine_capabilities(NULL) || !confine_system_calls(NULL)) {
            _exit(100);
        }
        _exit(attempt());
    }
    g_assert_cmpint(pid, >, 0);
    g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
    g_assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void test_attempt(gconstpointer data)
{
    g_assert_cmpint(status_of_confined(attempts[GPOINTER_TO_INT(data)].attempt),
                    ==, false);
}

static void test_serving(void)
{
    g_autoptr(HostTopology) host = host_topology_read("", NULL);
    g_autoptr(HostLoadSample) sample = NULL;

    g_assert_nonnull(host);
    sample = host_load_sample("", host->n_cpus, 0, NULL);
    host_before = host;
    source_before = sample->source;
    g_assert_cmpint(status_of_confined(serving_works), ==, true);
}

int main(int argc, char **argv)
{
    parent = getpid();
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/helper-confine/serving-works", test_serving);
    for (size_t i = 0; i < G_N_ELEMENTS(attempts); i++) {
        g_autofree char *path = g_strdup_printf("/helper-confine/no-way-%s",
                                                attempts[i].name);

        g_test_add_data_func(path, GINT_TO_POINTER(i), test_attempt);
    }
    return g_test_run();
}
