/*
 * Placement: each rule on a small host
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <string.h>
#include "placement-fixture.h"

static void assert_list(const HostCpuSet *set, const char *expected)
{
    g_autofree char *list = host_cpuset_to_list(set);

    g_assert_cmpstr(list, ==, expected);
}

static void assert_group_llcs(const Fixture *f, int group, const char *llcs)
{
    HostCpuSet set = fixture_group_llcs(f, group);

    assert_list(&set, llcs);
}

static void assert_explain(const Fixture *f, int vcpu, const char *part)
{
    g_autofree char *text = placement_explain(&f->in, f->plan, vcpu);

    g_test_message("vCPU %d: %s", vcpu, text);
    if (!strstr(text, part)) {
        g_error("\"%s\" is not in \"%s\"", part, text);
    }
}

static void assert_summary(const Fixture *f, const char *expected)
{
    g_autofree char *text = placement_summary(&f->in, f->plan);

    g_assert_cmpstr(text, ==, expected);
}

static void assert_reason(const Fixture *f, int vcpu, const char *reason)
{
    g_assert_cmpstr(placement_reason_name(f->plan->vcpus[vcpu].reason), ==,
                    reason);
}

static void assert_verdict(const Fixture *f, const char *verdict)
{
    g_assert_cmpstr(placement_verdict_name(f->plan->verdict), ==, verdict);
}

/* ---- candidates ---- */

static bool candidates(HostTopology *host, const char *allowed,
                       const char *cpus, char **ret_list, bool *ret_isolated,
                       GError **err)
{
    HostCpuSet allowed_set, cpus_set, set;
    bool ok;

    g_assert_true(host_cpuset_parse_list(allowed, &allowed_set));
    g_assert_true(host_cpuset_parse_list(cpus ?: "", &cpus_set));
    memset(&set, 0xa5, sizeof(set));
    ok = placement_candidates(host, &allowed_set, cpus ? &cpus_set : NULL,
                              &set, ret_isolated, err);
    *ret_list = ok ? host_cpuset_to_list(&set) : NULL;
    if (!ok) {
        HostCpuSet untouched;

        memset(&untouched, 0xa5, sizeof(untouched));
        g_assert_true(host_cpuset_equal(&set, &untouched));
    }
    return ok;
}

static void test_candidates(void)
{
    static const struct {
        const char *allowed, *cpus, *list;
        bool isolated;
        int code;
        const char *text;
    } rows[] = {
        { "0-15", NULL, "0-3,6-11", false, 0, NULL },
        { "0-8191", NULL, "0-3,6-11", false, 0, NULL },
        { "2-9", NULL, "2-3,6-9", false, 0, NULL },
        { "0-15", "0-3", "0-3", false, 0, NULL },
        { "0-15", "3-5", "3-5", true, 0, NULL },
        { "0-3", "3-5", "3", false, 0, NULL },
        { "0-15", "4", "4", true, 0, NULL },
        { "0-15", "3,99", NULL, false, PLACEMENT_ERROR_CPU_RANGE,
          "cpus: CPU 99 does not exist; this host has 0-15" },
        { "0-15", "3,12-13", NULL, false, PLACEMENT_ERROR_CPU_OFFLINE,
          "cpus: CPU 12-13 is offline; bring it online or use 0-11" },
        { "0-3", "8-9", NULL, false, PLACEMENT_ERROR_EMPTY,
          "may use none of 8-9; name some of 0-3" },
        { "0-15", "", NULL, false, PLACEMENT_ERROR_EMPTY,
          "cpus: the list is empty" },
        { "4-5", NULL, NULL, false, PLACEMENT_ERROR_EMPTY,
          "(4-5) are isolated; name those to use in cpus" },
        { "13", NULL, NULL, false, PLACEMENT_ERROR_EMPTY, "('13') is online" },
    };
    g_autoptr(HostTopology) host = fake_host_new(1, 1, 2, 8, 1, 0);
    gsize i;

    fake_host_offline(host, "12-15");
    g_assert_true(host_cpuset_parse_list("4-5", &host->isolated));
    for (i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(GError) err = NULL;
        g_autofree char *list = NULL;
        bool isolated = false;
        bool ok = candidates(host, rows[i].allowed, rows[i].cpus, &list,
                             &isolated, &err);

        g_test_message("row %zu: %s", i, err ? err->message : list);
        g_assert_true(ok == (rows[i].list != NULL));
        g_assert_cmpstr(list, ==, rows[i].list);
        g_assert_true(isolated == rows[i].isolated);
        if (!ok) {
            g_assert_error(err, PLACEMENT_ERROR, rows[i].code);
            g_assert_nonnull(strstr(err->message, rows[i].text));
        }
    }
}

/* ---- fit ---- */

static void test_fit_with_smt(void)
{
    g_autoptr(Fixture) f = fixture_new(fake_host_new(1, 1, 2, 8, 2, 0),
                                       "16,cores=8,threads=2",
                                       GUEST_CACHE_SOCKET);

    fixture_plan(f);
    assert_verdict(f, "matched");
    g_assert_cmpint(f->plan->vcpus[0].n_llcs, ==, 1);
    assert_reason(f, 15, "fits");
    assert_explain(f, 3, "guest LLC 0 (8 cores, 16 threads) fits LLC");
    assert_summary(f, "16 vCPUs on 1 LLC: matched");
}

static void test_no_fit_without_smt(void)
{
    g_autoptr(Fixture) f = fixture_new(fake_host_new(1, 1, 3, 8, 2, 0),
                                       "16,cores=16", GUEST_CACHE_SOCKET);

    fixture_plan(f);
    assert_verdict(f, "split");
    assert_reason(f, 0, "split-node");
    g_assert_cmpint(f->plan->vcpus[0].n_llcs, ==, 2);
    assert_explain(f, 0, "on 2 LLCs of node 0");
}

static void test_fit_eight_singles(void)
{
    g_autoptr(Fixture) f = fixture_new(fake_host_new(1, 1, 2, 8, 2, 0),
                                       "8", GUEST_CACHE_SOCKET);

    fixture_plan(f);
    assert_verdict(f, "matched");
    assert_explain(f, 0, "guest LLC 0 (8 cores) fits LLC");
}

/* 8 cores of 2 threads are 8 cores, but not 8 threads. */
static void test_no_fit_in_threads(void)
{
    g_autoptr(Fixture) f = fixture_new(fake_host_new(1, 1, 4, 8, 1, 0),
                                       "16,cores=8,threads=2",
                                       GUEST_CACHE_SOCKET);

    fixture_plan(f);
    g_assert_cmpint(f->plan->vcpus[0].n_llcs, ==, 2);
}

static void test_history_makes_it_fit(void)
{
    g_autoptr(Fixture) f = fixture_new(fake_host_new(1, 1, 4, 8, 2, 0),
                                       "16", GUEST_CACHE_SOCKET);
    int v;

    for (v = 0; v < 16; v++) {
        fixture_set_demand(f, v, 400);
    }
    fixture_plan(f);
    g_assert_cmpint(f->plan->vcpus[0].n_llcs, ==, 1);
    /* One CPU each leaves the kernel no room: there every vCPU is whole. */
    f->in.width = PLACEMENT_WIDTH_CPU;
    fixture_plan(f);
    g_assert_cmpstr(placement_verdict_name(f->plan->verdict), ==, "split");
}

/* A guest core is as busy as its busiest thread: 0.7 cores, not 1.2. */
static void test_busiest_sibling_counts(void)
{
    g_autoptr(Fixture) f = fixture_new(fake_host_new(1, 1, 2, 1, 2, 0),
                                       "2,threads=2", GUEST_CACHE_SOCKET);

    fixture_set_demand(f, 0, 500);
    fixture_set_demand(f, 1, 700);
    fixture_plan(f);
    assert_verdict(f, "matched");
    g_assert_cmpuint(f->plan->llcs[0].demand + f->plan->llcs[1].demand, ==,
                     700);
}

static void test_different_groups_different_llcs(void)
{
    g_autoptr(Fixture) f = fixture_new(fake_host_new(1, 1, 4, 8, 2, 0),
                                       "8,sockets=4,cores=2",
                                       GUEST_CACHE_SOCKET);
    HostCpuSet seen = { { 0 } };
    int g;

    fixture_plan(f);
    assert_verdict(f, "matched");
    for (g = 0; g < 4; g++) {
        HostCpuSet llcs = fixture_group_llcs(f, g);

        g_assert_cmpint(host_cpuset_count(&llcs), ==, 1);
        g_assert_false(host_cpuset_intersects(&seen, &llcs));
        host_cpuset_or(&seen, &llcs);
    }
}

/* The small group must not take the LLC that the large one needs. */
static void test_unequal_llcs_are_matched(void)
{
    uint32_t seed;

    for (seed = 0; seed < 32; seed++) {
        GuestVcpuPlace places[12] = { 0 };
        HostTopology *host = fake_host_new(1, 1, 2, 8, 1, 0);
        g_autoptr(Fixture) f = NULL;
        int v;

        fake_host_offline(host, seed & 1 ? "0-3" : "12-15");
        for (v = 0; v < 12; v++) {
            places[v] = (GuestVcpuPlace) { .socket = v >= 4, .core = v,
                                           .node = -1 };
        }
        f = fixture_new_guest(host, guest_topology_new(places, 12,
                                          GUEST_CACHE_SOCKET, NULL, 0));
        for (v = 0; v < 12; v++) {
            f->guest->vcpus[v].present = true;
        }
        f->in.seed = seed;
        fixture_plan(f);
        assert_verdict(f, "matched");
        assert_group_llcs(f, 1, seed & 1 ? "1" : "0");
        assert_group_llcs(f, 0, seed & 1 ? "0" : "1");
    }
}

/* ---- larger than an LLC ---- */

static void test_larger_than_a_node(void)
{
    g_autoptr(Fixture) f = fixture_new(fake_host_new(2, 2, 2, 4, 1, 0),
                                       "12", GUEST_CACHE_SOCKET);

    fixture_plan(f);
    assert_verdict(f, "split");
    assert_reason(f, 0, "split-nodes");
    g_assert_cmpint(f->plan->vcpus[0].n_llcs, ==, 3);
    /* Two nodes of one package: 12, not 32. */
    g_assert_true(f->host->cpus[host_cpuset_next(&f->plan->vcpus[0].mask, 0)]
                  .package ==
                  f->host->llcs[31 - __builtin_clz(
                      (unsigned)fixture_group_llcs(f, 0).words[0])].package);
    assert_explain(f, 0, "of several nodes, the nearest");
}

static void test_split_stays_in_a_node(void)
{
    uint32_t seed;

    for (seed = 0; seed < 16; seed++) {
        g_autoptr(Fixture) f = fixture_new(fake_host_new(1, 2, 3, 4, 1, 0),
                                           "2,sockets=1,maxcpus=2",
                                           GUEST_CACHE_SOCKET);
        GuestTopology *guest;

        guest = guest_topology_from_smp("sockets=2,cores=8",
                                        GUEST_CACHE_SOCKET, NULL);
        guest_topology_free(f->guest);
        f->guest = guest;
        f->in.guest = guest;
        f->in.seed = seed;
        fixture_plan(f);
        assert_reason(f, 0, "split-node");
        assert_reason(f, 8, "split-node");
    }
}

/* ---- folding and shortage ---- */

static void test_fold_neighbours(void)
{
    g_autoptr(Fixture) f = fixture_new(fake_host_new(1, 1, 4, 8, 1, 0),
                                       "16,sockets=8,cores=2",
                                       GUEST_CACHE_SOCKET);
    int g;

    fixture_plan(f);
    assert_verdict(f, "folded");
    for (g = 0; g < 8; g += 2) {
        HostCpuSet a = fixture_group_llcs(f, g);
        HostCpuSet b = fixture_group_llcs(f, g + 1);

        g_assert_cmpint(host_cpuset_count(&a), ==, 1);
        g_assert_true(host_cpuset_equal(&a, &b));
    }
    assert_explain(f, 3, "shares LLC");
    assert_explain(f, 3, "4.0 cores in all");
    assert_summary(f, "16 vCPUs on 4 LLCs: folded");
}

static void test_overcommit_one_llc_per_group(void)
{
    g_autoptr(Fixture) f = fixture_new(fake_host_new(1, 1, 2, 8, 1, 0),
                                       "32,sockets=2", GUEST_CACHE_SOCKET);
    HostCpuSet a, b;

    fixture_plan(f);
    assert_verdict(f, "overcommitted");
    a = fixture_group_llcs(f, 0);
    b = fixture_group_llcs(f, 1);
    g_assert_cmpint(host_cpuset_count(&a), ==, 1);
    g_assert_cmpint(host_cpuset_count(&b), ==, 1);
    g_assert_false(host_cpuset_equal(&a, &b));
    g_assert_cmpuint(f->plan->llcs[0].demand, ==, 16000);
    g_assert_cmpuint(f->plan->llcs[1].demand, ==, 16000);
    assert_explain(f, 0, "to itself: too small, but nothing larger is left");
}

/* 8 + 6 + 10 cores on 3 x 8: as much as there is, but not in these pieces. */
static void test_pieces_that_do_not_fit(void)
{
    GuestVcpuPlace places[24] = { 0 };
    g_autoptr(Fixture) f = NULL;
    int v;

    for (v = 0; v < 24; v++) {
        places[v] = (GuestVcpuPlace) { .socket = v < 8 ? 0 : v < 14 ? 1 : 2,
                                       .core = v, .node = -1 };
    }
    f = fixture_new_guest(fake_host_new(1, 1, 3, 8, 1, 0),
                          guest_topology_new(places, 24, GUEST_CACHE_SOCKET,
                                             NULL, 0));
    for (v = 0; v < 24; v++) {
        f->guest->vcpus[v].present = true;
    }
    fixture_plan(f);
    assert_verdict(f, "overcommitted");
    for (v = 0; v < 24; v++) {
        g_assert_cmpint(f->plan->vcpus[v].n_llcs, ==, 1);
    }
    g_assert_cmpuint(f->plan->llcs[f->plan->vcpus[0].host_llc].demand, ==,
                     8000);
}

static void test_full_llcs_fold_within_room_first(void)
{
    /* 8 + 8 cores on 16, 4, 4: together on the large one, none split. */
    HostTopology *host = fake_host_new(1, 1, 3, 16, 1, 0);
    g_autoptr(Fixture) f = NULL;

    fake_host_offline(host, "20-31,36-47");
    f = fixture_new(host, "16,sockets=2", GUEST_CACHE_SOCKET);
    fixture_plan(f);
    assert_group_llcs(f, 0, "0");
    assert_group_llcs(f, 1, "0");
    assert_verdict(f, "folded");
}

static void test_split_rather_than_overfill(void)
{
    /* 8 + 8 cores on 8, 4, 4: two would be one too many on the large one. */
    HostTopology *host = fake_host_new(1, 1, 3, 8, 1, 0);
    g_autoptr(Fixture) f = NULL;
    int whole;

    fake_host_offline(host, "12-15,20-23");
    f = fixture_new(host, "16,sockets=2", GUEST_CACHE_SOCKET);
    fixture_plan(f);
    assert_verdict(f, "split");
    whole = f->plan->vcpus[0].n_llcs == 1 ? 0 : 1;
    assert_group_llcs(f, whole, "0");
    assert_group_llcs(f, 1 - whole, "1-2");
}

static void test_large_groups_fold_by_node(void)
{
    g_autoptr(Fixture) f = fixture_new(fake_host_new(2, 1, 3, 8, 1, 0),
                                       "48,sockets=4", GUEST_CACHE_SOCKET);

    fixture_plan(f);
    assert_reason(f, 0, "folded");
    g_assert_cmpint(f->plan->vcpus[0].n_llcs, ==, 3);
    g_assert_true(host_cpuset_equal(&f->plan->vcpus[0].mask,
                                    &f->plan->vcpus[12].mask));
    g_assert_false(host_cpuset_intersects(&f->plan->vcpus[12].mask,
                                          &f->plan->vcpus[24].mask));
    assert_explain(f, 0, "shares LLCs");
}

/* ---- nodes ---- */

static void test_binding_pulls(void)
{
    uint32_t seed;

    for (seed = 0; seed < 16; seed++) {
        g_autoptr(Fixture) f = fixture_new(
            fake_host_new(2, 1, 2, 4, 1, FAKE_HOST_SPARSE_NODES),
            "8,sockets=2", GUEST_CACHE_SOCKET);

        fixture_make_nodes(f, 2, 1);
        fixture_bind(f, 0, "8");
        fixture_bind(f, 1, "0");
        f->in.seed = seed;
        fixture_plan(f);
        g_assert_cmpint(f->host->llcs[f->plan->vcpus[0].host_llc].node, ==, 1);
        g_assert_cmpint(f->host->llcs[f->plan->vcpus[4].host_llc].node, ==, 0);
        assert_explain(f, 0, "node 8");
    }
}

/* Bound to a node that has no CPUs: the nearest that has. */
static void test_memory_only_node(void)
{
    HostTopology *host = fake_host_new(2, 1, 1, 4, 1, 0);
    g_autoptr(Fixture) f = NULL;

    fake_host_add_memory_node(host, 5, 40);
    host->distances[1 * 3 + 2] = host->distances[2 * 3 + 1] = 17;
    f = fixture_new(host, "4", GUEST_CACHE_SOCKET);
    fixture_make_nodes(f, 1, 1);
    fixture_bind(f, 0, "5");
    fixture_plan(f);
    assert_group_llcs(f, 0, "1");
}

static void test_unbound_gathers(void)
{
    uint32_t seed;
    unsigned nodes_seen = 0;

    for (seed = 0; seed < 32; seed++) {
        g_autoptr(Fixture) f = fixture_new(fake_host_new(2, 2, 4, 4, 1, 0),
                                           "16,sockets=4", GUEST_CACHE_SOCKET);
        int g, node = -1;

        f->in.seed = seed;
        fixture_plan(f);
        for (g = 0; g < 4; g++) {
            HostCpuSet llcs = fixture_group_llcs(f, g);
            int here = f->host->llcs[host_cpuset_next(&llcs, 0)].node;

            g_assert_true(node < 0 || node == here);
            node = here;
        }
        nodes_seen |= 1u << node;
    }
    g_assert_cmpuint(nodes_seen, ==, 15);
}

/* Two groups of a guest node: the same host node. */
static void test_guest_nodes_stay_whole(void)
{
    uint32_t seed;

    for (seed = 0; seed < 16; seed++) {
        g_autoptr(Fixture) f = fixture_new(fake_host_new(1, 2, 2, 4, 1, 0),
                                           "16,sockets=4", GUEST_CACHE_SOCKET);

        fixture_make_nodes(f, 2, 2);
        f->in.seed = seed;
        fixture_plan(f);
        g_assert_cmpint(f->host->llcs[f->plan->vcpus[0].host_llc].node, ==,
                        f->host->llcs[f->plan->vcpus[4].host_llc].node);
        g_assert_cmpint(f->host->llcs[f->plan->vcpus[8].host_llc].node, ==,
                        f->host->llcs[f->plan->vcpus[12].host_llc].node);
    }
}

static void test_memory_nodes_are_a_limit(void)
{
    g_autoptr(Fixture) f = fixture_new(fake_host_new(2, 1, 2, 4, 1, 0),
                                       "8,sockets=4", GUEST_CACHE_SOCKET);

    host_cpuset_add(&f->memory_nodes, 1);
    f->in.memory_nodes = &f->memory_nodes;
    fixture_plan(f);
    /* Four groups of two cores on two LLCs, although four LLCs are free. */
    assert_verdict(f, "folded");
    g_assert_cmpuint(f->plan->llcs[0].vcpus + f->plan->llcs[1].vcpus, ==, 0);
    /* What they cannot take may go elsewhere, from the nearest on. */
    guest_topology_free(f->guest);
    f->guest = guest_topology_from_smp("12,sockets=3", GUEST_CACHE_SOCKET,
                                       NULL);
    f->in.guest = f->guest;
    fixture_plan(f);
    assert_verdict(f, "matched");
    g_assert_cmpuint(f->plan->llcs[2].vcpus, ==, 4);
    g_assert_cmpuint(f->plan->llcs[3].vcpus, ==, 4);
}

/* ---- guard ---- */

static void test_guard(void)
{
    static const struct {
        unsigned util, tasks;
        bool closed;
    } rows[] = {
        { 250, 330, false }, { 251, 0, true }, { 0, 331, true },
        { 1000, 1000, true }, { 0, 0, false },
    };
    gsize i;

    for (i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(Fixture) f = fixture_new(fake_host_new(1, 1, 2, 8, 1, 0),
                                           "4", GUEST_CACHE_SOCKET);

        fixture_set_load(f, 0, rows[i].util, rows[i].tasks);
        fixture_set_load(f, 1, 250, 0);
        fixture_plan(f);
        g_assert_true(f->plan->llcs[0].guarded == rows[i].closed);
        g_assert_false(f->plan->llcs[1].guarded);
        if (rows[i].closed) {
            assert_group_llcs(f, 0, "1");
        }
        f->in.guard_util = f->in.guard_tasks = 100;
        fixture_plan(f);
        g_assert_false(f->plan->llcs[0].guarded);
    }
}

static void test_guard_all_closed(void)
{
    g_autoptr(Fixture) f = fixture_new(fake_host_new(1, 1, 2, 8, 1, 0),
                                       "1", GUEST_CACHE_SOCKET);

    fixture_set_load(f, 0, 300, 0);
    fixture_set_load(f, 1, 0, 400);
    fixture_plan(f);
    assert_verdict(f, "guarded");
    assert_reason(f, 0, "guarded");
    assert_list(&f->plan->vcpus[0].mask, "0-15");
    assert_explain(f, 0, "no LLC below 25 % use and 33 % tasks of others: "
                         "all 16 CPUs");
    assert_summary(f, "1 vCPU on 2 LLCs: guarded, 2 guarded");
    f->in.width = PLACEMENT_WIDTH_CPU;
    fixture_plan(f);
    assert_list(&f->plan->vcpus[0].mask, "0-15");
    g_assert_cmpint(f->plan->vcpus[0].host_core, ==, -1);
}

/* What the open LLCs can take stays there, the rest may go anywhere. */
static void test_guard_takes_what_fits(void)
{
    g_autoptr(Fixture) f = fixture_new(fake_host_new(1, 1, 3, 8, 1, 0),
                                       "16,sockets=2", GUEST_CACHE_SOCKET);
    int whole;

    fixture_set_load(f, 0, 300, 0);
    fixture_set_load(f, 2, 300, 0);
    fixture_plan(f);
    assert_verdict(f, "guarded");
    whole = f->plan->vcpus[0].n_llcs == 1 ? 0 : 8;
    assert_list(&f->plan->vcpus[whole].mask, "8-15");
    assert_list(&f->plan->vcpus[8 - whole].mask, "0-23");
    assert_explain(f, 8 - whole, "2 of 3 LLCs are crowded");
}

static void test_single_llc_is_not_guarded(void)
{
    g_autoptr(Fixture) f = fixture_new(fake_host_new(1, 1, 1, 4, 2, 0),
                                       "4,sockets=2", GUEST_CACHE_SOCKET);

    fixture_set_load(f, 0, 900, 900);
    fixture_plan(f);
    assert_verdict(f, "single");
    assert_reason(f, 0, "only-llc");
    assert_list(&f->plan->vcpus[0].mask, "0-7");
    assert_explain(f, 0, "LLC 0 (4 cores, node 0) is the only one");
}

/* ---- preference, ties ---- */

static void test_prefer_cache(void)
{
    uint32_t seed;

    for (seed = 0; seed < 16; seed++) {
        HostTopology *host = fake_host_new(1, 1, 2, 8, 2, 0);
        g_autoptr(Fixture) f = NULL;

        fake_host_set_bytes(host, 1, 96ull << 20);
        f = fixture_new(host, "4", GUEST_CACHE_SOCKET);
        f->in.seed = seed;
        fixture_plan(f);
        assert_group_llcs(f, 0, "1");
        /* By itself it gives way at 25 %, asked for it holds until 80 %. */
        fixture_set_load(f, 1, 600, 600);
        fixture_plan(f);
        assert_group_llcs(f, 0, "0");
        f->in.prefer = PLACEMENT_PREFER_CACHE;
        fixture_plan(f);
        assert_group_llcs(f, 0, "1");
        fixture_set_load(f, 1, 801, 600);
        fixture_plan(f);
        assert_group_llcs(f, 0, "0");
        /* Capacity is equal here, so asking for it changes nothing. */
        fixture_set_load(f, 1, 240, 0);
        f->in.prefer = PLACEMENT_PREFER_CAPACITY;
        fixture_plan(f);
        assert_group_llcs(f, 0, "0");
    }
}

static void test_prefer_capacity(void)
{
    uint32_t seed;

    for (seed = 0; seed < 8; seed++) {
        HostTopology *host = fake_host_new(1, 1, 2, 4, 1, 0);
        g_autoptr(Fixture) f = NULL;
        int c;

        for (c = 0; c < 4; c++) {
            host->cpus[c].capacity = host->cores[c].capacity = 600;
        }
        fake_host_set_bytes(host, 0, 96ull << 20);
        f = fixture_new(host, "4", GUEST_CACHE_SOCKET);
        f->in.seed = seed;
        fixture_plan(f);
        assert_group_llcs(f, 0, "1");
        f->in.prefer = PLACEMENT_PREFER_CACHE;
        fixture_plan(f);
        assert_group_llcs(f, 0, "0");
    }
}

static void test_seeds_spread(void)
{
    unsigned count[8] = { 0 };
    uint32_t seed;
    int l;

    for (seed = 0; seed < 256; seed++) {
        g_autoptr(Fixture) f = fixture_new(fake_host_new(1, 1, 8, 4, 1, 0),
                                           "4", GUEST_CACHE_SOCKET);

        f->in.seed = seed * 2654435761u;
        /* Noise below a step must not gather them on one LLC. */
        fixture_set_load(f, 0, 60, 60);
        fixture_set_load(f, 3, 0, 0);
        fixture_set_load(f, 5, 20, 40);
        fixture_set_load(f, 6, 120, 120);
        fixture_set_load(f, 7, 190, 190);
        count[fixture_plan(f)->vcpus[0].host_llc]++;
    }
    for (l = 0; l < 8; l++) {
        g_assert_cmpuint(count[l], >=, 10);
        g_assert_cmpuint(count[l], <=, 64);
    }
}

static void test_previous_is_kept(void)
{
    uint32_t seed;

    for (seed = 0; seed < 16; seed++) {
        g_autoptr(Fixture) f = fixture_new(fake_host_new(1, 2, 4, 4, 1, 0),
                                           "6,sockets=2,maxcpus=8",
                                           GUEST_CACHE_SOCKET);
        g_autoptr(Plan) before = NULL;
        int v;

        f->in.width = seed & 1 ? PLACEMENT_WIDTH_CPU : PLACEMENT_WIDTH_LLC;
        f->in.seed = seed;
        before = placement_plan(&f->in);
        f->in.seed = seed + 100;
        f->in.previous = before;
        f->guest->vcpus[6].present = true;
        fixture_plan(f);
        for (v = 0; v < 6; v++) {
            g_assert_true(host_cpuset_equal(&before->vcpus[v].mask,
                                            &f->plan->vcpus[v].mask));
        }
    }
}

static void test_busy_llc_is_avoided(void)
{
    uint32_t seed;

    for (seed = 0; seed < 16; seed++) {
        g_autoptr(Fixture) f = fixture_new(fake_host_new(1, 1, 2, 8, 1, 0),
                                           "2", GUEST_CACHE_SOCKET);

        f->in.seed = seed;
        fixture_set_load(f, seed & 1, 200, 100);
        fixture_plan(f);
        g_assert_cmpint(f->plan->vcpus[0].host_llc, ==, !(seed & 1));
    }
}

/* ---- widths ---- */

static void test_core_width_pairs_siblings(void)
{
    g_autoptr(Fixture) f = fixture_new(
        fake_host_new(1, 1, 2, 4, 2, FAKE_HOST_SIBLINGS_APART),
        "8,cores=4,threads=2", GUEST_CACHE_SOCKET);
    int v;

    f->in.width = PLACEMENT_WIDTH_CORE;
    fixture_plan(f);
    for (v = 0; v < 8; v += 2) {
        g_assert_true(f->plan->vcpus[v].smt_aligned);
        g_assert_cmpint(f->plan->vcpus[v].host_core, ==,
                        f->plan->vcpus[v + 1].host_core);
        g_assert_cmpint(host_cpuset_count(&f->plan->vcpus[v].mask), ==, 2);
    }
    assert_explain(f, 0, "; core of CPUs ");
}

static void test_cpu_width_pairs_siblings(void)
{
    g_autoptr(Fixture) f = fixture_new(
        fake_host_new(1, 1, 2, 4, 2, FAKE_HOST_SIBLINGS_APART),
        "8,cores=4,threads=2", GUEST_CACHE_SOCKET);
    HostCpuSet used = { { 0 } };
    int v;

    f->in.width = PLACEMENT_WIDTH_CPU;
    fixture_plan(f);
    for (v = 0; v < 8; v++) {
        g_assert_true(f->plan->vcpus[v].smt_aligned);
        g_assert_cmpint(f->plan->vcpus[v].host_core, ==,
                        f->plan->vcpus[v ^ 1].host_core);
        g_assert_false(host_cpuset_intersects(&used, &f->plan->vcpus[v].mask));
        host_cpuset_or(&used, &f->plan->vcpus[v].mask);
    }
    assert_explain(f, 0, "; CPU ");
}

static void test_singles_take_free_cores_first(void)
{
    g_autoptr(Fixture) f = fixture_new(fake_host_new(1, 1, 1, 4, 2, 0),
                                       "6", GUEST_CACHE_SOCKET);
    unsigned on_core[4] = { 0 };
    int v, c;

    f->in.width = PLACEMENT_WIDTH_CPU;
    fixture_plan(f);
    for (v = 0; v < 6; v++) {
        on_core[f->plan->vcpus[v].host_core]++;
        if (v == 3) {
            for (c = 0; c < 4; c++) {
                g_assert_cmpuint(on_core[c], ==, 1);
            }
        }
    }
    for (v = 0; v < 6; v++) {
        for (c = 0; c < v; c++) {
            g_assert_false(host_cpuset_equal(&f->plan->vcpus[v].mask,
                                             &f->plan->vcpus[c].mask));
        }
    }
}

/* A core with one candidate CPU is full sooner than one with two. */
static void test_wrap_is_even(void)
{
    g_autoptr(Fixture) f = fixture_new(fake_host_new(1, 1, 1, 2, 2, 0),
                                       "9", GUEST_CACHE_SOCKET);
    unsigned on_cpu[4] = { 0 };
    int v;

    fixture_set_candidates(f, "1-3");
    f->in.width = PLACEMENT_WIDTH_CPU;
    fixture_plan(f);
    for (v = 0; v < 9; v++) {
        on_cpu[host_cpuset_next(&f->plan->vcpus[v].mask, 0)]++;
        if (v == 2) {
            g_assert_cmpuint(on_cpu[1] * on_cpu[2] * on_cpu[3], ==, 1);
        }
    }
    g_assert_cmpuint(on_cpu[1], ==, 3);
    g_assert_cmpuint(on_cpu[2], ==, 3);
    g_assert_cmpuint(on_cpu[3], ==, 3);
}

static void test_threads_go_apart_without_smt(void)
{
    g_autoptr(Fixture) f = fixture_new(fake_host_new(1, 1, 1, 4, 1, 0),
                                       "4,threads=2", GUEST_CACHE_SOCKET);
    HostCpuSet used = { { 0 } };
    int v;

    f->in.width = PLACEMENT_WIDTH_CORE;
    fixture_plan(f);
    for (v = 0; v < 4; v++) {
        g_assert_false(f->plan->vcpus[v].smt_aligned);
        host_cpuset_or(&used, &f->plan->vcpus[v].mask);
    }
    assert_list(&used, "0-3");
    assert_explain(f, 0, "apart from its sibling");
}

static void test_fast_cores_first(void)
{
    HostTopology *host = fake_host_new(1, 1, 1, 8, 1, 0);
    g_autoptr(Fixture) f = NULL;
    int v;

    fake_host_make_hybrid(host, 3, 500);
    f = fixture_new(host, "4", GUEST_CACHE_SOCKET);
    fixture_plan(f);
    assert_list(&f->plan->vcpus[0].mask, "0-7");
    f->in.width = PLACEMENT_WIDTH_CORE;
    fixture_plan(f);
    for (v = 0; v < 4; v++) {
        g_assert_true((f->plan->vcpus[v].host_core < 3) == (v < 3));
    }
}

static void test_isolated_forces_cpu(void)
{
    g_autoptr(Fixture) f = fixture_new(fake_host_new(1, 1, 2, 4, 2, 0),
                                       "4", GUEST_CACHE_SOCKET);

    f->in.uses_isolated = true;
    fixture_plan(f);
    g_assert_cmpint(f->plan->width, ==, PLACEMENT_WIDTH_CPU);
    g_assert_true(f->plan->width_forced);
    g_assert_cmpint(host_cpuset_count(&f->plan->vcpus[0].mask), ==, 1);
    assert_explain(f, 0, "one CPU each: isolated");
}

/* ---- foreign and absent ---- */

static void test_foreign_is_kept_and_counts(void)
{
    g_autoptr(Fixture) f = fixture_new(fake_host_new(1, 1, 2, 4, 1, 0),
                                       "8,sockets=2", GUEST_CACHE_SOCKET);
    int v;

    for (v = 0; v < 4; v++) {
        fixture_set_foreign(f, v, "4-7");
    }
    fixture_plan(f);
    assert_reason(f, 0, "foreign");
    assert_list(&f->plan->vcpus[0].mask, "4-7");
    assert_group_llcs(f, 1, "0");
    g_assert_cmpuint(f->plan->llcs[1].demand, ==, 4000);
    assert_explain(f, 0, "mask 4-7 was set from outside: kept");
    assert_summary(f, "8 vCPUs on 2 LLCs: matched, 4 set by others");
    for (v = 4; v < 8; v++) {
        fixture_set_foreign(f, v, "0,4");
    }
    fixture_plan(f);
    assert_verdict(f, "foreign");
    g_assert_cmpint(f->plan->vcpus[4].n_llcs, ==, 2);
}

/* A CPU that somebody pinned a vCPU to is the last to be taken. */
/* As contested vCPUs are left: the others go where they would without it. */
static void test_foreign_everywhere_claims_nothing(void)
{
    g_autoptr(Fixture) f = fixture_new(fake_host_new(1, 1, 2, 1, 1, 0),
                                       "2,sockets=2", GUEST_CACHE_SOCKET);

    fixture_set_foreign(f, 1, "0-1");
    fixture_plan(f);
    assert_reason(f, 0, "fits");
    g_assert_cmpint(f->plan->vcpus[0].n_llcs, ==, 1);
    assert_verdict(f, "matched");
}

/* Many masks, LLCs that interleave: the lowest LLC, each counted once. */
static void test_foreign_masks_of_many_llcs(void)
{
    g_autoptr(Fixture) f = fixture_new(fake_host_new(1, 1, 4, 2, 2,
                                                     FAKE_HOST_SIBLINGS_APART),
                                       "8,sockets=4", GUEST_CACHE_SOCKET);

    fixture_set_foreign(f, 0, "7-8");
    fixture_set_foreign(f, 2, "2-5,10-13");
    fixture_set_foreign(f, 4, "7-8");
    fixture_plan(f);
    g_assert_cmpint(f->plan->vcpus[0].host_llc, ==, 0);
    g_assert_cmpint(f->plan->vcpus[0].n_llcs, ==, 2);
    g_assert_cmpint(f->plan->vcpus[2].host_llc, ==, 1);
    g_assert_cmpint(f->plan->vcpus[2].n_llcs, ==, 2);
    g_assert_cmpint(f->plan->vcpus[4].n_llcs, ==, 2);
}

/* One LLC, many groups: each core gets two before one gets three. */
static void test_folded_groups_wrap_evenly(void)
{
    g_autoptr(Fixture) f = fixture_new(fake_host_new(1, 1, 1, 4, 4, 0),
                                       "10,sockets=10", GUEST_CACHE_SOCKET);
    int count[4] = { 0 };
    int v, k;

    f->in.width = PLACEMENT_WIDTH_CPU;
    fixture_plan(f);
    for (v = 0; v < 10; v++) {
        count[f->plan->vcpus[v].host_core]++;
    }
    for (k = 0; k < 4; k++) {
        g_assert_cmpint(count[k], >=, 2);
        g_assert_cmpint(count[k], <=, 3);
    }
}

static void test_foreign_core_is_avoided(void)
{
    g_autoptr(Fixture) f = fixture_new(fake_host_new(1, 1, 1, 4, 1, 0),
                                       "4", GUEST_CACHE_SOCKET);
    HostCpuSet used = { { 0 } };
    int v;

    fixture_set_foreign(f, 0, "2");
    f->in.width = PLACEMENT_WIDTH_CPU;
    fixture_plan(f);
    for (v = 1; v < 4; v++) {
        host_cpuset_or(&used, &f->plan->vcpus[v].mask);
    }
    assert_list(&used, "0-1,3");
}

/* The sibling sits where others put it: that is no pair, and it says so. */
static void test_foreign_sibling_is_no_pair(void)
{
    g_autoptr(Fixture) f = fixture_new(fake_host_new(1, 1, 1, 4, 2, 0),
                                       "4,threads=2", GUEST_CACHE_SOCKET);

    fixture_set_foreign(f, 0, "6");
    f->in.width = PLACEMENT_WIDTH_CPU;
    fixture_plan(f);
    g_assert_false(f->plan->vcpus[1].smt_aligned);
    g_assert_true(f->plan->vcpus[2].smt_aligned);
    g_assert_true(f->plan->vcpus[3].smt_aligned);
}

static void test_absent_has_no_mask(void)
{
    g_autoptr(Fixture) f = fixture_new(fake_host_new(1, 1, 2, 4, 1, 0),
                                       "2,sockets=2,maxcpus=8",
                                       GUEST_CACHE_SOCKET);

    fixture_plan(f);
    assert_reason(f, 2, "absent");
    assert_reason(f, 7, "absent");
    assert_explain(f, 7, "not plugged");
    assert_summary(f, "2 vCPUs on 1 LLC: matched");
}

static void test_odd(void)
{
    static const struct {
        int packages, nodes, llcs, cores, threads;
        const char *smp, *cpus;
    } rows[] = {
        { 1, 1, 1, 1, 1, "1", NULL },
        { 1, 1, 1, 1, 1, "64,sockets=4", NULL },
        { 1, 1, 2, 1, 1, "255", NULL },
        { 2, 1, 2, 4, 2, "1", "9" },
        { 2, 1, 2, 4, 2, "24,sockets=3,threads=2", "0,9,17,31" },
        { 1, 1, 2, 4, 8, "64,cores=8,threads=8", NULL },
        { 2, 4, 4, 2, 2, "4096,sockets=64", NULL },
    };
    gsize i;
    int width;

    for (i = 0; i < G_N_ELEMENTS(rows); i++) {
        for (width = 0; width <= PLACEMENT_WIDTH_CPU; width++) {
            g_autoptr(Fixture) f = fixture_new(
                fake_host_new(rows[i].packages, rows[i].nodes, rows[i].llcs,
                              rows[i].cores, rows[i].threads, 0),
                rows[i].smp, GUEST_CACHE_SOCKET);

            if (rows[i].cpus) {
                fixture_set_candidates(f, rows[i].cpus);
            }
            f->in.width = width;
            fixture_plan(f);
        }
    }
    placement_plan_free(NULL);
}

#define ADD(path, func) g_test_add_func("/placement/" path, func)

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    ADD("candidates-are-online-allowed-and-named", test_candidates);
    ADD("8-cores-16-threads-fit-with-guest-smt", test_fit_with_smt);
    ADD("16-vcpus-do-not-fit-8-cores-without-guest-smt",
        test_no_fit_without_smt);
    ADD("8-single-threads-fit-8-cores", test_fit_eight_singles);
    ADD("16-threads-do-not-fit-8-cpus", test_no_fit_in_threads);
    ADD("history-shrinks-demand-but-not-for-one-cpu-each",
        test_history_makes_it_fit);
    ADD("busiest-sibling-counts", test_busiest_sibling_counts);
    ADD("different-guest-llcs-get-different-llcs",
        test_different_groups_different_llcs);
    ADD("small-group-leaves-the-large-llc", test_unequal_llcs_are_matched);
    ADD("larger-than-a-node-takes-the-nearest", test_larger_than_a_node);
    ADD("larger-than-an-llc-stays-in-a-node", test_split_stays_in_a_node);
    ADD("neighbours-are-folded", test_fold_neighbours);
    ADD("overcommit-is-even", test_overcommit_one_llc_per_group);
    ADD("pieces-that-do-not-fit-are-told", test_pieces_that_do_not_fit);
    ADD("fold-within-the-room-before-splitting",
        test_full_llcs_fold_within_room_first);
    ADD("split-rather-than-overfill", test_split_rather_than_overfill);
    ADD("large-groups-fold-by-node", test_large_groups_fold_by_node);
    ADD("bound-memory-pulls", test_binding_pulls);
    ADD("memory-only-node-pulls-to-the-nearest", test_memory_only_node);
    ADD("unbound-groups-gather-on-a-node", test_unbound_gathers);
    ADD("guest-nodes-stay-whole", test_guest_nodes_stay_whole);
    ADD("memory-nodes-are-a-limit-while-they-can-take-it",
        test_memory_nodes_are_a_limit);
    ADD("guard-closes-above-its-thresholds", test_guard);
    ADD("all-closed-means-all-candidates", test_guard_all_closed);
    ADD("open-llcs-take-what-fits", test_guard_takes_what_fits);
    ADD("a-single-llc-is-not-guarded", test_single_llc_is_not_guarded);
    ADD("prefer-cache", test_prefer_cache);
    ADD("prefer-capacity-comes-first-by-itself", test_prefer_capacity);
    ADD("seeds-spread-over-equal-llcs", test_seeds_spread);
    ADD("previous-is-kept-over-a-plug", test_previous_is_kept);
    ADD("busier-llc-is-avoided", test_busy_llc_is_avoided);
    ADD("core-width-pairs-siblings", test_core_width_pairs_siblings);
    ADD("cpu-width-pairs-siblings", test_cpu_width_pairs_siblings);
    ADD("single-threads-take-free-cores-first",
        test_singles_take_free_cores_first);
    ADD("more-vcpus-than-cpus-wrap-evenly", test_wrap_is_even);
    ADD("threads-go-apart-without-host-smt", test_threads_go_apart_without_smt);
    ADD("fast-cores-come-first", test_fast_cores_first);
    ADD("isolated-cpus-force-one-cpu-each", test_isolated_forces_cpu);
    ADD("foreign-masks-are-kept-and-count", test_foreign_is_kept_and_counts);
    ADD("foreign-everywhere-claims-nothing",
        test_foreign_everywhere_claims_nothing);
    ADD("foreign-masks-of-many-llcs", test_foreign_masks_of_many_llcs);
    ADD("folded-groups-wrap-evenly", test_folded_groups_wrap_evenly);
    ADD("foreign-core-is-taken-last", test_foreign_core_is_avoided);
    ADD("foreign-sibling-is-no-pair", test_foreign_sibling_is_no_pair);
    ADD("absent-vcpus-have-no-mask", test_absent_has_no_mask);
    ADD("odd-shapes-have-a-plan", test_odd);
    return g_test_run();
}
