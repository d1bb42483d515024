/*
 * The simulated kernel's cache-aware rules
 *
 * Both know one preferred LLC per process: where its threads ran most, halved
 * every 10 ms; another one needs twice as much.  BALANCE is Linux 7.2's: load
 * balancing alone follows it.  WAKE is the RFC of April 2025 with its
 * over-aggregation patch: wake-ups follow it, unless the process has as many
 * threads as the LLC has CPUs and the LLC is a quarter busy, or has tasks for
 * a third of its CPUs.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "sim-kernel.h"

/* Linux 7.2's llc_overload_pct and llc_imb_pct, and fits_capacity(). */
#define OVERLOAD_PERCENT 50
#define IMBALANCE_PERCENT 20
#define FITS_PERCENT 80

/* epoch_affinity_timeout: epochs without a run that end a preference. */
#define TIMEOUT_EPOCHS 5

/* Of a new value per epoch: PELT's half-life is 32 ms. */
#define EPOCH_WEIGHT 0.195

/* The RFC: a quarter busy, or tasks for a third of the CPUs. */
#define RFC_UTIL 0.25
#define RFC_TASKS (1.0 / 3)

static void follow(double *average, double value)
{
    *average += (value - *average) * EPOCH_WEIGHT;
}

static SimVm *process_of(const Sim *sim, const SimTask *task)
{
    return &sim->vms[task->vm->process];
}

static int n_threads(const Sim *sim, const SimVm *process)
{
    int v, n = 0;

    for (v = 0; v < sim->n_vms; v++) {
        n += &sim->vms[sim->vms[v].process] == process ? sim->vms[v].n : 0;
    }
    return n;
}

/* Where the process ran lately on its preferred LLC. */
static int find_hot_cpu(const Sim *sim, const SimVm *vm)
{
    const SimTask *hot = NULL;
    int i;

    for (i = vm->first; i < vm->first + vm->n; i++) {
        const SimTask *task = &sim->tasks[i];

        if (task->cpu >= 0 && sim->host->cpus[task->cpu].llc ==
            vm->preferred && (!hot || task->ran_ns > hot->ran_ns)) {
            hot = task;
        }
    }
    return hot ? hot->cpu : sim->llcs[vm->preferred].cpu[0];
}

static bool is_too_wide(const Sim *sim, const SimVm *vm, int llc)
{
    const SimGroup *group = &sim->llcs[llc];
    int threads = group->n / MAX(sim->host->llcs[llc].n_cores, 1);

    return sim->policy->prefers == SIM_PREFER_BALANCE &&
           vm->busy * threads * 100 > group->n * FITS_PERCENT;
}

static void update_preferred(Sim *sim, SimVm *vm)
{
    double all = 0;
    int l, best = 0;

    for (l = 0; l < sim->host->n_llcs; l++) {
        best = vm->occupancy[l] > vm->occupancy[best] ? l : best;
        all += vm->occupancy[l];
    }
    vm->idle_epochs = all < 1 ? vm->idle_epochs + 1 : 0;
    if (n_threads(sim, vm) < 2 || vm->idle_epochs > TIMEOUT_EPOCHS ||
        is_too_wide(sim, vm, best)) {
        vm->preferred = -1;
    } else if (vm->preferred < 0 || vm->occupancy[best] >
               2 * vm->occupancy[vm->preferred]) {
        vm->preferred = best;
    }
    for (l = 0; l < sim->host->n_llcs; l++) {
        vm->occupancy[l] /= 2;
    }
    if (vm->preferred >= 0) {
        vm->hot_cpu = find_hot_cpu(sim, vm);
    }
}

static void count_busy(Sim *sim)
{
    g_autofree int *busy = g_new0(int, sim->n_vms);
    int i, v;

    for (i = 0; i < sim->n_tasks; i++) {
        const SimTask *task = &sim->tasks[i];

        busy[task->vm->process] += task->state != SIM_SLEEPS;
    }
    for (v = 0; v < sim->n_vms; v++) {
        follow(&sim->vms[v].busy, busy[v]);
    }
}

void sim_cache_epoch(Sim *sim)
{
    int l, v;

    for (l = 0; l < sim->host->n_llcs; l++) {
        follow(&sim->llcs[l].tasks_avg, sim->llcs[l].tasks);
        follow(&sim->llcs[l].util_avg, sim->llcs[l].running);
    }
    count_busy(sim);
    for (v = 0; v < sim->n_vms; v++) {
        if (sim->vms[v].process == v) {
            update_preferred(sim, &sim->vms[v]);
        }
    }
}

static bool has_room(const Sim *sim, const SimVm *process, int llc)
{
    const SimGroup *group = &sim->llcs[llc];

    return n_threads(sim, process) < group->n ||
           (group->util_avg < RFC_UTIL * group->n &&
            group->tasks_avg < RFC_TASKS * group->n);
}

/* The RFC: wake up near the hottest CPU, if that is on another LLC. */
int sim_cache_wake_cpu(const Sim *sim, const SimTask *task, int was)
{
    const SimVm *process = process_of(sim, task);

    if (sim->policy->prefers != SIM_PREFER_WAKE || process->preferred < 0 ||
        sim->host->cpus[was].llc == process->preferred ||
        !host_cpuset_has(&task->mask, process->hot_cpu) ||
        !has_room(sim, process, process->preferred)) {
        return was;
    }
    return process->hot_cpu;
}

/* The RFC's task_hot(): off its preferred LLC only for one that has room. */
bool sim_cache_holds(const Sim *sim, const SimTask *task, int to)
{
    const SimVm *process = process_of(sim, task);
    int from = sim->host->cpus[task->cpu].llc;

    return sim->policy->prefers == SIM_PREFER_WAKE && from != to &&
           from == process->preferred && !has_room(sim, process, to);
}

/* Linux 7.2's matrix: into the preferred LLC, and out of it. */
bool sim_cache_allows(const Sim *sim, const SimTask *task, int to)
{
    int from = sim->host->cpus[task->cpu].llc;
    int preferred = process_of(sim, task)->preferred;
    double source, target;

    if (sim->policy->prefers != SIM_PREFER_BALANCE || from == to ||
        preferred < 0) {
        return true;
    }
    source = 100 * sim->llcs[from].util_avg / sim->llcs[from].n;
    target = 100 * sim->llcs[to].util_avg / sim->llcs[to].n;
    if (to == preferred) {
        return target < OVERLOAD_PERCENT ||
               100 * target <= (100 + IMBALANCE_PERCENT) * source;
    }
    if (from == preferred) {
        return source >= OVERLOAD_PERCENT &&
               100 * source > (100 + IMBALANCE_PERCENT) * target;
    }
    return true;
}
