/*
 * Reads the quotas of the cgroups above a thread
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "hw/sched/host-quota.h"

#include "host-file.h"

/* What is read of one hierarchy. */
typedef struct QuotaReader {
    HostQuotas *quotas;
    HostCgroupVersion version;
    int mount;
    char *text;                 /* HOST_FILE_MAX + 1 bytes */
    int hidden;
} QuotaReader;

/* The quota of the open folder of a group.  0 or a negative errno. */
static int read_quota(QuotaReader *reader, int dir, HostQuota *ret_quota)
{
    g_autofree char *quota = NULL;
    bool good;
    int err;

    err = host_file_read(dir, reader->version == HOST_CGROUP_V2
                              ? "cpu.max" : "cpu.cfs_quota_us", reader->text);
    if (err) {
        /* the first group has none, nor where the controller is off */
        return err == -ENOENT ? 0 : err;
    }
    if (reader->version == HOST_CGROUP_V2) {
        good = host_quota_parse_max(reader->text, ret_quota);
    } else {
        quota = g_strdup(reader->text);
        err = host_file_read(dir, "cpu.cfs_period_us", reader->text);
        if (err) {
            return err;
        }
        good = host_quota_parse_cfs(quota, reader->text, ret_quota);
    }
    return good ? 0 : -EBADMSG;
}

/* Number of the group @path, which is read if it is new, or negative errno. */
static int read_group(QuotaReader *reader, const char *path, int parent)
{
    HostQuota quota = { };
    int dir, err, group = host_quotas_find(reader->quotas, path);

    if (group >= 0) {
        return group;
    }
    dir = host_file_open_dir_at(reader->mount, path[1] ? path + 1 : ".");
    if (dir == -ENOENT) {
        return dir;
    }
    err = dir < 0 ? dir : read_quota(reader, dir, &quota);
    if (dir >= 0) {
        close(dir);
    }
    if (err) {
        reader->hidden = err;
    }
    group = host_quotas_add(reader->quotas, path, parent, &quota);
    return group < 0 ? -ENOSPC : group;
}

/*
 * From the first group down to @path.  In a container without a cgroup
 * namespace the path is the host's, and what is mounted begins further down:
 * then that is all that can be seen.
 */
static int read_groups(QuotaReader *reader, char *path)
{
    int group = read_group(reader, "/", -1);

    for (char *end = path; group >= 0 && *end && path[1];) {
        char kept;
        int next;

        end++;
        end += strcspn(end, "/");
        kept = *end;
        *end = 0;
        next = read_group(reader, path, group);
        *end = kept;
        if (next == -ENOENT) {
            break;
        }
        group = next;
    }
    return group;
}

/* A thread may be in a cgroup of its own; a process has one in any case. */
static int read_path(QuotaReader *reader, const char *root, int tid,
                     char **ret_path)
{
    g_autofree char *thread =
        g_strdup_printf("%s/proc/self/task/%d/cgroup", root, tid);
    g_autofree char *process = g_strconcat(root, "/proc/self/cgroup", NULL);
    int err = host_file_read(AT_FDCWD, thread, reader->text);

    if (err == -ENOENT) {
        err = host_file_read(AT_FDCWD, process, reader->text);
    }
    if (err) {
        return err;
    }
    return host_quota_parse_cgroup(reader->text, &reader->version, ret_path)
           ? 0 : -EBADMSG;
}

int host_quotas_read(HostQuotas *quotas, const char *root, int tid,
                     int *ret_hidden)
{
    g_autofree char *text = g_malloc(HOST_FILE_MAX + 1);
    g_autofree char *path = NULL;
    QuotaReader reader = { .quotas = quotas, .text = text };
    int group = read_path(&reader, root, tid, &path);

    if (group < 0) {
        return group;
    }
    group = host_quotas_find(quotas, path);
    if (group >= 0) {
        return group;
    }
    reader.mount = host_cgroup_open_mount(root, reader.version, "cpu",
                                          "cpu,cpuacct");
    if (reader.mount < 0) {
        return reader.mount;
    }
    group = read_groups(&reader, path);
    close(reader.mount);
    if (reader.hidden) {
        *ret_hidden = reader.hidden;
    }
    return group;
}

const char *host_quotas_strerror(int err)
{
    return host_file_strerror(err);
}
