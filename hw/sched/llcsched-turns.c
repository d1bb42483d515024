/*
 * LLC-aware vCPU scheduler: cookies that take turns, by the vCPU gate
 *
 * With trust-backend=gate, hw/sched/core/trust-turns decides whose turn it is,
 * from the masks that vCPU threads really have; this carries it out.  The
 * scheduler thread looks when a turn may end, and closes gates, without the
 * BQL.  The proof that a vCPU has left the guest comes from its own thread,
 * which has the BQL there: the last one lets the next cookie in at once.  What
 * has to be opened otherwise is left to the main loop.
 *
 * The bit VCPU_GATE_TRUST is ours alone: with this backend, the one for the
 * kernel (llcsched-trust.c) does nothing.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qemu/main-loop.h"
#include "hw/sched/vcpu-gate.h"
#include "llcsched-apply.h"
#include "llcsched-cores.h"
#include "llcsched-internal.h"
#include "trace.h"

bool llcsched_turns_used(const Llcsched *s)
{
    return s->config.trust_backend == LLCSCHED_TRUST_BACKEND_GATE;
}

/* NULL: it is not there, or not any more. */
static LlcschedVcpu *llcsched_turns_vcpu(const Llcsched *s, int index)
{
    return g_ptr_array_index(s->turns.vcpus, index);
}

/* Lock held. */
static bool llcsched_turns_takes_part(const LlcschedVcpu *vcpu)
{
    const Llcsched *s = vcpu->sched;

    return s->turns.active && vcpu->index < s->turns.vcpus->len &&
           llcsched_turns_vcpu(s, vcpu->index) == vcpu;
}

/* --- Where a vCPU may be --- */

/*
 * The cores of its mask, and of the one that it is about to get; NULL: any,
 * since its mask or the host's siblings are not known.  Lock held.
 */
static const HostCpuSet *llcsched_turns_cores(LlcschedVcpu *vcpu,
                                              HostCpuSet *cores)
{
    Llcsched *s = vcpu->sched;
    HostCpuSet mask;

    if ((!s->view->host->smt && !s->trust.smt_off) ||
        s->ops->get_mask(s, &vcpu->thread, &mask)) {
        return NULL;
    }
    host_cpuset_or(&mask, &vcpu->turn.target);
    trust_cores_widen(s->view->host, &mask, cores);
    return cores;
}

/* True: it may be on cores now on which it might not be before. */
static bool llcsched_turns_see_mask(LlcschedVcpu *vcpu)
{
    Llcsched *s = vcpu->sched;
    HostCpuSet cores;

    return vcpu->thread.id && llcsched_turns_takes_part(vcpu) &&
           trust_turns_set_cores(s->turns.turns, vcpu->index,
                                 llcsched_turns_cores(vcpu, &cores),
                                 llcsched_now_ns());
}

bool llcsched_turns_may_move(LlcschedVcpu *vcpu, const HostCpuSet *mask)
{
    Llcsched *s = vcpu->sched;

    if (!s->turns.active || host_cpuset_equal(&vcpu->thread.mask, mask)) {
        return true;
    }
    vcpu->turn.target = *mask;
    llcsched_turns_see_mask(vcpu);
    if (trust_turns_settled(s->turns.turns, llcsched_now_ns())) {
        return true;
    }
    s->turns.masks_due = true;
    return false;
}

void llcsched_turns_moved(LlcschedVcpu *vcpu)
{
    vcpu->turn.target = (HostCpuSet) { };
    if (vcpu->sched->turns.active) {
        llcsched_turns_see_mask(vcpu);
    }
}

void llcsched_turns_host_changed(Llcsched *s)
{
    if (s->turns.active) {
        trust_turns_set_n_cores(s->turns.turns, s->view->host->n_cores);
    }
}

/* --- One step --- */

static void llcsched_turns_run(Llcsched *s);

/* In the vCPU's thread, BQL held: it is out of the guest. */
static void llcsched_turns_out(CPUState *cpu, run_on_cpu_data data)
{
    LlcschedVcpu *vcpu = data.host_ptr;
    Llcsched *s = vcpu->sched;

    QEMU_LOCK_GUARD(&s->lock);
    vcpu->turn.leaving = false;
    if (!llcsched_turns_takes_part(vcpu) ||
        trust_turns_is_open(s->turns.turns, vcpu->index)) {
        return; /* it left, or joined anew, since */
    }
    vcpu_gate_close_self(cpu, VCPU_GATE_TRUST);
    if (trust_turns_out(s->turns.turns, vcpu->index, vcpu->turn.ticket,
                        llcsched_now_ns())) {
        llcsched_turns_run(s);
    }
}

/* BQL and lock held. */
static void llcsched_turns_open(LlcschedVcpu *vcpu)
{
    vcpu->turn.open_due = false;
    trace_llcsched_turn_open(vcpu->index, vcpu->turn.cookie);
    vcpu_gate_open(vcpu->cpu, VCPU_GATE_TRUST);
}

/*
 * The work closes the gate.  A bit that is set before the work is queued might
 * be seen alone: then the vCPU waits, with work, for a wake-up that has been.
 * If it waits for something else, the main loop wakes it once more, unless it
 * is proven out before.  Lock held, thread alive: it leaves the turns when it
 * ends.
 */
static void llcsched_turns_close(LlcschedVcpu *vcpu, uint64_t ticket)
{
    LlcschedTurns *turns = &vcpu->sched->turns;

    vcpu->turn.open_due = false;
    vcpu->turn.ticket = ticket;
    vcpu->turn.leaving = true;
    trace_llcsched_turn_close(vcpu->index, vcpu->turn.cookie);
    async_run_on_cpu(vcpu->cpu, llcsched_turns_out, RUN_ON_CPU_HOST_PTR(vcpu));
    if (!bql_locked() && !turns->kick_at_ns) {
        turns->kick_at_ns = llcsched_now_ns() + TRUST_EXIT_NS_MAX;
    }
}

/* What is known of each vCPU now. */
static void llcsched_turns_tell(Llcsched *s, int64_t now_ns)
{
    TrustTurns *turns = s->turns.turns;
    LlcschedVcpu *vcpu;

    QTAILQ_FOREACH(vcpu, &s->vcpus, next) {
        if (!llcsched_turns_takes_part(vcpu)) {
            continue;
        }
        vcpu->turn.dry = vcpu_gate_closed(vcpu->cpu, VCPU_GATE_QUOTA);
        trust_turns_dry(turns, vcpu->index, vcpu->turn.dry, now_ns);
        if (trust_turns_watched(turns, vcpu->index)) {
            trust_turns_blocking(turns, vcpu->index,
                                 vcpu_blocking(vcpu->cpu), now_ns);
        }
    }
}

/* Closes are carried out, opens are due. */
static void llcsched_turns_step(Llcsched *s)
{
    const TrustOrder *orders;
    unsigned n;

    llcsched_turns_tell(s, llcsched_now_ns());
    orders = trust_turns_step(s->turns.turns, llcsched_now_ns(), &n);
    for (unsigned i = 0; i < n; i++) {
        LlcschedVcpu *vcpu = llcsched_turns_vcpu(s, orders[i].vcpu);

        if (orders[i].open) {
            vcpu->turn.open_due = true;
        } else {
            llcsched_turns_close(vcpu, orders[i].ticket);
        }
    }
}

static void llcsched_turns_arm(Llcsched *s)
{
    int64_t now_ns = llcsched_now_ns();
    int64_t main_loop = INT64_MAX;
    bool leaving = false;
    LlcschedVcpu *vcpu;

    QTAILQ_FOREACH(vcpu, &s->vcpus, next) {
        leaving |= vcpu->turn.leaving;
        if (vcpu->turn.open_due && !bql_locked()) {
            main_loop = now_ns;
        }
    }
    if (!leaving) {
        s->turns.kick_at_ns = 0;
    } else if (s->turns.kick_at_ns) {
        main_loop = MIN(main_loop, s->turns.kick_at_ns);
    }
    llcsched_alarm_set(&s->turns.open_alarm, main_loop);
    llcsched_alarm_set(&s->turns.look_alarm,
                       trust_turns_next_look(s->turns.turns, now_ns));
}

/* BQL and lock held. */
static void llcsched_turns_open_due(Llcsched *s)
{
    LlcschedVcpu *vcpu;

    QTAILQ_FOREACH(vcpu, &s->vcpus, next) {
        if (vcpu->turn.open_due) {
            llcsched_turns_open(vcpu);
        }
    }
}

/*
 * Lock held; turns are active.  Whoever is let in wakes up and wants the BQL:
 * so that comes last, when it is about to be free.  Without the BQL, it is
 * left to the main loop.
 */
static void llcsched_turns_run(Llcsched *s)
{
    llcsched_turns_step(s);
    while (s->turns.masks_due &&
           trust_turns_settled(s->turns.turns, llcsched_now_ns())) {
        s->turns.masks_due = false;
        llcsched_move_masks(s);
        llcsched_turns_step(s);
    }
    llcsched_turns_arm(s);
    if (bql_locked()) {
        llcsched_turns_open_due(s);
    }
}

/* In the scheduler thread; under qtest in the main loop. */
static void llcsched_turns_ring(void *opaque)
{
    Llcsched *s = opaque;

    QEMU_LOCK_GUARD(&s->lock);
    if (s->turns.active) {
        llcsched_turns_run(s);
    }
}

/* In the main loop, BQL held. */
static void llcsched_turns_main_loop(void *opaque)
{
    Llcsched *s = opaque;
    LlcschedVcpu *vcpu;

    QEMU_LOCK_GUARD(&s->lock);
    s->turns.kick_at_ns = 0;
    llcsched_turns_open_due(s);
    QTAILQ_FOREACH(vcpu, &s->vcpus, next) {
        if (vcpu->turn.leaving && vcpu->thread.id) {
            qemu_cpu_kick(vcpu->cpu);
        }
    }
}

/* --- Who takes part --- */

static unsigned llcsched_turns_cookie(const LlcschedVcpu *vcpu)
{
    /* each core runs one thread: there is nothing to share */
    return vcpu->sched->trust.smt_off ? TRUST_COOKIE_NONE
                                      : llcsched_cookie_number(vcpu);
}

bool llcsched_turns_has(const LlcschedVcpu *vcpu)
{
    return llcsched_turns_takes_part(vcpu) &&
           vcpu->turn.cookie == llcsched_turns_cookie(vcpu);
}

void llcsched_turns_leave(LlcschedVcpu *vcpu)
{
    Llcsched *s = vcpu->sched;

    if (!s->turns.turns || vcpu->index >= s->turns.vcpus->len ||
        llcsched_turns_vcpu(s, vcpu->index) != vcpu) {
        return;
    }
    s->turns.vcpus->pdata[vcpu->index] = NULL;
    trust_turns_remove(s->turns.turns, vcpu->index, llcsched_now_ns());
    vcpu->turn.open_due = vcpu->turn.leaving = false;
    if (s->turns.active) {
        /* the thread, which needs no BQL, sees what follows */
        llcsched_alarm_set(&s->turns.look_alarm, llcsched_now_ns());
    }
}

void llcsched_turns_join(LlcschedVcpu *vcpu)
{
    Llcsched *s = vcpu->sched;
    HostCpuSet cores;

    if (!s->turns.active) {
        return;
    }
    /* this is its thread: it is out of the guest, and stays out */
    vcpu_gate_close_self(vcpu->cpu, VCPU_GATE_TRUST);
    llcsched_turns_leave(vcpu);
    if (vcpu->index >= s->turns.vcpus->len) {
        g_ptr_array_set_size(s->turns.vcpus, vcpu->index + 1);
    }
    s->turns.vcpus->pdata[vcpu->index] = vcpu;
    vcpu->turn.cookie = llcsched_turns_cookie(vcpu);
    vcpu->turn.joining = false;
    trust_turns_add(s->turns.turns, vcpu->index, vcpu->turn.cookie,
                    llcsched_turns_cores(vcpu, &cores), false,
                    llcsched_now_ns());
    llcsched_turns_run(s);
}

/* In the vCPU's thread, BQL held. */
static void llcsched_turns_join_work(CPUState *cpu, run_on_cpu_data data)
{
    LlcschedVcpu *vcpu = data.host_ptr;

    WITH_QEMU_LOCK_GUARD(&vcpu->sched->lock) {
        llcsched_turns_join(vcpu);
    }
    llcsched_trust_tell(vcpu->sched);
}

void llcsched_turns_forget(LlcschedVcpu *vcpu)
{
    llcsched_turns_leave(vcpu);
    vcpu_gate_open(vcpu->cpu, VCPU_GATE_TRUST);
}

/* --- Looks --- */

static void llcsched_turns_set_weights(Llcsched *s)
{
    for (unsigned cookie = 0; cookie <= s->trust.numbered->len; cookie++) {
        trust_turns_set_weight(s->turns.turns, cookie,
                               llcsched_cookie_weight(s, cookie));
    }
}

/*
 * A mask that was set from outside since the last look may have let it meet the
 * cookies with which it takes turns from now on.
 */
static void llcsched_turns_charge(LlcschedVcpu *vcpu)
{
    TrustCookieStats stats = { };

    if (vcpu->turn.strayed) {
        trust_turns_cookie_stats(vcpu->sched->turns.turns, vcpu->turn.cookie,
                                 llcsched_now_ns(), &stats);
    }
    llcsched_trust_charge(vcpu, stats.domain_cookies > 1);
}

void llcsched_turns_look(Llcsched *s)
{
    LlcschedVcpu *vcpu;

    if (!s->turns.active) {
        return;
    }
    trust_turns_set_slice(s->turns.turns, s->config.slice_us * SCALE_US);
    QTAILQ_FOREACH(vcpu, &s->vcpus, next) {
        vcpu->turn.strayed = llcsched_turns_see_mask(vcpu);
        if (vcpu->thread.id && !vcpu->turn.joining &&
            !llcsched_turns_has(vcpu)) {
            vcpu->turn.joining = true;
            vcpu_gate_run(vcpu->cpu, llcsched_turns_join_work,
                          RUN_ON_CPU_HOST_PTR(vcpu));
        }
    }
    llcsched_turns_set_weights(s);
    llcsched_turns_run(s);
    QTAILQ_FOREACH(vcpu, &s->vcpus, next) {
        if (vcpu->thread.id && llcsched_turns_takes_part(vcpu)) {
            llcsched_turns_charge(vcpu);
        }
    }
}

void llcsched_turns_quota(Llcsched *s)
{
    LlcschedVcpu *vcpu;
    bool changed = false;

    QTAILQ_FOREACH(vcpu, &s->vcpus, next) {
        changed |= vcpu->turn.dry != vcpu_gate_closed(vcpu->cpu,
                                                      VCPU_GATE_QUOTA);
    }
    if (changed && s->turns.active) {
        llcsched_turns_run(s);
    }
}

/* --- Life --- */

void llcsched_turns_pause(Llcsched *s)
{
    QEMU_LOCK_GUARD(&s->lock);
    if (s->turns.active) {
        trust_turns_pause(s->turns.turns, llcsched_now_ns());
        llcsched_alarm_set(&s->turns.look_alarm, INT64_MAX);
    }
}

void llcsched_turns_resume(Llcsched *s)
{
    QEMU_LOCK_GUARD(&s->lock);
    if (s->turns.active) {
        trust_turns_resume(s->turns.turns, llcsched_now_ns());
        llcsched_turns_run(s);
    }
}

bool llcsched_turns_init(Llcsched *s, Error **errp)
{
    AioContext *thread = NULL, *main_loop = NULL;

    if (!llcsched_turns_used(s)) {
        return true;
    }
    if (s->thread) {
        thread = iothread_get_aio_context(s->thread);
        main_loop = qemu_get_aio_context();
    }
    if (!llcsched_alarm_init(&s->turns.look_alarm, thread, llcsched_turns_ring,
                             s, errp) ||
        !llcsched_alarm_init(&s->turns.open_alarm, main_loop,
                             llcsched_turns_main_loop, s, errp)) {
        return false;
    }
    s->turns.turns = trust_turns_new(s->view->host->n_cores,
                                     s->config.slice_us * SCALE_US);
    s->turns.vcpus = g_ptr_array_new();
    if (!runstate_is_running()) {
        trust_turns_pause(s->turns.turns, llcsched_now_ns());
    }
    s->turns.active = true;
    return true;
}

void llcsched_turns_stop(Llcsched *s)
{
    QEMU_LOCK_GUARD(&s->lock);
    s->turns.active = false;
}

void llcsched_turns_fini(Llcsched *s)
{
    llcsched_alarm_clear(&s->turns.look_alarm);
    llcsched_alarm_clear(&s->turns.open_alarm);
    trust_turns_free(s->turns.turns);
    if (s->turns.vcpus) {
        g_ptr_array_free(s->turns.vcpus, true);
    }
}
