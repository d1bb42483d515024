/*
 * Which VM means to use which last-level caches
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "claims.h"

struct Claims {
    HostTopology *host;
    uint64_t *sums;          /* of all owners, per LLC */
    GHashTable *owners;      /* uint64_t to GArray of HelperClaimPart */
};

static void parts_free(gpointer parts)
{
    g_array_unref(parts);
}

Claims *claims_new(HostTopology *host)
{
    Claims *claims = g_new0(Claims, 1);

    claims->host = host_topology_ref(host);
    claims->sums = g_new0(uint64_t, host->n_llcs);
    claims->owners = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free,
                                           parts_free);
    return claims;
}

void claims_free(Claims *claims)
{
    if (claims) {
        host_topology_unref(claims->host);
        g_free(claims->sums);
        g_hash_table_unref(claims->owners);
        g_free(claims);
    }
}

/* The LLC with the lowest CPU @first_cpu, or -1. */
static int llc_by_first_cpu(const HostTopology *host, uint32_t first_cpu)
{
    int llc = host_topology_llc_of(host, first_cpu);

    return llc >= 0 && host_cpuset_next(&host->llcs[llc].cpus, 0) ==
                       (int)first_cpu ? llc : -1;
}

static GArray *parts_of(const Claims *claims, uint64_t owner)
{
    return g_hash_table_lookup(claims->owners, &owner);
}

/* What of @parts is about @llc, or of all LLCs if that is negative. */
static uint64_t sum_parts(const Claims *claims, const GArray *parts, int llc)
{
    uint64_t sum = 0;

    for (guint i = 0; parts && i < parts->len; i++) {
        const HelperClaimPart *part = &g_array_index(parts, HelperClaimPart,
                                                     i);

        if (llc < 0 || llc_by_first_cpu(claims->host, part->first_cpu) == llc) {
            sum += part->amount;
        }
    }
    return sum;
}

static void add_parts(Claims *claims, const GArray *parts)
{
    for (guint i = 0; i < parts->len; i++) {
        const HelperClaimPart *part = &g_array_index(parts, HelperClaimPart,
                                                     i);
        int llc = llc_by_first_cpu(claims->host, part->first_cpu);

        if (llc >= 0) {
            claims->sums[llc] += part->amount;
        }
    }
}

/* Few claims change, and each has few parts: the sums are made anew. */
static void sum_up(Claims *claims)
{
    GHashTableIter iter;
    gpointer parts;

    g_free(claims->sums);
    claims->sums = g_new0(uint64_t, claims->host->n_llcs);
    g_hash_table_iter_init(&iter, claims->owners);
    while (g_hash_table_iter_next(&iter, NULL, &parts)) {
        add_parts(claims, parts);
    }
}

void claims_set_host(Claims *claims, HostTopology *host)
{
    host_topology_ref(host);
    host_topology_unref(claims->host);
    claims->host = host;
    sum_up(claims);
}

unsigned claims_by_others(const Claims *claims, uint64_t owner, int llc)
{
    uint64_t others = claims->sums[llc] -
                      sum_parts(claims, parts_of(claims, owner), llc);
    unsigned cpus = host_cpuset_count(&claims->host->llcs[llc].cpus);
    uint64_t step = (uint64_t)HELPER_LOAD_STEP * cpus;

    return MIN((others + step - 1) / step * HELPER_LOAD_STEP,
               G_MAXUINT16 / HELPER_LOAD_STEP * HELPER_LOAD_STEP);
}

uint64_t claims_view(const Claims *claims, uint64_t owner,
                     const HostCpuSet *visible)
{
    /* FNV-1a over what is told: it says no more than that does. */
    uint64_t view = 0xcbf29ce484222325ull;

    HOST_CPUSET_FOREACH(llc, visible) {
        int first = host_cpuset_next(&claims->host->llcs[llc].cpus, 0);
        unsigned told = claims_by_others(claims, owner, llc);

        view = (view ^ first) * 0x100000001b3ull;
        view = (view ^ told) * 0x100000001b3ull;
    }
    return view;
}

static bool all_visible(const Claims *claims, const GArray *parts,
                        const HostCpuSet *visible)
{
    for (guint i = 0; i < parts->len; i++) {
        const HelperClaimPart *part = &g_array_index(parts, HelperClaimPart,
                                                     i);

        if (!host_cpuset_has(visible, llc_by_first_cpu(claims->host,
                                                       part->first_cpu))) {
            return false;
        }
    }
    return true;
}

static void put(Claims *claims, uint64_t owner, const GArray *parts)
{
    if (parts->len) {
        g_hash_table_replace(claims->owners, g_memdup2(&owner, sizeof(owner)),
                             g_array_copy((GArray *)parts));
    } else {
        g_hash_table_remove(claims->owners, &owner);
    }
    sum_up(claims);
}

HelperStatus claims_take(Claims *claims, uint64_t owner,
                         const HelperClaim *claim, const HostCpuSet *visible,
                         unsigned threads)
{
    if (!all_visible(claims, claim->parts, visible)) {
        return HELPER_UNKNOWN_LLC;
    }
    if (sum_parts(claims, claim->parts, -1) > threads * 1000ull) {
        return HELPER_TOO_MANY;
    }
    if (!claim->force && claim->view != claims_view(claims, owner, visible)) {
        return HELPER_STALE;
    }
    put(claims, owner, claim->parts);
    return HELPER_OK;
}

void claims_limit(Claims *claims, uint64_t owner, unsigned threads)
{
    GArray *parts = parts_of(claims, owner);
    uint64_t total = sum_parts(claims, parts, -1);
    uint64_t limit = threads * 1000ull;

    if (total <= limit) {
        return;
    }
    if (!limit) {
        claims_drop(claims, owner);
        return;
    }
    for (guint i = 0; i < parts->len; i++) {
        HelperClaimPart *part = &g_array_index(parts, HelperClaimPart, i);

        part->amount = part->amount * limit / total;
    }
    sum_up(claims);
}

void claims_drop(Claims *claims, uint64_t owner)
{
    if (g_hash_table_remove(claims->owners, &owner)) {
        sum_up(claims);
    }
}
