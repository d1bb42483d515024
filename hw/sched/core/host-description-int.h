/*
 * A parsed host description
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef HW_SCHED_CORE_HOST_DESCRIPTION_INT_H
#define HW_SCHED_CORE_HOST_DESCRIPTION_INT_H

#include "hw/sched/host-description.h"

/* The layout keys: which files the made tree has. */
typedef enum DescriptionLayout {
    LAYOUT_MASKS_ONLY = 1 << 0, /* no *_list files */
    LAYOUT_NO_CPU_LISTS = 1 << 1, /* no cpu/online, possible, present */
    LAYOUT_NO_CACHE_ID = 1 << 2,
    LAYOUT_ONLY_LLC = 1 << 3,   /* each CPU's highest cache has a folder */
} DescriptionLayout;

/* A cache, core or package: every instance has one, shorthand is expanded. */
typedef struct DescribedCache {
    int level;
    char type;               /* 'd'ata, 'i'nstruction, 'u'nified */
    uint64_t bytes;          /* 0: no size file */
    HostCpuSet cpus;
} DescribedCache;

typedef struct DescribedPackage {
    int id;
    HostCpuSet cpus;
} DescribedPackage;

typedef struct DescribedNode {
    int id;
    HostCpuSet cpus;
    bool has_memory;
    uint64_t mem_bytes;      /* 0 with has_memory: no meminfo file */
    int n_distances;
    unsigned *distances;     /* to each node, ascending by id; NULL: no file */
    int distance_line;
} DescribedNode;

typedef enum DescribedKind {
    KIND_PERFORMANCE, KIND_EFFICIENCY, KIND_LOW_POWER, KIND_COUNT
} DescribedKind;

struct HostDescription {
    HostCpuSet possible, online;
    HostCpuSet isolated, nohz_full, partition;
    HostCpuSet kinds[KIND_COUNT];
    unsigned layout;
    int n_cpus;              /* highest possible + 1 */
    uint16_t *capacities;    /* n_cpus, NULL: no cpu_capacity files */
    GArray *caches;          /* of DescribedCache, in file order */
    GArray *cores;           /* of HostCpuSet */
    GArray *packages;        /* of DescribedPackage */
    GArray *nodes;           /* of DescribedNode, ascending by id */
    GArray *offline_nodes;   /* of DescribedPackage: CPUs still link to them */
};

typedef enum HostDescriptionError {
    HOST_DESCRIPTION_ERROR_SYNTAX,
    HOST_DESCRIPTION_ERROR_IO,
} HostDescriptionError;

#endif
