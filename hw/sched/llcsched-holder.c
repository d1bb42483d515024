/*
 * LLC-aware vCPU scheduler: threads that hold core scheduling cookies
 *
 * Linux gives a cookie to threads, not a name to cookies: a vCPU joins one by
 * taking it from a thread that has it.  That must not be a vCPU, which may be
 * unplugged, its id then another thread's.  And the last thread that drops a
 * cookie makes the kernel switch core scheduling off, where it had faults
 * (CVE-2026-89520).  So each cookie has a thread that does nothing else, until
 * the process ends.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "llcsched-holder.h"
#include "llcsched-internal.h"

/* They are never taken down, so whoever adds and deletes has an end. */
#define LLCSCHED_HOLDERS_MAX 64

struct LlcschedHolder {
    char *name;                 /* only compared */
    CoreCookieCall *call;
    QemuThread thread;
    int tid;
    QemuMutex lock;             /* innermost; guards what follows */
    QemuCond cond;
    bool create;                /* the thread is to make a cookie */
    CoreCookie made;            /* what came of it */
    QSLIST_ENTRY(LlcschedHolder) next;
};

/* Guards the list; holders are added and stay. */
static GMutex holders_lock;
static QSLIST_HEAD(, LlcschedHolder) holders =
    QSLIST_HEAD_INITIALIZER(holders);
static int n_holders;

static void *llcsched_holder_thread(void *opaque)
{
    LlcschedHolder *holder = opaque;

    qemu_mutex_lock(&holder->lock);
    holder->tid = qemu_get_thread_id();
    for (;;) {
        qemu_cond_broadcast(&holder->cond);
        while (!holder->create) {
            qemu_cond_wait(&holder->cond, &holder->lock);
        }
        holder->made = core_cookie_create(holder->call);
        holder->create = false;
    }
    g_assert_not_reached();
}

static LlcschedHolder *llcsched_holder_new(const char *cookie,
                                           CoreCookieCall *call)
{
    LlcschedHolder *holder = g_new0(LlcschedHolder, 1);

    holder->name = g_strdup(cookie);
    holder->call = call;
    qemu_mutex_init(&holder->lock);
    qemu_cond_init(&holder->cond);
    qemu_thread_create(&holder->thread, "llcsched-cookie",
                       llcsched_holder_thread, holder, QEMU_THREAD_DETACHED);
    WITH_QEMU_LOCK_GUARD(&holder->lock) {
        while (!holder->tid) {
            qemu_cond_wait(&holder->cond, &holder->lock);
        }
    }
    return holder;
}

LlcschedHolder *llcsched_holder_get(const char *cookie, CoreCookieCall *call,
                                    Error **errp)
{
    LlcschedHolder *holder;

    QSLIST_FOREACH(holder, &holders, next) {
        if (g_str_equal(holder->name, cookie)) {
            return holder;
        }
    }
    if (n_holders == LLCSCHED_HOLDERS_MAX) {
        error_setg(errp, "there were %d different cookies in this process, "
                   "one for each is kept: use one of them again",
                   LLCSCHED_HOLDERS_MAX);
        return NULL;
    }
    holder = llcsched_holder_new(cookie, call);
    g_mutex_lock(&holders_lock);
    QSLIST_INSERT_HEAD(&holders, holder, next);
    n_holders++;
    g_mutex_unlock(&holders_lock);
    return holder;
}

CoreCookie llcsched_holder_check(LlcschedHolder *holder, bool create)
{
    CoreCookie now = core_cookie_get(holder->call, holder->tid);

    QEMU_LOCK_GUARD(&holder->lock);
    if (now.verdict != CORE_COOKIE_OK ||
        (now.hash && now.hash == holder->made.hash)) {
        /* with SMT off it cannot be read, but is kept by the kernel */
        return now;
    }
    if (!create) {
        return (CoreCookie) { .verdict = CORE_COOKIE_SCHED_EXT };
    }
    holder->create = true;
    qemu_cond_broadcast(&holder->cond);
    while (holder->create) {
        qemu_cond_wait(&holder->cond, &holder->lock);
    }
    return holder->made;
}

int llcsched_holder_tid(const LlcschedHolder *holder)
{
    return holder->tid;
}

uint64_t llcsched_holder_hash(LlcschedHolder *holder)
{
    QEMU_LOCK_GUARD(&holder->lock);
    return holder->made.verdict == CORE_COOKIE_OK ? holder->made.hash : 0;
}

bool llcsched_holder_made(uint64_t hash)
{
    LlcschedHolder *holder;
    bool made = false;

    g_mutex_lock(&holders_lock);
    QSLIST_FOREACH(holder, &holders, next) {
        made |= hash && llcsched_holder_hash(holder) == hash;
    }
    g_mutex_unlock(&holders_lock);
    return made;
}
