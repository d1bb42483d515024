/*
 * How much CPU time the host's cgroups leave to threads of this process
 *
 * Every cgroup above a thread may have a quota for all that is in it: libvirt
 * sets them (schedinfo, <cputune>), and systemd, Kubernetes and administrators
 * above it.  They are read and compared, never written.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef HW_SCHED_HOST_QUOTA_H
#define HW_SCHED_HOST_QUOTA_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "hw/sched/host-cgroup.h"

/* A cgroup for each vCPU of the largest guest, and what is above them. */
#define HOST_QUOTA_GROUPS_MAX 16384

/* Linux takes periods of 1 ms to 1 s, and quotas of up to 2^44 ns. */
#define HOST_QUOTA_PERIOD_US_MAX 1000000
#define HOST_QUOTA_US_MAX (G_GINT64_CONSTANT(1) << 44)

typedef struct HostQuota {
    int64_t quota_us;           /* 0: no limit */
    int64_t period_us;
} HostQuota;

/*
 * The cgroup that limits CPU time, from the text of /proc/PID/cgroup: an
 * absolute path that the caller frees.  False if there is none, or one that
 * Linux does not print.
 */
bool host_quota_parse_cgroup(const char *text, HostCgroupVersion *ret_version,
                             char **ret_path);

/* "max 100000" or "20000 100000", of cpu.max in cgroup v2. */
bool host_quota_parse_max(const char *text, HostQuota *ret_quota);

/* The two files of v1: quotas of -1 are no limit. */
bool host_quota_parse_cfs(const char *quota, const char *period,
                          HostQuota *ret_quota);

/* @a leaves less CPU time than @b. */
bool host_quota_tighter(const HostQuota *a, const HostQuota *b);

/*
 * The cgroups of some threads with all that are above them, each once.  A
 * group is known by its number, which is above that of its parent.
 */
typedef struct HostQuotas HostQuotas;

HostQuotas *host_quotas_new(void);
void host_quotas_free(HostQuotas *quotas);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(HostQuotas, host_quotas_free)

/* Number of the group @path, or -1. */
int host_quotas_find(const HostQuotas *quotas, const char *path);

/*
 * Add a group that is not there below @parent, -1 for the first: its number,
 * or -1 if there are HOST_QUOTA_GROUPS_MAX.
 */
int host_quotas_add(HostQuotas *quotas, const char *path, int parent,
                    const HostQuota *quota);

/*
 * Read the cgroup of thread @tid of this process, and those above it up to
 * what is visible, below @root ("": the running host).  Its number, or a
 * negative errno.  A group that cannot be read counts as unlimited, and sets
 * @ret_hidden to a negative errno.
 */
int host_quotas_read(HostQuotas *quotas, const char *root, int tid,
                     int *ret_hidden);

/* What a negative errno of that means, for people. */
const char *host_quotas_strerror(int err);

/*
 * The group with the tightest quota of @group and those above it; the deepest,
 * where some are equal; -1: there is no limit.
 */
int host_quotas_tightest(const HostQuotas *quotas, int group);

/* Both live as long as @quotas, until one more is added. */
const char *host_quotas_path(const HostQuotas *quotas, int group);
const HostQuota *host_quotas_quota(const HostQuotas *quotas, int group);

/*
 * How many CPUs @n threads in these groups (-1: not known, so not limited) may
 * use together at most.  A thread uses one.
 */
double host_quotas_cpus(const HostQuotas *quotas, const int *groups, int n);

#endif
