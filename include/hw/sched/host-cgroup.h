/*
 * Which cgroup a thread is in, and what is mounted where
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef HW_SCHED_HOST_CGROUP_H
#define HW_SCHED_HOST_CGROUP_H

#include <glib.h>
#include <stdbool.h>

/*
 * A guest's vCPU is about ten cgroups deep in a pod of a nested cluster.  What
 * is deeper is refused: every level is a file to read.
 */
#define HOST_CGROUP_DEPTH_MAX 64

typedef enum HostCgroupVersion {
    HOST_CGROUP_V1,             /* a hierarchy of the controller's own */
    HOST_CGROUP_V2,
} HostCgroupVersion;

/*
 * The cgroup of @controller, from the text of /proc/PID/cgroup: an absolute
 * path that the caller frees.  False if there is none, or one that Linux does
 * not print.
 */
bool host_cgroup_parse(const char *text, const char *controller,
                       HostCgroupVersion *ret_version, char **ret_path);

/*
 * Open the folder where that hierarchy is mounted, in v1 under one of two
 * names.  A descriptor, or a negative errno.
 *
 * It is where every distribution and container mounts them.  The table of
 * mounts is not asked: AppArmor hides it from libvirt's guests, and on a busy
 * host it is longer than anything else that is read here.
 */
int host_cgroup_open_mount(const char *root, HostCgroupVersion version,
                           const char *first, const char *second);

#endif
