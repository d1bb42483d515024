/*
 * The times that the test guest notes
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "guest-times.h"
#include "bench.h"

#include <string.h>

/* The layout of tests/guest/README.md, "Counters in memory", in words. */
#define SLOT_TSC (48 / 4)
#define SLOT_GAP (56 / 4)
#define HISTOGRAMS (0x40000 / 4)
#define JOB_ROUNDS (0x2014 / 4)

/* Less than the TSC's lower half takes to overflow, below 8 GHz. */
#define CALIBRATE_US 500000

/* The guest notes more often than this. */
#define MOMENT_NS 100000

typedef struct Moment {
    int64_t when_ns;
    uint32_t tsc;
} Moment;

/* Of the first vCPU: a note that was just made. */
static Moment next_moment(const GuestVm *guest)
{
    /* volatile: the guest writes it */
    const volatile uint32_t *slot = guest_vm_slot(guest, 0);
    int64_t before, now = bench_now_ns();
    uint32_t last, tsc = slot[SLOT_TSC];

    do {
        last = tsc;
        before = now;
        tsc = slot[SLOT_TSC];
        now = bench_now_ns();
    } while (tsc == last || now - before > MOMENT_NS);
    return (Moment) { now, tsc };
}

double guest_times_per_ns(const GuestVm *guest)
{
    Moment first = next_moment(guest), second;

    g_usleep(CALIBRATE_US);
    second = next_moment(guest);
    return (double)(uint32_t)(second.tsc - first.tsc) /
           (second.when_ns - first.when_ns);
}

static int first_asked(const GuestVm *guest)
{
    return guest->n_vcpus > 1 ? 1 : 0;
}

static void add_counts(const GuestVm *guest, uint32_t *counts, int sign)
{
    for (int i = first_asked(guest); i < guest->n_vcpus; i++) {
        const volatile uint32_t *histogram; /* the guest writes it */

        histogram = guest->memory + HISTOGRAMS + i * HISTOGRAM_BUCKETS;
        for (int bucket = 0; bucket < HISTOGRAM_BUCKETS; bucket++) {
            counts[bucket] += sign * histogram[bucket];
        }
    }
}

void guest_times_reset(const GuestVm *guest, uint32_t *counts)
{
    for (int i = first_asked(guest); i < guest->n_vcpus; i++) {
        guest_vm_slot(guest, i)[SLOT_GAP] = 0;
    }
    if (counts) {
        memset(counts, 0, HISTOGRAM_BUCKETS * sizeof(*counts));
        add_counts(guest, counts, -1);
    }
}

uint32_t guest_times_since(const GuestVm *guest, uint32_t *counts)
{
    uint32_t longest = 0;

    for (int i = first_asked(guest); i < guest->n_vcpus; i++) {
        longest = MAX(longest, guest_vm_slot(guest, i)[SLOT_GAP]);
    }
    if (counts) {
        add_counts(guest, counts, 1);
    }
    return longest;
}

void guest_times_set_job(const GuestVm *guest, uint32_t rounds)
{
    guest->memory[JOB_ROUNDS] = rounds;
}
