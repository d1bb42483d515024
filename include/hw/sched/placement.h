/*
 * Which host CPUs each vCPU should run on, and why
 *
 * Pure: no I/O, no clock, no global state; the same input gives the same plan.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef HW_SCHED_PLACEMENT_H
#define HW_SCHED_PLACEMENT_H

#include "hw/sched/guest-topology.h"
#include "hw/sched/host-load.h"
#include "hw/sched/host-topology.h"

/*
 * Defaults of the over-aggregation guard, percent: the thresholds of Linux'
 * over-aggregation patch of April 2025: 25 % utilization, runnable tasks on a
 * third of the CPUs.
 */
#define PLACEMENT_GUARD_UTIL_DEFAULT 25
#define PLACEMENT_GUARD_TASKS_DEFAULT 33

/* With prefer=cache asked for by the user, its LLC stays open until here. */
#define PLACEMENT_GUARD_PREFERRED 80

/*
 * Several groups on one LLC fill it up to here while another has room: the
 * margin of the kernel's fits_capacity(), 1280/1024.
 */
#define PLACEMENT_FILL_PERCENT 80

/* Width of a vCPU's mask. */
typedef enum PlacementWidth {
    PLACEMENT_WIDTH_LLC,
    PLACEMENT_WIDTH_CORE,
    PLACEMENT_WIDTH_CPU,
} PlacementWidth;

/* What to prefer where LLCs have unequal bytes or CPUs unequal capacity. */
typedef enum PlacementPrefer {
    PLACEMENT_PREFER_AUTO,
    PLACEMENT_PREFER_CACHE,
    PLACEMENT_PREFER_CAPACITY,
} PlacementPrefer;

/* Why a vCPU got its mask. */
typedef enum PlacementReason {
    PLACEMENT_ABSENT,        /* possible, but not plugged: no mask */
    PLACEMENT_FITS,          /* its LLC group fits one LLC, alone in this VM */
    PLACEMENT_ONLY_LLC,      /* the candidates are all in one LLC */
    PLACEMENT_FOLDED,        /* several LLC groups of the guest share LLCs */
    PLACEMENT_SPLIT_NODE,    /* larger than one LLC: several of one node */
    PLACEMENT_SPLIT_NODES,   /* larger than a node: nearest nodes */
    PLACEMENT_GUARDED,       /* no LLC is open: all candidates */
    PLACEMENT_FOREIGN,       /* the mask was set by somebody else: kept */
    PLACEMENT_REASON_MAX,
} PlacementReason;

/* One word about the whole plan, for people's first look. */
typedef enum PlacementVerdict {
    PLACEMENT_VERDICT_MATCHED,   /* every guest LLC group has LLCs of its own */
    PLACEMENT_VERDICT_SINGLE,    /* only one LLC to choose from */
    PLACEMENT_VERDICT_FOLDED,    /* more groups than LLCs, or room for */
    PLACEMENT_VERDICT_SPLIT,     /* some group spans several LLCs */
    PLACEMENT_VERDICT_GUARDED,   /* all LLCs crowded by others */
    PLACEMENT_VERDICT_OVERCOMMITTED, /* more demand than candidate CPUs */
    PLACEMENT_VERDICT_FOREIGN,   /* every present vCPU is set by others */
    PLACEMENT_VERDICT_MAX,
} PlacementVerdict;

typedef struct VcpuPlan {
    HostCpuSet mask;         /* candidates only, unless foreign; or empty */
    PlacementReason reason;
    int host_llc;            /* the LLC of the mask; the lowest if several */
    int n_llcs;              /* LLCs that the mask touches */
    int host_core;           /* width core and cpu: the core; else -1 */
    bool llc_aligned;        /* mask inside one LLC */
    bool smt_aligned;        /* width core, cpu: siblings on siblings */
} VcpuPlan;

/* What the plan does with one host LLC. */
typedef struct LlcPlan {
    bool guarded;            /* closed: others crowd it */
    unsigned candidate_cpus, candidate_cores;
    unsigned vcpus;          /* of this VM whose mask touches it */
    unsigned demand;         /* cores x 1000 planned onto it */
    int run;                 /* see Plan.run_of; -1: none has it */
} LlcPlan;

typedef struct Plan {
    int n_vcpus, n_llcs;
    VcpuPlan *vcpus;         /* one per possible vCPU */
    LlcPlan *llcs;           /* one per host LLC */
    HostCpuSet candidates;
    PlacementWidth width;    /* effective: cpu when isolated CPUs are used */
    bool width_forced;
    PlacementVerdict verdict;
    /*
     * For the plan that comes next: the guest LLC groups with the same number
     * share the LLCs of that number; -1: none of its own.  @home is a node.
     */
    int n_groups, home;
    int *run_of;
} Plan;

typedef struct PlacementInput {
    const HostTopology *host;
    const GuestTopology *guest;
    const HostLoad *load;             /* NULL: nothing known, nothing guarded */
    /*
     * Per host LLC: closed by the guard, where that is judged elsewhere (by
     * balance, with hysteresis); NULL: judged by @load.
     */
    const bool *closed;
    /* Per vCPU, per mille of a CPU that it runs and waits; NULL: 1000 each. */
    const unsigned *demand;
    /* Per vCPU, a mask set from outside or NULL; NULL: none is foreign. */
    const HostCpuSet *const *foreign;
    const HostCpuSet *candidates;     /* from placement_candidates() */
    /*
     * Host nodes (the kernel's numbers) that hold the memory: LLCs elsewhere
     * are not used while these can take the guest.  NULL or empty: any.
     */
    const HostCpuSet *memory_nodes;
    /* Of the same host and guest: kept where nothing is better; or NULL. */
    const Plan *previous;
    bool uses_isolated;               /* from placement_candidates() */
    PlacementWidth width;
    PlacementPrefer prefer;
    unsigned guard_util, guard_tasks; /* percent; 100 or more: never closes */
    uint32_t seed;                    /* from the VM's UUID: spreads ties */
} PlacementInput;

/*
 * The CPUs that may be used: online, in @allowed (what the kernel lets this
 * process use), in @cpus (the user's list, NULL: no list) and not isolated
 * unless named in @cpus.  @ret_uses_isolated says that some are isolated.
 *
 * False and @err, naming the value and the remedy, if @cpus holds a CPU that
 * is not possible or not online, or if nothing is left; outputs untouched.
 */
bool placement_candidates(const HostTopology *host, const HostCpuSet *allowed,
                          const HostCpuSet *cpus, HostCpuSet *ret_candidates,
                          bool *ret_uses_isolated, GError **err);

/* The guard's thresholds for one LLC, percent; 100 or more: never closes. */
typedef struct PlacementGuard {
    unsigned util, tasks;
} PlacementGuard;

/*
 * The thresholds by which placement_plan() closes each of the host's LLCs
 * (@ret_guards has one entry each); load, demand and previous do not matter.
 */
void placement_guards(const PlacementInput *in, PlacementGuard *ret_guards);

/*
 * Plan every present vCPU.  The input must be consistent (asserted): the
 * candidates are online CPUs of the host and not empty, the arrays have one
 * entry per possible vCPU.  Never fails: returns a new plan.
 */
Plan *placement_plan(const PlacementInput *in);
void placement_plan_free(Plan *plan); /* NULL is allowed */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Plan, placement_plan_free)

/* True if both give every vCPU the same mask. */
bool placement_plan_same_masks(const Plan *a, const Plan *b);

/*
 * A sentence, without full stop, for people: which LLC and why, as in
 * "guest LLC 1 (8 cores) fits LLC 3 (8 cores, node 0)".  Caller frees.
 */
char *placement_explain(const PlacementInput *in, const Plan *plan, int vcpu);

/* One line about the whole plan: "8 vCPUs on 2 LLCs: matched". Caller frees. */
char *placement_summary(const PlacementInput *in, const Plan *plan);

/* Stable lower-case names ("fits", "matched"); never NULL for valid values. */
const char *placement_reason_name(PlacementReason reason);
const char *placement_verdict_name(PlacementVerdict verdict);
const char *placement_width_name(PlacementWidth width);

#define PLACEMENT_ERROR placement_error_quark()
GQuark placement_error_quark(void);
typedef enum PlacementError {
    PLACEMENT_ERROR_CPU_RANGE,   /* cpus= names a CPU the host does not have */
    PLACEMENT_ERROR_CPU_OFFLINE, /* cpus= names a CPU that is offline */
    PLACEMENT_ERROR_EMPTY,       /* nothing left after intersection */
} PlacementError;

#endif
