/*
 * The simulator: what must hold whatever it simulates
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <string.h>
#include "../../bench/sim/costs-added.h"
#include "../../bench/sim/costs.h"
#include "../../bench/sim/sim-case.h"
#include "../../bench/sim/sim-kernel.h"
#include "fake-host.h"

#define MS 1000000ll
#define SECOND (1000 * MS)
#define SPINNING (1000000 * SECOND)

/* Two LLCs of two cores with two threads, one package. */
static HostTopology *small_host(void)
{
    return fake_host_new(1, 1, 2, 2, 2, 0);
}

static const SimPolicy *policy(const char *name)
{
    const SimPolicy *found = sim_policy_by_name(name);

    g_assert_nonnull(found);
    return found;
}

static double work_ms(const Sim *sim)
{
    double done = 0;
    int v;

    for (v = 0; v < sim->n_vms; v++) {
        done += sim->vms[v].done_ns / MS;
    }
    return done;
}

static void pin_all(Sim *sim, int cpu)
{
    int i;

    for (i = 0; i < sim->n_tasks; i++) {
        memset(&sim->tasks[i].mask, 0, sizeof(sim->tasks[i].mask));
        host_cpuset_add(&sim->tasks[i].mask, cpu);
    }
}

/* The clocks of CPUs and tasks, and their counts, must agree at all times. */
static void check_books(const Sim *sim)
{
    uint64_t cpus = 0, tasks = 0, waits = 0, cpu_waits = 0;
    int i, l, on_llcs = 0, awake = 0;

    for (i = 0; i < sim->host->n_cpus; i++) {
        cpus += sim->cpus[i].run_ns;
        cpu_waits += sim->cpus[i].wait_ns;
        g_assert_cmpuint(sim->cpus[i].run_ns, <=, sim->now_ns);
    }
    for (i = 0; i < sim->n_tasks; i++) {
        tasks += sim->tasks[i].run_ns;
        waits += sim->tasks[i].wait_ns;
        awake += sim->tasks[i].state != SIM_SLEEPS;
    }
    for (l = 0; l < sim->host->n_llcs; l++) {
        on_llcs += sim->llcs[l].tasks;
        g_assert_cmpint(sim->llcs[l].running, <=, sim->llcs[l].tasks);
        g_assert_cmpint(sim->llcs[l].idle_cores, >=, 0);
    }
    g_assert_cmpuint(cpus, ==, tasks);
    g_assert_cmpuint(cpu_waits, ==, waits);
    g_assert_cmpint(on_llcs, ==, awake);
}

static void test_books(void)
{
    g_autoptr(HostTopology) host = small_host();
    int c, p;

    for (c = 0; c < sim_n_cases; c++) {
        for (p = 0; p < sim_n_policies; p++) {
            g_autoptr(Sim) sim = sim_new(host, 1 + c + p);

            g_test_message("%s with %s, seed %d", sim_cases[c].name,
                           sim_policies[p]->name, 1 + c + p);
            sim_cases[c].add(sim, sim_cases[c].usual);
            sim_run(sim, sim_policies[p], SECOND / 10, SECOND / 2);
            check_books(sim);
        }
    }
}

static void test_shares(void)
{
    g_autoptr(HostTopology) host = small_host();
    g_autoptr(Sim) sim = sim_new(host, 1);
    int i;

    sim_add_vm(sim, 3, SIM_SPIN, SPINNING, 0);
    pin_all(sim, 0);
    sim_run(sim, policy("blind"), 0, 3 * SECOND);
    for (i = 0; i < 3; i++) {
        double share = (double)sim->tasks[i].run_ns / sim->now_ns;

        g_assert_cmpfloat_with_epsilon(share, 1.0 / 3, 0.003);
    }
}

/* Who sleeps half of the time gets what it asks for beside who never does. */
static void test_sleeper(void)
{
    g_autoptr(HostTopology) host = small_host();
    g_autoptr(Sim) sim = sim_new(host, 1);
    double share;

    sim_add_vm(sim, 1, SIM_SPIN, SPINNING, 0);
    sim_add_vm(sim, 1, SIM_BURST, MS, 20 * MS);
    pin_all(sim, 0);
    sim_run(sim, policy("blind"), 0, 20 * SECOND);
    share = (double)sim->tasks[1].run_ns / sim->now_ns;
    g_assert_cmpfloat(share, >, 1.0 / (1 + 20 + 3 + 1));
    g_assert_cmpfloat(share, <, 1.0 / (1 + 20) + 0.005);
}

static void test_mask(void)
{
    g_autoptr(HostTopology) host = small_host();
    g_autoptr(Sim) sim = sim_new(host, 1);
    int i;

    sim_add_vm(sim, 6, SIM_BURST, MS, MS);
    for (i = 0; i < sim->n_tasks; i++) {
        sim->tasks[i].mask = host->llcs[1].cpus;
    }
    sim_run(sim, policy("blind"), 0, SECOND);
    HOST_CPUSET_FOREACH(cpu, &host->llcs[0].cpus) {
        g_assert_cmpuint(sim->cpus[cpu].run_ns, ==, 0);
    }
    g_assert_cmpuint(sim->migrations, ==, 0);
}

static void test_siblings(void)
{
    g_autoptr(HostTopology) host = small_host();
    g_autoptr(Sim) sim = sim_new(host, 1);
    int i = 0;

    sim_add_vm(sim, 2, SIM_SPIN, SPINNING, 0);
    HOST_CPUSET_FOREACH(cpu, &host->cores[0].cpus) {
        memset(&sim->tasks[i].mask, 0, sizeof(sim->tasks[i].mask));
        host_cpuset_add(&sim->tasks[i++].mask, cpu);
    }
    g_assert_cmpint(i, ==, 2);
    sim_run(sim, policy("blind"), SECOND, 2 * SECOND);
    g_assert_cmpfloat_with_epsilon(work_ms(sim), 2 * SIM_SMT_PERCENT * 10.0,
                                   1);
}

/* On one LLC its link is the limit; on two there are two of them. */
static void test_streams(void)
{
    g_autoptr(HostTopology) host = small_host();
    int llcs;

    for (llcs = 1; llcs <= 2; llcs++) {
        g_autoptr(Sim) sim = sim_new(host, 1);
        double full = 1000.0 * SIM_LLC_LINK_MBPS / SIM_STREAM_MBPS, part;
        int i;

        /* one on each thread: 62 % of a core are more than the link has */
        sim_add_vm(sim, 4 * llcs, SIM_STREAM, SPINNING, 0);
        for (i = 0; llcs == 1 && i < 4; i++) {
            sim->tasks[i].mask = host->llcs[0].cpus;
        }
        sim_run(sim, policy("blind"), SECOND, 2 * SECOND);
        part = work_ms(sim) / (full * llcs * SIM_SMT_PERCENT / 100);
        g_assert_cmpfloat_with_epsilon(part, 1, 0.02);
    }
}

/* Of a pair that is apart each message and wake-up costs more. */
static void test_distance(void)
{
    g_autoptr(HostTopology) host = small_host();
    double work[2], wait[2];
    int far;

    for (far = 0; far < 2; far++) {
        g_autoptr(Sim) sim = sim_new(host, 1);

        sim_add_vm(sim, 2, SIM_PAIR, MS / 10, 0);
        sim->tasks[0].mask = host->llcs[0].cpus;
        sim->tasks[1].mask = host->llcs[far].cpus;
        sim_run(sim, policy("blind"), SECOND, 2 * SECOND);
        work[far] = work_ms(sim);
        wait[far] = g_array_index(sim->waits, double, 100);
        g_assert_cmpuint(sim->near_wakes, ==, far ? 0 : sim->wakes);
    }
    g_assert_cmpfloat(work[1], <, work[0]);
    g_assert_cmpfloat_with_epsilon(wait[1] - wait[0], SIM_WAKE_LINES *
                                   (SIM_LINE_NODE_NS - SIM_LINE_LLC_NS) /
                                   1000.0, 0.01);
}

static void crowd(Sim *sim, void *state)
{
    int i;

    for (i = 0; i < sim->n_tasks; i++) {
        sim_set_mask(sim, &sim->tasks[i], &sim->host->llcs[0].cpus);
    }
}

static void let_go(Sim *sim, void *state, int vm)
{
    int i;

    if (sim->now_ns < 2 * SECOND) {
        g_assert_cmpint(sim->llcs[0].tasks, ==, 8);
    }
    for (i = 0; i < sim->n_tasks; i++) {
        sim_set_mask(sim, &sim->tasks[i], &sim->host->online);
    }
}

/* A full LLC, an idle one: who may, goes. */
static void test_evens_out(void)
{
    static const SimPolicy crowds = { .start = crowd, .look = let_go };
    g_autoptr(HostTopology) host = small_host();
    g_autoptr(Sim) sim = sim_new(host, 1);

    sim_add_vm(sim, 8, SIM_SPIN, SPINNING, 0);
    sim_run(sim, &crowds, 3 * SECOND, 4 * SECOND);
    g_assert_cmpint(sim->llcs[0].running, ==, 4);
    g_assert_cmpint(sim->llcs[1].running, ==, 4);
    check_books(sim);
}

/* Both of the kernel's rules bring the threads of a process together. */
static void test_preference(void)
{
    static const char *const names[] = { "blind", "cache-wake", "cache-aware" };
    g_autoptr(HostTopology) host = fake_host_new(1, 1, 2, 16, 2, 0);
    double aligned[G_N_ELEMENTS(names)];
    size_t i;

    for (i = 0; i < G_N_ELEMENTS(names); i++) {
        g_autoptr(Sim) sim = sim_new(host, 3);

        sim_case_by_name("schbench", 8)->add(sim, 8);
        sim_run(sim, policy(names[i]), 3 * SECOND, 5 * SECOND);
        aligned[i] = (double)sim->near_wakes / sim->wakes;
    }
    g_assert_cmpfloat(aligned[0], <, 0.75);
    g_assert_cmpfloat(aligned[1], >, 0.9);
    g_assert_cmpfloat(aligned[2], >, 0.9);
}

/* A guard that never opens is as if there were no object. */
static void test_closed(void)
{
    static const char *const names[] = { "blind", "closed" };
    g_autoptr(HostTopology) host = small_host();
    double work[2];
    int i;

    for (i = 0; i < 2; i++) {
        g_autoptr(Sim) sim = sim_new(host, 1);

        sim_case_by_name("crowded", 7)->add(sim, 60);
        sim_run(sim, policy(names[i]), 5 * SECOND, 10 * SECOND);
        work[i] = work_ms(sim);
        g_assert_cmpuint(sim->moves, ==, 0);
    }
    g_assert_cmpfloat_with_epsilon(work[1] / work[0], 1, 0.005);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/sim/clocks-and-counts-agree", test_books);
    g_test_add_func("/sim/who-shares-a-cpu-shares-alike", test_shares);
    g_test_add_func("/sim/who-sleeps-is-not-starved", test_sleeper);
    g_test_add_func("/sim/a-mask-is-kept", test_mask);
    g_test_add_func("/sim/busy-siblings-slow-each-other", test_siblings);
    g_test_add_func("/sim/streams-share-an-llcs-link", test_streams);
    g_test_add_func("/sim/distance-costs", test_distance);
    g_test_add_func("/sim/idle-cpus-are-used", test_evens_out);
    g_test_add_func("/sim/a-preference-gathers", test_preference);
    g_test_add_func("/sim/a-closed-guard-is-no-object", test_closed);
    return g_test_run();
}
