/*
 * The simulator's cases: which VMs do what beside whom
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <string.h>
#include "sim-case.h"

#define MS 1000000ll
#define US 1000ll
#define SPINNING (1000000000 * MS)

/*
 * schbench: a worker sleeps for 100 us and then multiplies matrices.  How long
 * is taken from the mail's own row with one worker: 266 requests a second.
 */
#define REQUEST_NS (3640 * US)
#define THINK_NS (100 * US)

/* The old schbench: 30 ms of work, and as long a pause of the messenger. */
#define OLD_MESSENGERS 4
#define OLD_WORK_NS (30 * MS)

/* As many vCPUs as an LLC has cores, and an even number of them. */
static int usual_size(const Sim *sim)
{
    return MAX(sim->host->llcs[0].n_cores & ~1, 2);
}

/* In number so that their vCPUs are @percent of the host's cores. */
static void add_vms(Sim *sim, int size, SimLoad load, int64_t run_ns,
                    int64_t sleep_ns, int percent)
{
    int n = MAX(sim->host->n_cores * percent / 100 / size, 1), i;

    for (i = 0; i < n; i++) {
        sim_add_vm(sim, size, load, run_ns, sleep_ns);
    }
}

static void add_schbench(Sim *sim, int workers)
{
    sim_add_vm(sim, workers + 1, SIM_SERVER, REQUEST_NS, THINK_NS);
}

static void add_old_schbench(Sim *sim, int workers)
{
    int first = sim->n_vms, i;

    for (i = 0; i < OLD_MESSENGERS; i++) {
        SimVm *vm = sim_add_vm(sim, workers + 1, SIM_SERVER, OLD_WORK_NS, 0);

        vm->pause_ns = OLD_WORK_NS;
        vm->process = first;
    }
}

static void add_one(Sim *sim, int vcpus)
{
    sim_add_vm(sim, vcpus & ~1, SIM_PAIR, 100 * US, 0);
}

static void add_pairs(Sim *sim, int percent)
{
    add_vms(sim, usual_size(sim), SIM_PAIR, 100 * US, 0, percent);
}

static void add_bursts(Sim *sim, int percent)
{
    add_vms(sim, usual_size(sim), SIM_BURST, MS, MS, 2 * percent);
}

static void add_spin(Sim *sim, int percent)
{
    add_vms(sim, usual_size(sim), SIM_SPIN, SPINNING, 0, percent);
}

static void add_phased(Sim *sim, int percent)
{
    add_vms(sim, usual_size(sim), SIM_PHASED, MS, 0, percent);
}

static void add_streams(Sim *sim, int percent)
{
    add_vms(sim, usual_size(sim), SIM_STREAM, SPINNING, 0, percent);
}

/* Small VMs of each kind, as an operator packs them. */
static void add_mixed(Sim *sim, int percent)
{
    int size = MAX(usual_size(sim) / 2 & ~1, 2);

    add_vms(sim, size, SIM_PAIR, 100 * US, 0, percent / 3);
    add_vms(sim, size, SIM_BURST, MS, 2 * MS, percent);
    add_vms(sim, size, SIM_SPIN, SPINNING, 0, percent / 3);
}

/* VMs that no LLC can hold: half as large again. */
static void add_wide(Sim *sim, int percent)
{
    add_vms(sim, usual_size(sim) * 3 / 2 & ~1, SIM_PAIR, 100 * US, 0, percent);
}

/* Others on the LLC: so many per cent of its CPUs spin, on and off. */
static void add_neighbor(Sim *sim, int llc, int percent, int64_t pulse_ns)
{
    int n = MAX(sim->llcs[llc].n * percent / 100, 1), i;
    SimVm *vm = sim_add_vm(sim, n, SIM_BURST, 10 * MS, 0);

    vm->neighbor = true;
    vm->pulse_ns = pulse_ns;
    for (i = vm->first; i < vm->first + n; i++) {
        sim->tasks[i].mask = sim->host->llcs[llc].cpus;
    }
}

/* The LLCs with even numbers are filled, and the VM has two vCPUs. */
static void add_filled(Sim *sim, int percent)
{
    int l;

    sim_add_vm(sim, 2, SIM_PAIR, 100 * US, 0);
    for (l = 0; l < sim->host->n_llcs; l += 2) {
        add_neighbor(sim, l, percent, 0);
    }
}

static void add_crowded(Sim *sim, int percent)
{
    int l;

    sim_add_vm(sim, usual_size(sim), SIM_PAIR, 100 * US, 0);
    for (l = 0; l < sim->host->n_llcs; l++) {
        add_neighbor(sim, l, percent, 0);
    }
}

/* Where the guard is put to the test: half of the LLCs, VMs of bursts. */
static void add_guard(Sim *sim, int percent)
{
    int l;

    add_vms(sim, usual_size(sim), SIM_BURST, MS, MS, 50);
    for (l = 0; l < sim->host->n_llcs; l += 2) {
        add_neighbor(sim, l, percent, 0);
    }
}

static void add_pulse(Sim *sim, int seconds)
{
    sim_add_vm(sim, usual_size(sim), SIM_PAIR, 100 * US, 0);
    add_neighbor(sim, 0, 80, seconds * 1000 * MS);
}

void sim_add_recorded(Sim *sim, const SimTrace *trace, int percent)
{
    int first = sim->n_vms, v;

    add_vms(sim, trace->n_vcpus, SIM_RECORDED, 0, 0, percent);
    for (v = first; v < sim->n_vms; v++) {
        sim->vms[v].trace = trace;
    }
}

const SimCase sim_cases[] = {
    { "schbench", "a messenger that wakes N workers", "workers",
      1, 4095, 16, add_schbench },
    { "old-schbench", "four messengers of one process, N workers each",
      "workers", 1, 1000, 2, add_old_schbench },
    { "one", "one VM of pairs", "vCPUs", 2, 4096, 2, add_one },
    { "pairs", "VMs of request and response, vCPUs in pairs",
      "percent", 1, 1000, 50, add_pairs },
    { "bursts", "VMs that run for 1 ms and sleep for 1 ms",
      "percent", 1, 1000, 50, add_bursts },
    { "spin", "VMs that run", "percent", 1, 1000, 50, add_spin },
    { "phased", "VMs that run for 5 s and idle for 5 s",
      "percent", 1, 1000, 100, add_phased },
    { "streams", "VMs that stream through memory",
      "percent", 1, 1000, 50, add_streams },
    { "mixed", "small VMs of pairs, bursts and spinning",
      "percent", 1, 1000, 50, add_mixed },
    { "wide", "VMs of pairs, half as large again as an LLC",
      "percent", 1, 1000, 50, add_wide },
    { "filled", "a VM of two vCPUs, others on every second LLC",
      "percent", 1, 1000, 100, add_filled },
    { "crowded", "a VM of pairs, others on every LLC",
      "percent", 1, 1000, 60, add_crowded },
    { "guard", "VMs of bursts, others on every second LLC",
      "percent", 1, 1000, 40, add_guard },
    { "pulse", "a VM of pairs, others on one LLC every other N s",
      "seconds", 1, 600, 5, add_pulse },
};
const int sim_n_cases = G_N_ELEMENTS(sim_cases);

const SimCase *sim_case_by_name(const char *name, gsize len)
{
    int i;

    for (i = 0; i < sim_n_cases; i++) {
        if (strlen(sim_cases[i].name) == len &&
            !strncmp(sim_cases[i].name, name, len)) {
            return &sim_cases[i];
        }
    }
    return NULL;
}
