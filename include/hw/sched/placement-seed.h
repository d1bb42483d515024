/*
 * The seed by which a VM decides between LLCs that are equally good
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef HW_SCHED_PLACEMENT_SEED_H
#define HW_SCHED_PLACEMENT_SEED_H

#include <stdint.h>

/*
 * PlacementInput.seed of the VM with @uuid, in the byte order of its text: the
 * same in QEMU and in the dry run of qemu-llcsched, on every host.
 */
uint32_t placement_seed(const uint8_t uuid[16]);

/* A mixing step with full avalanche: any bit of @x changes half of all. */
uint32_t placement_mix(uint32_t x);

#endif
