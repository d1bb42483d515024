/*
 * The simulated kernel's run queue: by virtual time, as EEVDF orders it
 *
 * After Linux 6.15: a task may run if it has not had more than its share (its
 * virtual run time is not above the queue's mean); of those that may, the one
 * with the earliest deadline does, and keeps the CPU for its slice while it
 * may (RUN_TO_PARITY).  All weigh the same.  What a task was owed when it
 * went to sleep it is owed when it wakes; what it owed fades as it sleeps.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "costs.h"
#include "sim-kernel.h"

/* Rounding of sums of ns as doubles. */
#define ALIKE_NS 1.0

static double mean_vruntime(const Sim *sim, int cpu)
{
    const SimCpu *c = &sim->cpus[cpu];
    double sum = c->running >= 0 ? sim->tasks[c->running].vruntime : 0;
    int n = sim_n_on(sim, cpu);

    for (GList *link = c->queue.head; link; link = link->next) {
        sum += ((SimTask *)link->data)->vruntime;
    }
    return n ? sum / n : c->vtime;
}

/* A heavier queue moves its mean as the task joins: so the lag is kept. */
void sim_queue_add(Sim *sim, SimTask *task, int cpu)
{
    int n = sim_n_on(sim, cpu);
    double lag = n ? task->lag * (n + 1) / n : 0;

    task->vruntime = mean_vruntime(sim, cpu) - lag;
    task->deadline = task->vruntime + SIM_SLICE_NS;
    g_queue_push_tail(&sim->cpus[cpu].queue, task);
}

/* The task is in the queue, or runs. */
void sim_queue_remove(Sim *sim, SimTask *task)
{
    SimCpu *c = &sim->cpus[task->cpu];

    task->lag = CLAMP(mean_vruntime(sim, task->cpu) - task->vruntime,
                      -SIM_SLICE_NS, SIM_SLICE_NS);
    c->vtime = task->vruntime;
    if (c->running != task->id) {
        g_queue_remove(&c->queue, task);
    }
}

static SimTask *best(const Sim *sim, int cpu, SimTask *than)
{
    double mean = mean_vruntime(sim, cpu) + ALIKE_NS;

    for (GList *link = sim->cpus[cpu].queue.head; link; link = link->next) {
        SimTask *task = link->data;

        if (task->vruntime <= mean &&
            (!than || task->deadline < than->deadline)) {
            than = task;
        }
    }
    return than;
}

/* Takes the task that is to run out of the queue; NULL: empty. */
SimTask *sim_queue_pick(Sim *sim, int cpu)
{
    SimCpu *c = &sim->cpus[cpu];
    SimTask *task = c->queue.length > 1 ? best(sim, cpu, NULL)
                                        : g_queue_peek_head(&c->queue);

    if (task) {
        g_queue_remove(&c->queue, task);
    }
    return task;
}

/* Whether what runs has to make room for another one now. */
bool sim_queue_yields(const Sim *sim, int cpu)
{
    const SimCpu *c = &sim->cpus[cpu];
    SimTask *task = &sim->tasks[c->running];
    bool may_run = task->vruntime <= mean_vruntime(sim, cpu) + ALIKE_NS;

    if (may_run && task->vruntime < task->deadline - ALIKE_NS) {
        return false;
    }
    if (task->vruntime >= task->deadline - ALIKE_NS) {
        task->deadline = task->vruntime + SIM_SLICE_NS;
    }
    return best(sim, cpu, may_run ? task : NULL) != (may_run ? task : NULL);
}
