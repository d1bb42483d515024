/*
 * qemu-llcsched plan: the dry run and what it found
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef LLCSCHED_TOOL_PLAN_H
#define LLCSCHED_TOOL_PLAN_H

#include "hw/sched/placement.h"
#include "tool.h"

/* One VM of the dry run; the input's pointers are to what is owned here. */
typedef struct PlanVm {
    char *smp;
    GuestTopology *guest;
    HostLoad *load;     /* of others and of the VMs before it */
    PlacementInput in;
    Plan *plan;
} PlanVm;

typedef struct PlanRun {
    HostTopology *host;
    HostCpuSet candidates;
    bool uses_isolated;
    HostLoad *given;    /* what --load says */
    /* Per LLC: vCPUs of all VMs; a mask over several counts by its CPUs. */
    double *vcpus;
    GPtrArray *vms;     /* PlanVm */
} PlanRun;

/* The whole answer as text; the caller frees it. */
char *plan_run_text(const PlanRun *run);

/* The whole answer as one object. */
void plan_run_json(const PlanRun *run, JsonBuilder *json);

#endif
