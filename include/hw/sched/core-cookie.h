/*
 * Core scheduling cookies of threads: Linux' PR_SCHED_CORE
 *
 * One function per verb of the kernel, one place that turns its errno into a
 * verdict and the verdict into a sentence.  The call itself is handed in, so
 * that every errno can be tested.
 *
 * The order in which the kernel fails (kernel/sched/core_sched.c) matters:
 * without CONFIG_SCHED_CORE everything is EINVAL; with it, but without an
 * online SMT sibling, everything is ENODEV, before arguments are looked at.
 * There is no verb that clears: sharing with a thread that has no cookie
 * succeeds and takes the cookie away.  So success proves nothing, and every
 * join is read back.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef HW_SCHED_CORE_COOKIE_H
#define HW_SCHED_CORE_COOKIE_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * PR_SCHED_CORE with the verb @cmd (PR_SCHED_CORE_GET ...) and the scope of a
 * thread on @tid (0: the caller).  0, or a negative errno with @ret_hash
 * untouched.  @ret_hash is for GET alone: what the kernel shows instead of the
 * cookie, equal for equal cookies, 0 for none.
 */
typedef int CoreCookieCall(unsigned long cmd, int tid, uint64_t *ret_hash);

/* The running kernel. */
int core_cookie_prctl(unsigned long cmd, int tid, uint64_t *ret_hash);

typedef enum CoreCookieVerdict {
    CORE_COOKIE_OK,
    CORE_COOKIE_NOT_NEEDED,     /* ENODEV: no siblings online now */
    CORE_COOKIE_UNSUPPORTED,    /* EINVAL: the kernel has none of it */
    CORE_COOKIE_GONE,           /* ESRCH: no such thread in our PID namespace */
    CORE_COOKIE_DENIED,         /* EPERM: ptrace rules, or a seccomp filter */
    CORE_COOKIE_NO_MEMORY,      /* ENOMEM */
    CORE_COOKIE_UNPROVEN,       /* it succeeded, but reads back otherwise */
    CORE_COOKIE_FAILED,         /* anything else */
    /* what no errno says, but callers see and explain alike */
    CORE_COOKIE_SCHED_EXT,      /* not tried: it would hang the host */
    CORE_COOKIE_MERGED,         /* set from outside, for several of ours */
} CoreCookieVerdict;

/* What @err (0 or a negative errno of a CoreCookieCall) means. */
CoreCookieVerdict core_cookie_verdict(int err);

/* A fault with it: what happened and what to do; a literal without newline. */
const char *core_cookie_explain(CoreCookieVerdict verdict);

/*
 * What the verbs below leave behind.  @err: 0 or a negative errno; 0 with a
 * verdict that is a fault means that the kernel said success.
 */
typedef struct CoreCookie {
    CoreCookieVerdict verdict;
    int err;
    uint64_t hash;              /* as read back last; 0: none or not known */
} CoreCookie;

/* Read the cookie of @tid (0: the caller; else a thread that may be read). */
CoreCookie core_cookie_get(CoreCookieCall *call, int tid);

/* Give the calling thread a cookie that nobody else has, and read it back. */
CoreCookie core_cookie_create(CoreCookieCall *call);

/*
 * Give the calling thread the cookie of @tid, and read it back: OK only if it
 * is @expected, which is not 0.
 */
CoreCookie core_cookie_join(CoreCookieCall *call, int tid, uint64_t expected);

/* Give the calling thread what @tid has, be it nothing. */
CoreCookie core_cookie_copy(CoreCookieCall *call, int tid);

/*
 * What a user may call a cookie: 1 to CORE_COOKIE_NAME_MAX printable ASCII
 * characters.
 */
#define CORE_COOKIE_NAME_MAX 64
bool core_cookie_name_valid(const char *name);

#endif
