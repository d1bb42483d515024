/*
 * The CPUs that a cgroup leaves to the processes in it
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "hw/sched/host-cgroup.h"

#include "../hw/sched/core/host-file.h"
#include "cgroup.h"

/* Some kernels of v1 have only the last. */
static const char *const files[] = {
    "cpuset.cpus.effective", "cpuset.effective_cpus", "cpuset.cpus",
};

static bool read_cpus(int mount, const char *path, char *buf,
                      HostCpuSet *ret_cpus)
{
    int dir = host_file_open_dir_at(mount, path);
    HostCpuSet cpus = { };
    bool found = false;

    for (size_t i = 0; dir >= 0 && !found && i < G_N_ELEMENTS(files); i++) {
        found = host_file_read(dir, files[i], buf) == 0 &&
                host_cpuset_parse_list(buf, &cpus) &&
                !host_cpuset_empty(&cpus);
    }
    if (dir >= 0) {
        close(dir);
    }
    if (found) {
        *ret_cpus = cpus;
    }
    return found;
}

/*
 * A cgroup without the controller is bound by the nearest one above that has
 * it.  One that is not there at all is elsewhere: nothing is known of it.
 */
static bool read_nearest(int mount, char *path, HostCpuSet *ret_cpus)
{
    g_autofree char *buf = g_malloc(HOST_FILE_MAX + 1);
    int dir = host_file_open_dir_at(mount, path[1] ? path + 1 : ".");

    if (dir < 0) {
        return false;
    }
    close(dir);
    while (path[1]) {
        if (read_cpus(mount, path + 1, buf, ret_cpus)) {
            return true;
        }
        *strrchr(path, '/') = 0;
        if (!*path) {
            break;
        }
    }
    return read_cpus(mount, ".", buf, ret_cpus);
}

bool cgroup_cpuset(const char *root, const char *text, HostCpuSet *ret_cpus)
{
    g_autofree char *path = NULL;
    HostCgroupVersion version;
    bool found;
    int mount;

    if (!host_cgroup_parse(text, "cpuset", &version, &path)) {
        return false;
    }
    mount = host_cgroup_open_mount(root, version, "cpuset", "cpuset");
    if (mount < 0) {
        return false;
    }
    found = read_nearest(mount, path, ret_cpus);
    close(mount);
    return found;
}
