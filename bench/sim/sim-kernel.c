/*
 * The simulated kernel: where tasks wake up, and what is pulled where
 *
 * After Linux' select_idle_sibling(), newidle and periodic balance, reduced to
 * what decides on which LLC a task runs.
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

static int n_on(const Sim *sim, int cpu)
{
    return (sim->cpus[cpu].running >= 0) + sim->cpus[cpu].queue.length;
}

static bool core_is_idle(const Sim *sim, int cpu)
{
    const HostCore *core = &sim->host->cores[sim->host->cpus[cpu].core];

    HOST_CPUSET_FOREACH(sibling, &core->cpus) {
        if (n_on(sim, sibling)) {
            return false;
        }
    }
    return true;
}

/* An idle CPU of the LLC, rather one of an idle core; -1: none. */
static int idle_cpu(const Sim *sim, const SimTask *task, int llc)
{
    int any = -1;

    HOST_CPUSET_FOREACH(cpu, &sim->host->llcs[llc].cpus) {
        if (host_cpuset_has(&task->mask, cpu) && !n_on(sim, cpu)) {
            if (core_is_idle(sim, cpu)) {
                return cpu;
            }
            any = any < 0 ? cpu : any;
        }
    }
    return any;
}

static int least_loaded(const Sim *sim, const SimTask *task, int llc)
{
    int best = -1;

    HOST_CPUSET_FOREACH(cpu, &task->mask) {
        if (sim->host->cpus[cpu].online &&
            (llc < 0 || sim->host->cpus[cpu].llc == llc) &&
            (best < 0 || n_on(sim, cpu) < n_on(sim, best))) {
            best = cpu;
        }
    }
    return best;
}

/* The LLC with most idle CPUs that the task may use: fork and exec balance. */
static int idlest_llc(const Sim *sim, const SimTask *task)
{
    int best = -1, most = G_MININT, l;

    for (l = 0; l < sim->host->n_llcs; l++) {
        int idle = sim->llc_cpus[l] - sim->llc_tasks[l];

        if (idle > most && host_cpuset_intersects(&task->mask,
                                              &sim->host->llcs[l].cpus)) {
            most = idle;
            best = l;
        }
    }
    return best;
}

/* As select_idle_sibling(): near where it was, or near who woke it. */
int sim_choose_cpu(Sim *sim, const SimTask *task, int waker)
{
    int was = task->cpu, llc, cpu;

    if (was >= 0 && !host_cpuset_has(&task->mask, was)) {
        was = -1;
    }
    if (was >= 0 && !n_on(sim, was) && core_is_idle(sim, was)) {
        return was;
    }
    llc = was >= 0 ? sim->host->cpus[was].llc : idlest_llc(sim, task);
    cpu = idle_cpu(sim, task, llc);
    if (cpu < 0 && waker >= 0) {
        cpu = idle_cpu(sim, task, sim->host->cpus[waker].llc);
    }
    if (cpu < 0) {
        cpu = was >= 0 ? was : least_loaded(sim, task, llc);
    }
    return cpu;
}

static int llc_percent(const Sim *sim, int llc)
{
    return 100 * sim->llc_tasks[llc] / MAX(sim->llc_cpus[llc], 1);
}

/* Where most of the VM's tasks are, if twice as many as before, and it fits. */
static void update_preferred(Sim *sim, SimVm *vm)
{
    g_autofree int *count = g_new0(int, sim->host->n_llcs);
    int i, l, best = 0, busy = 0;

    for (i = vm->first; i < vm->first + vm->n; i++) {
        const SimTask *task = &sim->tasks[i];

        if (task->cpu >= 0 && task->state != SIM_SLEEPS) {
            count[sim->host->cpus[task->cpu].llc]++;
            busy++;
        }
    }
    for (l = 1; l < sim->host->n_llcs; l++) {
        best = count[l] > count[best] ? l : best;
    }
    if (vm->n < 2 || busy * 100 > FITS_PERCENT * sim->llc_cpus[best]) {
        vm->preferred = -1;
    } else if (vm->preferred < 0 ||
               count[best] > 2 * count[vm->preferred]) {
        vm->preferred = best;
    }
}

/* Whether the cache-aware rule lets @task go from LLC @from to @to. */
static bool rule_allows(const Sim *sim, const SimTask *task, int from, int to)
{
    int source = llc_percent(sim, from), target = llc_percent(sim, to);
    int preferred = task->vm->preferred;

    if (!sim->policy->cache_aware || from == to || preferred < 0) {
        return true;
    }
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

static bool may_pull(const Sim *sim, const SimTask *task, int cpu)
{
    return host_cpuset_has(&task->mask, cpu) &&
           rule_allows(sim, task, sim->host->cpus[task->cpu].llc,
                       sim->host->cpus[cpu].llc);
}

/* A task that waits on a CPU of LLC @llc and may come to @cpu. */
static SimTask *waiting_task(Sim *sim, int llc, int cpu)
{
    SimTask *found = NULL;
    unsigned most = 0;

    HOST_CPUSET_FOREACH(from, &sim->host->llcs[llc].cpus) {
        GList *link = sim->cpus[from].queue.head;

        if (from == cpu || sim->cpus[from].queue.length <= most) {
            continue;
        }
        for (; link; link = link->next) {
            if (may_pull(sim, link->data, cpu)) {
                most = sim->cpus[from].queue.length;
                found = link->data;
                break;
            }
        }
    }
    return found;
}

static SimTask *waiting_anywhere(Sim *sim, int cpu)
{
    int home = sim->host->cpus[cpu].llc, l;
    SimTask *task = waiting_task(sim, home, cpu);

    for (l = 0; !task && l < sim->host->n_llcs; l++) {
        task = l == home || sim->llc_tasks[l] < sim->llc_cpus[l] ? NULL
               : waiting_task(sim, l, cpu);
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

/* True if there is something to run now; it is in the queue. */
bool sim_pull_newly_idle(Sim *sim, int cpu)
{
    SimTask *task = waiting_anywhere(sim, cpu);

    if (!task) {
        return false;
    }
    sim_dequeue(sim, task);
    sim_enqueue(sim, task, cpu);
    return true;
}

/* A task that runs beside a sibling, for an idle core of the same LLC. */
static SimTask *cramped_task(Sim *sim, int cpu)
{
    int llc = sim->host->cpus[cpu].llc;

    HOST_CPUSET_FOREACH(from, &sim->host->llcs[llc].cpus) {
        const HostCore *core = &sim->host->cores[sim->host->cpus[from].core];
        int busy = 0;

        if (sim->cpus[from].running < 0 ||
            !may_pull(sim, &sim->tasks[sim->cpus[from].running], cpu)) {
            continue;
        }
        HOST_CPUSET_FOREACH(sibling, &core->cpus) {
            busy += sim->cpus[sibling].running >= 0;
        }
        if (busy > 1) {
            return &sim->tasks[sim->cpus[from].running];
        }
    }
    return NULL;
}

/*
 * Linux evens out the idle CPUs of groups that have some to spare; the
 * cache-aware kernel pulls towards the preferred LLC besides.
 */
static SimTask *running_elsewhere(Sim *sim, int cpu)
{
    int home = sim->host->cpus[cpu].llc, l;

    for (l = 0; l < sim->host->n_llcs; l++) {
        int more = sim->llc_tasks[l] - sim->llc_tasks[home];

        HOST_CPUSET_FOREACH(from, &sim->host->llcs[l].cpus) {
            SimTask *task = sim->cpus[from].running < 0 ? NULL
                            : &sim->tasks[sim->cpus[from].running];
            bool homewards = task && sim->policy->cache_aware && l != home &&
                             task->vm->preferred == home;

            if (task && (more > 1 || homewards) && may_pull(sim, task, cpu)) {
                return task;
            }
        }
    }
    return NULL;
}

void sim_balance(Sim *sim, int cpu)
{
    SimTask *task = NULL;
    int v;

    if (sim->policy->cache_aware && cpu == 0) {
        for (v = 0; v < sim->n_vms; v++) {
            update_preferred(sim, &sim->vms[v]);
        }
    }
    if (n_on(sim, cpu)) {
        return;
    }
    task = waiting_anywhere(sim, cpu);
    if (!task && core_is_idle(sim, cpu)) {
        task = cramped_task(sim, cpu);
    }
    if (!task) {
        task = running_elsewhere(sim, cpu);
    }
    if (task) {
        pull(sim, task, cpu);
        sim_kick(sim, cpu);
    }
}
