/*
 * What the simulated vCPUs do: their bursts, their pauses, whom they wake
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "costs-added.h"
#include "costs.h"
#include "sim-kernel.h"

#define SECOND_NS 1000000000ll
#define PHASE_NS (5 * SECOND_NS)
#define PHASE_BUSY_PERCENT 5

/* A worker that only goes to sleep again after it was woken. */
#define THINK_NS 1000

/* What a server works for each wake-up.  An assumption. */
#define WAKER_NS 1000

/* How long threads take to start, within that time of each other. */
#define STARTUP_NS 2000000

static int64_t around(Sim *sim, int64_t mean)
{
    return mean * (0.5 + g_rand_double(sim->rand));
}

static void set_burst(SimTask *task, double ns)
{
    task->left_ns += ns;
    task->work_ns = ns;
}

static int64_t line_ns(const Sim *sim, int from, int to)
{
    const HostCpu *a = &sim->host->cpus[from], *b = &sim->host->cpus[to];

    return a->llc == b->llc ? SIM_LINE_LLC_NS :
           a->package == b->package ? SIM_LINE_NODE_NS : SIM_LINE_PACKAGE_NS;
}

/*
 * The caller has set what for, and since when that counts.  What an idle CPU
 * takes to run the task is lost to it as well; a queue hides it.
 */
static void wake(Sim *sim, SimTask *task, int waker, int lines)
{
    int cpu = sim_choose_cpu(sim, task, waker);
    double lag = task->lag + (sim->now_ns - task->slept_ns);

    task->lag = task->lag < 0 ? MIN(lag, 0) : task->lag;
    task->wake_cost_ns = sim_n_on(sim, cpu) ? 0 : SIM_WAKE_NS;
    if (waker >= 0) {
        int64_t line = line_ns(sim, waker, cpu);

        task->wake_cost_ns += line * SIM_WAKE_LINES;
        sim_add_overhead(sim, task, line * lines);
        if (sim_measures(sim, task)) {
            sim->wakes++;
            sim->near_wakes += sim->host->cpus[waker].llc ==
                               sim->host->cpus[cpu].llc;
        }
    }
    sim_add_overhead(sim, task, task->wake_cost_ns);
    task->ready_ns = sim->now_ns;
    sim_enqueue(sim, task, cpu);
    sim_kick(sim, cpu);
}

static void sleep_for(Sim *sim, SimTask *task, int64_t ns)
{
    sim_push(sim, sim->now_ns + ns, SIM_EVENT_WAKE, task->id, 0);
}

static void stop(Sim *sim, SimTask *task)
{
    sim_stop_running(sim, task->cpu);
    task->state = SIM_SLEEPS;
    task->slept_ns = sim->now_ns;
    task->left_ns = 0;
}

/* ---- a server: vCPU 0 wakes the workers that have posted themselves ---- */

static SimTask *server_of(Sim *sim, const SimVm *vm)
{
    return &sim->tasks[vm->first];
}

/* One worker after another. */
static void next_wake(Sim *sim, SimVm *vm)
{
    set_burst(server_of(sim, vm), WAKER_NS);
    server_of(sim, vm)->work_ns = 0;
}

/* schbench takes one time for all who are there when it begins. */
static bool start_list(SimVm *vm, int64_t now_ns)
{
    vm->list_ns = now_ns;
    vm->listed = vm->posted.length;
    return vm->listed > 0;
}

static void wake_worker(Sim *sim, SimTask *worker, int64_t since_ns, int cpu)
{
    SimVm *vm = worker->vm;

    set_burst(worker, vm->sleep_ns ? THINK_NS : around(sim, vm->run_ns));
    worker->phase = !vm->sleep_ns;
    worker->woken = true;
    worker->woken_ns = since_ns;
    wake(sim, worker, cpu, 0);
}

/* The worker may take its CPU: so what it does next is settled before. */
static void end_server(Sim *sim, SimTask *task)
{
    SimVm *vm = task->vm;
    int64_t since_ns;
    SimTask *worker;
    int cpu = task->cpu;

    if (!vm->list_ns) {
        start_list(vm, sim->now_ns - WAKER_NS);
    }
    since_ns = vm->list_ns;
    worker = g_queue_pop_head(&vm->posted);
    vm->listed--;
    if (vm->listed > 0 || (!vm->pause_ns && start_list(vm, sim->now_ns))) {
        next_wake(sim, vm);
    } else {
        vm->list_ns = 0;
        stop(sim, task);
        if (vm->pause_ns) {
            sleep_for(sim, task, vm->pause_ns);
        }
    }
    if (worker) {
        wake_worker(sim, worker, since_ns, cpu);
    }
}

static void post(Sim *sim, SimTask *task)
{
    SimVm *vm = task->vm;
    SimTask *server = server_of(sim, vm);
    int cpu = task->cpu;

    stop(sim, task);
    g_queue_push_tail(&vm->posted, task);
    if (server->state == SIM_SLEEPS && !vm->pause_ns) {
        next_wake(sim, vm);
        wake(sim, server, cpu, 0);
    }
}

/* A worker thinks, works, and asks for more. */
static void end_worker(Sim *sim, SimTask *task)
{
    SimVm *vm = task->vm;

    if (task->phase == 0) {
        task->phase = 1;
        stop(sim, task);
        sleep_for(sim, task, vm->sleep_ns);
    } else {
        post(sim, task);
    }
}

/* ---- a recorded load: as many bursts in a window as there were slices ---- */

static const SimTraceRow *row_now(const Sim *sim, const SimTask *task)
{
    const SimTrace *trace = task->vm->trace;
    int window = sim->now_ns / trace->window_ns % trace->n_windows;

    return &trace->rows[window * trace->n_vcpus +
                        task->vcpu % trace->n_vcpus];
}

static int64_t window_left_ns(const Sim *sim, const SimTrace *trace)
{
    return trace->window_ns - sim->now_ns % trace->window_ns;
}

static void end_recorded(Sim *sim, SimTask *task)
{
    const SimTrace *trace = task->vm->trace;
    const SimTraceRow *row = row_now(sim, task);
    int64_t idle = MAX(trace->window_ns - row->run_ns - row->wait_ns, 0);

    stop(sim, task);
    sleep_for(sim, task, MIN(idle / MAX(row->slices, 1),
                             window_left_ns(sim, trace)));
}

/* False: it sleeps on, in this window it did not run. */
static bool start_recorded(Sim *sim, SimTask *task)
{
    const SimTrace *trace = task->vm->trace;
    const SimTraceRow *row = row_now(sim, task);
    double burst = (double)MIN(row->run_ns, trace->window_ns) /
                   MAX(row->slices, 1);

    if (burst < 1) {
        sleep_for(sim, task, window_left_ns(sim, trace));
        return false;
    }
    set_burst(task, burst);
    return true;
}

/* ---- all ---- */

static bool is_quiet(const Sim *sim, const SimVm *vm)
{
    return vm->load == SIM_PHASED && sim->now_ns / PHASE_NS % 2;
}

static bool is_off(const Sim *sim, const SimVm *vm)
{
    return vm->pulse_ns && sim->now_ns / vm->pulse_ns % 2;
}

static void end_burst(Sim *sim, SimTask *task)
{
    SimVm *vm = task->vm;
    int64_t pause = is_quiet(sim, vm)
                    ? vm->run_ns * (100 / PHASE_BUSY_PERCENT - 1)
                    : vm->sleep_ns;

    if (is_off(sim, vm)) {
        stop(sim, task);
        sleep_for(sim, task, vm->pulse_ns - sim->now_ns % vm->pulse_ns);
    } else if (!pause) {
        set_burst(task, around(sim, vm->run_ns));
        sim_warm_up(sim, task);
    } else {
        stop(sim, task);
        sleep_for(sim, task, around(sim, pause));
    }
}

/* To a task that has not started yet: it finds the message when it has. */
static void send(Sim *sim, SimTask *task, int cpu)
{
    if (task->state != SIM_SLEEPS) {
        task->has_message = true;
        return;
    }
    set_burst(task, around(sim, task->vm->run_ns));
    task->woken = true;
    task->woken_ns = sim->now_ns;
    wake(sim, task, cpu, SIM_LINES_PER_MESSAGE);
}

static void end_pair(Sim *sim, SimTask *task)
{
    bool starts = task->phase == 0, begins = task->partner < task->id;
    int cpu = task->cpu;

    task->phase = 1;
    if (starts && !begins && task->has_message) {
        task->has_message = false;
        set_burst(task, around(sim, task->vm->run_ns));
        return;
    }
    stop(sim, task);
    if (!starts || begins) {
        send(sim, &sim->tasks[task->partner], cpu);
    }
}

void sim_load_end_burst(Sim *sim, SimTask *task)
{
    SimVm *vm = task->vm;

    if (sim->now_ns > sim->measure_ns && vm->load != SIM_SPIN &&
        vm->load != SIM_STREAM) {
        vm->done_ns += task->work_ns;
    }
    if (vm->load == SIM_RECORDED) {
        end_recorded(sim, task);
    } else if (vm->load == SIM_SERVER && task->vcpu) {
        end_worker(sim, task);
    } else if (vm->load == SIM_SERVER) {
        end_server(sim, task);
    } else if (task->partner >= 0) {
        end_pair(sim, task);
    } else {
        end_burst(sim, task);
    }
}

/* A pause is over. */
void sim_load_timer(Sim *sim, SimTask *task)
{
    SimVm *vm = task->vm;

    task->woken = true;
    task->woken_ns = sim->now_ns;
    if (vm->load == SIM_SERVER) {
        task->woken = false; /* schbench looks at its messages alone */
        if (task->vcpu) {
            set_burst(task, around(sim, vm->run_ns));
        } else {
            next_wake(sim, vm);
        }
    } else if (vm->load == SIM_RECORDED) {
        if (!start_recorded(sim, task)) {
            return;
        }
    } else {
        set_burst(task, around(sim, vm->run_ns));
    }
    wake(sim, task, -1, 0);
}

/*
 * All threads run for a while when they start, as a guest boots on all its
 * vCPUs: so the kernel spreads them.
 */
void sim_load_start(Sim *sim)
{
    int v, i;

    for (v = 0; v < sim->n_vms; v++) {
        SimVm *vm = &sim->vms[v];
        bool serves = vm->load == SIM_SERVER;

        for (i = vm->first; i < vm->first + vm->n; i++) {
            SimTask *task = &sim->tasks[i];

            task->vm = vm;
            task->phase = serves;
            set_burst(task, STARTUP_NS);
            sim_push(sim, serves && !task->vcpu ? 0 :
                     g_rand_int_range(sim->rand, 0, STARTUP_NS),
                     SIM_EVENT_START, i, 0);
        }
    }
}

/* A thread starts: nobody waits for it. */
void sim_load_begin(Sim *sim, SimTask *task)
{
    wake(sim, task, -1, 0);
}
