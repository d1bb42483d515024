/*
 * vCPUs that somebody else placed: what they take, where they are
 *
 * Few masks are shared by many vCPUs as a rule, so each is looked at once.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "placement-internal.h"

/* The mask of vCPU @v that others set; NULL: it is absent or ours. */
static const HostCpuSet *foreign_mask(const PlacementInput *in, int v)
{
    return in->foreign && in->guest->vcpus[v].present ? in->foreign[v] : NULL;
}

static gboolean same_mask(gconstpointer a, gconstpointer b)
{
    return host_cpuset_equal(a, b);
}

/* Number the different masks, and sum up the vCPUs of each. */
static void list_masks(PlacementCtx *ctx)
{
    const PlacementInput *in = ctx->in;
    g_autoptr(GHashTable) known =
        g_hash_table_new((GHashFunc)host_cpuset_hash, same_mask);
    int v;

    for (v = 0; v < in->guest->n_vcpus; v++) {
        const HostCpuSet *mask = foreign_mask(in, v);
        gpointer number;

        if (!mask) {
            continue;
        }
        number = g_hash_table_lookup(known, mask);
        if (!number) {
            number = GINT_TO_POINTER(++ctx->n_foreign);
            ctx->foreign[ctx->n_foreign - 1].mask = mask;
            g_hash_table_insert(known, (gpointer)mask, number);
        }
        ctx->foreign_of[v] = GPOINTER_TO_INT(number) - 1;
        ctx->foreign[ctx->foreign_of[v]].vcpus++;
        ctx->foreign[ctx->foreign_of[v]].demand += placement_vcpu_demand(in, v);
    }
}

/*
 * Spread the demand of the vCPUs over the CPUs that they got.  A mask of all
 * candidates (contested vCPUs) claims nothing in particular.
 */
static void charge_mask(PlacementCtx *ctx, PlacementForeign *f,
                        unsigned *counts, int *llcs)
{
    const HostTopology *host = ctx->in->host;
    bool everywhere = host_cpuset_subset(ctx->in->candidates, f->mask);
    unsigned total = 0;
    int i;

    f->host_llc = -1;
    HOST_CPUSET_FOREACH(cpu, f->mask) {
        int llc = cpu < host->n_cpus ? host->cpus[cpu].llc : -1;

        if (llc >= 0) {
            if (counts[llc]++ == 0) {
                llcs[f->n_llcs++] = llc;
            }
            total++;
        }
    }
    for (i = 0; i < f->n_llcs; i++) {
        int llc = llcs[i];

        if (f->host_llc < 0 || llc < f->host_llc) {
            f->host_llc = llc;
        }
        if (!everywhere) {
            ctx->rooms[llc].foreign += f->demand * counts[llc] / total;
        }
        ctx->plan->llcs[llc].vcpus += f->vcpus;
        counts[llc] = 0;
    }
}

void placement_foreign_init(PlacementCtx *ctx)
{
    int i, n_vcpus = ctx->in->guest->n_vcpus;
    g_autofree unsigned *counts = NULL;
    g_autofree int *llcs = NULL;

    if (!ctx->in->foreign) {
        return;
    }
    counts = g_new0(unsigned, ctx->n_rooms);
    llcs = g_new(int, ctx->n_rooms);
    ctx->foreign = g_new0(PlacementForeign, n_vcpus);
    ctx->foreign_of = g_new(int, n_vcpus);
    list_masks(ctx);
    for (i = 0; i < ctx->n_foreign; i++) {
        charge_mask(ctx, &ctx->foreign[i], counts, llcs);
    }
}

void placement_foreign_free(PlacementCtx *ctx)
{
    g_free(ctx->foreign);
    g_free(ctx->foreign_of);
}

void placement_foreign_plan(PlacementCtx *ctx, int v)
{
    const PlacementForeign *f = &ctx->foreign[ctx->foreign_of[v]];
    VcpuPlan *plan = &ctx->plan->vcpus[v];

    plan->mask = *f->mask;
    plan->reason = PLACEMENT_FOREIGN;
    plan->host_llc = f->host_llc;
    plan->n_llcs = f->n_llcs;
    plan->llc_aligned = f->n_llcs == 1;
}
