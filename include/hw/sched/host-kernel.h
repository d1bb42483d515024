/*
 * Whether the host's kernel gathers threads by last-level cache itself
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef HW_SCHED_HOST_KERNEL_H
#define HW_SCHED_HOST_KERNEL_H

/* Cache-aware scheduling, in Linux since 7.2 (CONFIG_SCHED_CACHE). */
typedef enum HostCacheAware {
    HOST_CACHE_AWARE_UNKNOWN, /* new enough, and its switch cannot be read */
    HOST_CACHE_AWARE_NO,      /* too old, built without, or switched off */
    HOST_CACHE_AWARE_YES,
} HostCacheAware;

/*
 * By the switch in debugfs, which root may read, else by the kernel's release.
 * @root is put before each path; "": the running host.
 */
HostCacheAware host_kernel_cache_aware(const char *root);

#endif
