/*
 * What the placement tests share: a guest, a host and a plan in few words
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <string.h>
#include "placement-fixture.h"

Fixture *fixture_new_guest(HostTopology *host, GuestTopology *guest)
{
    Fixture *f = g_new0(Fixture, 1);

    f->host = host;
    f->guest = guest;
    f->candidates = host->online;
    f->in = (PlacementInput) {
        .host = host, .guest = guest, .candidates = &f->candidates,
        .guard_util = PLACEMENT_GUARD_UTIL_DEFAULT,
        .guard_tasks = PLACEMENT_GUARD_TASKS_DEFAULT,
        .seed = 1,
    };
    return f;
}

Fixture *fixture_new(HostTopology *host, const char *smp,
                     GuestCacheScope scope)
{
    GuestTopology *guest = guest_topology_from_smp(smp, scope, NULL);

    g_assert_nonnull(guest);
    return fixture_new_guest(host, guest);
}

void fixture_free(Fixture *f)
{
    int v;

    placement_plan_free(f->plan);
    for (v = 0; f->foreign && v < f->guest->n_vcpus; v++) {
        g_free(f->foreign[v]);
    }
    g_free(f->foreign);
    g_free(f->demand);
    host_load_free(f->load);
    guest_topology_free(f->guest);
    host_topology_unref(f->host);
    g_free(f);
}

void fixture_set_candidates(Fixture *f, const char *cpus)
{
    g_assert_true(host_cpuset_parse_list(cpus, &f->candidates));
}

void fixture_set_load(Fixture *f, int llc, unsigned util, unsigned tasks)
{
    if (!f->load) {
        f->load = host_load_new_idle(f->host);
        f->load->source = HOST_LOAD_SCHEDSTAT;
        f->load->window_ns = 1000000000;
        f->in.load = f->load;
    }
    f->load->llcs[llc].others_util = util;
    f->load->llcs[llc].others_tasks = tasks;
}

void fixture_set_demand(Fixture *f, int vcpu, unsigned demand)
{
    int v;

    if (!f->demand) {
        f->demand = g_new(unsigned, f->guest->n_vcpus);
        for (v = 0; v < f->guest->n_vcpus; v++) {
            f->demand[v] = 1000;
        }
        f->in.demand = f->demand;
    }
    f->demand[vcpu] = demand;
}

void fixture_set_foreign(Fixture *f, int vcpu, const char *cpus)
{
    if (!f->foreign) {
        f->foreign = g_new0(HostCpuSet *, f->guest->n_vcpus);
        f->in.foreign = (const HostCpuSet *const *)f->foreign;
    }
    g_free(f->foreign[vcpu]);
    f->foreign[vcpu] = g_new0(HostCpuSet, 1);
    g_assert_true(host_cpuset_parse_list(cpus, f->foreign[vcpu]));
}

void fixture_make_nodes(Fixture *f, int n_nodes, int groups_per_node)
{
    int v;

    g_free(f->guest->node_binding);
    f->guest->n_nodes = n_nodes;
    f->guest->node_binding = g_new0(HostCpuSet, n_nodes);
    for (v = 0; v < f->guest->n_vcpus; v++) {
        int node = f->guest->vcpus[v].llc / groups_per_node;

        f->guest->vcpus[v].place.node = MIN(node, n_nodes - 1);
    }
}

void fixture_bind(Fixture *f, int guest_node, const char *host_nodes)
{
    g_assert_true(host_cpuset_parse_list(host_nodes,
                                    &f->guest->node_binding[guest_node]));
}

HostCpuSet fixture_group_mask(const Fixture *f, int group)
{
    HostCpuSet mask = { { 0 } };
    int v;

    for (v = 0; v < f->guest->n_vcpus; v++) {
        if (f->guest->vcpus[v].llc == group &&
            f->plan->vcpus[v].reason != PLACEMENT_FOREIGN) {
            host_cpuset_or(&mask, &f->plan->vcpus[v].mask);
        }
    }
    return mask;
}

static HostCpuSet llcs_of_mask(const Fixture *f, const HostCpuSet *mask)
{
    HostCpuSet llcs = { { 0 } };

    HOST_CPUSET_FOREACH(cpu, mask) {
        host_cpuset_add(&llcs, f->host->cpus[cpu].llc);
    }
    return llcs;
}

HostCpuSet fixture_group_llcs(const Fixture *f, int group)
{
    HostCpuSet mask = fixture_group_mask(f, group);

    return llcs_of_mask(f, &mask);
}

static void check_vcpu(const Fixture *f, int v)
{
    const VcpuPlan *plan = &f->plan->vcpus[v];
    HostCpuSet llcs = llcs_of_mask(f, &plan->mask);

    if (!f->guest->vcpus[v].present) {
        g_assert_cmpint(plan->reason, ==, PLACEMENT_ABSENT);
        g_assert_true(host_cpuset_empty(&plan->mask));
        return;
    }
    g_assert_false(host_cpuset_empty(&plan->mask));
    g_assert_cmpint(plan->n_llcs, ==, host_cpuset_count(&llcs));
    g_assert_cmpint(plan->host_llc, ==, host_cpuset_next(&llcs, 0));
    g_assert_true(plan->llc_aligned == (plan->n_llcs == 1));
    if (f->foreign && f->foreign[v]) {
        g_assert_cmpint(plan->reason, ==, PLACEMENT_FOREIGN);
        g_assert_true(host_cpuset_equal(&plan->mask, f->foreign[v]));
        return;
    }
    g_assert_cmpint(plan->reason, !=, PLACEMENT_FOREIGN);
    g_assert_true(host_cpuset_subset(&plan->mask, &f->candidates));
    if (plan->host_core >= 0) {
        g_assert_true(host_cpuset_subset(&plan->mask,
                              &f->host->cores[plan->host_core].cpus));
        if (f->plan->width == PLACEMENT_WIDTH_CPU) {
            g_assert_cmpint(host_cpuset_count(&plan->mask), ==, 1);
        }
    }
}

/* Two threads of one guest core are siblings exactly where the plan says so. */
static void check_siblings(const Fixture *f)
{
    int a, b;

    for (a = 0; a < f->guest->n_vcpus; a++) {
        for (b = a + 1; b < f->guest->n_vcpus &&
                        b < a + 8; b++) {
            const VcpuPlan *pa = &f->plan->vcpus[a];
            const VcpuPlan *pb = &f->plan->vcpus[b];

            if (f->guest->vcpus[a].core != f->guest->vcpus[b].core ||
                pa->host_core < 0 || pb->host_core < 0 ||
                !pa->smt_aligned || !pb->smt_aligned) {
                continue;
            }
            g_assert_cmpint(pa->host_core, ==, pb->host_core);
            if (f->plan->width == PLACEMENT_WIDTH_CPU) {
                g_assert_false(host_cpuset_equal(&pa->mask, &pb->mask));
            }
        }
    }
}

static void check_llcs(const Fixture *f)
{
    int l, v;

    for (l = 0; l < f->plan->n_llcs; l++) {
        const LlcPlan *llc = &f->plan->llcs[l];
        unsigned vcpus = 0;

        for (v = 0; v < f->plan->n_vcpus; v++) {
            vcpus += host_cpuset_intersects(&f->plan->vcpus[v].mask,
                                            &f->host->llcs[l].cpus);
        }
        g_assert_cmpuint(llc->vcpus, ==, vcpus);
        g_assert_cmpuint(llc->candidate_cpus, ==,
                         host_cpuset_count_and(&f->candidates,
                                               &f->host->llcs[l].cpus));
    }
}

void fixture_check(const Fixture *f)
{
    g_autofree char *summary = placement_summary(&f->in, f->plan);
    int v;

    for (v = 0; v < f->guest->n_vcpus; v++) {
        check_vcpu(f, v);
    }
    check_siblings(f);
    check_llcs(f);
    g_assert_cmpint(strlen(summary), <=, 78);
    g_assert_null(strchr(summary, '\n'));
}

Plan *fixture_plan(Fixture *f)
{
    g_autoptr(Plan) again = NULL;

    placement_plan_free(f->plan);
    f->plan = placement_plan(&f->in);
    fixture_check(f);
    again = placement_plan(&f->in);
    g_assert_true(placement_plan_same_masks(f->plan, again));
    return f->plan;
}
