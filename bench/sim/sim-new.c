/*
 * A simulation before it runs: a host's CPUs in groups, and its VMs
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "hw/sched/placement.h"
#include "sim.h"

#define SECOND_NS 1000000000ll

static void group_add(SimGroup *group, int cpu)
{
    group->cpu = g_renew(int, group->cpu, group->n + 1);
    group->cpu[group->n++] = cpu;
}

static int package_index(GArray *ids, int id)
{
    guint i;

    for (i = 0; i < ids->len; i++) {
        if (g_array_index(ids, int, i) == id) {
            return i;
        }
    }
    g_array_append_val(ids, id);
    return ids->len - 1;
}

static void group_cpus(Sim *sim)
{
    g_autoptr(GArray) ids = g_array_new(FALSE, FALSE, sizeof(int));
    int l;

    sim->cores = g_new0(SimGroup, sim->host->n_cores);
    sim->llcs = g_new0(SimGroup, sim->host->n_llcs);
    sim->packages = g_new0(SimGroup, sim->host->n_llcs);
    sim->package_of = g_new0(int, sim->host->n_cpus);
    sim->place = g_new0(int, sim->host->n_cpus);
    HOST_CPUSET_FOREACH(cpu, &sim->host->online) {
        const HostCpu *c = &sim->host->cpus[cpu];
        int package = package_index(ids, sim->host->llcs[c->llc].package);

        sim->package_of[cpu] = package;
        sim->place[cpu] = sim->llcs[c->llc].n;
        group_add(&sim->cores[c->core], cpu);
        group_add(&sim->llcs[c->llc], cpu);
        group_add(&sim->packages[package], cpu);
    }
    sim->n_packages = ids->len;
    for (l = 0; l < sim->host->n_llcs; l++) {
        sim->llcs[l].idle_cores = sim->host->llcs[l].n_cores;
        sim->packages[sim->package_of[sim->llcs[l].cpu[0]]].n_llcs++;
    }
}

Sim *sim_new(HostTopology *host, guint32 seed)
{
    Sim *sim = g_new0(Sim, 1);
    int i;

    sim->host = host_topology_ref(host);
    sim->rand = g_rand_new_with_seed(seed);
    sim->cpus = g_new0(SimCpu, host->n_cpus);
    sim->waits = g_array_new(FALSE, FALSE, sizeof(double));
    sim->guard_util = PLACEMENT_GUARD_UTIL_DEFAULT;
    sim->guard_tasks = PLACEMENT_GUARD_TASKS_DEFAULT;
    for (i = 0; i < host->n_cpus; i++) {
        sim->cpus[i].running = -1;
        g_queue_init(&sim->cpus[i].queue);
    }
    group_cpus(sim);
    return sim;
}

static void groups_free(SimGroup *groups, int n)
{
    int i;

    for (i = 0; i < n; i++) {
        g_free(groups[i].cpu);
    }
    g_free(groups);
}

void sim_free(Sim *sim)
{
    int i;

    if (!sim) {
        return;
    }
    for (i = 0; i < sim->host->n_cpus; i++) {
        g_queue_clear(&sim->cpus[i].queue);
    }
    for (i = 0; i < sim->n_vms; i++) {
        g_free(sim->vms[i].occupancy);
        g_queue_clear(&sim->vms[i].posted);
    }
    groups_free(sim->cores, sim->host->n_cores);
    groups_free(sim->packages, sim->n_packages);
    groups_free(sim->llcs, sim->host->n_llcs);
    g_array_free(sim->waits, TRUE);
    g_free(sim->package_of);
    g_free(sim->place);
    g_free(sim->cpus);
    g_free(sim->tasks);
    g_free(sim->vms);
    g_free(sim->heap);
    g_rand_free(sim->rand);
    host_topology_unref(sim->host);
    g_free(sim);
}

SimVm *sim_add_vm(Sim *sim, int n_vcpus, SimLoad load, int64_t run_ns,
                  int64_t sleep_ns)
{
    SimVm *vm;
    int i;

    sim->vms = g_renew(SimVm, sim->vms, sim->n_vms + 1);
    sim->tasks = g_renew(SimTask, sim->tasks, sim->n_tasks + n_vcpus);
    vm = &sim->vms[sim->n_vms];
    *vm = (SimVm) {
        .first = sim->n_tasks, .n = n_vcpus, .load = load, .run_ns = run_ns,
        .sleep_ns = sleep_ns, .preferred = -1, .hot_cpu = -1,
        .process = sim->n_vms,
        .occupancy = g_new0(double, sim->host->n_llcs),
    };
    sim->n_vms++;
    sim->has_streams |= load == SIM_STREAM;
    for (i = 0; i < n_vcpus; i++) {
        sim->tasks[sim->n_tasks] = (SimTask) {
            .id = sim->n_tasks, .vcpu = i, .cpu = -1,
            .mask = sim->host->online, .ran_ns = -SECOND_NS,
            .partner = load == SIM_PAIR && (i ^ 1) < n_vcpus
                       ? vm->first + (i ^ 1) : -1,
        };
        sim->n_tasks++;
    }
    return vm;
}
