/*
 * Masks of the threads that are not vCPUs: examples, and what always holds
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <string.h>
#include "hw/sched/emulator-placement.h"
#include "placement-random.h"

static EmulatorPlan place(const Fixture *f, EmulatorMode mode,
                          const HostCpuSet *serves)
{
    const EmulatorInput in = {
        .host = f->host, .guest = f->guest, .plan = f->plan, .mode = mode,
    };
    EmulatorPlan plan;

    emulator_placement(&in, serves, &plan);
    return plan;
}

/* LLC 0 is CPUs 0-3, LLC 1 is 4-7; node 1 has LLCs 2 (8-11) and 3 (12-15). */
static Fixture *four_llcs(const char *smp)
{
    Fixture *f = fixture_new(fake_host_new(2, 1, 2, 4, 1, 0), smp,
                             GUEST_CACHE_SOCKET);

    fixture_set_candidates(f, "0-15");
    return f;
}

static void assert_mask(const Fixture *f, EmulatorMode mode,
                        const char *serves, const char *cpus,
                        EmulatorReason reason)
{
    HostCpuSet set = { { 0 } };
    EmulatorPlan plan;
    g_autofree char *list = NULL;

    g_assert_true(host_cpuset_parse_list(serves ? serves : "", &set));
    plan = place(f, mode, serves ? &set : NULL);
    list = host_cpuset_to_list(&plan.mask);
    g_assert_cmpstr(list, ==, cpus);
    g_assert_cmpstr(emulator_reason_name(plan.reason), ==,
                    emulator_reason_name(reason));
}

/* Put all vCPUs where the test says: foreign masks are taken as they are. */
static Fixture *placed_by_hand(const char *smp, const char *const *masks)
{
    Fixture *f = four_llcs(smp);

    for (int i = 0; masks[i]; i++) {
        fixture_set_foreign(f, i, masks[i]);
    }
    fixture_plan(f);
    return f;
}

static void test_near_is_the_llc_of_the_vcpus(void)
{
    const char *const masks[] = { "4-7", "4-7", NULL };
    g_autoptr(Fixture) f = placed_by_hand("sockets=1,cores=2", masks);

    assert_mask(f, EMULATOR_NEAR, NULL, "4-7", EMULATOR_NEAR_LLC);
    assert_mask(f, EMULATOR_OTHER, NULL, "0-3,8-15", EMULATOR_OTHER_LLC);
    assert_mask(f, EMULATOR_OFF, NULL, "", EMULATOR_LEFT_OFF);
}

static void test_near_follows_the_vcpus_served(void)
{
    const char *const masks[] = { "0-3", "0-3", "8-11", "8-11", NULL };
    g_autoptr(Fixture) f = placed_by_hand("sockets=2,cores=2", masks);

    assert_mask(f, EMULATOR_NEAR, NULL, "0-3,8-11", EMULATOR_NEAR_LLC);
    assert_mask(f, EMULATOR_NEAR, "2-3", "8-11", EMULATOR_NEAR_LLC);
    assert_mask(f, EMULATOR_NEAR, "1", "0-3", EMULATOR_NEAR_LLC);
    /* where other vCPUs of the VM are is none of its business, but kept off */
    assert_mask(f, EMULATOR_OTHER, "1", "4-7,12-15", EMULATOR_OTHER_LLC);
}

static void test_full_llc_opens_its_node(void)
{
    const char *const masks[] = { "0-3", "0-3", "0-3", "0-3", NULL };
    g_autoptr(Fixture) f = placed_by_hand("sockets=1,cores=4", masks);

    assert_mask(f, EMULATOR_NEAR, NULL, "0-7", EMULATOR_LLC_FULL);
    assert_mask(f, EMULATOR_NEAR, "0", "0-7", EMULATOR_LLC_FULL);
}

static void test_cpus_of_vcpus_are_theirs_alone(void)
{
    const char *const masks[] = { "1", "2", NULL };
    g_autoptr(Fixture) f = placed_by_hand("sockets=1,cores=2", masks);

    f->plan->width = PLACEMENT_WIDTH_CPU;
    assert_mask(f, EMULATOR_NEAR, NULL, "0,3", EMULATOR_BESIDE_VCPUS);
    assert_mask(f, EMULATOR_NEAR, "1", "0,3", EMULATOR_BESIDE_VCPUS);
}

static void test_owned_llc_opens_the_rest_of_its_node(void)
{
    const char *const masks[] = { "0", "1", "2", "3", NULL };
    g_autoptr(Fixture) f = placed_by_hand("sockets=1,cores=4", masks);

    f->plan->width = PLACEMENT_WIDTH_CPU;
    assert_mask(f, EMULATOR_NEAR, NULL, "4-7", EMULATOR_LLC_FULL);
    f->plan->candidates = f->plan->vcpus[0].mask;
    assert_mask(f, EMULATOR_NEAR, NULL, "0", EMULATOR_NEAR_LLC);
}

static void test_other_takes_single_cpus_then_nothing(void)
{
    const char *const masks[] = { "0-2", "4-6", "8-10", "12-14", NULL };
    const char *const all[] = { "0-15", "0-15", "0-15", "0-15", NULL };
    g_autoptr(Fixture) f = placed_by_hand("sockets=1,cores=4", masks);
    g_autoptr(Fixture) wide = placed_by_hand("sockets=1,cores=4", all);

    assert_mask(f, EMULATOR_OTHER, NULL, "3,7,11,15", EMULATOR_OTHER_CPUS);
    assert_mask(wide, EMULATOR_OTHER, NULL, "", EMULATOR_NOWHERE_ELSE);
}

static void test_isolated_cpus_are_never_used(void)
{
    const char *const masks[] = { "4", "5", NULL };
    g_autoptr(Fixture) f = placed_by_hand("sockets=1,cores=2", masks);

    f->plan->width = PLACEMENT_WIDTH_CPU;
    g_assert_true(host_cpuset_parse_list("4-6", &f->host->isolated));
    assert_mask(f, EMULATOR_NEAR, NULL, "7", EMULATOR_BESIDE_VCPUS);
    g_assert_true(host_cpuset_parse_list("4-7", &f->host->isolated));
    assert_mask(f, EMULATOR_NEAR, NULL, "0-3", EMULATOR_LLC_FULL);
    g_assert_true(host_cpuset_parse_list("0-15", &f->host->isolated));
    assert_mask(f, EMULATOR_NEAR, NULL, "", EMULATOR_NO_CPUS);
    assert_mask(f, EMULATOR_OTHER, NULL, "", EMULATOR_NO_CPUS);
}

static void test_vcpus_that_are_not_there(void)
{
    const char *const masks[] = { "0-3", "8-11", NULL };
    g_autoptr(Fixture) f = placed_by_hand("sockets=2,cores=1", masks);

    f->guest->vcpus[1].present = false;
    assert_mask(f, EMULATOR_NEAR, NULL, "0-3", EMULATOR_NEAR_LLC);
    assert_mask(f, EMULATOR_NEAR, "1", "", EMULATOR_NO_VCPUS);
    assert_mask(f, EMULATOR_OTHER, "1", "", EMULATOR_NO_VCPUS);
}

/* Each says where, or why not. */
static void test_reasons_are_explained(void)
{
    const char *const masks[] = { "4-7", "4-7", NULL };
    g_autoptr(Fixture) f = placed_by_hand("sockets=1,cores=2", masks);
    const EmulatorInput in = { .host = f->host, .guest = f->guest,
                               .plan = f->plan, .mode = EMULATOR_NEAR };
    EmulatorPlan plan = place(f, EMULATOR_NEAR, NULL);
    g_autofree char *near = emulator_explain(&in, &plan);

    g_assert_cmpstr(near, ==, "near the vCPUs: LLC 1");
    for (int reason = 0; reason < EMULATOR_REASON_MAX; reason++) {
        g_autofree char *text = NULL;

        plan.reason = reason;
        text = emulator_explain(&in, &plan);
        g_assert_cmpstr(text, !=, "");
        g_assert_cmpint(strlen(text), <, 60);
        g_assert_nonnull(emulator_reason_name(reason));
    }
}

/* ---- what holds for any input ---- */

typedef struct Case {
    HostCpuSet serves, usable, own, served_own;
    bool all, any;
    EmulatorPlan near, other;
} Case;

static void case_init(Case *c, Fixture *f, GRand *rand)
{
    *c = (Case) { .all = chance(rand, 3) };
    fixture_plan(f);
    HOST_CPUSET_FOREACH(cpu, &f->host->online) {
        if (chance(rand, 8)) {
            host_cpuset_add(&f->host->isolated, cpu);
        }
    }
    c->usable = f->plan->candidates;
    host_cpuset_andnot(&c->usable, &f->host->isolated);
    for (int i = 0; i < f->guest->n_vcpus; i++) {
        bool serves = c->all || chance(rand, 2);

        if (serves) {
            host_cpuset_add(&c->serves, i);
        }
        if (f->guest->vcpus[i].present) {
            host_cpuset_or(&c->own, &f->plan->vcpus[i].mask);
            if (serves) {
                host_cpuset_or(&c->served_own, &f->plan->vcpus[i].mask);
                c->any = true;
            }
        }
    }
    c->near = place(f, EMULATOR_NEAR, c->all ? NULL : &c->serves);
    c->other = place(f, EMULATOR_OTHER, c->all ? NULL : &c->serves);
}

static void masks_have_reasons(const EmulatorPlan *plan, const Case *c)
{
    g_assert_true(host_cpuset_empty(&plan->mask) ==
                  (plan->reason < EMULATOR_FIRST_PLACED));
    g_assert_true(host_cpuset_subset(&plan->mask, &c->usable));
    g_assert_true(c->any || plan->reason == EMULATOR_NO_VCPUS);
}

/* Only usable CPUs; the same again; with off none. */
static void any_input(Fixture *f, GRand *rand)
{
    EmulatorPlan again;
    Case c;

    case_init(&c, f, rand);
    applied++;
    masks_have_reasons(&c.near, &c);
    masks_have_reasons(&c.other, &c);
    again = place(f, EMULATOR_NEAR, &c.serves);
    g_assert_true(host_cpuset_equal(&again.mask, &c.near.mask));
    again = place(f, EMULATOR_OFF, &c.serves);
    g_assert_true(host_cpuset_empty(&again.mask));
}

/*
 * A usable CPU in an LLC of the vCPUs that it serves keeps it there, unless
 * vCPUs have them all; then it stays in their nodes.
 */
static void near_is_near(Fixture *f, GRand *rand)
{
    HostCpuSet llcs = { { 0 } };
    Case c;

    case_init(&c, f, rand);
    for (int i = 0; i < f->host->n_llcs; i++) {
        if (host_cpuset_intersects(&f->host->llcs[i].cpus, &c.served_own)) {
            host_cpuset_or(&llcs, &f->host->llcs[i].cpus);
        }
    }
    host_cpuset_and(&llcs, &c.usable);
    if (c.near.reason == EMULATOR_NEAR_LLC) {
        applied++;
        g_assert_true(host_cpuset_equal(&c.near.mask, &llcs));
    } else if (c.near.reason == EMULATOR_BESIDE_VCPUS) {
        applied++;
        g_assert_true(host_cpuset_subset(&c.near.mask, &llcs));
    } else if (c.near.reason == EMULATOR_LLC_FULL) {
        for (int i = 0; i < f->host->n_nodes; i++) {
            const HostCpuSet *node = &f->host->nodes[i].cpus;

            applied++;
            g_assert_true(host_cpuset_intersects(node, &c.served_own) ||
                          host_cpuset_intersects(node, &llcs) ||
                          !host_cpuset_intersects(node, &c.near.mask));
        }
    }
}

/* With a CPU or core for each vCPU, it is on one only if no other is near. */
static void owned_cpus_are_left_alone(Fixture *f, GRand *rand)
{
    HostCpuSet left;
    Case c;

    case_init(&c, f, rand);
    if (f->plan->width == PLACEMENT_WIDTH_LLC || !c.any) {
        return;
    }
    applied++;
    left = c.usable;
    host_cpuset_andnot(&left, &c.own);
    for (int i = 0; i < f->host->n_nodes; i++) {
        if (host_cpuset_intersects(&f->host->nodes[i].cpus, &c.served_own) &&
            host_cpuset_intersects(&f->host->nodes[i].cpus, &left)) {
            g_assert_false(host_cpuset_intersects(&c.near.mask, &c.own));
        }
    }
}

/* Never on a CPU of a vCPU, nor on an LLC of one while another is usable. */
static void other_is_elsewhere(Fixture *f, GRand *rand)
{
    bool left = false;
    Case c;

    case_init(&c, f, rand);
    g_assert_false(host_cpuset_intersects(&c.other.mask, &c.own));
    for (int i = 0; i < f->host->n_llcs; i++) {
        const HostCpuSet *cpus = &f->host->llcs[i].cpus;
        bool theirs = host_cpuset_intersects(cpus, &c.own);

        left |= !theirs && host_cpuset_intersects(cpus, &c.usable);
        g_assert_false(c.other.reason == EMULATOR_OTHER_LLC && theirs &&
                       host_cpuset_intersects(cpus, &c.other.mask));
    }
    applied += left && c.any;
    if (c.any) {
        g_assert_true(left == (c.other.reason == EMULATOR_OTHER_LLC));
    }
}

PROPERTY(test_any, random_fixture, any_input)
PROPERTY(test_near, random_fixture, near_is_near)
PROPERTY(test_owned, random_fixture, owned_cpus_are_left_alone)
PROPERTY(test_other, random_fixture, other_is_elsewhere)

#define ADD(path, func) g_test_add_func("/emulator-placement/" path, func)

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    say_seed_of_failures();
    ADD("near-is-the-llc-of-the-vcpus", test_near_is_the_llc_of_the_vcpus);
    ADD("near-follows-the-vcpus-served", test_near_follows_the_vcpus_served);
    ADD("full-llc-opens-its-node", test_full_llc_opens_its_node);
    ADD("cpus-of-vcpus-are-theirs-alone", test_cpus_of_vcpus_are_theirs_alone);
    ADD("owned-llc-opens-the-rest-of-its-node",
        test_owned_llc_opens_the_rest_of_its_node);
    ADD("other-takes-single-cpus-then-nothing",
        test_other_takes_single_cpus_then_nothing);
    ADD("isolated-cpus-are-never-used", test_isolated_cpus_are_never_used);
    ADD("vcpus-that-are-not-there-need-nothing",
        test_vcpus_that_are_not_there);
    ADD("reasons-are-explained", test_reasons_are_explained);
    ADD("any/only-usable-cpus-and-deterministic", test_any);
    ADD("any/near-is-in-the-llcs-or-their-nodes", test_near);
    ADD("any/owned-cpus-are-left-alone", test_owned);
    ADD("any/other-is-never-on-a-vcpus-cpu", test_other);
    return g_test_run();
}
