/*
 * LLC-aware vCPU scheduler: cookies of vCPU threads, by the kernel
 *
 * A vCPU's own thread takes the cookie from its holder, before it first enters
 * the guest, and reads it back.  At every look all are read back again.  One
 * that is not as it should be closes the vCPU's gate and has it settled anew,
 * in its thread; the gate opens when the cookie is proven, or when nobody asks
 * for proof (trust=best-effort).
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "hw/sched/vcpu-gate.h"
#include "system/qtest.h"
#include "system/tcg.h"
#include "llcsched-holder.h"
#include "llcsched-internal.h"
#include "llcsched-throttle.h"
#include "trace.h"

/* SMT that comes back is seen within this time. */
#define LLCSCHED_TRUST_LOOK_MS_MAX 1000

void llcsched_trust_take_cookie(char **cookie, const char *value,
                                Error **errp)
{
    /* the value is a secret of sorts: it is in no message */
    if (!core_cookie_name_valid(value)) {
        error_setg(errp, "property 'cookie' must be 1 to %d printable ASCII "
                   "characters", CORE_COOKIE_NAME_MAX);
        return;
    }
    g_free(*cookie);
    *cookie = g_strdup(value);
}

static bool llcsched_trust_strict(const Llcsched *s)
{
    return s->config.trust == LLCSCHED_TRUST_STRICT;
}

LlcschedHolder *llcsched_trust_of(const Llcsched *s,
                                  const LlcschedGroup *group)
{
    for (; group; group = group->parent) {
        if (group->holder) {
            return group->holder;
        }
    }
    return s->trust.holder;
}

LlcschedHolder *llcsched_trust_wanted(const LlcschedVcpu *vcpu)
{
    return llcsched_trust_of(vcpu->sched, vcpu->group);
}

GPtrArray *llcsched_trust_holders(const Llcsched *s)
{
    GPtrArray *list = g_ptr_array_new();
    const LlcschedGroup *group;

    if (s->trust.holder) {
        g_ptr_array_add(list, s->trust.holder);
    }
    QTAILQ_FOREACH(group, &s->groups, next) {
        if (group->holder && !g_ptr_array_find(list, group->holder, NULL)) {
            g_ptr_array_add(list, group->holder);
        }
    }
    return list;
}

/* --- One vCPU --- */

bool llcsched_trust_proven(LlcschedCookieState state)
{
    return state == LLCSCHED_COOKIE_STATE_OURS ||
           state == LLCSCHED_COOKIE_STATE_FOREIGN ||
           state == LLCSCHED_COOKIE_STATE_NOT_NEEDED;
}

/* With SMT off it is no matter that the kernel refuses cookies. */
static bool llcsched_trust_needless(const Llcsched *s,
                                    CoreCookieVerdict verdict)
{
    return verdict == CORE_COOKIE_NOT_NEEDED ||
           (verdict != CORE_COOKIE_OK && s->trust.smt_off);
}

/* Another cookie of ours should keep a vCPU from one that has @hash, too. */
static bool llcsched_trust_merged(const LlcschedVcpu *vcpu, uint64_t hash)
{
    const LlcschedVcpu *other;

    QTAILQ_FOREACH(other, &vcpu->sched->vcpus, next) {
        if (other != vcpu && other->trust.hash == hash &&
            llcsched_trust_wanted(other) != llcsched_trust_wanted(vcpu)) {
            return true;
        }
    }
    return false;
}

void llcsched_trust_charge(LlcschedVcpu *vcpu, bool unproven)
{
    LlcschedVcpuTrust *trust = &vcpu->trust;
    uint64_t now_ns = vcpu->sched->ops->cpu_ns(vcpu);

    if (unproven && now_ns > trust->judged_ns) {
        trust->untagged_ns += now_ns - trust->judged_ns;
    }
    trust->judged_ns = now_ns;
}

/* It may have run as it was @found now.  Lock held. */
static void llcsched_trust_charge_found(LlcschedVcpu *vcpu,
                                        LlcschedCookieState found)
{
    llcsched_trust_charge(vcpu, vcpu->trust.settled &&
                          found != LLCSCHED_COOKIE_STATE_NONE &&
                          !llcsched_trust_proven(found));
}

static LlcschedCookieState llcsched_trust_failed(LlcschedVcpu *vcpu,
                                                 CoreCookie fault)
{
    vcpu->trust.fault = fault;
    vcpu->sched->trust.fault = fault;
    vcpu->sched->trust.has_fault = true;
    return LLCSCHED_COOKIE_STATE_FAILED;
}

/*
 * A cookie that is none of ours is respected if it was there before the vCPU
 * ran: libvirt sets them then, or QEMU was born with it.
 */
static LlcschedCookieState llcsched_trust_judge_foreign(LlcschedVcpu *vcpu,
                                                        bool wanted)
{
    LlcschedVcpuTrust *trust = &vcpu->trust;

    trust->foreign |= !wanted || !trust->settled || !vcpu->sched->started;
    if (!trust->foreign) {
        return LLCSCHED_COOKIE_STATE_UNSET;
    }
    return wanted && llcsched_trust_merged(vcpu, trust->hash)
           ? llcsched_trust_failed(vcpu, (CoreCookie) {
                                       .verdict = CORE_COOKIE_MERGED })
           : LLCSCHED_COOKIE_STATE_FOREIGN;
}

/* What the cookie of @tid, the vCPU's thread, is worth now.  Lock held. */
static LlcschedCookieState llcsched_trust_judge(LlcschedVcpu *vcpu, int tid)
{
    Llcsched *s = vcpu->sched;
    LlcschedHolder *holder = llcsched_trust_wanted(vcpu);
    CoreCookie now = core_cookie_get(s->ops->core_cookie, tid);

    vcpu->trust.hash = now.hash;
    if (now.verdict != CORE_COOKIE_OK && !holder) {
        return LLCSCHED_COOKIE_STATE_NONE;
    }
    if (llcsched_trust_needless(s, now.verdict)) {
        return LLCSCHED_COOKIE_STATE_NOT_NEEDED;
    }
    if (now.verdict != CORE_COOKIE_OK) {
        return llcsched_trust_failed(vcpu, now);
    }
    if (now.hash && !llcsched_holder_made(now.hash)) {
        return llcsched_trust_judge_foreign(vcpu, holder);
    }
    vcpu->trust.foreign = false;
    if (!holder) {
        return now.hash ? LLCSCHED_COOKIE_STATE_UNSET
                        : LLCSCHED_COOKIE_STATE_NONE;
    }
    return now.hash && now.hash == llcsched_holder_hash(holder)
           ? LLCSCHED_COOKIE_STATE_OURS : LLCSCHED_COOKIE_STATE_UNSET;
}

/* A vCPU that should have the same cookie, and has somebody else's. */
static const LlcschedVcpu *llcsched_trust_foreign_peer(LlcschedVcpu *vcpu)
{
    const LlcschedVcpu *other;

    QTAILQ_FOREACH(other, &vcpu->sched->vcpus, next) {
        if (other != vcpu && other->thread.id &&
            other->trust.state == LLCSCHED_COOKIE_STATE_FOREIGN &&
            llcsched_trust_wanted(other) == llcsched_trust_wanted(vcpu)) {
            return other;
        }
    }
    return NULL;
}

/* Give the calling thread, the vCPU's own, its cookie.  Lock held. */
static CoreCookie llcsched_trust_set(LlcschedVcpu *vcpu)
{
    Llcsched *s = vcpu->sched;
    CoreCookieCall *call = s->ops->core_cookie;
    LlcschedHolder *holder = llcsched_trust_wanted(vcpu);
    const LlcschedVcpu *peer;

    if (!holder) {
        return core_cookie_copy(call, getpid()); /* as it was born */
    }
    peer = vcpu->trust.settled ? NULL : llcsched_trust_foreign_peer(vcpu);
    if (peer) {
        return core_cookie_join(call, peer->thread.id, peer->trust.hash);
    }
    if (!llcsched_holder_hash(holder)) {
        /* none was made: since the last look it might have been */
        return (CoreCookie) {
            .verdict = s->trust.sched_ext ? CORE_COOKIE_SCHED_EXT
                                          : CORE_COOKIE_UNPROVEN };
    }
    return core_cookie_join(call, llcsched_holder_tid(holder),
                            llcsched_holder_hash(holder));
}

/* In the vCPU's thread, BQL and lock held. */
static void llcsched_trust_settle(LlcschedVcpu *vcpu)
{
    LlcschedVcpuTrust *trust = &vcpu->trust;
    LlcschedCookieState state = llcsched_trust_judge(vcpu, 0);

    llcsched_trust_charge_found(vcpu, state);
    if (state == LLCSCHED_COOKIE_STATE_UNSET) {
        CoreCookie got = llcsched_trust_set(vcpu);

        state = llcsched_trust_judge(vcpu, 0);
        if (state == LLCSCHED_COOKIE_STATE_UNSET) {
            state = llcsched_trust_failed(vcpu, got);
        }
    }
    trust->state = state;
    trust->holder = llcsched_trust_wanted(vcpu);
    trust->settled = true;
    trust->queued = false;
    trace_llcsched_cookie(vcpu->index, vcpu->thread.id,
                          LlcschedCookieState_str(state), trust->hash);
    if (state == LLCSCHED_COOKIE_STATE_FAILED &&
        llcsched_trust_strict(vcpu->sched)) {
        vcpu_gate_close(vcpu->cpu, VCPU_GATE_TRUST);
    } else {
        vcpu_gate_open(vcpu->cpu, VCPU_GATE_TRUST);
    }
}

void llcsched_trust_enter(LlcschedVcpu *vcpu)
{
    if (llcsched_turns_used(vcpu->sched)) {
        llcsched_turns_join(vcpu);
    } else if (llcsched_trust_wanted(vcpu)) {
        llcsched_trust_settle(vcpu);
    }
}

/* In the vCPU's thread, BQL held. */
static void llcsched_trust_settle_work(CPUState *cpu, run_on_cpu_data data)
{
    LlcschedVcpu *vcpu = data.host_ptr;

    WITH_QEMU_LOCK_GUARD(&vcpu->sched->lock) {
        llcsched_trust_settle(vcpu);
    }
    llcsched_trust_tell(vcpu->sched);
}

void llcsched_trust_forget(LlcschedVcpu *vcpu)
{
    if (llcsched_turns_used(vcpu->sched)) {
        llcsched_turns_forget(vcpu);
        return;
    }
    if (vcpu->trust.state == LLCSCHED_COOKIE_STATE_OURS) {
        core_cookie_copy(vcpu->sched->ops->core_cookie, getpid());
    }
    vcpu_gate_open(vcpu->cpu, VCPU_GATE_TRUST);
}

/* --- A look --- */

/*
 * The cookie is not proven: the vCPU leaves the guest, unless it is known to
 * run without proof.  True if settling it could help: without kernel support
 * only SMT off would, or it has to be told of.
 */
static bool llcsched_trust_distrust(LlcschedVcpu *vcpu,
                                    LlcschedCookieState before)
{
    LlcschedVcpuTrust *trust = &vcpu->trust;
    bool strict = llcsched_trust_strict(vcpu->sched);

    if (before == LLCSCHED_COOKIE_STATE_OURS &&
        trust->holder == llcsched_trust_wanted(vcpu)) {
        vcpu->sched->trust.changes++;
        trace_llcsched_cookie_changed(vcpu->index, vcpu->thread.id,
                                      trust->hash);
    }
    if (strict || llcsched_trust_proven(before)) {
        vcpu_gate_close(vcpu->cpu, VCPU_GATE_TRUST);
    }
    return trust->state != LLCSCHED_COOKIE_STATE_FAILED ||
           trust->fault.verdict != CORE_COOKIE_UNSUPPORTED ||
           (!strict && vcpu_gate_closed(vcpu->cpu, VCPU_GATE_TRUST));
}

/* Lock held, thread alive. */
static void llcsched_trust_see(LlcschedVcpu *vcpu)
{
    LlcschedVcpuTrust *trust = &vcpu->trust;
    LlcschedCookieState before = trust->state;
    bool settle;

    trust->state = llcsched_trust_judge(vcpu, vcpu->thread.id);
    if (trust->state == LLCSCHED_COOKIE_STATE_FAILED &&
        trust->fault.verdict == CORE_COOKIE_GONE) {
        trust->state = before; /* ending: its exit notifier tells */
        return;
    }
    llcsched_trust_charge_found(vcpu, trust->state);
    trust->has_forced_idle =
        host_trust_forced_idle("", vcpu->thread.id, &trust->forced_idle_ns);
    if (llcsched_trust_proven(trust->state) ||
        trust->state == LLCSCHED_COOKIE_STATE_NONE) {
        settle = vcpu_gate_closed(vcpu->cpu, VCPU_GATE_TRUST);
    } else {
        settle = llcsched_trust_distrust(vcpu, before);
    }
    if (settle && !trust->queued) {
        trust->queued = true;
        vcpu_gate_run(vcpu->cpu, llcsched_trust_settle_work,
                      RUN_ON_CPU_HOST_PTR(vcpu));
    }
}

/* look_lock held: what @view says of siblings stands in for smt/active. */
static bool llcsched_trust_smt_off(const Llcsched *s)
{
    const HostTopology *host = s->view->host;

    switch (host_trust_smt(s->sysfs_root)) {
    case HOST_SMT_OFF:
        return true;
    case HOST_SMT_ON:
        return false;
    default:
        /* a host that could not be read in full may have hidden siblings */
        return !host->smt && !host->notes->len;
    }
}

/* look_lock held, or the object is new; lock not held. */
static void llcsched_trust_read_host(Llcsched *s)
{
    bool smt_off = llcsched_trust_smt_off(s);
    bool sched_ext = host_trust_sched_ext(s->sysfs_root);
    HostPeers peers = host_trust_peers("", geteuid() == 0);

    QEMU_LOCK_GUARD(&s->lock);
    s->trust.smt_off = smt_off;
    s->trust.sched_ext = sched_ext;
    s->trust.peers = peers; /* -run-with user= comes after the object */
    if (sched_ext && !llcsched_turns_used(s)) {
        llcsched_warn(s, "%s", core_cookie_explain(CORE_COOKIE_SCHED_EXT));
    }
}

/* Each has a cookie, if the host can: what the vCPUs need.  As above. */
static void llcsched_trust_check_holders(Llcsched *s)
{
    g_autoptr(GPtrArray) holders = NULL;

    WITH_QEMU_LOCK_GUARD(&s->lock) {
        holders = llcsched_trust_holders(s);
    }
    for (guint i = 0; i < holders->len; i++) {
        CoreCookie got = llcsched_holder_check(g_ptr_array_index(holders, i),
                                               !s->trust.sched_ext);

        s->trust.kernel = got.verdict == CORE_COOKIE_OK;
    }
}

/* There are cookies, or threads that still have one.  Lock held. */
static bool llcsched_trust_is_used(const Llcsched *s)
{
    const LlcschedVcpu *vcpu;

    QTAILQ_FOREACH(vcpu, &s->vcpus, next) {
        if (llcsched_trust_wanted(vcpu) ||
            vcpu->trust.state != LLCSCHED_COOKIE_STATE_NONE ||
            vcpu->turn.cookie) {
            return true;
        }
    }
    return false;
}

/* look_lock held. */
static void llcsched_trust_see_all(Llcsched *s)
{
    LlcschedVcpu *vcpu;

    llcsched_trust_check_holders(s);
    QEMU_LOCK_GUARD(&s->lock);
    QTAILQ_FOREACH(vcpu, &s->vcpus, next) {
        if (vcpu->thread.id) {
            llcsched_trust_see(vcpu);
        }
    }
}

void llcsched_trust_look(Llcsched *s)
{
    WITH_QEMU_LOCK_GUARD(&s->lock) {
        if (!llcsched_trust_is_used(s)) {
            return;
        }
    }
    WITH_QEMU_LOCK_GUARD(&s->look_lock) {
        llcsched_trust_read_host(s);
        if (llcsched_turns_used(s)) {
            QEMU_LOCK_GUARD(&s->lock);
            llcsched_turns_look(s);
        } else {
            llcsched_trust_see_all(s);
        }
    }
    llcsched_trust_tell(s);
    if (qatomic_read(&s->running)) {
        llcsched_trust_arm(s);
    }
}

void llcsched_trust_arm(Llcsched *s)
{
    QEMU_LOCK_GUARD(&s->lock);
    if (llcsched_trust_is_used(s)) {
        timer_mod(s->trust.timer, llcsched_now_ns() +
                  MIN(s->config.interval_ms, LLCSCHED_TRUST_LOOK_MS_MAX) *
                  (int64_t)SCALE_MS);
    }
}

static void llcsched_trust_timer(void *opaque)
{
    llcsched_trust_look(opaque);
}

/* --- Life --- */

/* look_lock not held.  What keeps the cookie of @holder from isolating. */
static CoreCookie llcsched_trust_preflight(Llcsched *s, LlcschedHolder *holder)
{
    CoreCookie got;

    QEMU_LOCK_GUARD(&s->look_lock);
    llcsched_trust_read_host(s);
    if (llcsched_turns_used(s)) {
        return (CoreCookie) { .verdict = CORE_COOKIE_OK };
    }
    got = llcsched_holder_check(holder, !s->trust.sched_ext);
    s->trust.kernel = got.verdict == CORE_COOKIE_OK;
    if (llcsched_trust_needless(s, got.verdict)) {
        got.verdict = CORE_COOKIE_OK;
    }
    return got;
}

bool llcsched_trust_prepare(Llcsched *s, const char *cookie,
                            LlcschedHolder **ret_holder, Error **errp)
{
    LlcschedHolder *holder;
    CoreCookie got;

    holder = llcsched_holder_get(cookie, s->ops->core_cookie, errp);
    if (!holder) {
        return false;
    }
    got = llcsched_trust_preflight(s, holder);
    if (got.verdict != CORE_COOKIE_OK) {
        if (llcsched_trust_strict(s)) {
            error_setg(errp, "the cookie cannot isolate vCPUs (errno %d): %s",
                       -got.err, core_cookie_explain(got.verdict));
            return false;
        }
        QEMU_LOCK_GUARD(&s->lock);
        s->trust.fault = got;
        s->trust.has_fault = true;
        llcsched_warn(s, "vCPUs are not isolated: %s",
                      core_cookie_explain(got.verdict));
    }
    if (tcg_enabled()) {
        QEMU_LOCK_GUARD(&s->lock);
        llcsched_warn(s, "TCG is no security boundary: cookies isolate guests "
                      "of -accel kvm only");
    }
    *ret_holder = holder;
    return true;
}

bool llcsched_trust_admits(Llcsched *s, Error **errp)
{
    g_autoptr(GPtrArray) holders = NULL;

    if (!llcsched_trust_strict(s)) {
        return true;
    }
    WITH_QEMU_LOCK_GUARD(&s->lock) {
        holders = llcsched_trust_holders(s);
    }
    for (guint i = 0; i < holders->len; i++) {
        CoreCookie got =
            llcsched_trust_preflight(s, g_ptr_array_index(holders, i));

        if (got.verdict != CORE_COOKIE_OK) {
            error_setg(errp, "a vCPU cannot be plugged, as its cookie could "
                       "not isolate it (errno %d): %s", -got.err,
                       core_cookie_explain(got.verdict));
            return false;
        }
    }
    return true;
}

bool llcsched_trust_init(Llcsched *s, Error **errp)
{
    if (qtest_enabled()) {
        llcsched_qtest_cookie_init(s->sysfs_root);
    }
    s->trust.peers = host_trust_peers("", geteuid() == 0);
    s->trust.numbered = g_ptr_array_new();
    s->trust.timer = llcsched_timer_new(s, llcsched_trust_timer);
    s->trust.told.isolation = LLCSCHED_ISOLATION_NONE;
    return !s->trust.cookie ||
           llcsched_trust_prepare(s, s->trust.cookie, &s->trust.holder, errp);
}

void llcsched_trust_fini(Llcsched *s)
{
    timer_free(s->trust.timer);
    if (s->trust.numbered) {
        g_ptr_array_free(s->trust.numbered, true);
    }
    g_free(s->trust.cookie);
}
