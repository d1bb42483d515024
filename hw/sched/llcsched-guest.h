/*
 * LLC-aware vCPU scheduler: the guest's topology
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef HW_SCHED_LLCSCHED_GUEST_H
#define HW_SCHED_LLCSCHED_GUEST_H

#include "hw/boards.h"
#include "hw/sched/guest-topology.h"

/* The guest's topology; the machine must be ready.  BQL held. */
GuestTopology *llcsched_guest_topology(MachineState *ms);

#endif
