/*
 * Guest topology: cores, LLC groups, and the rules of -smp
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <string.h>
#include "hw/sched/guest-topology.h"

/*
 * What QEMU makes of -smp on a machine that prefers cores: the cases that its
 * tests/unit/test-smp-parse.c covers, in our words.  counts: cpus, sockets,
 * dies, clusters, modules, cores, threads, maxcpus.
 */
typedef struct SmpRow {
    const char *smp;
    int cpus, sockets, dies, clusters, modules, cores, threads, maxcpus;
} SmpRow;

static const SmpRow good_rows[] = {
    { "",                                      1, 1, 1, 1, 1, 1, 1, 1 },
    { "1",                                     1, 1, 1, 1, 1, 1, 1, 1 },
    { "8",                                     8, 1, 1, 1, 1, 8, 1, 8 },
    { "cpus=8",                                8, 1, 1, 1, 1, 8, 1, 8 },
    { "0x10",                                 16, 1, 1, 1, 1, 16, 1, 16 },
    { "010",                                   8, 1, 1, 1, 1, 8, 1, 8 },
    { "8,",                                    8, 1, 1, 1, 1, 8, 1, 8 },
    { "sockets=2",                             2, 2, 1, 1, 1, 1, 1, 2 },
    { "cores=4",                               4, 1, 1, 1, 1, 4, 1, 4 },
    { "threads=2",                             2, 1, 1, 1, 1, 1, 2, 2 },
    { "maxcpus=16",                           16, 1, 1, 1, 1, 16, 1, 16 },
    { "8,sockets=2",                           8, 2, 1, 1, 1, 4, 1, 8 },
    { "8,cores=4",                             8, 2, 1, 1, 1, 4, 1, 8 },
    { "8,threads=2",                           8, 1, 1, 1, 1, 4, 2, 8 },
    { "8,maxcpus=16",                          8, 1, 1, 1, 1, 16, 1, 16 },
    { "sockets=2,cores=4",                     8, 2, 1, 1, 1, 4, 1, 8 },
    { "sockets=2,threads=2",                   4, 2, 1, 1, 1, 1, 2, 4 },
    { "sockets=2,maxcpus=16",                 16, 2, 1, 1, 1, 8, 1, 16 },
    { "cores=4,threads=2",                     8, 1, 1, 1, 1, 4, 2, 8 },
    { "cores=4,maxcpus=16",                   16, 4, 1, 1, 1, 4, 1, 16 },
    { "threads=2,maxcpus=16",                 16, 1, 1, 1, 1, 8, 2, 16 },
    { "8,sockets=2,threads=2",                 8, 2, 1, 1, 1, 2, 2, 8 },
    { "8,sockets=2,maxcpus=16",                8, 2, 1, 1, 1, 8, 1, 16 },
    { "8,cores=4,maxcpus=16",                  8, 4, 1, 1, 1, 4, 1, 16 },
    { "8,threads=2,maxcpus=16",                8, 1, 1, 1, 1, 8, 2, 16 },
    { "sockets=2,cores=4,threads=2",          16, 2, 1, 1, 1, 4, 2, 16 },
    { "sockets=2,cores=4,maxcpus=16",         16, 2, 1, 1, 1, 4, 2, 16 },
    { "cores=4,threads=2,maxcpus=16",         16, 2, 1, 1, 1, 4, 2, 16 },
    { "8,sockets=2,cores=4,maxcpus=16",        8, 2, 1, 1, 1, 4, 2, 16 },
    { "8,sockets=2,cores=4,threads=2,maxcpus=16",
                                               8, 2, 1, 1, 1, 4, 2, 16 },
    { "8,dies=2",                              8, 1, 2, 1, 1, 4, 1, 8 },
    { "16,dies=2,cores=4",                    16, 2, 2, 1, 1, 4, 1, 16 },
    { "16,dies=2,modules=2,threads=2",        16, 1, 2, 1, 2, 2, 2, 16 },
    { "32,sockets=2,dies=2,modules=2,cores=2", 32, 2, 2, 1, 2, 2, 2, 32 },
    { "8,clusters=2",                          8, 1, 1, 2, 1, 4, 1, 8 },
    { "dies=2,modules=2",                      4, 1, 2, 1, 2, 1, 1, 4 },
    { "8,drawers=1,books=1,sockets=2,cores=4", 8, 2, 1, 1, 1, 4, 1, 8 },
    { "2,cpus=6",                              6, 1, 1, 1, 1, 6, 1, 6 },
    { "sockets=2,cpus=6",                      6, 2, 1, 1, 1, 3, 1, 6 },
    { "4096",                               4096, 1, 1, 1, 1, 4096, 1, 4096 },
};

/* The text of the error must name what is wrong. */
typedef struct BadRow {
    const char *smp, *names;
} BadRow;

static const BadRow bad_rows[] = {
    { "0", "cpus=0 is out of range; give 1 to 4096" },
    { "8,sockets=0", "sockets=0" },
    { "8,dies=0", "dies=0" },
    { "8,modules=0", "modules=0" },
    { "8,cores=0", "cores=0" },
    { "8,threads=0", "threads=0" },
    { "8,maxcpus=0", "maxcpus=0" },
    { "-1", "cpus='-1' is not a number" },
    { "8x", "cpus='8x' is not a number" },
    { "8,cores=", "cores='' is not a number" },
    { " 8", "cpus=' 8' is not a number" },
    { "8, cores=4", "' cores' is not a parameter" },
    { "8,cores", "'cores' has no value" },
    { "8,,cores=4", "'' has no value" },
    { "8,core=4", "'core' is not a parameter" },
    { "8,drawers=2", "drawers=2 is not supported" },
    { "8,books=2", "books=2 is not supported" },
    { "5000", "cpus=5000 is out of range" },
    { "99999999999999999999999", "cpus='99999999999999999999999'" },
    { "maxcpus=4097", "maxcpus=4097" },
    { "sockets=64,cores=64,threads=2", "maxcpus=8192 is out of range" },
    { "sockets=4096,cores=4096,threads=4096,dies=4096", "out of range" },
    { "8,sockets=2,cores=4,threads=2,maxcpus=8",
      "sockets (2) * cores (4) * threads (2) is not 8" },
    { "18,sockets=2,cores=4,threads=2,maxcpus=16",
      "cpus=18 is above maxcpus=16" },
    { "7,sockets=2", "sockets (2) * cores (3) * threads (1) is not 7" },
    { "2,sockets=4", "sockets (4) * cores (0) * threads (1) is not 2" },
    { "16,sockets=2,dies=2,cores=4,threads=2,maxcpus=16",
      "sockets (2) * dies (2) * cores (4) * threads (2) is not 16" },
    { "16,sockets=2,modules=2,cores=4,threads=2,maxcpus=16",
      "sockets (2) * modules (2) * cores (4) * threads (2) is not 16" },
    { "8,maxcpus=4", "cpus=8 is above maxcpus=4" },
};

static void test_good_smp(void)
{
    gsize i;

    for (i = 0; i < G_N_ELEMENTS(good_rows); i++) {
        const SmpRow *row = &good_rows[i];
        g_autoptr(GError) err = NULL;
        g_autoptr(GuestTopology) guest =
            guest_topology_from_smp(row->smp, GUEST_CACHE_DIE, &err);
        const GuestVcpuPlace *last;
        int v, present = 0;

        g_test_message("-smp '%s'", row->smp);
        g_assert_no_error(err);
        g_assert_cmpint(guest->n_vcpus, ==, row->maxcpus);
        last = &guest->vcpus[guest->n_vcpus - 1].place;
        g_assert_cmpint(last->socket + 1, ==, row->sockets);
        g_assert_cmpint(last->die + 1, ==, row->dies);
        g_assert_cmpint(last->cluster + 1, ==, row->clusters);
        g_assert_cmpint(last->module + 1, ==, row->modules);
        g_assert_cmpint(last->core + 1, ==, row->cores);
        g_assert_cmpint(last->thread + 1, ==, row->threads);
        g_assert_cmpint(guest->n_llcs, ==, row->sockets * row->dies);
        g_assert_cmpint(guest->n_cores, ==, row->maxcpus / row->threads);
        for (v = 0; v < guest->n_vcpus; v++) {
            g_assert_true(guest->vcpus[v].present == (v < row->cpus));
            g_assert_cmpint(guest->vcpus[v].place.node, ==, -1);
            present += guest->vcpus[v].present;
        }
        g_assert_cmpint(present, ==, row->cpus);
    }
}

static void test_bad_smp(void)
{
    gsize i;

    for (i = 0; i < G_N_ELEMENTS(bad_rows); i++) {
        g_autoptr(GError) err = NULL;
        g_autoptr(GuestTopology) guest =
            guest_topology_from_smp(bad_rows[i].smp, GUEST_CACHE_DIE, &err);

        g_test_message("-smp '%s': %s", bad_rows[i].smp,
                       err ? err->message : "accepted");
        g_assert_null(guest);
        g_assert_nonnull(err);
        g_assert_true(err->domain == GUEST_TOPOLOGY_ERROR);
        g_assert_nonnull(strstr(err->message, bad_rows[i].names));
        g_assert_true(g_str_has_prefix(err->message, "smp: "));
    }
    g_assert_null(guest_topology_from_smp("0", GUEST_CACHE_DIE, NULL));
}

static void test_order(void)
{
    g_autoptr(GuestTopology) guest =
        guest_topology_from_smp("sockets=2,dies=2,modules=2,cores=2,threads=2",
                                GUEST_CACHE_DIE, NULL);
    int v;

    for (v = 0; v < 32; v++) {
        const GuestVcpuPlace *place = &guest->vcpus[v].place;

        g_assert_cmpint(place->thread, ==, v & 1);
        g_assert_cmpint(place->core, ==, v >> 1 & 1);
        g_assert_cmpint(place->module, ==, v >> 2 & 1);
        g_assert_cmpint(place->die, ==, v >> 3 & 1);
        g_assert_cmpint(place->socket, ==, v >> 4);
        g_assert_cmpint(guest->vcpus[v].core, ==, v / 2);
        g_assert_cmpint(guest->vcpus[v].llc, ==, v / 8);
    }
}

static void test_scope(void)
{
    static const struct {
        GuestCacheScope scope;
        int n_llcs;
    } rows[] = {
        { GUEST_CACHE_CORE, 32 }, { GUEST_CACHE_MODULE, 16 },
        { GUEST_CACHE_CLUSTER, 8 }, { GUEST_CACHE_DIE, 4 },
        { GUEST_CACHE_SOCKET, 2 },
    };
    gsize i;

    for (i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(GuestTopology) guest = guest_topology_from_smp(
            "sockets=2,dies=2,clusters=2,modules=2,cores=2,threads=2",
            rows[i].scope, NULL);

        g_assert_cmpint(guest->llc_scope, ==, rows[i].scope);
        g_assert_cmpint(guest->n_llcs, ==, rows[i].n_llcs);
        g_assert_cmpint(guest->vcpus[63].llc, ==, rows[i].n_llcs - 1);
    }
}

/* QEMU's indexes need not follow the places: numbers go by first vCPU. */
static void test_first_vcpu_numbers(void)
{
    GuestVcpuPlace places[4] = {
        { .socket = 7, .core = 3, .node = 1 },
        { .socket = 2, .core = 3, .node = 0 },
        { .socket = 7, .core = 3, .thread = 1, .node = 1 },
        { .socket = 2, .core = 1, .node = 0 },
    };
    HostCpuSet bound[2] = { { { 0 } } };
    g_autoptr(GuestTopology) guest = NULL;

    host_cpuset_add(&bound[1], 8);
    guest = guest_topology_new(places, 4, GUEST_CACHE_SOCKET, bound, 2);
    g_assert_cmpint(guest->n_cores, ==, 3);
    g_assert_cmpint(guest->n_llcs, ==, 2);
    g_assert_cmpint(guest->vcpus[0].core, ==, 0);
    g_assert_cmpint(guest->vcpus[1].core, ==, 1);
    g_assert_cmpint(guest->vcpus[2].core, ==, 0);
    g_assert_cmpint(guest->vcpus[3].core, ==, 2);
    g_assert_cmpint(guest->vcpus[1].llc, ==, 1);
    g_assert_cmpint(guest->vcpus[3].llc, ==, 1);
    g_assert_false(guest->vcpus[0].present);
    bound[1] = bound[0];
    g_assert_true(host_cpuset_has(&guest->node_binding[1], 8));
    guest_topology_free(NULL);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/guest-topology/smp-is-completed-as-qemu-does",
                    test_good_smp);
    g_test_add_func("/guest-topology/smp-that-qemu-refuses-is-refused",
                    test_bad_smp);
    g_test_add_func("/guest-topology/threads-count-fastest", test_order);
    g_test_add_func("/guest-topology/llc-reaches-as-far-as-its-scope",
                    test_scope);
    g_test_add_func("/guest-topology/numbers-go-by-first-vcpu",
                    test_first_vcpu_numbers);
    return g_test_run();
}
