/*
 * Where the VM's threads that are not vCPUs should run, and why
 *
 * Pure: no I/O, no clock, no global state; the same input gives the same mask.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef HW_SCHED_EMULATOR_PLACEMENT_H
#define HW_SCHED_EMULATOR_PLACEMENT_H

#include "hw/sched/placement.h"

typedef enum EmulatorMode {
    EMULATOR_OFF,            /* leave these threads alone */
    EMULATOR_NEAR,           /* on the LLCs of the vCPUs that they serve */
    EMULATOR_OTHER,          /* off the LLCs of the vCPUs */
} EmulatorMode;

/* Why a thread got its mask; the first four have none: it is left as it is. */
typedef enum EmulatorReason {
    EMULATOR_LEFT_OFF,       /* the mode says so */
    EMULATOR_NO_VCPUS,       /* the vCPUs that it serves are not there */
    EMULATOR_NO_CPUS,        /* every candidate CPU is isolated */
    EMULATOR_NOWHERE_ELSE,   /* the vCPUs have every candidate CPU */
    EMULATOR_NEAR_LLC,       /* the LLCs of the vCPUs that it serves */
    EMULATOR_BESIDE_VCPUS,   /* those, without the CPUs given to vCPUs */
    EMULATOR_LLC_FULL,       /* no CPU of those is left: their nodes */
    EMULATOR_OTHER_LLC,      /* LLCs without vCPUs of this VM */
    EMULATOR_OTHER_CPUS,     /* none such: CPUs without vCPUs of this VM */
    EMULATOR_REASON_MAX,
} EmulatorReason;

/* The first reason with a mask. */
#define EMULATOR_FIRST_PLACED EMULATOR_NEAR_LLC

typedef struct EmulatorInput {
    const HostTopology *host;
    const GuestTopology *guest;  /* which vCPUs are present */
    const Plan *plan;            /* of the vCPUs, with the candidates */
    EmulatorMode mode;
} EmulatorInput;

typedef struct EmulatorPlan {
    HostCpuSet mask;             /* candidates only; empty: left as it is */
    EmulatorReason reason;
} EmulatorPlan;

/*
 * The mask of a thread that serves the vCPUs @serves (a set of vCPU indexes;
 * NULL: all of the VM).  Isolated CPUs are never in it: the kernel would not
 * balance such a thread away from a vCPU.  The plan must be of this host and
 * guest (asserted).
 *
 * near: all candidates of the LLCs that the vCPUs' masks touch.  CPUs count as
 * the vCPUs' own where each has one or a core (width cpu and core); with width
 * llc, where there are as many vCPUs as CPUs.  Then CPUs that are not theirs
 * are looked for first in the LLCs, then in their nodes.
 */
void emulator_placement(const EmulatorInput *in, const HostCpuSet *serves,
                        EmulatorPlan *ret_plan);

/*
 * A phrase, without full stop, for people: "near the vCPUs: LLC 0".  The
 * caller frees it.
 */
char *emulator_explain(const EmulatorInput *in, const EmulatorPlan *plan);

/* Stable lower-case names ("near-llc"); never NULL for valid values. */
const char *emulator_reason_name(EmulatorReason reason);

#endif
