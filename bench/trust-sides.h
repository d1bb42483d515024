/*
 * The sides of bench-trust: who keeps two tenants off each other's cores
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef BENCH_TRUST_SIDES_H
#define BENCH_TRUST_SIDES_H

typedef enum TrustSide {
    TRUST_SIDE_SHARED,      /* nobody: SMT on, no cookies */
    TRUST_SIDE_SMT_OFF,
    TRUST_SIDE_LIBVIRT,     /* the kernel, by a cookie for each VM; no masks */
    TRUST_SIDE_LLCSCHED,    /* an object in each VM */
    N_TRUST_SIDES
} TrustSide;

/* As they are named in the samples. */
#define TRUST_SIDE_NAMES { "smt-shared", "smt-off", "libvirt", "llcsched" }

/* Vcpus that want to run, for each core of the host. */
#define TRUST_LOADS { 0.5, 1, 1.5, 2, 3 }
#define TRUST_LOAD_ROW "load-%gx"

/* Of each hardware thread: what stands for softirqs, percent. */
#define TRUST_SOFTIRQS { 0, 15, 30 }
#define TRUST_SOFTIRQ_ROW "bursts-%g%%"

/* Names of what is measured in the lab; %: of the time of all cores. */
#define TRUST_GRANTED "granted"
#define TRUST_ALONE "alone"
#define TRUST_PAIRED "paired"
#define TRUST_BESIDE "beside"
#define TRUST_OVERLAP "overlap"
#define TRUST_FORCED_IDLE "forced idle"

#endif
