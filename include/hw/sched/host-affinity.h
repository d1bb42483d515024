/*
 * The CPU masks of this process's threads, and what the kernel allows
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef HW_SCHED_HOST_AFFINITY_H
#define HW_SCHED_HOST_AFFINITY_H

#include "hw/sched/host-cpuset.h"

/*
 * The mask of thread @tid (0: the caller) as the kernel reports it: online
 * CPUs of its cpuset only.  0, or a negative errno with @ret_mask untouched.
 */
int host_affinity_get(int tid, HostCpuSet *ret_mask);

/*
 * Set the mask of @tid.  The kernel intersects it with the thread's cpuset.
 * 0, or a negative errno: -EINVAL no CPU of @mask is online and allowed,
 * -ESRCH the thread is gone, -EPERM a seccomp filter or another owner.
 */
int host_affinity_set(int tid, const HostCpuSet *mask);

/*
 * The CPUs that this process may use now: its cpuset and online CPUs, within
 * @limit.  Asked of the kernel by a thread made for it, so that no mask of
 * another thread changes.  Where asking is denied (seccomp), the caller's own
 * mask within @limit stands for it.  0, or a negative errno; that nothing of
 * @limit may be used is no error but an empty @ret_allowed.
 */
int host_affinity_probe(const HostCpuSet *limit, HostCpuSet *ret_allowed);

/*
 * The limit that the caller's mask is on where this process may run: that
 * mask, if somebody chose it, or every CPU that there can be.  A mask of all
 * that the cpuset and the online CPUs allow is nobody's choice, so CPUs that
 * are added to these later may be used.  (A mask that somebody chose equal to
 * just that cannot be told apart.)  0, or a negative errno.
 */
int host_affinity_limit(HostCpuSet *ret_limit);

#endif
