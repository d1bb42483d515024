/*
 * LLC-aware vCPU scheduler: what its files in hw/sched share
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef HW_SCHED_LLCSCHED_INTERNAL_H
#define HW_SCHED_LLCSCHED_INTERNAL_H

#include "qemu/notify.h"
#include "qemu/queue.h"
#include "qemu/thread.h"
#include "qemu/timer.h"
#include "hw/boards.h"
#include "hw/core/cpu.h"
#include "hw/qdev-core.h"
#include "qom/object.h"
#include "qapi/qapi-types-llcsched.h"
#include "system/iothread.h"
#include "system/runstate.h"
#include "hw/sched/bandwidth.h"
#include "hw/sched/emulator-placement.h"
#include "hw/sched/core-cookie.h"
#include "hw/sched/guest-topology.h"
#include "hw/sched/host-load.h"
#include "hw/sched/host-topology.h"
#include "hw/sched/host-trust.h"
#include "hw/sched/mask-watch.h"
#include "hw/sched/placement.h"
#include "hw/sched/trust-turns.h"
#include "hw/sched/vcpu-blocking.h"
#include "llcsched-alarm.h"

#define TYPE_LLCSCHED "llcsched"
OBJECT_DECLARE_SIMPLE_TYPE(Llcsched, LLCSCHED)

#define TYPE_LLCSCHED_GROUP "llcsched-group"
OBJECT_DECLARE_SIMPLE_TYPE(LlcschedGroup, LLCSCHED_GROUP)

/* The options, validated together and swapped in as one. */
typedef struct LlcschedConfig {
    LlcschedPlacement placement;
    LlcschedPrefer prefer;
    LlcschedEmulator emulator;
    LlcschedTrust trust;
    LlcschedTrustBackend trust_backend;
    bool dynamic;
    uint32_t interval_ms;
    uint32_t guard_util;        /* percent */
    uint32_t guard_tasks;       /* percent */
    uint32_t slice_us;
    bool steal_time;
    bool has_cpus;
    HostCpuSet cpus;
    GArray *usage;              /* uint32_t percent; NULL: not given */
} LlcschedConfig;

typedef struct LlcschedHolder LlcschedHolder;

/* A vCPU thread's cookie.  Guarded by the lock. */
typedef struct LlcschedVcpuTrust {
    LlcschedHolder *holder;     /* whose it should have, when last settled */
    LlcschedCookieState state;
    uint64_t hash;              /* as read back last; 0: none */
    CoreCookie fault;           /* why @state is failed */
    bool foreign;               /* it has somebody else's, to be respected */
    bool settled;               /* once, before it first entered the guest */
    bool queued;                /* work to settle it is on its way */
    uint64_t judged_ns;         /* CPU time of its thread, then */
    uint64_t untagged_ns;       /* what it ran, at most, without proof */
    bool has_forced_idle;       /* the kernel counts it */
    uint64_t forced_idle_ns;    /* at the last look */
} LlcschedVcpuTrust;

/* A vCPU whose cookie takes turns.  Guarded by the lock. */
typedef struct LlcschedVcpuTurn {
    unsigned cookie;            /* its number, as it takes part now */
    uint64_t ticket;            /* of the last order to close its gate */
    bool open_due;              /* in the main loop */
    bool leaving;               /* work to prove it out is on its way */
    bool dry;                   /* its quota's gate was closed when told */
    bool joining;               /* work to take part anew is on its way */
    HostCpuSet target;          /* mask that waits to be set; empty: none */
} LlcschedVcpuTurn;

/*
 * A thread whose mask may be set, and whose that is.  Guarded by the lock.
 */
typedef struct LlcschedThread {
    int id;                     /* 0: not known, or gone */
    MaskWatch watch;
    LlcschedMaskState state;
    HostCpuSet found;           /* before we set one; restored by object-del */
    bool has_found;
    HostCpuSet mask;            /* at the last look or change */
    int failed_errno;           /* of the last attempt to set a mask */
    HostCpuSet failed_mask;     /* what that was */
    ThreadTimes times;          /* at the last look */
    HostCpuSet sim_mask;        /* qtest: the mask of a thread that has none */
} LlcschedThread;

/*
 * A vCPU and its thread.  Listed from the realization of its device to its
 * unrealization (under the BQL).  @thread.id is set in the thread itself and
 * cleared, under the lock, by its exit notifier: while the lock is held and
 * @thread.id is not 0, the thread lives and its id is not another's.
 */
typedef struct LlcschedVcpu {
    Llcsched *sched;
    CPUState *cpu;
    int index;
    LlcschedThread thread;
    Notifier thread_exit;

    int host_llc;               /* of the last mask that was set, or -1 */
    uint64_t moves;

    LlcschedGroup *group;       /* NULL: in none, never gated by quota */
    clockid_t clock;            /* CPU time of its thread */
    bool charging;              /* @charged_ns holds */
    uint64_t charged_ns;        /* CPU time up to which it was charged */
    uint64_t throttled_ns;      /* out of the guest, up to @closed_ns */
    int64_t closed_ns;          /* since then out again, if its gate is shut */

    bool stolen;                /* was proven out, and wanted to run */
    uint64_t stolen_from_ns;    /* throttled time when that was */
    uint64_t steal_due_ns;      /* to be told to the guest */
    uint64_t steal_ns;          /* told */
    LlcschedStealState steal_state;

    LlcschedVcpuTrust trust;
    LlcschedVcpuTurn turn;

    uint64_t sim_run_ns;        /* qtest: what it would have run ... */
    int64_t sim_when_ns;        /* ... up to here */
    QTAILQ_ENTRY(LlcschedVcpu) next;
} LlcschedVcpu;

/*
 * A plan with the words for it.  Made from the host, the guest, the load and
 * the masks as they are; the words outlive them all.
 */
typedef struct LlcschedPlanned {
    Plan *plan;
    TrustPlan *trust;           /* NULL: cookies have no part in it */
    char *summary;
    char **explanations;        /* one per possible vCPU, NULL-terminated */
    EmulatorPlan emulator;      /* of the threads that are not vCPUs */
    char *emulator_why;
} LlcschedPlanned;
void llcsched_planned_free(LlcschedPlanned *planned);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(LlcschedPlanned, llcsched_planned_free)

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

/* Looks that must read the same host before it is taken as known. */
#define LLCSCHED_SAME_READS 3

/* How things stand with cookies, as events tell it. */
typedef struct LlcschedTrustStatus {
    LlcschedTrustMode mode;
    LlcschedIsolation isolation;
    int cookies, with_cookie, isolated, gated;
    uint64_t changes;
} LlcschedTrustStatus;

/* Guarded by the lock, but for what is set once, before the first look. */
typedef struct LlcschedTrustData {
    char *cookie;               /* only compared; NULL: none */
    LlcschedHolder *holder;     /* of @cookie */
    GPtrArray *numbered;        /* LlcschedHolder *, each cookie's once seen */
    bool kernel;                /* it had a cookie for the last that asked */
    HostPeers peers;
    bool smt_off;               /* at the last look: surely no siblings */
    bool sched_ext;
    bool has_fault;
    CoreCookie fault;           /* the last failure */
    uint64_t changes;           /* cookies that were changed from outside */
    LlcschedTrustStatus told;
    QEMUTimer *timer;
} LlcschedTrustData;

/* Turns of cookies.  Guarded by the lock. */
typedef struct LlcschedTurns {
    bool active;                /* from set-up to take-down */
    TrustTurns *turns;          /* NULL: trust-backend is another */
    GPtrArray *vcpus;           /* LlcschedVcpu *, by index; NULL: not there */
    bool masks_due;             /* some wait until their cores are settled */
    LlcschedAlarm look_alarm;   /* in the thread: a turn may end */
    LlcschedAlarm open_alarm;   /* in the main loop: what needs the BQL */
    int64_t kick_at_ns;         /* then, if vCPUs have not left; 0: not */
} LlcschedTurns;

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
    bool settling;              /* placed before the load was known */
    LlcschedPlanned *planned;   /* NULL until the VM first ran */
    bool plan_due;              /* vCPUs or options changed since */
    HostCpuSet memory_nodes;    /* of the first placement */
    LlcschedStatus status;
    int64_t *guarded_since_ns;  /* per host LLC; 0: open */
    uint64_t looks, replans, masks_set;
    GPtrArray *warnings;        /* char *, oldest first */

    BandwidthTree *bandwidth;
    QTAILQ_HEAD(, LlcschedGroup) groups; /* parents before children */
    LlcschedAlarm close_alarm;  /* in the thread: a group may be dry */
    LlcschedAlarm open_alarm;   /* in the main loop: one is refilled */
    bool throttle_paused;       /* the VM stands: nobody is throttled */

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

/* Why a look happens; the trace and the forgiving of contests need it. */
typedef enum LlcschedWhy {
    LLCSCHED_WHY_INTERVAL,
    LLCSCHED_WHY_START,
    LLCSCHED_WHY_VCPU,
    LLCSCHED_WHY_PROPERTY,
    LLCSCHED_WHY_COMMAND,
} LlcschedWhy;

/* llcsched.c */

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

/* A timer of the thread that looks; under qtest of the virtual clock. */
QEMUTimer *llcsched_timer_new(Llcsched *s, QEMUTimerCB *cb);

/* llcsched-options.c */

void llcsched_config_default(LlcschedConfig *config);
void llcsched_config_clear(LlcschedConfig *config);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(LlcschedConfig, llcsched_config_clear)
void llcsched_add_options(ObjectClass *klass);

/* llcsched-look.c */

/* Monotonic ns; under qtest the test turns it. */
int64_t llcsched_now_ns(void);

/*
 * Look at the host and the threads; plan and place when something changed or
 * @why asks for it.  Locks not held; from any thread.  False if the host
 * cannot be read: that is an error, or, with @errp NULL, a warning.
 */
bool llcsched_look(Llcsched *s, LlcschedWhy why, Error **errp);

/*
 * Take over a view of the host; true if a new plan is due.  Both locks held.
 */
bool llcsched_take_view(Llcsched *s, LlcschedView *view);

/* The state in one line, for people; the caller frees it.  Lock held. */
char *llcsched_summary(const Llcsched *s);

/* Set, or give back, masks that had to wait.  Lock held. */
void llcsched_move_masks(Llcsched *s);

/* Give every mask that is ours back as it was found.  Lock held. */
void llcsched_restore_masks(Llcsched *s);

/*
 * Add what a thread ran and waited since then to the LLCs of its mask, in
 * proportion to the CPUs that it may use on each.  Lock held.
 */
void llcsched_spread_own(const LlcschedThread *thread,
                         const HostTopology *host, const ThreadTimes *now,
                         uint64_t *run_ns, uint64_t *wait_ns);

/*
 * What a look would plan now, without doing it.  NULL and @errp if the host
 * cannot be read or has no CPU to use.  BQL held, other locks not.
 */
LlcschedPlanned *llcsched_dry_run(Llcsched *s, Error **errp);

/* llcsched-mask.c.  The lock is held, and the thread alive. */

/*
 * @base is what the process may use without us: what threads, and programs,
 * get that inherit a mask of ours.  BQL held, lock not needed.
 */
void llcsched_mask_start(const HostCpuSet *base);

/* A thread that makes others has this mask of ours. */
void llcsched_mask_inheritable(const HostCpuSet *mask);

/* True if a new thread has @mask only since its creator got it from us. */
bool llcsched_mask_inherited(const HostCpuSet *mask);

/* Give a new thread that inherited such a mask what it would have without. */
void llcsched_mask_disinherit(Llcsched *s, LlcschedThread *thread);

/* What a look at a mask calls for. */
typedef struct LlcschedMaskNeed {
    bool plan;    /* what plans are made from has changed */
    bool apply;   /* it is not as planned, and free to be set */
} LlcschedMaskNeed;
LlcschedMaskNeed llcsched_mask_see(Llcsched *s, LlcschedThread *thread);

/* Somebody else's: not to be set. */
bool llcsched_mask_kept_off(const LlcschedThread *thread);

/*
 * Set a mask that is not ours already; true if it changed.  What failed is
 * tried again only with @retry.
 */
bool llcsched_mask_set(Llcsched *s, LlcschedThread *thread,
                       const HostCpuSet *mask, bool retry);

/* Give a mask that is ours back as it was found; true if it was. */
bool llcsched_mask_restore(Llcsched *s, LlcschedThread *thread);

/* llcsched-threads.c */

/* A thread of the process that is no vCPU's.  Guarded by the lock. */
typedef struct LlcschedOther {
    LlcschedThread thread;
    bool pending;               /* not known yet what it is: not touched */
    bool fixed;                 /* the kernel lets nobody set its mask */
    LlcschedThreadRole role;
    char *name;
} LlcschedOther;

/* Begin and end; nothing looks yet, or any more.  BQL held, lock not held. */
void llcsched_threads_init(Llcsched *s);
void llcsched_threads_fini(Llcsched *s);

/* Devices came or went.  BQL held. */
void llcsched_threads_changed(Llcsched *s);

/* Read what may take time.  look_lock held, lock not held. */
void llcsched_threads_read(Llcsched *s);

/*
 * See which threads there are, and their masks.  New ones are known when the
 * main loop has told what they are, at once if the BQL is held.  Lock held.
 */
void llcsched_threads_see(Llcsched *s, bool forgive);

/* Set their masks as planned.  Lock held. */
void llcsched_threads_apply(Llcsched *s, bool retry);

/* Give their masks back, also of threads not seen yet.  Lock held. */
void llcsched_threads_restore(Llcsched *s);

/* Add what they ran and waited since the last measurement.  Lock held. */
void llcsched_threads_add_times(Llcsched *s, const HostTopology *host,
                                uint64_t *run_ns, uint64_t *wait_ns,
                                bool keep);

/* llcsched-host.c */
extern const LlcschedHostOps llcsched_kernel_ops;
extern const LlcschedHostOps llcsched_qtest_ops;

/* llcsched-qtest-cookie.c: a CoreCookieCall on a kernel made of a file. */
void llcsched_qtest_cookie_init(const char *root);
int llcsched_qtest_cookie(unsigned long cmd, int tid, uint64_t *ret_hash);

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

/* llcsched-guest.c */

/* The guest's topology; the machine must be ready.  BQL held. */
GuestTopology *llcsched_guest_topology(MachineState *ms);

/* llcsched-throttle.c */

/* Limits as the user gives them, us; all three change as one. */
typedef struct LlcschedLimitsUs {
    int64_t quota, period, burst;
} LlcschedLimitsUs;

/* A node of the tree of groups.  Guarded by the lock but for its options. */
struct LlcschedGroup {
    Object parent_obj;

    Llcsched *sched;            /* a reference; NULL until complete */
    char *id;
    char *parent_id;            /* as given; NULL: the llcsched object */
    LlcschedGroup *parent;      /* NULL: the llcsched object */
    int children;
    bool has_vcpus;
    HostCpuSet vcpus;           /* used as a set of vCPU indexes */
    LlcschedLimitsUs limits;
    BandwidthGroup *bandwidth;
    char *cookie;               /* only compared; NULL: none of its own */
    LlcschedHolder *holder;     /* of @cookie */
    uint32_t weight;            /* of its vCPUs' cookie; 0: not given */
    bool sustained;             /* was told of throttling that goes on */
    int64_t last_throttled_ns;  /* when a period was last throttled */
    QTAILQ_ENTRY(LlcschedGroup) next;
};

/* Set up and take down; nothing looks yet, or any more. */
bool llcsched_throttle_init(Llcsched *s, Error **errp);
void llcsched_throttle_fini(Llcsched *s);

/* The view is of another host.  Lock held, or the object is new. */
void llcsched_throttle_host_changed(Llcsched *s);

/* The VM stops, or is about to run: a look follows.  Lock not held. */
void llcsched_throttle_pause(Llcsched *s);
void llcsched_throttle_resume(Llcsched *s);

/* Charge, gate, open and set the timer anew.  Any thread, lock not held. */
void llcsched_throttle_look(Llcsched *s);

/* A complete group joins and leaves.  BQL held, lock not held. */
bool llcsched_throttle_add(LlcschedGroup *group, const BandwidthLimits *limits,
                           Error **errp);
void llcsched_throttle_remove(LlcschedGroup *group);
void llcsched_throttle_set_limits(LlcschedGroup *group,
                                  const BandwidthLimits *limits);

/* For how long quotas kept it out so far.  Lock held. */
uint64_t llcsched_throttled_ns(const LlcschedVcpu *vcpu, int64_t now_ns);

/* A vCPU's thread is known, or the vCPU goes.  Lock held. */
void llcsched_throttle_join(LlcschedVcpu *vcpu);
void llcsched_throttle_leave(LlcschedVcpu *vcpu);

/* llcsched-holder.c */

/*
 * The holder of @cookie: a thread that lives until the process ends, as does
 * what is returned.  It makes no cookie yet.  BQL held.
 */
LlcschedHolder *llcsched_holder_get(const char *cookie, CoreCookieCall *call,
                                    Error **errp);

/*
 * Read back the holder's cookie; make one if it has none, or not the one that
 * it made.  With @create false none is made.  One call at a time; it waits for
 * the holder's thread, which takes no lock of others.
 */
CoreCookie llcsched_holder_check(LlcschedHolder *holder, bool create);

int llcsched_holder_tid(const LlcschedHolder *holder);

/* What its cookie reads back as; 0: it has none.  From any thread. */
uint64_t llcsched_holder_hash(LlcschedHolder *holder);

/* Some holder of this process has that one.  BQL or lock held. */
bool llcsched_holder_made(uint64_t hash);

/* llcsched-trust.c */

/* Take @value for a property 'cookie', if it may be one. */
void llcsched_trust_take_cookie(char **cookie, const char *value,
                                Error **errp);

/*
 * Make @cookie, before any thread needs it.  False if the vCPUs of it cannot
 * be isolated and have to be.  BQL held, other locks not.
 */
bool llcsched_trust_prepare(Llcsched *s, const char *cookie,
                            LlcschedHolder **ret_holder, Error **errp);

/* Set up, with the object's own cookie, and take down.  BQL held. */
bool llcsched_trust_init(Llcsched *s, Error **errp);
void llcsched_trust_fini(Llcsched *s);

/*
 * Read every cookie back, and do what follows.  While the VM runs and has
 * cookies, this is done again soon.  Locks not held.
 */
void llcsched_trust_look(Llcsched *s);

/* Have it done soon for the first time.  Lock not held. */
void llcsched_trust_arm(Llcsched *s);

/*
 * Whose cookie the vCPUs of @group (NULL: of none) should have: the nearest on
 * the way up; or NULL.  The same for a vCPU.
 */
LlcschedHolder *llcsched_trust_of(const Llcsched *s,
                                  const LlcschedGroup *group);
LlcschedHolder *llcsched_trust_wanted(const LlcschedVcpu *vcpu);

/* The different holders of this VM, for the caller to free.  Lock held. */
GPtrArray *llcsched_trust_holders(const Llcsched *s);

/* A vCPU in this state may be in the guest. */
bool llcsched_trust_proven(LlcschedCookieState state);

/* In the vCPU's thread, BQL and lock held: it has come to be, or is let go. */
void llcsched_trust_enter(LlcschedVcpu *vcpu);
void llcsched_trust_forget(LlcschedVcpu *vcpu);

/* False if a vCPU that is to be plugged could not be isolated.  BQL held. */
bool llcsched_trust_admits(Llcsched *s, Error **errp);

/* llcsched-cores.c.  Lock held. */

/* What hw/sched/core knows the vCPU's cookie by. */
unsigned llcsched_cookie_number(const LlcschedVcpu *vcpu);

/* The most that groups of it give it; TRUST_COOKIE_NONE is one like others. */
unsigned llcsched_cookie_weight(const Llcsched *s, unsigned cookie);

/* vCPUs have other cookies: look, and plan anew.  BQL held, lock not held. */
void llcsched_cookies_changed(Llcsched *s);

/* trust_refine(), where cores can be shared; else NULL. */
TrustPlan *llcsched_cores_refine(const Llcsched *s, const PlacementInput *in,
                                 Plan *plan);

/* What that did to a vCPU's mask, for the caller to free; NULL: nothing. */
char *llcsched_cores_explain(const TrustPlan *trust, const Plan *plan,
                             const HostTopology *host, int vcpu);

/* trust_judge() of the masks as they are; NULL: there is no guest yet. */
TrustPlan *llcsched_cores_judge(const Llcsched *s);

/* llcsched-turns.c */

/* trust-backend=gate: cookies take turns, and the kernel gives none. */
bool llcsched_turns_used(const Llcsched *s);

/* Set up and take down; in between, have them decide no more.  BQL held. */
bool llcsched_turns_init(Llcsched *s, Error **errp);
void llcsched_turns_stop(Llcsched *s);
void llcsched_turns_fini(Llcsched *s);

/* The VM stops, or runs.  BQL held, lock not held. */
void llcsched_turns_pause(Llcsched *s);
void llcsched_turns_resume(Llcsched *s);

/* In the vCPU's thread, BQL and lock held: it has come to be, or is let go. */
void llcsched_turns_join(LlcschedVcpu *vcpu);
void llcsched_turns_forget(LlcschedVcpu *vcpu);

/* Its thread ends.  Lock held; from here on the lock is held. */
void llcsched_turns_leave(LlcschedVcpu *vcpu);

/* It takes turns with the cookie that it should have. */
bool llcsched_turns_has(const LlcschedVcpu *vcpu);

/* Read masks back, and see cookies, weights and options that changed. */
void llcsched_turns_look(Llcsched *s);

/* Gates were closed or opened for quotas. */
void llcsched_turns_quota(Llcsched *s);

/*
 * Whether @mask may be set now: cookies that will meet are apart already.  If
 * not they part now, and llcsched_move_masks() follows.
 */
bool llcsched_turns_may_move(LlcschedVcpu *vcpu, const HostCpuSet *mask);
void llcsched_turns_moved(LlcschedVcpu *vcpu);

/* The numbers of cores mean others now. */
void llcsched_turns_host_changed(Llcsched *s);

/* llcsched-trust-report.c */

/* Send the event that is due, if one is.  Lock not held. */
void llcsched_trust_tell(Llcsched *s);

/* Lock held. */
LlcschedTrustInfo *llcsched_trust_info(const Llcsched *s);

/* Set the cookie's members of @info.  Lock held. */
void llcsched_trust_fill_vcpu(LlcschedVcpuInfo *info, const LlcschedVcpu *vcpu);

/* llcsched-steal.c */

/* Whether the guest is told of @vcpu's throttled time, or why not. */
LlcschedStealState llcsched_steal_state(const LlcschedVcpu *vcpu);

/* Close the gate of @vcpu: what follows may be stolen time.  Lock held. */
void llcsched_steal_begin(LlcschedVcpu *vcpu);

/* It is open again, and throttled_ns complete: tell.  BQL and lock held. */
void llcsched_steal_end(LlcschedVcpu *vcpu);

/* The VM stands, as do the clocks: tell.  BQL held, lock not held. */
void llcsched_steal_pause(Llcsched *s);

/* The VM is about to run.  Lock held. */
void llcsched_steal_resume(Llcsched *s);

/* llcsched-vcpu.c.  All with the BQL held and the lock not held. */
void llcsched_vcpus_attach(Llcsched *s);
void llcsched_vcpus_detach(Llcsched *s);
/* Wait until every vCPU thread is known. */
void llcsched_vcpus_settle(Llcsched *s);

#endif
