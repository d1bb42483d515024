/*
 * LLC-aware vCPU scheduler: the plan, and the words for it
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef HW_SCHED_LLCSCHED_PLAN_H
#define HW_SCHED_LLCSCHED_PLAN_H

#include "hw/sched/emulator-placement.h"
#include "hw/sched/placement.h"
#include "hw/sched/trust-turns.h"
#include "llcsched-host.h"

/*
 * A plan with the words for it.  Made from the host, the guest, the load and
 * the masks as they are; the words outlive them all.
 */
typedef struct LlcschedPlanned {
    Plan *plan;
    TrustPlan *trust;           /* NULL: cookies have no part in it */
    char *summary;
    /* the rest is there once it was explained */
    char **explanations;        /* one per possible vCPU, NULL-terminated */
    EmulatorPlan emulator;      /* of the threads that are not vCPUs */
    char *emulator_why;
} LlcschedPlanned;
void llcsched_planned_free(LlcschedPlanned *planned);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(LlcschedPlanned, llcsched_planned_free)

/* What a plan is made from; it borrows from the object and the view. */
typedef struct LlcschedInput {
    PlacementInput in;
    unsigned *demand;           /* per vCPU, of @in: a plan may set others */
    const HostCpuSet **foreign;
} LlcschedInput;

/*
 * For a plan on @view, which has candidates, now: every vCPU counts in full,
 * and LLCs are closed by @load (NULL: none is).  Lock held.
 */
void llcsched_input_init(Llcsched *s, const LlcschedView *view,
                         const HostLoad *load, LlcschedInput *input);
void llcsched_input_clear(LlcschedInput *input);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(LlcschedInput, llcsched_input_clear)

/* A plan, without the words for each vCPU.  Lock held. */
LlcschedPlanned *llcsched_plan(Llcsched *s, const LlcschedInput *input);

/* Add them, and what follows for other threads: it is to be kept. */
void llcsched_plan_explain(Llcsched *s, const LlcschedInput *input,
                           LlcschedPlanned *planned);

#endif
