/*
 * Which sockets, dies, cores and threads of a guest suit a host's LLCs
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef LLCSCHED_TOOL_DOMAIN_SHAPE_H
#define LLCSCHED_TOOL_DOMAIN_SHAPE_H

#include "hw/sched/host-topology.h"

/* The usable cores of a node by LLC, most first. */
typedef struct ShapeNode {
    int id;             /* the kernel's number; -1: none */
    int cores;          /* in all */
    GArray *llcs;       /* int */
} ShapeNode;

/* What of a host may be used: its CPUs that are online and not isolated. */
typedef struct ShapeHost {
    HostCpuSet cpus;
    int threads;        /* of each core; 1 where they are unequal */
    bool unequal;
    int n_llcs;         /* with a usable core */
    int largest;        /* cores of the largest LLC */
    GPtrArray *nodes;   /* ShapeNode with usable cores, most first */
} ShapeHost;

/* NULL and @err: all CPUs are isolated. */
ShapeHost *shape_host_new(const HostTopology *host, GError **err);
void shape_host_free(ShapeHost *host); /* NULL is allowed */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ShapeHost, shape_host_free)

/* Their product is the number of vCPUs; each die is an LLC group. */
typedef struct GuestShape {
    int vcpus, sockets, dies, cores, threads;
    int nodes;          /* host nodes that it takes, each with equal sockets */
} GuestShape;

/*
 * The shape of fewest nodes, then of fewest LLC groups, whose groups are alike
 * and each fit an LLC of their own.  Without @dies each group is a socket.
 * False: @vcpus cannot be had like that.
 */
bool shape_find(const ShapeHost *host, int vcpus, bool dies,
                GuestShape *ret_shape);

/*
 * The same for the number of vCPUs that is nearest to @vcpus, that has whole
 * cores of the host unless it is 1, and that the host has CPUs for.
 */
GuestShape shape_nearest(const ShapeHost *host, int vcpus, bool dies);

#endif
