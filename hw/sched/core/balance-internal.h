/*
 * What the files of balance share
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef HW_SCHED_CORE_BALANCE_INTERNAL_H
#define HW_SCHED_CORE_BALANCE_INTERNAL_H

#include "hw/sched/balance.h"

/* Loads are per mille of a CPU (or core); sums of 100 CPUs reach 100000. */

/* One host LLC. */
typedef struct BalanceLlc {
    unsigned cpus, cores;    /* candidates */
    double others[LOAD_SPANS]; /* tasks of others, per mille of its CPUs */
    double util[LOAD_SPANS];
    int step;                /* of others, see balance_step() */
} BalanceLlc;

/* The LLCs that some vCPUs of a plan may use. */
typedef struct BalanceSet {
    int first_llc, n_llcs;
    unsigned cpus, cores;    /* candidates of its LLCs; CPUs of the mask */
    unsigned *part;          /* per LLC, CPUs of the mask; NULL: all of one */
    HostCpuSet mask;         /* only with @part */
} BalanceSet;

/* A plan as balance sees it: who is on which set. */
typedef struct BalanceSets {
    int n_vcpus, n_sets;
    int *set_of;             /* -1: absent */
    bool *ours;              /* not absent, not foreign */
    BalanceSet *sets;
    bool guarded;            /* some vCPU has every candidate, by the guard */
    bool forced;             /* isolated CPUs: no mask can be wide */
} BalanceSets;

/* What our vCPUs ask for, by one measure. */
typedef struct BalanceDemand {
    unsigned *vcpu;          /* run + wait, per mille of a CPU */
    double total;            /* of those that are ours */
} BalanceDemand;

struct Balance {
    uint32_t seed;
    int64_t interval_ns;
    HostTopology *host;
    HostCpuSet candidates;
    unsigned n_candidates;
    int n_vcpus, n_groups, n_guest_cores;
    int *core_of, *group_of; /* per vCPU, of the guest */
    PlacementGuard *limits;  /* per LLC */
    bool limits_new;         /* not looked by yet: no hysteresis */
    BalanceLlc *llcs;
    BalanceGuard *guards;
    bool *closed;            /* as told to placement */
    HostLoad *load;

    bool known;              /* the load of others, at this look */
    bool waits_known;        /* of our own vCPUs */
    unsigned *demand;        /* per vCPU, fast average */
    int *group_step;         /* of demand, per guest LLC group */
    double run_wait, wait;   /* of all our vCPUs at the last look */
    double lost_ns;          /* time lost to others, less what is allowed */
    int64_t looked_ns;       /* time of the last look */

    BalanceSets *running, *before;
    BalanceSets *told_from;  /* only compared, until a plan is told */
    bool due;                /* something changed since a plan was refused */
    unsigned looks_since_plan;
    double turn, turn_at;    /* see balance_turn() */
    uint32_t draws;
    int64_t last_moves_ns[BALANCE_MOVES_PER_HOUR]; /* a ring */
    unsigned n_moves;
    BalanceStats stats;
};

/* balance-setup.c */
int64_t balance_first_cooldown_ns(const Balance *balance);

/* balance-load.c */
BalanceSets *balance_sets_new(const Balance *balance, const Plan *plan);
void balance_sets_free(BalanceSets *sets);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(BalanceSets, balance_sets_free)
bool balance_sets_same(const BalanceSets *a, const BalanceSets *b, int vcpu);
bool balance_set_uses(const BalanceSet *set, int llc);
double balance_others(const Balance *balance, int llc, bool high);
double balance_set_load(const Balance *balance, const BalanceSets *sets,
                        bool high);
double balance_set_loss(const Balance *balance, const BalanceSets *sets,
                        bool high);
double balance_loss_here(const Balance *balance);
double balance_mean_load(const Balance *balance);
double balance_part_wanted(const Balance *balance, const BalanceSets *sets);
double balance_spread(const Balance *balance, const BalanceSets *sets);
bool balance_step(int *step, double value);

/* balance-guard.c */
void balance_guard_look(Balance *balance, int64_t now_ns);
void balance_count_loss(Balance *balance, int64_t now_ns);
double balance_exposed(const Balance *balance, const BalanceSets *sets);

#endif
