/*
 * What the host's CPUs and our own threads have run, from /proc
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef HW_SCHED_HOST_LOAD_H
#define HW_SCHED_HOST_LOAD_H

#include "hw/sched/host-topology.h"

/*
 * The time run is taken from /proc/stat wherever that can be read, also when
 * /proc/schedstat is there: the latter adds it up only when a task leaves its
 * CPU (rq_sched_info_depart() in Linux' kernel/sched/stats.h), so that a vCPU
 * that spins alone on a CPU would not be seen for seconds and then all at once.
 * The time waited is added up at each arrival and has no such gaps.
 */
typedef enum HostLoadSource {
    HOST_LOAD_NONE,       /* nothing readable: the guard cannot see others */
    HOST_LOAD_STAT,       /* /proc/stat: ticks, no waiting time */
    HOST_LOAD_SCHEDSTAT,  /* /proc/schedstat: waiting time as well, ns */
} HostLoadSource;

/*
 * Cumulative times of one CPU, ns.  Run is user, nice, system, irq and softirq
 * of /proc/stat: guests are part of user; steal is not counted, since nothing
 * of this host ran then.
 */
typedef struct HostCpuTimes {
    uint64_t run_ns;
    uint64_t wait_ns;     /* runnable but not running; 0 with HOST_LOAD_STAT */
} HostCpuTimes;

/* One reading of the whole host. */
typedef struct HostLoadSample {
    HostLoadSource source;
    bool run_from_stat;   /* false: from /proc/schedstat, /proc/stat failed */
    int64_t when_ns;      /* the caller's monotonic clock */
    int n_cpus;
    HostCpuTimes *cpus;   /* n_cpus; a CPU without a row has zeros */
    int n_rows;           /* CPU rows that the file had */
} HostLoadSample;

/*
 * Read @root/proc/stat and @root/proc/schedstat into a new sample for CPUs
 * 0 .. @n_cpus - 1.  Never NULL: with neither readable the source is
 * HOST_LOAD_NONE.  @ret_note (may be NULL; else set to a new string or NULL)
 * says which file was not used and why; NULL when both were.
 */
HostLoadSample *host_load_sample(const char *root, int n_cpus, int64_t now_ns,
                                 char **ret_note);
void host_load_sample_free(HostLoadSample *sample); /* NULL is allowed */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(HostLoadSample, host_load_sample_free)

/* What one of our threads used, cumulative; from its schedstat file. */
typedef struct ThreadTimes {
    uint64_t run_ns, wait_ns, slices;
    bool waits_known;     /* false: only run_ns is, from the CPU clock */
} ThreadTimes;

/*
 * Read @root/proc/self/task/@tid/schedstat.  On the running host (@root is
 * "") a file that is absent or denied (a kernel without SCHEDSTATS, AppArmor)
 * is replaced by the thread's CPU clock, which knows the time run alone.
 * False, with @ret_times untouched: gone, or garbage.
 */
bool host_load_thread(const char *root, int tid, ThreadTimes *ret_times);

/* More tasks than that per CPU are not told apart, per mille. */
#define HOST_LOAD_TASKS_MAX 1000000

/* What ran on one LLC between two samples, our own threads left out. */
typedef struct LlcLoad {
    unsigned others_util; /* per mille of the capacity of its CPUs, run only */
    unsigned others_tasks; /* per mille of its CPUs: run + wait of others */
} LlcLoad;

typedef struct HostLoad {
    HostLoadSource source; /* HOST_LOAD_NONE: the rows are all zero */
    int64_t window_ns;     /* time between the samples */
    int n_llcs;
    LlcLoad *llcs;         /* one per host LLC */
} HostLoad;

/*
 * The load of others per LLC between @before and @after.  @own_run_ns and
 * @own_wait_ns are what our own threads ran and waited on each LLC in that
 * time (host->n_llcs entries, NULL: nothing); the difference is clamped at 0.
 * Samples of different sources, or a window of 0, give HOST_LOAD_NONE.
 * Counters that ran backwards (a CPU went off and on) count as 0, and so does
 * a CPU that has no row in one of the samples.  No CPU runs more than the
 * window.
 */
HostLoad *host_load_between(const HostTopology *host,
                            const HostLoadSample *before,
                            const HostLoadSample *after,
                            const uint64_t *own_run_ns,
                            const uint64_t *own_wait_ns);
HostLoad *host_load_new_idle(const HostTopology *host); /* all zero, NONE */
void host_load_free(HostLoad *load); /* NULL is allowed */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(HostLoad, host_load_free)

#endif
