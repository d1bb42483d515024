/*
 * What a running guest has done, and what that cost, at one moment
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef BENCH_GUEST_SAMPLE_H
#define BENCH_GUEST_SAMPLE_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "tests/integration/vm.h"

/* A QEMU with the test guest, whose memory we see as well. */
typedef struct GuestVm {
    Vm *vm;
    int memory_fd;
    volatile uint32_t *memory;      /* volatile: the guest writes it */
    int n_vcpus;
    int *schedstats;    /* descriptors, one per vCPU thread */
    clockid_t clock;    /* CPU time of the process, threads that ended too */
} GuestVm;

/* Start it with @n_vcpus in @mode and wait until they are up. */
void guest_vm_start(GuestVm *guest, const char *mode, int n_vcpus,
                    const char *args);
void guest_vm_end(GuestVm *guest);

/* Of one vCPU; the three belong to one moment. */
typedef struct VcpuSample {
    int64_t when_ns;
    uint64_t run_ns;
    uint32_t count;     /* of the guest, modulo 2^32 */
} VcpuSample;

/*
 * The kernel adds up the time of a running thread only at ticks, up to 10 ms
 * apart: this waits until it just has, and so for up to that long.
 */
VcpuSample guest_vm_sample_vcpu(const GuestVm *guest, int vcpu);

/* What the guest has on @vcpu, SLOT_WORDS words: tests/guest/README.md. */
#define SLOT_WORDS 16
/* volatile: the guest writes it */
volatile uint32_t *guest_vm_slot(const GuestVm *guest, int vcpu);

/*
 * What the vCPUs counted in @ms from now, a second.  None may count 2^32 in
 * that time.
 */
double guest_vm_rate(const GuestVm *guest, int ms);

/*
 * The CPU time of the vCPUs, ns: of those that run, up to the last tick.
 * Cheap.
 */
uint64_t guest_vm_vcpus_ns(const GuestVm *guest);

/* The sum of their counters: changes as long as any of them runs. */
uint64_t guest_vm_count(const GuestVm *guest);

/* The CPU time of all threads but the vCPUs, ns. */
uint64_t guest_vm_others_ns(const GuestVm *guest);

#endif
