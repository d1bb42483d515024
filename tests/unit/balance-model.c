/*
 * A host, VMs that balance each for itself, and neighbors: a fluid model
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <string.h>
#include "balance-model.h"

#define FILL_ROUNDS 40

Model *model_new(HostTopology *host, int n_vms, ModelOthers others,
                 void *opaque)
{
    Model *model = g_new0(Model, 1);

    model->host = host;
    model->n_vms = n_vms;
    model->vms = g_new0(ModelVm, n_vms);
    model->others = others;
    model->opaque = opaque;
    model->now_ns = 1000 * MODEL_LOOK_NS;
    model->run_ns = g_new0(double, host->n_llcs);
    model->wait_ns = g_new0(double, host->n_llcs);
    model->received = g_new0(double, host->n_llcs);
    return model;
}

void model_free(Model *model)
{
    int i;

    for (i = 0; i < model->n_vms; i++) {
        ModelVm *vm = &model->vms[i];

        placement_plan_free(vm->plan);
        balance_free(vm->balance);
        load_history_free(vm->history);
        guest_topology_free(vm->guest);
        host_load_sample_free(vm->sample);
        g_free(vm->times);
        g_free(vm->base_run);
        g_free(vm->base_wait);
    }
    g_free(model->vms);
    g_free(model->run_ns);
    g_free(model->wait_ns);
    g_free(model->received);
    host_topology_unref(model->host);
    g_free(model);
}

/* A first plan on @start alone: whatever else is there is closed. */
static void start_on(Model *model, ModelVm *vm, int start)
{
    g_autofree bool *closed = g_new0(bool, model->host->n_llcs);
    PlacementInput in = vm->in;
    int l;

    for (l = 0; l < model->host->n_llcs; l++) {
        closed[l] = l != start;
    }
    in.closed = closed;
    placement_plan_free(vm->plan);
    vm->plan = placement_plan(&in);
    balance_configure(vm->balance, &vm->in);
    balance_took(vm->balance, vm->plan, model->now_ns - 100 * MODEL_LOOK_NS);
}

void model_set_vm(Model *model, int i, const char *smp, double demand,
                  int start, uint32_t seed)
{
    ModelVm *vm = &model->vms[i];
    int n, v;

    vm->guest = guest_topology_from_smp(smp, GUEST_CACHE_SOCKET, NULL);
    g_assert_nonnull(vm->guest);
    n = vm->guest->n_vcpus;
    vm->demand = demand;
    vm->phase = i * 7 % MODEL_STEPS_PER_LOOK;
    vm->times = g_new0(ThreadTimes, n);
    vm->base_run = g_new0(uint64_t, n);
    vm->base_wait = g_new0(uint64_t, n);
    for (v = 0; v < n; v++) {
        vm->times[v].waits_known = true;
    }
    vm->in = (PlacementInput) {
        .host = model->host, .guest = vm->guest,
        .candidates = &model->host->online, .seed = seed,
        .guard_util = PLACEMENT_GUARD_UTIL_DEFAULT,
        .guard_tasks = PLACEMENT_GUARD_TASKS_DEFAULT,
    };
    vm->balance = balance_new(seed, MODEL_LOOK_NS);
    vm->history = load_history_new(n, model->host->n_llcs, MODEL_LOOK_NS);
    start_on(model, vm, start);
}

void model_set_guard(Model *model, int i, unsigned util, unsigned tasks)
{
    ModelVm *vm = &model->vms[i];

    vm->in.guard_util = util;
    vm->in.guard_tasks = tasks;
    balance_configure(vm->balance, &vm->in);
    balance_took(vm->balance, vm->plan, model->now_ns - 100 * MODEL_LOOK_NS);
}

/* ---- one step of the kernel ---- */

static double cpus_of(const Model *model, int llc)
{
    return host_cpuset_count(&model->host->llcs[llc].cpus);
}

/* What is poured is done so up to one level of tasks per CPU. */
static void pour_to_level(const Model *model, const bool *used, double amount,
                          const double *cpus, const double *tasks,
                          double *ret_share)
{
    double low = 0, high = amount + 1;
    int i, l;

    for (l = 0; l < model->host->n_llcs; l++) {
        high = MAX(high, (tasks[l] + amount) / cpus[l] + 1);
    }
    for (i = 0; i < FILL_ROUNDS; i++) {
        double level = (low + high) / 2, sum = 0;

        for (l = 0; l < model->host->n_llcs; l++) {
            ret_share[l] = used[l] ? MAX(level * cpus[l] - tasks[l], 0) : 0;
            sum += ret_share[l];
        }
        if (sum < amount) {
            low = level;
        } else {
            high = level;
        }
    }
}

/* Put @amount of work that has the mask of @vplan on LLCs. */
static void pour(const Model *model, const VcpuPlan *vplan, double amount,
                 const double *cpus, double *tasks, double *ret_share)
{
    int n_llcs = model->host->n_llcs, l;
    g_autofree bool *used = g_new0(bool, n_llcs);

    if (vplan->n_llcs == 1) {
        tasks[vplan->host_llc] += amount;
        ret_share[vplan->host_llc] = 1;
        return;
    }
    for (l = 0; l < n_llcs; l++) {
        used[l] = host_cpuset_intersects(&vplan->mask,
                                         &model->host->llcs[l].cpus);
    }
    pour_to_level(model, used, amount, cpus, tasks, ret_share);
    for (l = 0; l < n_llcs; l++) {
        tasks[l] += ret_share[l];
        ret_share[l] /= amount;
    }
}

static void add_neighbors(const Model *model, double *tasks)
{
    int l;

    for (l = 0; model->others && l < model->host->n_llcs; l++) {
        tasks[l] += model->others(model->opaque, l, model->now_ns);
    }
}

/* All vCPUs of a guest LLC group have the same mask. */
static int group_size(const ModelVm *vm, int group, int *ret_first)
{
    int v, n = 0;

    for (v = vm->guest->n_vcpus - 1; v >= 0; v--) {
        if (vm->guest->vcpus[v].llc == group) {
            *ret_first = v;
            n++;
        }
    }
    return n;
}

/* @shares: per vCPU and LLC; of a group, its first vCPU's row is used. */
static void place_vm(const Model *model, const ModelVm *vm, bool wide,
                     const double *cpus, double *tasks, double *shares)
{
    int g, first = 0;

    for (g = 0; g < vm->guest->n_llcs; g++) {
        double amount = vm->demand * group_size(vm, g, &first);

        if ((vm->plan->vcpus[first].n_llcs > 1) == wide && amount > 0) {
            pour(model, &vm->plan->vcpus[first], amount, cpus, tasks,
                 &shares[first * model->host->n_llcs]);
        }
    }
}

static void run_vm(const Model *model, ModelVm *vm, const double *shares,
                   const double *rate)
{
    int v, l, first = 0;

    for (v = 0; v < vm->guest->n_vcpus; v++) {
        double mean = 0, run;

        group_size(vm, vm->guest->vcpus[v].llc, &first);
        for (l = 0; l < model->host->n_llcs; l++) {
            mean += shares[first * model->host->n_llcs + l] * rate[l];
        }
        run = vm->demand * mean * MODEL_STEP_NS;
        vm->times[v].run_ns += run;
        vm->times[v].wait_ns += vm->demand * MODEL_STEP_NS - run;
        vm->run_ns += run;
    }
}

/* Who has one LLC goes first, the others where that leaves room. */
static double **place_vms(const Model *model, const double *cpus,
                          double *tasks)
{
    double **shares = g_new0(double *, model->n_vms + 1);
    int wide, i;

    for (i = 0; i < model->n_vms; i++) {
        shares[i] = g_new0(double, model->vms[i].guest->n_vcpus *
                           model->host->n_llcs);
    }
    for (wide = 0; wide < 2; wide++) {
        for (i = 0; i < model->n_vms; i++) {
            place_vm(model, &model->vms[i], wide, cpus, tasks, shares[i]);
        }
    }
    return shares;
}

static void step(Model *model)
{
    int n_llcs = model->host->n_llcs, l, i;
    g_autofree double *cpus = g_new0(double, n_llcs);
    g_autofree double *tasks = g_new0(double, n_llcs);
    g_autofree double *rate = g_new0(double, n_llcs);
    double **shares;

    for (l = 0; l < n_llcs; l++) {
        cpus[l] = cpus_of(model, l);
    }
    add_neighbors(model, tasks);
    shares = place_vms(model, cpus, tasks);
    for (l = 0; l < n_llcs; l++) {
        double run = MIN(tasks[l], cpus[l]);

        rate[l] = tasks[l] > cpus[l] ? cpus[l] / tasks[l] : 1;
        model->run_ns[l] += run * MODEL_STEP_NS;
        model->wait_ns[l] += (tasks[l] - run) * MODEL_STEP_NS;
    }
    for (i = 0; i < model->n_vms; i++) {
        run_vm(model, &model->vms[i], shares[i], rate);
        g_free(shares[i]);
    }
    g_free(shares);
    model->now_ns += MODEL_STEP_NS;
}

/* ---- one look of a VM ---- */

static HostLoadSample *take_sample(const Model *model)
{
    HostLoadSample *sample = g_new0(HostLoadSample, 1);
    int l;

    sample->source = HOST_LOAD_SCHEDSTAT;
    sample->run_from_stat = true;
    sample->when_ns = model->now_ns;
    sample->n_cpus = model->host->n_cpus;
    sample->cpus = g_new0(HostCpuTimes, sample->n_cpus);
    for (l = 0; l < model->host->n_llcs; l++) {
        HOST_CPUSET_FOREACH(cpu, &model->host->llcs[l].cpus) {
            /* 1: a row that is all zero counts as missing */
            sample->cpus[cpu].run_ns = 1 + model->run_ns[l] /
                                       cpus_of(model, l);
            sample->cpus[cpu].wait_ns = 1 + model->wait_ns[l] /
                                        cpus_of(model, l);
        }
    }
    return sample;
}

/* As QEMU's side does it: by the masks' CPUs, wherever the threads were. */
static void spread_own(const Model *model, ModelVm *vm, uint64_t *run,
                       uint64_t *wait)
{
    int v, l;

    for (v = 0; v < vm->guest->n_vcpus; v++) {
        const HostCpuSet *mask = &vm->plan->vcpus[v].mask;
        double cpus = host_cpuset_count(mask);
        uint64_t ran = vm->times[v].run_ns - vm->base_run[v];
        uint64_t waited = vm->times[v].wait_ns - vm->base_wait[v];

        for (l = 0; l < model->host->n_llcs; l++) {
            double part = host_cpuset_count_and(mask,
                                    &model->host->llcs[l].cpus) / cpus;

            run[l] += ran * part;
            wait[l] += waited * part;
        }
        vm->base_run[v] = vm->times[v].run_ns;
        vm->base_wait[v] = vm->times[v].wait_ns;
    }
}

static void measure(const Model *model, ModelVm *vm)
{
    HostLoadSample *sample = take_sample(model);
    g_autofree uint64_t *run = g_new0(uint64_t, model->host->n_llcs);
    g_autofree uint64_t *wait = g_new0(uint64_t, model->host->n_llcs);
    int v;

    spread_own(model, vm, run, wait);
    if (vm->sample) {
        g_autoptr(HostLoad) load = host_load_between(model->host, vm->sample,
                                                     sample, run, wait);

        load_history_llcs(vm->history, model->now_ns, load);
    }
    for (v = 0; v < vm->guest->n_vcpus; v++) {
        load_history_vcpu(vm->history, v, model->now_ns, 100 + v,
                          &vm->times[v]);
    }
    host_load_sample_free(vm->sample);
    vm->sample = sample;
}

static void count_moved(Model *model, const ModelVm *vm, const Plan *to)
{
    int v, l;

    for (v = 0; v < vm->guest->n_vcpus; v++) {
        const HostCpuSet *mask = &to->vcpus[v].mask;
        double cpus = host_cpuset_count(mask);

        if (host_cpuset_equal(&vm->plan->vcpus[v].mask, mask)) {
            continue;
        }
        model->moving++;
        for (l = 0; l < model->host->n_llcs; l++) {
            model->received[l] += host_cpuset_count_and(mask,
                                      &model->host->llcs[l].cpus) / cpus;
        }
    }
}

static void look(Model *model, ModelVm *vm)
{
    g_autofree unsigned *demand = g_new0(unsigned, vm->guest->n_vcpus);
    PlacementInput in = vm->in;
    g_autoptr(Plan) plan = NULL;

    measure(model, vm);
    if (balance_look(vm->balance, vm->history, model->now_ns) !=
        BALANCE_PLAN) {
        return;
    }
    load_history_demand(vm->history, demand);
    in.load = balance_load(vm->balance);
    in.closed = balance_closed(vm->balance);
    in.previous = vm->plan;
    in.demand = demand;
    plan = placement_plan(&in);
    if (balance_judge(vm->balance, plan, model->now_ns) == BALANCE_MOVE) {
        count_moved(model, vm, plan);
        placement_plan_free(vm->plan);
        vm->plan = g_steal_pointer(&plan);
        vm->moves++;
        vm->last_move_ns = model->now_ns;
    }
}

void model_round(Model *model)
{
    int s, i;

    memset(model->received, 0, model->host->n_llcs * sizeof(double));
    model->moving = 0;
    for (s = 0; s < MODEL_STEPS_PER_LOOK; s++) {
        step(model);
        for (i = 0; i < model->n_vms; i++) {
            if (!model->vms[i].blind && model->vms[i].phase == s) {
                look(model, &model->vms[i]);
            }
        }
    }
}
