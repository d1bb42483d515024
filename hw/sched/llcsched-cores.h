/*
 * LLC-aware vCPU scheduler: cores for cookies
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef HW_SCHED_LLCSCHED_CORES_H
#define HW_SCHED_LLCSCHED_CORES_H

#include "hw/sched/trust-turns.h"
#include "llcsched-types.h"

/* Lock held, but where it is said. */

/* What hw/sched/core knows the vCPU's cookie by. */
unsigned llcsched_cookie_number(const LlcschedVcpu *vcpu);

/* The most that groups of it give it; TRUST_COOKIE_NONE is one like others. */
unsigned llcsched_cookie_weight(const Llcsched *s, unsigned cookie);

/* vCPUs have other cookies: look, and plan anew.  BQL held, lock not held. */
void llcsched_cookies_changed(Llcsched *s);

/* trust_refine(), where cores can be shared; else NULL. */
TrustPlan *llcsched_cores_refine(const Llcsched *s, const PlacementInput *in,
                                 Plan *plan);

/* What that did to a vCPU's mask, for the caller to free; NULL: nothing. */
char *llcsched_cores_explain(const TrustPlan *trust, const Plan *plan,
                             const HostTopology *host, int vcpu);

/* trust_judge() of the masks as they are; NULL: there is no guest yet. */
TrustPlan *llcsched_cores_judge(const Llcsched *s);

#endif
