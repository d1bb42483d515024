/*
 * A host's CPUs, a kernel's scheduler and VMs, by discrete events
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <math.h>
#include <string.h>
#include "costs.h"
#include "sim-kernel.h"

#define SECOND_NS 1000000000ll
#define PHASE_NS (5 * SECOND_NS)
#define PHASE_BUSY_PERCENT 5

/* Progress below a nanosecond is rounding. */
#define LEFT_MIN_NS 1.0

enum { EVENT_CPU, EVENT_WAKE, EVENT_BALANCE, EVENT_LOOK };

Sim *sim_new(HostTopology *host, guint32 seed)
{
    Sim *sim = g_new0(Sim, 1);
    int i;

    sim->host = host_topology_ref(host);
    sim->rand = g_rand_new_with_seed(seed);
    sim->cpus = g_new0(SimCpu, host->n_cpus);
    sim->llc_tasks = g_new0(int, host->n_llcs);
    sim->llc_cpus = g_new0(int, host->n_llcs);
    sim->waits = g_array_new(FALSE, FALSE, sizeof(double));
    for (i = 0; i < host->n_cpus; i++) {
        sim->cpus[i].running = -1;
        g_queue_init(&sim->cpus[i].queue);
        if (host->cpus[i].online) {
            sim->llc_cpus[host->cpus[i].llc]++;
        }
    }
    return sim;
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
    g_array_free(sim->waits, TRUE);
    g_free(sim->cpus);
    g_free(sim->llc_tasks);
    g_free(sim->llc_cpus);
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
    vm = &sim->vms[sim->n_vms++];
    *vm = (SimVm) {
        .first = sim->n_tasks, .n = n_vcpus, .load = load, .run_ns = run_ns,
        .sleep_ns = sleep_ns, .preferred = -1,
    };
    for (i = 0; i < n_vcpus; i++) {
        sim->tasks[sim->n_tasks] = (SimTask) {
            .id = sim->n_tasks, .vcpu = i, .cpu = -1,
            .mask = sim->host->online,
            .partner = load == SIM_PAIR && (i ^ 1) < n_vcpus
                       ? vm->first + (i ^ 1) : -1,
        };
        sim->n_tasks++;
    }
    return vm;
}

/* ---- events: a binary heap ---- */

static bool earlier(const SimEvent *a, const SimEvent *b)
{
    return a->when_ns != b->when_ns ? a->when_ns < b->when_ns
                                    : a->order < b->order;
}

static void push(Sim *sim, int64_t when_ns, int kind, int subject,
                 unsigned event)
{
    SimEvent new = { when_ns, sim->order++, kind, subject, event };
    int i = sim->n_heap++;

    if (i == sim->max_heap) {
        sim->max_heap = MAX(2 * i, 1024);
        sim->heap = g_renew(SimEvent, sim->heap, sim->max_heap);
    }
    while (i > 0 && earlier(&new, &sim->heap[(i - 1) / 2])) {
        sim->heap[i] = sim->heap[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    sim->heap[i] = new;
}

static SimEvent pop(Sim *sim)
{
    SimEvent first = sim->heap[0], last = sim->heap[--sim->n_heap];
    int i = 0, child;

    while ((child = 2 * i + 1) < sim->n_heap) {
        child += child + 1 < sim->n_heap &&
                 earlier(&sim->heap[child + 1], &sim->heap[child]);
        if (!earlier(&sim->heap[child], &last)) {
            break;
        }
        sim->heap[i] = sim->heap[child];
        i = child;
    }
    sim->heap[i] = last;
    return first;
}

/* ---- CPUs ---- */

static double speed(const Sim *sim, int cpu)
{
    const HostCpu *c = &sim->host->cpus[cpu];
    double full = (double)c->capacity / HOST_CAPACITY_MAX;
    int busy = 0;

    HOST_CPUSET_FOREACH(sibling, &sim->host->cores[c->core].cpus) {
        busy += sim->cpus[sibling].running >= 0;
    }
    return busy > 1 ? full * SIM_SMT_PERCENT / 100 : full;
}

/* Account what ran since the last time at which anything changed here. */
static void settle(Sim *sim, int cpu)
{
    SimCpu *c = &sim->cpus[cpu];
    int64_t ran = sim->now_ns - c->settled_ns;

    if (c->running >= 0 && ran > 0) {
        SimTask *task = &sim->tasks[c->running];

        task->left_ns -= ran * speed(sim, cpu);
        task->run_ns += ran;
        c->run_ns += ran;
        if (task->vm->load == SIM_SPIN && sim->now_ns > sim->measure_ns) {
            task->vm->done += ran * speed(sim, cpu);
        }
    }
    c->settled_ns = sim->now_ns;
}

static void settle_core(Sim *sim, int cpu)
{
    int core = sim->host->cpus[cpu].core;

    HOST_CPUSET_FOREACH(sibling, &sim->host->cores[core].cpus) {
        settle(sim, sibling);
    }
}

/* When the slice or the burst of what runs there ends. */
static void expect(Sim *sim, int cpu)
{
    SimCpu *c = &sim->cpus[cpu];
    int64_t end;

    if (c->running < 0) {
        c->event++;
        return;
    }
    end = sim->now_ns + MAX(ceil(sim->tasks[c->running].left_ns /
                                 speed(sim, cpu)), 1);
    if (!g_queue_is_empty(&c->queue)) {
        end = MIN(end, MAX(c->slice_end_ns, sim->now_ns + 1));
    }
    push(sim, end, EVENT_CPU, cpu, ++c->event);
}

static void expect_core(Sim *sim, int cpu)
{
    int core = sim->host->cpus[cpu].core;

    HOST_CPUSET_FOREACH(sibling, &sim->host->cores[core].cpus) {
        expect(sim, sibling);
    }
}

static void note_wait(Sim *sim, SimTask *task, int cpu)
{
    int64_t waited = sim->now_ns - task->ready_ns;

    task->wait_ns += waited;
    task->slices++;
    sim->cpus[cpu].wait_ns += waited;
    if (task->woken && !task->vm->neighbor &&
        sim->now_ns > sim->measure_ns) {
        double us = (sim->now_ns - task->woken_ns + SIM_WAKE_NS) / 1000.0;

        g_array_append_val(sim->waits, us);
    }
    task->woken = false;
}

/* The CPU's siblings must be settled before, and expected after. */
static void run_next(Sim *sim, int cpu)
{
    SimCpu *c = &sim->cpus[cpu];
    SimTask *task;

    if (c->running >= 0 ||
        (g_queue_is_empty(&c->queue) && !sim_pull_newly_idle(sim, cpu))) {
        return;
    }
    task = g_queue_pop_head(&c->queue);
    c->running = task->id;
    c->slice_end_ns = sim->now_ns + SIM_SLICE_NS;
    task->state = SIM_RUNS;
    note_wait(sim, task, cpu);
}

void sim_reschedule(Sim *sim, int cpu)
{
    settle_core(sim, cpu);
    run_next(sim, cpu);
    expect_core(sim, cpu);
}

static int64_t cost_of_move(const Sim *sim, int from, int to)
{
    if (from < 0 || from == to) {
        return 0;
    }
    return sim->host->cpus[from].llc == sim->host->cpus[to].llc
           ? SIM_MIGRATE_NEAR_NS : SIM_MIGRATE_FAR_NS;
}

void sim_enqueue(Sim *sim, SimTask *task, int cpu)
{
    SimCpu *c = &sim->cpus[cpu];

    task->left_ns += cost_of_move(sim, task->cpu, cpu);
    if (task->cpu >= 0 && sim->now_ns > sim->measure_ns &&
        sim->host->cpus[task->cpu].llc != sim->host->cpus[cpu].llc &&
        !task->vm->neighbor) {
        sim->migrations++;
    }
    task->cpu = cpu;
    task->state = SIM_READY;
    g_queue_push_tail(&c->queue, task);
    sim->llc_tasks[sim->host->cpus[cpu].llc]++;
}

/* Take a task off its CPU, running or not; the CPU must be rescheduled. */
void sim_dequeue(Sim *sim, SimTask *task)
{
    SimCpu *c = &sim->cpus[task->cpu];

    if (task->state == SIM_RUNS) {
        settle_core(sim, task->cpu);
        c->running = -1;
    } else {
        g_queue_remove(&c->queue, task);
        task->wait_ns += sim->now_ns - task->ready_ns;
        c->wait_ns += sim->now_ns - task->ready_ns;
    }
    task->ready_ns = sim->now_ns;
    sim->llc_tasks[sim->host->cpus[task->cpu].llc]--;
}

void sim_kick(Sim *sim, int cpu)
{
    if (sim->cpus[cpu].running < 0) {
        sim_reschedule(sim, cpu);
    } else {
        settle_core(sim, cpu);
        expect_core(sim, cpu);
    }
}

void sim_set_mask(Sim *sim, SimTask *task, const HostCpuSet *mask)
{
    int from = task->cpu;

    task->mask = *mask;
    if (from < 0 || host_cpuset_has(mask, from) ||
        task->state == SIM_SLEEPS) {
        return;
    }
    sim_dequeue(sim, task);
    sim_enqueue(sim, task, sim_choose_cpu(sim, task, -1));
    sim_kick(sim, task->cpu);
    sim_kick(sim, from);
}

/* ---- tasks ---- */

static int64_t around(Sim *sim, int64_t mean)
{
    return mean * (0.5 + g_rand_double(sim->rand));
}

static bool is_quiet_phase(const Sim *sim, const SimVm *vm)
{
    return vm->load == SIM_PHASED && sim->now_ns / PHASE_NS % 2;
}

static int64_t message_ns(const Sim *sim, int from, int to)
{
    const HostCpu *a = &sim->host->cpus[from], *b = &sim->host->cpus[to];
    int64_t line = a->llc == b->llc ? SIM_LINE_LLC_NS :
                   a->package == b->package ? SIM_LINE_NODE_NS
                                            : SIM_LINE_PACKAGE_NS;

    return line * SIM_LINES_PER_MESSAGE;
}

static void wake(Sim *sim, SimTask *task, int waker)
{
    int cpu;

    if (task->state != SIM_SLEEPS) {
        return;
    }
    cpu = sim_choose_cpu(sim, task, waker);
    if (waker >= 0) {
        task->left_ns += message_ns(sim, waker, cpu);
        if (sim->now_ns > sim->measure_ns && !task->vm->neighbor) {
            sim->wakes++;
            sim->near_wakes += sim->host->cpus[waker].llc ==
                               sim->host->cpus[cpu].llc;
        }
    }
    task->ready_ns = task->woken_ns = sim->now_ns;
    task->woken = true;
    sim_enqueue(sim, task, cpu);
    sim_kick(sim, cpu);
}

/* A burst has ended: what the task does next, and whom it wakes. */
static void end_burst(Sim *sim, SimTask *task)
{
    SimVm *vm = task->vm;
    int cpu = task->cpu;
    bool over = vm->end_ns && sim->now_ns >= vm->end_ns;

    if (sim->now_ns > sim->measure_ns && vm->load != SIM_SPIN) {
        vm->done++;
    }
    sim->cpus[cpu].running = -1;
    sim->llc_tasks[sim->host->cpus[cpu].llc]--;
    task->state = SIM_SLEEPS;
    task->left_ns = around(sim, vm->run_ns);
    if (over) {
        return;
    }
    if (task->partner >= 0) {
        wake(sim, &sim->tasks[task->partner], cpu);
    } else {
        int64_t pause = vm->load == SIM_SPIN ? 0 : is_quiet_phase(sim, vm)
                        ? vm->run_ns * (100 / PHASE_BUSY_PERCENT - 1)
                        : vm->sleep_ns;

        push(sim, sim->now_ns + (pause ? around(sim, pause) : 0), EVENT_WAKE,
             task->id, 0);
    }
}

static void on_cpu(Sim *sim, int cpu, unsigned event)
{
    SimCpu *c = &sim->cpus[cpu];
    SimTask *task;

    if (event != c->event || c->running < 0) {
        return;
    }
    settle_core(sim, cpu);
    task = &sim->tasks[c->running];
    if (task->left_ns < LEFT_MIN_NS) {
        end_burst(sim, task);
    } else if (!g_queue_is_empty(&c->queue) &&
               sim->now_ns >= c->slice_end_ns) {
        task->state = SIM_READY;
        task->ready_ns = sim->now_ns;
        g_queue_push_tail(&c->queue, task);
        c->running = -1;
    }
    sim_reschedule(sim, cpu);
}

static void start_all(Sim *sim)
{
    int v, i;

    for (v = 0; v < sim->n_vms; v++) {
        SimVm *vm = &sim->vms[v];

        for (i = vm->first; i < vm->first + vm->n; i++) {
            SimTask *task = &sim->tasks[i];

            task->vm = vm;
            task->left_ns = around(sim, vm->run_ns);
            if (task->partner < task->id) { /* one of a pair begins */
                push(sim, vm->start_ns + g_rand_int_range(sim->rand, 0,
                                                          1000000),
                     EVENT_WAKE, i, 0);
            }
        }
    }
    HOST_CPUSET_FOREACH(cpu, &sim->host->online) {
        push(sim, g_rand_int_range(sim->rand, 1, SIM_BALANCE_NS),
             EVENT_BALANCE, cpu, 0);
    }
    push(sim, SECOND_NS, EVENT_LOOK, 0, 0);
}

static void handle(Sim *sim, const SimEvent *event)
{
    switch (event->kind) {
    case EVENT_CPU:
        on_cpu(sim, event->subject, event->event);
        break;
    case EVENT_WAKE:
        wake(sim, &sim->tasks[event->subject], -1);
        break;
    case EVENT_BALANCE:
        sim_balance(sim, event->subject);
        push(sim, sim->now_ns + SIM_BALANCE_NS, EVENT_BALANCE, event->subject,
             0);
        break;
    default:
        if (sim->policy->look) {
            sim->policy->look(sim, sim->state);
        }
        push(sim, sim->now_ns + SECOND_NS, EVENT_LOOK, 0, 0);
    }
}

static void settle_all(Sim *sim)
{
    HOST_CPUSET_FOREACH(cpu, &sim->host->online) {
        settle(sim, cpu);
    }
}

static void run_until(Sim *sim, int64_t end_ns)
{
    while (sim->n_heap && sim->heap[0].when_ns <= end_ns) {
        SimEvent event = pop(sim);

        sim->now_ns = event.when_ns;
        handle(sim, &event);
    }
    sim->now_ns = end_ns;
    settle_all(sim);
}

void sim_run(Sim *sim, const SimPolicy *policy, int64_t warm_ns,
             int64_t end_ns)
{
    sim->policy = policy;
    sim->measure_ns = warm_ns;
    start_all(sim);
    sim->state = policy->state_new ? policy->state_new(sim) : NULL;
    if (policy->start) {
        policy->start(sim, sim->state);
    }
    run_until(sim, warm_ns); /* so that what ran before is not counted */
    run_until(sim, end_ns);
    if (policy->state_free) {
        policy->state_free(sim->state);
    }
}
