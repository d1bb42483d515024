/*
 * What each LLC group of the guest needs, and where its memory is
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <string.h>
#include "placement-internal.h"

/*
 * The siblings of a guest core run on the siblings of a host core, so they
 * count as one core, as busy as the busiest of them; as threads each counts.
 */
static void sum_demand(PlacementCtx *ctx)
{
    const GuestTopology *guest = ctx->in->guest;
    g_autofree unsigned *busiest = g_new0(unsigned, MAX(guest->n_cores, 1));
    int v;

    for (v = 0; v < guest->n_vcpus; v++) {
        const GuestVcpu *vcpu = &guest->vcpus[v];
        PlacementNeed *need = &ctx->groups[vcpu->llc];
        unsigned demand;

        if (!placement_vcpu_is_ours(ctx->in, v)) {
            continue;
        }
        demand = placement_vcpu_demand(ctx->in, v);
        need->n_vcpus++;
        need->threads += demand;
        if (demand > busiest[vcpu->core]) {
            need->demand += demand - busiest[vcpu->core];
            busiest[vcpu->core] = demand;
        }
    }
}

/*
 * The run that each group had in @previous, and its LLC if one; none if NULL.
 */
void placement_needs_recall(PlacementCtx *ctx, const Plan *previous)
{
    int g, l, n = previous ? previous->n_groups : 0;
    g_autofree int *llc_of = g_new(int, MAX(n, 1));
    g_autofree int *n_llcs = g_new0(int, MAX(n, 1));

    for (l = 0; n && l < ctx->n_rooms; l++) {
        if (previous->llcs[l].run >= 0) {
            llc_of[previous->llcs[l].run] = l;
            n_llcs[previous->llcs[l].run]++;
        }
    }
    for (g = 0; g < ctx->n_groups; g++) {
        PlacementNeed *need = &ctx->groups[g];

        need->was_run = g < n ? previous->run_of[g] : -1;
        need->was_llc = need->was_run >= 0 && n_llcs[need->was_run] == 1 ?
                        llc_of[need->was_run] : -1;
    }
}

/*
 * A row with the distance from each node to the nearest node of @set (kernel
 * numbers), or the earlier one that says the same; its number.
 */
static int add_row(PlacementCtx *ctx, const HostCpuSet *set)
{
    const HostTopology *host = ctx->in->host;
    int row = ctx->n_rows;
    unsigned *reach = &ctx->reach[row * ctx->n_nodes];
    int n, m;

    for (n = 0; n < host->n_nodes; n++) {
        reach[n] = G_MAXUINT;
        for (m = 0; m < host->n_nodes; m++) {
            if (host_cpuset_has(set, host->nodes[m].id)) {
                reach[n] = MIN(reach[n],
                               ctx->reach[m * ctx->n_nodes + n]);
            }
        }
    }
    for (m = ctx->n_nodes; m < row; m++) {
        if (!memcmp(reach, &ctx->reach[m * ctx->n_nodes],
                    ctx->n_nodes * sizeof(*reach))) {
            return m;
        }
    }
    return ctx->n_rows++;
}

/* True if @set names a node that the host has. */
static bool names_node(const HostTopology *host, const HostCpuSet *set)
{
    int n;

    for (n = 0; set && n < host->n_nodes; n++) {
        if (host_cpuset_has(set, host->nodes[n].id)) {
            return true;
        }
    }
    return false;
}

/*
 * Rows: one per host node (a home for groups that are bound nowhere), one per
 * guest node with a binding, one for the nodes that hold the memory.
 */
static void init_rows(PlacementCtx *ctx, int *ret_row_of_node, int *ret_memory)
{
    const PlacementInput *in = ctx->in;
    const HostTopology *host = in->host;
    int max = ctx->n_nodes + in->guest->n_nodes + 1;
    int a, b;

    ctx->reach = g_new(unsigned, max * ctx->n_nodes);
    for (a = 0; a < ctx->n_nodes; a++) {
        for (b = 0; b < ctx->n_nodes; b++) {
            ctx->reach[a * ctx->n_nodes + b] = !host->n_nodes ? 10 :
                host->distances ? host->distances[a * host->n_nodes + b] :
                a == b ? 10 : 20;
        }
    }
    ctx->n_rows = ctx->n_nodes;
    for (a = 0; a < in->guest->n_nodes; a++) {
        ret_row_of_node[a] = -1;
        if (names_node(host, &in->guest->node_binding[a])) {
            ret_row_of_node[a] = add_row(ctx, &in->guest->node_binding[a]);
        }
    }
    *ret_memory = -1;
    if (names_node(host, in->memory_nodes)) {
        *ret_memory = add_row(ctx, in->memory_nodes);
    }
}

/* A group belongs where the node of its first vCPU is bound. */
void placement_needs_init(PlacementCtx *ctx)
{
    const GuestTopology *guest = ctx->in->guest;
    g_autofree int *row_of_node = g_new(int, guest->n_nodes + 1);
    g_autofree int *first = g_new(int, MAX(guest->n_llcs, 1));
    int memory_row, g, v;

    ctx->n_groups = guest->n_llcs;
    ctx->groups = g_new0(PlacementNeed, MAX(ctx->n_groups, 1));
    sum_demand(ctx);
    init_rows(ctx, row_of_node, &memory_row);
    for (g = 0; g < ctx->n_groups; g++) {
        first[g] = -1;
    }
    for (v = guest->n_vcpus - 1; v >= 0; v--) {
        if (placement_vcpu_is_ours(ctx->in, v)) {
            first[guest->vcpus[v].llc] = v;
        }
    }
    for (g = 0; g < ctx->n_groups; g++) {
        PlacementNeed *need = &ctx->groups[g];
        int node = first[g] < 0 ? -1 : guest->vcpus[first[g]].place.node;

        need->n_groups = 1;
        need->row = node >= 0 && node < guest->n_nodes ? row_of_node[node] : -1;
        if (need->row < 0) {
            need->row = memory_row;
        }
    }
}

/* The need of groups that are folded: where the first belongs, all do. */
void placement_need_add(PlacementNeed *sum, const PlacementNeed *need)
{
    if (!sum->n_groups) {
        *sum = *need;
        return;
    }
    sum->demand += need->demand;
    sum->threads += need->threads;
    sum->n_vcpus += need->n_vcpus;
    sum->n_groups++;
    sum->n_oversize += need->n_oversize;
}

/* The usable LLCs, of those that are alike only one; how many. */
static int list_kinds(const PlacementCtx *ctx, const PlacementRoom **kinds)
{
    int i, n = 0;

    for (i = 0; i < ctx->n_with_cpus; i++) {
        const PlacementRoom *room = &ctx->rooms[ctx->by_room[i]];

        if (room->usable && (!n || kinds[n - 1]->room != room->room ||
                             kinds[n - 1]->thread_room != room->thread_room)) {
            kinds[n++] = room;
        }
    }
    return n;
}

/* Tell the groups that fit one usable LLC from those that fit none. */
void placement_needs_classify(PlacementCtx *ctx)
{
    g_autofree const PlacementRoom **kinds =
        g_new(const PlacementRoom *, ctx->n_with_cpus);
    int n = list_kinds(ctx, kinds);
    int g, i;

    for (g = 0; g < ctx->n_groups; g++) {
        PlacementNeed *need = &ctx->groups[g];

        need->n_oversize = 1;
        for (i = 0; i < n && need->n_oversize; i++) {
            need->n_oversize = !placement_room_takes(kinds[i], need);
        }
    }
}
