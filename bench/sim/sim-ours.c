/*
 * Our policy in the simulator: libllcsched itself
 *
 * What it is shown is made from the simulated /proc, and its masks are set as
 * QEMU sets them.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <string.h>
#include "hw/sched/balance.h"
#include "sim.h"

#define LOOK_NS 1000000000ll

typedef struct OurVm {
    GuestTopology *guest;
    Balance *balance;
    LoadHistory *history;
    Plan *plan;
    PlacementInput in;
    uint64_t *base_run, *base_wait;
    HostLoadSample *before;
} OurVm;

typedef struct Ours {
    OurVm *vms;
    int n_vms;
    bool *closed;            /* all LLCs, at all times; NULL: as it judges */
} Ours;

static HostLoadSample *sample_new(const Sim *sim)
{
    HostLoadSample *sample = g_new0(HostLoadSample, 1);
    int i;

    sample->source = HOST_LOAD_SCHEDSTAT;
    sample->run_from_stat = true;
    sample->when_ns = sim->now_ns;
    sample->n_cpus = sim->host->n_cpus;
    sample->cpus = g_new0(HostCpuTimes, sample->n_cpus);
    for (i = 0; i < sample->n_cpus; i++) {
        /* 1: a row that is all zero counts as missing */
        sample->cpus[i] = (HostCpuTimes) {
            .run_ns = 1 + sim->cpus[i].run_ns,
            .wait_ns = 1 + sim->cpus[i].wait_ns,
        };
    }
    return sample;
}

static void our_vm_init(Sim *sim, const Ours *ours, const SimVm *vm,
                        OurVm *our)
{
    g_autofree char *smp = g_strdup_printf("%d", vm->n);

    our->guest = guest_topology_from_smp(smp, GUEST_CACHE_SOCKET, NULL);
    g_assert(our->guest);
    our->balance = balance_new(g_rand_int(sim->rand), LOOK_NS);
    our->history = load_history_new(vm->n, sim->host->n_llcs, LOOK_NS);
    our->base_run = g_new0(uint64_t, vm->n);
    our->base_wait = g_new0(uint64_t, vm->n);
    our->in = (PlacementInput) {
        .host = sim->host, .guest = our->guest,
        .candidates = &sim->host->online, .seed = g_rand_int(sim->rand),
        .guard_util = sim->guard_util, .guard_tasks = sim->guard_tasks,
        .closed = ours->closed,
    };
}

static void *ours_new(Sim *sim)
{
    Ours *ours = g_new0(Ours, 1);
    int v;

    if (sim->policy->is_closed) {
        ours->closed = g_new(bool, sim->host->n_llcs);
        memset(ours->closed, true, sim->host->n_llcs * sizeof(bool));
    }
    ours->n_vms = sim->n_vms;
    ours->vms = g_new0(OurVm, sim->n_vms);
    for (v = 0; v < sim->n_vms; v++) {
        if (!sim->vms[v].neighbor) {
            our_vm_init(sim, ours, &sim->vms[v], &ours->vms[v]);
        }
    }
    return ours;
}

static void ours_free(void *state)
{
    Ours *ours = state;
    int v;

    for (v = 0; v < ours->n_vms; v++) {
        OurVm *our = &ours->vms[v];

        placement_plan_free(our->plan);
        balance_free(our->balance);
        load_history_free(our->history);
        guest_topology_free(our->guest);
        host_load_sample_free(our->before);
        g_free(our->base_run);
        g_free(our->base_wait);
    }
    g_free(ours->closed);
    g_free(ours->vms);
    g_free(ours);
}

static void apply(Sim *sim, const SimVm *vm, const Plan *plan)
{
    int i;

    for (i = 0; i < vm->n; i++) {
        sim_set_mask(sim, &sim->tasks[vm->first + i], &plan->vcpus[i].mask);
    }
}

static void ours_start(Sim *sim, void *state)
{
    Ours *ours = state;
    int v;

    for (v = 0; v < sim->n_vms; v++) {
        OurVm *our = &ours->vms[v];

        if (our->guest) {
            our->before = sample_new(sim);
            our->plan = placement_plan(&our->in);
            balance_configure(our->balance, &our->in);
            balance_took(our->balance, our->plan, sim->now_ns);
            apply(sim, &sim->vms[v], our->plan);
        }
    }
}

/* By the masks' CPUs, as QEMU's side does it. */
static void spread_own(const Sim *sim, const SimVm *vm, OurVm *our,
                       uint64_t *run, uint64_t *wait)
{
    int i, l;

    for (i = 0; i < vm->n; i++) {
        const SimTask *task = &sim->tasks[vm->first + i];
        const HostCpuSet *mask = &our->plan->vcpus[i].mask;
        double cpus = host_cpuset_count(mask);

        for (l = 0; l < sim->host->n_llcs; l++) {
            double part = host_cpuset_count_and(mask,
                                          &sim->host->llcs[l].cpus) / cpus;

            run[l] += (task->run_ns - our->base_run[i]) * part;
            wait[l] += (task->wait_ns - our->base_wait[i]) * part;
        }
        our->base_run[i] = task->run_ns;
        our->base_wait[i] = task->wait_ns;
    }
}

static void measure(Sim *sim, const SimVm *vm, OurVm *our)
{
    g_autofree uint64_t *run = g_new0(uint64_t, sim->host->n_llcs);
    g_autofree uint64_t *wait = g_new0(uint64_t, sim->host->n_llcs);
    HostLoadSample *now = sample_new(sim);
    g_autoptr(HostLoad) load = NULL;
    int i;

    spread_own(sim, vm, our, run, wait);
    load = host_load_between(sim->host, our->before, now, run, wait);
    host_load_sample_free(our->before);
    our->before = now;
    load_history_llcs(our->history, sim->now_ns, load);
    for (i = 0; i < vm->n; i++) {
        const SimTask *task = &sim->tasks[vm->first + i];
        ThreadTimes times = {
            .run_ns = task->run_ns, .wait_ns = task->wait_ns,
            .slices = task->slices, .waits_known = true,
        };

        load_history_vcpu(our->history, i, sim->now_ns, task->id, &times);
    }
}

static void look_vm(Sim *sim, Ours *ours, const SimVm *vm, OurVm *our)
{
    g_autofree unsigned *demand = g_new(unsigned, vm->n);
    PlacementInput in = our->in;
    g_autoptr(Plan) plan = NULL;

    measure(sim, vm, our);
    if (ours->closed || balance_look(our->balance, our->history, sim->now_ns) !=
        BALANCE_PLAN) {
        return;
    }
    load_history_demand(our->history, demand);
    in.demand = demand;
    in.load = balance_load(our->balance);
    in.closed = balance_closed(our->balance);
    in.previous = our->plan;
    plan = placement_plan(&in);
    if (balance_judge(our->balance, plan, sim->now_ns) == BALANCE_MOVE) {
        placement_plan_free(our->plan);
        our->plan = g_steal_pointer(&plan);
        sim->moves += sim->now_ns > sim->measure_ns;
        apply(sim, vm, our->plan);
    }
}

static void ours_look(Sim *sim, void *state, int vm)
{
    Ours *ours = state;

    look_vm(sim, ours, &sim->vms[vm], &ours->vms[vm]);
}

const SimPolicy sim_policy_ours = {
    .name = "llcsched", .summary = "libllcsched",
    .state_new = ours_new, .state_free = ours_free,
    .start = ours_start, .look = ours_look,
};
const SimPolicy sim_policy_closed = {
    .name = "closed", .summary = "libllcsched, its guard closed at all times",
    .state_new = ours_new, .state_free = ours_free,
    .start = ours_start, .look = ours_look,
    .is_closed = true,
};
