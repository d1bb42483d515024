/*
 * Moving averages of what vCPUs run and wait, and others on each LLC
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <math.h>
#include "hw/sched/load-history.h"

/* A value that weighs less tells more of noise than of load. */
#define WEIGHT_MIN 0.01

#define N_AVERAGES 2 /* LOAD_FAST, LOAD_SLOW */

typedef struct VcpuHistory {
    bool has_base, has_last;
    bool waits_known;
    int thread;
    ThreadTimes base;
    int64_t base_ns;
    double last_run, last_wait, last_slices;
    LoadAverage run[N_AVERAGES], wait[N_AVERAGES], slices[N_AVERAGES];
} VcpuHistory;

typedef struct LlcHistory {
    LlcLoad last;
    LoadAverage util[N_AVERAGES], tasks[N_AVERAGES];
} LlcHistory;

struct LoadHistory {
    int n_vcpus, n_llcs;
    int64_t half_life_ns[N_AVERAGES];
    int64_t now_ns;          /* of the latest sample */
    HostLoadSource source;
    int64_t window_ns;       /* 0: no load of others at the last look */
    VcpuHistory *vcpus;
    LlcHistory *llcs;
};

/* What is left of a weight after @ns. */
static double faded(int64_t ns, int64_t half_life_ns)
{
    return exp2(-(double)ns / half_life_ns);
}

void load_average_add(LoadAverage *average, int64_t half_life_ns,
                      int64_t now_ns, int64_t window_ns, double value)
{
    int64_t since = now_ns - average->when_ns;
    double left, gain;

    if (window_ns <= 0 || (average->weight > 0 && since <= 0)) {
        return;
    }
    /* Windows that overlap would count a time twice. */
    if (average->weight > 0) {
        window_ns = MIN(window_ns, since);
    }
    left = average->weight > 0 ? faded(since, half_life_ns) : 0;
    gain = 1 - faded(window_ns, half_life_ns);
    average->sum = average->sum * left + value * gain;
    average->weight = average->weight * left + gain;
    average->when_ns = now_ns;
}

bool load_average_get(const LoadAverage *average, int64_t half_life_ns,
                      int64_t now_ns, double *ret_value)
{
    int64_t since = MAX(now_ns - average->when_ns, 0);

    if (average->weight <= 0 ||
        average->weight * faded(since, half_life_ns) < WEIGHT_MIN) {
        return false;
    }
    *ret_value = average->sum / average->weight;
    return true;
}

LoadHistory *load_history_new(int n_vcpus, int n_llcs, int64_t interval_ns)
{
    LoadHistory *history = g_new0(LoadHistory, 1);

    history->n_vcpus = n_vcpus;
    history->vcpus = g_new0(VcpuHistory, MAX(n_vcpus, 1));
    load_history_forget_llcs(history, n_llcs);
    load_history_set_interval(history, interval_ns);
    return history;
}

void load_history_free(LoadHistory *history)
{
    if (history) {
        g_free(history->vcpus);
        g_free(history->llcs);
        g_free(history);
    }
}

int64_t load_history_half_life_ns(const LoadHistory *history, LoadSpan span)
{
    g_assert(span == LOAD_FAST || span == LOAD_SLOW);
    return history->half_life_ns[span - LOAD_FAST];
}

void load_history_set_interval(LoadHistory *history, int64_t interval_ns)
{
    g_assert(interval_ns > 0);
    history->half_life_ns[LOAD_FAST - LOAD_FAST] =
        interval_ns * LOAD_HISTORY_FAST_LOOKS;
    history->half_life_ns[LOAD_SLOW - LOAD_FAST] =
        MAX(interval_ns * LOAD_HISTORY_SLOW_LOOKS, LOAD_HISTORY_SLOW_MIN_NS);
}

static void add_all(const LoadHistory *history, LoadAverage *averages,
                    int64_t now_ns, int64_t window_ns, double value)
{
    int i;

    for (i = 0; i < N_AVERAGES; i++) {
        load_average_add(&averages[i], history->half_life_ns[i], now_ns,
                         window_ns, value);
    }
}

/* 0 if nothing is known. */
static double get(const LoadHistory *history, const LoadAverage *averages,
                  LoadSpan span)
{
    double value = 0;

    load_average_get(&averages[span - LOAD_FAST],
                     history->half_life_ns[span - LOAD_FAST], history->now_ns,
                     &value);
    return value;
}

static bool is_known(const LoadHistory *history, const LoadAverage *averages,
                     LoadSpan span)
{
    double ignored;

    return load_average_get(&averages[span - LOAD_FAST],
                            history->half_life_ns[span - LOAD_FAST],
                            history->now_ns, &ignored);
}

static void vcpu_window(LoadHistory *history, VcpuHistory *vcpu,
                        int64_t now_ns, const ThreadTimes *times)
{
    int64_t window_ns = now_ns - vcpu->base_ns;
    double per_ns = 1000.0 / window_ns;
    double run = (times->run_ns - vcpu->base.run_ns) * per_ns;
    double wait = (times->wait_ns - vcpu->base.wait_ns) * per_ns;

    /* Clocks are read at slightly different moments. */
    vcpu->last_run = MIN(run, 1000);
    vcpu->last_wait = MIN(wait, 1000 - vcpu->last_run);
    vcpu->last_slices = (times->slices - vcpu->base.slices) * per_ns;
    vcpu->has_last = true;
    vcpu->waits_known = times->waits_known;
    add_all(history, vcpu->run, now_ns, window_ns, vcpu->last_run);
    add_all(history, vcpu->wait, now_ns, window_ns, vcpu->last_wait);
    add_all(history, vcpu->slices, now_ns, window_ns, vcpu->last_slices);
}

/* A source that changed (denied since) starts again, as does a clock. */
static bool follows(const ThreadTimes *before, const ThreadTimes *after)
{
    return after->waits_known == before->waits_known &&
           after->run_ns >= before->run_ns &&
           after->wait_ns >= before->wait_ns &&
           after->slices >= before->slices;
}

void load_history_vcpu(LoadHistory *history, int vcpu, int64_t now_ns,
                       int thread, const ThreadTimes *times)
{
    VcpuHistory *v = &history->vcpus[vcpu];

    g_assert(vcpu >= 0 && vcpu < history->n_vcpus);
    history->now_ns = MAX(history->now_ns, now_ns);
    if (!times) {
        v->has_last = false;
        return;
    }
    if (v->thread != thread) {
        *v = (VcpuHistory) { .thread = thread };
    }
    if (v->has_base && now_ns == v->base_ns) {
        return;
    }
    v->has_last = false;
    if (v->has_base && now_ns > v->base_ns && follows(&v->base, times)) {
        vcpu_window(history, v, now_ns, times);
    }
    v->base = *times;
    v->base_ns = now_ns;
    v->has_base = true;
}

void load_history_forget_vcpu(LoadHistory *history, int vcpu)
{
    g_assert(vcpu >= 0 && vcpu < history->n_vcpus);
    history->vcpus[vcpu] = (VcpuHistory) { 0 };
}

void load_history_llcs(LoadHistory *history, int64_t now_ns,
                       const HostLoad *load)
{
    int l;

    g_assert(load->n_llcs == history->n_llcs);
    history->now_ns = MAX(history->now_ns, now_ns);
    history->window_ns = 0;
    if (load->source == HOST_LOAD_NONE || load->window_ns <= 0) {
        return;
    }
    history->source = load->source;
    history->window_ns = load->window_ns;
    for (l = 0; l < history->n_llcs; l++) {
        LlcHistory *llc = &history->llcs[l];

        llc->last = load->llcs[l];
        add_all(history, llc->util, now_ns, load->window_ns,
                llc->last.others_util);
        add_all(history, llc->tasks, now_ns, load->window_ns,
                llc->last.others_tasks);
    }
}

void load_history_forget_llcs(LoadHistory *history, int n_llcs)
{
    g_free(history->llcs);
    history->llcs = g_new0(LlcHistory, MAX(n_llcs, 1));
    history->n_llcs = n_llcs;
    history->source = HOST_LOAD_NONE;
    history->window_ns = 0;
}

void load_history_pause(LoadHistory *history)
{
    int v;

    for (v = 0; v < history->n_vcpus; v++) {
        history->vcpus[v].has_base = false;
        history->vcpus[v].has_last = false;
    }
}

static uint64_t burst_of(double run, double slices)
{
    return slices > 0 ? run / slices : 0;
}

VcpuLoad load_history_get_vcpu(const LoadHistory *history, int vcpu,
                               LoadSpan span)
{
    const VcpuHistory *v = &history->vcpus[vcpu];
    double run, wait, slices;

    g_assert(vcpu >= 0 && vcpu < history->n_vcpus);
    if (span == LOAD_LAST ? !v->has_last : !is_known(history, v->run, span)) {
        return (VcpuLoad) { 0 };
    }
    run = span == LOAD_LAST ? v->last_run : get(history, v->run, span);
    wait = span == LOAD_LAST ? v->last_wait : get(history, v->wait, span);
    slices = span == LOAD_LAST ? v->last_slices
                               : get(history, v->slices, span);
    return (VcpuLoad) {
        .known = true,
        .waits_known = v->waits_known,
        .run = run + 0.5,
        .wait = MIN(wait + 0.5, 1000 - (unsigned)(run + 0.5)),
        .burst_ns = burst_of(run, slices),
    };
}

bool load_history_get_llc(const LoadHistory *history, int llc, LoadSpan span,
                          LlcLoad *ret_load)
{
    const LlcHistory *h = &history->llcs[llc];

    g_assert(llc >= 0 && llc < history->n_llcs);
    if (span == LOAD_LAST) {
        if (!history->window_ns) {
            return false;
        }
        *ret_load = h->last;
        return true;
    }
    if (!is_known(history, h->util, span)) {
        return false;
    }
    *ret_load = (LlcLoad) {
        .others_util = get(history, h->util, span) + 0.5,
        .others_tasks = get(history, h->tasks, span) + 0.5,
    };
    return true;
}

HostLoadSource load_history_source(const LoadHistory *history)
{
    return history->source;
}

int64_t load_history_window_ns(const LoadHistory *history)
{
    return history->window_ns;
}

void load_history_demand(const LoadHistory *history, unsigned *ret_demand)
{
    int v;

    for (v = 0; v < history->n_vcpus; v++) {
        VcpuLoad fast = load_history_get_vcpu(history, v, LOAD_FAST);
        VcpuLoad slow = load_history_get_vcpu(history, v, LOAD_SLOW);

        ret_demand[v] = fast.known && slow.known
                        ? MAX(fast.run + fast.wait, slow.run + slow.wait)
                        : 1000;
    }
}

int load_history_n_vcpus(const LoadHistory *history)
{
    return history->n_vcpus;
}

int load_history_n_llcs(const LoadHistory *history)
{
    return history->n_llcs;
}
