/*
 * LLC-aware vCPU scheduler: one look at host and threads, and what follows
 *
 * The life of a decision: read the host (llcsched_view_read), measure what
 * others run (llcsched_measure), see whose the masks are (llcsched_see_masks),
 * decide whether a plan is due, plan (placement_plan), set masks, tell.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/qapi-events-llcsched.h"
#include "system/qtest.h"
#include "llcsched-apply.h"
#include "llcsched-internal.h"
#include "llcsched-load.h"
#include "llcsched-look.h"
#include "llcsched-quota.h"
#include "llcsched-threads.h"
#include "llcsched-throttle.h"
#include "trace.h"

/* The numbers of the old host's LLCs mean nothing any more.  Lock held. */
static void llcsched_forget_host(Llcsched *s, const HostTopology *host)
{
    LlcschedVcpu *vcpu;

    host_load_free(s->load);
    s->load = host_load_new_idle(host);
    host_load_sample_free(g_steal_pointer(&s->sample));
    g_free(s->guarded_since_ns);
    s->guarded_since_ns = g_new0(int64_t, host->n_llcs);
    llcsched_planned_free(g_steal_pointer(&s->planned));
    QTAILQ_FOREACH(vcpu, &s->vcpus, next) {
        vcpu->host_llc = -1;
    }
}

bool llcsched_take_view(Llcsched *s, LlcschedView *view)
{
    LlcschedView *old = s->view;
    bool same_host = host_topology_equal(old->host, view->host);
    bool same = same_host && host_cpuset_equal(&old->candidates,
                                               &view->candidates);

    if (!same_host) {
        llcsched_forget_host(s, view->host);
        llcsched_warn_notes(s, view->host);
    }
    s->view = view;
    llcsched_view_free(old);
    if (!same_host) {
        llcsched_throttle_host_changed(s);
        llcsched_turns_host_changed(s);
    }
    return !same;
}

/* Lock held. */
static void llcsched_note_guards(Llcsched *s, int64_t now_ns)
{
    for (int i = 0; i < s->view->host->n_llcs; i++) {
        if (!s->planned->plan->llcs[i].guarded) {
            s->guarded_since_ns[i] = 0;
        } else if (!s->guarded_since_ns[i]) {
            s->guarded_since_ns[i] = now_ns;
        }
    }
}

static LlcschedStatus llcsched_status(const Llcsched *s)
{
    LlcschedVcpu *vcpu;

    if (s->view->error) {
        return LLCSCHED_STATUS_DEGRADED;
    }
    if (!s->planned) {
        return LLCSCHED_STATUS_WAITING;
    }
    QTAILQ_FOREACH(vcpu, &s->vcpus, next) {
        if (vcpu->thread.state == LLCSCHED_MASK_STATE_FAILED) {
            return LLCSCHED_STATUS_DEGRADED;
        }
    }
    return s->config.placement == LLCSCHED_PLACEMENT_OFF
           ? LLCSCHED_STATUS_OBSERVING : LLCSCHED_STATUS_PLACED;
}

static void llcsched_see_masks(Llcsched *s, bool forgive,
                               LlcschedMaskNeed *need)
{
    LlcschedVcpu *vcpu;

    QTAILQ_FOREACH(vcpu, &s->vcpus, next) {
        LlcschedMaskNeed one;

        if (!vcpu->thread.id) {
            continue;
        }
        if (forgive) {
            mask_watch_forgive(&vcpu->thread.watch);
        }
        one = llcsched_mask_see(s, &vcpu->thread);
        need->plan |= one.plan;
        need->apply |= one.apply;
    }
}

/*
 * True once, if the load that a first placement did not know is known now.
 * The look that was made for it settles the matter either way.
 */
static bool llcsched_settled(Llcsched *s, LlcschedWhy why)
{
    bool settled = s->settling && s->load->source != HOST_LOAD_NONE;

    if (settled || why == LLCSCHED_WHY_INTERVAL) {
        s->settling = false;
    }
    return settled;
}

/* What was read outside the lock. */
typedef struct LlcschedReading {
    LlcschedView *view;
    HostLoadSample *sample;
    char *load_note;
} LlcschedReading;

static void llcsched_reading_clear(LlcschedReading *reading)
{
    llcsched_view_free(reading->view);
    host_load_sample_free(reading->sample);
    g_free(reading->load_note);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(LlcschedReading, llcsched_reading_clear)

/* look_lock held. */
static bool llcsched_read(Llcsched *s, bool anew, LlcschedReading *reading,
                          Error **errp)
{
    reading->view = llcsched_view_read(s, &s->config, anew ? NULL : s->view,
                                       false, errp);
    if (!reading->view) {
        return false;
    }
    llcsched_threads_read(s);
    reading->sample = host_load_sample(s->sysfs_root,
                                       reading->view->host->n_cpus,
                                       llcsched_now_ns(),
                                       &reading->load_note);
    return true;
}

static void llcsched_take_load(Llcsched *s, LlcschedReading *reading)
{
    HostLoad *load = llcsched_measure(s, s->view->host, reading->sample, true);

    if (load) {
        host_load_free(s->load);
        s->load = load;
    }
    if (load || !s->sample) {
        host_load_sample_free(s->sample);
        s->sample = g_steal_pointer(&reading->sample);
    }
    /* which source there is, the query says; none is worth a warning */
    if (reading->load_note && s->sample->source == HOST_LOAD_NONE) {
        llcsched_warn(s, "%s", reading->load_note);
    }
}

/*
 * Everything between reading and telling.  Returns the number of masks that
 * changed.  Both locks held.
 */
static int llcsched_decide(Llcsched *s, LlcschedWhy why,
                           LlcschedReading *reading)
{
    bool asked = why != LLCSCHED_WHY_INTERVAL && why != LLCSCHED_WHY_START;
    bool forgive = why == LLCSCHED_WHY_PROPERTY || why == LLCSCHED_WHY_COMMAND;
    LlcschedMaskNeed need = { .plan = asked || s->plan_due };
    bool changed;
    int changes = 0;

    s->looks++;
    changed = llcsched_take_view(s, g_steal_pointer(&reading->view));
    need.plan |= changed;
    llcsched_see_masks(s, forgive, &need);
    llcsched_threads_see(s, forgive);
    llcsched_take_load(s, reading);
    if (s->view->error) {
        llcsched_warn(s, "%s", s->view->error);
        return 0;
    }
    need.plan |= llcsched_settled(s, why);
    if (!s->planned) {
        need.plan = true;
        s->settling = s->load->source == HOST_LOAD_NONE;
    }
    if (need.plan) {
        LlcschedPlanned *planned = llcsched_plan(s, s->view, s->load);

        llcsched_planned_free(s->planned);
        s->planned = planned;
        s->plan_due = false;
        s->replans++;
        llcsched_note_guards(s, llcsched_now_ns());
    }
    if (need.plan || need.apply) {
        /*
         * A cpuset may shrink between our reading it and setting a mask: what
         * failed then may work where other CPUs are allowed.
         */
        changes = llcsched_apply(s, asked || changed);
        llcsched_note_memory(s);
        trace_llcsched_plan(s->id, s->planned->summary, changes);
    }
    llcsched_threads_apply(s, asked || changed);
    return changes;
}

/* A transition that an operator wants to hear of. */
typedef struct LlcschedNews {
    bool any;
    LlcschedStatus status;
    bool has_verdict;
    LlcschedVerdict verdict;
    char *summary;
    int changes;
} LlcschedNews;

QEMU_BUILD_BUG_ON((int)LLCSCHED_VERDICT__MAX != PLACEMENT_VERDICT_MAX);
QEMU_BUILD_BUG_ON((int)LLCSCHED_REASON__MAX != PLACEMENT_REASON_MAX);

static void llcsched_tell(Llcsched *s, LlcschedNews *news)
{
    if (news->any) {
        qapi_event_send_llcsched_placement(s->id, news->status,
                                           news->has_verdict, news->verdict,
                                           news->summary, news->changes);
    }
    g_free(news->summary);
}

static int llcsched_verdict(const Llcsched *s)
{
    return s->planned ? (int)s->planned->plan->verdict : -1;
}

char *llcsched_summary(const Llcsched *s)
{
    if (s->view->error) {
        return g_strdup(s->view->error);
    }
    return g_strdup(s->planned ? s->planned->summary
                               : "nothing placed: the VM has not run yet");
}

/* Both locks held. */
static void llcsched_update(Llcsched *s, LlcschedWhy why,
                            LlcschedReading *reading, LlcschedNews *ret_news)
{
    int before = llcsched_verdict(s);
    LlcschedStatus status = s->status;
    int changes = llcsched_decide(s, why, reading);
    int verdict = llcsched_verdict(s);

    s->status = llcsched_status(s);
    *ret_news = (LlcschedNews) {
        .any = changes || status != s->status || before != verdict,
        .status = s->status,
        .has_verdict = verdict >= 0,
        .verdict = verdict >= 0 ? (LlcschedVerdict)verdict : 0,
        .summary = llcsched_summary(s),
        .changes = changes,
    };
}

bool llcsched_look(Llcsched *s, LlcschedWhy why, Error **errp)
{
    static const char *const why_names[] = {
        "interval", "start", "vcpu", "property", "command",
    };
    g_auto(LlcschedReading) reading = { };
    LlcschedNews news = { };
    g_autoptr(Error) err = NULL;
    int64_t start = get_clock();
    LlcschedVcpu *vcpu;
    int n = 0;

    QEMU_LOCK_GUARD(&s->look_lock);
    if (!llcsched_read(s, why == LLCSCHED_WHY_COMMAND, &reading, &err)) {
        if (errp) {
            error_propagate(errp, g_steal_pointer(&err));
            return false;
        }
        QEMU_LOCK_GUARD(&s->lock);
        llcsched_warn(s, "%s; the plan stays as it is", error_get_pretty(err));
        return false;
    }
    llcsched_quota_look(s, why != LLCSCHED_WHY_INTERVAL);
    WITH_QEMU_LOCK_GUARD(&s->lock) {
        llcsched_update(s, why, &reading, &news);
        llcsched_turns_look(s);
        QTAILQ_FOREACH(vcpu, &s->vcpus, next) {
            n++;
        }
    }
    llcsched_tell(s, &news);
    trace_llcsched_look(s->id, why_names[why], n, get_clock() - start);
    return true;
}

LlcschedPlanned *llcsched_dry_run(Llcsched *s, Error **errp)
{
    g_auto(LlcschedReading) reading = { };
    g_autoptr(HostLoad) load = NULL;

    QEMU_LOCK_GUARD(&s->look_lock);
    if (!llcsched_read(s, true, &reading, errp)) {
        return NULL;
    }
    if (reading.view->error) {
        error_setg(errp, "%s", reading.view->error);
        return NULL;
    }
    QEMU_LOCK_GUARD(&s->lock);
    load = llcsched_measure(s, reading.view->host, reading.sample, false);
    return llcsched_plan(s, reading.view,
                         load || s->load->n_llcs != reading.view->host->n_llcs
                         ? load : s->load);
}
