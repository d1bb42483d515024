/*
 * The guest's vCPUs: which share a core, a last-level cache, a node
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef HW_SCHED_GUEST_TOPOLOGY_H
#define HW_SCHED_GUEST_TOPOLOGY_H

#include "hw/sched/host-cpuset.h"

/* QEMU's own limits: the largest max_cpus of a machine, and MAX_NODES. */
#define GUEST_VCPU_MAX 4096
#define GUEST_NODE_MAX 128

/* How far one L3 of the guest reaches, from narrow to wide. */
typedef enum GuestCacheScope {
    GUEST_CACHE_CORE,
    GUEST_CACHE_MODULE,
    GUEST_CACHE_CLUSTER,
    GUEST_CACHE_DIE,
    GUEST_CACHE_SOCKET,
} GuestCacheScope;

/* Where one possible vCPU sits; all numbers are relative to the level above. */
typedef struct GuestVcpuPlace {
    int socket, die, cluster, module, core, thread;
    int node;                 /* guest NUMA node, -1: none */
} GuestVcpuPlace;

typedef struct GuestVcpu {
    bool present;             /* false: possible, not plugged */
    GuestVcpuPlace place;
    int core;                 /* index of its core, over the whole guest */
    int llc;                  /* index of the guest LLC group */
} GuestVcpu;

/* vCPUs are known by their index, 0 .. n_vcpus - 1 (QEMU's cpu_index). */
typedef struct GuestTopology {
    int n_vcpus;              /* possible vCPUs */
    int n_cores, n_llcs, n_nodes;
    GuestVcpu *vcpus;
    GuestCacheScope llc_scope;
    /*
     * For each guest node, the host nodes (the kernel's numbers) to which its
     * memory is bound; empty: not bound.  n_nodes entries.
     */
    HostCpuSet *node_binding; /* used as a set of node numbers */
} GuestTopology;

/*
 * Build from one place per possible vCPU.  Cores and LLC groups are numbered
 * in order of their first vCPU.  @node_binding (@n_nodes entries) is copied
 * and may be NULL with @n_nodes 0.  No vCPU is present yet.
 */
GuestTopology *guest_topology_new(const GuestVcpuPlace *places, int n_vcpus,
                                  GuestCacheScope llc_scope,
                                  const HostCpuSet *node_binding, int n_nodes);
void guest_topology_free(GuestTopology *guest); /* NULL is allowed */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GuestTopology, guest_topology_free)

/*
 * Build from QEMU's own syntax for -smp ("8,sockets=2,cores=2,threads=2",
 * with dies, clusters, modules, maxcpus), by QEMU's rules for what is left
 * out (docs of -smp: since 6.2 cores are preferred over sockets).  The first
 * "cpus" vCPUs are present.  NULL and @err (property, value, remedy) on
 * anything that QEMU refuses.
 */
GuestTopology *guest_topology_from_smp(const char *smp, GuestCacheScope scope,
                                       GError **err);

#define GUEST_TOPOLOGY_ERROR guest_topology_error_quark()
GQuark guest_topology_error_quark(void);

#endif
