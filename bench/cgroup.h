/*
 * The kernel's CPU bandwidth control, for the benchmark: a tree of cgroups
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef BENCH_CGROUP_H
#define BENCH_CGROUP_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * A group of our own below the root of the cpu controller, version 1 or 2.
 * What runs in it goes before all else in the machine, as far as the kernel
 * lets a group.  Groups in it have names relative to it.
 */
typedef struct CgroupTree CgroupTree;

/* NULL and @err: there is no such controller, or it is not ours to use. */
CgroupTree *cgroup_tree_new(GError **err);

/* Remove all groups of it, whose processes must have ended. NULL is allowed. */
void cgroup_tree_free(CgroupTree *tree);

/* The folder, and 1 or 2. */
const char *cgroup_tree_path(const CgroupTree *tree);
int cgroup_tree_version(const CgroupTree *tree);

/*
 * What follows ends the program when it fails.  A group for processes is
 * directly below the tree; one for threads is below a group whose processes
 * they belong to.
 */
void cgroup_make(CgroupTree *tree, const char *name);
void cgroup_make_for_threads(CgroupTree *tree, const char *name);
void cgroup_remove(CgroupTree *tree, const char *name);
void cgroup_add_process(CgroupTree *tree, const char *name, pid_t pid);
void cgroup_add_thread(CgroupTree *tree, const char *name, pid_t tid);

/* @quota_us of 0: no limit. */
void cgroup_set_limits(CgroupTree *tree, const char *name, int64_t quota_us,
                       int64_t period_us, int64_t burst_us);

/* In how many periods it was throttled. */
uint64_t cgroup_throttled_periods(CgroupTree *tree, const char *name);

#endif
