/*
 * The process at the other end of a connection, held so that it stays the same
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hw/sched/host-affinity.h"

#include "../hw/sched/core/host-file.h"
#include "cgroup.h"
#include "process.h"
#include "proc-text.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77      /* Linux 6.5, asm-generic/socket.h */
#endif

GQuark helper_process_error_quark(void)
{
    return g_quark_from_static_string("helper-process-error-quark");
}

static int open_pidfd(int socket, pid_t pid)
{
    socklen_t len = sizeof(int);
    int fd;

    if (getsockopt(socket, SOL_SOCKET, SO_PEERPIDFD, &fd, &len) == 0) {
        return fd;
    }
    return syscall(SYS_pidfd_open, pid, 0);
}

static int open_proc(pid_t pid)
{
    char path[32];

    snprintf(path, sizeof(path), "/proc/%d", pid);
    return host_file_open_dir("", path);
}

/* Its number in its own namespace, the last one, is not the only one. */
static bool is_nested(int dir)
{
    g_autofree char *text = g_malloc(HOST_FILE_MAX + 1);
    ProcIds ids;

    return host_file_read(dir, "status", text) == 0 &&
           proc_text_ids(text, &ids) && ids.depth > 1;
}

Process *process_of_socket(int socket, GError **err)
{
    g_autoptr(Process) process = g_new0(Process, 1);
    struct ucred peer = { };
    socklen_t len = sizeof(peer);

    process->pidfd = process->dir = -1;
    if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0 ||
        peer.pid <= 0) {
        g_set_error(err, HELPER_PROCESS_ERROR, 0, "a process of another PID "
                    "namespace connected: run the helper in the host's own");
        return NULL;
    }
    process->pid = peer.pid;
    process->uid = peer.uid;
    process->pidfd = open_pidfd(socket, peer.pid);
    if (process->pidfd >= 0) {
        process->dir = open_proc(peer.pid);
    }
    /* It lives, so its number was its own when the folder was opened. */
    if (process->dir < 0 || !process_alive(process)) {
        g_set_error(err, HELPER_PROCESS_ERROR, 0, "process %d ended, or /proc "
                    "does not show it", peer.pid);
        return NULL;
    }
    process->nested = is_nested(process->dir);
    process->threads = g_hash_table_new(NULL, NULL);
    return g_steal_pointer(&process);
}

void process_free(Process *process)
{
    if (!process) {
        return;
    }
    if (process->pidfd >= 0) {
        close(process->pidfd);
    }
    if (process->dir >= 0) {
        close(process->dir);
    }
    g_clear_pointer(&process->threads, g_hash_table_unref);
    g_free(process);
}

bool process_alive(const Process *process)
{
    struct pollfd poll_fd = { .fd = process->pidfd, .events = POLLIN };

    return poll(&poll_fd, 1, 0) == 0;
}

unsigned process_count_threads(const Process *process)
{
    struct stat st;

    /* The kernel counts threads as links of the folder, beside "." and "..". */
    if (fstatat(process->dir, "task", &st, 0) < 0 || st.st_nlink < 3) {
        return 0;
    }
    return st.st_nlink - 2;
}

bool process_cpuset(const Process *process, HostCpuSet *ret_cpus)
{
    g_autofree char *text = g_malloc(HOST_FILE_MAX + 1);
    HostCpuSet cpus;

    if (host_file_read(process->dir, "cgroup", text) == 0 &&
        cgroup_cpuset("", text, &cpus)) {
        *ret_cpus = cpus;
        return true;
    }
    if (host_affinity_get(process->pid, &cpus) < 0 ||
        !process_alive(process)) {
        return false;
    }
    *ret_cpus = cpus;
    return true;
}
