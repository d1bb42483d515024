/*
 * How long a thread runs at a stretch, and so how soon when it wakes up
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <errno.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hw/sched/host-slice.h"

/*
 * struct sched_attr in its first size, which all kernels take: <linux/sched/
 * types.h> collides with <sched.h> of older C libraries, and these have no
 * function for it.
 */
typedef struct SliceAttr {
    uint32_t size;
    uint32_t policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime;           /* the slice, for SCHED_OTHER */
    uint64_t deadline;
    uint64_t period;
} SliceAttr;

#define SLICE_RESET_ON_FORK 1   /* SCHED_FLAG_RESET_ON_FORK */

static int slice_attr_get(int tid, SliceAttr *ret_attr)
{
    SliceAttr attr = { 0 };

    if (syscall(SYS_sched_getattr, tid, &attr, sizeof(attr), 0) < 0) {
        return -errno;
    }
    *ret_attr = attr;
    return 0;
}

int host_slice_set(int tid, uint64_t ns)
{
    SliceAttr attr = { 0 };
    int ret = slice_attr_get(tid, &attr);

    if (ret) {
        return ret;
    }
    if (attr.policy != SCHED_OTHER) {
        return -EOPNOTSUPP;
    }
    attr.size = sizeof(attr);
    attr.flags |= SLICE_RESET_ON_FORK;
    attr.runtime = ns;
    return syscall(SYS_sched_setattr, tid, &attr, 0) < 0 ? -errno : 0;
}

int64_t host_slice_get(int tid)
{
    SliceAttr attr = { 0 };
    int ret = slice_attr_get(tid, &attr);

    return ret ? ret : (int64_t)attr.runtime;
}
