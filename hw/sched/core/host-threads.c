/*
 * The threads of this process, and of the kernel for it, from /proc
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "hw/sched/host-threads.h"

#include "host-file.h"

/* Bounds of what is read of folders that only the kernel should write. */
#define PROCESSES_MAX (4 * 1024 * 1024) /* PID_MAX_LIMIT */
#define DESCRIPTORS_MAX 65536

/* PF_NO_SETAFFINITY of Linux' include/linux/sched.h. */
#define THREAD_FLAG_NO_SETAFFINITY 0x04000000u

/* Fields of proc_pid_stat(5), of which the name is the second. */
#define FIELD_NAME 2
#define FIELD_FLAGS 9
#define FIELD_START 22
#define FIELD_CPU 39

/* A folder whose entries are numbers; an entry that is none is 0. */
static int entry_number(const struct dirent *entry)
{
    int64_t number;

    return host_file_parse_int(entry->d_name, 1, INT_MAX, &number) ? number
                                                                   : 0;
}

/* Of an open folder, or of a negative errno. */
static DIR *stream_of(int fd)
{
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);

    if (fd >= 0 && !dir) {
        close(fd);
    }
    return dir;
}

static DIR *open_folder(const char *root, const char *path)
{
    return stream_of(host_file_open_dir(root ? root : "", path));
}

static gint compare_ids(gconstpointer a, gconstpointer b)
{
    int left = *(const int *)a, right = *(const int *)b;

    return (left > right) - (left < right);
}

static GArray *list_threads(DIR *dir)
{
    GArray *tids;
    struct dirent *entry;

    if (!dir) {
        return NULL;
    }
    tids = g_array_new(FALSE, FALSE, sizeof(int));
    while (tids->len < HOST_THREADS_MAX && (entry = readdir(dir))) {
        int tid = entry_number(entry);

        if (tid) {
            g_array_append_val(tids, tid);
        }
    }
    closedir(dir);
    g_array_sort(tids, compare_ids);
    return tids;
}

GArray *host_threads_list(const char *root)
{
    return list_threads(open_folder(root, "/proc/self/task"));
}

GArray *host_threads_list_at(int dir)
{
    return list_threads(stream_of(host_file_open_dir_at(dir, "task")));
}

/* The start of field @n, given @from, the end of the name. */
static const char *field_after_name(const char *from, int n)
{
    for (int field = FIELD_NAME; from && field < n; field++) {
        from = strchr(from + 1, ' ');
    }
    return from;
}

/* "pid (name) state ...", where the name may hold anything. */
static bool parse_stat(const char *text, HostThread *ret_thread)
{
    const char *open = strchr(text, '(');
    const char *close = strrchr(text, ')');
    const char *flags = field_after_name(close, FIELD_FLAGS);
    const char *start = field_after_name(close, FIELD_START);
    const char *cpu = field_after_name(close, FIELD_CPU);
    HostThread thread = { .cpu = -1 };
    unsigned bits;

    if (!open || !cpu || open > close ||
        close - open - 1 > HOST_THREAD_NAME_MAX ||
        sscanf(flags, " %u ", &bits) != 1 ||
        sscanf(start, " %" SCNu64 " ", &thread.start) != 1 ||
        sscanf(cpu, " %d ", &thread.cpu) != 1 ||
        thread.cpu < 0 || thread.cpu >= HOST_CPU_MAX) {
        return false;
    }
    memcpy(thread.name, open + 1, close - open - 1);
    thread.fixed = bits & THREAD_FLAG_NO_SETAFFINITY;
    *ret_thread = thread;
    return true;
}

static bool read_stat(int dir, const char *path, HostThread *ret_thread)
{
    g_autofree char *text = g_malloc(HOST_FILE_MAX + 1);

    return host_file_read(dir, path, text) == 0 &&
           parse_stat(text, ret_thread);
}

bool host_thread_read(const char *root, int tid, HostThread *ret_thread)
{
    g_autofree char *path = g_strdup_printf("%s/proc/self/task/%d/stat",
                                            root ? root : "", tid);

    return read_stat(AT_FDCWD, path, ret_thread);
}

bool host_thread_read_at(int dir, HostThread *ret_thread)
{
    return read_stat(dir, "stat", ret_thread);
}

static bool is_vhost_name(const char *name)
{
    int64_t owner;

    return g_str_has_prefix(name, "vhost-") &&
           host_file_parse_int(name + strlen("vhost-"), 1, INT_MAX, &owner);
}

bool host_thread_is_vhost(const HostThread *thread)
{
    return is_vhost_name(thread->name);
}

bool host_threads_use_vhost(const char *root)
{
    DIR *dir = open_folder(root, "/proc/self/fd");
    struct dirent *entry;
    bool found = false;

    for (int i = 0; dir && !found && i < DESCRIPTORS_MAX &&
         (entry = readdir(dir)); i++) {
        char target[64];
        ssize_t got = readlinkat(dirfd(dir), entry->d_name, target,
                                 sizeof(target) - 1);

        target[MAX(got, 0)] = 0;
        found = g_str_has_prefix(target, "/dev/vhost-");
    }
    if (dir) {
        closedir(dir);
    }
    return found;
}

GArray *host_threads_kernel_vhost(const char *root, int pid)
{
    g_autofree char *wanted = g_strdup_printf("vhost-%d", pid);
    g_autofree char *text = g_malloc(HOST_FILE_MAX + 1);
    GArray *tids = g_array_new(FALSE, FALSE, sizeof(int));
    DIR *dir = open_folder(root, "/proc");
    struct dirent *entry;

    for (int i = 0; dir && i < PROCESSES_MAX && tids->len < HOST_THREADS_MAX &&
         (entry = readdir(dir)); i++) {
        int id = entry_number(entry);
        char path[32];

        snprintf(path, sizeof(path), "%d/comm", id);
        if (id && host_file_read(dirfd(dir), path, text) == 0 &&
            g_str_equal(text, wanted)) {
            g_array_append_val(tids, id);
        }
    }
    if (dir) {
        closedir(dir);
    }
    g_array_sort(tids, compare_ids);
    return tids;
}
