/*
 * The CPUs that a cgroup leaves to the processes in it
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef HELPER_CGROUP_H
#define HELPER_CGROUP_H

#include "hw/sched/host-cpuset.h"

/*
 * The CPUs of the cpuset of the process whose /proc/PID/cgroup says @text,
 * below @root ("": the running host).  False, with @ret_cpus untouched: its
 * cgroup is not visible from here.
 */
bool cgroup_cpuset(const char *root, const char *text, HostCpuSet *ret_cpus);

#endif
