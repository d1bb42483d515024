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
 * The LLCs on which the previous plan had the group: those of its first vCPU,
 * and with narrow masks those of the others as well, see recall_narrow().
 */
static void recall(PlacementCtx *ctx, PlacementNeed *need, int vcpu)
{
    const Plan *previous = ctx->in->previous;
    const VcpuPlan *was = &previous->vcpus[vcpu];
    int l;

    if (was->reason == PLACEMENT_ABSENT || was->reason == PLACEMENT_FOREIGN ||
        was->reason == PLACEMENT_GUARDED) {
        return;
    }
    need->previous = g_new(int, was->n_llcs);
    for (l = was->host_llc; l >= 0 && l < ctx->n_rooms; l++) {
        if (need->n_previous < was->n_llcs &&
            (l == was->host_llc ||
             host_cpuset_intersects(&was->mask, &ctx->rooms[l].mask))) {
            need->previous[need->n_previous++] = l;
        }
        if (need->n_previous == was->n_llcs) {
            break;
        }
    }
}

static void recall_narrow(PlacementCtx *ctx, int vcpu)
{
    PlacementNeed *need = &ctx->groups[ctx->in->guest->vcpus[vcpu].llc];
    const VcpuPlan *was = &ctx->in->previous->vcpus[vcpu];
    int i;

    if (was->host_core < 0 || was->host_llc >= ctx->n_rooms) {
        return;
    }
    for (i = 0; i < need->n_previous; i++) {
        if (need->previous[i] == was->host_llc) {
            return;
        }
    }
    need->previous = g_renew(int, need->previous, need->n_previous + 1);
    need->previous[need->n_previous++] = was->host_llc;
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
        if (ctx->in->previous && first[g] >= 0) {
            recall(ctx, need, first[g]);
        }
    }
    for (v = 0; ctx->in->previous && v < guest->n_vcpus; v++) {
        if (placement_vcpu_is_ours(ctx->in, v)) {
            recall_narrow(ctx, v);
        }
    }
}

void placement_needs_free(PlacementCtx *ctx)
{
    int g;

    for (g = 0; g < ctx->n_groups; g++) {
        g_free(ctx->groups[g].previous);
    }
    g_free(ctx->groups);
}

/* Tell the groups that fit one usable LLC from those that fit none. */
void placement_needs_classify(PlacementCtx *ctx)
{
    int g, l;

    for (g = 0; g < ctx->n_groups; g++) {
        PlacementNeed *need = &ctx->groups[g];

        need->n_oversize = 1;
        for (l = 0; l < ctx->n_rooms; l++) {
            if (placement_room_takes(&ctx->rooms[l], need)) {
                need->n_oversize = 0;
                break;
            }
        }
    }
}
