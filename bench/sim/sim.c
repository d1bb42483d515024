/*
 * A host's CPUs, a kernel's scheduler and VMs, by discrete events
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <math.h>
#include "costs-added.h"
#include "costs.h"
#include "sim-kernel.h"

#define SECOND_NS 1000000000ll

/* Progress below a nanosecond is rounding. */
#define LEFT_MIN_NS 1.0

/* ---- events: a binary heap ---- */

static bool earlier(const SimEvent *a, const SimEvent *b)
{
    return a->when_ns != b->when_ns ? a->when_ns < b->when_ns
                                    : a->order < b->order;
}

void sim_push(Sim *sim, int64_t when_ns, int kind, int subject,
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

/* What memory leaves of a stream's speed: its LLC's link, its package. */
static double stream_speed(const Sim *sim, int cpu)
{
    const SimGroup *llc = sim_llc(sim, cpu);
    const SimGroup *package = &sim->packages[sim->package_of[cpu]];
    double part = (double)SIM_PACKAGE_MBPS /
                  (SIM_STREAM_MBPS * MAX(package->streams, 1));

    if (package->n_llcs > 1) {
        part = MIN(part, (double)SIM_LLC_LINK_MBPS /
                         (SIM_STREAM_MBPS * MAX(llc->streams, 1)));
    }
    return MIN(part, 1);
}

static double speed(const Sim *sim, int cpu)
{
    double full = sim->host->cpus[cpu].capacity / (double)HOST_CAPACITY_MAX;
    const SimTask *task = &sim->tasks[sim->cpus[cpu].running];

    if (sim_core(sim, cpu)->running > 1) {
        full = full * SIM_SMT_PERCENT / 100;
    }
    return task->vm->load == SIM_STREAM ? full * stream_speed(sim, cpu) : full;
}

/* Bursts count when they end; work without end counts as it is done. */
static bool is_endless(const SimTask *task)
{
    return task->vm->load == SIM_SPIN || task->vm->load == SIM_STREAM;
}

static void set_running(Sim *sim, int cpu, SimTask *task)
{
    int change = task ? 1 : -1, stream;
    SimCpu *c = &sim->cpus[cpu];
    const SimTask *who = task ? task : &sim->tasks[c->running];

    stream = who->vm->load == SIM_STREAM ? change : 0;
    sim_core(sim, cpu)->running += change;
    sim_llc(sim, cpu)->running += change;
    sim_llc(sim, cpu)->streams += stream;
    sim->packages[sim->package_of[cpu]].streams += stream;
    c->running = task ? task->id : -1;
}

/* Account what ran since the last time at which anything changed here. */
static void settle(Sim *sim, int cpu)
{
    SimCpu *c = &sim->cpus[cpu];
    int64_t ran = sim->now_ns - c->settled_ns;

    if (c->running >= 0 && ran > 0) {
        SimTask *task = &sim->tasks[c->running];
        double work = ran * speed(sim, cpu);

        task->left_ns -= work;
        task->vruntime += ran;
        task->run_ns += ran;
        task->ran_ns = sim->now_ns;
        c->run_ns += ran;
        sim->vms[task->vm->process].occupancy[sim->host->cpus[cpu].llc] += ran;
        if (is_endless(task) && sim->now_ns > sim->measure_ns) {
            task->vm->done_ns += work;
        }
    }
    c->settled_ns = sim->now_ns;
}

/* All whose speed depends on what runs on @cpu. */
static const SimGroup *around(const Sim *sim, int cpu)
{
    return sim->has_streams ? &sim->packages[sim->package_of[cpu]]
                            : sim_core(sim, cpu);
}

static void settle_around(Sim *sim, int cpu)
{
    const SimGroup *group = around(sim, cpu);
    int i;

    for (i = 0; i < group->n; i++) {
        settle(sim, group->cpu[i]);
    }
}

/* When the slice or the burst of what runs there ends. */
static int64_t end_ns(const Sim *sim, int cpu)
{
    const SimCpu *c = &sim->cpus[cpu];
    const SimTask *task = &sim->tasks[c->running];
    double left = task->left_ns / speed(sim, cpu);

    if (c->queue.length) {
        left = MIN(left, task->deadline - task->vruntime);
    }
    return sim->now_ns + MAX(ceil(left), 1);
}

/* An event that is still right, but for rounding, stays. */
static void expect(Sim *sim, int cpu)
{
    SimCpu *c = &sim->cpus[cpu];
    int64_t end = c->running < 0 ? 0 : end_ns(sim, cpu);

    if (end && c->end_ns > sim->now_ns && ABS(end - c->end_ns) <= 1) {
        return;
    }
    c->event++;
    c->end_ns = end;
    if (end) {
        sim_push(sim, end, SIM_EVENT_CPU, cpu, c->event);
    }
}

static void expect_around(Sim *sim, int cpu)
{
    const SimGroup *group = around(sim, cpu);
    int i;

    for (i = 0; i < group->n; i++) {
        expect(sim, group->cpu[i]);
    }
}

static void note_wait(Sim *sim, SimTask *task, int cpu)
{
    int64_t waited = sim->now_ns - task->ready_ns;

    task->wait_ns += waited;
    task->slices++;
    sim->cpus[cpu].wait_ns += waited;
    if (task->woken && sim_measures(sim, task)) {
        double us = (sim->now_ns - task->woken_ns + task->wake_cost_ns) /
                    1000.0;

        g_array_append_val(sim->waits, us);
    }
    task->woken = false;
}

/* What is around must be settled before, and expected after. */
static void run_next(Sim *sim, int cpu)
{
    SimCpu *c = &sim->cpus[cpu];
    SimTask *task;

    if (c->running >= 0 ||
        (g_queue_is_empty(&c->queue) && !sim_pull_newly_idle(sim, cpu))) {
        return;
    }
    task = sim_queue_pick(sim, cpu);
    set_running(sim, cpu, task);
    task->state = SIM_RUNS;
    note_wait(sim, task, cpu);
}

static double cost_of_move(const Sim *sim, int from, int to)
{
    if (from < 0 || from == to) {
        return 0;
    }
    return sim->host->cpus[from].llc == sim->host->cpus[to].llc
           ? SIM_MIGRATE_NEAR_NS : SIM_MIGRATE_FAR_NS;
}

/* Work that is nobody's gain. */
void sim_add_overhead(Sim *sim, SimTask *task, double ns)
{
    task->left_ns += ns;
    if (is_endless(task) && sim->now_ns > sim->measure_ns) {
        task->vm->done_ns -= ns;
    }
}

/* With a cold cache it takes twice as long, until that has cost enough. */
void sim_warm_up(Sim *sim, SimTask *task)
{
    double pays = MIN(task->cold_ns, task->left_ns);

    task->cold_ns -= pays;
    sim_add_overhead(sim, task, pays);
}

static void count_tasks(Sim *sim, int cpu, int change)
{
    SimGroup *core = sim_core(sim, cpu), *llc = sim_llc(sim, cpu);

    llc->tasks += change;
    llc->idle_cores -= !core->tasks;
    core->tasks += change;
    llc->idle_cores += !core->tasks;
}

void sim_enqueue(Sim *sim, SimTask *task, int cpu)
{
    task->cold_ns = MAX(task->cold_ns, cost_of_move(sim, task->cpu, cpu));
    sim_warm_up(sim, task);
    if (task->cpu >= 0 && sim_measures(sim, task) &&
        sim->host->cpus[task->cpu].llc != sim->host->cpus[cpu].llc) {
        sim->migrations++;
    }
    task->cpu = cpu;
    task->state = SIM_READY;
    sim_queue_add(sim, task, cpu);
    count_tasks(sim, cpu, 1);
}

/* What runs on @cpu does no longer; settled before. */
void sim_stop_running(Sim *sim, int cpu)
{
    sim_queue_remove(sim, &sim->tasks[sim->cpus[cpu].running]);
    set_running(sim, cpu, NULL);
    count_tasks(sim, cpu, -1);
}

/* Take a task off its CPU, running or not; the CPU must be kicked. */
void sim_dequeue(Sim *sim, SimTask *task)
{
    SimCpu *c = &sim->cpus[task->cpu];

    settle_around(sim, task->cpu);
    if (task->state == SIM_RUNS) {
        sim_stop_running(sim, task->cpu);
    } else {
        sim_queue_remove(sim, task);
        count_tasks(sim, task->cpu, -1);
        task->wait_ns += sim->now_ns - task->ready_ns;
        c->wait_ns += sim->now_ns - task->ready_ns;
    }
    task->ready_ns = sim->now_ns;
}

/* Whether what runs goes on; else it waits with the others. */
static void check_preempt(Sim *sim, int cpu)
{
    SimCpu *c = &sim->cpus[cpu];
    SimTask *task;

    if (c->running < 0 || g_queue_is_empty(&c->queue) ||
        !sim_queue_yields(sim, cpu)) {
        return;
    }
    task = &sim->tasks[c->running];
    set_running(sim, cpu, NULL);
    task->state = SIM_READY;
    task->ready_ns = sim->now_ns;
    g_queue_push_tail(&c->queue, task);
}

/* Something has changed on @cpu. */
void sim_kick(Sim *sim, int cpu)
{
    settle_around(sim, cpu);
    check_preempt(sim, cpu);
    run_next(sim, cpu);
    expect_around(sim, cpu);
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

static void on_cpu(Sim *sim, int cpu, unsigned event)
{
    SimCpu *c = &sim->cpus[cpu];
    SimTask *task;

    if (event != c->event || c->running < 0) {
        return;
    }
    settle_around(sim, cpu);
    task = &sim->tasks[c->running];
    if (task->left_ns < LEFT_MIN_NS) {
        sim_load_end_burst(sim, task);
    }
    sim_kick(sim, cpu);
}

static void settle_all(Sim *sim)
{
    HOST_CPUSET_FOREACH(cpu, &sim->host->online) {
        settle(sim, cpu);
    }
}

static void handle(Sim *sim, const SimEvent *event)
{
    switch (event->kind) {
    case SIM_EVENT_CPU:
        on_cpu(sim, event->subject, event->event);
        break;
    case SIM_EVENT_WAKE:
        sim_load_timer(sim, &sim->tasks[event->subject]);
        break;
    case SIM_EVENT_START:
        sim_load_begin(sim, &sim->tasks[event->subject]);
        break;
    case SIM_EVENT_BALANCE:
        sim_balance(sim, event->subject);
        sim_push(sim, sim->now_ns + SIM_BALANCE_NS, SIM_EVENT_BALANCE,
                 event->subject, 0);
        break;
    case SIM_EVENT_EPOCH:
        sim_cache_epoch(sim);
        sim_push(sim, sim->now_ns + SIM_EPOCH_NS, SIM_EVENT_EPOCH, 0, 0);
        break;
    default:
        settle_all(sim); /* a CPU that runs one task alone has no events */
        sim->policy->look(sim, sim->state, event->subject);
        sim_push(sim, sim->now_ns + SECOND_NS, SIM_EVENT_LOOK, event->subject,
                 0);
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

/* VMs look once a second, each at a time of its own. */
static void start(Sim *sim)
{
    int v;

    sim_load_start(sim);
    HOST_CPUSET_FOREACH(cpu, &sim->host->online) {
        sim_push(sim, g_rand_int_range(sim->rand, 1, SIM_BALANCE_NS),
                 SIM_EVENT_BALANCE, cpu, 0);
    }
    if (sim->policy->prefers != SIM_PREFER_NOTHING) {
        sim_push(sim, SIM_EPOCH_NS, SIM_EVENT_EPOCH, 0, 0);
    }
    for (v = 0; sim->policy->look && v < sim->n_vms; v++) {
        if (!sim->vms[v].neighbor) {
            sim_push(sim, SECOND_NS + g_rand_int_range(sim->rand, 0, SECOND_NS),
                     SIM_EVENT_LOOK, v, 0);
        }
    }
}

void sim_run(Sim *sim, const SimPolicy *policy, int64_t warm_ns,
             int64_t end_ns)
{
    sim->policy = policy;
    sim->measure_ns = warm_ns;
    start(sim);
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
