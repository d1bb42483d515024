/*
 * Whether the host's kernel gathers threads by last-level cache itself
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include "hw/sched/host-kernel.h"

#include "host-file.h"

#define SWITCH "/sys/kernel/debug/sched/llc_balancing/enabled"

/* There in every kernel of today whose debugfs can be read. */
#define SWITCHES "/sys/kernel/debug/sched/features"

#define RELEASE "/proc/sys/kernel/osrelease"
#define FIRST_MAJOR 7
#define FIRST_MINOR 2

static int read_file(const char *root, const char *path, char *text)
{
    g_autofree char *full = g_strconcat(root, path, NULL);

    return host_file_read(AT_FDCWD, full, text);
}

static bool is_too_old(const char *root, char *text)
{
    unsigned major, minor;

    return read_file(root, RELEASE, text) == 0 &&
           sscanf(text, "%3u.%3u", &major, &minor) == 2 &&
           (major < FIRST_MAJOR ||
            (major == FIRST_MAJOR && minor < FIRST_MINOR));
}

HostCacheAware host_kernel_cache_aware(const char *root)
{
    g_autofree char *text = g_malloc(HOST_FILE_MAX + 1);
    int ret = read_file(root, SWITCH, text);

    if (ret == 0) {
        return *text == '1' || *text == 'Y' ? HOST_CACHE_AWARE_YES
                                            : HOST_CACHE_AWARE_NO;
    }
    if (is_too_old(root, text) ||
        (ret == -ENOENT && read_file(root, SWITCHES, text) == 0)) {
        return HOST_CACHE_AWARE_NO;
    }
    return HOST_CACHE_AWARE_UNKNOWN;
}
