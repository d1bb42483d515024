/*
 * LLC-aware vCPU scheduler: its view of the host, its hands on threads
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef HW_SCHED_LLCSCHED_HOST_H
#define HW_SCHED_LLCSCHED_HOST_H

#include "hw/sched/core-cookie.h"
#include "hw/sched/host-load.h"
#include "llcsched-options.h"

/*
 * How threads are looked at and placed: by the kernel, or in memory under
 * qtest, where vCPU threads never enter a guest and the host is a file tree.
 * All but @allowed are called with the lock held and a live thread.
 */
typedef struct LlcschedHostOps {
    int (*get_mask)(Llcsched *s, LlcschedThread *thread, HostCpuSet *ret_mask);
    int (*set_mask)(Llcsched *s, LlcschedThread *thread,
                    const HostCpuSet *mask);
    bool (*thread_times)(Llcsched *s, const LlcschedThread *thread,
                         ThreadTimes *ret_times);
    uint64_t (*cpu_ns)(LlcschedVcpu *vcpu);
    /* Where /proc of our own threads is, and may be asked without a lock. */
    const char *(*own_root)(Llcsched *s);
    int (*allowed)(const HostTopology *host, const HostCpuSet *limit,
                   HostCpuSet *ret_allowed);
    CoreCookieCall *core_cookie;    /* from any thread; no lock is needed */
} LlcschedHostOps;

extern const LlcschedHostOps llcsched_kernel_ops;
extern const LlcschedHostOps llcsched_qtest_ops;

/* llcsched-qtest-cookie.c: a CoreCookieCall on a kernel made of a file. */
void llcsched_qtest_cookie_init(const char *root);
int llcsched_qtest_cookie(unsigned long cmd, int tid, uint64_t *ret_hash);

/* Looks that must read the same host before it is taken as known. */
#define LLCSCHED_SAME_READS 3

/* The host as it was last read, and what of it may be used. */
typedef struct LlcschedView {
    HostTopology *host;
    int same_reads;             /* how often @host was read alike, in a row */
    char *online_text;
    HostCpuSet allowed;         /* what the kernel lets the process use */
    HostCpuSet candidates;      /* empty: nothing to place on, see @error */
    bool uses_isolated;
    char *error;                /* why @candidates is empty, else NULL */
} LlcschedView;

/*
 * Read the host for @config.  With @known and an unchanged list of CPUs, its
 * topology is shared instead of read again.  A host that cannot be read is an
 * error.  If @strict, so is one that lacks a CPU that the options name, or has
 * none to use; else CPUs that went offline are done without, and a view
 * without candidates says why.
 */
LlcschedView *llcsched_view_read(Llcsched *s, const LlcschedConfig *config,
                                 const LlcschedView *known, bool strict,
                                 Error **errp);
void llcsched_view_free(LlcschedView *view);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(LlcschedView, llcsched_view_free)

#endif
