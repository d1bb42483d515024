/*
 * Proves that a thread belongs to a process, and holds it
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hw/sched/host-threads.h"

#include "../hw/sched/core/host-file.h"
#include "cgroup.h"
#include "process.h"
#include "proc-text.h"

static int open_task(const Process *process, pid_t tid)
{
    char path[32];

    snprintf(path, sizeof(path), "task/%d", tid);
    return host_file_open_dir_at(process->dir, path);
}

/* By our number; what is there now may be no thread of the process. */
static int open_by_tid(const Process *process, pid_t tid,
                       ProcessThread *ret_thread)
{
    ProcessThread thread = { .tid = tid, .dir = open_task(process, tid) };
    HostThread now;
    struct stat st;

    if (thread.dir < 0) {
        return thread.dir == -ENOENT ? -ESRCH : thread.dir;
    }
    /* The folder belongs to the effective user, dumpable or not. */
    if (fstat(thread.dir, &st) < 0 || !host_thread_read_at(thread.dir, &now)) {
        close(thread.dir);
        return -ESRCH;
    }
    thread.uid = st.st_uid;
    thread.start = now.start;
    *ret_thread = thread;
    return 0;
}

/* The number that the thread in @dir has in its own namespace, or 0. */
static uint32_t inner_tid(int dir)
{
    g_autofree char *text = g_malloc(HOST_FILE_MAX + 1);
    ProcIds ids;

    return host_file_read(dir, "status", text) == 0 &&
           proc_text_ids(text, &ids) ? ids.inner : 0;
}

static void map_thread(Process *process, int tid)
{
    int dir = open_task(process, tid);
    uint32_t inner = dir < 0 ? 0 : inner_tid(dir);

    if (dir >= 0) {
        close(dir);
    }
    if (inner) {
        g_hash_table_insert(process->threads, GUINT_TO_POINTER(inner),
                            GINT_TO_POINTER(tid));
    }
}

unsigned process_map_threads(Process *process)
{
    g_autoptr(GArray) tids = NULL;

    if (!process->nested) {
        return 0;
    }
    tids = host_threads_list_at(process->dir);
    g_hash_table_remove_all(process->threads);
    for (guint i = 0; tids && i < tids->len; i++) {
        map_thread(process, g_array_index(tids, int, i));
    }
    return tids ? tids->len : 0;
}

/* By the number that was learned, if that is still right. */
static int open_mapped(const Process *process, uint32_t tid,
                       ProcessThread *ret_thread)
{
    int ours = GPOINTER_TO_INT(g_hash_table_lookup(process->threads,
                                                   GUINT_TO_POINTER(tid)));
    ProcessThread thread;
    int err = ours ? open_by_tid(process, ours, &thread) : -ESRCH;

    if (err == 0 && inner_tid(thread.dir) != tid) {
        process_close_thread(&thread);
        err = -ESRCH;
    }
    if (err == 0) {
        *ret_thread = thread;
    }
    return err;
}

int process_open_thread(const Process *process, uint32_t tid,
                        ProcessThread *ret_thread)
{
    if (tid > G_MAXINT32) {
        return -ESRCH;
    }
    return process->nested ? open_mapped(process, tid, ret_thread)
                           : open_by_tid(process, tid, ret_thread);
}

void process_close_thread(ProcessThread *thread)
{
    close(thread->dir);
    thread->dir = -1;
}

bool process_thread_cpuset(const ProcessThread *thread, HostCpuSet *ret_cpus)
{
    g_autofree char *text = g_malloc(HOST_FILE_MAX + 1);

    return host_file_read(thread->dir, "cgroup", text) == 0 &&
           cgroup_cpuset("", text, ret_cpus);
}

bool process_thread_same(const ProcessThread *thread)
{
    HostThread now;

    return host_thread_read_at(thread->dir, &now) &&
           now.start == thread->start;
}
