/*
 * The simulator's cases, and what one run of a case shows
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef BENCH_SIM_SIM_CASE_H
#define BENCH_SIM_SIM_CASE_H

#include "sim.h"

/* Adds VMs to an empty simulation, in proportion to the host. */
typedef struct SimCase {
    const char *name, *summary;
    const char *unit;        /* of its number */
    int min, max, usual;
    void (*add)(Sim *sim, int n);
} SimCase;

extern const SimCase sim_cases[];
extern const int sim_n_cases;

/* NULL: there is none of that name. */
const SimCase *sim_case_by_name(const char *name, gsize len);

/* VMs that do what was recorded, in number so that they fill @percent. */
void sim_add_recorded(Sim *sim, const SimTrace *trace, int percent);

/* What a run showed; docs/devel/simulator.rst describes each. */
typedef enum SimColumn {
    SIM_P50_US, SIM_P99_US, SIM_THROUGHPUT, SIM_MIGRATIONS, SIM_ALIGNED,
    SIM_P90_US, SIM_P999_US, SIM_MOVES, SIM_COLUMNS,
} SimColumn;

/* Of as many runs as there are seeds. */
typedef struct SimResult {
    int n;
    double sum[SIM_COLUMNS], squares[SIM_COLUMNS];
} SimResult;

/* Of a simulation that has run for @seconds beyond its warm-up. */
void sim_result_add(SimResult *result, Sim *sim, double seconds);

/* The header of the table, and a row of means and standard deviations. */
const char *sim_result_header(void);
void sim_result_print(const SimResult *result, GString *text);

#endif
