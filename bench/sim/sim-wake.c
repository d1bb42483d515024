/*
 * The simulated kernel: where a task that wakes goes
 *
 * After Linux 6.15's select_task_rq_fair(): where it was if that CPU is idle;
 * else a search of that LLC, or of the waker's if that is less loaded; an
 * idle core rather than an idle CPU; fewer CPUs are looked at where more are
 * busy.  A new task goes to the LLC with most idle CPUs.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "sim-kernel.h"

/* wake_affine_weight(): half of what the LLC's imbalance_pct allows. */
#define AFFINE_PERCENT 108

/* SIS_UTIL: with that part of an LLC busy no idle CPU is searched. */
#define SEARCH_PERCENT 117

static bool usable(const Sim *sim, const SimTask *task, int cpu)
{
    return host_cpuset_has(&task->mask, cpu);
}

/* The CPU of the LLC with fewest tasks; -1: none that it may use. */
static int least_loaded(const Sim *sim, const SimTask *task,
                        const SimGroup *llc)
{
    int best = -1, i;

    for (i = 0; i < llc->n; i++) {
        int cpu = llc->cpu[i];

        if (usable(sim, task, cpu) &&
            (best < 0 || sim_n_on(sim, cpu) < sim_n_on(sim, best))) {
            best = cpu;
        }
    }
    return best;
}

/* A new task: the CPU with least to do of the LLC with most to spare. */
static int idlest(const Sim *sim, const SimTask *task)
{
    double best_room = -G_MAXDOUBLE;
    int best = -1, l;

    for (l = 0; l < sim->host->n_llcs; l++) {
        const SimGroup *llc = &sim->llcs[l];
        double room = (double)(llc->n - llc->tasks) / MAX(llc->n, 1);
        int cpu = room > best_room ? least_loaded(sim, task, llc) : -1;

        if (cpu >= 0) {
            best_room = room;
            best = cpu;
        }
    }
    g_assert(best >= 0);
    return best;
}

static int n_searched(const SimGroup *llc)
{
    double busy = SEARCH_PERCENT / 100.0 * llc->running / llc->n;

    return busy < 1 ? llc->n * (1 - busy * busy) : 0;
}

/* An idle CPU of @target's LLC; -1: none was found. */
static int search(const Sim *sim, const SimTask *task, int target)
{
    const SimGroup *llc = sim_llc(sim, target);
    bool want_core = llc->idle_cores > 0;
    int left = want_core ? llc->n : n_searched(llc), any = -1, i;

    for (i = 1; i <= llc->n && left > 0; i++) {
        int cpu = llc->cpu[(sim->place[target] + i) % llc->n];

        if (!usable(sim, task, cpu)) {
            continue;
        }
        left--;
        if (!sim_n_on(sim, cpu)) {
            if (!want_core || !sim_core(sim, cpu)->tasks) {
                return cpu;
            }
            any = any < 0 ? cpu : any;
        }
    }
    return any;
}

int sim_choose_cpu(Sim *sim, const SimTask *task, int waker)
{
    int was = task->cpu, target, cpu;

    if (was < 0 || !usable(sim, task, was)) {
        return idlest(sim, task);
    }
    was = sim_cache_wake_cpu(sim, task, was);
    if (!sim_n_on(sim, was)) {
        return was;
    }
    target = was;
    if (waker >= 0 && usable(sim, task, waker) &&
        (sim_n_on(sim, waker) + 1) * 100 <
        sim_n_on(sim, was) * AFFINE_PERCENT) {
        target = waker;
    }
    cpu = search(sim, task, target);
    return cpu >= 0 ? cpu : target;
}
