/*
 * The CPU masks of this process's threads, and what the kernel allows
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "hw/sched/host-affinity.h"

/*
 * glibc's cpu_set_t is an array of unsigned long with CPU n at bit n of the
 * whole.  On 64-bit hosts, the only ones that QEMU 10 supports KVM for, and on
 * any little-endian one, that is the layout of HostCpuSet as well.
 */
G_STATIC_ASSERT(sizeof(long) == 8 || G_BYTE_ORDER == G_LITTLE_ENDIAN);

int host_affinity_get(int tid, HostCpuSet *ret_mask)
{
    HostCpuSet mask = { { 0 } };

    /* Larger than any kernel's own mask, so never EINVAL for its size. */
    if (sched_getaffinity(tid, sizeof(mask), (cpu_set_t *)mask.words) < 0) {
        return -errno;
    }
    *ret_mask = mask;
    return 0;
}

int host_affinity_set(int tid, const HostCpuSet *mask)
{
    const cpu_set_t *set = (const cpu_set_t *)mask->words;

    return sched_setaffinity(tid, sizeof(*mask), set) < 0 ? -errno : 0;
}

typedef struct AffinityProbe {
    const HostCpuSet *limit;
    HostCpuSet allowed;
    int ret;
} AffinityProbe;

/*
 * The kernel cuts what is asked for down to the cpuset, so what it grants of
 * @limit is the answer.  A thread that cannot ask keeps its creator's mask.
 */
static void *host_affinity_probe_thread(void *opaque)
{
    AffinityProbe *probe = opaque;
    int err = host_affinity_set(0, probe->limit);

    if (err && err != -EPERM) {
        probe->ret = err;
        return NULL;
    }
    probe->ret = host_affinity_get(0, &probe->allowed);
    return NULL;
}

int host_affinity_probe(const HostCpuSet *limit, HostCpuSet *ret_allowed)
{
    AffinityProbe probe = { .limit = limit };
    pthread_t thread;
    int err;

    err = pthread_create(&thread, NULL, host_affinity_probe_thread, &probe);
    if (err) {
        return -err;
    }
    pthread_join(thread, NULL);
    if (probe.ret) {
        return probe.ret;
    }
    host_cpuset_and(&probe.allowed, limit);
    *ret_allowed = probe.allowed;
    return 0;
}
