/*
 * How long a thread runs at a stretch, and so how soon when it wakes up
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef HW_SCHED_HOST_SLICE_H
#define HW_SCHED_HOST_SLICE_H

#include <stdint.h>

/* What Linux takes: from 100 us to 100 ms. */
#define HOST_SLICE_NS_MIN (100 * 1000ull)
#define HOST_SLICE_NS_MAX (100 * 1000 * 1000ull)

/*
 * Ask for slices of @ns for thread @tid (0: the caller); threads that it
 * starts do not inherit them.  Linux 6.12 and later runs a thread of short
 * slices sooner when it wakes up, for as much CPU time as before; earlier ones
 * ignore it.  0, or a negative errno: -EOPNOTSUPP the thread is not one of
 * SCHED_OTHER, so its priority is somebody's choice, -ESRCH it is gone, -EPERM
 * or -ENOSYS a filter forbids it.
 */
int host_slice_set(int tid, uint64_t ns);

/*
 * The slice of @tid as the kernel has it, in ns; 0: it does not say, since it
 * knows none.  Negative errno if it cannot be asked.
 */
int64_t host_slice_get(int tid);

#endif
