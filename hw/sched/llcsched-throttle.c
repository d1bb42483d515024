/*
 * LLC-aware vCPU scheduler: charging vCPUs and gating groups that ran dry
 *
 * One look of the accounting: charge what the vCPUs ran, turn the periods
 * (hw/sched/core/bandwidth), close and open gates, sleep until a group could
 * run dry or is refilled.  The scheduler thread looks for the former, and never
 * waits for the BQL; the main loop, which has it, for the latter.  So the
 * thread sleeps when vCPUs are let go.  If it woke the main loop for that
 * instead, it would be preempted, wait behind a vCPU that spins for the next
 * tick, 4 ms with HZ=250, and be as late for closing the gate again.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "block/aio.h"
#include "qapi/error.h"
#include "qapi/qapi-events-llcsched.h"
#include "qemu/main-loop.h"
#include "system/qtest.h"
#include "hw/sched/vcpu-gate.h"
#include "llcsched-internal.h"
#include "llcsched-steal.h"
#include "llcsched-throttle.h"
#include "trace.h"

/*
 * Throttling is worth an event when it lasts, and its end when that lasts: a
 * group that is throttled in some periods of many is what quotas are for.
 */
#define LLCSCHED_SUSTAINED_PERIODS 10

static bool llcsched_vcpu_limited(const LlcschedVcpu *vcpu)
{
    return vcpu->group && vcpu->thread.id &&
           bandwidth_group_limited(vcpu->group->bandwidth);
}

/* Charge what ran since the last time.  Lock held. */
static void llcsched_charge(Llcsched *s)
{
    LlcschedVcpu *vcpu;

    QTAILQ_FOREACH(vcpu, &s->vcpus, next) {
        uint64_t cpu_ns;

        if (!llcsched_vcpu_limited(vcpu)) {
            vcpu->charging = false;
            continue;
        }
        cpu_ns = s->ops->cpu_ns(vcpu);
        if (vcpu->charging && cpu_ns > vcpu->charged_ns) {
            bandwidth_charge(vcpu->group->bandwidth,
                             cpu_ns - vcpu->charged_ns);
        }
        vcpu->charging = true;
        vcpu->charged_ns = cpu_ns;
    }
}

static bool llcsched_must_wait(const LlcschedVcpu *vcpu)
{
    return vcpu->group && bandwidth_group_gated(vcpu->group->bandwidth);
}

uint64_t llcsched_throttled_ns(const LlcschedVcpu *vcpu, int64_t now_ns)
{
    bool passes = vcpu_gate_closed(vcpu->cpu, VCPU_GATE_QUOTA) &&
                  !vcpu->sched->throttle_paused && now_ns > vcpu->closed_ns;

    return vcpu->throttled_ns + (passes ? now_ns - vcpu->closed_ns : 0);
}

/*
 * Close the gates of vCPUs whose group ran dry; true if some have to be
 * opened.  Lock held: a vCPU with a thread id is alive.
 */
static bool llcsched_close_gates(Llcsched *s, int64_t now_ns)
{
    LlcschedVcpu *vcpu;
    bool open = false;

    QTAILQ_FOREACH(vcpu, &s->vcpus, next) {
        bool closed = vcpu_gate_closed(vcpu->cpu, VCPU_GATE_QUOTA);

        if (closed && !llcsched_must_wait(vcpu)) {
            open = true;
        } else if (!closed && vcpu->thread.id && llcsched_must_wait(vcpu)) {
            vcpu->closed_ns = now_ns;
            llcsched_steal_begin(vcpu);
        }
    }
    return open;
}

/* BQL and lock held. */
static void llcsched_open_gates(Llcsched *s)
{
    int64_t now_ns = llcsched_now_ns();
    LlcschedVcpu *vcpu;

    QTAILQ_FOREACH(vcpu, &s->vcpus, next) {
        if (vcpu_gate_closed(vcpu->cpu, VCPU_GATE_QUOTA) &&
            !llcsched_must_wait(vcpu)) {
            vcpu->throttled_ns = llcsched_throttled_ns(vcpu, now_ns);
            vcpu_gate_open(vcpu->cpu, VCPU_GATE_QUOTA);
            llcsched_steal_end(vcpu);
        }
    }
}

/* An event that is due, sent when the lock is free. */
typedef struct LlcschedThrottleNews {
    char *group;
    bool throttled;
    uint64_t periods;
} LlcschedThrottleNews;

static int64_t llcsched_sustained_until_ns(const LlcschedGroup *group)
{
    return group->last_throttled_ns + LLCSCHED_SUSTAINED_PERIODS *
                                      group->limits.period * SCALE_US;
}

/* Lock held. */
static void llcsched_note_sustained(Llcsched *s, int64_t now_ns, GArray *news)
{
    LlcschedGroup *group;

    QTAILQ_FOREACH(group, &s->groups, next) {
        BandwidthStats stats;
        bool sustained = group->sustained;

        bandwidth_group_stats(group->bandwidth, now_ns, &stats);
        if (stats.consecutive_throttled) {
            group->last_throttled_ns = now_ns;
        }
        if (stats.consecutive_throttled >= LLCSCHED_SUSTAINED_PERIODS) {
            sustained = true;
        } else if (!bandwidth_group_limited(group->bandwidth) ||
                   now_ns >= llcsched_sustained_until_ns(group)) {
            sustained = false;
        }
        if (sustained != group->sustained) {
            LlcschedThrottleNews item = {
                .group = g_strdup(group->id),
                .throttled = sustained,
                .periods = stats.consecutive_throttled_max,
            };

            group->sustained = sustained;
            g_array_append_val(news, item);
        }
    }
}

static void llcsched_tell_sustained(Llcsched *s, GArray *news)
{
    for (guint i = 0; i < news->len; i++) {
        LlcschedThrottleNews *item = &g_array_index(news, LlcschedThrottleNews,
                                                    i);

        qapi_event_send_llcsched_throttle(item->group, item->throttled,
                                          item->periods);
        g_free(item->group);
    }
    g_array_set_size(news, 0);
}

/*
 * Set the alarms for the next looks, one of which may be due only to tell of
 * the end of throttling.  Under the lock, so that whoever computed an older
 * time cannot set it after us.
 */
static void llcsched_throttle_arm(Llcsched *s, int64_t now_ns, bool open_now)
{
    int64_t close = INT64_MAX, open = INT64_MAX;
    LlcschedGroup *group;

    if (qatomic_read(&s->running)) {
        bandwidth_next_looks(s->bandwidth, now_ns, &close, &open);
        QTAILQ_FOREACH(group, &s->groups, next) {
            if (group->sustained) {
                close = MIN(close, llcsched_sustained_until_ns(group));
            }
        }
    }
    llcsched_alarm_set(&s->close_alarm, close);
    llcsched_alarm_set(&s->open_alarm, open_now ? now_ns : open);
}

/* Turn the periods to now and do what follows.  Lock held. */
static void llcsched_throttle_turn(Llcsched *s, GArray *news)
{
    int64_t now_ns = llcsched_now_ns();
    bool open;

    llcsched_charge(s);
    bandwidth_advance(s->bandwidth, now_ns);
    /* whether or not a group's gate changed: vCPUs come and go as well */
    open = llcsched_close_gates(s, now_ns);
    llcsched_note_sustained(s, now_ns, news);
    llcsched_throttle_arm(s, now_ns, open && !bql_locked());
    /* last: whoever is let go may take our CPU */
    if (open && bql_locked()) {
        llcsched_open_gates(s);
    }
}

void llcsched_throttle_look(Llcsched *s)
{
    g_autoptr(GArray) news = g_array_new(false, false,
                                         sizeof(LlcschedThrottleNews));

    WITH_QEMU_LOCK_GUARD(&s->lock) {
        llcsched_throttle_turn(s, news);
        llcsched_turns_quota(s);
    }
    llcsched_tell_sustained(s, news);
}

static void llcsched_throttle_ring(void *opaque)
{
    llcsched_throttle_look(opaque);
}

/* What vCPU threads did for QEMU while the VM stood is not the guest's. */
static void llcsched_skip_charge(Llcsched *s)
{
    LlcschedVcpu *vcpu;

    QTAILQ_FOREACH(vcpu, &s->vcpus, next) {
        vcpu->charging = llcsched_vcpu_limited(vcpu);
        if (vcpu->charging) {
            vcpu->charged_ns = s->ops->cpu_ns(vcpu);
        }
    }
}

void llcsched_throttle_resume(Llcsched *s)
{
    int64_t now_ns = llcsched_now_ns();
    LlcschedVcpu *vcpu;

    QEMU_LOCK_GUARD(&s->lock);
    llcsched_skip_charge(s);
    bandwidth_resume(s->bandwidth, now_ns);
    QTAILQ_FOREACH(vcpu, &s->vcpus, next) {
        vcpu->closed_ns = now_ns;
    }
    s->throttle_paused = false;
    llcsched_steal_resume(s);
}

void llcsched_throttle_pause(Llcsched *s)
{
    int64_t now_ns = llcsched_now_ns();
    LlcschedVcpu *vcpu;

    WITH_QEMU_LOCK_GUARD(&s->lock) {
        llcsched_charge(s);
        bandwidth_pause(s->bandwidth, now_ns);
        llcsched_alarm_set(&s->close_alarm, INT64_MAX);
        llcsched_alarm_set(&s->open_alarm, INT64_MAX);
        QTAILQ_FOREACH(vcpu, &s->vcpus, next) {
            vcpu->throttled_ns = llcsched_throttled_ns(vcpu, now_ns);
        }
        s->throttle_paused = true;
    }
    llcsched_steal_pause(s);
}

/* Lock held. */
static void llcsched_count_vcpus(LlcschedGroup *group)
{
    LlcschedVcpu *vcpu;
    unsigned n = 0;

    QTAILQ_FOREACH(vcpu, &group->sched->vcpus, next) {
        n += vcpu->group == group;
    }
    bandwidth_group_set_vcpus(group->bandwidth, n, llcsched_now_ns());
}

void llcsched_throttle_join(LlcschedVcpu *vcpu)
{
    LlcschedGroup *group;

    QTAILQ_FOREACH(group, &vcpu->sched->groups, next) {
        if (vcpu->index >= 0 && vcpu->index < HOST_CPU_MAX &&
            host_cpuset_has(&group->vcpus, vcpu->index)) {
            llcsched_charge(vcpu->sched);
            vcpu->group = group;
            llcsched_count_vcpus(group);
            return;
        }
    }
}

void llcsched_throttle_leave(LlcschedVcpu *vcpu)
{
    LlcschedGroup *group = vcpu->group;

    if (group) {
        llcsched_charge(vcpu->sched);
        vcpu->group = NULL;
        llcsched_count_vcpus(group);
    }
}

bool llcsched_throttle_add(LlcschedGroup *group, const BandwidthLimits *limits,
                           Error **errp)
{
    Llcsched *s = group->sched;
    g_autoptr(GError) err = NULL;
    LlcschedVcpu *vcpu;

    WITH_QEMU_LOCK_GUARD(&s->lock) {
        group->bandwidth = bandwidth_group_add(
            s->bandwidth, group->parent ? group->parent->bandwidth : NULL,
            limits, llcsched_now_ns(), &err);
        if (!group->bandwidth) {
            error_setg(errp, "%s", err->message);
            return false;
        }
        if (group->parent) {
            group->parent->children++;
        }
        QTAILQ_INSERT_TAIL(&s->groups, group, next);
        QTAILQ_FOREACH(vcpu, &s->vcpus, next) {
            if (!vcpu->group) {
                llcsched_throttle_join(vcpu);
            }
        }
    }
    llcsched_throttle_look(s);
    return true;
}

void llcsched_throttle_remove(LlcschedGroup *group)
{
    Llcsched *s = group->sched;
    LlcschedVcpu *vcpu;

    WITH_QEMU_LOCK_GUARD(&s->lock) {
        QTAILQ_FOREACH(vcpu, &s->vcpus, next) {
            if (vcpu->group == group) {
                llcsched_throttle_leave(vcpu);
            }
        }
        QTAILQ_REMOVE(&s->groups, group, next);
        if (group->parent) {
            group->parent->children--;
        }
        bandwidth_group_remove(g_steal_pointer(&group->bandwidth),
                               llcsched_now_ns());
        llcsched_open_gates(s);
    }
    llcsched_throttle_look(s);
}

void llcsched_throttle_set_limits(LlcschedGroup *group,
                                  const BandwidthLimits *limits)
{
    Llcsched *s = group->sched;

    WITH_QEMU_LOCK_GUARD(&s->lock) {
        llcsched_charge(s);
        bandwidth_group_set_limits(group->bandwidth, limits,
                                   llcsched_now_ns());
    }
    llcsched_throttle_look(s);
}

void llcsched_throttle_host_changed(Llcsched *s)
{
    bandwidth_tree_set_cpus(s->bandwidth,
                            MAX(host_cpuset_count(&s->view->host->online), 1));
}

bool llcsched_throttle_init(Llcsched *s, Error **errp)
{
    AioContext *thread = NULL, *main_loop = NULL;

    if (s->thread) {
        thread = iothread_get_aio_context(s->thread);
        main_loop = qemu_get_aio_context();
    }
    if (!llcsched_alarm_init(&s->close_alarm, thread, llcsched_throttle_ring,
                             s, errp) ||
        !llcsched_alarm_init(&s->open_alarm, main_loop, llcsched_throttle_ring,
                             s, errp)) {
        return false;
    }
    s->bandwidth = bandwidth_tree_new();
    llcsched_throttle_host_changed(s);
    if (!runstate_is_running()) {
        bandwidth_pause(s->bandwidth, llcsched_now_ns());
        s->throttle_paused = true;
    }
    return true;
}

void llcsched_throttle_fini(Llcsched *s)
{
    llcsched_alarm_clear(&s->close_alarm);
    llcsched_alarm_clear(&s->open_alarm);
    bandwidth_tree_free(s->bandwidth);
}
