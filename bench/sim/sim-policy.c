/*
 * The policies that ours is compared with: masks by others' rules, the kernel's
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <string.h>
#include "sim.h"

static void set_vm_mask(Sim *sim, const SimVm *vm, const HostCpuSet *mask)
{
    int i;

    for (i = vm->first; i < vm->first + vm->n; i++) {
        sim_set_mask(sim, &sim->tasks[i], mask);
    }
}

/* ---- libvirt: vCPU i of all VMs together on the next CPU, for ever ---- */

static void pins_start(Sim *sim, void *state)
{
    int cpu = -1, v, i;

    for (v = 0; v < sim->n_vms; v++) {
        SimVm *vm = &sim->vms[v];

        for (i = vm->first; !vm->neighbor && i < vm->first + vm->n; i++) {
            HostCpuSet mask = { { 0 } };

            cpu = host_cpuset_next(&sim->host->online, cpu + 1);
            cpu = cpu < 0 ? host_cpuset_next(&sim->host->online, 0) : cpu;
            host_cpuset_add(&mask, cpu);
            sim_set_mask(sim, &sim->tasks[i], &mask);
        }
    }
}

/*
 * ---- Kubernetes' prefer-align-cpus-by-uncorecache: as many exclusive CPUs as
 * the VM has vCPUs, of the first LLC that has them, else of several ----
 */

static int take_cpus(const HostCpuSet *from, HostCpuSet *used, int n,
                     HostCpuSet *mask)
{
    HOST_CPUSET_FOREACH(cpu, from) {
        if (n > 0 && !host_cpuset_has(used, cpu)) {
            host_cpuset_add(mask, cpu);
            host_cpuset_add(used, cpu);
            n--;
        }
    }
    return n;
}

static int n_free(const HostCpuSet *of, const HostCpuSet *used)
{
    return host_cpuset_count(of) - host_cpuset_count_and(of, used);
}

static void first_fit_start(Sim *sim, void *state)
{
    HostCpuSet used = { { 0 } };
    int v, l;

    for (v = 0; v < sim->n_vms; v++) {
        SimVm *vm = &sim->vms[v];
        HostCpuSet mask = { { 0 } };

        if (vm->neighbor || n_free(&sim->host->online, &used) < vm->n) {
            continue; /* stays in the shared pool: everywhere */
        }
        for (l = 0; l < sim->host->n_llcs; l++) {
            if (n_free(&sim->host->llcs[l].cpus, &used) >= vm->n) {
                take_cpus(&sim->host->llcs[l].cpus, &used, vm->n, &mask);
                break;
            }
        }
        if (l == sim->host->n_llcs) {
            take_cpus(&sim->host->online, &used, vm->n, &mask);
        }
        set_vm_mask(sim, vm, &mask);
    }
}

/*
 * ---- proxmox-cpu-affinity: the next start CPU round robin, and the nearest
 * CPUs to it ----
 */

static int distance_class(const Sim *sim, int a, int b)
{
    const HostCpu *ca = &sim->host->cpus[a], *cb = &sim->host->cpus[b];

    return ca->core == cb->core ? 0 : ca->llc == cb->llc ? 1 :
           ca->node == cb->node ? 2 : ca->package == cb->package ? 3 : 4;
}

static void nearest_start(Sim *sim, void *state)
{
    int start = -1, v, near;

    for (v = 0; v < sim->n_vms; v++) {
        HostCpuSet mask = { { 0 } };
        int left = sim->vms[v].n;

        if (sim->vms[v].neighbor) {
            continue;
        }
        start = host_cpuset_next(&sim->host->online, start + 1);
        start = start < 0 ? host_cpuset_next(&sim->host->online, 0) : start;
        for (near = 0; near <= 4; near++) {
            HOST_CPUSET_FOREACH(cpu, &sim->host->online) {
                if (left > 0 && distance_class(sim, start, cpu) == near) {
                    host_cpuset_add(&mask, cpu);
                    left--;
                }
            }
        }
        set_vm_mask(sim, &sim->vms[v], &mask);
    }
}

static const SimPolicy blind = {
    .name = "blind", .summary = "Linux 6.15, no masks",
};
static const SimPolicy cache_aware = {
    .name = "cache-aware", .summary = "Linux 7.2's load balancing by LLCs",
    .prefers = SIM_PREFER_BALANCE,
};
static const SimPolicy cache_wake = {
    .name = "cache-wake", .summary = "the wake-ups by LLCs of April 2025",
    .prefers = SIM_PREFER_WAKE,
};
static const SimPolicy pins = {
    .name = "pins", .summary = "vCPU by vCPU on one CPU each, as by vcpupin",
    .start = pins_start,
};
static const SimPolicy first_fit = {
    .name = "first-fit", .summary = "CPUs of the first LLC that has them, as "
    "Kubernetes", .start = first_fit_start,
};
static const SimPolicy nearest = {
    .name = "nearest", .summary = "the next CPU in turn and its nearest, as "
    "proxmox-cpu-affinity", .start = nearest_start,
};

const SimPolicy *const sim_policies[] = {
    &blind, &cache_aware, &cache_wake, &pins, &first_fit, &nearest,
    &sim_policy_ours, &sim_policy_closed,
};
const int sim_n_policies = G_N_ELEMENTS(sim_policies);

const SimPolicy *sim_policy_by_name(const char *name)
{
    int i;

    for (i = 0; i < sim_n_policies; i++) {
        if (!strcmp(sim_policies[i]->name, name)) {
            return sim_policies[i];
        }
    }
    return NULL;
}
