/*
 * How exact are shares when looks, kicks and releases are late?
 *
 * What the simulator says is printed with --verbose, for every point.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <math.h>
#include <string.h>

#include "bandwidth-sim.h"

#define US 1000ll

static const double shares[] = { 0.1, 0.25, 0.5, 0.75 };
static const unsigned vcpus[] = { 1, 2, 4, 8 };

/* A look that is 50 to 300 us late, each time, and the kicks after it. */
static Sim late_sim(unsigned n_vcpus, double share, int64_t period)
{
    return (Sim) {
        .n_vcpus = n_vcpus, .n_spinning = n_vcpus,
        .limits = { n_vcpus * share * period, period, 0 },
        .depth = 1,
        .look_late = { 50 * US, 300 * US },
        .close_late = { 20 * US, 100 * US },
        .open_late = { 20 * US, 150 * US },
        .length_ns = 10 * SIM_S,
        .seed = 1,
    };
}

static SimResult run(const char *name, const Sim *sim)
{
    SimResult r;

    sim_run(sim, &r);
    g_test_message("%s: %u of %u vCPUs, depth %u, %g of %g ms: error %+.4f %%, "
                   "p99 of 1 s %.3f %%, %.2f looks a period, stall %.2f ms",
                   name, sim->n_spinning, sim->n_vcpus, sim->depth,
                   sim->limits.quota_ns / 1e6, sim->limits.period_ns / 1e6,
                   100 * r.share_error, 100 * r.window_error_p99,
                   r.looks_per_period, r.longest_stall_ns / 1e6);
    return r;
}

/* The bounds that the benchmark has on real machines. */
static void assert_exact(const SimResult *r)
{
    g_assert_cmpfloat(fabs(r->share_error), <=, 0.001);
    g_assert_cmpfloat(r->window_error_p99, <=, 0.015);
    g_assert_cmpfloat(r->looks_per_period, <=, 5);
    g_assert_cmpuint(r->stats.forgiven_ns, ==, 0);
    g_assert_cmpuint(r->stats.late_looks, ==, 0);
}

static void for_each_point(const char *name, int64_t period,
                           void (*change)(Sim *))
{
    for (guint v = 0; v < G_N_ELEMENTS(vcpus); v++) {
        for (guint s = 0; s < G_N_ELEMENTS(shares); s++) {
            Sim sim = late_sim(vcpus[v], shares[s], period);
            SimResult r;

            if (change) {
                change(&sim);
            }
            r = run(name, &sim);
            assert_exact(&r);
        }
    }
}

static void test_late_looks_cost_no_share(void)
{
    for_each_point("late looks", 10 * SIM_MS, NULL);
}

static void test_long_periods_are_as_exact(void)
{
    for_each_point("long periods", 100 * SIM_MS, NULL);
}

static void be_on_time(Sim *sim)
{
    sim->look_late = sim->close_late = sim->open_late = (SimRange) { 0, 0 };
}

static void test_looks_on_time_are_exact(void)
{
    for_each_point("on time", 10 * SIM_MS, be_on_time);
}

/* A tenth of each CPU, in slices of 1 ms. */
static void add_competitor(Sim *sim)
{
    sim->other_run_ns = SIM_MS;
    sim->other_every_ns = 10 * SIM_MS;
}

static void test_a_competitor_costs_no_share(void)
{
    for_each_point("beside a competitor", 10 * SIM_MS, add_competitor);
}

static void test_a_competitor_costs_no_share_of_long_periods(void)
{
    for_each_point("competitor, long", 100 * SIM_MS, add_competitor);
}

/* A tenth in slices of 3 ms, where a release and a look wait for 1 ms, too. */
static void test_a_coarse_competitor_costs_little_share(void)
{
    static const double most[] = { 0.1, 0.25, 0.5 };

    for (guint s = 0; s < G_N_ELEMENTS(most); s++) {
        Sim sim = late_sim(2, most[s], 10 * SIM_MS);
        SimResult r;

        sim.other_run_ns = 3 * SIM_MS;
        sim.other_every_ns = 30 * SIM_MS;
        sim.look_late.max = sim.open_late.max = SIM_MS;
        r = run("coarse competitor", &sim);
        assert_exact(&r);
    }
}

static void test_depth_costs_neither_share_nor_looks(void)
{
    Sim sim = late_sim(2, 0.5, 10 * SIM_MS);
    SimResult flat = run("depth", &sim), deep;

    sim.depth = 5;
    deep = run("depth", &sim);
    assert_exact(&deep);
    g_assert_cmpfloat(deep.looks_per_period, <=, flat.looks_per_period * 1.01);
}

static void test_one_spinner_among_idle_vcpus_is_exact(void)
{
    for (unsigned n = 2; n <= 16; n *= 2) {
        Sim sim = late_sim(n, 0.5 / n, 10 * SIM_MS);
        SimResult r;

        sim.n_spinning = 1;
        r = run("one spinner", &sim);
        assert_exact(&r);
    }
}

static void test_stalls_are_bounded(void)
{
    for (guint s = 0; s < G_N_ELEMENTS(shares); s++) {
        Sim sim = late_sim(2, shares[s], 10 * SIM_MS);
        SimResult r = run("stalls", &sim);

        g_assert_cmpint(r.longest_stall_ns, <=,
                        (int64_t)(10 * SIM_MS * (1 - shares[s])) + SIM_MS);
    }
}

/* 5 ms of work every 100 ms, and 6 ms a period for it. */
static void test_a_burst_within_the_quota_is_not_throttled(void)
{
    Sim sim = late_sim(2, 0.3, 10 * SIM_MS);
    SimResult r;

    sim.n_spinning = 1;
    sim.run_ns = 5 * SIM_MS;
    sim.every_ns = 100 * SIM_MS;
    r = run("bursty", &sim);
    g_assert_cmpint(r.used_ns, ==, 500 * SIM_MS);
    g_assert_cmpuint(r.stats.throttled_periods, ==, 0);
    g_assert_cmpint(r.longest_stall_ns, ==, 0);
}

static void test_a_burst_beyond_the_quota_uses_what_was_saved(void)
{
    Sim sim = late_sim(2, 0.1, 10 * SIM_MS);
    SimResult r;

    sim.n_spinning = 1;
    sim.run_ns = 5 * SIM_MS;
    sim.every_ns = 100 * SIM_MS;
    g_assert_cmpuint(run("bursty", &sim).stats.throttled_periods, >, 50);
    sim.limits.burst_ns = 5 * SIM_MS;
    r = run("bursty, burst", &sim);
    /* The first of a hundred came before anything was saved. */
    g_assert_cmpuint(r.stats.throttled_periods, <=, 2);
    g_assert_cmpuint(r.stats.bursts, >, 50);
}

static void test_idle_guests_are_seldom_looked_at(void)
{
    for (unsigned n = 1; n <= 16; n *= 2) {
        Sim sim = late_sim(n, 0.5, 10 * SIM_MS);

        sim.n_spinning = 0;
        g_assert_cmpfloat(run("idle", &sim).looks_per_period, <=, 3);
    }
}

/* Any quota, mostly small ones, and looks that are seldom or never on time. */
static Sim random_sim(GRand *rand)
{
    unsigned n = g_rand_int_range(rand, 1, 9);
    double octaves = log2(n * 5 * SIM_MS / (double)BANDWIDTH_QUOTA_NS_MIN);
    double quota = BANDWIDTH_QUOTA_NS_MIN *
                   exp2(g_rand_double_range(rand, 0, octaves));
    Sim sim = late_sim(n, quota / (n * 10 * SIM_MS), 10 * SIM_MS);

    sim.limits.quota_ns = quota;
    sim.look_late.max = g_rand_int_range(rand, 51 * US, 500 * US);
    sim.close_late.max = g_rand_int_range(rand, 21 * US, 100 * US);
    sim.open_late.max = g_rand_int_range(rand, 21 * US, 150 * US);
    if (g_rand_boolean(rand)) {
        sim.stuck_ns = 4 * SIM_MS;
        sim.stuck_every = g_rand_int_range(rand, 20, 200);
    }
    return sim;
}

/*
 * What all vCPUs use from a release until they are out again: the most for a
 * look that is late as usual, and what stuck ones add to the mean.
 */
static int64_t use_of_release(const Sim *sim)
{
    int64_t stuck = sim->stuck_every ? sim->stuck_ns / sim->stuck_every : 0;

    return sim->n_vcpus * (BANDWIDTH_LOOK_NS_MIN + sim->look_late.max +
                           sim->close_late.max + stuck);
}

/*
 * Within a period where a release uses less than the quota, by a quarter of it
 * if one that is stuck counts.  Else a group can run in one period of so many
 * only; an eighth of each repays debt, and more where stuck looks make much.
 */
static int64_t longest_stall(const Sim *sim)
{
    int64_t period = sim->limits.period_ns, quota = sim->limits.quota_ns;
    int64_t use = use_of_release(sim);

    if (sim->stuck_every ? use <= quota / 4 * 3 : use <= quota) {
        quota /= sim->stuck_every ? 2 : 1;
        return period - quota / sim->n_vcpus + SIM_MS +
               sim->stuck_ns + sim->look_late.max;
    }
    use += sim->stuck_every ? 2 * use : use / 7;
    return period * (use / quota + 2) + sim->stuck_ns;
}

/* The debt of a stuck look is repaid slowly, and all is as exact as that. */
static void assert_kept(const Sim *sim, const SimResult *r)
{
    double quota = sim->limits.quota_ns;
    double due = quota * sim->length_ns / sim->limits.period_ns;
    double unspent = r->stats.remaining_ns + r->stats.margin_ns;

    g_assert_cmpuint(r->stats.forgiven_ns, ==, 0);
    g_assert_cmpfloat(r->used_ns, <=, due + quota + r->stats.debt_ns +
                      use_of_release(sim));
    g_assert_cmpfloat(r->used_ns, >=, due * 0.99 - quota - unspent);
}

static void test_small_quotas_stall_no_longer_than_they_must(void)
{
    for (guint32 seed = 0; seed < 200; seed++) {
        GRand *rand = g_rand_new_with_seed(seed);
        Sim sim = random_sim(rand);
        SimResult r;

        sim.seed = seed;
        g_test_message("seed %u, looks to %.2f ms late, one of %d stuck", seed,
                       sim.look_late.max / 1e6, sim.stuck_every);
        r = run("any quota", &sim);
        g_test_message("stall %.1f of %.1f ms, need %.2f, debt %.2f",
                       r.longest_stall_ns / 1e6, longest_stall(&sim) / 1e6,
                       r.stats.need_ns / 1e6, r.stats.debt_ns / 1e6);
        g_assert_cmpint(r.longest_stall_ns, <=, longest_stall(&sim));
        assert_kept(&sim, &r);
        g_assert_cmpfloat(r.looks_per_period, <=, 5);
        g_rand_free(rand);
    }
}

/*
 * Two looks apart 250 us let eight vCPUs use 2 ms: twenty of these quotas.
 * Such a group saves up; it is exact, in large steps.
 */
static void test_a_quota_below_one_look_is_kept_in_the_long_run(void)
{
    Sim sim = late_sim(8, 0.00125, 10 * SIM_MS);
    SimResult r;

    sim.length_ns = 60 * SIM_S;
    r = run("tiny quota", &sim);
    g_assert_cmpuint(sim.limits.quota_ns, ==, BANDWIDTH_QUOTA_NS_MIN);
    g_assert_cmpfloat(fabs(r.share_error), <=, 0.02);
    g_assert_cmpuint(r.stats.forgiven_ns, ==, 0);
    g_assert_cmpfloat(r.looks_per_period, <=, 5);
    g_assert_cmpint(r.longest_stall_ns, <=, longest_stall(&sim));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
#define ADD(name, f) g_test_add_func("/bandwidth-simulator/" name, f)
    ADD("looks-on-time-are-exact", test_looks_on_time_are_exact);
    ADD("late-looks-cost-no-share", test_late_looks_cost_no_share);
    ADD("long-periods-are-as-exact", test_long_periods_are_as_exact);
    ADD("a-competitor-costs-no-share", test_a_competitor_costs_no_share);
    ADD("a-competitor-costs-no-share-of-long-periods",
        test_a_competitor_costs_no_share_of_long_periods);
    ADD("a-coarse-competitor-costs-little-share",
        test_a_coarse_competitor_costs_little_share);
    ADD("depth-costs-neither-share-nor-looks",
        test_depth_costs_neither_share_nor_looks);
    ADD("one-spinner-among-idle-vcpus-is-exact",
        test_one_spinner_among_idle_vcpus_is_exact);
    ADD("stalls-are-bounded", test_stalls_are_bounded);
    ADD("a-burst-within-the-quota-is-not-throttled",
        test_a_burst_within_the_quota_is_not_throttled);
    ADD("a-burst-beyond-the-quota-uses-what-was-saved",
        test_a_burst_beyond_the_quota_uses_what_was_saved);
    ADD("idle-guests-are-seldom-looked-at",
        test_idle_guests_are_seldom_looked_at);
    ADD("small-quotas-stall-no-longer-than-they-must",
        test_small_quotas_stall_no_longer_than_they_must);
    ADD("a-quota-below-one-look-is-kept-in-the-long-run",
        test_a_quota_below_one_look_is_kept_in_the_long_run);
#undef ADD
    return g_test_run();
}
