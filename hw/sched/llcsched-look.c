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
#include "llcsched-internal.h"
#include "trace.h"

/*
 * /proc/stat counts ticks of 10 ms on most kernels: over less than ten of
 * them a percentage says little.
 */
#define LLCSCHED_WINDOW_MIN_NS (100 * SCALE_MS)

int64_t llcsched_now_ns(void)
{
    return qtest_enabled() ? qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL)
                           : get_clock();
}

void llcsched_planned_free(LlcschedPlanned *planned)
{
    if (planned) {
        placement_plan_free(planned->plan);
        trust_plan_free(planned->trust);
        g_free(planned->summary);
        g_strfreev(planned->explanations);
        g_free(planned->emulator_why);
        g_free(planned);
    }
}

void llcsched_spread_own(const LlcschedThread *thread,
                         const HostTopology *host, const ThreadTimes *now,
                         uint64_t *run_ns, uint64_t *wait_ns)
{
    int cpus = host_cpuset_count_and(&thread->mask, &host->online);
    uint64_t run = now->run_ns - thread->times.run_ns;
    uint64_t wait = now->wait_ns - thread->times.wait_ns;

    if (!cpus || now->run_ns < thread->times.run_ns ||
        now->wait_ns < thread->times.wait_ns) {
        return;
    }
    for (int i = 0; i < host->n_llcs; i++) {
        int here = host_cpuset_count_and(&thread->mask, &host->llcs[i].cpus);

        run_ns[i] += run / cpus * here;
        wait_ns[i] += wait / cpus * here;
    }
}

/*
 * The load since the last measurement, if that is long enough ago to tell;
 * else NULL.  @keep makes this measurement the next one's start.  Lock held.
 */
static HostLoad *llcsched_measure(Llcsched *s, const HostTopology *host,
                                  HostLoadSample *sample, bool keep)
{
    g_autofree uint64_t *run_ns = g_new0(uint64_t, host->n_llcs);
    g_autofree uint64_t *wait_ns = g_new0(uint64_t, host->n_llcs);
    LlcschedVcpu *vcpu;

    if (s->sample &&
        sample->when_ns - s->sample->when_ns < LLCSCHED_WINDOW_MIN_NS) {
        return NULL;
    }
    QTAILQ_FOREACH(vcpu, &s->vcpus, next) {
        ThreadTimes now;

        if (!vcpu->thread.id ||
            !s->ops->thread_times(s, &vcpu->thread, &now)) {
            continue;
        }
        llcsched_spread_own(&vcpu->thread, host, &now, run_ns, wait_ns);
        if (keep) {
            vcpu->thread.times = now;
        }
    }
    llcsched_threads_add_times(s, host, run_ns, wait_ns, keep);
    return s->sample ? host_load_between(host, s->sample, sample,
                                         run_ns, wait_ns) : NULL;
}

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

/* The arrays that a plan's input borrows. */
typedef struct LlcschedInput {
    PlacementInput in;
    unsigned *demand;
    const HostCpuSet **foreign;
} LlcschedInput;

static void llcsched_input_clear(LlcschedInput *input)
{
    g_free(input->demand);
    g_free(input->foreign);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(LlcschedInput, llcsched_input_clear)

static PlacementWidth llcsched_width(LlcschedPlacement placement)
{
    switch (placement) {
    case LLCSCHED_PLACEMENT_CORE:
        return PLACEMENT_WIDTH_CORE;
    case LLCSCHED_PLACEMENT_CPU:
        return PLACEMENT_WIDTH_CPU;
    default:
        return PLACEMENT_WIDTH_LLC; /* off plans what the default would do */
    }
}

/*
 * A vCPU counts in full, unless a test says what it uses: what it used in the
 * last second says little of what it will need until the next plan.
 */
static unsigned *llcsched_demand(const Llcsched *s)
{
    unsigned *demand = g_new(unsigned, s->guest->n_vcpus);

    for (int i = 0; i < s->guest->n_vcpus; i++) {
        demand[i] = s->config.usage && i < s->config.usage->len
                    ? g_array_index(s->config.usage, uint32_t, i) * 10 : 1000;
    }
    return demand;
}

/* Lock held. */
static void llcsched_input_init(Llcsched *s, const LlcschedView *view,
                                const HostLoad *load, LlcschedInput *input)
{
    bool same_host = host_topology_equal(view->host, s->view->host);
    LlcschedVcpu *vcpu;

    input->demand = llcsched_demand(s);
    input->foreign = g_new0(const HostCpuSet *, s->guest->n_vcpus);
    for (int i = 0; i < s->guest->n_vcpus; i++) {
        s->guest->vcpus[i].present = false;
    }
    QTAILQ_FOREACH(vcpu, &s->vcpus, next) {
        if (vcpu->index < 0 || vcpu->index >= s->guest->n_vcpus) {
            continue;
        }
        s->guest->vcpus[vcpu->index].present = true;
        if (llcsched_mask_kept_off(&vcpu->thread)) {
            input->foreign[vcpu->index] = &vcpu->thread.mask;
        }
    }
    input->in = (PlacementInput) {
        .host = view->host,
        .guest = s->guest,
        .load = load,
        .demand = input->demand,
        .foreign = input->foreign,
        .candidates = &view->candidates,
        .memory_nodes = &s->memory_nodes,
        .previous = s->planned && same_host ? s->planned->plan : NULL,
        .uses_isolated = view->uses_isolated,
        .width = llcsched_width(s->config.placement),
        .prefer = (PlacementPrefer)s->config.prefer,
        .guard_util = s->config.guard_util,
        .guard_tasks = s->config.guard_tasks,
        .seed = s->seed,
    };
}

QEMU_BUILD_BUG_ON((int)LLCSCHED_PREFER_AUTO != PLACEMENT_PREFER_AUTO);
QEMU_BUILD_BUG_ON((int)LLCSCHED_PREFER_CACHE != PLACEMENT_PREFER_CACHE);
QEMU_BUILD_BUG_ON((int)LLCSCHED_PREFER_CAPACITY != PLACEMENT_PREFER_CAPACITY);

QEMU_BUILD_BUG_ON((int)LLCSCHED_EMULATOR_OFF != EMULATOR_OFF);
QEMU_BUILD_BUG_ON((int)LLCSCHED_EMULATOR_NEAR != EMULATOR_NEAR);
QEMU_BUILD_BUG_ON((int)LLCSCHED_EMULATOR_OTHER != EMULATOR_OTHER);

/*
 * One mask for all of them: which vCPUs a queue serves only the guest knows, so
 * each is taken to serve all.  Lock held.
 */
static void llcsched_plan_emulator(const Llcsched *s, const HostTopology *host,
                                   LlcschedPlanned *planned)
{
    const EmulatorInput in = {
        .host = host,
        .guest = s->guest,
        .plan = planned->plan,
        .mode = (EmulatorMode)s->config.emulator,
    };

    emulator_placement(&in, NULL, &planned->emulator);
    planned->emulator_why = emulator_explain(&in, &planned->emulator);
}

static char *llcsched_explain(const PlacementInput *in,
                              const LlcschedPlanned *planned, int vcpu)
{
    g_autofree char *place = NULL;
    g_autofree char *cores = NULL;

    if (!in->guest->vcpus[vcpu].present) {
        return g_strdup("");
    }
    place = placement_explain(in, planned->plan, vcpu);
    cores = llcsched_cores_explain(planned->trust, planned->plan, in->host,
                                   vcpu);
    return cores ? g_strdup_printf("%s; %s", place, cores)
                 : g_steal_pointer(&place);
}

/* Lock held; @view has candidates. */
static LlcschedPlanned *llcsched_plan(Llcsched *s, const LlcschedView *view,
                                      const HostLoad *load)
{
    LlcschedPlanned *planned = g_new0(LlcschedPlanned, 1);
    g_auto(LlcschedInput) input = { };

    llcsched_input_init(s, view, load, &input);
    planned->plan = placement_plan(&input.in);
    planned->summary = placement_summary(&input.in, planned->plan);
    planned->trust = llcsched_cores_refine(s, &input.in, planned->plan);
    planned->explanations = g_new0(char *, s->guest->n_vcpus + 1);
    for (int i = 0; i < s->guest->n_vcpus; i++) {
        planned->explanations[i] = llcsched_explain(&input.in, planned, i);
    }
    llcsched_plan_emulator(s, view->host, planned);
    return planned;
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

/* True if the mask changed.  Lock held, thread alive. */
static bool llcsched_apply_one(Llcsched *s, LlcschedVcpu *vcpu,
                               const VcpuPlan *vplan, bool retry)
{
    bool changed;

    if (!llcsched_turns_may_move(vcpu, &vplan->mask)) {
        return false;
    }
    changed = llcsched_mask_set(s, &vcpu->thread, &vplan->mask, retry);
    llcsched_turns_moved(vcpu);
    if (!changed) {
        return false;
    }
    if (vcpu->host_llc >= 0 && vcpu->host_llc != vplan->host_llc) {
        vcpu->moves++;
    }
    vcpu->host_llc = vplan->host_llc;
    s->masks_set++;
    return true;
}

/* How many masks changed.  Lock held. */
static int llcsched_apply(Llcsched *s, bool retry)
{
    const Plan *plan = s->planned->plan;
    LlcschedVcpu *vcpu;
    int changes = 0;

    if (s->config.placement == LLCSCHED_PLACEMENT_OFF) {
        return 0;
    }
    QTAILQ_FOREACH(vcpu, &s->vcpus, next) {
        if (vcpu->thread.id && !llcsched_mask_kept_off(&vcpu->thread) &&
            vcpu->index >= 0 && vcpu->index < plan->n_vcpus) {
            changes += llcsched_apply_one(s, vcpu, &plan->vcpus[vcpu->index],
                                          retry);
        }
    }
    return changes;
}

/* The memory is where the vCPUs were when the guest first touched it. */
static void llcsched_note_memory(Llcsched *s)
{
    const HostTopology *host = s->view->host;
    const Plan *plan = s->planned->plan;

    if (!host_cpuset_empty(&s->memory_nodes) ||
        s->config.placement == LLCSCHED_PLACEMENT_OFF) {
        return;
    }
    for (int i = 0; i < host->n_llcs; i++) {
        if (plan->llcs[i].vcpus && host->llcs[i].node >= 0) {
            host_cpuset_add(&s->memory_nodes,
                            host->nodes[host->llcs[i].node].id);
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

void llcsched_restore_masks(Llcsched *s)
{
    LlcschedVcpu *vcpu;

    QTAILQ_FOREACH(vcpu, &s->vcpus, next) {
        if (vcpu->thread.has_found &&
            !llcsched_turns_may_move(vcpu, &vcpu->thread.found)) {
            continue;
        }
        if (llcsched_mask_restore(s, &vcpu->thread)) {
            vcpu->host_llc = -1;
        }
        llcsched_turns_moved(vcpu);
    }
    llcsched_threads_restore(s);
}

void llcsched_move_masks(Llcsched *s)
{
    if (s->config.placement == LLCSCHED_PLACEMENT_OFF) {
        llcsched_restore_masks(s);
    } else if (s->planned) {
        llcsched_apply(s, false);
    }
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
