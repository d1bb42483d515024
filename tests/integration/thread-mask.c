/*
 * CPU masks of threads, as another program sees and sets them
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "vm.h"

#include "hw/sched/host-cpuset.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The kernel keeps offline CPUs in a mask, and nothing runs on them. */
static char *online_of(const char *list)
{
    g_autofree char *text = NULL;
    g_autoptr(GError) err = NULL;
    HostCpuSet set, online;

    g_file_get_contents("/sys/devices/system/cpu/online", &text, NULL, &err);
    g_assert_no_error(err);
    g_assert_true(host_cpuset_parse_list(text, &online));
    g_assert_true(host_cpuset_parse_list(list, &set));
    host_cpuset_and(&set, &online);
    return host_cpuset_to_list(&set);
}

char *thread_mask(int tid)
{
    static const char field[] = "\nCpus_allowed_list:\t";
    g_autofree char *path = g_strdup_printf("/proc/%d/status", tid);
    g_autofree char *text = NULL;
    g_autofree char *list = NULL;
    const char *start, *end;

    if (!g_file_get_contents(path, &text, NULL, NULL)) {
        return NULL;
    }
    start = strstr(text, field);
    g_assert_nonnull(start);
    start += strlen(field);
    end = strchr(start, '\n');
    g_assert_nonnull(end);
    list = g_strndup(start, end - start);
    return online_of(list);
}

int thread_set_mask(int tid, const char *cpus)
{
    HostCpuSet set;

    g_assert_true(host_cpuset_parse_list(cpus, &set));
    return syscall(SYS_sched_setaffinity, tid, sizeof(set.words),
                   set.words) < 0 ? errno : 0;
}
