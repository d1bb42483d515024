/*
 * What the files of the simulated kernel share
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef BENCH_SIM_SIM_KERNEL_H
#define BENCH_SIM_SIM_KERNEL_H

#include "sim.h"

enum {
    SIM_EVENT_CPU, SIM_EVENT_WAKE, SIM_EVENT_BALANCE, SIM_EVENT_EPOCH,
    SIM_EVENT_LOOK, SIM_EVENT_START,
};

static inline int sim_n_on(const Sim *sim, int cpu)
{
    return (sim->cpus[cpu].running >= 0) + sim->cpus[cpu].queue.length;
}

static inline SimGroup *sim_core(const Sim *sim, int cpu)
{
    return &sim->cores[sim->host->cpus[cpu].core];
}

static inline SimGroup *sim_llc(const Sim *sim, int cpu)
{
    return &sim->llcs[sim->host->cpus[cpu].llc];
}

static inline bool sim_measures(const Sim *sim, const SimTask *task)
{
    return sim->now_ns > sim->measure_ns && !task->vm->neighbor;
}

/* sim-wake.c: where a task that wakes goes; @waker is a CPU or -1. */
int sim_choose_cpu(Sim *sim, const SimTask *task, int waker);

/* sim-balance.c: true if there is something to run now, in the queue. */
bool sim_pull_newly_idle(Sim *sim, int cpu);
void sim_balance(Sim *sim, int cpu);

/* sim-cache.c */
#define SIM_EPOCH_NS 10000000
void sim_cache_epoch(Sim *sim);
int sim_cache_wake_cpu(const Sim *sim, const SimTask *task, int was);
bool sim_cache_allows(const Sim *sim, const SimTask *task, int to);
bool sim_cache_holds(const Sim *sim, const SimTask *task, int to);

/* sim-queue.c */
void sim_queue_add(Sim *sim, SimTask *task, int cpu);
void sim_queue_remove(Sim *sim, SimTask *task);
SimTask *sim_queue_pick(Sim *sim, int cpu);
bool sim_queue_yields(const Sim *sim, int cpu);

/* sim.c */
void sim_push(Sim *sim, int64_t when_ns, int kind, int subject,
              unsigned event);
void sim_enqueue(Sim *sim, SimTask *task, int cpu);
void sim_dequeue(Sim *sim, SimTask *task);
void sim_stop_running(Sim *sim, int cpu);
void sim_kick(Sim *sim, int cpu);
void sim_warm_up(Sim *sim, SimTask *task);
void sim_add_overhead(Sim *sim, SimTask *task, double ns);

/* sim-load.c */
void sim_load_start(Sim *sim);
void sim_load_begin(Sim *sim, SimTask *task);
void sim_load_timer(Sim *sim, SimTask *task);
void sim_load_end_burst(Sim *sim, SimTask *task);

#endif
