/*
 * vCPUs, their gates and a thread that looks, all of them late: simulated
 *
 * Each vCPU has a CPU of its own, which a competitor may take from it.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <math.h>
#include <string.h>

#include "bandwidth-sim.h"

#define STEP_NS 10000

typedef struct SimVcpu {
    bool in_guest;              /* or wants to be: not held at the gate */
    bool gated;                 /* as was decided */
    int64_t switch_at;          /* when the decision takes effect */
    int64_t uncharged_ns;
    int64_t burst_used_ns;      /* since it was woken up */
    int64_t other_begins;
    int64_t stalled_since;
} SimVcpu;

typedef struct SimState {
    const Sim *sim;
    GRand *rand;
    BandwidthTree *tree;
    BandwidthGroup *root, *leaf;
    SimVcpu vcpus[SIM_VCPUS_MAX];
    int64_t now;
    int64_t look_at;
    uint64_t looks;
    int64_t windows[SIM_WINDOWS_MAX];
    SimResult result;
} SimState;

static int64_t draw(SimState *s, SimRange range)
{
    return range.min + (int64_t)(g_rand_double(s->rand) *
                                 (range.max - range.min));
}

static void sim_groups(SimState *s)
{
    BandwidthLimits limits = s->sim->limits;

    s->tree = bandwidth_tree_new();
    s->root = bandwidth_group_add(s->tree, NULL, &limits, 0, NULL);
    s->leaf = s->root;
    limits.quota_ns += limits.quota_ns / 8;
    for (unsigned d = 1; d < s->sim->depth; d++) {
        s->leaf = bandwidth_group_add(s->tree, s->leaf, &limits, 0, NULL);
    }
    bandwidth_group_set_vcpus(s->leaf, s->sim->n_vcpus, 0);
}

static void sim_decide(SimState *s, SimVcpu *v)
{
    bool gated = bandwidth_group_gated(s->leaf);

    if (gated != v->gated) {
        v->gated = gated;
        v->switch_at = s->now + draw(s, gated ? s->sim->close_late :
                                                s->sim->open_late);
    }
}

static int64_t sim_late(SimState *s)
{
    int every = s->sim->stuck_every;

    if (every && !g_rand_int_range(s->rand, 0, every)) {
        return s->sim->stuck_ns;
    }
    return draw(s, s->sim->look_late);
}

static void sim_look(SimState *s)
{
    s->looks++;
    for (unsigned i = 0; i < s->sim->n_vcpus; i++) {
        bandwidth_charge(s->leaf, s->vcpus[i].uncharged_ns);
        s->vcpus[i].uncharged_ns = 0;
    }
    if (bandwidth_advance(s->tree, s->now)) {
        for (unsigned i = 0; i < s->sim->n_vcpus; i++) {
            sim_decide(s, &s->vcpus[i]);
        }
    }
    s->look_at = bandwidth_next_look(s->tree, s->now);
    s->look_at += s->look_at < INT64_MAX ? sim_late(s) : 0;
}

/* One run of the competitor in each of its cycles, wherever it fits. */
static bool sim_other_runs(SimState *s, SimVcpu *v)
{
    const Sim *sim = s->sim;

    if (!sim->other_every_ns) {
        return false;
    }
    if (s->now % sim->other_every_ns == 0) {
        v->other_begins = s->now + draw(s, (SimRange) {
            0, sim->other_every_ns - sim->other_run_ns });
    }
    return s->now >= v->other_begins &&
           s->now < v->other_begins + sim->other_run_ns;
}

static bool sim_halts(SimState *s, SimVcpu *v)
{
    if (!s->sim->every_ns) {
        return false;
    }
    if (s->now % s->sim->every_ns == 0) {
        v->burst_used_ns = 0;
    }
    return v->burst_used_ns >= s->sim->run_ns;
}

static void sim_gate(SimState *s, SimVcpu *v)
{
    int64_t stall;

    if (s->now < v->switch_at || v->in_guest != v->gated) {
        return;
    }
    v->in_guest = !v->gated;
    if (v->gated) {
        v->stalled_since = s->now;
    } else {
        stall = s->now - v->stalled_since;
        s->result.longest_stall_ns = MAX(s->result.longest_stall_ns, stall);
    }
}

static void sim_step(SimState *s, SimVcpu *v)
{
    bool other = sim_other_runs(s, v);
    bool halts = sim_halts(s, v);

    sim_gate(s, v);
    if (!other && !halts && v->in_guest) {
        v->uncharged_ns += STEP_NS;
        v->burst_used_ns += STEP_NS;
        s->result.used_ns += STEP_NS;
        s->windows[s->now / SIM_S] += STEP_NS;
    }
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void sim_errors(SimState *s)
{
    const Sim *sim = s->sim;
    double errors[SIM_WINDOWS_MAX];
    double share = (double)sim->limits.quota_ns / sim->limits.period_ns;
    int n = sim->length_ns / SIM_S;

    for (int i = 0; i < n; i++) {
        errors[i] = fabs(s->windows[i] / (share * SIM_S) - 1);
    }
    qsort(errors, n, sizeof(errors[0]), compare_doubles);
    s->result.window_error_p99 = errors[(int)ceil(n * 0.99) - 1];
    s->result.share_error = s->result.used_ns / (share * sim->length_ns) - 1;
}

void sim_run(const Sim *sim, SimResult *ret_result)
{
    SimState s = { .sim = sim, .rand = g_rand_new_with_seed(sim->seed) };

    g_assert(sim->n_vcpus <= SIM_VCPUS_MAX &&
             sim->length_ns <= SIM_WINDOWS_MAX * SIM_S);
    sim_groups(&s);
    for (unsigned i = 0; i < sim->n_vcpus; i++) {
        s.vcpus[i].in_guest = true;
    }
    sim_look(&s);
    for (; s.now < sim->length_ns; s.now += STEP_NS) {
        if (s.now >= s.look_at) {
            sim_look(&s);
        }
        for (unsigned i = 0; i < sim->n_spinning; i++) {
            sim_step(&s, &s.vcpus[i]);
        }
    }
    sim_errors(&s);
    s.result.looks_per_period = (double)s.looks * sim->limits.period_ns /
                                sim->length_ns;
    bandwidth_group_stats(s.root, s.now, &s.result.stats);
    *ret_result = s.result;
    bandwidth_tree_free(s.tree);
    g_rand_free(s.rand);
}
