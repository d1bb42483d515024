/*
 * The simulated kernel: where tasks wake up, and what is pulled where
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef BENCH_SIM_SIM_KERNEL_H
#define BENCH_SIM_SIM_KERNEL_H

#include "sim.h"

/* sim-kernel.c; @waker is a CPU or -1. */
int sim_choose_cpu(Sim *sim, const SimTask *task, int waker);
bool sim_pull_newly_idle(Sim *sim, int cpu);
void sim_balance(Sim *sim, int cpu);

/* sim.c */
void sim_enqueue(Sim *sim, SimTask *task, int cpu);
void sim_dequeue(Sim *sim, SimTask *task);
void sim_reschedule(Sim *sim, int cpu);
void sim_kick(Sim *sim, int cpu);

#endif
