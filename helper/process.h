/*
 * The process at the other end of a connection, held so that it stays the same
 *
 * Ids are numbers that the kernel gives to others later.  What is held here is
 * not: a pidfd and an open folder of /proc refer to the process itself, and
 * say so when it is gone, whoever has its number then.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef HELPER_PROCESS_H
#define HELPER_PROCESS_H

#include <sys/types.h>

#include "hw/sched/host-cpuset.h"

typedef struct Process {
    pid_t pid;               /* in the helper's PID namespace */
    uid_t uid;               /* as it connected */
    int pidfd;               /* readable once the process has ended */
    int dir;                 /* /proc/PID */
    bool nested;             /* its own PID namespace has other numbers */
    GHashTable *threads;     /* nested: its numbers to ours, as last seen */
} Process;

/*
 * The process that connected @socket.  NULL and @err: it is gone, or not
 * visible from here.
 *
 * Before Linux 6.5 the kernel does not give a pidfd of the peer, and one is
 * made from its number.  That it is of the peer is proven later, by a message
 * that the process with that number sends while the pidfd is alive.
 */
Process *process_of_socket(int socket, GError **err);
void process_free(Process *process); /* NULL is allowed */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Process, process_free)

bool process_alive(const Process *process);

/* How many threads it has now; 0: gone. */
unsigned process_count_threads(const Process *process);

/*
 * The CPUs of its cpuset, whatever its threads' masks are.  Where its cgroup
 * cannot be seen, the mask of its first thread.  False, with @ret_cpus
 * untouched: gone.
 */
bool process_cpuset(const Process *process, HostCpuSet *ret_cpus);

/* One of its threads, held in the same way. */
typedef struct ProcessThread {
    pid_t tid;               /* in the helper's PID namespace */
    uid_t uid;               /* the effective one, now */
    int dir;                 /* /proc/PID/task/TID */
    uint64_t start;          /* clock ticks after boot */
} ProcessThread;

/*
 * Open the thread that the process knows as @tid.  0 or a negative errno:
 * -ESRCH it has no such thread, or, in a PID namespace of its own, none that
 * process_map_threads() has seen.
 */
int process_open_thread(const Process *process, uint32_t tid,
                        ProcessThread *ret_thread);

/*
 * Look at all threads of a process in a PID namespace of its own, for the
 * numbers that they have there.  How many there were: nothing else here costs
 * more than a few system calls.
 */
unsigned process_map_threads(Process *process);
void process_close_thread(ProcessThread *thread);

/*
 * The CPUs of the thread's own cpuset, which may be another than the process's:
 * libvirt makes one for each vCPU.  False: not visible, or gone.
 */
bool process_thread_cpuset(const ProcessThread *thread, HostCpuSet *ret_cpus);

/* The thread is still that one. */
bool process_thread_same(const ProcessThread *thread);

#define HELPER_PROCESS_ERROR helper_process_error_quark()
GQuark helper_process_error_quark(void);

#endif
