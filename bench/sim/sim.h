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
#include "sim-trace.h"

typedef enum SimLoad {
    SIM_SPIN,      /* runs for ever */
    SIM_PAIR,      /* runs, sends to its partner, waits for the answer */
    SIM_BURST,     /* runs, sleeps */
    SIM_PHASED,    /* like SPIN for 5 s, like BURST at 5 % for the next 5 */
    SIM_STREAM,    /* like SPIN, and as fast as memory lets it */
    SIM_SERVER,    /* vCPU 0 wakes the others, which ask it for work */
    SIM_RECORDED,  /* by a trace of a running VM */
} SimLoad;

typedef struct SimVm SimVm;

typedef struct SimTask {
    int id, vcpu;
    SimVm *vm;
    HostCpuSet mask;         /* which CPUs, by the policy or the case */
    int cpu;                 /* where it is, or was last; -1: never yet */
    enum { SIM_SLEEPS, SIM_READY, SIM_RUNS } state;
    double left_ns;          /* of this burst at full speed, with overheads */
    double work_ns;          /* of this burst, without them */
    double cold_ns;          /* what its cold cache has yet to cost */
    double vruntime, deadline, lag; /* see sim-queue.c */
    int partner;             /* task of SIM_PAIR, else -1 */
    int phase;               /* SIM_PAIR: 0: starts; SIM_SERVER: 0: thinks */
    bool has_message;        /* SIM_PAIR: came while it started */
    int64_t ready_ns;        /* since when it is ready */
    int64_t woken_ns;        /* its last wake-up */
    int64_t wake_cost_ns;    /* which an idle CPU takes to come to it */
    int64_t slept_ns;        /* since when it sleeps */
    int64_t ran_ns;          /* when it ran last */
    bool woken;              /* it has not run since, and that is measured */
    uint64_t run_ns, wait_ns, slices;
} SimTask;

struct SimVm {
    int first, n;            /* its tasks */
    SimLoad load;
    int64_t run_ns, sleep_ns; /* mean of a burst and of the pause after it */
    int64_t pause_ns;        /* SIM_SERVER: of vCPU 0 after its wake-ups */
    int64_t pulse_ns;        /* neighbor: on and off for so long; 0: always */
    const SimTrace *trace;   /* SIM_RECORDED */
    bool neighbor;           /* not placed, and not measured */
    int process;             /* VM that stands for all of this process */
    GQueue posted;           /* SIM_SERVER: workers that wait */
    int64_t list_ns;         /* when it began to wake some; 0: not yet */
    int listed;              /* of whom so many are left */
    /* Of the kernel's cache-aware rules. */
    int preferred, hot_cpu;  /* LLC, and CPU in it; -1: none */
    int idle_epochs;
    double busy;             /* mean number of tasks that run or wait */
    double *occupancy;       /* per LLC, ns, halved each epoch */
    double done_ns;          /* useful work since the warm-up */
};

typedef struct SimCpu {
    int running;             /* task, -1: idle */
    GQueue queue;            /* of tasks that are ready */
    double vtime;            /* virtual time of the queue when it was empty */
    int64_t settled_ns;
    int64_t end_ns;          /* when the event that is valid comes; 0: none */
    unsigned event;          /* number of the one that is valid */
    unsigned failed, looks;  /* of the periodic balance */
    uint64_t run_ns, wait_ns;
} SimCpu;

/* CPUs of a core, an LLC or a package. */
typedef struct SimGroup {
    int n, *cpu;
    int tasks, running;      /* ready or running; running */
    int idle_cores;          /* LLC: cores without tasks */
    int streams;             /* SIM_STREAM that run */
    int n_llcs;              /* package */
    double tasks_avg, util_avg; /* LLC, see sim-cache.c */
} SimGroup;

typedef struct Sim Sim;

/* The kernel's own rule below the masks. */
typedef enum SimPrefer {
    SIM_PREFER_NOTHING,
    SIM_PREFER_BALANCE,      /* Linux 7.2: load balancing alone */
    SIM_PREFER_WAKE,         /* the RFC of April 2025: wake-ups */
} SimPrefer;

/* What a policy is asked; every function may be NULL. */
typedef struct SimPolicy {
    const char *name, *summary;
    void (*start)(Sim *sim, void *state);
    void (*look)(Sim *sim, void *state, int vm);   /* once a second */
    void *(*state_new)(Sim *sim);
    void (*state_free)(void *state);
    SimPrefer prefers;
    bool is_closed;          /* the guard is, at all times */
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
    int n_tasks, n_vms, n_packages;
    SimTask *tasks;
    SimVm *vms;
    SimCpu *cpus;
    SimGroup *cores, *llcs, *packages;
    int *package_of;         /* per CPU, an index into packages */
    int *place;              /* per CPU, its index in its LLC */
    bool has_streams;
    SimEvent *heap;
    int n_heap, max_heap;
    uint64_t order;
    const SimPolicy *policy;
    void *state;
    unsigned guard_util, guard_tasks; /* of our policy, percent */
    GArray *waits;           /* double, us: wake-up to run, measured VMs */
    uint64_t migrations, wakes, near_wakes, moves;
};

/* sim-new.c */
Sim *sim_new(HostTopology *host, guint32 seed); /* takes a reference */
void sim_free(Sim *sim);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Sim, sim_free)

/* Before the run; returns the VM, valid until the next one is added. */
SimVm *sim_add_vm(Sim *sim, int n_vcpus, SimLoad load, int64_t run_ns,
                  int64_t sleep_ns);

/* sim.c: what is measured begins at @warm_ns. */
void sim_run(Sim *sim, const SimPolicy *policy, int64_t warm_ns,
             int64_t end_ns);

/* The policy sets a mask: takes effect at once, as sched_setaffinity() does. */
void sim_set_mask(Sim *sim, SimTask *task, const HostCpuSet *mask);

/* sim-policy.c; NULL: there is none of that name. */
const SimPolicy *sim_policy_by_name(const char *name);
extern const SimPolicy *const sim_policies[];
extern const int sim_n_policies;

/* sim-ours.c */
extern const SimPolicy sim_policy_ours, sim_policy_closed;

#endif
