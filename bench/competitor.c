/*
 * Processes that take CPU time from the benchmark's guest
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "competitor.h"
#include "bench.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define GROUP "others"

struct Competitor {
    CgroupTree *tree;
    GArray *pids;           /* of pid_t */
};

static int64_t own_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return ts.tv_sec * 1000000000ll + ts.tv_nsec;
}

static void G_NORETURN compete(int64_t busy_us, int64_t period_us)
{
    int64_t period_ns = period_us * 1000;
    int64_t next_ns = bench_now_ns() / period_ns * period_ns;

    for (;;) {
        int64_t until_ns = own_ns() + busy_us * 1000;

        while (own_ns() < until_ns) {
            /* busy */
        }
        if (busy_us < period_us) {
            /* what it could not get in time is lost */
            next_ns = MAX(next_ns + period_ns,
                          bench_now_ns() / period_ns * period_ns);
            bench_sleep_until(next_ns);
        }
    }
}

static void start_one(Competitor *competitor, int cpu, int64_t busy_us,
                      int64_t period_us)
{
    pid_t parent = getpid();
    pid_t pid = fork();
    cpu_set_t set;

    if (pid < 0) {
        bench_fail("a competitor: %s", g_strerror(errno));
    }
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        CPU_ZERO(&set);
        CPU_SET(cpu, &set);
        if (getppid() != parent || sched_setaffinity(0, sizeof(set), &set)) {
            _exit(1);
        }
        if (competitor->tree) {
            setpriority(PRIO_PROCESS, 0, 0);
        }
        compete(busy_us, period_us);
    }
    g_array_append_val(competitor->pids, pid);
    if (competitor->tree) {
        cgroup_add_process(competitor->tree, GROUP, pid);
    }
}

Competitor *competitor_start(CgroupTree *tree, int per_cpu, int64_t busy_us,
                             int64_t period_us)
{
    Competitor *competitor = g_new(Competitor, 1);
    cpu_set_t set;

    competitor->tree = tree;
    competitor->pids = g_array_new(false, false, sizeof(pid_t));
    if (tree) {
        cgroup_make(tree, GROUP);
    }
    if (sched_getaffinity(0, sizeof(set), &set) < 0) {
        bench_fail("sched_getaffinity: %s", g_strerror(errno));
    }
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        for (int i = 0; CPU_ISSET(cpu, &set) && i < per_cpu; i++) {
            start_one(competitor, cpu, busy_us, period_us);
        }
    }
    return competitor;
}

void competitor_stop(Competitor *competitor)
{
    if (!competitor) {
        return;
    }
    for (guint i = 0; i < competitor->pids->len; i++) {
        pid_t pid = g_array_index(competitor->pids, pid_t, i);
        int status;

        kill(pid, SIGKILL);
        waitpid(pid, &status, 0);
        if (!WIFSIGNALED(status)) {
            bench_fail("a competitor ended by itself");
        }
    }
    if (competitor->tree) {
        cgroup_remove(competitor->tree, GROUP);
    }
    g_array_unref(competitor->pids);
    g_free(competitor);
}
