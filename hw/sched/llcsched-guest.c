/*
 * LLC-aware vCPU scheduler: the guest's topology as the machine tells it
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "hw/boards.h"
#include "system/hostmem.h"
#include "system/numa.h"
#include "llcsched-guest.h"
#include "llcsched-internal.h"

static GuestVcpuPlace llcsched_guest_place(const CpuInstanceProperties *props)
{
    return (GuestVcpuPlace) {
        .socket = props->has_socket_id ? props->socket_id : 0,
        .die = props->has_die_id ? props->die_id : 0,
        .cluster = props->has_cluster_id ? props->cluster_id : 0,
        .module = props->has_module_id ? props->module_id : 0,
        .core = props->has_core_id ? props->core_id : 0,
        .thread = props->has_thread_id ? props->thread_id : 0,
        .node = props->has_node_id ? props->node_id : -1,
    };
}

/* x86 CPU models can be told to have no L3. */
static bool llcsched_guest_has_l3(void)
{
    Object *cpu = OBJECT(first_cpu);

    return !cpu || !object_property_find(cpu, "l3-cache") ||
           object_property_get_bool(cpu, "l3-cache", &error_abort);
}

/*
 * -machine smp-cache says how far an L3 reaches, else the CPU model does: on
 * x86 a die, which is the socket where the machine has no dies.  Without an
 * L3 the L2 is the last level, a core's own by default.
 */
static GuestCacheScope llcsched_guest_llc_scope(const MachineState *ms)
{
    bool l3 = llcsched_guest_has_l3();

    switch (machine_get_cache_topo_level(ms, l3 ? CACHE_LEVEL_AND_TYPE_L3
                                                : CACHE_LEVEL_AND_TYPE_L2)) {
    case CPU_TOPOLOGY_LEVEL_THREAD:
    case CPU_TOPOLOGY_LEVEL_CORE:
        return GUEST_CACHE_CORE;
    case CPU_TOPOLOGY_LEVEL_MODULE:
        return GUEST_CACHE_MODULE;
    case CPU_TOPOLOGY_LEVEL_CLUSTER:
        return GUEST_CACHE_CLUSTER;
    case CPU_TOPOLOGY_LEVEL_DIE:
        return GUEST_CACHE_DIE;
    case CPU_TOPOLOGY_LEVEL_SOCKET:
    case CPU_TOPOLOGY_LEVEL_BOOK:
    case CPU_TOPOLOGY_LEVEL_DRAWER:
        return GUEST_CACHE_SOCKET;
    default:
        return l3 ? GUEST_CACHE_DIE : GUEST_CACHE_CORE;
    }
}

/* The host nodes that a backend is bound to, spread over or prefers. */
static void llcsched_guest_binding(HostMemoryBackend *backend, HostCpuSet *set)
{
    unsigned long node;

    if (!backend || backend->policy == HOST_MEM_POLICY_DEFAULT) {
        return;
    }
    for (node = find_first_bit(backend->host_nodes, MAX_NODES);
         node < MAX_NODES;
         node = find_next_bit(backend->host_nodes, MAX_NODES, node + 1)) {
        host_cpuset_add(set, node);
    }
}

/* By cpu_index: machines list vCPUs one by one, or by cores of several. */
static GArray *llcsched_guest_places(MachineState *ms)
{
    MachineClass *mc = MACHINE_GET_CLASS(ms);
    const CPUArchIdList *possible = mc->possible_cpu_arch_ids(ms);
    bool numa = ms->numa_state && ms->numa_state->num_nodes;
    GArray *places = g_array_new(false, true, sizeof(GuestVcpuPlace));

    for (int i = 0; i < possible->len; i++) {
        const CPUArchId *slot = &possible->cpus[i];
        GuestVcpuPlace place = llcsched_guest_place(&slot->props);

        if (!numa) {
            place.node = 0;
        }
        g_array_append_val(places, place);
        for (int thread = 1; thread < slot->vcpus_count; thread++) {
            place.thread = thread;
            g_array_append_val(places, place);
        }
    }
    return places;
}

GuestTopology *llcsched_guest_topology(MachineState *ms)
{
    int n_nodes = ms->numa_state ? ms->numa_state->num_nodes : 0;
    g_autoptr(GArray) places = llcsched_guest_places(ms);
    g_autofree HostCpuSet *binding = g_new0(HostCpuSet, MAX(n_nodes, 1));

    for (int i = 0; i < n_nodes; i++) {
        HostMemoryBackend *backend = ms->numa_state->nodes[i].node_memdev;

        llcsched_guest_binding(backend, &binding[i]);
    }
    if (n_nodes == 0) {
        llcsched_guest_binding(ms->memdev, &binding[0]);
    }
    return guest_topology_new((GuestVcpuPlace *)places->data, places->len,
                              llcsched_guest_llc_scope(ms),
                              binding, MAX(n_nodes, 1));
}
