/*
 * The host's CPUs, cores, caches and nodes, read once into a snapshot
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef HW_SCHED_HOST_TOPOLOGY_H
#define HW_SCHED_HOST_TOPOLOGY_H

#include "hw/sched/host-cpuset.h"

/* Linux' MAX_NUMNODES for the largest configurations. */
#define HOST_NODE_MAX 1024

/* The scale of cpu_capacity: Linux' SCHED_CAPACITY_SCALE. */
#define HOST_CAPACITY_MAX 1024

/* Relative performance of a CPU on hosts that mix several. */
typedef enum HostCpuKind {
    HOST_CPU_PLAIN,       /* all CPUs of the host are alike */
    HOST_CPU_PERFORMANCE, /* named by the cpu_core PMU */
    HOST_CPU_EFFICIENCY,  /* named by the cpu_atom or cpu_lowpower PMU */
} HostCpuKind;

/*
 * One logical CPU.  Indexes are into the arrays of HostTopology; an online CPU
 * has a core, an LLC and a node, an offline one has -1 for each.
 *
 * @capacity is the kernel's cpu_capacity.  Where a hybrid host has none, that
 * of efficiency CPUs is an assumption (640), which has the order right.
 */
typedef struct HostCpu {
    bool online;
    int core;
    int llc;
    int node;
    int package;       /* the kernel's physical_package_id, sparse; -1: none */
    unsigned capacity; /* 1..HOST_CAPACITY_MAX, the largest CPU has the most */
    HostCpuKind kind;
} HostCpu;

/* One physical core: its online SMT siblings, all in one LLC. */
typedef struct HostCore {
    HostCpuSet cpus;
    int llc;
    int node;
    int package;
    unsigned capacity; /* of its CPUs */
} HostCore;

/*
 * One last-level cache: the highest data or unified cache that its CPUs have,
 * or, where the kernel shows no shared cache, the whole package (@level 0; the
 * node where there is no package number).  The LLCs are a partition of the
 * online CPUs.  One may span nodes (Intel's sub-NUMA clusters).
 */
typedef struct HostLlc {
    HostCpuSet cpus;   /* online CPUs only */
    unsigned level;    /* 3 for L3 ...; 0: no shared cache, a package */
    uint64_t bytes;    /* 0: unknown */
    int node;          /* of its first CPU */
    int package;
    int n_cores;       /* cores with at least one online CPU */
} HostLlc;

typedef struct HostNode {
    int id;            /* the kernel's number, may be sparse */
    HostCpuSet cpus;   /* online CPUs; empty for a memory-only node */
    bool has_memory;
    uint64_t mem_bytes; /* 0: none or unknown */
} HostNode;

/*
 * An immutable snapshot.  LLCs and cores are sorted by their lowest CPU, nodes
 * by id.  Shared by reference count (host_topology_ref / _unref).
 */
typedef struct HostTopology {
    gint refs;
    int n_cpus;            /* highest possible CPU + 1 */
    int n_cores, n_llcs, n_nodes;
    HostCpu *cpus;         /* n_cpus, offline CPUs included */
    HostCore *cores;
    HostLlc *llcs;
    HostNode *nodes;
    unsigned *distances;   /* n_nodes x n_nodes, ACPI SLIT scale: 10 is local */
    HostCpuSet possible, online;
    HostCpuSet isolated;   /* isolcpus, nohz_full, isolated cpuset partitions */
    bool smt;              /* some core has more than one online CPU */
    GPtrArray *notes;      /* char *: what was missing, and what stands in */
} HostTopology;

/*
 * Read a host's topology from @root/sys ("" for the running host).
 *
 * A file that is absent, unreadable or malformed makes a smaller picture and a
 * note that names the file and the reason; EACCES is told apart from ENOENT.
 * NULL and @err are for a host that has no usable CPU list at all, or one that
 * contradicts itself beyond use.  Never aborts, whatever the files hold.
 *
 * Returns a new reference.
 */
HostTopology *host_topology_read(const char *root, GError **err);

/*
 * The host that has to do where nothing can be read: the CPUs of @online (not
 * empty), each a core of its own, in one package and node, as one LLC of level
 * 0, with @note as its note.  Returns a new reference.
 */
HostTopology *host_topology_new_flat(const HostCpuSet *online,
                                     const char *note);

HostTopology *host_topology_ref(HostTopology *host);
void host_topology_unref(HostTopology *host); /* NULL is allowed */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(HostTopology, host_topology_unref)

/* True if both describe the same host: all but the notes. */
bool host_topology_equal(const HostTopology *a, const HostTopology *b);

/* The index of the LLC of @cpu, -1 if it has none or is offline. */
int host_topology_llc_of(const HostTopology *host, int cpu);

/* The index of the node with the kernel's number @id, or -1. */
int host_topology_node_by_id(const HostTopology *host, int id);

/* Distance between two nodes by index; 10 for the same, 20 if not known. */
unsigned host_topology_distance(const HostTopology *host, int a, int b);

/*
 * A cheap sign that the topology may have changed: what says which CPUs are
 * online and which are in isolated cpuset partitions, as one text.  NULL if
 * the former cannot be read.  The caller frees it.
 */
char *host_topology_online_text(const char *root);

#define HOST_TOPOLOGY_ERROR host_topology_error_quark()
GQuark host_topology_error_quark(void);
typedef enum HostTopologyError {
    HOST_TOPOLOGY_ERROR_MISSING,    /* no CPU list: not a Linux /sys */
    HOST_TOPOLOGY_ERROR_DENIED,     /* EACCES on what is indispensable */
    HOST_TOPOLOGY_ERROR_MALFORMED,  /* there, but beyond use */
} HostTopologyError;

#endif
