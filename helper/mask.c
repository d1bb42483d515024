/*
 * Sets the mask of a thread that has been proven, and of no other
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <errno.h>

#include "mask.h"

static HelperStatus status_of(int err)
{
    switch (-err) {
    case 0:
        return HELPER_OK;
    case EINVAL:
        return HELPER_NOTHING_ALLOWED;
    case ESRCH:
        return HELPER_CHANGED_HANDS;
    default:
        return HELPER_DENIED;
    }
}

/*
 * The number passed to another thread between two looks at it, microseconds
 * apart, so that thread is new: it came with its maker's mask.  (A mask that
 * was read before the number passed on would be the former owner's.)
 */
static char *put_back(const MaskKernel *kernel, const ProcessThread *thread)
{
    pid_t maker = kernel->maker(thread->tid);
    HostCpuSet now, mask;
    int err;

    if (!maker || kernel->get(thread->tid, &now) == -ESRCH) {
        return NULL;
    }
    err = kernel->get(maker, &mask);
    if (err == 0 && !host_cpuset_equal(&now, &mask)) {
        err = kernel->set(thread->tid, thread->uid, &mask);
    }
    return g_strdup_printf("thread %d changed hands while its mask was set; "
                           "the mask that it came with is %s", thread->tid,
                           err ? g_strerror(-err) : "back");
}

HelperStatus mask_set(const MaskKernel *kernel, const ProcessThread *thread,
                      const HostCpuSet *mask, const HostCpuSet *allowed,
                      char **ret_note)
{
    HostCpuSet wanted = *mask;
    char *note;
    int err;

    host_cpuset_and(&wanted, allowed);
    if (host_cpuset_empty(&wanted)) {
        return HELPER_NOTHING_ALLOWED;
    }
    if (!kernel->same(thread)) {
        return HELPER_CHANGED_HANDS;
    }
    err = kernel->set(thread->tid, thread->uid, &wanted);
    if (kernel->same(thread)) {
        return status_of(err);
    }
    note = err ? NULL : put_back(kernel, thread);
    if (note) {
        *ret_note = note;
    }
    return HELPER_CHANGED_HANDS;
}
