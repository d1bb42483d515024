/*
 * For whom and where balance decides, what it counted, and its words
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "balance-internal.h"

Balance *balance_new(uint32_t seed, int64_t interval_ns)
{
    Balance *balance = g_new0(Balance, 1);

    balance->seed = seed;
    balance_set_interval(balance, interval_ns);
    balance->stats.reason = BALANCE_NO_PLAN;
    return balance;
}

static void free_host(Balance *balance)
{
    host_topology_unref(balance->host);
    g_free(balance->llcs);
    g_free(balance->guards);
    g_free(balance->limits);
    g_free(balance->closed);
    host_load_free(balance->load);
    balance_sets_free(g_steal_pointer(&balance->running));
    balance_sets_free(g_steal_pointer(&balance->before));
    balance_sets_free(g_steal_pointer(&balance->told_from));
}

static void free_guest(Balance *balance)
{
    g_free(balance->core_of);
    g_free(balance->group_of);
    g_free(balance->demand);
    g_free(balance->group_step);
}

void balance_free(Balance *balance)
{
    if (balance) {
        free_host(balance);
        free_guest(balance);
        g_free(balance);
    }
}

int64_t balance_first_cooldown_ns(const Balance *balance)
{
    return MAX(BALANCE_COOLDOWN_LOOKS * balance->interval_ns,
               BALANCE_COOLDOWN_MIN_NS);
}

void balance_set_interval(Balance *balance, int64_t interval_ns)
{
    g_assert(interval_ns > 0);
    balance->interval_ns = interval_ns;
    balance->stats.cooldown_ns = MAX(balance->stats.cooldown_ns,
                                     balance_first_cooldown_ns(balance));
}

static void configure_host(Balance *balance, HostTopology *host)
{
    int n = MAX(host->n_llcs, 1);

    host_topology_ref(host);
    free_host(balance);
    balance->host = host;
    balance->llcs = g_new0(BalanceLlc, n);
    balance->guards = g_new0(BalanceGuard, n);
    balance->limits = g_new0(PlacementGuard, n);
    balance->closed = g_new0(bool, n);
    balance->load = host_load_new_idle(host);
}

static void configure_guest(Balance *balance, const GuestTopology *guest)
{
    int v, n = MAX(guest->n_vcpus, 1);

    free_guest(balance);
    balance->n_vcpus = guest->n_vcpus;
    balance->n_groups = guest->n_llcs;
    balance->n_guest_cores = guest->n_cores;
    balance->core_of = g_new0(int, n);
    balance->group_of = g_new0(int, n);
    balance->demand = g_new0(unsigned, n);
    balance->group_step = g_new0(int, MAX(guest->n_llcs, 1));
    for (v = 0; v < guest->n_vcpus; v++) {
        balance->core_of[v] = guest->vcpus[v].core;
        balance->group_of[v] = guest->vcpus[v].llc;
    }
}

static void count_candidates(Balance *balance)
{
    g_autofree bool *core_seen = g_new0(bool, MAX(balance->host->n_cores, 1));
    int l;

    for (l = 0; l < balance->host->n_llcs; l++) {
        balance->llcs[l].cpus = balance->llcs[l].cores = 0;
    }
    HOST_CPUSET_FOREACH(cpu, &balance->candidates) {
        const HostCpu *c = &balance->host->cpus[cpu];

        balance->llcs[c->llc].cpus++;
        balance->llcs[c->llc].cores += !core_seen[c->core];
        core_seen[c->core] = true;
    }
    balance->n_candidates = host_cpuset_count(&balance->candidates);
}

static void configure_limits(Balance *balance, const PlacementInput *in)
{
    int n = balance->host->n_llcs;
    g_autofree PlacementGuard *limits = g_new0(PlacementGuard, MAX(n, 1));
    int l;

    placement_guards(in, limits);
    for (l = 0; l < n; l++) {
        balance->limits_new |= limits[l].util != balance->limits[l].util ||
                               limits[l].tasks != balance->limits[l].tasks;
        balance->limits[l] = limits[l];
    }
}

void balance_configure(Balance *balance, const PlacementInput *in)
{
    if (!balance->host || !host_topology_equal(balance->host, in->host)) {
        configure_host(balance, (HostTopology *)in->host);
    }
    if (in->guest->n_vcpus != balance->n_vcpus) {
        balance_sets_free(g_steal_pointer(&balance->running));
    }
    if (balance->running) {
        balance_sets_free(balance->told_from);
        balance->told_from = g_steal_pointer(&balance->running);
    }
    balance_sets_free(g_steal_pointer(&balance->before));
    configure_guest(balance, in->guest);
    balance->candidates = *in->candidates;
    count_candidates(balance);
    configure_limits(balance, in);
}

const HostLoad *balance_load(const Balance *balance)
{
    return balance->load;
}

const bool *balance_closed(const Balance *balance)
{
    return balance->closed;
}

const BalanceGuard *balance_guards(const Balance *balance)
{
    return balance->guards;
}

void balance_note_mask(Balance *balance, const Plan *plan, int vcpu,
                       const HostCpuSet *mask, uint64_t run_ns)
{
    int all = host_cpuset_count(mask);
    int inside = host_cpuset_count_and(mask, &plan->vcpus[vcpu].mask);

    if (all > 0) {
        balance->stats.misaligned_ns += run_ns * (double)(all - inside) / all;
    }
}

const BalanceStats *balance_stats(const Balance *balance)
{
    return &balance->stats;
}

const char *balance_reason_name(BalanceReason reason)
{
    static const char *const names[] = {
        [BALANCE_NO_PLAN] = "no-plan", [BALANCE_UNKNOWN] = "unknown",
        [BALANCE_IDLE] = "idle", [BALANCE_SETTLED] = "settled",
        [BALANCE_COOLDOWN] = "cooldown", [BALANCE_RATE] = "rate",
        [BALANCE_SAME] = "same", [BALANCE_GAIN] = "gain",
        [BALANCE_EQUAL] = "equal", [BALANCE_FULL] = "full",
        [BALANCE_TURN] = "turn",
    };

    G_STATIC_ASSERT(G_N_ELEMENTS(names) == BALANCE_REASON_MAX);
    g_assert(reason < BALANCE_REASON_MAX);
    return names[reason];
}

const char *balance_move_name(BalanceMove kind)
{
    static const char *const names[] = {
        [BALANCE_MOVE_TOLD] = "told", [BALANCE_MOVE_ESCAPE] = "escape",
        [BALANCE_MOVE_GATHER] = "gather", [BALANCE_MOVE_SWITCH] = "switch",
    };

    G_STATIC_ASSERT(G_N_ELEMENTS(names) == BALANCE_MOVE_MAX);
    g_assert(kind < BALANCE_MOVE_MAX);
    return names[kind];
}

const char *balance_cause_name(BalanceCause cause)
{
    static const char *const names[] = {
        [BALANCE_CAUSE_NONE] = "open", [BALANCE_CAUSE_UTIL] = "util",
        [BALANCE_CAUSE_TASKS] = "tasks", [BALANCE_CAUSE_WAIT] = "wait",
    };

    G_STATIC_ASSERT(G_N_ELEMENTS(names) == BALANCE_CAUSE_MAX);
    g_assert(cause < BALANCE_CAUSE_MAX);
    return names[cause];
}
