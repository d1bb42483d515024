/*
 * Policies side by side in the simulator, on identical inputs
 *
 * Prints CSV: case, policy, seed, p50_us, p99_us, throughput, migrations,
 * aligned.  docs/devel/simulator.rst explains the columns and the cases.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "hw/sched/host-description.h"
#include "sim.h"

#define MS 1000000ll
/* Long enough for plans to settle; what that costs is not measured. */
#define WARM_S 20
#define SPINNING (1000000000 * MS)

/* Adds VMs to an empty simulation, in proportion to the host. */
typedef struct SimCase {
    const char *name;
    void (*add)(Sim *sim);
} SimCase;

static int llc_cores(const Sim *sim)
{
    return sim->host->llcs[0].n_cores;
}

/* VMs as large as an LLC has cores, in number so that they fill @percent. */
static void add_vms(Sim *sim, SimLoad load, int64_t run_ns, int64_t sleep_ns,
                    int percent)
{
    int size = MAX(llc_cores(sim) & ~1, 2);
    int n = MAX(sim->host->n_cores * percent / 100 / size, 1), i;

    for (i = 0; i < n; i++) {
        sim_add_vm(sim, size, load, run_ns, sleep_ns);
    }
}

static void add_one_pair_vm(Sim *sim)
{
    sim_add_vm(sim, MAX(llc_cores(sim) & ~1, 2), SIM_PAIR, MS / 20, 0);
}

static void add_pairs_half(Sim *sim)
{
    add_vms(sim, SIM_PAIR, MS / 20, 0, 50);
}

static void add_pairs_full(Sim *sim)
{
    add_vms(sim, SIM_PAIR, MS / 20, 0, 100);
}

static void add_pairs_3x(Sim *sim)
{
    add_vms(sim, SIM_PAIR, MS / 20, 0, 300);
}

static void add_bursts_half(Sim *sim)
{
    add_vms(sim, SIM_BURST, MS, MS, 100);
}

static void add_bursts_3x(Sim *sim)
{
    add_vms(sim, SIM_BURST, MS, MS, 600);
}

static void add_spin_half(Sim *sim)
{
    add_vms(sim, SIM_SPIN, SPINNING, 0, 50);
}

static void add_spin_3x(Sim *sim)
{
    add_vms(sim, SIM_SPIN, SPINNING, 0, 300);
}

static void add_phased(Sim *sim)
{
    add_vms(sim, SIM_PHASED, MS, 0, 100);
}

static void add_mixed(Sim *sim)
{
    add_vms(sim, SIM_PAIR, MS / 20, 0, 30);
    add_vms(sim, SIM_BURST, MS, 2 * MS, 60);
    add_vms(sim, SIM_SPIN, SPINNING, 0, 20);
}

/* Neighbors on each LLC, so many per cent of its CPUs. */
static void add_neighbors(Sim *sim, int percent, int n_llcs)
{
    int l, i;

    for (l = 0; l < MIN(n_llcs, sim->host->n_llcs); l++) {
        int n = MAX(sim->llc_cpus[l] * percent / 100, 1);
        SimVm *vm = sim_add_vm(sim, n, SIM_SPIN, SPINNING, 0);

        vm->neighbor = true;
        for (i = vm->first; i < vm->first + n; i++) {
            sim->tasks[i].mask = sim->host->llcs[l].cpus;
        }
    }
}

/* A VM of few vCPUs, and half of all LLCs filled by somebody else. */
static void add_reviewer(Sim *sim)
{
    sim_add_vm(sim, 2, SIM_PAIR, MS / 20, 0);
    add_neighbors(sim, 100, sim->host->n_llcs / 2);
}

static void add_all_crowded(Sim *sim)
{
    add_one_pair_vm(sim);
    add_neighbors(sim, 60, sim->host->n_llcs);
}

static const SimCase cases[] = {
    { "one-vm-pairs", add_one_pair_vm },
    { "pairs-50%", add_pairs_half },
    { "pairs-100%", add_pairs_full },
    { "pairs-300%", add_pairs_3x },
    { "bursts-50%", add_bursts_half },
    { "bursts-300%", add_bursts_3x },
    { "spin-50%", add_spin_half },
    { "spin-300%", add_spin_3x },
    { "phased", add_phased },
    { "mixed", add_mixed },
    { "neighbor-fills-half", add_reviewer },
    { "neighbors-everywhere", add_all_crowded },
};

static gint compare_double(gconstpointer a, gconstpointer b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

static double percentile(GArray *sorted, double part)
{
    if (!sorted->len) {
        return 0;
    }
    return g_array_index(sorted, double, (guint)((sorted->len - 1) * part));
}

/* Bursts, or ms of spinning at full speed, per second. */
static double throughput(const Sim *sim, double seconds)
{
    double done = 0;
    int v;

    for (v = 0; v < sim->n_vms; v++) {
        const SimVm *vm = &sim->vms[v];

        if (!vm->neighbor) {
            done += vm->load == SIM_SPIN ? vm->done / MS : vm->done;
        }
    }
    return done / seconds;
}

static void run_one(HostTopology *host, const SimCase *c,
                    const SimPolicy *policy, int seed, int seconds)
{
    g_autoptr(Sim) sim = sim_new(host, seed);
    int64_t warm = WARM_S * 1000 * MS, end = warm + seconds * 1000 * MS;

    c->add(sim);
    sim_run(sim, policy, warm, end);
    g_array_sort(sim->waits, compare_double);
    printf("%s,%s,%d,%.1f,%.1f,%.0f,%" PRIu64 ",%.3f\n", c->name,
           policy->name, seed, percentile(sim->waits, 0.5),
           percentile(sim->waits, 0.99), throughput(sim, seconds),
           sim->migrations,
           sim->wakes ? (double)sim->near_wakes / sim->wakes : 1);
    fflush(stdout);
}

static int run_cases(HostTopology *host, const char *only, int seeds,
                     int seconds)
{
    gsize c;
    int p, seed;

    printf("case,policy,seed,p50_us,p99_us,throughput,migrations,aligned\n");
    for (c = 0; c < G_N_ELEMENTS(cases); c++) {
        if (only && strcmp(only, cases[c].name)) {
            continue;
        }
        for (seed = 1; seed <= seeds; seed++) {
            for (p = 0; p < sim_n_policies; p++) {
                run_one(host, &cases[c], sim_policies[p], seed, seconds);
            }
        }
    }
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    g_autoptr(GError) err = NULL;
    g_autoptr(HostTopology) host = NULL;

    if (argc < 2 || argc > 5) {
        fprintf(stderr, "Usage: %s HOST [SEEDS [SECONDS [CASE]]]\n", argv[0]);
        return EXIT_FAILURE;
    }
    host = host_description_load_host(argv[1], &err);
    if (!host) {
        fprintf(stderr, "%s: %s\n", argv[0], err->message);
        return EXIT_FAILURE;
    }
    return run_cases(host, argc > 4 ? argv[4] : NULL,
                     argc > 2 ? MAX(atoi(argv[2]), 1) : 1,
                     argc > 3 ? MAX(atoi(argv[3]), 1) : 10);
}
