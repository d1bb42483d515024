/*
 * A host, VMs that balance each for itself, and neighbors: a fluid model
 *
 * Time goes in steps.  In each, what wants to run on an LLC shares its CPUs
 * alike; who may use several LLCs is spread as evenly as can be, at once: the
 * kernel at its best, so that what a VM loses by its masks is not flattered.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TESTS_UNIT_BALANCE_MODEL_H
#define TESTS_UNIT_BALANCE_MODEL_H

#include "fake-host.h"
#include "hw/sched/balance.h"

#define MODEL_STEP_NS 100000000ll
#define MODEL_LOOK_NS 1000000000ll
#define MODEL_STEPS_PER_LOOK (MODEL_LOOK_NS / MODEL_STEP_NS)

/* What neighbors want to run on @llc at @now_ns, in CPUs. */
typedef double (*ModelOthers)(void *opaque, int llc, int64_t now_ns);

typedef struct ModelVm {
    GuestTopology *guest;
    Balance *balance;
    LoadHistory *history;
    Plan *plan;
    PlacementInput in;
    double demand;            /* of each vCPU, 0..1 CPU */
    bool blind;               /* everywhere, and never looks */
    int phase;                /* step of the look at which it looks */
    ThreadTimes *times;
    uint64_t *base_run, *base_wait; /* at the last look, per vCPU */
    HostLoadSample *sample;
    unsigned moves;
    int64_t last_move_ns;
    double run_ns;            /* all vCPUs, since the start */
} ModelVm;

typedef struct Model {
    HostTopology *host;
    int64_t now_ns;
    int n_vms;
    ModelVm *vms;
    ModelOthers others;
    void *opaque;
    double *run_ns, *wait_ns; /* per LLC, cumulative */
    /* vCPUs that moved at the present round of looks, and to where. */
    double *received;         /* per LLC */
    double moving;
} Model;

/* @host is taken over; @others may be NULL. */
Model *model_new(HostTopology *host, int n_vms, ModelOthers others,
                 void *opaque);
void model_free(Model *model);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Model, model_free)

/*
 * VM @i: @smp, @demand of each vCPU, and at the start on LLC @start; -1:
 * everywhere.
 */
void model_set_vm(Model *model, int i, const char *smp, double demand,
                  int start, uint32_t seed);
/* Thresholds of 100 never close. */
void model_set_guard(Model *model, int i, unsigned util, unsigned tasks);

/* One interval in which every VM looks once. */
void model_round(Model *model);

#endif
