/*
 * Tests of who claims what, and of what a process may spend
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "../../helper/budget.h"
#include "../../helper/claims.h"
#include "fake-host.h"

#define NS_PER_S 1000000000ll

typedef struct Fixture {
    HostTopology *host;      /* four LLCs of 8 CPUs */
    Claims *claims;
    HostCpuSet all;          /* LLCs */
} Fixture;

static void set_up(Fixture *fixture, gconstpointer data)
{
    fixture->host = fake_host_new(1, 1, 4, 8, 1, 0);
    fixture->claims = claims_new(fixture->host);
    for (int llc = 0; llc < 4; llc++) {
        host_cpuset_add(&fixture->all, llc);
    }
}

static void tear_down(Fixture *fixture, gconstpointer data)
{
    claims_free(fixture->claims);
    host_topology_unref(fixture->host);
}

/* A claim on one LLC by a VM that has 100 threads. */
static HelperStatus take(Fixture *fixture, uint64_t owner, uint64_t view,
                         bool force, int llc, unsigned amount)
{
    g_autoptr(GArray) parts = g_array_new(FALSE, FALSE,
                                          sizeof(HelperClaimPart));
    HelperClaimPart part = {
        host_cpuset_next(&fixture->host->llcs[llc].cpus, 0), amount,
    };
    HelperClaim claim = { view, force, parts };

    g_array_append_val(parts, part);
    return claims_take(fixture->claims, owner, &claim, &fixture->all, 100);
}

static uint64_t view_of(const Fixture *fixture, uint64_t owner)
{
    return claims_view(fixture->claims, owner, &fixture->all);
}

static unsigned others(const Fixture *fixture, uint64_t owner, int llc)
{
    return claims_by_others(fixture->claims, owner, llc);
}

static void test_own_are_not_told(Fixture *fixture, gconstpointer data)
{
    g_assert_cmpint(take(fixture, 1, 0, true, 2, 4000), ==, HELPER_OK);
    g_assert_cmpuint(others(fixture, 1, 2), ==, 0);
    g_assert_cmpuint(others(fixture, 2, 2), ==, 500);
    g_assert_cmpuint(others(fixture, 2, 1), ==, 0);
    /* Another claim takes the place of the first. */
    g_assert_cmpint(take(fixture, 1, 0, true, 1, 8000), ==, HELPER_OK);
    g_assert_cmpuint(others(fixture, 2, 2), ==, 0);
    g_assert_cmpuint(others(fixture, 2, 1), ==, 1000);
    claims_drop(fixture->claims, 1);
    g_assert_cmpuint(others(fixture, 2, 1), ==, 0);
}

static void test_told_in_steps(Fixture *fixture, gconstpointer data)
{
    for (unsigned amount = 1; amount <= 9000; amount += 37) {
        unsigned told;

        g_assert_cmpint(take(fixture, 1, 0, true, 0, amount), ==, HELPER_OK);
        told = others(fixture, 2, 0);
        g_assert_cmpuint(told % HELPER_LOAD_STEP, ==, 0);
        g_assert_cmpuint(told * 8, >=, amount);
        g_assert_cmpuint(told * 8, <, amount + HELPER_LOAD_STEP * 8);
    }
}

/* The race of two VMs that start together: one of them is told. */
static void test_only_one_is_first(Fixture *fixture, gconstpointer data)
{
    uint64_t first = view_of(fixture, 1), second = view_of(fixture, 2);

    g_assert_cmpint(take(fixture, 1, first, false, 0, 8000), ==, HELPER_OK);
    g_assert_cmpint(take(fixture, 2, second, false, 0, 8000), ==,
                    HELPER_STALE);
    g_assert_cmpuint(others(fixture, 1, 0), ==, 0);
    second = view_of(fixture, 2);
    g_assert_cmpint(take(fixture, 2, second, false, 1, 8000), ==, HELPER_OK);
    /* Its own claim is no news to itself. */
    g_assert_cmpint(take(fixture, 2, second, false, 2, 8000), ==, HELPER_OK);
}

static void test_elsewhere_is_no_news(Fixture *fixture, gconstpointer data)
{
    HostCpuSet half = { { 3 } };
    uint64_t before = claims_view(fixture->claims, 1, &half);

    g_assert_cmpint(take(fixture, 2, 0, true, 3, 8000), ==, HELPER_OK);
    g_assert_cmpuint(claims_view(fixture->claims, 1, &half), ==, before);
    g_assert_cmpint(take(fixture, 2, 0, true, 1, 8000), ==, HELPER_OK);
    g_assert_cmpuint(claims_view(fixture->claims, 1, &half), !=, before);
}

static void test_bounded_by_threads(Fixture *fixture, gconstpointer data)
{
    g_assert_cmpint(take(fixture, 1, 0, true, 0, 100000), ==, HELPER_OK);
    g_assert_cmpint(take(fixture, 1, 0, true, 1, 100001), ==,
                    HELPER_TOO_MANY);
    g_assert_cmpuint(others(fixture, 2, 0), >, 0);
    g_assert_cmpuint(others(fixture, 2, 1), ==, 0);
    claims_limit(fixture->claims, 1, 4);
    g_assert_cmpuint(others(fixture, 2, 0), ==, 500);
    claims_limit(fixture->claims, 1, 4);
    g_assert_cmpuint(others(fixture, 2, 0), ==, 500);
    claims_limit(fixture->claims, 1, 0);
    g_assert_cmpuint(others(fixture, 2, 0), ==, 0);
}

static void test_only_visible_llcs(Fixture *fixture, gconstpointer data)
{
    g_autoptr(GArray) parts = g_array_new(FALSE, FALSE,
                                          sizeof(HelperClaimPart));
    HelperClaimPart part = { 8, 1000 };
    HelperClaim claim = { 0, true, parts };
    HostCpuSet first = { { 1 } };

    g_array_append_val(parts, part);
    g_assert_cmpint(claims_take(fixture->claims, 1, &claim, &first, 100), ==,
                    HELPER_UNKNOWN_LLC);
    /* No LLC begins there. */
    g_array_index(parts, HelperClaimPart, 0).first_cpu = 9;
    g_assert_cmpint(claims_take(fixture->claims, 1, &claim, &fixture->all,
                                100), ==, HELPER_UNKNOWN_LLC);
}

static void test_claims_outlive_cpus(Fixture *fixture, gconstpointer data)
{
    g_autoptr(HostTopology) less = fake_host_new(1, 1, 4, 8, 1, 0);

    g_assert_cmpint(take(fixture, 1, 0, true, 3, 8000), ==, HELPER_OK);
    fake_host_offline(less, "0-7");
    claims_set_host(fixture->claims, less);
    g_assert_cmpuint(others(fixture, 2, 2), ==, 1000);
    claims_set_host(fixture->claims, fixture->host);
    g_assert_cmpuint(others(fixture, 2, 3), ==, 1000);
}

static void test_budget_keeps_the_rate(void)
{
    const BudgetRules rules = { .rate = 100, .burst = 1000 };
    Budget budget = { };
    int64_t now = NS_PER_S;
    unsigned spent = 0;

    /* A process that spends as soon as it may. */
    while (now < 101 * NS_PER_S) {
        int64_t wait = budget_wait_ns(&budget, &rules, now);

        if (wait) {
            now += wait;
        } else {
            budget_charge(&budget, &rules, now, 7);
            spent += 7;
        }
    }
    g_assert_cmpuint(spent, >=, 100 * 100 + 1000 - 7);
    g_assert_cmpuint(spent, <=, 100 * 100 + 1000 + 2 * 7);
    g_assert_false(budget_full(&budget, now));
    g_assert_true(budget_full(&budget, now + 11 * NS_PER_S));
}

static void test_budget_saves_no_more_than_the_burst(void)
{
    const BudgetRules rules = { .rate = 100, .burst = 1000 };
    Budget budget = { };
    int64_t now = 1000000 * NS_PER_S;
    unsigned spent = 0;

    while (!budget_wait_ns(&budget, &rules, now)) {
        budget_charge(&budget, &rules, now, 1);
        spent++;
    }
    g_assert_cmpuint(spent, ==, 1001);
}

#define ADD(name, test) \
    g_test_add("/helper-claims/" name, Fixture, NULL, set_up, test, tear_down)

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    ADD("ones-own-are-not-told", test_own_are_not_told);
    ADD("told-in-steps", test_told_in_steps);
    ADD("only-one-is-first", test_only_one_is_first);
    ADD("what-is-elsewhere-is-no-news", test_elsewhere_is_no_news);
    ADD("bounded-by-threads", test_bounded_by_threads);
    ADD("only-on-visible-llcs", test_only_visible_llcs);
    ADD("they-outlive-cpus", test_claims_outlive_cpus);
    g_test_add_func("/helper-budget/the-rate-is-kept",
                    test_budget_keeps_the_rate);
    g_test_add_func("/helper-budget/no-more-is-saved-than-the-burst",
                    test_budget_saves_no_more_than_the_burst);
    return g_test_run();
}
