/*
 * A host's CPUs, a kernel's scheduler and VMs, by discrete events
 *
 * docs/devel/simulator.rst says what is modeled and what is not.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef BENCH_SIM_SIM_H
#define BENCH_SIM_SIM_H

#include "hw/sched/host-topology.h"

typedef enum SimLoad {
    SIM_SPIN,      /* runs for ever */
    SIM_PAIR,      /* runs, sends to its partner, waits for the answer */
    SIM_BURST,     /* runs, sleeps */
    SIM_PHASED,    /* like SPIN for 5 s, like BURST at 5 % for the next 5 */
} SimLoad;

typedef struct SimVm SimVm;

typedef struct SimTask {
    int id, vcpu;
    SimVm *vm;
    HostCpuSet mask;         /* which CPUs, by the policy or the case */
    int cpu;                 /* where it is, or was last; -1: never yet */
    enum { SIM_SLEEPS, SIM_READY, SIM_RUNS } state;
    double left_ns;          /* work of this burst, at full speed */
    int partner;             /* task of SIM_PAIR, else -1 */
    int64_t ready_ns;        /* since when it is ready */
    int64_t woken_ns;        /* its last wake-up */
    bool woken;              /* it has not run since */
    uint64_t run_ns, wait_ns, slices;
} SimTask;

struct SimVm {
    int first, n;            /* its tasks */
    SimLoad load;
    int64_t run_ns, sleep_ns; /* mean of a burst and of the pause after it */
    bool neighbor;           /* not placed, and not measured */
    int64_t start_ns, end_ns; /* runs from, until; 0: always */
    int preferred;           /* LLC, of the kernel's cache-aware rule; -1 */
    double done;             /* bursts that ended, or ns for SIM_SPIN */
};

typedef struct SimCpu {
    int running;             /* task, -1: idle */
    GQueue queue;            /* of tasks that are ready */
    int64_t settled_ns, slice_end_ns;
    unsigned event;          /* number of the one that is valid */
    uint64_t run_ns, wait_ns;
} SimCpu;

typedef struct Sim Sim;

/* What a policy is asked; every function may be NULL. */
typedef struct SimPolicy {
    const char *name;
    void (*start)(Sim *sim, void *state);
    void (*look)(Sim *sim, void *state);           /* once a second */
    void *(*state_new)(Sim *sim);
    void (*state_free)(void *state);
    bool cache_aware;        /* the kernel's own rule below it */
} SimPolicy;

typedef struct SimEvent {
    int64_t when_ns;
    uint64_t order;          /* what was asked for first happens first */
    int kind, subject;
    unsigned event;
} SimEvent;

struct Sim {
    HostTopology *host;
    GRand *rand;
    int64_t now_ns, measure_ns;
    int n_tasks, n_vms;
    SimTask *tasks;
    SimVm *vms;
    SimCpu *cpus;
    int *llc_tasks;          /* ready or running, per LLC */
    int *llc_cpus;
    SimEvent *heap;
    int n_heap, max_heap;
    uint64_t order;
    const SimPolicy *policy;
    void *state;
    GArray *waits;           /* double, us: wake-up to run, measured VMs */
    uint64_t migrations, wakes, near_wakes;
};

Sim *sim_new(HostTopology *host, guint32 seed); /* takes a reference */
void sim_free(Sim *sim);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Sim, sim_free)

/* Before the run; returns the VM, valid until the next one is added. */
SimVm *sim_add_vm(Sim *sim, int n_vcpus, SimLoad load, int64_t run_ns,
                  int64_t sleep_ns);

/* What is measured begins at @warm_ns. */
void sim_run(Sim *sim, const SimPolicy *policy, int64_t warm_ns,
             int64_t end_ns);

/* The policy sets a mask: takes effect at once, as sched_setaffinity() does. */
void sim_set_mask(Sim *sim, SimTask *task, const HostCpuSet *mask);

extern const SimPolicy *const sim_policies[];
extern const int sim_n_policies;

#endif
