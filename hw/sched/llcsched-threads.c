/*
 * LLC-aware vCPU scheduler: the threads that are not vCPUs
 *
 * Nobody tells us when a thread comes or goes, so each look lists the threads
 * of the process.  A new one may be that of a vCPU which is just being made, or
 * an IOThread: only who holds the BQL can tell.  So a look in the scheduler
 * thread asks the main loop, and leaves it alone until the next look.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qemu/atomic.h"
#include "qemu/main-loop.h"
#include "hw/sched/host-threads.h"
#include "llcsched-internal.h"
#include "llcsched-load.h"
#include "llcsched-threads.h"
#include "trace.h"

static void llcsched_other_free(void *opaque)
{
    LlcschedOther *other = opaque;

    if (other) {
        g_free(other->name);
        g_free(other);
    }
}

static void llcsched_other_known(LlcschedOther *other, LlcschedThreadRole role)
{
    other->pending = false;
    other->role = role;
    trace_llcsched_thread_known(other->thread.id, LlcschedThreadRole_str(role),
                                other->name);
}

/*
 * A thread starts with its creator's mask.  vCPU threads make some as well: KVM
 * starts one of its own when a vCPU first runs (kvm-nx-lpage-recovery).
 */
static bool llcsched_other_inherited(Llcsched *s, const HostCpuSet *mask)
{
    LlcschedVcpu *vcpu;

    if (host_cpuset_subset(&s->view->allowed, mask)) {
        return false; /* it lacks nothing */
    }
    QTAILQ_FOREACH(vcpu, &s->vcpus, next) {
        if (vcpu->thread.state == LLCSCHED_MASK_STATE_OURS &&
            host_cpuset_equal(&vcpu->thread.mask, mask)) {
            return true;
        }
    }
    return llcsched_mask_inherited(mask);
}

/* NULL: it has ended already. */
static LlcschedOther *llcsched_other_new(Llcsched *s, int tid)
{
    LlcschedOther *other;
    HostThread info;

    if (!host_thread_read(s->ops->own_root(s), tid, &info)) {
        return NULL;
    }
    other = g_new0(LlcschedOther, 1);
    other->thread.id = tid;
    other->pending = true;
    other->name = g_strdup(info.name);
    trace_llcsched_thread_new(tid, info.name);
    s->ops->get_mask(s, &other->thread, &other->thread.mask);
    if (llcsched_other_inherited(s, &other->thread.mask)) {
        mask_watch_was_set(&other->thread.watch, &other->thread.mask);
        other->thread.state = LLCSCHED_MASK_STATE_OURS;
        other->thread.found = s->limit;
        other->thread.has_found = true;
    }
    if (info.fixed) {
        other->fixed = true;
        other->thread.state = LLCSCHED_MASK_STATE_OUT_OF_REACH;
        llcsched_other_known(other, LLCSCHED_THREAD_ROLE_OTHER);
    } else if (host_thread_is_vhost(&info)) {
        llcsched_other_known(other, LLCSCHED_THREAD_ROLE_VHOST);
    } else if (tid == getpid()) {
        llcsched_other_known(other, LLCSCHED_THREAD_ROLE_MAIN);
    }
    return other;
}

static gint llcsched_compare_ids(gconstpointer a, gconstpointer b)
{
    return *(const int *)a - *(const int *)b;
}

/* The threads of the process but for those of vCPUs, ascending; may be NULL. */
static GArray *llcsched_other_ids(Llcsched *s)
{
    GArray *tids = host_threads_list(s->ops->own_root(s));
    LlcschedVcpu *vcpu;
    guint at;

    if (!tids) {
        return NULL;
    }
    QTAILQ_FOREACH(vcpu, &s->vcpus, next) {
        if (vcpu->thread.id &&
            g_array_binary_search(tids, &vcpu->thread.id,
                                  llcsched_compare_ids, &at)) {
            g_array_remove_index(tids, at);
        }
    }
    return tids;
}

/* Both lists are in the order of ids. */
static void llcsched_threads_list(Llcsched *s)
{
    g_autoptr(GArray) tids = llcsched_other_ids(s);
    g_autoptr(GPtrArray) before = s->others;
    guint old = 0;

    s->others = g_ptr_array_new_with_free_func(llcsched_other_free);
    for (guint i = 0; tids && i < tids->len; i++) {
        int tid = g_array_index(tids, int, i);
        LlcschedOther *other = NULL;

        for (; old < before->len; old++) {
            LlcschedOther *known = g_ptr_array_index(before, old);

            if (known->thread.id >= tid) {
                break;
            }
            trace_llcsched_thread_gone(known->thread.id, known->name);
        }
        if (old < before->len &&
            ((LlcschedOther *)g_ptr_array_index(before,
                                                old))->thread.id == tid) {
            other = g_steal_pointer(&g_ptr_array_index(before, old));
            old++;
        } else {
            other = llcsched_other_new(s, tid);
        }
        if (other) {
            g_ptr_array_add(s->others, other);
        }
    }
}

/* What they are */

static int llcsched_note_iothread(Object *object, void *opaque)
{
    GHashTable *iothreads = opaque;
    IOThread *iothread = (IOThread *)object_dynamic_cast(object,
                                                         TYPE_IOTHREAD);

    if (iothread) {
        g_hash_table_insert(iothreads, GINT_TO_POINTER(iothread->thread_id),
                            iothread_get_id(iothread));
    }
    return 0;
}

/* Ids of threads, and the names of their objects.  BQL held. */
static GHashTable *llcsched_iothreads(void)
{
    GHashTable *iothreads = g_hash_table_new_full(NULL, NULL, NULL, g_free);

    object_child_foreach(object_get_objects_root(), llcsched_note_iothread,
                         iothreads);
    object_child_foreach(object_get_internal_root(), llcsched_note_iothread,
                         iothreads);
    return iothreads;
}

/*
 * Ids of vCPU threads.  NULL: one is just starting, or ending, and its thread
 * cannot be told from others.  BQL held.
 */
static GHashTable *llcsched_vcpu_ids(void)
{
    g_autoptr(GHashTable) ids = g_hash_table_new(NULL, NULL);
    CPUState *cpu;

    CPU_FOREACH(cpu) {
        if (!cpu->created) {
            return NULL;
        }
        g_hash_table_add(ids, GINT_TO_POINTER(cpu->thread_id));
    }
    return g_steal_pointer(&ids);
}

/* A thread names itself when it starts, maybe after it was listed. */
static void llcsched_other_name(Llcsched *s, LlcschedOther *other,
                                const char *iothread)
{
    HostThread info;

    if (iothread) {
        g_free(other->name);
        other->name = g_strdup(iothread);
    } else if (host_thread_read(s->ops->own_root(s), other->thread.id,
                                &info)) {
        g_free(other->name);
        other->name = g_strdup(info.name);
    }
}

/* BQL and lock held. */
static void llcsched_threads_classify(Llcsched *s)
{
    g_autoptr(GHashTable) vcpus = llcsched_vcpu_ids();
    g_autoptr(GHashTable) iothreads = llcsched_iothreads();

    for (guint i = s->others->len; vcpus && i-- > 0;) {
        LlcschedOther *other = g_ptr_array_index(s->others, i);
        gpointer id = GINT_TO_POINTER(other->thread.id);
        const char *iothread = g_hash_table_lookup(iothreads, id);

        if (!other->pending) {
            continue;
        }
        if (g_hash_table_contains(vcpus, id)) {
            g_ptr_array_remove_index(s->others, i);
            continue;
        }
        llcsched_other_name(s, other, iothread);
        llcsched_other_known(other, iothread ? LLCSCHED_THREAD_ROLE_IOTHREAD
                                             : LLCSCHED_THREAD_ROLE_OTHER);
    }
}

static void llcsched_threads_bh(void *opaque)
{
    Llcsched *s = opaque;

    QEMU_LOCK_GUARD(&s->lock);
    llcsched_threads_classify(s);
}

static void llcsched_threads_find(Llcsched *s)
{
    bool pending = false;

    llcsched_threads_list(s);
    for (guint i = 0; i < s->others->len; i++) {
        LlcschedOther *other = g_ptr_array_index(s->others, i);

        pending |= other->pending;
    }
    if (pending && bql_locked()) {
        llcsched_threads_classify(s);
    } else if (pending) {
        qemu_bh_schedule(s->classify);
    }
}

/* Their masks */

/* Nothing is set before it is known what the thread is, and if it can be. */
static bool llcsched_other_is_ours(const LlcschedOther *other)
{
    return !other->pending && !other->fixed;
}

void llcsched_threads_see(Llcsched *s, bool forgive)
{
    llcsched_threads_find(s);
    for (guint i = 0; i < s->others->len; i++) {
        LlcschedOther *other = g_ptr_array_index(s->others, i);

        if (!llcsched_other_is_ours(other)) {
            continue;
        }
        if (forgive) {
            mask_watch_forgive(&other->thread.watch);
        }
        llcsched_mask_see(s, &other->thread);
    }
}

void llcsched_threads_apply(Llcsched *s, bool retry)
{
    const HostCpuSet *mask = &s->planned->emulator.mask;
    bool none = host_cpuset_empty(mask);

    if (s->config.placement == LLCSCHED_PLACEMENT_OFF) {
        return;
    }
    if (!none) {
        llcsched_mask_inheritable(mask);
    }
    for (guint i = 0; i < s->others->len; i++) {
        LlcschedOther *other = g_ptr_array_index(s->others, i);

        if (!llcsched_other_is_ours(other) ||
            llcsched_mask_kept_off(&other->thread)) {
            continue;
        }
        if (none) {
            llcsched_mask_restore(s, &other->thread);
        } else if (llcsched_mask_set(s, &other->thread, mask, retry)) {
            llcsched_mask_inheritable(&other->thread.mask);
        }
    }
}

/*
 * Also of a vCPU whose thread has just been made by one whose mask is ours: it
 * is in the list, not known yet.  What they are does not matter, and cannot be
 * asked: when QEMU ends, the objects that would tell are being freed.
 */
void llcsched_threads_restore(Llcsched *s)
{
    llcsched_threads_list(s);
    for (guint i = 0; i < s->others->len; i++) {
        LlcschedOther *other = g_ptr_array_index(s->others, i);

        llcsched_mask_restore(s, &other->thread);
    }
}

/* What they ran */

void llcsched_threads_add_times(Llcsched *s, const HostTopology *host,
                                uint64_t *run_ns, uint64_t *wait_ns, bool keep)
{
    for (guint i = 0; i < s->others->len; i++) {
        LlcschedOther *other = g_ptr_array_index(s->others, i);
        const ThreadTimes *before = &other->thread.times;
        ThreadTimes now;
        int llc;

        if (other->pending ||
            !s->ops->thread_times(s, &other->thread, &now) ||
            now.run_ns < before->run_ns || now.wait_ns < before->wait_ns ||
            (now.run_ns == before->run_ns && now.wait_ns == before->wait_ns)) {
            continue;
        }
        llc = llcsched_thread_llc(s, host, &other->thread);
        if (llc >= 0) {
            run_ns[llc] += now.run_ns - before->run_ns;
            wait_ns[llc] += now.wait_ns - before->wait_ns;
        }
        if (keep) {
            other->thread.times = now;
        }
    }
}

/* Vhost workers of the kernel */

void llcsched_threads_changed(Llcsched *s)
{
    qatomic_set(&s->kernel_vhost_due, true);
}

/*
 * Finding them takes a read for each process of the host, so it is done only
 * when devices changed, and only if some device has a vhost of the kernel.
 */
void llcsched_threads_read(Llcsched *s)
{
    const char *root = s->ops->own_root(s);
    g_autoptr(GArray) found = NULL;

    if (!qatomic_xchg(&s->kernel_vhost_due, false)) {
        return;
    }
    if (host_threads_use_vhost(root)) {
        found = host_threads_kernel_vhost(root, getpid());
    }
    QEMU_LOCK_GUARD(&s->lock);
    g_clear_pointer(&s->kernel_vhost, g_array_unref);
    s->kernel_vhost = g_steal_pointer(&found);
}

/* Life */

void llcsched_threads_init(Llcsched *s)
{
    QEMU_LOCK_GUARD(&s->lock);
    s->classify = qemu_bh_new(llcsched_threads_bh, s);
    s->others = g_ptr_array_new_with_free_func(llcsched_other_free);
    s->kernel_vhost_due = true;
    llcsched_mask_start(&s->limit);
    llcsched_threads_find(s);
    /* what they ran until now was before the first sample */
    for (guint i = 0; i < s->others->len; i++) {
        LlcschedOther *other = g_ptr_array_index(s->others, i);

        s->ops->thread_times(s, &other->thread, &other->thread.times);
    }
}

void llcsched_threads_fini(Llcsched *s)
{
    if (s->classify) {
        qemu_bh_delete(s->classify);
    }
    g_clear_pointer(&s->others, g_ptr_array_unref);
    g_clear_pointer(&s->kernel_vhost, g_array_unref);
}
