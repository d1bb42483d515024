/*
 * Whose is a thread's mask: ours, or somebody else's from outside?
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "hw/sched/mask-watch.h"

static bool mask_watch_is_ours(const MaskWatch *watch,
                               const HostCpuSet *current,
                               const HostCpuSet *allowed)
{
    HostCpuSet now = watch->ours;

    if (!watch->set) {
        return false;
    }
    if (host_cpuset_equal(current, &watch->ours)) {
        return true;
    }
    /* A shrinking cpuset or a CPU gone offline cuts our mask, too. */
    host_cpuset_and(&now, allowed);
    return !host_cpuset_empty(&now) && host_cpuset_equal(current, &now);
}

/*
 * A reset that came with a change of what is allowed is the kernel's: before
 * Linux 6.2 a changed cpuset overwrote every mask in it.
 */
static bool mask_watch_count_reset(MaskWatch *watch, const HostCpuSet *allowed)
{
    if (host_cpuset_equal(&watch->allowed, allowed)) {
        watch->resets |= 1;
    }
    return __builtin_popcount(watch->resets) >= MASK_WATCH_RESETS;
}

MaskOwner mask_watch_look(MaskWatch *watch, const HostCpuSet *current,
                          const HostCpuSet *allowed)
{
    MaskOwner owner;

    watch->resets = (watch->resets << 1) & ((1u << MASK_WATCH_LOOKS) - 1);
    if (watch->contested) {
        owner = MASK_CONTESTED;
    } else if (host_cpuset_empty(allowed)) {
        /*
         * A cpuset outside of our limit: the kernel chose the mask, and there
         * is none that we could set instead.
         */
        owner = watch->set ? MASK_OURS : MASK_UNSET;
    } else if (mask_watch_is_ours(watch, current, allowed)) {
        owner = MASK_OURS;
    } else if (host_cpuset_empty(current)) {
        /*
         * All its CPUs went offline while the thread slept: the kernel will
         * let it run anywhere when it wakes, whoever set the mask.
         */
        owner = watch->set ? MASK_RESET : MASK_UNSET;
    } else if (!host_cpuset_subset(allowed, current)) {
        owner = MASK_FOREIGN;
    } else if (!watch->set) {
        owner = MASK_UNSET;
    } else {
        watch->contested = mask_watch_count_reset(watch, allowed);
        owner = watch->contested ? MASK_CONTESTED : MASK_RESET;
    }
    watch->allowed = *allowed;
    return owner;
}

void mask_watch_was_set(MaskWatch *watch, const HostCpuSet *granted)
{
    watch->set = true;
    watch->ours = *granted;
}

void mask_watch_forgive(MaskWatch *watch)
{
    watch->contested = false;
    watch->resets = 0;
}
