/*
 * LLC-aware vCPU scheduler: what is told of cookies
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/qapi-events-llcsched.h"
#include "hw/sched/vcpu-gate.h"
#include "llcsched-cores.h"
#include "llcsched-internal.h"

/*
 * What masks alone do.  Without a second cookie they keep nobody off, and
 * trust=strict does without them, as does trust-backend=kernel.  Lock held.
 */
static bool llcsched_trust_disjoint(const Llcsched *s)
{
    g_autoptr(TrustPlan) judged = NULL;

    if (s->config.trust == LLCSCHED_TRUST_STRICT ||
        s->config.trust_backend != LLCSCHED_TRUST_BACKEND_AUTO) {
        return false;
    }
    judged = llcsched_cores_judge(s);
    return judged && judged->disjoint && judged->n_cookies > 1;
}

/* How far it holds, and by what, once the vCPUs are counted.  Lock held. */
static void llcsched_trust_rate(const Llcsched *s, bool unneeded,
                                LlcschedTrustStatus *status)
{
    bool all = status->with_cookie && status->isolated == status->with_cookie;

    status->isolation = LLCSCHED_ISOLATION_NONE;
    status->mode = LLCSCHED_TRUST_MODE_NONE;
    if (all && unneeded) {
        status->isolation = LLCSCHED_ISOLATION_HOST;
        status->mode = LLCSCHED_TRUST_MODE_NOT_NEEDED;
    } else if (all && llcsched_turns_used(s)) {
        status->isolation = LLCSCHED_ISOLATION_THIS_VM;
        status->mode = LLCSCHED_TRUST_MODE_GATE;
    } else if (all) {
        status->isolation = LLCSCHED_ISOLATION_HOST;
        status->mode = LLCSCHED_TRUST_MODE_KERNEL;
    } else if (status->with_cookie && llcsched_trust_disjoint(s)) {
        status->isolation = LLCSCHED_ISOLATION_THIS_VM;
        status->mode = LLCSCHED_TRUST_MODE_MASKS;
    }
}

/* Lock held. */
static void llcsched_trust_status(const Llcsched *s,
                                  LlcschedTrustStatus *status)
{
    g_autoptr(GPtrArray) holders = llcsched_trust_holders(s);
    const LlcschedVcpu *vcpu;
    bool turns = llcsched_turns_used(s);
    int unneeded = turns && s->trust.smt_off;

    *status = (LlcschedTrustStatus) {
        .cookies = holders->len, .changes = s->trust.changes };
    QTAILQ_FOREACH(vcpu, &s->vcpus, next) {
        LlcschedCookieState state = vcpu->trust.state;

        /* who waits for a turn is not kept out for want of proof */
        status->gated += !turns && vcpu_gate_closed(vcpu->cpu,
                                                    VCPU_GATE_TRUST);
        if (llcsched_trust_wanted(vcpu)) {
            status->with_cookie++;
            status->isolated += turns ? llcsched_turns_has(vcpu)
                                      : llcsched_trust_proven(state);
            unneeded += state == LLCSCHED_COOKIE_STATE_NOT_NEEDED;
        }
    }
    llcsched_trust_rate(s, unneeded, status);
}

/* For people; the caller frees it.  Lock held. */
static char *llcsched_trust_explain(const Llcsched *s,
                                    const LlcschedTrustStatus *status)
{
    int missing = status->with_cookie - status->isolated;

    if (!status->cookies) {
        return g_strdup("there is no cookie");
    }
    if (!status->with_cookie) {
        return g_strdup("no vCPU has a cookie");
    }
    if (status->isolation == LLCSCHED_ISOLATION_THIS_VM) {
        g_autoptr(TrustPlan) judged = llcsched_cores_judge(s);

        return judged ? trust_summary(judged)
                      : g_strdup("cookies take turns");
    }
    if (missing) {
        return g_strdup_printf("%d of %d vCPUs with a cookie %s not isolated"
                               "%s%s", missing, status->with_cookie,
                               missing == 1 ? "is" : "are",
                               s->trust.has_fault ? ": " : "",
                               s->trust.has_fault ? core_cookie_explain(
                                   s->trust.fault.verdict) : "");
    }
    return g_strdup(status->mode == LLCSCHED_TRUST_MODE_NOT_NEEDED
                    ? core_cookie_explain(CORE_COOKIE_NOT_NEEDED)
                    : "every cookie was read back from the kernel");
}

void llcsched_trust_tell(Llcsched *s)
{
    g_autofree char *explanation = NULL;
    LlcschedTrustStatus now;

    WITH_QEMU_LOCK_GUARD(&s->lock) {
        const LlcschedTrustStatus *told = &s->trust.told;

        llcsched_trust_status(s, &now);
        if (now.isolation == told->isolation && now.gated == told->gated &&
            now.changes == told->changes) {
            return;
        }
        s->trust.told = now;
        explanation = llcsched_trust_explain(s, &now);
    }
    qapi_event_send_llcsched_trust(s->id, now.isolation, now.gated,
                                   now.changes, explanation);
}

QEMU_BUILD_BUG_ON((int)LLCSCHED_PEER_ISOLATION_UID != HOST_PEERS_UID);
QEMU_BUILD_BUG_ON((int)LLCSCHED_PEER_ISOLATION_LSM != HOST_PEERS_LSM);

void llcsched_trust_fill_vcpu(LlcschedVcpuInfo *info, const LlcschedVcpu *vcpu)
{
    const LlcschedVcpuTrust *trust = &vcpu->trust;

    info->cookie_state = trust->state;
    info->cookie_hash = trust->hash
                        ? g_strdup_printf("0x%" PRIx64, trust->hash) : NULL;
    info->cookie_gated = !llcsched_turns_used(vcpu->sched) &&
                         vcpu_gate_closed(vcpu->cpu, VCPU_GATE_TRUST);
    info->cookie = llcsched_cookie_number(vcpu);
    info->untagged_run_ns = trust->untagged_ns;
    info->has_forced_idle_ns = trust->has_forced_idle;
    info->forced_idle_ns = trust->forced_idle_ns;
}

/* The vCPUs that take turns with a cookie now. */
static char *llcsched_turns_vcpus(const Llcsched *s, unsigned cookie)
{
    const LlcschedVcpu *vcpu;
    HostCpuSet set = { };

    QTAILQ_FOREACH(vcpu, &s->vcpus, next) {
        if (llcsched_turns_has(vcpu) && vcpu->turn.cookie == cookie) {
            host_cpuset_add(&set, vcpu->index);
        }
    }
    return host_cpuset_to_list(&set);
}

static LlcschedCookieTurns *llcsched_turns_cookie_info(
    const Llcsched *s, unsigned cookie, const TrustCookieStats *stats)
{
    LlcschedCookieTurns *info = g_new0(LlcschedCookieTurns, 1);

    info->cookie = cookie;
    info->vcpus = llcsched_turns_vcpus(s, cookie);
    info->weight = llcsched_cookie_weight(s, cookie);
    info->sharing = stats->domain_cookies;
    info->slice_ns = stats->slice_ns;
    info->open = stats->open;
    info->turns = stats->turns;
    info->hand_overs = stats->hand_overs;
    info->early_ends = stats->early_ends;
    info->fruitless_probes = stats->fruitless_probes;
    info->granted_ns = stats->granted_ns;
    info->granted_core_ns = stats->granted_core_ns;
    info->forced_idle_core_ns = stats->forced_idle_core_ns;
    info->waited_ns = stats->waited_ns;
    info->longest_wait_ns = stats->longest_wait_ns;
    info->longest_gross_wait_ns = stats->longest_gross_wait_ns;
    info->exit_ns = stats->exit_ns;
    info->longest_exit_ns = stats->longest_exit_ns;
    info->delayed_exits = stats->delayed_exits;
    info->delayed_exit_ns = stats->delayed_exit_ns;
    info->late_look_ns = stats->late_look_ns;
    return info;
}

/* Empty unless turns are taken. */
static LlcschedCookieTurnsList *llcsched_turns_cookies(const Llcsched *s)
{
    LlcschedCookieTurnsList *list = NULL, **tail = &list;
    int64_t now_ns = llcsched_now_ns();

    if (!s->turns.active) {
        return NULL;
    }
    for (unsigned cookie = 0; cookie <= s->trust.numbered->len; cookie++) {
        TrustCookieStats stats;

        if (trust_turns_cookie_stats(s->turns.turns, cookie, now_ns, &stats) &&
            (cookie || stats.domain_cookies)) {
            QAPI_LIST_APPEND(tail, llcsched_turns_cookie_info(s, cookie,
                                                              &stats));
        }
    }
    return list;
}

/* The cores that were handed over. */
static LlcschedCoreTurnsList *llcsched_turns_cores_info(const Llcsched *s)
{
    LlcschedCoreTurnsList *list = NULL, **tail = &list;
    const HostTopology *host = s->view->host;
    int64_t now_ns = llcsched_now_ns();

    for (int core = 0; s->turns.active && core < host->n_cores; core++) {
        LlcschedCoreTurns *info;
        TrustCoreStats stats;

        if (!trust_turns_core_stats(s->turns.turns, core, now_ns, &stats) ||
            !stats.hand_overs) {
            continue;
        }
        info = g_new0(LlcschedCoreTurns, 1);
        info->cpus = host_cpuset_to_list(&host->cores[core].cpus);
        info->hand_overs = stats.hand_overs;
        info->granted_ns = stats.granted_ns;
        info->forced_idle_ns = stats.forced_idle_ns;
        QAPI_LIST_APPEND(tail, info);
    }
    return list;
}

LlcschedTrustInfo *llcsched_trust_info(const Llcsched *s)
{
    LlcschedTrustInfo *info = g_new0(LlcschedTrustInfo, 1);
    LlcschedTrustStatus status;

    llcsched_trust_status(s, &status);
    info->trust = s->config.trust;
    info->backend = s->config.trust_backend;
    info->mode = status.mode;
    info->isolation = status.isolation;
    info->explanation = llcsched_trust_explain(s, &status);
    info->peer_isolation = (LlcschedPeerIsolation)s->trust.peers;
    info->cookies = status.cookies;
    info->gated = status.gated;
    info->changes = status.changes;
    info->slice_us = s->config.slice_us;
    info->cookie_turns = llcsched_turns_cookies(s);
    info->core_turns = llcsched_turns_cores_info(s);
    if (s->trust.has_fault) {
        info->has_q_errno = true;
        info->q_errno = -s->trust.fault.err;
        info->error = g_strdup(core_cookie_explain(s->trust.fault.verdict));
    }
    return info;
}
