/*
 * Fuzzes what is read of cgroups: /proc/PID/cgroup and the files of quotas
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <stdlib.h>
#include <string.h>
#include "hw/sched/host-quota.h"
#include "fuzz.h"

static void check_quota(const HostQuota *quota)
{
    if (quota->quota_us < 0 || quota->quota_us > HOST_QUOTA_US_MAX ||
        quota->period_us < 1 || quota->period_us > HOST_QUOTA_PERIOD_US_MAX) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autofree char *text = g_strndup((const char *)data, size);
    g_autofree char *path = NULL;
    HostCgroupVersion version;
    HostQuota quota;

    /* No path leads out of the folder that it is looked up in. */
    if (host_quota_parse_cgroup(text, &version, &path) &&
        (*path != '/' || strstr(path, "//") || strstr(path, "/../") ||
         strchr(path, '\n') || g_str_has_suffix(path, "/.."))) {
        abort();
    }
    if (host_quota_parse_max(text, &quota)) {
        check_quota(&quota);
    }
    if (host_quota_parse_cfs(text, text, &quota)) {
        check_quota(&quota);
    }
    return 0;
}
