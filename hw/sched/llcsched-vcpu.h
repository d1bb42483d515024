/*
 * LLC-aware vCPU scheduler: keeping track of vCPU threads
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef HW_SCHED_LLCSCHED_VCPU_H
#define HW_SCHED_LLCSCHED_VCPU_H

#include "llcsched-types.h"

/* All with the BQL held and the lock not held. */

void llcsched_vcpus_attach(Llcsched *s);
void llcsched_vcpus_detach(Llcsched *s);
/* Wait until every vCPU thread is known. */
void llcsched_vcpus_settle(Llcsched *s);

#endif
