/*
 * The parts of bench-guest: what the object costs a running guest
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef BENCH_BENCH_GUEST_H
#define BENCH_BENCH_GUEST_H

#include "bench.h"
#include "guest-sample.h"

/* CPU time of an object that has nothing to do. */
void bench_idle(const Bench *bench);

/* The guest's speed with the object and without. */
void bench_speed(const Bench *bench);

/*
 * After this much of a second the object has looked and placed.  Its next looks
 * come at each second (the default interval): a window of a second that begins
 * now has one.
 */
#define BENCH_SETTLE_MS 250

/* Create the object with its defaults, or delete it. */
void bench_object_add(GuestVm *guest);
void bench_object_del(GuestVm *guest);

/* Let the guest run for @ms. */
void bench_let_run(int ms);

#endif
