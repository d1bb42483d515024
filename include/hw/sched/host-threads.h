/*
 * The threads of this process, and of the kernel for it, from /proc
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef HW_SCHED_HOST_THREADS_H
#define HW_SCHED_HOST_THREADS_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * More threads than that are not looked at: some times what a QEMU with the
 * most vCPUs and full thread pools has.
 */
#define HOST_THREADS_MAX 16384

/*
 * The longest name in a thread's stat file: 15 characters for a thread of a
 * program, 63 for one of the kernel (WQ_NAME_LEN and a flush suffix).
 */
#define HOST_THREAD_NAME_MAX 63

/* What a thread is, as the kernel tells it. */
typedef struct HostThread {
    char name[HOST_THREAD_NAME_MAX + 1];
    int cpu;             /* where it is, or was last */
    bool fixed;          /* the kernel lets nobody set its mask */
    uint64_t start;      /* when it began, in clock ticks after boot */
} HostThread;

/*
 * The ids of the threads of this process (@root/proc/self/task), ascending,
 * for the caller to unref: GArray of int.  NULL: cannot be read.
 */
GArray *host_threads_list(const char *root);

/* The same of the process whose folder of /proc is open as @dir. */
GArray *host_threads_list_at(int dir);

/*
 * What @root/proc/self/task/@tid/stat tells.  False, with @ret_thread
 * untouched: gone, denied or garbage.
 */
bool host_thread_read(const char *root, int tid, HostThread *ret_thread);

/* The same of the thread whose folder of /proc is open as @dir. */
bool host_thread_read_at(int dir, HostThread *ret_thread);

/*
 * A worker of vhost, by its name, "vhost-" and the process id of its owner.
 * Since Linux 6.4 it is a thread of that process; before, of the kernel.
 */
bool host_thread_is_vhost(const HostThread *thread);

/*
 * True if this process has a vhost device of the kernel open: one of its
 * descriptors (@root/proc/self/fd) is /dev/vhost-net or the like.
 */
bool host_threads_use_vhost(const char *root);

/*
 * The vhost workers of process @pid that are threads of the kernel, for the
 * caller to unref: GArray of int.  It reads the name of every process of the
 * host: not for each look.  Empty where they cannot be seen, as in a container.
 */
GArray *host_threads_kernel_vhost(const char *root, int pid);

#endif
