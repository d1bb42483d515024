/*
 * Who limits a VM's vCPUs: the kernel, or llcsched in the same process
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef BENCH_LIMITER_H
#define BENCH_LIMITER_H

#include "cgroup.h"
#include "tests/integration/vm.h"

#define LIMITER_DEPTH_MAX 5

typedef enum LimitBy {
    LIMIT_BY_NONE,
    LIMIT_BY_KERNEL,
    LIMIT_BY_LLCSCHED,
} LimitBy;

/* One side of a comparison. */
typedef struct LimitSide {
    const char *name;
    LimitBy by;
    int64_t period_us;
} LimitSide;

/* All there are; the sides of most rows are some of these in a row. */
enum {
    SIDE_KERNEL_10, SIDE_LLCSCHED_10, SIDE_KERNEL_100, SIDE_LLCSCHED_100,
    SIDE_NONE, N_SIDES
};
extern const LimitSide limit_sides[N_SIDES];

typedef struct Limiter {
    Vm *vm;
    int n_vcpus;
    CgroupTree *tree;       /* NULL: the kernel limits nothing here */
    int depth;              /* of both chains of groups */
} Limiter;

/* Arguments for a QEMU whose vCPUs are to be limited; the caller frees. */
char *limiter_args(int n_vcpus, const char *more);

/*
 * Put the VM into groups "vm" of @tree, and its vCPUs into groups of the
 * kernel's and of llcsched, @depth of them, without limits.  Nobody else may
 * use the names that begin with "vm".
 */
void limiter_init(Limiter *limiter, Vm *vm, int n_vcpus, CgroupTree *tree);

/* Take the kernel's groups away, whose VM must have ended. */
void limiter_clear(Limiter *limiter);

/* Other groups for the same vCPUs, without limits. */
void limiter_set_depth(Limiter *limiter, int depth);

/*
 * Let @side alone limit the vCPUs to @cpus CPUs in all, 0: no limit.
 * The topmost group has that limit; those below are finite and have more, but
 * for the kernel's version 1, which allows no more than the one above has.
 */
void limiter_set(Limiter *limiter, const LimitSide *side, double cpus,
                 int64_t burst_us);

/* In how many periods @side throttled the topmost group so far. */
uint64_t limiter_throttled_periods(Limiter *limiter, const LimitSide *side);

/* A counter of llcsched's topmost group. */
int64_t limiter_group_int(Limiter *limiter, const char *member);

#endif
