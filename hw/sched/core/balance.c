/*
 * Keep the plan or move: hysteresis between a VM's plans
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "balance-internal.h"
#include "hw/sched/placement-seed.h"

#define HOUR_NS (3600 * 1000000000ll)

/* Even where no change is seen, a plan is tried once in so many looks. */
#define LOOKS_PER_PLAN 30

/* Chances per look to gather, and to leave for LLCs of our own. */
#define GATHER_CHANCE (1.0 / 8)
#define ESCAPE_CHANCE (1.0 / 6)

static void draw(Balance *balance)
{
    balance->turn = 0;
    balance->turn_at = placement_mix(balance->seed ^
                                     placement_mix(++balance->draws)) /
                       (double)G_MAXUINT32;
}

/*
 * The VMs that see the same gain must not all go at once, and cannot talk: each
 * draws a moment at random and sums up its chances until then.  So it never
 * waits for longer than 1 / @chance looks.
 */
static bool balance_turn(Balance *balance, double chance)
{
    balance->turn += chance;
    return balance->turn >= balance->turn_at;
}

static void took(Balance *balance, BalanceSets *sets, int64_t now_ns)
{
    balance_sets_free(balance->before);
    balance->before = balance->running;
    balance->running = sets;
    balance->due = true;
    balance->looks_since_plan = 0;
    balance->lost_ns = 0;
    balance->stats.cooldown_until_ns = now_ns + balance->stats.cooldown_ns;
    draw(balance);
}

static bool masks_differ(const BalanceSets *a, const BalanceSets *b)
{
    int v;

    for (v = 0; a && v < a->n_vcpus; v++) {
        if (!balance_sets_same(a, b, v)) {
            return true;
        }
    }
    return false;
}

void balance_took(Balance *balance, const Plan *plan, int64_t now_ns)
{
    BalanceSets *sets = balance_sets_new(balance, plan);
    const BalanceSets *was = balance->running ?: balance->told_from;

    balance->stats.moves[BALANCE_MOVE_TOLD] += masks_differ(was, sets);
    took(balance, sets, now_ns);
    /* Where the VM was before somebody else decided is nothing to undo. */
    balance_sets_free(g_steal_pointer(&balance->before));
    balance_sets_free(g_steal_pointer(&balance->told_from));
}

static BalanceVerdict keep(Balance *balance, BalanceReason reason)
{
    balance->stats.kept[reason]++;
    balance->stats.reason = reason;
    if (reason != BALANCE_TURN && reason != BALANCE_SETTLED) {
        draw(balance);
    }
    return BALANCE_KEEP;
}

/* A refusal that time alone does not change. */
static BalanceVerdict keep_until_changed(Balance *balance,
                                         BalanceReason reason)
{
    balance->due = false;
    return keep(balance, reason);
}

/* An average that has too little to go by yet is the next shorter one. */
static void read_llcs(Balance *balance, const LoadHistory *history)
{
    int l, span;

    balance->known = true;
    for (l = 0; l < balance->host->n_llcs; l++) {
        BalanceLlc *llc = &balance->llcs[l];
        LlcLoad load;

        if (!load_history_get_llc(history, l, LOAD_LAST, &load)) {
            balance->known = false;
            return;
        }
        for (span = 0; span < LOAD_SPANS; span++) {
            load_history_get_llc(history, l, span, &load);
            llc->others[span] = load.others_tasks;
            llc->util[span] = load.others_util;
        }
        balance->due |= balance_step(&llc->step, llc->others[LOAD_FAST]);
    }
}

static void read_vcpus(Balance *balance, const LoadHistory *history)
{
    g_autofree double *group = g_new0(double, MAX(balance->n_groups, 1));
    g_autofree int *n = g_new0(int, MAX(balance->n_groups, 1));
    int v, g;

    balance->run_wait = balance->wait = 0;
    balance->waits_known = true;
    if (!balance->running) {
        return;
    }
    for (v = 0; v < balance->n_vcpus; v++) {
        VcpuLoad fast = load_history_get_vcpu(history, v, LOAD_FAST);
        VcpuLoad last = load_history_get_vcpu(history, v, LOAD_LAST);

        balance->demand[v] = fast.known ? fast.run + fast.wait : 1000;
        if (!balance->running->ours[v]) {
            continue;
        }
        group[balance->group_of[v]] += balance->demand[v];
        n[balance->group_of[v]]++;
        balance->run_wait += last.run + last.wait;
        balance->wait += last.wait;
        balance->waits_known &= last.waits_known || !last.known;
    }
    for (g = 0; g < balance->n_groups; g++) {
        balance->due |= n[g] && balance_step(&balance->group_step[g],
                                             group[g] / n[g]);
    }
}

/*
 * What placement is shown: the greater of what runs and what would like to,
 * and where LLCs are overfull, all in proportion to the fullest, since 100 %
 * is the most that it knows.
 */
static void fill_load(Balance *balance)
{
    double most = 1000;
    int l;

    for (l = 0; l < balance->host->n_llcs; l++) {
        most = MAX(most, balance_others(balance, l, true));
    }
    balance->load->source = HOST_LOAD_SCHEDSTAT;
    balance->load->window_ns = balance->interval_ns;
    for (l = 0; l < balance->host->n_llcs; l++) {
        double tasks = balance_others(balance, l, true);

        balance->load->llcs[l] = (LlcLoad) {
            .others_util = 1000 * tasks / most + 0.5,
            .others_tasks = MIN(tasks + 0.5, HOST_LOAD_TASKS_MAX),
        };
    }
}

static unsigned moves_since(const Balance *balance, int64_t since_ns)
{
    unsigned i, n = 0;

    for (i = 0; i < MIN(balance->n_moves, BALANCE_MOVES_PER_HOUR); i++) {
        n += balance->last_moves_ns[i] > since_ns;
    }
    return n;
}

/*
 * The last move of an hour is kept for an escape: then it is to everywhere,
 * from where no further escape is needed.
 */
static bool rate_allows(Balance *balance, bool escape)
{
    unsigned limit = BALANCE_MOVES_PER_HOUR - !escape;

    return balance->stats.moves_last_hour < limit;
}

static bool cooled_down(const Balance *balance, bool escape, int64_t now_ns)
{
    int64_t until = balance->stats.cooldown_until_ns;

    if (escape) {
        until -= balance->stats.cooldown_ns -
                 balance_first_cooldown_ns(balance);
    }
    return now_ns >= until;
}

static void close_all(Balance *balance)
{
    int l;

    for (l = 0; l < balance->host->n_llcs; l++) {
        balance->closed[l] = balance->llcs[l].cpus > 0;
    }
}

static void restore_closed(Balance *balance)
{
    int l;

    for (l = 0; l < balance->host->n_llcs; l++) {
        balance->closed[l] = balance->guards[l].cause != BALANCE_CAUSE_NONE;
    }
}

static void read_all(Balance *balance, const LoadHistory *history,
                     int64_t now_ns)
{
    g_assert(load_history_n_vcpus(history) == balance->n_vcpus);
    g_assert(load_history_n_llcs(history) == balance->host->n_llcs);
    restore_closed(balance);
    read_llcs(balance, history);
    read_vcpus(balance, history);
    balance->stats.moves_last_hour = moves_since(balance, now_ns - HOUR_NS);
    balance_guard_look(balance, now_ns);
    balance_count_loss(balance, now_ns);
    balance->looked_ns = now_ns;
    balance->stats.lost_ns = balance->lost_ns;
    balance->due |= ++balance->looks_since_plan >= LOOKS_PER_PLAN;
}

void balance_watch(Balance *balance, const LoadHistory *history,
                   int64_t now_ns)
{
    read_all(balance, history, now_ns);
}

BalanceVerdict balance_look(Balance *balance, const LoadHistory *history,
                            int64_t now_ns)
{
    bool exposed;

    balance->stats.looks++;
    if (!balance->running) {
        return keep(balance, BALANCE_NO_PLAN);
    }
    read_all(balance, history, now_ns);
    if (!balance->known) {
        return keep(balance, BALANCE_UNKNOWN);
    }
    if (!balance->due) {
        return keep(balance, BALANCE_SETTLED);
    }
    if (balance_spread(balance, balance->running) <= 1 &&
        balance_set_load(balance, balance->running, true) <
        BALANCE_IDLE_PERMILLE) {
        return keep(balance, BALANCE_IDLE);
    }
    exposed = balance_exposed(balance, balance->running) > 0;
    if (!rate_allows(balance, exposed)) {
        return keep(balance, BALANCE_RATE);
    }
    if (!cooled_down(balance, exposed, now_ns)) {
        return keep(balance, BALANCE_COOLDOWN);
    }
    if (!rate_allows(balance, false)) {
        close_all(balance);
    }
    fill_load(balance);
    balance->looks_since_plan = 0;
    balance->stats.plans++;
    return BALANCE_PLAN;
}

/*
 * Whether most of what @sets moves goes back to where it came from.  To come
 * back from everywhere is to undo an escape, whatever LLC it is.
 */
static bool undoes(const Balance *balance, const BalanceSets *sets)
{
    const BalanceSets *before = balance->before, *now = balance->running;
    double moved = 0, back = 0;
    int v;

    if (!before) {
        return false;
    }
    if (now->guarded != sets->guarded && before->guarded == sets->guarded) {
        return true;
    }
    for (v = 0; v < balance->n_vcpus; v++) {
        double demand = MAX(balance->demand[v], 1);

        if (!balance_sets_same(now, sets, v)) {
            moved += demand;
            back += balance_sets_same(before, sets, v) ? demand : 0;
        }
    }
    return back * 2 > moved;
}

static BalanceVerdict move(Balance *balance, BalanceSets *sets,
                           BalanceMove kind, int64_t now_ns)
{
    BalanceStats *stats = &balance->stats;

    if (undoes(balance, sets)) {
        stats->undone++;
        stats->cooldown_ns = MIN(stats->cooldown_ns * 2, HOUR_NS);
    } else if (now_ns - stats->last_move_ns >= HOUR_NS) {
        stats->cooldown_ns = balance_first_cooldown_ns(balance);
    }
    stats->moves[kind]++;
    stats->last_move = kind;
    stats->last_move_ns = now_ns;
    balance->last_moves_ns[balance->n_moves++ % BALANCE_MOVES_PER_HOUR] =
        now_ns;
    stats->moves_last_hour = moves_since(balance, now_ns - HOUR_NS);
    took(balance, sets, now_ns);
    return BALANCE_MOVE;
}

/* What others run where the VM may be, as its vCPUs' demand weighs it. */
static bool is_less_loaded(const Balance *balance, const BalanceSets *sets)
{
    double here = balance_set_load(balance, balance->running, false);
    double there = balance_set_load(balance, sets, true);

    return there * 100 <= here * (100 - BALANCE_GAIN_PERCENT);
}

static bool loses_less(const Balance *balance, const BalanceSets *sets)
{
    return balance_set_loss(balance, sets, true) + BALANCE_LOSS_PERMILLE <=
           balance_loss_here(balance);
}

static bool escapes_loss(const Balance *balance)
{
    int i, l;

    for (l = 0; l < balance->host->n_llcs; l++) {
        for (i = 0; i < balance->running->n_sets; i++) {
            if (balance->guards[l].hold_ns > balance->looked_ns &&
                balance_set_uses(&balance->running->sets[i], l)) {
                return true;
            }
        }
    }
    return false;
}

/*
 * Everywhere is where a kernel that knows no LLC would be: there no gain has
 * to be shown.  LLCs that are still open although we lost time here are less
 * loaded by others (see close_for_loss()).
 */
static BalanceVerdict judge_escape(Balance *balance, BalanceSets *sets,
                                   int64_t now_ns)
{
    if (!sets->guarded) {
        if (!is_less_loaded(balance, sets) && !escapes_loss(balance)) {
            return keep_until_changed(balance, BALANCE_GAIN);
        }
        if (!balance_turn(balance, ESCAPE_CHANCE)) {
            return keep(balance, BALANCE_TURN);
        }
    }
    return move(balance, g_steal_pointer(&sets), BALANCE_MOVE_ESCAPE, now_ns);
}

static BalanceVerdict judge_gather(Balance *balance, BalanceSets *sets,
                                   int64_t now_ns)
{
    if (balance_set_load(balance, sets, true) < BALANCE_IDLE_PERMILLE) {
        return keep_until_changed(balance, BALANCE_IDLE);
    }
    if (balance_set_loss(balance, sets, true) >=
        balance_loss_here(balance) + BALANCE_LOSS_PERMILLE) {
        return keep_until_changed(balance, BALANCE_FULL);
    }
    if (!balance_turn(balance, GATHER_CHANCE)) {
        return keep(balance, BALANCE_TURN);
    }
    return move(balance, sets, BALANCE_MOVE_GATHER, now_ns);
}

/*
 * Our share of half of the excess: LLCs that are above the mean by E of L, on
 * which everybody moves with the chance E / 2L, lose half of it; and of that,
 * these new LLCs should get their part.
 */
static double switch_chance(const Balance *balance, const BalanceSets *sets)
{
    double here = balance_set_load(balance, balance->running, false);
    double mean = balance_mean_load(balance);

    return here > mean ? (here - mean) / here / 2 *
                         balance_part_wanted(balance, sets) : 0;
}

static BalanceVerdict judge_switch(Balance *balance, BalanceSets *sets,
                                   int64_t now_ns)
{
    if (balance_set_load(balance, balance->running, true) <
        BALANCE_IDLE_PERMILLE) {
        return keep_until_changed(balance, BALANCE_IDLE);
    }
    if (!is_less_loaded(balance, sets)) {
        return keep_until_changed(balance, BALANCE_GAIN);
    }
    if (!loses_less(balance, sets)) {
        return keep_until_changed(balance, BALANCE_EQUAL);
    }
    if (!balance_turn(balance, switch_chance(balance, sets))) {
        return keep(balance, BALANCE_TURN);
    }
    return move(balance, sets, BALANCE_MOVE_SWITCH, now_ns);
}

static BalanceVerdict judge(Balance *balance, BalanceSets *sets,
                            int64_t now_ns)
{
    double exposed = balance_exposed(balance, balance->running);

    if (!masks_differ(balance->running, sets)) {
        return keep_until_changed(balance, BALANCE_SAME);
    }
    if (balance_exposed(balance, sets) < exposed) {
        return judge_escape(balance, sets, now_ns);
    }
    if (!rate_allows(balance, false)) {
        return keep(balance, BALANCE_RATE);
    }
    if (!cooled_down(balance, false, now_ns)) {
        return keep(balance, BALANCE_COOLDOWN);
    }
    if (balance_spread(balance, sets) < balance_spread(balance,
                                                       balance->running)) {
        return judge_gather(balance, sets, now_ns);
    }
    return judge_switch(balance, sets, now_ns);
}

BalanceVerdict balance_judge(Balance *balance, const Plan *candidate,
                             int64_t now_ns)
{
    BalanceSets *sets = balance_sets_new(balance, candidate);
    BalanceVerdict verdict;

    g_assert(balance->running);
    verdict = judge(balance, sets, now_ns);
    if (verdict != BALANCE_MOVE) {
        balance_sets_free(sets);
    }
    return verdict;
}
