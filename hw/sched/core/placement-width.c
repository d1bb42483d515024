/*
 * Narrow masks: one host core or one host CPU for each guest core
 *
 * All counters are per host core and CPU of the whole host, so groups that
 * share an LLC see each other.  Cores are taken round and round by how full
 * they are: the work is linear in guest cores plus host cores per round.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <string.h>
#include "placement-internal.h"

typedef struct CoreUse {
    int first_cpu;          /* candidates, linked by Narrow.next_cpu; -1 */
    unsigned n_cpus;
    unsigned vcpus;         /* placed here */
} CoreUse;

/* The host cores of one set of LLCs, and where the last search ended. */
typedef struct CoreRing {
    int *cores;             /* slice of Narrow.ring_cores */
    int n, at;
    unsigned level;
    unsigned most_cpus;     /* of any core in the ring */
} CoreRing;

/* The present threads of one guest core. */
typedef struct GuestCore {
    int first, n;           /* slice of Narrow.threads */
    CoreRing *ring;
    bool shared;            /* some of its threads are placed elsewhere */
} GuestCore;

typedef struct Narrow {
    PlacementCtx *ctx;
    CoreUse *cores;         /* per host core */
    int *next_cpu;          /* per host CPU: the next of its core */
    unsigned *cpu_use;      /* per host CPU: vCPUs */
    unsigned *turn_of;      /* per host CPU: the turn that took it last */
    unsigned turn;          /* one per guest core that is placed */
    int *threads;           /* vCPUs by guest core */
    GuestCore *guest_cores; /* those that are narrowed, largest first */
    int n_guest_cores;
    CoreRing *rings;        /* one per set of LLCs that is used */
    CoreRing **ring_of_llc;
    int *ring_cores;        /* of all rings one after the other */
    int n_rings, n_ring_cores;
} Narrow;

/*
 * How full a core is: an empty one 0, one with a free CPU 1, then one more for
 * each vCPU that all its CPUs have.  Two guest cores meet on a host core only
 * if no core is at level 0.
 */
static unsigned core_level(const CoreUse *core)
{
    return core->vcpus ? 1 + core->vcpus / core->n_cpus : 0;
}

static void narrow_init(Narrow *n, PlacementCtx *ctx)
{
    const HostTopology *host = ctx->in->host;
    int i, n_cores = MAX(host->n_cores, 1);

    memset(n, 0, sizeof(*n));
    n->ctx = ctx;
    n->cores = g_new0(CoreUse, n_cores);
    n->ring_cores = g_new(int, n_cores);
    n->rings = g_new0(CoreRing, host->n_llcs);
    n->ring_of_llc = g_new0(CoreRing *, host->n_llcs);
    n->next_cpu = g_new(int, host->n_cpus);
    n->cpu_use = g_new0(unsigned, host->n_cpus);
    n->turn_of = g_new0(unsigned, host->n_cpus);
    for (i = 0; i < n_cores; i++) {
        n->cores[i].first_cpu = -1;
    }
    for (i = host->n_cpus - 1; i >= 0; i--) {
        if (host_cpuset_has(ctx->in->candidates, i)) {
            CoreUse *core = &n->cores[host->cpus[i].core];

            n->next_cpu[i] = core->first_cpu;
            core->first_cpu = i;
            core->n_cpus++;
        }
    }
}

static void narrow_clear(Narrow *n)
{
    g_free(n->cores);
    g_free(n->ring_cores);
    g_free(n->rings);
    g_free(n->ring_of_llc);
    g_free(n->next_cpu);
    g_free(n->cpu_use);
    g_free(n->turn_of);
    g_free(n->threads);
    g_free(n->guest_cores);
}

/* A vCPU that others pinned fills its core; a wide mask fills none. */
static void count_foreign(Narrow *n)
{
    const PlacementInput *in = n->ctx->in;
    int v;

    for (v = 0; in->foreign && v < in->guest->n_vcpus; v++) {
        int cpu, core;

        if (!in->guest->vcpus[v].present || !in->foreign[v]) {
            continue;
        }
        cpu = host_cpuset_next(in->foreign[v], 0);
        if (cpu < 0 || cpu >= in->host->n_cpus) {
            continue;
        }
        core = in->host->cpus[cpu].core;
        if (core < 0 || !host_cpuset_subset(in->foreign[v],
                                            &in->host->cores[core].cpus)) {
            continue;
        }
        n->cores[core].vcpus++;
        if (host_cpuset_next(in->foreign[v], cpu + 1) < 0) {
            n->cpu_use[cpu]++;
        }
    }
}

static gint compare_host_core(gconstpointer pa, gconstpointer pb,
                              gpointer opaque)
{
    const HostTopology *host = opaque;
    int a = *(const int *)pa, b = *(const int *)pb;

    if (host->cores[a].capacity != host->cores[b].capacity) {
        return host->cores[a].capacity > host->cores[b].capacity ? -1 : 1;
    }
    return a - b;
}

/* The ring of the LLCs in @mask, those of most capacity first. */
static CoreRing *ring_new(Narrow *n, const HostCpuSet *mask)
{
    const HostTopology *host = n->ctx->in->host;
    CoreRing *ring = &n->rings[n->n_rings++];

    ring->cores = &n->ring_cores[n->n_ring_cores];
    HOST_CPUSET_FOREACH(cpu, mask) {
        int core = host->cpus[cpu].core;

        if (cpu == n->cores[core].first_cpu) {
            n->ring_of_llc[host->cores[core].llc] = ring;
            ring->cores[ring->n++] = core;
            ring->most_cpus = MAX(ring->most_cpus, n->cores[core].n_cpus);
        }
    }
    n->n_ring_cores += ring->n;
    g_qsort_with_data(ring->cores, ring->n, sizeof(int), compare_host_core,
                      (gpointer)host);
    return ring;
}

/* Sets of LLCs are disjoint.  NULL: the vCPU keeps its wide mask. */
static CoreRing *ring_of(Narrow *n, int vcpu)
{
    const VcpuPlan *plan = &n->ctx->plan->vcpus[vcpu];

    if (plan->reason == PLACEMENT_GUARDED) {
        return NULL;
    }
    return n->ring_of_llc[plan->host_llc] ? : ring_new(n, &plan->mask);
}

/* Cores with more threads go first: they have fewer places to go. */
static gint compare_guest_core(gconstpointer pa, gconstpointer pb,
                               gpointer opaque)
{
    const GuestCore *a = pa, *b = pb;

    return a->n != b->n ? b->n - a->n : a->first - b->first;
}

static void list_guest_cores(Narrow *n)
{
    const GuestTopology *guest = n->ctx->in->guest;
    g_autofree int *start = g_new0(int, guest->n_cores + 1);
    int v, c;

    n->threads = g_new(int, guest->n_vcpus);
    n->guest_cores = g_new0(GuestCore, MAX(guest->n_cores, guest->n_vcpus));
    for (v = 0; v < guest->n_vcpus; v++) {
        if (placement_vcpu_is_ours(n->ctx->in, v)) {
            start[guest->vcpus[v].core + 1]++;
        }
    }
    for (c = 0; c < guest->n_cores; c++) {
        start[c + 1] += start[c];
        n->guest_cores[c].first = start[c];
    }
    for (v = 0; v < guest->n_vcpus; v++) {
        if (placement_vcpu_is_ours(n->ctx->in, v)) {
            GuestCore *core = &n->guest_cores[guest->vcpus[v].core];

            core->ring = ring_of(n, v);
            n->threads[core->first + core->n++] = v;
        } else if (guest->vcpus[v].present) {
            n->guest_cores[guest->vcpus[v].core].shared = true;
        }
    }
    for (c = 0; c < guest->n_cores; c++) {
        if (n->guest_cores[c].ring) {
            n->guest_cores[n->n_guest_cores++] = n->guest_cores[c];
        }
    }
}

/* The threads of a guest core for which no host core is wide enough part. */
static void break_up(Narrow *n)
{
    int c, t, count = n->n_guest_cores;

    for (c = 0; c < count; c++) {
        GuestCore *core = &n->guest_cores[c];

        if ((unsigned)core->n <= core->ring->most_cpus) {
            continue;
        }
        core->shared = true;
        for (t = 1; t < core->n; t++) {
            n->guest_cores[n->n_guest_cores] = *core;
            n->guest_cores[n->n_guest_cores].first += t;
            n->guest_cores[n->n_guest_cores++].n = 1;
        }
        core->n = 1;
    }
    g_qsort_with_data(n->guest_cores, n->n_guest_cores, sizeof(GuestCore),
                      compare_guest_core, NULL);
}

/* The next core at the ring's level with @wanted CPUs, once round; or -1. */
static int ring_find(Narrow *n, CoreRing *ring, unsigned wanted)
{
    int i;

    for (i = 0; i < ring->n; i++) {
        int at = (ring->at + i) % ring->n;
        const CoreUse *core = &n->cores[ring->cores[at]];

        if (core->n_cpus >= wanted && core_level(core) <= ring->level) {
            ring->at = (at + 1) % ring->n;
            return ring->cores[at];
        }
    }
    return -1;
}

/*
 * The least full core with @wanted CPUs.  -1 if the least full cores all have
 * fewer: the threads of a guest core then go apart.
 */
static int ring_next(Narrow *n, CoreRing *ring, unsigned wanted)
{
    int core;

    for (;;) {
        core = ring_find(n, ring, wanted);
        if (core >= 0) {
            return core;
        }
        if (wanted > 1 && ring_find(n, ring, 1) >= 0) {
            return -1;
        }
        ring->level++;
        ring->at = 0;
    }
}

/*
 * The CPU of @core that the fewest vCPUs have and no sibling took in this
 * turn, the previous one of @vcpu if that is among them.
 */
static int choose_cpu(const Narrow *n, const CoreUse *core, int vcpu)
{
    const Plan *previous = n->ctx->in->previous;
    int cpu, best = -1;

    for (cpu = core->first_cpu; cpu >= 0; cpu = n->next_cpu[cpu]) {
        bool was = previous &&
                   host_cpuset_has(&previous->vcpus[vcpu].mask, cpu) &&
                   host_cpuset_count(&previous->vcpus[vcpu].mask) == 1;

        if (n->turn_of[cpu] == n->turn) {
            continue;
        }
        if (best < 0 || n->cpu_use[cpu] < n->cpu_use[best] ||
            (was && n->cpu_use[cpu] == n->cpu_use[best])) {
            best = cpu;
        }
    }
    return best;
}

static void place(Narrow *n, int vcpu, int core, bool paired)
{
    VcpuPlan *plan = &n->ctx->plan->vcpus[vcpu];
    CoreUse *use = &n->cores[core];
    int cpu;

    memset(&plan->mask, 0, sizeof(plan->mask));
    if (n->ctx->plan->width == PLACEMENT_WIDTH_CPU) {
        cpu = choose_cpu(n, use, vcpu);
        host_cpuset_add(&plan->mask, cpu);
        n->turn_of[cpu] = n->turn;
        n->cpu_use[cpu]++;
    } else {
        for (cpu = use->first_cpu; cpu >= 0; cpu = n->next_cpu[cpu]) {
            host_cpuset_add(&plan->mask, cpu);
        }
    }
    use->vcpus++;
    plan->host_core = core;
    plan->host_llc = n->ctx->in->host->cores[core].llc;
    plan->n_llcs = 1;
    plan->llc_aligned = true;
    plan->smt_aligned = paired;
}

/*
 * The core of the previous plan, if it is no fuller than @level and no core
 * of the ring is faster; else -1.
 */
static int previous_core(const Narrow *n, const GuestCore *guest_core,
                         unsigned level)
{
    const PlacementInput *in = n->ctx->in;
    const CoreRing *ring = guest_core->ring;
    int first = n->threads[guest_core->first];
    const CoreUse *use;
    int core;

    if (!in->previous) {
        return -1;
    }
    core = in->previous->vcpus[first].host_core;
    if (core < 0 || core >= in->host->n_cores) {
        return -1;
    }
    use = &n->cores[core];
    if (use->n_cpus < (unsigned)guest_core->n || core_level(use) > level ||
        n->ring_of_llc[in->host->cores[core].llc] != ring ||
        in->host->cores[core].capacity !=
        in->host->cores[ring->cores[0]].capacity) {
        return -1;
    }
    return core;
}

static void place_on(Narrow *n, const GuestCore *guest_core, int core)
{
    int i;

    n->turn++;
    for (i = 0; i < guest_core->n; i++) {
        place(n, n->threads[guest_core->first + i], core, !guest_core->shared);
    }
}

static void place_guest_core(Narrow *n, const GuestCore *guest_core)
{
    CoreRing *ring = guest_core->ring;
    int core = ring_next(n, ring, guest_core->n);
    int i, was;

    if (core >= 0) {
        was = previous_core(n, guest_core, core_level(&n->cores[core]));
        place_on(n, guest_core, was >= 0 ? was : core);
        return;
    }
    for (i = 0; i < guest_core->n; i++) {
        n->turn++;
        place(n, n->threads[guest_core->first + i], ring_next(n, ring, 1),
              false);
    }
}

static bool is_narrowed(const VcpuPlan *plan)
{
    return plan->reason != PLACEMENT_ABSENT &&
           plan->reason != PLACEMENT_FOREIGN &&
           plan->reason != PLACEMENT_GUARDED;
}

/* Whether @was, narrow, is within what the plan now gives the vCPU. */
static bool still_holds(const Plan *plan, const VcpuPlan *was, int v)
{
    const VcpuPlan *now = &plan->vcpus[v];

    if (!is_narrowed(was) || !is_narrowed(now)) {
        return was->reason == now->reason &&
               host_cpuset_equal(&was->mask, &now->mask);
    }
    return was->host_core >= 0 && host_cpuset_subset(&was->mask, &now->mask);
}

/*
 * The narrow masks of the previous plan, if they are still right: the same
 * vCPUs, candidates and LLCs.  Then nothing moves.
 */
static bool keep_all(PlacementCtx *ctx)
{
    const Plan *previous = ctx->in->previous;
    Plan *plan = ctx->plan;
    int v;

    if (!previous || previous->width != plan->width ||
        !host_cpuset_equal(&previous->candidates, &plan->candidates)) {
        return false;
    }
    for (v = 0; v < plan->n_vcpus; v++) {
        if (!still_holds(plan, &previous->vcpus[v], v)) {
            return false;
        }
    }
    for (v = 0; v < plan->n_vcpus; v++) {
        PlacementReason reason = plan->vcpus[v].reason;

        plan->vcpus[v] = previous->vcpus[v];
        plan->vcpus[v].reason = reason;
    }
    return true;
}

/*
 * Plan masks are those of the LLCs; make them one core or CPU each.  Rings
 * read the wide masks, so all are made before one is narrowed.
 */
void placement_narrow(PlacementCtx *ctx)
{
    g_autofree bool *kept = NULL;
    Narrow n;
    int i;

    if (keep_all(ctx)) {
        return;
    }
    narrow_init(&n, ctx);
    count_foreign(&n);
    list_guest_cores(&n);
    break_up(&n);
    kept = g_new(bool, MAX(n.n_guest_cores, 1));
    for (i = 0; i < n.n_guest_cores; i++) {
        int core = previous_core(&n, &n.guest_cores[i], 0);

        kept[i] = core >= 0;
        if (kept[i]) {
            place_on(&n, &n.guest_cores[i], core);
        }
    }
    for (i = 0; i < n.n_guest_cores; i++) {
        if (!kept[i]) {
            place_guest_core(&n, &n.guest_cores[i]);
        }
    }
    narrow_clear(&n);
}
