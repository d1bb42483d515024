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
#include <unistd.h>

#include "hw/sched/host-affinity.h"

#include "host-file.h"

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

    if (err == -EINVAL) {
        return NULL; /* nothing of @limit is in the cpuset and online */
    }
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

/*
 * The caller's mask with the offline CPUs in it, which sched_getaffinity()
 * leaves out.
 */
static bool host_affinity_whole(HostCpuSet *ret_mask)
{
    static const char field[] = "\nCpus_allowed_list:\t";
    g_autofree char *text = g_malloc(HOST_FILE_MAX + 1);
    int dir = host_file_open_dir("", "/proc/thread-self");
    char *list, *end;
    int ret;

    if (dir < 0) {
        return false;
    }
    ret = host_file_read(dir, "status", text);
    close(dir);
    list = ret ? NULL : strstr(text, field);
    if (!list) {
        return false;
    }
    list += strlen(field);
    end = strchr(list, '\n');
    if (end) {
        *end = 0;
    }
    return host_cpuset_parse_list(list, ret_mask);
}

int host_affinity_limit(HostCpuSet *ret_limit)
{
    HostCpuSet everything = { { 0 } }, allowed, own;
    int ret;

    for (int cpu = 0; cpu < HOST_CPU_MAX; cpu++) {
        host_cpuset_add(&everything, cpu);
    }
    ret = host_affinity_probe(&everything, &allowed);
    if (ret == 0 && !host_affinity_whole(&own)) {
        ret = host_affinity_get(0, &own);
    }
    if (ret) {
        return ret;
    }
    *ret_limit = host_cpuset_equal(&own, &allowed) ? everything : own;
    return 0;
}
