/*
 * What holds for turns of cookies whatever the loads, exits and changes
 *
 * The simulator asserts at every opening that no other cookie of the domain,
 * found the slow way, is in the guest.  Seeds are fixed; one that fails is
 * named, and TRUST_SEED=N runs it alone.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "trust-sim.h"

#define SEEDS 60
#define CHANGES 60

typedef void (*SeedFunc)(guint32 seed);

static void for_seeds(SeedFunc func)
{
    const char *only = g_getenv("TRUST_SEED");
    guint32 seed;

    if (only) {
        func(g_ascii_strtoull(only, NULL, 10));
        return;
    }
    for (seed = 0; seed < SEEDS; seed++) {
        g_test_message("TRUST_SEED=%u", seed);
        func(seed);
    }
}

static int pick(Sim *sim, int n)
{
    return g_rand_int_range(sim->rand, 0, n);
}

static SimLoad random_load(Sim *sim)
{
    static const int64_t times[] = { 50 * SIM_US, 500 * SIM_US, 2 * SIM_MS,
                                     10 * SIM_MS };

    return pick(sim, 3) ? (SimLoad) { times[pick(sim, 4)],
                                      times[pick(sim, 4)] } : (SimLoad) { 0 };
}

static const char *random_cores(Sim *sim)
{
    static const char *const cores[] = { "0", "1", "0-1", "2", "1-2", "3-5",
                                         "0-7", "6-7" };

    return cores[pick(sim, 8)];
}

static unsigned random_weight(Sim *sim)
{
    static const unsigned weights[] = { 50, 100, 100, 200, 400 };

    return weights[pick(sim, 5)];
}

static Sim *random_sim(guint32 seed)
{
    Sim *sim = sim_new(TRUST_SLICE_NS_DEFAULT, seed);

    sim->exit_min_ns = 20 * SIM_US;
    sim->exit_max_ns = (1 + pick(sim, 20)) * 25 * SIM_US;
    return sim;
}

/* --- nothing changes: the bound --- */

static void check_bound(guint32 seed)
{
    g_autoptr(Sim) sim = random_sim(seed);
    int n = 2 + pick(sim, SIM_COOKIES_MAX - 1), c, i, vcpu = 0;

    for (c = 0; c < n; c++) {
        sim_weight(sim, c, random_weight(sim));
        sim->cookies[c].together = pick(sim, 2);
        for (i = pick(sim, 2); i >= 0; i--) {
            sim_add(sim, vcpu++, c, "0", random_load(sim), pick(sim, 2));
        }
    }
    sim_run(sim, 50 * SIM_MS);
    sim_clear_shares(sim);
    sim_run(sim, 500 * SIM_MS);
    for (c = 0; c < n; c++) {
        TrustCookieStats stats;

        g_assert_cmpint(sim->cookies[c].longest_over_ns, <=,
                        n * sim->exit_max_ns);
        g_assert_cmpuint(sim->cookies[c].starts, >, 0);
        g_assert_true(trust_turns_cookie_stats(sim->turns, c, sim->now,
                                               &stats));
        g_assert_cmpuint(stats.longest_wait_ns, >=,
                         sim->cookies[c].longest_wait_ns);
        g_assert_cmpuint(stats.delayed_exits, ==, 0);
        g_assert_cmpint(ABS((int64_t)stats.slice_ns - sim_slice(sim, c)), <=,
                        SIM_US);
    }
}

static void test_bound(void)
{
    for_seeds(check_bound);
}

/* --- nothing changes: the shares of those that want more than theirs --- */

static void check_shares(guint32 seed)
{
    g_autoptr(Sim) sim = random_sim(seed);
    int n = 2 + pick(sim, 3), c, i, vcpu = 0;
    double sum = 0;

    sim->exit_max_ns = 100 * SIM_US;
    for (c = 0; c < n; c++) {
        SimLoad load = { (1 + pick(sim, 4)) * SIM_MS,
                         (1 + pick(sim, 2)) * 100 * SIM_US };

        sim_weight(sim, c, random_weight(sim));
        sum += sim->cookies[c].weight;
        sim->cookies[c].together = true;
        for (i = pick(sim, 2); i >= 0; i--) {
            sim_add(sim, vcpu++, c, "0", pick(sim, 2) ? load : (SimLoad) { 0 },
                    false);
        }
    }
    sim_run(sim, 2 * SIM_S);
    for (c = 0; c < n; c++) {
        double fair = sim->cookies[c].weight / sum;

        g_assert_cmpfloat(ABS(sim_share(sim, c) - fair), <=, 0.02);
    }
}

static void test_shares(void)
{
    for_seeds(check_shares);
}

/* --- everything changes --- */

static void change_vcpu(Sim *sim, int vcpu)
{
    bool dry = sim->vcpus[vcpu].dry;

    switch (pick(sim, 5)) {
    case 0:
        sim_remove(sim, vcpu);
        break;
    case 1:
        sim->vcpus[vcpu].load = random_load(sim);
        break;
    case 2:
        sim_set_cores(sim, vcpu, random_cores(sim));
        break;
    default:
        sim_set_dry(sim, vcpu, !dry);
    }
}

static void change(Sim *sim)
{
    int vcpu = pick(sim, SIM_VCPUS_MAX);

    switch (pick(sim, 10)) {
    case 0:
        sim_weight(sim, pick(sim, SIM_COOKIES_MAX), random_weight(sim));
        break;
    case 1:
        sim_pause(sim, !sim->paused);
        break;
    case 2:
        sim->late_max_ns = pick(sim, 2) * 200 * SIM_US;
        break;
    default:
        if (sim->vcpus[vcpu].present) {
            change_vcpu(sim, vcpu);
        } else {
            sim_add(sim, vcpu, pick(sim, SIM_COOKIES_MAX), random_cores(sim),
                    random_load(sim), pick(sim, 2));
        }
    }
}

/* However wild it was: it comes to rest, and everybody gets turns. */
static void settle_down(Sim *sim)
{
    int i;

    if (sim->paused) {
        sim_pause(sim, false);
    }
    for (i = 0; i < SIM_VCPUS_MAX; i++) {
        if (sim->vcpus[i].present) {
            sim_set_dry(sim, i, false);
        }
    }
    sim_run(sim, 300 * SIM_MS);
    g_assert_true(trust_turns_settled(sim->turns, sim->now));
    sim_clear_shares(sim);
    sim_run(sim, 500 * SIM_MS);
    for (i = 0; i < SIM_VCPUS_MAX; i++) {
        if (sim->vcpus[i].present) {
            g_assert_cmpint(sim->cookies[sim->vcpus[i].cookie].held_ns, >, 0);
        }
    }
}

static void check_churn(guint32 seed)
{
    g_autoptr(Sim) sim = random_sim(seed);
    int64_t slice_max = 0;
    int i, c;

    for (i = 0; i < CHANGES; i++) {
        for (c = 0; c < SIM_COOKIES_MAX; c++) {
            slice_max = MAX(slice_max, sim_slice(sim, c));
        }
        sim_forget_waits(sim);
        change(sim);
        sim_forget_waits(sim);
        sim_run(sim, (1 + pick(sim, 200)) * 100 * SIM_US);
        if (sim->paused) {
            sim_forget_waits(sim);
        }
        for (c = 0; c < SIM_COOKIES_MAX; c++) {
            g_assert_cmpint(sim->cookies[c].longest_over_ns, <=,
                            SIM_COOKIES_MAX * (sim->exit_max_ns +
                                               200 * SIM_US) + slice_max);
        }
    }
    settle_down(sim);
}

static void test_churn(void)
{
    for_seeds(check_churn);
    if (!g_getenv("TRUST_SEED")) {
        check_churn(99); /* a turn that began anew without end */
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/trust-properties/no-wait-is-longer-than-others-slices",
                    test_bound);
    g_test_add_func("/trust-properties/shares-are-the-weights", test_shares);
    g_test_add_func("/trust-properties/never-two-cookies-under-churn",
                    test_churn);
    return g_test_run();
}
