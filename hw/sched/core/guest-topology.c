/*
 * The guest's vCPUs: cores and last-level-cache groups from their places
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <string.h>
#include "hw/sched/guest-topology.h"

GQuark guest_topology_error_quark(void)
{
    return g_quark_from_static_string("guest-topology-error-quark");
}

/* The levels of a place, from wide to narrow. */
enum { LEVEL_SOCKET, LEVEL_DIE, LEVEL_CLUSTER, LEVEL_MODULE, LEVEL_CORE,
       LEVEL_MAX };

typedef struct PlaceKey {
    int id[LEVEL_MAX];
} PlaceKey;

static guint place_key_hash(gconstpointer p)
{
    const PlaceKey *key = p;
    guint hash = 0;
    int i;

    for (i = 0; i < LEVEL_MAX; i++) {
        hash = hash * 31 + (guint)key->id[i] + 1;
    }
    return hash;
}

static gboolean place_key_equal(gconstpointer a, gconstpointer b)
{
    return memcmp(a, b, sizeof(PlaceKey)) == 0;
}

/* The key of the unit of @levels levels that @place is in. */
static PlaceKey place_key(const GuestVcpuPlace *place, int levels)
{
    PlaceKey key = { {
        place->socket, place->die, place->cluster, place->module, place->core,
    } };
    int i;

    for (i = levels; i < LEVEL_MAX; i++) {
        key.id[i] = -1;
    }
    return key;
}

/* The index of @key, a new one if it was not seen yet. */
static int number_key(GHashTable *seen, const PlaceKey *key)
{
    gpointer value;
    int index;

    if (g_hash_table_lookup_extended(seen, key, NULL, &value)) {
        return GPOINTER_TO_INT(value);
    }
    index = g_hash_table_size(seen);
    g_hash_table_insert(seen, g_memdup2(key, sizeof(*key)),
                        GINT_TO_POINTER(index));
    return index;
}

static int levels_of_scope(GuestCacheScope scope)
{
    switch (scope) {
    case GUEST_CACHE_CORE:
        return LEVEL_CORE + 1;
    case GUEST_CACHE_MODULE:
        return LEVEL_MODULE + 1;
    case GUEST_CACHE_CLUSTER:
        return LEVEL_CLUSTER + 1;
    case GUEST_CACHE_DIE:
        return LEVEL_DIE + 1;
    case GUEST_CACHE_SOCKET:
        return LEVEL_SOCKET + 1;
    }
    g_assert_not_reached();
}

GuestTopology *guest_topology_new(const GuestVcpuPlace *places, int n_vcpus,
                                  GuestCacheScope llc_scope,
                                  const HostCpuSet *node_binding, int n_nodes)
{
    g_autoptr(GHashTable) cores = NULL;
    g_autoptr(GHashTable) llcs = NULL;
    GuestTopology *guest = g_new0(GuestTopology, 1);
    int levels = levels_of_scope(llc_scope);
    int i;

    g_assert(n_vcpus >= 1 && n_vcpus <= GUEST_VCPU_MAX);
    g_assert(n_nodes >= 0 && n_nodes <= GUEST_NODE_MAX);

    cores = g_hash_table_new_full(place_key_hash, place_key_equal, g_free,
                                  NULL);
    llcs = g_hash_table_new_full(place_key_hash, place_key_equal, g_free, NULL);
    guest->n_vcpus = n_vcpus;
    guest->n_nodes = n_nodes;
    guest->llc_scope = llc_scope;
    guest->vcpus = g_new0(GuestVcpu, n_vcpus);
    if (n_nodes) {
        guest->node_binding = g_memdup2(node_binding,
                                        n_nodes * sizeof(*node_binding));
    }
    for (i = 0; i < n_vcpus; i++) {
        GuestVcpu *vcpu = &guest->vcpus[i];
        PlaceKey core = place_key(&places[i], LEVEL_MAX);
        PlaceKey llc = place_key(&places[i], levels);

        g_assert(places[i].node >= -1 && places[i].node < GUEST_NODE_MAX);
        vcpu->place = places[i];
        vcpu->core = number_key(cores, &core);
        vcpu->llc = number_key(llcs, &llc);
    }
    guest->n_cores = g_hash_table_size(cores);
    guest->n_llcs = g_hash_table_size(llcs);
    return guest;
}

void guest_topology_free(GuestTopology *guest)
{
    if (!guest) {
        return;
    }
    g_free(guest->vcpus);
    g_free(guest->node_binding);
    g_free(guest);
}
