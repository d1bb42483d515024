/*
 * LLC-aware vCPU scheduler: its view of the host and its hands on threads
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "hw/sched/host-affinity.h"
#include "llcsched-internal.h"

static int llcsched_kernel_get_mask(Llcsched *s, LlcschedThread *thread,
                                    HostCpuSet *ret_mask)
{
    return host_affinity_get(thread->id, ret_mask);
}

static int llcsched_kernel_set_mask(Llcsched *s, LlcschedThread *thread,
                                    const HostCpuSet *mask)
{
    return host_affinity_set(thread->id, mask);
}

/* Our own threads are in /proc whatever tree the host is read from. */
static const char *llcsched_kernel_own_root(Llcsched *s)
{
    return "";
}

static bool llcsched_kernel_thread_times(Llcsched *s,
                                         const LlcschedThread *thread,
                                         ThreadTimes *ret_times)
{
    return host_load_thread("", thread->id, ret_times);
}

static uint64_t llcsched_kernel_cpu_ns(LlcschedVcpu *vcpu)
{
    struct timespec ts;

    /* fails only for a thread that is gone */
    if (clock_gettime(vcpu->clock, &ts)) {
        return 0;
    }
    return ts.tv_sec * NANOSECONDS_PER_SECOND + ts.tv_nsec;
}

static int llcsched_kernel_allowed(const HostTopology *host,
                                   const HostCpuSet *limit,
                                   HostCpuSet *ret_allowed)
{
    return host_affinity_probe(limit, ret_allowed);
}

const LlcschedHostOps llcsched_kernel_ops = {
    .get_mask = llcsched_kernel_get_mask,
    .set_mask = llcsched_kernel_set_mask,
    .thread_times = llcsched_kernel_thread_times,
    .cpu_ns = llcsched_kernel_cpu_ns,
    .own_root = llcsched_kernel_own_root,
    .allowed = llcsched_kernel_allowed,
    .core_cookie = core_cookie_prctl,
};

/* A new thread may run on every online CPU of the tree. */
static int llcsched_qtest_get_mask(Llcsched *s, LlcschedThread *thread,
                                   HostCpuSet *ret_mask)
{
    if (host_cpuset_empty(&thread->sim_mask)) {
        thread->sim_mask = s->view->host->online;
    }
    *ret_mask = thread->sim_mask;
    host_cpuset_and(ret_mask, &s->view->host->online);
    return 0;
}

static int llcsched_qtest_set_mask(Llcsched *s, LlcschedThread *thread,
                                   const HostCpuSet *mask)
{
    thread->sim_mask = *mask;
    return 0;
}

/* Threads that are not vCPUs are what the tree says. */
static const char *llcsched_qtest_own_root(Llcsched *s)
{
    return s->sysfs_root;
}

/* What x-vcpu-usage says, while the gate is open and the VM runs. */
static uint64_t llcsched_qtest_cpu_ns(LlcschedVcpu *vcpu)
{
    const GArray *usage = vcpu->sched->config.usage;
    int64_t now_ns = llcsched_now_ns();
    uint32_t percent = usage && vcpu->index < usage->len
                       ? g_array_index(usage, uint32_t, vcpu->index) : 0;

    if (vcpu->sched->running && !qatomic_read(&vcpu->cpu->gate)) {
        vcpu->sim_run_ns += (now_ns - vcpu->sim_when_ns) * percent / 100;
    }
    vcpu->sim_when_ns = now_ns;
    return vcpu->sim_run_ns;
}

/* What the tree has of it; of a vCPU else what x-vcpu-usage says. */
static bool llcsched_qtest_thread_times(Llcsched *s,
                                        const LlcschedThread *thread,
                                        ThreadTimes *ret_times)
{
    LlcschedVcpu *vcpu;

    if (host_load_thread(s->sysfs_root, thread->id, ret_times)) {
        return true;
    }
    QTAILQ_FOREACH(vcpu, &s->vcpus, next) {
        if (&vcpu->thread == thread && s->config.usage) {
            *ret_times = (ThreadTimes) {
                .run_ns = llcsched_qtest_cpu_ns(vcpu), .waits_known = true,
            };
            return true;
        }
    }
    return false;
}

static int llcsched_qtest_allowed(const HostTopology *host,
                                  const HostCpuSet *limit,
                                  HostCpuSet *ret_allowed)
{
    *ret_allowed = host->online;
    return 0;
}

const LlcschedHostOps llcsched_qtest_ops = {
    .get_mask = llcsched_qtest_get_mask,
    .set_mask = llcsched_qtest_set_mask,
    .thread_times = llcsched_qtest_thread_times,
    .cpu_ns = llcsched_qtest_cpu_ns,
    .own_root = llcsched_qtest_own_root,
    .allowed = llcsched_qtest_allowed,
    .core_cookie = llcsched_qtest_cookie,
};

void llcsched_view_free(LlcschedView *view)
{
    if (view) {
        host_topology_unref(view->host);
        g_free(view->online_text);
        g_free(view->error);
        g_free(view);
    }
}

/*
 * A container without /sys, or a policy that hides it, must not cost the user
 * the guest: the CPUs that the kernel lets us use are a host of one LLC.
 */
static HostTopology *llcsched_flat_host(Llcsched *s, const char *why)
{
    g_autofree char *note = NULL;
    HostCpuSet allowed;

    if (*s->sysfs_root || host_affinity_probe(&s->limit, &allowed) ||
        host_cpuset_empty(&allowed)) {
        return NULL;
    }
    note = g_strdup_printf("the host's topology cannot be read (%s): its CPUs "
                           "are taken for one LLC; let QEMU read "
                           "/sys/devices/system/cpu", why);
    return host_topology_new_flat(&allowed, note);
}

/*
 * Reading hundreds of CPUs takes milliseconds, and they seldom change.  But a
 * CPU is online before its neighbors' caches and cores count it: what is read
 * meanwhile is torn, and the list of online CPUs will not tell.  So keep only
 * what was read alike several times.
 */
static HostTopology *llcsched_view_topology(Llcsched *s, LlcschedView *view,
                                            const LlcschedView *known,
                                            Error **errp)
{
    g_autoptr(GError) err = NULL;
    bool same_cpus = known && known->online_text && view->online_text &&
                     g_str_equal(known->online_text, view->online_text);
    HostTopology *host;

    if (same_cpus && known->same_reads >= LLCSCHED_SAME_READS) {
        view->same_reads = known->same_reads;
        return host_topology_ref(known->host);
    }
    host = host_topology_read(s->sysfs_root, &err);
    if (!host) {
        host = llcsched_flat_host(s, err->message);
    }
    if (!host) {
        error_setg(errp, "the host's topology cannot be read: %s",
                   err->message);
        return NULL;
    }
    view->same_reads = same_cpus && host_topology_equal(host, known->host)
                       ? known->same_reads + 1 : 1;
    return host;
}

LlcschedView *llcsched_view_read(Llcsched *s, const LlcschedConfig *config,
                                 const LlcschedView *known, bool strict,
                                 Error **errp)
{
    g_autoptr(LlcschedView) view = g_new0(LlcschedView, 1);
    g_autoptr(GError) err = NULL;
    HostCpuSet cpus = config->cpus;
    int ret;

    view->online_text = host_topology_online_text(s->sysfs_root);
    view->host = llcsched_view_topology(s, view, known, errp);
    if (!view->host) {
        return NULL;
    }
    ret = s->ops->allowed(view->host, &s->limit, &view->allowed);
    if (ret) {
        error_setg_errno(errp, -ret,
                         "the CPUs that this process may use cannot be read");
        return NULL;
    }
    if (!strict && host_cpuset_intersects(&cpus, &view->host->online)) {
        host_cpuset_and(&cpus, &view->host->online);
    }
    if (!placement_candidates(view->host, &view->allowed,
                              config->has_cpus ? &cpus : NULL,
                              &view->candidates, &view->uses_isolated, &err)) {
        if (strict) {
            error_setg(errp, "%s", err->message);
            return NULL;
        }
        view->error = g_strdup(err->message);
    }
    return g_steal_pointer(&view);
}
