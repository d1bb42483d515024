/*
 * What /sys says about a host's CPUs, before it is made consistent
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef HW_SCHED_CORE_HOST_SYSFS_H
#define HW_SCHED_CORE_HOST_SYSFS_H

#include "hw/sched/host-topology.h"

#define CPU_DIR "/sys/devices/system/cpu"
#define NODE_DIR "/sys/devices/system/node"

/* Linux and the architectures know levels up to 4; one digit is plenty. */
#define HOST_SYSFS_LEVEL_MAX 9

/* Data or unified caches kept per CPU: one a level, and some to spare. */
#define HOST_SYSFS_CACHES_MAX 4

/* A CPU set as a file named it; shared by all CPUs that name the same text. */
typedef struct SysfsSet {
    HostCpuSet cpus;
    uint64_t bytes[HOST_SYSFS_LEVEL_MAX + 1]; /* of the cache with this set */
    unsigned sized;       /* bit per level: bytes[] was looked for */
} SysfsSet;

typedef struct SysfsCache {
    int level;
    const SysfsSet *set;
} SysfsCache;

/* What an online CPU's own files say.  NULL, -1 and 0: nothing usable. */
typedef struct SysfsCpu {
    const SysfsSet *core;    /* its SMT siblings */
    const SysfsSet *package_cpus; /* read only where @package is not known */
    int package;
    unsigned capacity;
    /* Highest level first.  Those below a level 3 are not looked for. */
    int n_caches;
    SysfsCache caches[HOST_SYSFS_CACHES_MAX];
} SysfsCpu;

typedef struct SysfsNode {
    int id;
    HostCpuSet cpus;
    bool has_memory;
    uint64_t mem_bytes;
    int n_distances;
    unsigned *distances;     /* as many as the file has, 0: not a distance */
} SysfsNode;

typedef struct SysfsNote {
    const char *topic;       /* literal; equal topics are counted together */
    int err;
    int more;
    char *text;
} SysfsNote;

typedef struct HostSysfs {
    HostCpuSet possible, online, isolated;
    HostCpuSet performance, efficiency;
    int n_cpus;
    SysfsCpu *cpus;
    int n_nodes;             /* 0: no node folder */
    SysfsNode *nodes;        /* ascending by id */
    HostCpuSet possible_nodes;
    GHashTable *sets;        /* text -> SysfsSet */
    GArray *notes;           /* of SysfsNote */
    char *buf;               /* HOST_FILE_MAX + 1 */
} HostSysfs;

/* NULL and @err (a HostTopologyError) without a usable list of CPUs. */
HostSysfs *host_sysfs_read(const char *root, GError **err);
void host_sysfs_free(HostSysfs *sysfs); /* NULL is allowed */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(HostSysfs, host_sysfs_free)

/*
 * Add a note.  Notes of one @topic and @err (negative errno or 0) are kept
 * once, with a count, so that a host where nothing can be read has a few notes
 * rather than one per CPU and file.
 */
void host_sysfs_note(HostSysfs *sysfs, const char *topic, int err,
                     const char *format, ...) G_GNUC_PRINTF(4, 5);

/* A file that holds a CPU or node list: 0, or a negative errno. */
int host_sysfs_list(HostSysfs *sysfs, int dir, const char *name,
                    HostCpuSet *ret_set);

/* The nodes' part of host_sysfs_read(). */
void host_sysfs_read_nodes(HostSysfs *sysfs, const char *root);

/* The node whose link cpu@cpu/nodeN exists, or -1. */
int host_sysfs_node_link(const char *root, int cpu);

/* All notes as strings, in the order of their first cause. */
GPtrArray *host_sysfs_take_notes(HostSysfs *sysfs);

#endif
