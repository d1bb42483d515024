/*
 * Whose is a thread's mask: ours, or somebody else's from outside?
 *
 * Pure.  One watch per vCPU thread; the caller reads the masks and sets them.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef HW_SCHED_MASK_WATCH_H
#define HW_SCHED_MASK_WATCH_H

#include "hw/sched/host-cpuset.h"

/*
 * libvirt resets every mask once before it lets the guest run, so one reset is
 * no contest; whoever does it three times in ten looks means it.
 */
#define MASK_WATCH_LOOKS 10
#define MASK_WATCH_RESETS 3

typedef enum MaskOwner {
    MASK_UNSET,      /* free to be set: nobody has chosen a mask yet */
    MASK_OURS,       /* what we set, as far as the kernel allows it now */
    MASK_RESET,      /* was ours, somebody reset it to everything: set again */
    MASK_FOREIGN,    /* chosen by somebody else: keep off */
    MASK_CONTESTED,  /* reset again and again: keep off */
} MaskOwner;

/* Zero-initialized: nothing set yet. */
typedef struct MaskWatch {
    bool set;               /* @ours holds */
    HostCpuSet ours;        /* what we set last, as the kernel granted it */
    HostCpuSet allowed;     /* what was allowed at the last look */
    uint32_t resets;        /* bit n: a reset was seen n looks ago */
    bool contested;
} MaskWatch;

/*
 * Judge @current, the thread's mask now, with @allowed, what the process may
 * use now.  One call is one look.
 */
MaskOwner mask_watch_look(MaskWatch *watch, const HostCpuSet *current,
                          const HostCpuSet *allowed);

/* We set the mask, and the kernel made it @granted. */
void mask_watch_was_set(MaskWatch *watch, const HostCpuSet *granted);

/* An operator asked for a new plan: forget the contest. */
void mask_watch_forgive(MaskWatch *watch);

#endif
