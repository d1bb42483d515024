/*
 * vCPUs that take turns, their gates, exits and loads, simulated and judged
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TESTS_UNIT_TRUST_SIM_H
#define TESTS_UNIT_TRUST_SIM_H

#include "hw/sched/trust-turns.h"

#define SIM_US 1000ll
#define SIM_MS 1000000ll
#define SIM_S 1000000000ll
#define SIM_VCPUS_MAX 16
#define SIM_COOKIES_MAX 6
#define SIM_CORES_MAX 8

/* A load: run for so long, of CPU time, then sleep; both about. 0: spins. */
typedef struct SimLoad {
    int64_t run_ns, sleep_ns;
} SimLoad;

typedef struct SimVcpu {
    bool present;
    unsigned cookie;
    HostCpuSet cores;
    SimLoad load;
    bool in_guest;          /* the truth: gate open, or not out yet */
    bool open;              /* as ordered */
    bool dry;
    int64_t out_at;         /* -1: no exit under way */
    uint64_t ticket;
    int64_t left_ns;        /* to run before it sleeps; INT64_MAX: spins */
    int64_t wakes_at;       /* -1: awake */
} SimVcpu;

typedef struct SimCookie {
    unsigned weight;
    bool together;          /* all its vCPUs run and sleep as the first */
    int64_t held_ns;        /* some vCPU in the guest */
    int64_t ran_ns;         /* some vCPU awake in the guest */
    unsigned starts;        /* turns */
    int64_t out_since;      /* -1: in the guest, or may not wait */
    int64_t round_ns;       /* the largest slices of others since then */
    int64_t longest_wait_ns;
    int64_t longest_over_ns; /* wait above the slices of the others */
} SimCookie;

typedef struct Sim {
    TrustTurns *turns;
    GRand *rand;
    uint64_t slice_ns;
    SimVcpu vcpus[SIM_VCPUS_MAX];
    SimCookie cookies[SIM_COOKIES_MAX];
    int64_t now;
    int64_t exit_min_ns, exit_max_ns;
    int64_t late_max_ns;    /* looks are late by up to so much */
    int64_t look_at;
    bool paused;
    unsigned steps;
} Sim;

Sim *sim_new(uint64_t slice_ns, guint32 seed);
void sim_free(Sim *sim);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Sim, sim_free)

void sim_weight(Sim *sim, unsigned cookie, unsigned weight);
void sim_add(Sim *sim, int vcpu, unsigned cookie, const char *cores,
             SimLoad load, bool in_guest);
void sim_remove(Sim *sim, int vcpu);
bool sim_set_cores(Sim *sim, int vcpu, const char *cores);
void sim_set_dry(Sim *sim, int vcpu, bool dry);
void sim_pause(Sim *sim, bool pause);

/* What all waits are measured by has changed: they begin anew. */
void sim_forget_waits(Sim *sim);

/* Run for @ns; asserts that one cookie at a time is let in, after proofs. */
void sim_run(Sim *sim, int64_t ns);

/* What a turn of the cookie may last, as the rules say, from scratch. */
int64_t sim_slice(const Sim *sim, unsigned cookie);

double sim_share(const Sim *sim, unsigned cookie);
void sim_clear_shares(Sim *sim);

#endif
