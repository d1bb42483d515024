/*
 * Moving averages of what vCPUs run and wait, and others on each LLC
 *
 * Pure: the samples and their times are passed in.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef HW_SCHED_LOAD_HISTORY_H
#define HW_SCHED_LOAD_HISTORY_H

#include "hw/sched/host-load.h"

/*
 * Half-lives.  The fast average tells a change from a spike within a few
 * looks; the slow one outlasts the pulses of a neighbor that is on and off
 * within a minute.  (scx_rusty looks every 2 s with a half-life of 1 s, and
 * moves single tasks; a VM's move costs more.)
 */
#define LOAD_HISTORY_FAST_LOOKS 4
#define LOAD_HISTORY_SLOW_LOOKS 16
#define LOAD_HISTORY_SLOW_MIN_NS 60000000000ll

/* Over which time: since the last sample, or by one of the half-lives. */
typedef enum LoadSpan {
    LOAD_LAST,
    LOAD_FAST,
    LOAD_SLOW,
    LOAD_SPANS,
} LoadSpan;

/*
 * A mean of values, each weighted by how long it held and how long ago that
 * was: half as much per half-life.  Zero-initialized: nothing known.  A time
 * without samples counts for nothing, so the first sample is the mean at once,
 * and what was before a gap fades in it.
 */
typedef struct LoadAverage {
    double sum, weight;    /* @weight is 1 after many half-lives of samples */
    int64_t when_ns;
} LoadAverage;

/* @value held for @window_ns up to @now_ns.  Ignored if time runs backwards. */
void load_average_add(LoadAverage *average, int64_t half_life_ns,
                      int64_t now_ns, int64_t window_ns, double value);

/*
 * False, with @ret_value untouched, if nothing is known at @now_ns, or only
 * what is so old that it weighs less than a hundredth.
 */
bool load_average_get(const LoadAverage *average, int64_t half_life_ns,
                      int64_t now_ns, double *ret_value);

/*
 * Of one vCPU; all zero unless @known.  A slice ends when the vCPU sleeps, or
 * is preempted: between sleeps it ran at least @burst_ns.
 */
typedef struct VcpuLoad {
    bool known;
    bool waits_known;     /* false: the CPU clock alone was readable */
    unsigned run, wait;   /* per mille of the time; a sum of at most 1000 */
    uint64_t burst_ns;    /* mean CPU time per slice; 0: unknown */
} VcpuLoad;

typedef struct LoadHistory LoadHistory;

/* For looks every @interval_ns (more than 0). */
LoadHistory *load_history_new(int n_vcpus, int n_llcs, int64_t interval_ns);
void load_history_free(LoadHistory *history); /* NULL is allowed */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(LoadHistory, load_history_free)

/* The half-life of LOAD_FAST or LOAD_SLOW. */
int64_t load_history_half_life_ns(const LoadHistory *history, LoadSpan span);

/* The interval changed.  What is known stays and fades by the new ones. */
void load_history_set_interval(LoadHistory *history, int64_t interval_ns);

/*
 * The cumulative @times of vCPU @vcpu's thread, whose number is @thread, at
 * @now_ns.  NULL: not readable at this look.  The first sample, one of another
 * thread (all that was known is forgotten) and one whose times run backwards
 * are only where the next one starts from.
 */
void load_history_vcpu(LoadHistory *history, int vcpu, int64_t now_ns,
                       int thread, const ThreadTimes *times);

/* The vCPU is gone: nothing is known of the next one with its number. */
void load_history_forget_vcpu(LoadHistory *history, int vcpu);

/*
 * What others ran in the window that ended at @now_ns.  A load without source
 * is a missing sample.
 */
void load_history_llcs(LoadHistory *history, int64_t now_ns,
                       const HostLoad *load);

/* The host's LLCs are others now: nothing is known of them. */
void load_history_forget_llcs(LoadHistory *history, int n_llcs);

/*
 * The VM stops: the time until it runs on says nothing of what its vCPUs need.
 * What is known stays.
 */
void load_history_pause(LoadHistory *history);

/* As of the last sample of any kind. */
VcpuLoad load_history_get_vcpu(const LoadHistory *history, int vcpu,
                               LoadSpan span);
/* False: unknown, @ret_load untouched. */
bool load_history_get_llc(const LoadHistory *history, int llc, LoadSpan span,
                          LlcLoad *ret_load);

/* How the last known load of others was read; HOST_LOAD_NONE: never. */
HostLoadSource load_history_source(const LoadHistory *history);

/* How long the last window of others' load was; 0: there was none. */
int64_t load_history_window_ns(const LoadHistory *history);

/*
 * What to plan for, per mille of a CPU, one entry per vCPU: run and wait by
 * the greater of both averages, since what a vCPU needed lately it may need
 * again; in full where nothing is known.
 */
void load_history_demand(const LoadHistory *history, unsigned *ret_demand);

int load_history_n_vcpus(const LoadHistory *history);
int load_history_n_llcs(const LoadHistory *history);

#endif
