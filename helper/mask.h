/*
 * Sets the mask of a thread that has been proven, and of no other
 *
 * The kernel takes a thread's number, and a number can pass to another thread
 * at any moment.  So it is looked at again when the mask is set: if it has
 * changed hands, the new owner gets back the mask that it came with.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef HELPER_MASK_H
#define HELPER_MASK_H

#include "hw/sched/helper-protocol.h"

#include "process.h"

/* What is asked of the kernel, so that every order of events can be tested. */
typedef struct MaskKernel {
    /* As host_affinity_get() and _set(); set as the user @uid if possible. */
    int (*get)(pid_t tid, HostCpuSet *ret_mask);
    int (*set)(pid_t tid, uid_t uid, const HostCpuSet *mask);
    bool (*same)(const ProcessThread *thread);
    /* Whose mask a new thread @tid starts with; 0: there is no such thread. */
    pid_t (*maker)(pid_t tid);
} MaskKernel;

extern const MaskKernel mask_kernel;

/*
 * Give @thread the CPUs of @mask that are in @allowed.  HELPER_CHANGED_HANDS
 * comes with @ret_note (else untouched; the caller frees it) if another thread
 * may have had the mask for a moment.
 */
HelperStatus mask_set(const MaskKernel *kernel, const ProcessThread *thread,
                      const HostCpuSet *mask, const HostCpuSet *allowed,
                      char **ret_note);

#endif
