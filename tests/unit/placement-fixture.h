/*
 * What the placement tests share: a guest, a host and a plan in few words
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TESTS_UNIT_PLACEMENT_FIXTURE_H
#define TESTS_UNIT_PLACEMENT_FIXTURE_H

#include "fake-host.h"
#include "hw/sched/placement.h"

/* Input that can be changed field by field; owns all it points to. */
typedef struct Fixture {
    PlacementInput in;
    HostTopology *host;
    GuestTopology *guest;
    HostLoad *load;
    HostCpuSet candidates;
    HostCpuSet memory_nodes;
    unsigned *demand;
    HostCpuSet **foreign;
    Plan *plan;
} Fixture;

/* @host is taken over.  Candidates are all online CPUs. */
Fixture *fixture_new(HostTopology *host, const char *smp,
                     GuestCacheScope scope);
/* @guest is taken over as well. */
Fixture *fixture_new_guest(HostTopology *host, GuestTopology *guest);
void fixture_free(Fixture *f);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Fixture, fixture_free)

void fixture_set_candidates(Fixture *f, const char *cpus);
/* Others use @util and @tasks per mille of LLC @llc. */
void fixture_set_load(Fixture *f, int llc, unsigned util, unsigned tasks);
void fixture_set_demand(Fixture *f, int vcpu, unsigned demand);
void fixture_set_foreign(Fixture *f, int vcpu, const char *cpus);
void fixture_bind(Fixture *f, int guest_node, const char *host_nodes);
/* Put all vCPUs of guest LLC group g into guest node g / @groups_per_node. */
void fixture_make_nodes(Fixture *f, int n_nodes, int groups_per_node);

/* Plans anew, checks what holds for every plan, and keeps it in f->plan. */
Plan *fixture_plan(Fixture *f);

/* The set of host LLCs that the vCPUs of guest LLC @group may use. */
HostCpuSet fixture_group_llcs(const Fixture *f, int group);
HostCpuSet fixture_group_mask(const Fixture *f, int group);

/* Asserts that must hold for any input. */
void fixture_check(const Fixture *f);

#endif
