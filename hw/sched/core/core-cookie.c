/*
 * Core scheduling cookies of threads: Linux' PR_SCHED_CORE
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <errno.h>
#include <string.h>
#include <sys/prctl.h>

#include "hw/sched/core-cookie.h"

/* Headers older than Linux 5.14 and 5.16 lack these. */
#ifndef PR_SCHED_CORE
#define PR_SCHED_CORE 62
#define PR_SCHED_CORE_GET 0
#define PR_SCHED_CORE_CREATE 1
#define PR_SCHED_CORE_SHARE_FROM 3
#endif
#ifndef PR_SCHED_CORE_SCOPE_THREAD
#define PR_SCHED_CORE_SCOPE_THREAD 0
#endif

int core_cookie_prctl(unsigned long cmd, int tid, uint64_t *ret_hash)
{
    unsigned long hash = 0;
    unsigned long where = cmd == PR_SCHED_CORE_GET ? (unsigned long)&hash : 0;

    /* prctl() is variadic, and the kernel wants unused arguments to be 0 */
    if (prctl(PR_SCHED_CORE, cmd, (unsigned long)tid,
              (unsigned long)PR_SCHED_CORE_SCOPE_THREAD, where) < 0) {
        return -errno;
    }
    if (cmd == PR_SCHED_CORE_GET) {
        *ret_hash = hash;
    }
    return 0;
}

CoreCookieVerdict core_cookie_verdict(int err)
{
    switch (-err) {
    case 0:
        return CORE_COOKIE_OK;
    case ENODEV:
        return CORE_COOKIE_NOT_NEEDED;
    case EINVAL:
        return CORE_COOKIE_UNSUPPORTED;
    case ESRCH:
        return CORE_COOKIE_GONE;
    case EPERM:
        return CORE_COOKIE_DENIED;
    case ENOMEM:
        return CORE_COOKIE_NO_MEMORY;
    default:
        return CORE_COOKIE_FAILED;
    }
}

const char *core_cookie_explain(CoreCookieVerdict verdict)
{
    switch (verdict) {
    case CORE_COOKIE_OK:
        return "the cookie is set and was read back";
    case CORE_COOKIE_NOT_NEEDED:
        return "no core has two online siblings, so none is shared";
    case CORE_COOKIE_UNSUPPORTED:
        return "this kernel has no core scheduling (Linux 5.14 and later with "
               "CONFIG_SCHED_CORE have it): boot one that has, turn SMT off "
               "(echo off > /sys/devices/system/cpu/smt/control), have the "
               "cookies of this VM take turns by trust-backend=gate, or accept "
               "less by trust=best-effort";
    case CORE_COOKIE_GONE:
        return "the thread that the cookie is shared from is gone, or not in "
               "QEMU's PID namespace";
    case CORE_COOKIE_DENIED:
        return "the kernel or a seccomp filter denies PR_SCHED_CORE: allow "
               "prctl(62) in the policy that confines QEMU";
    case CORE_COOKIE_NO_MEMORY:
        return "the kernel has no memory for a cookie";
    case CORE_COOKIE_UNPROVEN:
        return "the kernel said that a cookie was set, but another one, or "
               "none, reads back: somebody changed it meanwhile, or the "
               "kernel cannot show it yet (random.trust_cpu=on)";
    case CORE_COOKIE_SCHED_EXT:
        return "a sched_ext scheduler is loaded, with which cookies hang "
               "hosts: unload it, turn SMT off, or accept less by "
               "trust=best-effort";
    case CORE_COOKIE_MERGED:
        return "one cookie was set from outside for vCPUs whose cookies "
               "differ: let nobody else set any (libvirt: sched_core = "
               "\"none\" in qemu.conf)";
    default:
        return "PR_SCHED_CORE failed";
    }
}

static CoreCookie core_cookie_result(int err)
{
    return (CoreCookie) { .verdict = core_cookie_verdict(err), .err = err };
}

CoreCookie core_cookie_get(CoreCookieCall *call, int tid)
{
    uint64_t hash = 0;
    CoreCookie got = core_cookie_result(call(PR_SCHED_CORE_GET, tid, &hash));

    got.hash = got.err ? 0 : hash;
    return got;
}

CoreCookie core_cookie_create(CoreCookieCall *call)
{
    int err = call(PR_SCHED_CORE_CREATE, 0, NULL);
    CoreCookie got = err ? core_cookie_result(err) : core_cookie_get(call, 0);

    if (got.verdict == CORE_COOKIE_OK && !got.hash) {
        got.verdict = CORE_COOKIE_UNPROVEN;
    }
    return got;
}

CoreCookie core_cookie_copy(CoreCookieCall *call, int tid)
{
    int err = call(PR_SCHED_CORE_SHARE_FROM, tid, NULL);

    return err ? core_cookie_result(err) : core_cookie_get(call, 0);
}

CoreCookie core_cookie_join(CoreCookieCall *call, int tid, uint64_t expected)
{
    CoreCookie got = core_cookie_copy(call, tid);

    if (got.verdict == CORE_COOKIE_OK && (!expected || got.hash != expected)) {
        got.verdict = CORE_COOKIE_UNPROVEN;
    }
    return got;
}

bool core_cookie_name_valid(const char *name)
{
    size_t len = strnlen(name, CORE_COOKIE_NAME_MAX + 1);

    for (size_t i = 0; i < len; i++) {
        if (!g_ascii_isprint(name[i])) {
            return false;
        }
    }
    return len > 0 && len <= CORE_COOKIE_NAME_MAX;
}
