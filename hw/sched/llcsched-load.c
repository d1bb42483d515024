/*
 * LLC-aware vCPU scheduler: what others run, and what our threads did
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "hw/sched/host-threads.h"
#include "llcsched-balance.h"
#include "llcsched-internal.h"
#include "llcsched-load.h"
#include "llcsched-threads.h"

/*
 * /proc/stat counts ticks of 10 ms on most kernels: over less than ten of
 * them a percentage says little.
 */
#define LLCSCHED_WINDOW_MIN_NS (100 * SCALE_MS)

int llcsched_thread_llc(Llcsched *s, const HostTopology *host,
                        const LlcschedThread *thread)
{
    int cpu = host_cpuset_next(&thread->mask, 0);
    int llc = cpu >= 0 ? host_topology_llc_of(host, cpu) : -1;
    HostThread info;

    if (llc >= 0 && host_cpuset_subset(&thread->mask, &host->llcs[llc].cpus)) {
        return llc;
    }
    if (!host_thread_read(s->ops->own_root(s), thread->id, &info)) {
        return -1;
    }
    return host_topology_llc_of(host, info.cpu);
}

/*
 * Where it cannot be seen on which of its LLCs it ran, each counts in
 * proportion to the CPUs of its mask.  Lock held.
 */
static void llcsched_add_own(Llcsched *s, const LlcschedThread *thread,
                             const HostTopology *host, const ThreadTimes *now,
                             uint64_t *run_ns, uint64_t *wait_ns)
{
    int cpus = host_cpuset_count_and(&thread->mask, &host->online);
    uint64_t run = now->run_ns - thread->times.run_ns;
    uint64_t wait = now->wait_ns - thread->times.wait_ns;
    int llc;

    if (!cpus || now->run_ns < thread->times.run_ns ||
        now->wait_ns < thread->times.wait_ns || !(run | wait)) {
        return;
    }
    llc = llcsched_thread_llc(s, host, thread);
    if (llc >= 0) {
        run_ns[llc] += run;
        wait_ns[llc] += wait;
        return;
    }
    for (int i = 0; i < host->n_llcs; i++) {
        int here = host_cpuset_count_and(&thread->mask, &host->llcs[i].cpus);

        run_ns[i] += run / cpus * here;
        wait_ns[i] += wait / cpus * here;
    }
}

/* The next window of a vCPU begins.  @times: NULL, cannot be read. */
static void llcsched_keep_vcpu(Llcsched *s, LlcschedVcpu *vcpu,
                               const ThreadTimes *times, int64_t now_ns)
{
    if (s->history && vcpu->index >= 0 &&
        vcpu->index < load_history_n_vcpus(s->history)) {
        load_history_vcpu(s->history, vcpu->index, now_ns, vcpu->thread.id,
                          times);
    }
    if (times) {
        llcsched_balance_note_run(s, vcpu, times);
        vcpu->thread.times = *times;
        vcpu->has_halts = vcpu_halts(vcpu->cpu, &vcpu->halts);
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
        bool readable = vcpu->thread.id &&
                        s->ops->thread_times(s, &vcpu->thread, &now);

        if (readable) {
            llcsched_add_own(s, &vcpu->thread, host, &now, run_ns, wait_ns);
        }
        if (keep) {
            llcsched_keep_vcpu(s, vcpu, readable ? &now : NULL,
                               sample->when_ns);
        }
    }
    llcsched_threads_add_times(s, host, run_ns, wait_ns, keep);
    return s->sample ? host_load_between(host, s->sample, sample,
                                         run_ns, wait_ns) : NULL;
}

void llcsched_take_load(Llcsched *s, HostLoadSample **sample, const char *note)
{
    HostLoad *load = llcsched_measure(s, s->view->host, *sample, true);

    if (load) {
        host_load_free(s->load);
        s->load = load;
        if (s->history) {
            load_history_llcs(s->history, (*sample)->when_ns, load);
        }
    }
    if (load || !s->sample) {
        host_load_sample_free(s->sample);
        s->sample = g_steal_pointer(sample);
    }
    /* which source there is, the query says; none is worth a warning */
    if (note && s->sample->source == HOST_LOAD_NONE) {
        llcsched_warn(s, "%s", note);
    }
}
