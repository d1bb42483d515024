/*
 * Masks of one core or CPU, within the cores of each cookie
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <string.h>
#include "trust-refine.h"

typedef struct Use {
    unsigned *of_core, *of_cpu; /* vCPUs placed so far */
    unsigned *cpus;             /* per core: candidates */
} Use;

/* As placement counts how full a core is: a free one is less than any other. */
static unsigned level(const Use *use, int core)
{
    return use->of_core[core] ? 1 + use->of_core[core] / use->cpus[core] : 0;
}

static bool is_narrow(const TrustRefine *r, int vcpu)
{
    return r->claim_of[vcpu] >= 0 && r->plan->vcpus[vcpu].host_core >= 0;
}

/* The threads from @vcpu on of its guest core and claim; how many. */
static int list_unit(const TrustRefine *r, int vcpu, GArray *unit)
{
    const GuestTopology *guest = r->in->guest;
    int v;

    g_array_set_size(unit, 0);
    for (v = vcpu; v < guest->n_vcpus; v++) {
        if (guest->vcpus[v].core == guest->vcpus[vcpu].core &&
            is_narrow(r, v) && r->claim_of[v] == r->claim_of[vcpu]) {
            g_array_append_val(unit, v);
        }
    }
    return unit->len;
}

/* The least full core with @wanted CPUs; the planned one of equals; or -1. */
static int choose_core(const TrustRefine *r, const Use *use, int vcpu,
                       unsigned wanted)
{
    const TrustClaim *claim = &r->claims[r->claim_of[vcpu]];
    int planned = r->plan->vcpus[vcpu].host_core, best = -1;

    HOST_CPUSET_FOREACH(core, &claim->cores) {
        if (use->cpus[core] < wanted) {
            continue;
        }
        if (best < 0 || level(use, core) < level(use, best) ||
            (level(use, core) == level(use, best) && core == planned)) {
            best = core;
        }
    }
    return best;
}

/* The least used CPU of @core but not of @taken, the planned one of equals. */
static int choose_cpu(const TrustRefine *r, const Use *use, int vcpu,
                      int core, const HostCpuSet *taken)
{
    const HostCpuSet *planned = &r->plan->vcpus[vcpu].mask;
    int best = -1;

    HOST_CPUSET_FOREACH(cpu, &r->in->host->cores[core].cpus) {
        if (!host_cpuset_has(r->in->candidates, cpu) ||
            host_cpuset_has(taken, cpu)) {
            continue;
        }
        if (best < 0 || use->of_cpu[cpu] < use->of_cpu[best] ||
            (use->of_cpu[cpu] == use->of_cpu[best] &&
             host_cpuset_has(planned, cpu))) {
            best = cpu;
        }
    }
    return best;
}

/* @taken: the CPUs that its siblings have just got, and then its own. */
static void place(TrustRefine *r, Use *use, int vcpu, int core,
                  HostCpuSet *taken)
{
    VcpuPlan *plan = &r->plan->vcpus[vcpu];
    HostCpuSet mask = { { 0 } };
    int cpu;

    if (r->plan->width == PLACEMENT_WIDTH_CPU) {
        cpu = choose_cpu(r, use, vcpu, core, taken);
        host_cpuset_add(&mask, cpu);
        host_cpuset_add(taken, cpu);
        use->of_cpu[cpu]++;
    } else {
        mask = r->in->host->cores[core].cpus;
        host_cpuset_and(&mask, r->in->candidates);
    }
    use->of_core[core]++;
    plan->mask = mask;
    plan->host_core = core;
}

static int count_present(const GuestTopology *guest, int core)
{
    int v, n = 0;

    for (v = 0; v < guest->n_vcpus; v++) {
        n += guest->vcpus[v].present && guest->vcpus[v].core == core;
    }
    return n;
}

/* The threads of a guest core together, or one by one if no core takes them. */
static void place_unit(TrustRefine *r, Use *use, const GArray *unit)
{
    int first = g_array_index(unit, int, 0);
    int core = choose_core(r, use, first, unit->len);
    int present = count_present(r->in->guest,
                                r->in->guest->vcpus[first].core);
    HostCpuSet taken = { { 0 } };
    guint i;

    for (i = 0; i < unit->len; i++) {
        int v = g_array_index(unit, int, i);

        if (core < 0) {
            memset(&taken, 0, sizeof(taken));
        }
        place(r, use, v, core >= 0 ? core : choose_core(r, use, v, 1), &taken);
        r->plan->vcpus[v].smt_aligned = core >= 0 &&
                                        unit->len == (unsigned)present;
    }
}

/* Whether the core that the plan chose is the claim's, and still free. */
static bool stays(const TrustRefine *r, const Use *use, int vcpu, int wanted)
{
    int core = r->plan->vcpus[vcpu].host_core;

    return host_cpuset_has(&r->claims[r->claim_of[vcpu]].cores, core) &&
           !use->of_core[core] && use->cpus[core] >= (unsigned)wanted;
}

/*
 * Units of @wanted threads; with @only_stay those that need not move, whose
 * cores others would take else.
 */
static void place_units(TrustRefine *r, Use *use, int *size, int wanted,
                        bool only_stay)
{
    g_autoptr(GArray) unit = g_array_new(false, false, sizeof(int));
    int v;

    for (v = 0; v < r->plan->n_vcpus; v++) {
        if (size[v] == wanted && (!only_stay || stays(r, use, v, wanted))) {
            list_unit(r, v, unit);
            place_unit(r, use, unit);
            size[v] = 0;
        }
    }
}

/* For each vCPU: threads of its unit if it is the first of them, else 0. */
static int size_units(const TrustRefine *r, int *size)
{
    g_autoptr(GArray) unit = g_array_new(false, false, sizeof(int));
    g_autofree bool *seen = g_new0(bool, r->plan->n_vcpus);
    int v, most = 0;
    guint i;

    for (v = 0; v < r->plan->n_vcpus; v++) {
        if (seen[v] || !is_narrow(r, v) ||
            r->claims[r->claim_of[v]].keeps_plan) {
            continue;
        }
        size[v] = list_unit(r, v, unit);
        most = MAX(most, size[v]);
        for (i = 0; i < unit->len; i++) {
            seen[g_array_index(unit, int, i)] = true;
        }
    }
    return most;
}

/* Whether @claim has an empty core though guest cores meet on another. */
static bool badly_spread(const TrustRefine *r, int claim)
{
    const Plan *previous = r->in->previous;
    g_autofree int *user = g_new(int, MAX(r->in->host->n_cores, 1));
    HostCpuSet empty = r->claims[claim].cores;
    bool meet = false;
    int v;

    for (v = 0; v < r->plan->n_vcpus; v++) {
        int core = previous->vcpus[v].host_core;
        int guest_core = r->in->guest->vcpus[v].core;

        if (!is_narrow(r, v) || r->claim_of[v] != claim) {
            continue;
        }
        if (host_cpuset_has(&empty, core)) {
            user[core] = guest_core;
            host_cpuset_remove(&empty, core);
        }
        meet |= user[core] != guest_core;
    }
    return meet && !host_cpuset_empty(&empty);
}

/* Whether the previous masks are still right for all; then nothing moves. */
static bool still_right(const TrustRefine *r)
{
    const Plan *previous = r->in->previous;
    int v, i;

    if (!previous || previous->width != r->plan->width ||
        !host_cpuset_equal(&previous->candidates, &r->plan->candidates)) {
        return false;
    }
    for (v = 0; v < r->plan->n_vcpus; v++) {
        const VcpuPlan *was = &previous->vcpus[v];

        if (is_narrow(r, v) &&
            (was->reason == PLACEMENT_FOREIGN || was->host_core < 0 ||
             !host_cpuset_has(&r->claims[r->claim_of[v]].cores,
                              was->host_core))) {
            return false;
        }
    }
    for (i = 0; i < r->n_claims; i++) {
        if (badly_spread(r, i)) {
            return false;
        }
    }
    return true;
}

static void keep_all(TrustRefine *r)
{
    int v;

    for (v = 0; v < r->plan->n_vcpus; v++) {
        const VcpuPlan *was = &r->in->previous->vcpus[v];

        if (is_narrow(r, v)) {
            r->plan->vcpus[v].mask = was->mask;
            r->plan->vcpus[v].host_core = was->host_core;
            r->plan->vcpus[v].smt_aligned = was->smt_aligned;
        }
    }
}

void trust_narrow(TrustRefine *r)
{
    const HostTopology *host = r->in->host;
    g_autofree int *size = g_new0(int, r->plan->n_vcpus);
    g_autofree unsigned *of_core = g_new0(unsigned, MAX(host->n_cores, 1));
    g_autofree unsigned *of_cpu = g_new0(unsigned, host->n_cpus);
    g_autofree unsigned *cpus = g_new0(unsigned, MAX(host->n_cores, 1));
    Use use = { of_core, of_cpu, cpus };
    int n, most;

    if (still_right(r)) {
        keep_all(r);
        return;
    }
    HOST_CPUSET_FOREACH(cpu, r->in->candidates) {
        cpus[host->cpus[cpu].core]++;
    }
    most = size_units(r, size);
    for (n = most; n > 0; n--) {
        place_units(r, &use, size, n, true);
    }
    for (n = most; n > 0; n--) {
        place_units(r, &use, size, n, false);
    }
}
