/*
 * The host's LLCs as one VM may use them: room, load of others, guard
 *
 * Every CPU is looked at a fixed number of times here, once for all vCPUs.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "hw/sched/placement-seed.h"
#include "placement-internal.h"

/*
 * What a vCPU asks for, per mille of a CPU.  With one CPU or core per vCPU the
 * kernel cannot spread what shares it, so there a vCPU counts in full whatever
 * it used until now.  An idle vCPU still counts a little, so that idle groups
 * spread as well.
 */
unsigned placement_vcpu_demand(const PlacementInput *in, int vcpu)
{
    if (!in->demand || in->uses_isolated || in->width != PLACEMENT_WIDTH_LLC) {
        return 1000;
    }
    return CLAMP(in->demand[vcpu], 1, 1000);
}

/* Present, and not placed by somebody else. */
bool placement_vcpu_is_ours(const PlacementInput *in, int vcpu)
{
    return in->guest->vcpus[vcpu].present &&
           !(in->foreign && in->foreign[vcpu]);
}

bool placement_room_takes(const PlacementRoom *room, const PlacementNeed *need)
{
    return room->usable && need->demand <= room->room &&
           need->threads <= room->thread_room;
}

/* The host reader gives every online CPU an LLC, if only its package. */
static void count_candidates(PlacementCtx *ctx)
{
    const HostTopology *host = ctx->in->host;
    g_autofree bool *core_seen = g_new0(bool, MAX(host->n_cores, 1));
    int l;

    HOST_CPUSET_FOREACH(cpu, ctx->in->candidates) {
        const HostCpu *c = &host->cpus[cpu];
        PlacementRoom *room;

        g_assert(cpu < host->n_cpus && c->online);
        g_assert(c->llc >= 0 && c->llc < host->n_llcs && c->core >= 0);
        room = &ctx->rooms[c->llc];
        host_cpuset_add(&room->mask, cpu);
        room->cpus++;
        room->capacity += c->capacity;
        if (!core_seen[c->core]) {
            core_seen[c->core] = true;
            room->cores++;
        }
    }
    for (l = 0; l < ctx->n_rooms; l++) {
        if (ctx->rooms[l].cpus) {
            ctx->rooms[l].capacity /= ctx->rooms[l].cpus;
            ctx->n_with_cpus++;
        }
    }
}

static bool node_is_known(const HostTopology *host, int node)
{
    return node >= 0 && node < host->n_nodes;
}

/* True if LLCs differ in what @prefer looks at; then sets the ranks. */
static bool rank_rooms(PlacementCtx *ctx, bool by_bytes)
{
    const HostLlc *llcs = ctx->in->host->llcs;
    bool differ = false;
    int a, b;
    g_autofree uint64_t *value = g_new0(uint64_t, ctx->n_rooms);
    uint64_t best = 0, worst = UINT64_MAX;

    for (a = 0; a < ctx->n_rooms; a++) {
        if (ctx->rooms[a].cpus) {
            value[a] = by_bytes ? llcs[a].bytes : ctx->rooms[a].capacity;
            best = MAX(best, value[a]);
            worst = MIN(worst, value[a]);
        }
    }
    differ = best != worst;
    /* Three ranks are enough for hosts that exist: best, between, worst. */
    for (b = 0; b < ctx->n_rooms; b++) {
        ctx->rooms[b].rank = value[b] == best ? 0 : value[b] == worst ? 2 : 1;
    }
    return differ;
}

/* True if the candidates have CPUs of different capacity. */
static bool capacities_differ(const PlacementInput *in)
{
    int first = host_cpuset_next(in->candidates, 0);

    HOST_CPUSET_FOREACH(cpu, in->candidates) {
        if (in->host->cpus[cpu].capacity != in->host->cpus[first].capacity) {
            return true;
        }
    }
    return false;
}

static void apply_prefer(PlacementCtx *ctx)
{
    PlacementPrefer prefer = ctx->in->prefer;

    if (prefer == PLACEMENT_PREFER_AUTO) {
        prefer = capacities_differ(ctx->in) ? PLACEMENT_PREFER_CAPACITY
                                            : PLACEMENT_PREFER_CACHE;
    }
    if (!rank_rooms(ctx, prefer == PLACEMENT_PREFER_CACHE)) {
        int l;

        for (l = 0; l < ctx->n_rooms; l++) {
            ctx->rooms[l].rank = 0;
        }
    }
}

/* With prefer=cache its LLCs stay open longer; 100 and more never close. */
static unsigned guard_limit(const PlacementCtx *ctx, int l, unsigned limit)
{
    bool preferred = ctx->in->prefer == PLACEMENT_PREFER_CACHE &&
                     ctx->rooms[l].rank == 0;

    return preferred && limit < 100 ? MAX(limit, PLACEMENT_GUARD_PREFERRED)
                                    : limit;
}

static PlacementGuard guard_of(const PlacementCtx *ctx, int l)
{
    return (PlacementGuard) {
        .util = guard_limit(ctx, l, ctx->in->guard_util),
        .tasks = guard_limit(ctx, l, ctx->in->guard_tasks),
    };
}

static bool guard_closes(const PlacementCtx *ctx, int l)
{
    const LlcLoad *load = &ctx->in->load->llcs[l];
    PlacementGuard guard = guard_of(ctx, l);

    return (guard.util < 100 && load->others_util > guard.util * 10) ||
           (guard.tasks < 100 && load->others_tasks > guard.tasks * 10);
}

static void apply_load(PlacementCtx *ctx, int l)
{
    PlacementRoom *room = &ctx->rooms[l];
    unsigned util = MIN(ctx->in->load->llcs[l].others_util, 1000);

    room->load_step = util / PLACEMENT_LOAD_STEP;
    room->others = room->load_step * PLACEMENT_LOAD_STEP *
                   ctx->in->host->llcs[l].n_cores;
}

static void apply_loads(PlacementCtx *ctx)
{
    const PlacementInput *in = ctx->in;
    bool known = in->load && in->load->source != HOST_LOAD_NONE;
    int l;

    g_assert(!known || in->load->n_llcs == ctx->n_rooms);
    for (l = 0; l < ctx->n_rooms; l++) {
        PlacementRoom *room = &ctx->rooms[l];

        if (known) {
            apply_load(ctx, l);
        }
        room->closed = room->cpus && (in->closed ? in->closed[l] :
                                      known && guard_closes(ctx, l));
        ctx->plan->llcs[l].guarded = room->closed;
    }
}

void placement_guards(const PlacementInput *in, PlacementGuard *ret_guards)
{
    g_autofree PlacementRoom *rooms = g_new0(PlacementRoom, in->host->n_llcs);
    PlacementCtx ctx = {
        .in = in, .n_rooms = in->host->n_llcs, .rooms = rooms,
    };
    int l;

    count_candidates(&ctx);
    apply_prefer(&ctx);
    for (l = 0; l < ctx.n_rooms; l++) {
        ret_guards[l] = guard_of(&ctx, l);
    }
}

void placement_rooms_init(PlacementCtx *ctx)
{
    const HostTopology *host = ctx->in->host;
    uint32_t seed = ctx->in->seed;
    int l;

    ctx->n_rooms = host->n_llcs;
    ctx->n_nodes = MAX(host->n_nodes, 1);
    g_assert(ctx->n_nodes <= HOST_NODE_MAX);
    ctx->rooms = g_new0(PlacementRoom, ctx->n_rooms);
    count_candidates(ctx);
    for (l = 0; l < ctx->n_rooms; l++) {
        PlacementRoom *room = &ctx->rooms[l];
        int node = host->llcs[l].node;

        room->node = node_is_known(host, node) ? node : 0;
        /* The node decides first, so that ties do not scatter over nodes. */
        room->hash = placement_mix(seed + room->node) << 16 |
                     (placement_mix(seed ^ placement_mix(l + 1)) & 0xffff);
        ctx->plan->llcs[l].candidate_cpus = room->cpus;
        ctx->plan->llcs[l].candidate_cores = room->cores;
    }
    apply_prefer(ctx);
    apply_loads(ctx);
}

static unsigned scaled(uint64_t value, uint64_t num, uint64_t den)
{
    return (value * num + den - 1) / den;
}

/*
 * Give every LLC its room.  If the VM asks for more than all candidates have,
 * all rooms grow by the same factor: the shortage is shared evenly.
 */
void placement_rooms_scale(PlacementCtx *ctx)
{
    uint64_t demand = 0, threads = 0, room_sum = 0, thread_sum = 0;
    uint64_t num = 1, den = 1;
    int i;

    for (i = 0; i < ctx->n_groups; i++) {
        demand += ctx->groups[i].demand;
        threads += ctx->groups[i].threads;
    }
    for (i = 0; i < ctx->n_rooms; i++) {
        PlacementRoom *room = &ctx->rooms[i];

        /* Foreign vCPUs may ask for all of it; a sliver keeps ratios sound. */
        if (room->cpus) {
            room->room = MAX((int)(room->cores * 1000 - room->foreign), 1);
            room->thread_room = MAX((int)(room->cpus * 1000 - room->foreign),
                                    1);
        }
        room_sum += room->room;
        thread_sum += room->thread_room;
    }
    if (demand * thread_sum >= threads * room_sum) {
        num = demand;
        den = room_sum;
    } else {
        num = threads;
        den = thread_sum;
    }
    ctx->overcommitted = num > den;
    for (i = 0; ctx->overcommitted && i < ctx->n_rooms; i++) {
        PlacementRoom *room = &ctx->rooms[i];

        room->room = scaled(room->room, num, den);
        room->thread_room = scaled(room->thread_room, num, den);
    }
}
