/*
 * Which cgroup a thread is in, and what is mounted where
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <errno.h>
#include <string.h>

#include "hw/sched/host-cgroup.h"

#include "host-file.h"

#define CGROUPS "/sys/fs/cgroup"

/* No way up, nothing empty, and not deeper than anyone needs. */
static bool good_path(const char *path)
{
    g_auto(GStrv) names = NULL;
    int depth;

    if (*path != '/' || strlen(path) > HOST_FILE_MAX) {
        return false;
    }
    if (!path[1]) {
        return true;
    }
    names = g_strsplit(path + 1, "/", HOST_CGROUP_DEPTH_MAX + 1);
    for (depth = 0; names[depth]; depth++) {
        if (!*names[depth] || g_str_equal(names[depth], ".") ||
            g_str_equal(names[depth], "..")) {
            return false;
        }
    }
    return depth <= HOST_CGROUP_DEPTH_MAX;
}

/* "4:cpu,cpuacct:/path": is @controller one of the controllers? */
static bool is_among(const char *controller, const char *controllers)
{
    g_auto(GStrv) names = g_strsplit(controllers, ",", -1);

    return g_strv_contains((const char *const *)names, controller);
}

bool host_cgroup_parse(const char *text, const char *controller,
                       HostCgroupVersion *ret_version, char **ret_path)
{
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    g_autofree char *path = NULL;
    HostCgroupVersion version = HOST_CGROUP_V2;

    for (char **line = lines; *line && version == HOST_CGROUP_V2; line++) {
        g_auto(GStrv) fields = g_strsplit(*line, ":", 3);

        if (g_strv_length(fields) != 3) {
            continue;
        }
        if (is_among(controller, fields[1])) {
            version = HOST_CGROUP_V1;
        } else if (!g_str_equal(fields[0], "0") || *fields[1]) {
            continue;
        }
        g_free(path);
        path = g_strdup(fields[2]);
    }
    if (!path || !good_path(path)) {
        return false;
    }
    *ret_version = version;
    *ret_path = g_steal_pointer(&path);
    return true;
}

int host_cgroup_open_mount(const char *root, HostCgroupVersion version,
                           const char *first, const char *second)
{
    const char *const names[] = {
        version == HOST_CGROUP_V2 ? "unified" : first,
        version == HOST_CGROUP_V2 ? NULL : second,
    };
    int dir = -ENOENT;

    for (size_t i = 0; i < G_N_ELEMENTS(names) && dir == -ENOENT; i++) {
        g_autofree char *path = g_strconcat(CGROUPS, names[i] ? "/" : NULL,
                                            names[i], NULL);

        dir = host_file_open_dir(root, path);
    }
    return dir;
}
