/*
 * Random hosts, guests and loads, and the loop over them
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include "placement-random.h"

int pick(GRand *rand, int low, int high)
{
    return g_rand_int_range(rand, low, high + 1);
}

bool chance(GRand *rand, int one_in)
{
    return g_rand_int_range(rand, 0, one_in) == 0;
}

/* ---- random input ---- */

static HostTopology *random_host(GRand *rand)
{
    int flags = (chance(rand, 2) ? FAKE_HOST_SIBLINGS_APART : 0) |
                (chance(rand, 4) ? FAKE_HOST_SPARSE_NODES : 0);
    HostTopology *host = fake_host_new(pick(rand, 1, 2), pick(rand, 1, 3),
                                       pick(rand, 1, 4), pick(rand, 1, 8),
                                       pick(rand, 1, 3), flags);
    int l;

    if (chance(rand, 4)) {
        fake_host_make_hybrid(host, pick(rand, 0, 4), 512);
    }
    for (l = 0; l < host->n_llcs && chance(rand, 3); l++) {
        fake_host_set_bytes(host, l, (uint64_t)pick(rand, 0, 3) << 24);
    }
    if (chance(rand, 4)) {
        fake_host_add_memory_node(host, 900, 25);
    }
    if (chance(rand, 4) && host->n_cpus > 2) {
        g_autofree char *off = g_strdup_printf("%d",
                                               pick(rand, 0, host->n_cpus - 1));

        fake_host_offline(host, off);
    }
    return host;
}

/* Groups of one size or of several; some vCPUs not plugged. */
static GuestTopology *random_guest(GRand *rand, bool all_present)
{
    int n_groups = pick(rand, 1, 9), threads = pick(rand, 1, 2);
    int cores = pick(rand, 1, 12), g, k, t, n = 0;
    bool same = chance(rand, 2);
    GuestVcpuPlace places[9 * 12 * 2] = { 0 };
    GuestTopology *guest;
    bool any = false;

    for (g = 0; g < n_groups; g++) {
        cores = same ? cores : pick(rand, 1, 12);
        for (k = 0; k < cores; k++) {
            for (t = 0; t < threads; t++) {
                places[n++] = (GuestVcpuPlace) {
                    .socket = g, .core = k, .thread = t, .node = -1,
                };
            }
        }
    }
    guest = guest_topology_new(places, n, GUEST_CACHE_SOCKET, NULL, 0);
    for (k = 0; k < n; k++) {
        guest->vcpus[k].present = all_present || !chance(rand, 5);
        any |= guest->vcpus[k].present;
    }
    guest->vcpus[0].present |= !any;
    return guest;
}

void random_candidates(GRand *rand, Fixture *f)
{
    HostCpuSet set = f->candidates;

    HOST_CPUSET_FOREACH(cpu, &set) {
        if (chance(rand, 3)) {
            host_cpuset_remove(&f->candidates, cpu);
        }
    }
    if (host_cpuset_empty(&f->candidates)) {
        f->candidates = set;
    }
}

static void random_foreign(GRand *rand, Fixture *f)
{
    int v;

    for (v = 0; v < f->guest->n_vcpus; v++) {
        if (chance(rand, 4)) {
            int cpu = host_cpuset_next(&f->host->online,
                                       pick(rand, 0, f->host->n_cpus / 2));
            g_autofree char *list = g_strdup_printf("%d", MAX(cpu, 0));

            if (cpu >= 0) {
                fixture_set_foreign(f, v, list);
            }
        }
    }
}

Fixture *random_simple(GRand *rand)
{
    Fixture *f = fixture_new_guest(random_host(rand), random_guest(rand, true));

    f->in.seed = g_rand_int(rand);
    f->in.width = pick(rand, 0, 2);
    return f;
}

Fixture *random_fixture(GRand *rand)
{
    Fixture *f = fixture_new_guest(random_host(rand),
                                   random_guest(rand, false));
    int v, l;

    f->in.seed = g_rand_int(rand);
    f->in.width = pick(rand, 0, 2);
    f->in.prefer = pick(rand, 0, 2);
    f->in.uses_isolated = chance(rand, 8);
    if (chance(rand, 3)) {
        random_candidates(rand, f);
    }
    if (chance(rand, 2)) {
        for (l = 0; l < f->host->n_llcs; l++) {
            fixture_set_load(f, l, pick(rand, 0, 400), pick(rand, 0, 400));
        }
    }
    for (v = 0; v < f->guest->n_vcpus && chance(rand, 3); v++) {
        fixture_set_demand(f, v, pick(rand, 0, 1000));
    }
    if (chance(rand, 4)) {
        random_foreign(rand, f);
    }
    if (chance(rand, 3)) {
        fixture_make_nodes(f, pick(rand, 1, 3), pick(rand, 1, 3));
        fixture_bind(f, 0, "0");
    }
    if (chance(rand, 4)) {
        host_cpuset_add(&f->memory_nodes, f->host->nodes[0].id);
        f->in.memory_nodes = &f->memory_nodes;
    }
    return f;
}

/* ---- the loop over seeds ---- */

static unsigned current_seed; /* for the handler of an assertion */

/* An assertion that fails ends the program: say which case it was. */
static void say_seed(int number)
{
    fprintf(stderr, "# LLCSCHED_TEST_SEED=%u\n", current_seed);
    raise(number);
}

unsigned applied, worse;

void say_seed_of_failures(void)
{
    struct sigaction action = { .sa_handler = say_seed,
                                .sa_flags = SA_RESETHAND };

    sigaction(SIGABRT, &action, NULL);
}

static void run_seed(unsigned seed, Fixture *(*make)(GRand *),
                     Property property)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(seed);
    g_autoptr(Fixture) f = make(rand);

    property(f, rand);
}

void for_all(Fixture *(*make)(GRand *), Property property)
{
    const char *one = g_getenv("LLCSCHED_TEST_SEED");
    unsigned n = g_test_thorough() ? 50000 : 2500, seed;

    applied = worse = 0;
    if (one) {
        current_seed = atoi(one);
        run_seed(current_seed, make, property);
        return;
    }
    for (seed = 1; seed <= n; seed++) {
        current_seed = seed;
        run_seed(seed, make, property);
    }
    g_test_message("%u cases, %u with something to check, %u worse", n,
                   applied, worse);
    g_assert_cmpuint(applied, >=, n / 50);
}
