/*
 * LLC-aware vCPU scheduler: the mask of one thread, and whose it is
 *
 * Masks are inherited: a thread that is made by one whose mask we set starts
 * with that mask, which nobody has chosen for it.  So what we set is kept for
 * comparison, and such a thread, or program, gets what was before.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include <sys/prctl.h>
#include <linux/seccomp.h>
#include "qemu/error-report.h"
#include "hw/sched/host-affinity.h"
#include "llcsched-internal.h"
#include "trace.h"

/*
 * Masks that were set lately on threads that make others.  A thread has its
 * creator's mask for as long as its first look takes to come, and plans change
 * seldom, so that a few are enough.
 */
#define LLCSCHED_GIVEN_MAX 16

/*
 * Of the process, since fork handlers are: they are never taken back.  The lock
 * is innermost, and held over fork(), so that a child finds the whole of it.
 */
static struct {
    QemuMutex lock;
    bool used;
    HostCpuSet base;            /* what the process had before us */
    HostCpuSet masks[LLCSCHED_GIVEN_MAX];
    unsigned n;                 /* masks so far; the oldest are overwritten */
} given;

/* Lock of @given held. */
static bool given_has(const HostCpuSet *mask)
{
    for (int i = 0; i < MIN(given.n, LLCSCHED_GIVEN_MAX); i++) {
        if (host_cpuset_equal(&given.masks[i], mask)) {
            return !host_cpuset_equal(mask, &given.base);
        }
    }
    return false;
}

static void given_before_fork(void)
{
    qemu_mutex_lock(&given.lock);
}

static void given_after_fork(void)
{
    qemu_mutex_unlock(&given.lock);
}

/* Only what is safe to call between fork() and exec(). */
static void given_in_child(void)
{
    HostCpuSet mask;

    if (given.used && host_affinity_get(0, &mask) == 0 && given_has(&mask)) {
        host_affinity_set(0, &given.base);
    }
    qemu_mutex_unlock(&given.lock);
}

void llcsched_mask_start(const HostCpuSet *base)
{
    static gsize once;

    if (g_once_init_enter(&once)) {
        qemu_mutex_init(&given.lock);
        pthread_atfork(given_before_fork, given_after_fork, given_in_child);
        g_once_init_leave(&once, 1);
    }
    QEMU_LOCK_GUARD(&given.lock);
    given.base = *base;
    given.used = true;
}

void llcsched_mask_inheritable(const HostCpuSet *mask)
{
    QEMU_LOCK_GUARD(&given.lock);
    if (!given_has(mask)) {
        given.masks[given.n++ % LLCSCHED_GIVEN_MAX] = *mask;
    }
}

bool llcsched_mask_inherited(const HostCpuSet *mask)
{
    QEMU_LOCK_GUARD(&given.lock);
    return given.used && given_has(mask);
}

void llcsched_mask_disinherit(Llcsched *s, LlcschedThread *thread)
{
    HostCpuSet mask;

    if (s->ops->get_mask(s, thread, &mask) == 0 &&
        llcsched_mask_inherited(&mask)) {
        s->ops->set_mask(s, thread, &s->limit);
    }
}

bool llcsched_mask_kept_off(const LlcschedThread *thread)
{
    return thread->state == LLCSCHED_MASK_STATE_FOREIGN ||
           thread->state == LLCSCHED_MASK_STATE_CONTESTED;
}

static LlcschedMaskState llcsched_mask_state_of(MaskOwner owner)
{
    switch (owner) {
    case MASK_OURS:
        return LLCSCHED_MASK_STATE_OURS;
    case MASK_FOREIGN:
        return LLCSCHED_MASK_STATE_FOREIGN;
    case MASK_CONTESTED:
        return LLCSCHED_MASK_STATE_CONTESTED;
    default:
        return LLCSCHED_MASK_STATE_UNSET;
    }
}

LlcschedMaskNeed llcsched_mask_see(Llcsched *s, LlcschedThread *thread)
{
    LlcschedMaskState before = thread->state;
    bool kept_off = llcsched_mask_kept_off(thread);
    LlcschedMaskNeed need = { };
    HostCpuSet mask;
    MaskOwner owner;

    if (s->ops->get_mask(s, thread, &mask)) {
        return need; /* only a thread that is ending cannot be asked */
    }
    owner = mask_watch_look(&thread->watch, &mask, &s->view->allowed);
    thread->state = llcsched_mask_state_of(owner);
    if (owner == MASK_UNSET && before == LLCSCHED_MASK_STATE_FAILED) {
        thread->state = before;
    }
    if (thread->state != before || !host_cpuset_equal(&thread->mask, &mask)) {
        g_autofree char *list = host_cpuset_to_list(&mask);

        trace_llcsched_mask_state(thread->id, list,
                                  LlcschedMaskState_str(thread->state));
    }
    if (kept_off != llcsched_mask_kept_off(thread) ||
        (kept_off && !host_cpuset_equal(&thread->mask, &mask))) {
        need.plan = true;
    }
    if (owner == MASK_UNSET || owner == MASK_RESET) {
        need.apply = true;
    }
    thread->mask = mask;
    return need;
}

static void llcsched_mask_warn(Llcsched *s, const char *list, int ret)
{
    if (ret == -EPERM && prctl(PR_GET_SECCOMP) == SECCOMP_MODE_FILTER) {
        llcsched_warn(s, "vCPU threads cannot be placed: setting their CPU "
                      "masks is forbidden by a seccomp filter; start QEMU "
                      "without -sandbox resourcecontrol=deny (libvirt sets "
                      "it: see docs/system/llcsched.rst)");
    } else if (ret == -EPERM) {
        llcsched_warn(s, "vCPU threads cannot be placed: setting their CPU "
                      "masks is forbidden (EPERM); allow sched_setaffinity "
                      "in the security policy that confines QEMU");
    } else if (ret == -EINVAL) {
        llcsched_warn(s, "no CPU of %s may be used by this thread: its "
                      "cpuset cgroup is narrower than the process's; "
                      "widen that, or name its CPUs in 'cpus'", list);
    } else {
        llcsched_warn(s, "setting the CPU mask %s failed: %s", list,
                      strerror(-ret));
    }
}

bool llcsched_mask_set(Llcsched *s, LlcschedThread *thread,
                       const HostCpuSet *mask, bool retry)
{
    g_autofree char *list = NULL;
    int ret;

    if (thread->state == LLCSCHED_MASK_STATE_OURS &&
        host_cpuset_equal(&thread->mask, mask)) {
        return false;
    }
    if (!retry && thread->failed_errno &&
        host_cpuset_equal(&thread->failed_mask, mask)) {
        return false; /* it would fail again */
    }
    if (!thread->has_found) {
        thread->found = thread->mask;
        thread->has_found = true;
    }
    list = host_cpuset_to_list(mask);
    ret = s->ops->set_mask(s, thread, mask);
    trace_llcsched_set_mask(thread->id, list, ret);
    if (ret == 0) {
        HostCpuSet granted = *mask;

        if (s->ops->get_mask(s, thread, &granted) == 0) {
            thread->mask = granted;
        }
        mask_watch_was_set(&thread->watch, &granted);
        thread->state = LLCSCHED_MASK_STATE_OURS;
        thread->failed_errno = 0;
        return true;
    }
    if (ret == -ESRCH) {
        return false; /* ending: whoever listed it takes it out */
    }
    thread->state = LLCSCHED_MASK_STATE_FAILED;
    thread->failed_errno = -ret;
    thread->failed_mask = *mask;
    llcsched_mask_warn(s, list, ret);
    return false;
}

bool llcsched_mask_restore(Llcsched *s, LlcschedThread *thread)
{
    int ret;

    if (!thread->id || !thread->has_found ||
        thread->state != LLCSCHED_MASK_STATE_OURS) {
        return false;
    }
    ret = s->ops->set_mask(s, thread, &thread->found);
    if (ret && ret != -ESRCH) {
        g_autofree char *list = host_cpuset_to_list(&thread->found);

        llcsched_warn(s, "the mask %s of thread %d could not be restored: %s",
                      list, thread->id, strerror(-ret));
        return false;
    }
    thread->mask = thread->found;
    thread->has_found = false;
    thread->state = LLCSCHED_MASK_STATE_UNSET;
    memset(&thread->watch, 0, sizeof(thread->watch));
    return true;
}
