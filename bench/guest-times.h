/*
 * The times that the test guest notes
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef BENCH_GUEST_TIMES_H
#define BENCH_GUEST_TIMES_H

#include "guest-sample.h"
#include "histogram.h"

/*
 * Ticks of the guest's TSC in a nanosecond.  It must be in mode "gap", and
 * nothing may limit it.
 */
double guest_times_per_ns(const GuestVm *guest);

/*
 * The vCPUs that are asked have none of the guest's own chores: all but the
 * boot CPU, or that if it is the only one.  Forget what they noted so far;
 * @counts (may be NULL) remembers it for guest_times_since().
 */
void guest_times_reset(const GuestVm *guest, uint32_t *counts);

/* The longest time, in ticks, and how many of which length (may be NULL). */
uint32_t guest_times_since(const GuestVm *guest, uint32_t *counts);

/* How much the boot CPU does for one job of mode "burst". */
void guest_times_set_job(const GuestVm *guest, uint32_t rounds);

#endif
