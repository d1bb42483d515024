/*
 * Which vCPUs may share a core, and which cores each cookie gets
 *
 * Pure: no I/O, no clock, no global state; the same input gives the same
 * answer.  Cookies are small numbers, equal where the user's texts are equal.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef HW_SCHED_TRUST_CORES_H
#define HW_SCHED_TRUST_CORES_H

#include "hw/sched/placement.h"

/* vCPUs without a cookie trust each other and nobody else, as in Linux. */
#define TRUST_COOKIE_NONE 0u

/* One for each vCPU that there can be, and none. */
#define TRUST_COOKIE_MAX GUEST_VCPU_MAX

static inline bool trust_may_share_core(unsigned cookie_a, unsigned cookie_b)
{
    return cookie_a == cookie_b;
}

/*
 * The cores (indexes into host->cores, as a set) on which a thread with @mask
 * may be.  All of them if the mask is not known (NULL), is empty, or holds a
 * CPU that is not online: when that comes online, it can be any core's.
 */
void trust_cores_widen(const HostTopology *host, const HostCpuSet *mask,
                       HostCpuSet *ret_cores);

/*
 * Number the domains: sets of which each meets another of the same domain.
 * @ret_domain gets one number for each of the @n sets of @cores, 0 .. by the
 * first member; -1 for an empty set.  Returns how many domains there are.
 */
int trust_domains(const HostCpuSet *const *cores, int n, int *ret_domain);

#endif
