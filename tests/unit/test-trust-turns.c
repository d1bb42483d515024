/*
 * Turns of cookies: who gets the cores, how much of them, how soon
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "trust-sim.h"

static const SimLoad spin;

#define ASSERT_NEAR(a, b, within) \
    g_assert_cmpfloat(ABS((double)(a) - (b)), <=, (within))

static Sim *sim_default(void)
{
    return sim_new(TRUST_SLICE_NS_DEFAULT, 1);
}

static TrustCookieStats stats_of(Sim *sim, unsigned cookie)
{
    TrustCookieStats stats;

    g_assert_true(trust_turns_cookie_stats(sim->turns, cookie, sim->now,
                                           &stats));
    return stats;
}

/* --- who takes turns --- */

static void test_one_cookie(void)
{
    g_autoptr(Sim) sim = sim_default();

    sim_add(sim, 0, 1, "0-1", spin, true);
    sim_add(sim, 1, 1, "0-1", spin, false);
    sim_run(sim, SIM_S);
    g_assert_true(sim->vcpus[0].in_guest && sim->vcpus[1].in_guest);
    g_assert_cmpint(sim->look_at, ==, INT64_MAX);
    g_assert_cmpint(sim->cookies[1].held_ns, ==, SIM_S);
    g_assert_cmpint(stats_of(sim, 1).slice_ns, ==, 0);
    g_assert_cmpint(stats_of(sim, 1).granted_ns, ==, 0);
}

static void test_disjoint(void)
{
    g_autoptr(Sim) sim = sim_default();

    sim_add(sim, 0, 1, "0-1", spin, true);
    sim_add(sim, 1, 2, "2-3", spin, true);
    sim_run(sim, SIM_S);
    g_assert_cmpint(sim->cookies[1].held_ns, ==, SIM_S);
    g_assert_cmpint(sim->cookies[2].held_ns, ==, SIM_S);
    g_assert_cmpint(sim->look_at, ==, INT64_MAX);
}

static void test_no_cookie_is_a_tenant(void)
{
    g_autoptr(Sim) sim = sim_default();

    sim_add(sim, 0, TRUST_COOKIE_NONE, "0", spin, true);
    sim_add(sim, 1, TRUST_COOKIE_NONE, "0", spin, true);
    sim_add(sim, 2, 1, "0", spin, true);
    sim_run(sim, SIM_S);
    ASSERT_NEAR(sim_share(sim, TRUST_COOKIE_NONE), 0.5, 0.02);
    ASSERT_NEAR(sim_share(sim, 1), 0.5, 0.02);
}

/* 0 meets 1 on core 0, 1 meets 2 on core 1: all three are one domain. */
static void test_chain_is_one_domain(void)
{
    g_autoptr(Sim) sim = sim_default();

    sim_add(sim, 0, 1, "0", spin, true);
    sim_add(sim, 1, 2, "0-1", spin, true);
    sim_add(sim, 2, 3, "1", spin, true);
    sim_run(sim, SIM_S);
    g_assert_cmpuint(stats_of(sim, 1).domain_cookies, ==, 3);
    ASSERT_NEAR(sim_share(sim, 1), 1 / 3., 0.02);
}

static void test_unknown_mask_grows_domain(void)
{
    g_autoptr(Sim) sim = sim_default();

    sim_add(sim, 0, 1, "0", spin, true);
    sim_add(sim, 1, 2, "7", spin, true);
    sim_run(sim, SIM_MS);
    g_assert_cmpuint(stats_of(sim, 1).domain_cookies, ==, 1);
    sim->vcpus[1].cores = sim->vcpus[0].cores;
    trust_turns_set_cores(sim->turns, 1, NULL, sim->now);
    g_assert_false(trust_turns_settled(sim->turns, sim->now));
    sim_run(sim, SIM_MS);
    g_assert_true(trust_turns_settled(sim->turns, sim->now));
    g_assert_cmpuint(stats_of(sim, 1).domain_cookies, ==, 2);
}

static void test_new_cores_are_told(void)
{
    g_autoptr(Sim) sim = sim_default();

    sim_add(sim, 0, 1, "0-1", spin, true);
    g_assert_false(sim_set_cores(sim, 0, "0-1"));
    g_assert_false(sim_set_cores(sim, 0, "1"));
    g_assert_true(sim_set_cores(sim, 0, "2"));
    g_assert_true(sim_set_cores(sim, 0, "1-2"));
    g_assert_true(trust_turns_set_cores(sim->turns, 0, NULL, sim->now));
    g_assert_false(sim_set_cores(sim, 0, "5"));
}

static void test_part_after_sharing(void)
{
    g_autoptr(Sim) sim = sim_default();

    sim_add(sim, 0, 1, "0", spin, true);
    sim_add(sim, 1, 2, "0", spin, true);
    sim_run(sim, 100 * SIM_MS);
    sim_set_cores(sim, 1, "1");
    sim_run(sim, SIM_MS);
    sim_clear_shares(sim);
    sim_run(sim, SIM_S);
    g_assert_cmpint(sim->cookies[1].held_ns, ==, SIM_S);
    g_assert_cmpint(sim->cookies[2].held_ns, ==, SIM_S);
}

/* --- proofs --- */

static void test_no_proof_no_entry(void)
{
    g_autoptr(Sim) sim = sim_default();
    TrustCookieStats stats;

    sim->exit_min_ns = sim->exit_max_ns = 3 * SIM_S;
    sim_add(sim, 0, 1, "0", spin, false);
    sim_add(sim, 1, 2, "0", spin, false);
    sim_run(sim, 2 * SIM_S);
    g_assert_cmpint(sim->cookies[1].held_ns, ==, 2 * SIM_S);
    g_assert_cmpint(sim->cookies[2].held_ns, ==, 0);
    g_assert_cmpint(sim->look_at, ==, INT64_MAX);
    g_assert_true(stats_of(sim, 1).closing);
    g_assert_cmpint(stats_of(sim, 1).closing_ns, >, 1900 * SIM_MS);

    sim_run(sim, 1100 * SIM_MS);
    stats = stats_of(sim, 1);
    g_assert_false(stats.closing);
    g_assert_cmpuint(stats.delayed_exits, ==, 1);
    g_assert_cmpuint(stats.delayed_exit_ns, ==, 3 * SIM_S - TRUST_EXIT_NS_MAX);
    g_assert_true(sim->vcpus[1].in_guest);
    /* What the exit cost is not said to be a wait for a slice. */
    stats = stats_of(sim, 2);
    g_assert_cmpuint(stats.longest_wait_ns, <=, 4 * SIM_MS);
    g_assert_cmpuint(stats.longest_gross_wait_ns, >, 3 * SIM_S);
}

static void test_proof_of_old_close_is_none(void)
{
    g_autoptr(TrustTurns) turns = trust_turns_new(1, TRUST_SLICE_NS_DEFAULT);
    HostCpuSet core = { { 1 } };
    uint64_t first;
    const TrustOrder *o;
    unsigned n;

    trust_turns_add(turns, 0, 1, &core, true, 0);
    trust_turns_add(turns, 1, 2, &core, false, 0);
    o = trust_turns_step(turns, 0, &n);
    g_assert_cmpuint(n, ==, 1);
    g_assert_false(o[0].open);
    first = o[0].ticket;
    g_assert_false(trust_turns_out(turns, 0, first - 1, 0));
    g_assert_true(trust_turns_out(turns, 0, first, 0));
    g_assert_false(trust_turns_out(turns, 0, first, 0));
    /* A vCPU plugged in its place owes proof of its own. */
    trust_turns_remove(turns, 0, 0);
    g_assert_false(trust_turns_out(turns, 0, first, 0));
    trust_turns_add(turns, 0, 1, &core, true, 0);
    o = trust_turns_step(turns, 0, &n);
    g_assert_cmpuint(n, ==, 1);
    g_assert_false(o[0].open);
    g_assert_false(trust_turns_out(turns, 0, first, 0));
    g_assert_true(trust_turns_out(turns, 0, o[0].ticket, 0));
}

static void test_dead_vcpu_is_out(void)
{
    g_autoptr(Sim) sim = sim_default();

    sim->exit_min_ns = sim->exit_max_ns = 3 * SIM_S;
    sim_add(sim, 0, 1, "0", spin, true);
    sim_add(sim, 1, 2, "0", spin, false);
    sim_run(sim, SIM_S);
    g_assert_false(sim->vcpus[1].in_guest);
    sim_remove(sim, 0);
    sim_run(sim, SIM_MS);
    g_assert_true(sim->vcpus[1].in_guest);
}

static void test_plugged_joins_turn(void)
{
    g_autoptr(Sim) sim = sim_default();

    sim_add(sim, 0, 1, "0", spin, true);
    sim_run(sim, SIM_MS);
    sim_add(sim, 1, 1, "0", spin, false);
    sim_add(sim, 2, 2, "0", spin, false);
    sim_run(sim, 1);
    g_assert_true(sim->vcpus[0].in_guest && sim->vcpus[1].in_guest);
    g_assert_false(sim->vcpus[2].in_guest);
    sim_run(sim, 4 * SIM_MS);
    g_assert_true(sim->vcpus[2].in_guest);
}

/* A turn that had no end, since nobody was there, ends when others come. */
static void test_many_join_at_once(void)
{
    g_autoptr(Sim) sim = sim_default();
    int i;

    sim_add(sim, 0, 0, "0", spin, false);
    sim_run(sim, SIM_S);
    for (i = 1; i < SIM_COOKIES_MAX; i++) {
        sim_add(sim, i, i, "0", spin, false);
    }
    sim_clear_shares(sim);
    sim_run(sim, 18 * SIM_MS);
    for (i = 0; i < SIM_COOKIES_MAX; i++) {
        g_assert_cmpint(sim->cookies[i].held_ns, >, 0);
    }
}

/* --- shares --- */

typedef struct ShareCase {
    const char *name;
    struct {
        unsigned weight, n_vcpus;
        bool together;
        SimLoad load;
        double share;           /* of the time that all get */
    } cookies[4];
    int64_t slice_us;
} ShareCase;

static const ShareCase share_cases[] = {
    { "two-spin", { { 100, 1, false, {}, .5 }, { 100, 1, false, {}, .5 } } },
    { "vcpus-do-not-count", {
        { 100, 4, false, {}, .5 }, { 100, 1, false, {}, .5 } } },
    { "weights-3-1", {
        { 300, 1, false, {}, .75 }, { 100, 2, false, {}, .25 } } },
    { "weights-100-1", {
        { 10000, 1, false, {}, 100 / 101. },
        { 100, 1, false, {}, 1 / 101. } } },
    { "weights-1-2-3-4", {
        { 100, 1, false, {}, .1 }, { 200, 1, false, {}, .2 },
        { 300, 1, false, {}, .3 }, { 400, 1, false, {}, .4 } } },
    { "four-spin-short-slice", {
        { 100, 1, false, {}, .25 }, { 100, 1, false, {}, .25 },
        { 100, 1, false, {}, .25 }, { 100, 1, false, {}, .25 } }, 1000 },
    /* Blocks together for a moment, wants 90 %: is not cheated of half. */
    { "blocks-together", {
        { 100, 2, true, { 2 * SIM_MS, 200 * SIM_US }, .5 },
        { 100, 1, false, {}, .5 } } },
    { "blocks-together-long-slice", {
        { 100, 2, true, { 2 * SIM_MS, 200 * SIM_US }, .5 },
        { 100, 1, false, {}, .5 } }, 20000 },
    { "blocks-together-weight-2", {
        { 200, 2, true, { 2 * SIM_MS, 200 * SIM_US }, 2 / 3. },
        { 100, 1, false, {}, 1 / 3. } } },
    { "one-of-three-blocks-together", {
        { 100, 2, true, { 2 * SIM_MS, 300 * SIM_US }, 1 / 3. },
        { 100, 1, false, {}, 1 / 3. }, { 100, 1, false, {}, 1 / 3. } } },
    { "all-block-together", {
        { 100, 2, true, { 3 * SIM_MS, 300 * SIM_US }, .5 },
        { 100, 2, true, { 2 * SIM_MS, 200 * SIM_US }, .5 } } },
    { "vcpus-block-in-turn", {
        { 100, 3, false, { SIM_MS, 100 * SIM_US }, .5 },
        { 100, 1, false, {}, .5 } } },
};

static void test_share(gconstpointer data)
{
    const ShareCase *sc = data;
    g_autoptr(Sim) sim = sim_new(sc->slice_us ? sc->slice_us * SIM_US :
                                                TRUST_SLICE_NS_DEFAULT, 7);
    int c, i, vcpu = 0;

    for (c = 0; c < 4 && sc->cookies[c].weight; c++) {
        sim_weight(sim, c, sc->cookies[c].weight);
        sim->cookies[c].together = sc->cookies[c].together;
        for (i = 0; i < (int)sc->cookies[c].n_vcpus; i++) {
            sim_add(sim, vcpu++, c, "0-1", sc->cookies[c].load, false);
        }
    }
    sim_run(sim, 20 * SIM_S);
    for (i = 0; i < c; i++) {
        g_test_message("cookie %d: %.4f of %.4f, longest wait %.3f ms", i,
                       sim_share(sim, i), sc->cookies[i].share,
                       sim->cookies[i].longest_wait_ns / 1e6);
        ASSERT_NEAR(sim_share(sim, i), sc->cookies[i].share,
                    0.02 * sc->cookies[i].share);
    }
}

/*
 * A cookie that slept competes from when it wakes: it takes half from then on
 * and no more, and none of what it did not use.
 */
static void test_sleep_then_spin(void)
{
    g_autoptr(Sim) sim = sim_default();
    int i;

    sim_add(sim, 0, 1, "0", (SimLoad) { 200 * SIM_MS, 300 * SIM_MS }, false);
    sim_add(sim, 1, 2, "0", spin, false);
    for (i = 0; i < 20; i++) {
        int64_t ran;

        while (sim->vcpus[0].wakes_at < 0) {
            sim_run(sim, SIM_MS);
        }
        while (sim->vcpus[0].wakes_at >= 0) {
            sim_run(sim, SIM_MS);
        }
        sim_clear_shares(sim);
        sim_run(sim, 100 * SIM_MS);
        ran = sim->cookies[1].ran_ns;
        g_assert_cmpint(ran, >=, 46 * SIM_MS);
        g_assert_cmpint(ran, <=, 52 * SIM_MS);
        g_assert_cmpint(sim->cookies[2].longest_wait_ns, <=, 3200 * SIM_US);
    }
}

static void test_sleep_then_spin_share(void)
{
    g_autoptr(Sim) sim = sim_default();

    sim_add(sim, 0, 1, "0", (SimLoad) { 500 * SIM_MS, 500 * SIM_MS }, false);
    sim_add(sim, 1, 2, "0", spin, false);
    sim_run(sim, 100 * SIM_S);
    /* 0.5 s of run takes 1 s, then 0.5 s of sleep. */
    ASSERT_NEAR((double)sim->cookies[1].ran_ns / (100 * SIM_S), 1 / 3., 0.02);
}

/* --- early ends, probes --- */

static void test_halted_gives_up_turn(void)
{
    g_autoptr(Sim) sim = sim_default();
    TrustCookieStats stats;

    sim_add(sim, 0, 1, "0", (SimLoad) { 100 * SIM_US, 100 * SIM_S }, false);
    sim_add(sim, 1, 2, "0", spin, false);
    sim_run(sim, 10 * SIM_S);
    g_test_message("the spinning one got %.4f", sim_share(sim, 2));
    g_assert_cmpfloat(sim_share(sim, 2), >=, 0.92);
    stats = stats_of(sim, 1);
    g_assert_cmpuint(stats.early_ends, >, 1000);
    g_assert_cmpuint(stats.fruitless_probes, >, 1000);
    /* One probe for each slice of the other, and no more. */
    g_assert_cmpuint(stats.turns, <=, 10 * SIM_S / (28 * SIM_MS / 10));
}

/* However many are idle, those that run lose no more than to one. */
static void test_probes_are_bounded(void)
{
    g_autoptr(Sim) sim = sim_default();
    int i;

    for (i = 1; i < SIM_COOKIES_MAX; i++) {
        sim_add(sim, i, i, "0", (SimLoad) { SIM_US, 100 * SIM_S }, false);
    }
    sim_add(sim, 0, 0, "0", spin, false);
    sim_run(sim, 10 * SIM_S);
    g_test_message("the spinning one got %.4f", sim_share(sim, 0));
    g_assert_cmpfloat(sim_share(sim, 0), >=, 0.9);
    for (i = 1; i < SIM_COOKIES_MAX; i++) {
        g_assert_cmpint(sim->cookies[i].longest_wait_ns, <=, 15100 * SIM_US);
    }
}

/* Nobody runs: a turn goes on for its slice, and looks are rare. */
static void test_idle_domain_is_cheap(void)
{
    g_autoptr(Sim) sim = sim_default();

    sim_add(sim, 0, 1, "0", (SimLoad) { SIM_US, 100 * SIM_S }, false);
    sim_add(sim, 1, 2, "0", (SimLoad) { SIM_US, 100 * SIM_S }, false);
    sim_run(sim, 10 * SIM_S);
    sim->steps = 0;
    sim_run(sim, SIM_S);
    g_assert_cmpuint(sim->steps, <=, 750);
}

static void test_spinning_costs_few_looks(void)
{
    g_autoptr(Sim) sim = sim_default();

    sim_add(sim, 0, 1, "0", spin, false);
    sim_add(sim, 1, 2, "0", spin, false);
    sim_run(sim, SIM_S);
    sim->steps = 0;
    sim_run(sim, SIM_S);
    /* Half-way, the end, the proof. */
    g_assert_cmpuint(sim->steps, <=, 3 * 350);
}

/* --- quota --- */

static void test_dry_costs_no_turn(void)
{
    g_autoptr(Sim) sim = sim_default();
    TrustCookieStats before, after;

    sim_add(sim, 0, 1, "0", spin, false);
    sim_add(sim, 1, 2, "0", spin, false);
    sim_add(sim, 2, 2, "0", spin, false);
    sim_run(sim, SIM_S);
    sim_set_dry(sim, 1, true);
    sim_run(sim, 100 * SIM_MS);
    ASSERT_NEAR(sim_share(sim, 2), .5, 0.01); /* one vCPU still may run */
    sim_set_dry(sim, 2, true);
    sim_run(sim, SIM_MS);
    before = stats_of(sim, 2);
    sim_clear_shares(sim);
    sim_run(sim, SIM_S);
    after = stats_of(sim, 2);
    g_assert_cmpuint(after.turns, ==, before.turns);
    g_assert_cmpint(sim->cookies[1].held_ns, ==, SIM_S);
    g_assert_cmpint(sim->look_at, ==, INT64_MAX);
    sim_set_dry(sim, 2, false);
    sim_clear_shares(sim);
    sim_run(sim, SIM_S);
    ASSERT_NEAR(sim_share(sim, 2), .5, 0.01);
}

static void test_dry_in_turn_ends_it(void)
{
    g_autoptr(Sim) sim = sim_default();

    sim_add(sim, 0, 1, "0", spin, false);
    sim_add(sim, 1, 2, "0", spin, false);
    sim_run(sim, SIM_MS);
    g_assert_true(sim->vcpus[0].in_guest);
    sim_set_dry(sim, 0, true);
    sim_run(sim, 101 * SIM_US);
    g_assert_true(sim->vcpus[1].in_guest);
}

static void test_all_dry(void)
{
    g_autoptr(Sim) sim = sim_default();

    sim_add(sim, 0, 1, "0", spin, false);
    sim_add(sim, 1, 2, "0", spin, false);
    sim_run(sim, SIM_MS);
    sim_set_dry(sim, 0, true);
    sim_set_dry(sim, 1, true);
    sim_run(sim, SIM_S);
    sim_set_dry(sim, 1, false);
    sim_run(sim, SIM_MS);
    g_assert_true(sim->vcpus[1].in_guest);
}

/* --- bounds, costs --- */

/* With exits that can be foreseen, a wait is the slices of the others. */
static void test_wait_is_slices_of_others(void)
{
    g_autoptr(Sim) sim = sim_default();
    int i;

    for (i = 0; i < 4; i++) {
        sim_add(sim, i, i, "0", spin, false);
    }
    sim_run(sim, SIM_S);
    sim_clear_shares(sim);
    sim_run(sim, 10 * SIM_S);
    for (i = 0; i < 4; i++) {
        g_assert_cmpint(sim->cookies[i].longest_over_ns, <=, 10 * SIM_US);
        g_assert_cmpuint(stats_of(sim, i).longest_wait_ns, <=, 9400 * SIM_US);
    }
}

static void test_late_looks_are_told(void)
{
    g_autoptr(Sim) sim = sim_default();

    sim->late_max_ns = 20 * SIM_MS;
    sim_add(sim, 0, 1, "0", spin, false);
    sim_add(sim, 1, 2, "0", spin, false);
    sim_run(sim, 10 * SIM_S);
    g_assert_cmpuint(stats_of(sim, 1).late_look_ns, >, SIM_S);
    g_assert_cmpuint(stats_of(sim, 1).longest_wait_ns, <=, 3500 * SIM_US);
    g_assert_cmpuint(stats_of(sim, 1).longest_gross_wait_ns, >, 10 * SIM_MS);
    ASSERT_NEAR(sim_share(sim, 1), .5, 0.02);
}

/* --- pause --- */

static void test_pause_stops_the_clock(void)
{
    g_autoptr(Sim) sim = sim_default();
    TrustCookieStats before, after;

    sim_add(sim, 0, 1, "0", spin, false);
    sim_add(sim, 1, 2, "0", spin, false);
    sim_run(sim, 100 * SIM_MS);
    before = stats_of(sim, 1);
    sim_pause(sim, true);
    sim_run(sim, 100 * SIM_S);
    g_assert_cmpint(sim->look_at, ==, INT64_MAX);
    sim_pause(sim, false);
    sim_run(sim, 10 * SIM_MS);
    after = stats_of(sim, 1);
    g_assert_cmpuint(after.turns, <=, before.turns + 2);
    g_assert_cmpuint(after.granted_ns - before.granted_ns, <=, 10 * SIM_MS);
    g_assert_cmpuint(after.longest_wait_ns, <=, 3200 * SIM_US);
}

/* --- statistics --- */

static void test_statistics_add_up(void)
{
    g_autoptr(Sim) sim = sim_default();
    TrustCookieStats a, b;
    TrustCoreStats core;

    sim_add(sim, 0, 1, "0-1", spin, false);
    sim_add(sim, 1, 2, "1", spin, false);
    sim_run(sim, 10 * SIM_S);
    a = stats_of(sim, 1);
    b = stats_of(sim, 2);
    g_assert_cmpuint(a.granted_ns, ==, (uint64_t)sim->cookies[1].held_ns);
    g_assert_cmpuint(b.granted_ns, ==, (uint64_t)sim->cookies[2].held_ns);
    g_assert_cmpuint(a.granted_ns + b.granted_ns, ==, 10 * SIM_S);
    g_assert_cmpuint(a.granted_core_ns, ==, 2 * a.granted_ns);
    g_assert_cmpuint(a.waited_ns, ==, b.granted_ns);
    g_assert_cmpuint(b.waited_ns, ==, a.granted_ns);
    /* While cookie 2 has its turn, core 0 idles and cookie 1 wants it. */
    g_assert_cmpuint(b.forced_idle_core_ns, ==, b.granted_ns);
    g_assert_cmpuint(a.forced_idle_core_ns, ==, 0);
    g_assert_true(trust_turns_core_stats(sim->turns, 0, sim->now, &core));
    g_assert_cmpuint(core.forced_idle_ns, ==, b.granted_ns);
    g_assert_cmpuint(core.granted_ns, ==, a.granted_ns);
    g_assert_cmpuint(core.hand_overs, ==, 0);
    g_assert_true(trust_turns_core_stats(sim->turns, 1, sim->now, &core));
    g_assert_cmpuint(core.granted_ns, ==, 10 * SIM_S);
    g_assert_cmpuint(core.hand_overs, ==, a.hand_overs + b.hand_overs);
    ASSERT_NEAR(a.hand_overs, 10e9 / 6e6, 100);
    g_assert_false(trust_turns_core_stats(sim->turns, SIM_CORES_MAX, sim->now,
                                          &core));
    g_assert_false(trust_turns_cookie_stats(sim->turns, 5, sim->now, &a));
}

static void test_other_host(void)
{
    g_autoptr(Sim) sim = sim_default();

    sim_add(sim, 0, 1, "6", spin, false);
    sim_add(sim, 1, 2, "7", spin, false);
    sim_run(sim, SIM_MS);
    trust_turns_set_n_cores(sim->turns, 2);
    g_assert_false(trust_turns_settled(sim->turns, sim->now));
    sim_set_cores(sim, 0, "0");
    sim_set_cores(sim, 1, "1");
    g_assert_true(trust_turns_settled(sim->turns, sim->now));
    sim_run(sim, SIM_MS);
    g_assert_cmpint(sim->cookies[1].held_ns, ==, 2 * SIM_MS);
}

int main(int argc, char **argv)
{
    gsize i;

    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/trust-turns/one-cookie-takes-no-turns", test_one_cookie);
    g_test_add_func("/trust-turns/disjoint-cookies-take-no-turns",
                    test_disjoint);
    g_test_add_func("/trust-turns/no-cookie-is-a-tenant-of-its-own",
                    test_no_cookie_is_a_tenant);
    g_test_add_func("/trust-turns/cookies-that-meet-by-a-third-are-one-domain",
                    test_chain_is_one_domain);
    g_test_add_func("/trust-turns/unknown-mask-grows-the-domain",
                    test_unknown_mask_grows_domain);
    g_test_add_func("/trust-turns/cores-that-are-new-to-a-vcpu-are-told",
                    test_new_cores_are_told);
    g_test_add_func("/trust-turns/cookies-that-part-run-at-once",
                    test_part_after_sharing);
    g_test_add_func("/trust-turns/no-proof-no-entry", test_no_proof_no_entry);
    g_test_add_func("/trust-turns/proof-of-an-old-close-is-none",
                    test_proof_of_old_close_is_none);
    g_test_add_func("/trust-turns/a-dead-vcpu-is-out", test_dead_vcpu_is_out);
    g_test_add_func("/trust-turns/a-plugged-vcpu-joins-the-turn",
                    test_plugged_joins_turn);
    g_test_add_func("/trust-turns/many-that-join-at-once-all-get-turns",
                    test_many_join_at_once);
    for (i = 0; i < G_N_ELEMENTS(share_cases); i++) {
        g_autofree char *name = g_strconcat("/trust-turns/share/",
                                            share_cases[i].name, NULL);

        g_test_add_data_func(name, &share_cases[i], test_share);
    }
    g_test_add_func("/trust-turns/sleep-then-spin-gets-half-at-once",
                    test_sleep_then_spin);
    g_test_add_func("/trust-turns/sleep-then-spin-gets-its-share",
                    test_sleep_then_spin_share);
    g_test_add_func("/trust-turns/a-halted-cookie-gives-up-its-turn",
                    test_halted_gives_up_turn);
    g_test_add_func("/trust-turns/probes-cost-a-bounded-share",
                    test_probes_are_bounded);
    g_test_add_func("/trust-turns/an-idle-domain-is-cheap",
                    test_idle_domain_is_cheap);
    g_test_add_func("/trust-turns/spinning-costs-few-looks",
                    test_spinning_costs_few_looks);
    g_test_add_func("/trust-turns/out-of-quota-costs-no-turn",
                    test_dry_costs_no_turn);
    g_test_add_func("/trust-turns/out-of-quota-ends-the-turn",
                    test_dry_in_turn_ends_it);
    g_test_add_func("/trust-turns/all-out-of-quota", test_all_dry);
    g_test_add_func("/trust-turns/a-wait-is-the-slices-of-the-others",
                    test_wait_is_slices_of_others);
    g_test_add_func("/trust-turns/late-looks-are-told-apart",
                    test_late_looks_are_told);
    g_test_add_func("/trust-turns/pause-stops-the-clock",
                    test_pause_stops_the_clock);
    g_test_add_func("/trust-turns/statistics-add-up", test_statistics_add_up);
    g_test_add_func("/trust-turns/other-host", test_other_host);
    return g_test_run();
}
