/*
 * LLC-aware vCPU scheduler: when the plan follows the load
 *
 * hw/sched/core/balance.c decides; this hands it what was measured, and plans
 * when it asks.  docs/devel/balance.rst has the rules.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "llcsched-balance.h"
#include "llcsched-internal.h"
#include "trace.h"

static int64_t llcsched_interval_ns(const Llcsched *s)
{
    return s->config.interval_ms * (int64_t)SCALE_MS;
}

void llcsched_balance_init(Llcsched *s)
{
    s->balance = balance_new(s->seed, llcsched_interval_ns(s));
}

void llcsched_balance_start(Llcsched *s)
{
    QEMU_LOCK_GUARD(&s->lock);
    s->history = load_history_new(s->guest->n_vcpus, s->view->host->n_llcs,
                                  llcsched_interval_ns(s));
}

void llcsched_balance_fini(Llcsched *s)
{
    g_free(s->last_move);
    load_history_free(s->history);
    balance_free(s->balance);
}

void llcsched_balance_host_changed(Llcsched *s)
{
    if (s->history) {
        load_history_forget_llcs(s->history, s->view->host->n_llcs);
    }
}

void llcsched_balance_set_options(Llcsched *s)
{
    balance_set_interval(s->balance, llcsched_interval_ns(s));
    if (s->history) {
        load_history_set_interval(s->history, llcsched_interval_ns(s));
    }
}

void llcsched_balance_pause(Llcsched *s)
{
    if (s->history) {
        load_history_pause(s->history);
    }
}

void llcsched_balance_forget_vcpu(Llcsched *s, const LlcschedVcpu *vcpu)
{
    if (s->history && vcpu->index >= 0 &&
        vcpu->index < load_history_n_vcpus(s->history)) {
        load_history_forget_vcpu(s->history, vcpu->index);
    }
}

/*
 * Nobody judges whether the LLCs would do that it chooses.  So every vCPU
 * counts in full: an idle VM that was put on one small LLC would be short of
 * CPUs when it wakes up.
 */
LlcschedPlanned *llcsched_balance_tell(Llcsched *s)
{
    g_auto(LlcschedInput) input = { };
    int64_t now_ns = llcsched_now_ns();
    LlcschedPlanned *planned;

    llcsched_input_init(s, s->view, s->load, &input);
    balance_configure(s->balance, &input.in);
    balance_watch(s->balance, s->history, now_ns);
    input.in.closed = balance_closed(s->balance);
    planned = llcsched_plan(s, &input);
    balance_took(s->balance, planned->plan, now_ns);
    llcsched_plan_explain(s, &input, planned);
    return planned;
}

/* "LLC 0 (util) and LLC 2 (wait) closed", of those that the VM is on. */
static void llcsched_explain_escape(const Llcsched *s, GString *why)
{
    const BalanceGuard *guards = balance_guards(s->balance);
    const Plan *plan = s->planned->plan;
    int n = 0;

    for (int i = 0; i < plan->n_llcs; i++) {
        if (plan->llcs[i].vcpus && guards[i].cause != BALANCE_CAUSE_NONE) {
            g_string_append_printf(why, "%sLLC %d (%s)", n++ ? " and " : "",
                                   i, balance_cause_name(guards[i].cause));
        }
    }
    g_string_append(why, n ? " closed" : "too many moves");
}

static void llcsched_note_move(Llcsched *s, const LlcschedPlanned *planned,
                               BalanceMove kind)
{
    GString *why = g_string_new(NULL);

    if (kind == BALANCE_MOVE_ESCAPE) {
        llcsched_explain_escape(s, why);
    } else if (kind == BALANCE_MOVE_GATHER) {
        g_string_append(why, "fewer LLCs have the room");
    } else {
        g_string_append(why, "others run less on the new LLCs");
    }
    g_string_append_printf(why, "; %s", planned->summary);
    trace_llcsched_move(s->id, balance_move_name(kind), why->str);
    g_free(s->last_move);
    s->last_move = g_string_free(why, false);
}

LlcschedPlanned *llcsched_balance_ask(Llcsched *s, LlcschedMoveKind *ret_kind)
{
    g_autoptr(LlcschedPlanned) planned = NULL;
    const BalanceStats *stats = balance_stats(s->balance);
    g_auto(LlcschedInput) input = { };
    int64_t now_ns = llcsched_now_ns();

    if (balance_look(s->balance, s->history, now_ns) != BALANCE_PLAN) {
        trace_llcsched_keep(s->id, balance_reason_name(stats->reason));
        return NULL;
    }
    llcsched_input_init(s, s->view, balance_load(s->balance), &input);
    input.in.closed = balance_closed(s->balance);
    load_history_demand(s->history, input.demand);
    planned = llcsched_plan(s, &input);
    if (balance_judge(s->balance, planned->plan, now_ns) != BALANCE_MOVE) {
        trace_llcsched_keep(s->id, balance_reason_name(stats->reason));
        return NULL;
    }
    llcsched_note_move(s, planned, stats->last_move);
    llcsched_plan_explain(s, &input, planned);
    *ret_kind = (LlcschedMoveKind)stats->last_move;
    return g_steal_pointer(&planned);
}

LlcschedPlanned *llcsched_balance_dry_run(Llcsched *s,
                                          const LlcschedView *view,
                                          const HostLoad *load)
{
    g_auto(LlcschedInput) input = { };
    LlcschedPlanned *planned;

    llcsched_input_init(s, view, load, &input);
    if (s->planned && host_topology_equal(view->host, s->view->host)) {
        input.in.closed = balance_closed(s->balance);
    }
    planned = llcsched_plan(s, &input);
    llcsched_plan_explain(s, &input, planned);
    return planned;
}

static void llcsched_guard_news_free(void *opaque)
{
    LlcschedGuardNews *news = opaque;

    g_free(news->cpus);
    g_free(news);
}

GPtrArray *llcsched_balance_news(Llcsched *s)
{
    const BalanceGuard *guards = balance_guards(s->balance);
    GPtrArray *all = NULL;

    for (int i = 0; guards && i < s->view->host->n_llcs; i++) {
        LlcschedGuardNews *news;
        LlcLoad load = { };

        if (!guards[i].changed) {
            continue;
        }
        load_history_get_llc(s->history, i, LOAD_FAST, &load);
        news = g_new0(LlcschedGuardNews, 1);
        news->llc = i;
        news->cpus = host_cpuset_to_list(&s->view->host->llcs[i].cpus);
        news->cause = (LlcschedGuardCause)guards[i].cause;
        news->util = load.others_util / 10.0;
        news->tasks = load.others_tasks / 10.0;
        if (!all) {
            all = g_ptr_array_new_with_free_func(llcsched_guard_news_free);
        }
        g_ptr_array_add(all, news);
    }
    return all;
}

void llcsched_balance_note_run(Llcsched *s, const LlcschedVcpu *vcpu,
                               const ThreadTimes *now)
{
    uint64_t before_ns = vcpu->thread.times.run_ns;

    if (s->planned && vcpu->index >= 0 &&
        vcpu->index < s->planned->plan->n_vcpus && now->run_ns > before_ns) {
        balance_note_mask(s->balance, s->planned->plan, vcpu->index,
                          &vcpu->thread.mask, now->run_ns - before_ns);
    }
}
