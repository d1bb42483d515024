/*
 * The policies that are compared: masks by others' rules, the kernel's, ours
 *
 * Ours is libllcsched itself: what it is shown is made from the simulated
 * /proc, and its masks are set as QEMU sets them.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <string.h>
#include "hw/sched/balance.h"
#include "sim.h"

#define LOOK_NS 1000000000ll

static void set_vm_mask(Sim *sim, const SimVm *vm, const HostCpuSet *mask)
{
    int i;

    for (i = vm->first; i < vm->first + vm->n; i++) {
        sim_set_mask(sim, &sim->tasks[i], mask);
    }
}

/* ---- libvirt: vCPU i of all VMs together on the next CPU, for ever ---- */

static void pins_start(Sim *sim, void *state)
{
    int cpu = -1, v, i;

    for (v = 0; v < sim->n_vms; v++) {
        SimVm *vm = &sim->vms[v];

        for (i = vm->first; !vm->neighbor && i < vm->first + vm->n; i++) {
            HostCpuSet mask = { { 0 } };

            cpu = host_cpuset_next(&sim->host->online, cpu + 1);
            cpu = cpu < 0 ? host_cpuset_next(&sim->host->online, 0) : cpu;
            host_cpuset_add(&mask, cpu);
            sim_set_mask(sim, &sim->tasks[i], &mask);
        }
    }
}

/*
 * ---- Kubernetes' prefer-align-cpus-by-uncorecache: as many exclusive CPUs as
 * the VM has vCPUs, of the first LLC that has them, else of several ----
 */

static int take_cpus(const HostCpuSet *from, HostCpuSet *used, int n,
                     HostCpuSet *mask)
{
    HOST_CPUSET_FOREACH(cpu, from) {
        if (n > 0 && !host_cpuset_has(used, cpu)) {
            host_cpuset_add(mask, cpu);
            host_cpuset_add(used, cpu);
            n--;
        }
    }
    return n;
}

static int n_free(const HostCpuSet *of, const HostCpuSet *used)
{
    return host_cpuset_count(of) - host_cpuset_count_and(of, used);
}

static void first_fit_start(Sim *sim, void *state)
{
    HostCpuSet used = { { 0 } };
    int v, l;

    for (v = 0; v < sim->n_vms; v++) {
        SimVm *vm = &sim->vms[v];
        HostCpuSet mask = { { 0 } };

        if (vm->neighbor || n_free(&sim->host->online, &used) < vm->n) {
            continue; /* stays in the shared pool: everywhere */
        }
        for (l = 0; l < sim->host->n_llcs; l++) {
            if (n_free(&sim->host->llcs[l].cpus, &used) >= vm->n) {
                take_cpus(&sim->host->llcs[l].cpus, &used, vm->n, &mask);
                break;
            }
        }
        if (l == sim->host->n_llcs) {
            take_cpus(&sim->host->online, &used, vm->n, &mask);
        }
        set_vm_mask(sim, vm, &mask);
    }
}

/*
 * ---- proxmox-cpu-affinity: the next start CPU round robin, and the nearest
 * CPUs to it ----
 */

static int distance_class(const Sim *sim, int a, int b)
{
    const HostCpu *ca = &sim->host->cpus[a], *cb = &sim->host->cpus[b];

    return ca->core == cb->core ? 0 : ca->llc == cb->llc ? 1 :
           ca->node == cb->node ? 2 : ca->package == cb->package ? 3 : 4;
}

static void nearest_start(Sim *sim, void *state)
{
    int start = -1, v, near;

    for (v = 0; v < sim->n_vms; v++) {
        HostCpuSet mask = { { 0 } };
        int left = sim->vms[v].n;

        if (sim->vms[v].neighbor) {
            continue;
        }
        start = host_cpuset_next(&sim->host->online, start + 1);
        start = start < 0 ? host_cpuset_next(&sim->host->online, 0) : start;
        for (near = 0; near <= 4; near++) {
            HOST_CPUSET_FOREACH(cpu, &sim->host->online) {
                if (left > 0 && distance_class(sim, start, cpu) == near) {
                    host_cpuset_add(&mask, cpu);
                    left--;
                }
            }
        }
        set_vm_mask(sim, &sim->vms[v], &mask);
    }
}

/* ---- ours ---- */

typedef struct OurVm {
    GuestTopology *guest;
    Balance *balance;
    LoadHistory *history;
    Plan *plan;
    PlacementInput in;
    uint64_t *base_run, *base_wait;
} OurVm;

typedef struct Ours {
    OurVm *vms;
    int n_vms;
    HostLoadSample *before, *now;
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

static void our_vm_init(Sim *sim, const SimVm *vm, OurVm *our)
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
        .guard_util = PLACEMENT_GUARD_UTIL_DEFAULT,
        .guard_tasks = PLACEMENT_GUARD_TASKS_DEFAULT,
    };
}

static void *ours_new(Sim *sim)
{
    Ours *ours = g_new0(Ours, 1);
    int v;

    ours->n_vms = sim->n_vms;
    ours->vms = g_new0(OurVm, sim->n_vms);
    for (v = 0; v < sim->n_vms; v++) {
        if (!sim->vms[v].neighbor) {
            our_vm_init(sim, &sim->vms[v], &ours->vms[v]);
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
        g_free(our->base_run);
        g_free(our->base_wait);
    }
    host_load_sample_free(ours->before);
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

    ours->before = sample_new(sim);
    for (v = 0; v < sim->n_vms; v++) {
        OurVm *our = &ours->vms[v];

        if (our->guest) {
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

static void measure(Sim *sim, Ours *ours, const SimVm *vm, OurVm *our)
{
    g_autofree uint64_t *run = g_new0(uint64_t, sim->host->n_llcs);
    g_autofree uint64_t *wait = g_new0(uint64_t, sim->host->n_llcs);
    g_autoptr(HostLoad) load = NULL;
    int i;

    spread_own(sim, vm, our, run, wait);
    load = host_load_between(sim->host, ours->before, ours->now, run, wait);
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

    measure(sim, ours, vm, our);
    if (balance_look(our->balance, our->history, sim->now_ns) !=
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
        apply(sim, vm, our->plan);
    }
}

static void ours_look(Sim *sim, void *state)
{
    Ours *ours = state;
    int v;

    ours->now = sample_new(sim);
    for (v = 0; v < sim->n_vms; v++) {
        if (ours->vms[v].guest) {
            look_vm(sim, ours, &sim->vms[v], &ours->vms[v]);
        }
    }
    host_load_sample_free(ours->before);
    ours->before = g_steal_pointer(&ours->now);
}

static const SimPolicy blind = { .name = "blind" };
static const SimPolicy cache_aware = {
    .name = "cache-aware", .cache_aware = true,
};
static const SimPolicy pins = { .name = "pins", .start = pins_start };
static const SimPolicy first_fit = {
    .name = "first-fit", .start = first_fit_start,
};
static const SimPolicy nearest = { .name = "nearest", .start = nearest_start };
static const SimPolicy ours_policy = {
    .name = "llcsched", .state_new = ours_new, .state_free = ours_free,
    .start = ours_start, .look = ours_look,
};

const SimPolicy *const sim_policies[] = {
    &blind, &cache_aware, &pins, &first_fit, &nearest, &ours_policy,
};
const int sim_n_policies = G_N_ELEMENTS(sim_policies);
