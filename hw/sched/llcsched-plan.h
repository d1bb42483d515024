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
    char **explanations;        /* one per possible vCPU, NULL-terminated */
    EmulatorPlan emulator;      /* of the threads that are not vCPUs */
    char *emulator_why;
} LlcschedPlanned;
void llcsched_planned_free(LlcschedPlanned *planned);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(LlcschedPlanned, llcsched_planned_free)

/* Plan now.  Lock held; @view has candidates. */
LlcschedPlanned *llcsched_plan(Llcsched *s, const LlcschedView *view,
                               const HostLoad *load);

#endif
