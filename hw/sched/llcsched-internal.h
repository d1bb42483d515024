/*
 * LLC-aware vCPU scheduler: the object and its vCPUs, as its files see them
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef HW_SCHED_LLCSCHED_INTERNAL_H
#define HW_SCHED_LLCSCHED_INTERNAL_H

#include "qemu/lockable.h"
#include "qemu/notify.h"
#include "qemu/queue.h"
#include "qemu/thread.h"
#include "qemu/timer.h"
#include "hw/core/cpu.h"
#include "hw/qdev-core.h"
#include "system/iothread.h"
#include "system/runstate.h"
#include "hw/sched/balance.h"
#include "hw/sched/bandwidth.h"
#include "hw/sched/guest-topology.h"
#include "hw/sched/host-kernel.h"
#include "llcsched-alarm.h"
#include "llcsched-host.h"
#include "llcsched-mask.h"
#include "llcsched-options.h"
#include "llcsched-plan.h"
#include "llcsched-quota.h"
#include "llcsched-trust.h"
#include "llcsched-turns.h"

/*
 * A vCPU and its thread.  Listed from the realization of its device to its
 * unrealization (under the BQL).  @thread.id is set in the thread itself and
 * cleared, under the lock, by its exit notifier: while the lock is held and
 * @thread.id is not 0, the thread lives and its id is not another's.
 */
struct LlcschedVcpu {
    Llcsched *sched;
    CPUState *cpu;
    int index;
    LlcschedThread thread;
    Notifier thread_exit;

    bool has_halts;             /* KVM counts them */
    VcpuHalts halts;            /* at the last look */
    int host_llc;               /* of the last mask that was set, or -1 */
    uint64_t moves;

    LlcschedGroup *group;       /* NULL: in none, never gated by quota */
    clockid_t clock;            /* CPU time of its thread */
    bool charging;              /* @charged_ns holds */
    uint64_t charged_ns;        /* CPU time up to which it was charged */
    uint64_t throttled_ns;      /* out of the guest, up to @closed_ns */
    int64_t closed_ns;          /* since then out again, if its gate is shut */

    /* under the BQL, but for @steal_asked_ns; the lock is not needed */
    bool stolen;                /* was proven out, and wanted to run */
    uint64_t stolen_from_ns;    /* throttled time when that was */
    uint64_t steal_due_ns;      /* to be told to the guest */
    uint64_t steal_ns;          /* told */
    LlcschedStealState steal_state; /* atomic: the thread that looks reads it */
    int64_t steal_asked_ns;     /* lock: when it was asked, 0: never */

    LlcschedVcpuTrust trust;
    LlcschedVcpuTurn turn;

    uint64_t sim_run_ns;        /* qtest: what it would have run ... */
    int64_t sim_when_ns;        /* ... up to here */
    QTAILQ_ENTRY(LlcschedVcpu) next;
};

/*
 * Locks, outermost first:
 *   BQL        set-up, properties, vCPU plug, QMP; never taken by the thread
 *   look_lock  one look at a time; held while files are read
 *   lock       what is below; held for system calls on threads, not for files
 *              of the host, so that a query never waits for them
 * @config and @view change with all that the writer holds of the last two, so
 * either suffices to read them.
 */
struct Llcsched {
    Object parent_obj;

    QemuMutex look_lock;
    QemuMutex lock;
    bool completed;
    char *id;
    const LlcschedHostOps *ops;
    char *sysfs_root;           /* "": the running host */
    HostCpuSet limit;           /* mask inherited at start: never widened */
    uint32_t seed;

    LlcschedConfig config;
    LlcschedView *view;
    GuestTopology *guest;       /* NULL until the machine is ready */
    QTAILQ_HEAD(, LlcschedVcpu) vcpus;
    GPtrArray *others;          /* LlcschedOther *, by thread id */
    GArray *kernel_vhost;       /* int: thread ids, out of reach */
    bool kernel_vhost_due;      /* atomic: devices changed since */
    QEMUBH *classify;           /* in the main loop, with the BQL */

    HostLoadSample *sample;     /* of the last look */
    HostLoad *load;             /* between the last two looks */
    LoadHistory *history;       /* NULL until the machine is ready */
    Balance *balance;
    char *last_move;            /* why; NULL: none */
    HostCacheAware cache_aware; /* the kernel does it as well */
    bool settling;              /* placed before the load was known */
    int64_t soon_ns;            /* the next look comes in this time; 0: no */
    LlcschedPlanned *planned;   /* NULL until the VM first ran */
    bool plan_due;              /* vCPUs or options changed since */
    HostCpuSet memory_nodes;    /* of the first placement */
    LlcschedStatus status;
    uint64_t looks, replans, masks_set;
    GPtrArray *warnings;        /* char *, oldest first */

    BandwidthTree *bandwidth;
    QTAILQ_HEAD(, LlcschedGroup) groups; /* parents before children */
    LlcschedAlarm close_alarm;  /* in the thread: a group may be dry */
    LlcschedAlarm open_alarm;   /* in the main loop: one is refilled */
    bool throttle_paused;       /* the VM stands: nobody is throttled */

    LlcschedQuota quota;
    LlcschedTrustData trust;
    LlcschedTurns turns;

    IOThread *thread;           /* NULL: qtest, looks are in the main loop */
    QEMUTimer *timer;
    VMChangeStateEntry *vmstate;
    Notifier machine_done;
    bool machine_ready;
    bool started;               /* the VM has run */
    bool running;               /* atomic: the VM runs, looks are due */
    DeviceListener listener;
};

/* Monotonic ns; under qtest the test turns it. */
int64_t llcsched_now_ns(void);

/* The object of this VM, or NULL.  BQL held. */
Llcsched *llcsched_find(void);

/*
 * Keep a warning for the query and print it, unless it is already kept.
 * Lock held.
 */
void G_GNUC_PRINTF(2, 3) llcsched_warn(Llcsched *s, const char *fmt, ...);

/* Warn of what the host's topology lacks.  Lock held, or object new. */
void llcsched_warn_notes(Llcsched *s, const HostTopology *host);

/* Set the timer for the next look.  Lock not held. */
void llcsched_arm(Llcsched *s);

/* Somebody may be about to change masks: look again soon.  Lock not held. */
void llcsched_look_soon(Llcsched *s);

/* A timer of the thread that looks; under qtest of the virtual clock. */
QEMUTimer *llcsched_timer_new(Llcsched *s, QEMUTimerCB *cb);

#endif
