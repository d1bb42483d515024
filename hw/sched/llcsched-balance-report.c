/*
 * LLC-aware vCPU scheduler: what balance saw and did, for the query
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "llcsched-balance.h"
#include "llcsched-internal.h"

QEMU_BUILD_BUG_ON((int)LLCSCHED_KEEP_REASON__MAX != BALANCE_REASON_MAX);
QEMU_BUILD_BUG_ON((int)LLCSCHED_MOVE_KIND__MAX != BALANCE_MOVE_MAX);
QEMU_BUILD_BUG_ON((int)LLCSCHED_GUARD_CAUSE__MAX != BALANCE_CAUSE_MAX);

static void llcsched_fill_counts(LlcschedBalanceInfo *info,
                                 const BalanceStats *stats)
{
    LlcschedKeepCountList **kept = &info->kept;
    LlcschedMoveCountList **moves = &info->moves;

    for (int i = 0; i < BALANCE_REASON_MAX; i++) {
        LlcschedKeepCount *row = g_new0(LlcschedKeepCount, 1);

        row->reason = (LlcschedKeepReason)i;
        row->count = stats->kept[i];
        QAPI_LIST_APPEND(kept, row);
    }
    for (int i = 0; i < BALANCE_MOVE_MAX; i++) {
        LlcschedMoveCount *row = g_new0(LlcschedMoveCount, 1);

        row->kind = (LlcschedMoveKind)i;
        row->count = stats->moves[i];
        QAPI_LIST_APPEND(moves, row);
    }
}

LlcschedBalanceInfo *llcsched_balance_info(const Llcsched *s)
{
    LlcschedBalanceInfo *info = g_new0(LlcschedBalanceInfo, 1);
    const BalanceStats *stats = balance_stats(s->balance);
    int64_t now_ns = llcsched_now_ns();

    info->has_kernel_cache_aware = s->cache_aware != HOST_CACHE_AWARE_UNKNOWN;
    info->kernel_cache_aware = s->cache_aware == HOST_CACHE_AWARE_YES;
    info->looks = stats->looks;
    info->plans = stats->plans;
    info->reason = (LlcschedKeepReason)stats->reason;
    llcsched_fill_counts(info, stats);
    if (s->last_move) {
        info->last_move = g_new0(LlcschedMove, 1);
        info->last_move->kind = (LlcschedMoveKind)stats->last_move;
        info->last_move->age_ns = now_ns - stats->last_move_ns;
        info->last_move->explanation = g_strdup(s->last_move);
    }
    info->undone = stats->undone;
    info->moves_last_hour = stats->moves_last_hour;
    info->cooldown_ns = stats->cooldown_ns;
    info->cooldown_left_ns = MAX(stats->cooldown_until_ns - now_ns, 0);
    info->lost_ns = stats->lost_ns;
    info->misaligned_ns = stats->misaligned_ns;
    info->guard_closed = stats->guard_closed;
    info->guard_opened = stats->guard_opened;
    return info;
}

LlcschedVcpuLoad *llcsched_balance_vcpu(const Llcsched *s,
                                        const LlcschedVcpu *vcpu)
{
    LlcschedVcpuLoad *info;
    VcpuLoad load = { };

    if (s->history) {
        load = load_history_get_vcpu(s->history, vcpu->index, LOAD_FAST);
    }
    if (!load.known) {
        return NULL;
    }
    info = g_new0(LlcschedVcpuLoad, 1);
    info->source = load.waits_known ? LLCSCHED_THREAD_SOURCE_SCHEDSTAT
                                    : LLCSCHED_THREAD_SOURCE_CLOCK;
    info->run = load.run / 10.0;
    info->wait = load.wait / 10.0;
    info->burst_ns = load.burst_ns;
    info->has_halts = vcpu->has_halts;
    info->halts = vcpu->halts.halts;
    info->has_halt_poll_ns = vcpu->has_halts;
    info->halt_poll_ns = vcpu->halts.poll_ns;
    return info;
}

void llcsched_balance_fill_llc(LlcschedHostLlc *info, const Llcsched *s,
                               int llc)
{
    const BalanceGuard *guards = balance_guards(s->balance);
    LlcLoad load;

    if (guards && s->planned) {
        info->guard_cause = (LlcschedGuardCause)guards[llc].cause;
        info->guarded = guards[llc].cause != BALANCE_CAUSE_NONE;
    }
    if (info->guarded) {
        info->guarded_ns = llcsched_now_ns() - guards[llc].since_ns;
    }
    if (s->history && load_history_get_llc(s->history, llc, LOAD_FAST,
                                           &load)) {
        info->has_average_util = info->has_average_tasks = true;
        info->average_util = load.others_util / 10.0;
        info->average_tasks = load.others_tasks / 10.0;
    }
}
