/*
 * What the reader and the snapshot of a host's topology share
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef HW_SCHED_CORE_HOST_TOPOLOGY_INT_H
#define HW_SCHED_CORE_HOST_TOPOLOGY_INT_H

#include "hw/sched/host-topology.h"

#define DISTANCE_LOCAL 10   /* ACPI SLIT: a node to itself */
#define DISTANCE_REMOTE 20  /* Linux' REMOTE_DISTANCE, where nothing is known */

#endif
