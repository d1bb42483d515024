/*
 * LLC-aware vCPU scheduler: what others run, and what our threads did
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "llcsched-internal.h"
#include "llcsched-load.h"
#include "llcsched-threads.h"

/*
 * /proc/stat counts ticks of 10 ms on most kernels: over less than ten of
 * them a percentage says little.
 */
#define LLCSCHED_WINDOW_MIN_NS (100 * SCALE_MS)

void llcsched_spread_own(const LlcschedThread *thread,
                         const HostTopology *host, const ThreadTimes *now,
                         uint64_t *run_ns, uint64_t *wait_ns)
{
    int cpus = host_cpuset_count_and(&thread->mask, &host->online);
    uint64_t run = now->run_ns - thread->times.run_ns;
    uint64_t wait = now->wait_ns - thread->times.wait_ns;

    if (!cpus || now->run_ns < thread->times.run_ns ||
        now->wait_ns < thread->times.wait_ns) {
        return;
    }
    for (int i = 0; i < host->n_llcs; i++) {
        int here = host_cpuset_count_and(&thread->mask, &host->llcs[i].cpus);

        run_ns[i] += run / cpus * here;
        wait_ns[i] += wait / cpus * here;
    }
}

HostLoad *llcsched_measure(Llcsched *s, const HostTopology *host,
                           HostLoadSample *sample, bool keep)
{
    g_autofree uint64_t *run_ns = g_new0(uint64_t, host->n_llcs);
    g_autofree uint64_t *wait_ns = g_new0(uint64_t, host->n_llcs);
    LlcschedVcpu *vcpu;

    if (s->sample &&
        sample->when_ns - s->sample->when_ns < LLCSCHED_WINDOW_MIN_NS) {
        return NULL;
    }
    QTAILQ_FOREACH(vcpu, &s->vcpus, next) {
        ThreadTimes now;

        if (!vcpu->thread.id ||
            !s->ops->thread_times(s, &vcpu->thread, &now)) {
            continue;
        }
        llcsched_spread_own(&vcpu->thread, host, &now, run_ns, wait_ns);
        if (keep) {
            vcpu->thread.times = now;
        }
    }
    llcsched_threads_add_times(s, host, run_ns, wait_ns, keep);
    return s->sample ? host_load_between(host, s->sample, sample,
                                         run_ns, wait_ns) : NULL;
}
