/*
 * Whether and how often a vCPU halts, as seen from another thread
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef HW_SCHED_VCPU_BLOCKING_H
#define HW_SCHED_VCPU_BLOCKING_H

#include "hw/core/cpu.h"

/*
 * True if the vCPU, whose gate is open and whose thread is alive, halts: by
 * KVM's statistic "blocking" where KVM does the halting (one pread()), else by
 * QEMU's own state.  A kernel without that statistic (before Linux 5.16) never
 * tells: false.
 */
bool vcpu_blocking(CPUState *cpu);

/* Cumulative, since the vCPU was made. */
typedef struct VcpuHalts {
    uint64_t halts;     /* exits because of HLT */
    uint64_t poll_ns;   /* of its CPU time: KVM spun, waiting for a wake-up */
} VcpuHalts;

/*
 * What KVM counts of it (three preads).  False, with @ret_halts untouched:
 * something else does the halting, or KVM does not count it.
 */
bool vcpu_halts(CPUState *cpu, VcpuHalts *ret_halts);

#endif
