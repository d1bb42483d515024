/*
 * LLC-aware vCPU scheduler: one look at host and threads, and what follows
 *
 * The life of a decision: read the host (llcsched_view_read), see whose the
 * masks are (llcsched_see_masks), measure what others run (llcsched_take_load),
 * plan if that is due (llcsched_balance_tell) or better (llcsched_balance_ask),
 * set masks (llcsched_apply), tell.
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
#include "llcsched-balance.h"
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
        llcsched_balance_host_changed(s);
        llcsched_throttle_host_changed(s);
        llcsched_turns_host_changed(s);
    }
    return !same;
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
    HostCacheAware cache_aware; /* but for a look by the timer */
} LlcschedReading;

static void llcsched_reading_clear(LlcschedReading *reading)
{
    llcsched_view_free(reading->view);
    host_load_sample_free(reading->sample);
    g_free(reading->load_note);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(LlcschedReading, llcsched_reading_clear)

/* look_lock held. */
static bool llcsched_read(Llcsched *s, LlcschedWhy why,
                          LlcschedReading *reading, Error **errp)
{
    bool anew = why == LLCSCHED_WHY_COMMAND;

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
    if (why != LLCSCHED_WHY_INTERVAL) {
        reading->cache_aware = host_kernel_cache_aware(s->sysfs_root);
    }
    return true;
}

/* A transition that an operator wants to hear of. */
typedef struct LlcschedNews {
    bool any;
    LlcschedStatus status;
    bool has_verdict;
    LlcschedVerdict verdict;
    char *summary;
    int changes;
    bool has_move;              /* the load was the reason */
    LlcschedMoveKind move;
    GPtrArray *guards;          /* LlcschedGuardNews *; NULL: none */
} LlcschedNews;

QEMU_BUILD_BUG_ON((int)LLCSCHED_VERDICT__MAX != PLACEMENT_VERDICT_MAX);
QEMU_BUILD_BUG_ON((int)LLCSCHED_REASON__MAX != PLACEMENT_REASON_MAX);

/*
 * The plan that is to be the running one now; NULL: it stays.  Without
 * 'dynamic' the load alone is no reason.  Both locks held.
 */
static LlcschedPlanned *llcsched_new_plan(Llcsched *s, LlcschedWhy why,
                                          bool due, LlcschedNews *news)
{
    LlcschedPlanned *planned = NULL;

    if (due) {
        planned = llcsched_balance_tell(s);
    } else if (why == LLCSCHED_WHY_INTERVAL && s->config.dynamic) {
        planned = llcsched_balance_ask(s, &news->move);
        news->has_move = planned;
    } else {
        return NULL;
    }
    news->guards = llcsched_balance_news(s);
    return planned;
}

static void llcsched_take_plan(Llcsched *s, LlcschedPlanned *planned)
{
    llcsched_planned_free(s->planned);
    s->planned = planned;
    s->plan_due = false;
    s->replans++;
}

/*
 * Everything between reading and telling: masks, plan and load are seen, and
 * set.  Both locks held.
 */
static void llcsched_decide(Llcsched *s, LlcschedWhy why,
                            LlcschedReading *reading, LlcschedNews *news)
{
    bool asked = why != LLCSCHED_WHY_INTERVAL && why != LLCSCHED_WHY_START;
    bool forgive = why == LLCSCHED_WHY_PROPERTY || why == LLCSCHED_WHY_COMMAND;
    LlcschedMaskNeed need = { .plan = asked || s->plan_due };
    LlcschedPlanned *planned;
    bool changed;

    s->looks++;
    if (why != LLCSCHED_WHY_INTERVAL) {
        s->cache_aware = reading->cache_aware;
    }
    changed = llcsched_take_view(s, g_steal_pointer(&reading->view));
    need.plan |= changed;
    llcsched_see_masks(s, forgive, &need);
    llcsched_threads_see(s, forgive);
    llcsched_take_load(s, &reading->sample, reading->load_note);
    if (s->view->error) {
        llcsched_warn(s, "%s", s->view->error);
        return;
    }
    need.plan |= llcsched_settled(s, why);
    if (!s->planned) {
        need.plan = true;
        s->settling = s->load->source == HOST_LOAD_NONE;
    }
    planned = llcsched_new_plan(s, why, need.plan, news);
    if (planned) {
        llcsched_take_plan(s, planned);
    }
    if (planned || need.apply) {
        /*
         * A cpuset may shrink between our reading it and setting a mask: what
         * failed then may work where other CPUs are allowed.
         */
        news->changes = llcsched_apply(s, asked || changed);
        llcsched_note_memory(s);
        trace_llcsched_plan(s->id, s->planned->summary, news->changes);
    }
    llcsched_threads_apply(s, asked || changed);
}

static void llcsched_tell_guard(Llcsched *s, const LlcschedGuardNews *news)
{
    qapi_event_send_llcsched_guard(s->id, news->llc, news->cpus,
                                   news->cause != LLCSCHED_GUARD_CAUSE_NONE,
                                   news->cause, news->util, news->tasks);
}

static void llcsched_tell(Llcsched *s, LlcschedNews *news)
{
    for (guint i = 0; news->guards && i < news->guards->len; i++) {
        llcsched_tell_guard(s, g_ptr_array_index(news->guards, i));
    }
    g_clear_pointer(&news->guards, g_ptr_array_unref);
    if (news->any) {
        qapi_event_send_llcsched_placement(s->id, news->status,
                                           news->has_verdict, news->verdict,
                                           news->summary, news->changes,
                                           news->has_move, news->move);
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
                            LlcschedReading *reading, LlcschedNews *news)
{
    int before = llcsched_verdict(s);
    LlcschedStatus status = s->status;

    llcsched_decide(s, why, reading, news);
    s->status = llcsched_status(s);
    news->status = s->status;
    news->has_verdict = llcsched_verdict(s) >= 0;
    news->verdict = MAX(llcsched_verdict(s), 0);
    news->any = news->changes || status != s->status ||
                before != llcsched_verdict(s);
    news->summary = llcsched_summary(s);
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
    if (!llcsched_read(s, why, &reading, &err)) {
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
    if (!llcsched_read(s, LLCSCHED_WHY_COMMAND, &reading, errp)) {
        return NULL;
    }
    if (reading.view->error) {
        error_setg(errp, "%s", reading.view->error);
        return NULL;
    }
    QEMU_LOCK_GUARD(&s->lock);
    load = llcsched_measure(s, reading.view->host, reading.sample, false);
    return llcsched_balance_dry_run(
        s, reading.view,
        load || s->load->n_llcs != reading.view->host->n_llcs ? load
                                                              : s->load);
}
