/*
 * The simulated kernel: what is pulled where
 *
 * After Linux 6.15's newidle and periodic balance, reduced to what decides on
 * which CPU and LLC a task runs.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "costs.h"
#include "sim-kernel.h"

/* Failed attempts after which cache-hot tasks go, and tasks that run. */
#define NICE_TRIES 1
#define ACTIVE_TRIES 3

/* A busy CPU balances so much less often (busy_factor). */
#define BUSY_FACTOR 16

/* What an LLC must have more of before a busy CPU takes from it. */
#define IMBALANCE_PERCENT 117

/* task_hot(): it ran less than sysctl_sched_migration_cost ago. */
static bool is_hot(const Sim *sim, const SimTask *task, int cpu)
{
    return (sim->host->cpus[task->cpu].core != sim->host->cpus[cpu].core &&
            sim->now_ns - task->ran_ns < SIM_MIGRATE_FAR_NS) ||
           sim_cache_holds(sim, task, sim->host->cpus[cpu].llc);
}

static bool may_pull(const Sim *sim, const SimTask *task, int cpu)
{
    return host_cpuset_has(&task->mask, cpu) &&
           sim_cache_allows(sim, task, sim->host->cpus[cpu].llc) &&
           (sim->cpus[cpu].failed > NICE_TRIES || !is_hot(sim, task, cpu));
}

/* A task that waits on a CPU with more than @than, and may come to @cpu. */
static SimTask *waiting_task(const Sim *sim, const SimGroup *llc, int cpu,
                             int than)
{
    SimTask *found = NULL;
    int i;

    for (i = 0; i < llc->n; i++) {
        const SimCpu *from = &sim->cpus[llc->cpu[i]];
        GList *link;

        if (llc->cpu[i] == cpu || sim_n_on(sim, llc->cpu[i]) <= than) {
            continue;
        }
        for (link = from->queue.head; link; link = link->next) {
            if (may_pull(sim, link->data, cpu)) {
                than = sim_n_on(sim, llc->cpu[i]);
                found = link->data;
                break;
            }
        }
    }
    return found;
}

/* For an idle CPU, of its own LLC. */
static SimTask *waiting_near(const Sim *sim, int cpu)
{
    const SimGroup *here = sim_llc(sim, cpu);

    return here->tasks > here->running ? waiting_task(sim, here, cpu, 0) : NULL;
}

/* Of an LLC with two tasks more, or too many. */
static SimTask *waiting_far(const Sim *sim, int cpu)
{
    int home = sim->host->cpus[cpu].llc, l;
    const SimGroup *here = &sim->llcs[home];
    SimTask *task = NULL;

    for (l = 0; !task && l < sim->host->n_llcs; l++) {
        const SimGroup *llc = &sim->llcs[l];

        if (l != home && llc->tasks > llc->running &&
            (llc->tasks >= llc->n || llc->tasks > here->tasks + 1)) {
            task = waiting_task(sim, llc, cpu, 0);
        }
    }
    return task;
}

static void pull(Sim *sim, SimTask *task, int cpu)
{
    int from = task->cpu;

    sim_dequeue(sim, task);
    sim_enqueue(sim, task, cpu);
    if (sim->cpus[from].running < 0) {
        sim_kick(sim, from);
    }
}

bool sim_pull_newly_idle(Sim *sim, int cpu)
{
    SimTask *task = waiting_near(sim, cpu);

    if (!task) {
        task = waiting_far(sim, cpu);
    }
    if (!task) {
        return false;
    }
    sim_dequeue(sim, task);
    sim_enqueue(sim, task, cpu);
    return true;
}

/* A task that runs beside a sibling, for an idle core of the same LLC. */
static SimTask *cramped_task(const Sim *sim, int cpu)
{
    const SimGroup *llc = sim_llc(sim, cpu);
    int i;

    if (sim_core(sim, cpu)->tasks) {
        return NULL;
    }
    for (i = 0; i < llc->n; i++) {
        int from = llc->cpu[i], running = sim->cpus[from].running;

        if (running >= 0 && sim_core(sim, from)->running > 1 &&
            host_cpuset_has(&sim->tasks[running].mask, cpu)) {
            return &sim->tasks[running];
        }
    }
    return NULL;
}

/* The cache-aware kernel pulls what runs elsewhere to the preferred LLC. */
static bool wants_home(const Sim *sim, const SimTask *task, int llc)
{
    return sim->policy->prefers == SIM_PREFER_BALANCE &&
           sim->vms[task->vm->process].preferred == llc;
}

/*
 * Groups with idle CPUs are evened out by their number of tasks.  Only what
 * waits is taken at first; what runs, when that has failed often enough.
 */
static SimTask *running_elsewhere(Sim *sim, int cpu, bool *ret_uneven)
{
    int home = sim->host->cpus[cpu].llc, l, i;

    *ret_uneven = false;
    for (l = 0; l < sim->host->n_llcs; l++) {
        const SimGroup *llc = &sim->llcs[l];
        bool more = llc->tasks > sim->llcs[home].tasks + 1;

        for (i = 0; l != home && i < llc->n; i++) {
            int running = sim->cpus[llc->cpu[i]].running;
            SimTask *task = running < 0 ? NULL : &sim->tasks[running];

            if (!task || !host_cpuset_has(&task->mask, cpu) ||
                !sim_cache_allows(sim, task, home) ||
                !(more || wants_home(sim, task, home))) {
                continue;
            }
            *ret_uneven = true;
            if (sim->cpus[cpu].failed > ACTIVE_TRIES) {
                return task;
            }
        }
    }
    return NULL;
}

/*
 * A domain of n CPUs balances once in n ms (sd_init()'s min_interval): so LLCs
 * are evened out much less often than the CPUs of one.
 */
static bool is_far_turn(const Sim *sim, int cpu)
{
    const SimGroup *package = &sim->packages[sim->package_of[cpu]];
    int n = package->n_llcs > 1 ? package->n : sim->host->n_cpus;

    return sim->cpus[cpu].looks % MAX(n / (SIM_BALANCE_NS / 1000000), 1) == 0;
}

static SimTask *balance_far(Sim *sim, int cpu)
{
    SimCpu *c = &sim->cpus[cpu];
    SimTask *task = waiting_far(sim, cpu);
    bool uneven = false;

    if (!task) {
        task = running_elsewhere(sim, cpu, &uneven);
    }
    c->failed = uneven && !task ? c->failed + 1 : 0;
    return task;
}

static void balance_idle(Sim *sim, int cpu)
{
    SimTask *task = waiting_near(sim, cpu);

    if (!task) {
        task = cramped_task(sim, cpu);
    }
    if (!task && is_far_turn(sim, cpu)) {
        task = balance_far(sim, cpu);
    }
    if (task) {
        pull(sim, task, cpu);
        sim_kick(sim, cpu);
    }
}

/* Overfull groups are evened out by their mean number of tasks. */
static void balance_busy(Sim *sim, int cpu)
{
    int home = sim->host->cpus[cpu].llc, than = sim_n_on(sim, cpu) + 1, l;
    const SimGroup *here = &sim->llcs[home];
    SimTask *task = waiting_task(sim, here, cpu, than);

    for (l = 0; !task && l < sim->host->n_llcs; l++) {
        const SimGroup *llc = &sim->llcs[l];

        if (l != home && (int64_t)llc->tasks * here->n * 100 >
            (int64_t)here->tasks * llc->n * IMBALANCE_PERCENT) {
            task = waiting_task(sim, llc, cpu, than - 1);
        }
    }
    if (task) {
        pull(sim, task, cpu);
        sim_kick(sim, cpu);
    }
}

void sim_balance(Sim *sim, int cpu)
{
    sim->cpus[cpu].looks++;
    if (!sim_n_on(sim, cpu)) {
        balance_idle(sim, cpu);
    } else if (sim->cpus[cpu].looks % BUSY_FACTOR == 0) {
        balance_busy(sim, cpu);
    }
}
