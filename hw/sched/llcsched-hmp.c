/*
 * LLC-aware vCPU scheduler: info llcsched, for people
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "monitor/hmp.h"
#include "monitor/monitor.h"
#include "qapi/error.h"
#include "qapi/qapi-commands-llcsched.h"
#include "hw/sched/host-cpuset.h"

/* What a terminal shows without folding; the rest is in query-llcsched. */
#define LLCSCHED_COLUMNS 79
#define LLCSCHED_MASK_COLUMNS 24

/* The widest CPU list, so that the reasons have the rest of the line. */
static int llcsched_mask_columns(const LlcschedVcpuInfoList *list)
{
    size_t columns = strlen("CPUs");

    for (; list; list = list->next) {
        columns = MAX(columns, strlen(list->value->mask));
    }
    return MIN(columns, LLCSCHED_MASK_COLUMNS);
}

static void llcsched_print_line(Monitor *mon, const char *line)
{
    if (strlen(line) > LLCSCHED_COLUMNS) {
        monitor_printf(mon, "%.*s...\n", LLCSCHED_COLUMNS - 3, line);
    } else {
        monitor_printf(mon, "%s\n", line);
    }
}

/* Fold @text at spaces, below @head; a word that is too long is cut. */
static void llcsched_print_folded(Monitor *mon, const char *head,
                                  const char *text)
{
    g_auto(GStrv) words = g_strsplit(text, " ", 0);
    int column = strlen(head);

    monitor_printf(mon, "%s", head);
    for (char **word = words; *word; word++) {
        if (column + 1 + strlen(*word) > LLCSCHED_COLUMNS) {
            monitor_printf(mon, "\n ");
            column = 1;
        }
        if (column + 1 + strlen(*word) > LLCSCHED_COLUMNS) {
            monitor_printf(mon, " %.*s...", LLCSCHED_COLUMNS - 5, *word);
            column = LLCSCHED_COLUMNS;
        } else {
            monitor_printf(mon, " %s", *word);
            column += 1 + strlen(*word);
        }
    }
    monitor_printf(mon, "\n");
}

/* Before some load is known, its columns would be empty. */
static bool llcsched_knows_loads(const LlcschedVcpuInfoList *list)
{
    while (list && !list->value->load) {
        list = list->next;
    }
    return list;
}

static char *llcsched_load_columns(const LlcschedVcpuLoad *load, bool loads)
{
    if (!loads) {
        return g_strdup("");
    }
    return load ? g_strdup_printf("%3.0f %4.0f  ", load->run, load->wait)
                : g_strdup("  -    -  ");
}

/* That a mask is not as it should be must be seen; foreign ones say why. */
static void llcsched_print_vcpu(Monitor *mon, const LlcschedVcpuInfo *vcpu,
                                int columns, bool loads)
{
    bool failed = vcpu->mask_state == LLCSCHED_MASK_STATE_FAILED;
    bool contested = vcpu->mask_state == LLCSCHED_MASK_STATE_CONTESTED;
    g_autofree char *llc = vcpu->llc_aligned && !failed
                           ? g_strdup_printf("%" PRId64, vcpu->host_llc)
                           : g_strdup("-");
    g_autofree char *load = llcsched_load_columns(vcpu->load, loads);
    g_autofree char *line =
        g_strdup_printf("%4" PRId64 " %4s  %s%-*s  %s%s%s", vcpu->vcpu, llc,
                        load, columns, *vcpu->mask ? vcpu->mask : "-",
                        failed ? "failed: " : "",
                        contested ? "contested: " : "", vcpu->explanation);

    llcsched_print_line(mon, line);
}

/* "LLC 0: closed for 12 s (util), others run 80 %, 80 % with waiting" */
static void llcsched_print_guard(Monitor *mon, const LlcschedHostLlc *llc)
{
    g_autofree char *line = NULL;

    if (!llc->guarded) {
        return;
    }
    line = g_strdup_printf("LLC %" PRId64 ": closed for %" PRIu64 " s (%s), "
                           "others run %.0f %%, %.0f %% with waiting", llc->id,
                           llc->guarded_ns / NANOSECONDS_PER_SECOND,
                           LlcschedGuardCause_str(llc->guard_cause),
                           llc->average_util, llc->average_tasks);
    llcsched_print_line(mon, line);
}

/* "balance: 2 moves, 1 undone, last escape 12 s ago: ...; kept: settled 40" */
static void llcsched_print_balance(Monitor *mon,
                                   const LlcschedBalanceInfo *info)
{
    g_autoptr(GString) line = g_string_new(NULL);
    uint64_t moves = 0;

    for (LlcschedMoveCountList *m = info->moves; m; m = m->next) {
        moves += m->value->kind == LLCSCHED_MOVE_KIND_TOLD ? 0
                                                           : m->value->count;
    }
    g_string_printf(line, "%" PRIu64 " moves%s, %" PRIu64 " undone", moves,
                    info->applied ? "" : " would have been", info->undone);
    if (info->last_move) {
        g_string_append_printf(line, ", last %s %" PRIu64 " s ago: %s",
                               LlcschedMoveKind_str(info->last_move->kind),
                               info->last_move->age_ns /
                               NANOSECONDS_PER_SECOND,
                               info->last_move->explanation);
    }
    g_string_append(line, "; kept:");
    for (LlcschedKeepCountList *k = info->kept; k; k = k->next) {
        if (k->value->count) {
            g_string_append_printf(line, " %s %" PRIu64,
                                   LlcschedKeepReason_str(k->value->reason),
                                   k->value->count);
        }
    }
    llcsched_print_folded(mon, "balance:", line->str);
}

/* What is in force follows the verdict, below it where that is long. */
static void llcsched_print_verdict(Monitor *mon, const LlcschedInfo *info)
{
    g_autofree char *verdict = g_strdup_printf("%s: %s", info->id,
                                               info->summary);
    g_autofree char *force =
        g_strdup_printf("(%s, placement %s)", LlcschedStatus_str(info->status),
                        LlcschedPlacement_str(info->effective_placement));

    if (strlen(verdict) + 1 + strlen(force) <= LLCSCHED_COLUMNS) {
        monitor_printf(mon, "%s %s\n", verdict, force);
    } else {
        llcsched_print_line(mon, verdict);
        llcsched_print_line(mon, force);
    }
}

/* "other threads: 7 on CPUs 0-3, 1 foreign, near the vCPUs: LLC 0" */
static void llcsched_print_emulator(Monitor *mon,
                                    const LlcschedEmulatorInfo *info)
{
    static const LlcschedMaskState shown[] = {
        LLCSCHED_MASK_STATE_FOREIGN, LLCSCHED_MASK_STATE_CONTESTED,
        LLCSCHED_MASK_STATE_FAILED, LLCSCHED_MASK_STATE_OUT_OF_REACH,
    };
    g_autoptr(GString) line = g_string_new(NULL);
    int count[LLCSCHED_MASK_STATE__MAX] = { };

    if (!info->threads) {
        return; /* they cannot be listed */
    }
    for (LlcschedThreadInfoList *t = info->threads; t; t = t->next) {
        count[t->value->mask_state]++;
    }
    g_string_printf(line, "other threads: ");
    if (count[LLCSCHED_MASK_STATE_OURS]) {
        g_string_append_printf(line, "%d on CPUs %s, ",
                               count[LLCSCHED_MASK_STATE_OURS],
                               info->planned_mask);
    }
    for (int i = 0; i < ARRAY_SIZE(shown); i++) {
        if (count[shown[i]]) {
            g_string_append_printf(line, "%d %s, ", count[shown[i]],
                                   LlcschedMaskState_str(shown[i]));
        }
    }
    g_string_append(line, info->explanation);
    llcsched_print_line(mon, line->str);
}

/* "group a: vCPU 0-3, 5000/10000 us, throttled 12/100 periods, max 4.9 ms" */
static void llcsched_print_group(Monitor *mon, const LlcschedGroupInfo *group)
{
    g_autoptr(GString) line = g_string_new(NULL);

    g_string_printf(line, "group %s: ", group->id);
    if (*group->vcpus) {
        g_string_append_printf(line, "vCPU %s, ", group->vcpus);
    }
    if (!group->effective_quota_us) {
        g_string_append(line, "unlimited");
    } else {
        g_string_append_printf(line, "%" PRId64 "/%" PRId64 " us",
                               group->effective_quota_us,
                               group->effective_period_us);
    }
    if (group->effective_group &&
        !g_str_equal(group->effective_group, group->id)) {
        g_string_append_printf(line, " by %s", group->effective_group);
    }
    g_string_append_printf(line, ", throttled %" PRIu64 "/%" PRIu64
                           " periods, max %.1f ms",
                           group->throttled_periods, group->periods,
                           group->longest_stall_ns / 1e6);
    llcsched_print_line(mon, line->str);
    if (group->host_limited) {
        llcsched_print_line(mon, "  the host's cgroups leave its vCPUs less");
    }
}

/* "cookie 1 takes turns: vCPU 0-1, weight 100, 6120 turns, ..." */
static void llcsched_print_turns(Monitor *mon, const LlcschedCookieTurns *turns)
{
    g_autofree char *line = NULL;

    line = g_strdup_printf("vCPU %s, weight %" PRIu32 ", %" PRIu64
                           " turns, %.1f s, longest wait %.1f ms, %" PRIu64
                           " delayed exits", turns->vcpus, turns->weight,
                           turns->turns, turns->granted_ns / 1e9,
                           turns->longest_wait_ns / 1e6,
                           turns->delayed_exits);
    if (turns->cookie) {
        g_autofree char *title = g_strdup_printf("cookie %" PRIu32 ":",
                                                 turns->cookie);

        llcsched_print_folded(mon, title, line);
    } else {
        llcsched_print_folded(mon, "no cookie:", line);
    }
}

/* "trust: strict, kernel, isolation host; 2 cookies: every cookie was ..." */
static void llcsched_print_trust(Monitor *mon, const LlcschedTrustInfo *trust)
{
    g_autoptr(GString) line = g_string_new(NULL);
    const LlcschedCookieTurnsList *turns;

    if (!trust->cookies) {
        return;
    }
    g_string_printf(line, "%s, %s, isolation %s; %" PRId64 " %s: %s",
                    LlcschedTrust_str(trust->trust),
                    LlcschedTrustMode_str(trust->mode),
                    LlcschedIsolation_str(trust->isolation), trust->cookies,
                    trust->cookies == 1 ? "cookie" : "cookies",
                    trust->explanation);
    if (trust->gated) {
        g_string_append_printf(line, "; %" PRId64 " vCPUs kept out",
                               trust->gated);
    }
    llcsched_print_folded(mon, "trust:", line->str);
    for (turns = trust->cookie_turns; turns; turns = turns->next) {
        if (turns->value->sharing > 1) {
            llcsched_print_turns(mon, turns->value);
        }
    }
}

/* "steal time shown: vCPU 0-3", and for the others why not. */
static void llcsched_print_steal(Monitor *mon, const LlcschedInfo *info)
{
    for (int state = 0; state < LLCSCHED_STEAL_STATE__MAX; state++) {
        g_autofree char *list = NULL;
        g_autofree char *line = NULL;
        HostCpuSet vcpus = { };

        for (LlcschedVcpuInfoList *v = info->vcpus; v; v = v->next) {
            if (v->value->steal_state == state) {
                host_cpuset_add(&vcpus, v->value->vcpu);
            }
        }
        if (!host_cpuset_empty(&vcpus)) {
            list = host_cpuset_to_list(&vcpus);
            line = g_strdup_printf("steal time %s: vCPU %s",
                                   LlcschedStealState_str(state), list);
            llcsched_print_line(mon, line);
        }
    }
}

void hmp_info_llcsched(Monitor *mon, const QDict *qdict)
{
    g_autoptr(LlcschedInfoList) list = qmp_query_llcsched(&error_abort);
    const LlcschedInfo *info;
    LlcschedHostLlcList *l;
    LlcschedGroupInfoList *g;
    LlcschedVcpuInfoList *v;
    strList *w;
    int columns;
    bool loads;

    if (!list) {
        monitor_printf(mon, "no llcsched object\n");
        return;
    }
    info = list->value;
    llcsched_print_verdict(mon, info);
    columns = llcsched_mask_columns(info->vcpus);
    loads = llcsched_knows_loads(info->vcpus);
    monitor_printf(mon, "vCPU  LLC  %s%-*s  why\n", loads ? "run wait  " : "",
                   columns, "CPUs");
    for (v = info->vcpus; v; v = v->next) {
        llcsched_print_vcpu(mon, v->value, columns, loads);
    }
    for (l = info->host_llcs; l; l = l->next) {
        llcsched_print_guard(mon, l->value);
    }
    if (info->balance->looks) {
        llcsched_print_balance(mon, info->balance);
    }
    llcsched_print_emulator(mon, info->emulator_threads);
    for (g = info->groups; g; g = g->next) {
        llcsched_print_group(mon, g->value);
    }
    if (info->groups) {
        llcsched_print_steal(mon, info);
    }
    if (info->host_quota->state != LLCSCHED_HOST_QUOTA_STATE_NONE) {
        llcsched_print_folded(mon, "host quota:",
                              info->host_quota->explanation);
    }
    llcsched_print_trust(mon, info->trust);
    for (w = info->warnings; w; w = w->next) {
        llcsched_print_folded(mon, "warning:", w->value);
    }
}
