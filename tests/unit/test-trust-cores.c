/*
 * Cores for cookies: who may be where
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <string.h>
#include "placement-fixture.h"
#include "hw/sched/trust-cores.h"

#define SEEDS 3000
#define COOKIES_MAX 9

typedef struct Case {
    Fixture *f;
    unsigned *cookie;
    TrustPlan *trust;
    bool kernel;
} Case;

static Case *case_new(HostTopology *host, const char *smp,
                      const char *cookies)
{
    Case *c = g_new0(Case, 1);
    int v;

    c->f = fixture_new(host, smp, GUEST_CACHE_SOCKET);
    c->cookie = g_new0(unsigned, c->f->guest->n_vcpus);
    for (v = 0; cookies && cookies[v]; v++) {
        c->cookie[v] = cookies[v] - '0';
    }
    return c;
}

static void case_free(Case *c)
{
    trust_plan_free(c->trust);
    g_free(c->cookie);
    fixture_free(c->f);
    g_free(c);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Case, case_free)

static void refine(Case *c)
{
    g_autoptr(TrustPlan) previous = g_steal_pointer(&c->trust);

    fixture_plan(c->f);
    c->trust = trust_refine(c->f->plan, &c->f->in, c->cookie,
                            c->f->in.previous ? previous : NULL, c->kernel);
    fixture_check(c->f);
}

static char *mask_of(const Case *c, int vcpu)
{
    return host_cpuset_to_list(&c->f->plan->vcpus[vcpu].mask);
}

static void assert_mask(const Case *c, int vcpu, const char *cpus)
{
    g_autofree char *mask = mask_of(c, vcpu);

    g_assert_cmpstr(mask, ==, cpus);
}

static TrustReason reason_of(const Case *c, int vcpu)
{
    return c->trust->vcpus[vcpu].reason;
}

/* --- sharing, widening, domains --- */

static void test_may_share(void)
{
    g_assert_true(trust_may_share_core(3, 3));
    g_assert_true(trust_may_share_core(TRUST_COOKIE_NONE, TRUST_COOKIE_NONE));
    g_assert_false(trust_may_share_core(3, TRUST_COOKIE_NONE));
    g_assert_false(trust_may_share_core(3, 4));
}

static void test_widen(void)
{
    g_autoptr(HostTopology) host = fake_host_new(1, 1, 1, 4, 2, 0);
    HostCpuSet mask, cores;

    g_assert_true(host_cpuset_parse_list("1,6", &mask));
    trust_cores_widen(host, &mask, &cores);
    g_assert_true(host_cpuset_has(&cores, 0) && host_cpuset_has(&cores, 3));
    g_assert_cmpint(host_cpuset_count(&cores), ==, 2);
    trust_cores_widen(host, NULL, &cores);
    g_assert_cmpint(host_cpuset_count(&cores), ==, 4);
    memset(&mask, 0, sizeof(mask));
    trust_cores_widen(host, &mask, &cores);
    g_assert_cmpint(host_cpuset_count(&cores), ==, 4);
    /* CPU 7 may come online as anybody's sibling. */
    fake_host_offline(host, "7");
    g_assert_true(host_cpuset_parse_list("0,7", &mask));
    trust_cores_widen(host, &mask, &cores);
    g_assert_cmpint(host_cpuset_count(&cores), ==, 4);
}

static void test_domains(void)
{
    static const char *const lists[] = { "0-1", "4", "2", "", "1-2", "4-5" };
    static const int expect[] = { 0, 1, 0, -1, 0, 1 };
    HostCpuSet sets[G_N_ELEMENTS(lists)];
    const HostCpuSet *pointers[G_N_ELEMENTS(lists)];
    int domain[G_N_ELEMENTS(lists)];
    gsize i;

    for (i = 0; i < G_N_ELEMENTS(lists); i++) {
        g_assert_true(host_cpuset_parse_list(lists[i], &sets[i]));
        pointers[i] = &sets[i];
    }
    g_assert_cmpint(trust_domains(pointers, G_N_ELEMENTS(lists), domain), ==,
                    2);
    g_assert_cmpmem(domain, sizeof(domain), expect, sizeof(expect));
}

/* --- refining --- */

static void test_one_cookie_as_planned(void)
{
    g_autoptr(Case) c = case_new(fake_host_new(1, 1, 2, 4, 2, 0), "4", "1111");
    g_autoptr(Plan) plan = NULL;
    g_autofree char *summary = NULL;

    refine(c);
    plan = placement_plan(&c->f->in);
    g_assert_true(placement_plan_same_masks(plan, c->f->plan));
    g_assert_true(c->trust->disjoint);
    g_assert_cmpint(reason_of(c, 0), ==, TRUST_ALONE);
    summary = trust_summary(c->trust);
    g_assert_cmpstr(summary, ==, "1 cookie: nothing to keep apart");
}

static void test_split_of_one_llc(void)
{
    g_autoptr(Case) c = case_new(fake_host_new(1, 1, 1, 4, 2, 0), "4", "1122");
    g_autofree char *text = NULL;
    g_autofree char *summary = NULL;

    refine(c);
    g_assert_true(c->trust->disjoint);
    assert_mask(c, 0, "0-1,4-5");
    assert_mask(c, 1, "0-1,4-5");
    assert_mask(c, 2, "2-3,6-7");
    g_assert_cmpint(reason_of(c, 0), ==, TRUST_OWN_CORES);
    text = trust_explain(c->trust, c->f->plan, c->f->host, 2);
    g_assert_cmpstr(text, ==, "its cookie alone has 2 whole cores: "
                    "CPUs 2-3,6-7");
    summary = trust_summary(c->trust);
    g_assert_cmpstr(summary, ==, "2 cookies on cores of their own");
}

static void test_split_by_demand(void)
{
    g_autoptr(Case) c = case_new(fake_host_new(1, 1, 1, 8, 1, 0), "4", "1112");

    refine(c);
    g_assert_cmpint(host_cpuset_count(&c->f->plan->vcpus[0].mask), ==, 6);
    g_assert_cmpint(host_cpuset_count(&c->f->plan->vcpus[3].mask), ==, 2);
}

static void test_no_cookie_is_kept_apart(void)
{
    g_autoptr(Case) c = case_new(fake_host_new(1, 1, 1, 2, 2, 0), "2", "01");

    refine(c);
    g_assert_true(c->trust->disjoint);
    g_assert_cmpint(c->trust->n_cookies, ==, 2);
}

/* Guest LLC 0 has three cookies and two cores: one goes to the other LLC. */
static void test_leaves_llc_for_free_core(void)
{
    g_autoptr(Case) c = case_new(fake_host_new(1, 1, 2, 2, 2, 0),
                                 "3,maxcpus=3", "123");
    g_autofree char *text = NULL;
    int v, away = -1;

    fixture_set_load(c->f, 1, 900, 900);
    refine(c);
    g_assert_true(c->trust->disjoint);
    for (v = 0; v < 3; v++) {
        if (reason_of(c, v) == TRUST_OTHER_LLC) {
            g_assert_cmpint(away, <, 0);
            away = v;
        }
    }
    if (c->f->plan->vcpus[0].reason == PLACEMENT_FITS) {
        g_assert_cmpint(away, >=, 0);
        text = trust_explain(c->trust, c->f->plan, c->f->host, away);
        g_assert_nonnull(strstr(text, "away from the LLC"));
    }
}

static void test_more_cookies_than_cores(void)
{
    g_autoptr(Case) c = case_new(fake_host_new(1, 1, 1, 2, 2, 0), "5",
                                 "11123");
    g_autofree char *summary = NULL;
    g_autofree char *text = NULL;

    refine(c);
    g_assert_false(c->trust->disjoint);
    /* The one with most demand is alone. */
    g_assert_cmpint(reason_of(c, 0), ==, TRUST_OWN_CORES);
    g_assert_cmpint(reason_of(c, 3), ==, TRUST_TIME_SHARED);
    g_assert_cmpint(reason_of(c, 4), ==, TRUST_TIME_SHARED);
    g_assert_cmpint(c->trust->vcpus[3].domain, ==, c->trust->vcpus[4].domain);
    summary = trust_summary(c->trust);
    g_assert_cmpstr(summary, ==, "2 of 3 cookies share cores");
    text = trust_explain(c->trust, c->f->plan, c->f->host, 3);
    g_assert_nonnull(strstr(text, "3 cookies are too many"));
}

static void test_kernel_chooses_who_shares(void)
{
    g_autoptr(Case) c = case_new(fake_host_new(1, 1, 1, 2, 2, 0), "5",
                                 "11123");

    c->kernel = true;
    refine(c);
    assert_mask(c, 4, "0-3");
    c->kernel = false;
    refine(c);
    g_assert_cmpint(host_cpuset_count(&c->f->plan->vcpus[4].mask), ==, 2);
}

static void test_siblings_on_siblings(void)
{
    g_autoptr(Case) c = case_new(fake_host_new(1, 1, 1, 4, 2, 0),
                                 "6,cores=3,threads=2", "112233");
    const VcpuPlan *p;

    c->f->in.width = PLACEMENT_WIDTH_CPU;
    refine(c);
    p = c->f->plan->vcpus;
    g_assert_true(c->trust->disjoint);
    g_assert_cmpint(p[0].host_core, ==, p[1].host_core);
    g_assert_true(p[0].smt_aligned && p[1].smt_aligned);
    g_assert_false(host_cpuset_equal(&p[0].mask, &p[1].mask));
}

/* Siblings in the guest that do not trust each other are none on the host. */
static void test_untrusting_siblings_part(void)
{
    g_autoptr(Case) c = case_new(fake_host_new(1, 1, 1, 4, 2, 0),
                                 "4,cores=2,threads=2", "1212");

    c->f->in.width = PLACEMENT_WIDTH_CORE;
    refine(c);
    g_assert_true(c->trust->disjoint);
    g_assert_false(c->f->plan->vcpus[0].smt_aligned);
    /* Four cores for four vCPUs: nobody is paired. */
    g_assert_cmpint(c->f->plan->vcpus[0].host_core, !=,
                    c->f->plan->vcpus[2].host_core);
}

static void test_foreign_is_avoided(void)
{
    g_autoptr(Case) c = case_new(fake_host_new(1, 1, 1, 4, 2, 0), "3", "112");

    fixture_set_foreign(c->f, 2, "0");
    refine(c);
    g_assert_true(c->trust->disjoint);
    assert_mask(c, 0, "2-7");
    g_assert_cmpint(reason_of(c, 2), ==, TRUST_FOREIGN);
}

static void test_foreign_everywhere(void)
{
    g_autoptr(Case) c = case_new(fake_host_new(1, 1, 1, 4, 2, 0), "3", "123");
    g_autofree char *text = NULL;

    fixture_set_foreign(c->f, 2, "0-7");
    refine(c);
    g_assert_false(c->trust->disjoint);
    g_assert_cmpint(reason_of(c, 0), ==, TRUST_BESIDE_FOREIGN);
    /* Ours at least do not meet each other. */
    g_assert_false(host_cpuset_intersects(&c->f->plan->vcpus[0].mask,
                                          &c->f->plan->vcpus[1].mask));
    text = trust_explain(c->trust, c->f->plan, c->f->host, 0);
    g_assert_nonnull(strstr(text, "set from outside"));
}

static void test_fast_cores_are_shared_out(void)
{
    HostTopology *host = fake_host_new(1, 1, 1, 8, 1, 0);
    g_autoptr(Case) c = NULL;
    int v;

    fake_host_make_hybrid(host, 4, 512);
    c = case_new(host, "2", "12");
    refine(c);
    for (v = 0; v < 2; v++) {
        unsigned capacity = 0;

        HOST_CPUSET_FOREACH(cpu, &c->f->plan->vcpus[v].mask) {
            capacity += host->cpus[cpu].capacity;
        }
        g_assert_cmpuint(capacity, ==, 2 * 1024 + 2 * 512);
    }
}

/* One core that is as fast as four: the other cookie gets most slow ones. */
static void test_cores_count_by_capacity(void)
{
    HostTopology *host = fake_host_new(1, 1, 1, 8, 1, 0);
    g_autoptr(Case) c = NULL;
    int with_fast, n;

    fake_host_make_hybrid(host, 1, 256);
    c = case_new(host, "2", "12");
    refine(c);
    with_fast = !host_cpuset_has(&c->f->plan->vcpus[0].mask, 0);
    n = host_cpuset_count(&c->f->plan->vcpus[with_fast].mask);
    g_assert_cmpint(n, >=, 2);
    g_assert_cmpint(n, <=, 3);
}

/* Refine anew from what was, which is returned. */
static Plan *refine_again(Case *c)
{
    Plan *first = g_steal_pointer(&c->f->plan);

    c->f->in.previous = first;
    refine(c);
    c->f->in.previous = NULL;
    return first;
}

static void set_demand(Case *c, unsigned of_second)
{
    int v;

    for (v = 0; v < 4; v++) {
        fixture_set_demand(c->f, v, v < 2 ? 1000 : of_second);
    }
}

/* Demand that wavers moves nobody; demand that falls to a third does. */
static void test_wavering_demand_moves_nobody(void)
{
    g_autoptr(Case) c = case_new(fake_host_new(1, 1, 1, 16, 1, 0), "4", "1122");
    g_autoptr(Plan) first = NULL;
    g_autoptr(Plan) second = NULL;

    refine(c);
    set_demand(c, 850);
    first = refine_again(c);
    g_assert_true(placement_plan_same_masks(first, c->f->plan));
    set_demand(c, 300);
    second = refine_again(c);
    g_assert_cmpint(host_cpuset_count(&c->f->plan->vcpus[0].mask), >=, 11);
    g_assert_true(host_cpuset_subset(&second->vcpus[0].mask,
                                     &c->f->plan->vcpus[0].mask));
}

/* Two that met on a core part when their cookie gets another one. */
static void test_pairs_part_when_a_core_comes_free(void)
{
    g_autoptr(Case) c = case_new(fake_host_new(1, 1, 1, 3, 2, 0), "4", "1122");
    g_autoptr(Plan) first = NULL;
    const VcpuPlan *p;
    int alone, v;

    c->f->in.width = PLACEMENT_WIDTH_CORE;
    refine(c);
    p = c->f->plan->vcpus;
    alone = p[0].host_core == p[1].host_core ? 2 : 0;
    g_assert_cmpint(p[2 - alone].host_core, ==, p[3 - alone].host_core);
    c->f->guest->vcpus[alone].present = false;
    first = refine_again(c);
    p = c->f->plan->vcpus;
    for (v = 0; v < 4; v++) {
        if (v != alone) {
            g_assert_cmpint(p[v].host_core, !=, p[(v ^ 1)].host_core);
        }
    }
}

/* --- properties --- */

typedef struct Users {
    unsigned on_core[64];           /* bits: cookies */
    int n_cookies, n_usable, n_empty, n_crowded;
} Users;

static Users count_users(const Case *c)
{
    const Fixture *f = c->f;
    unsigned all = 0;
    Users u = { 0 };
    int v, core;

    for (v = 0; v < f->guest->n_vcpus; v++) {
        if (!f->guest->vcpus[v].present) {
            continue;
        }
        all |= 1u << c->cookie[v];
        HOST_CPUSET_FOREACH(cpu, &f->plan->vcpus[v].mask) {
            u.on_core[f->host->cpus[cpu].core] |= 1u << c->cookie[v];
        }
    }
    u.n_cookies = __builtin_popcount(all);
    for (core = 0; core < f->host->n_cores; core++) {
        if (host_cpuset_intersects(&f->host->cores[core].cpus,
                                   &f->candidates)) {
            u.n_usable++;
            u.n_empty += !u.on_core[core];
            u.n_crowded += __builtin_popcount(u.on_core[core]) > 1;
        }
    }
    return u;
}

/* Try all: can cookies from @cookie on each have a core within its LLCs? */
static bool can_stay(const Case *c, unsigned cookie, int *room)
{
    const Fixture *f = c->f;
    bool here = false;
    int v, l;

    if (cookie == COOKIES_MAX) {
        return true;
    }
    for (l = 0; l < f->host->n_llcs; l++) {
        bool allowed = false;

        for (v = 0; v < f->guest->n_vcpus; v++) {
            int run = f->plan->run_of[f->guest->vcpus[v].llc];

            if (f->guest->vcpus[v].present && c->cookie[v] == cookie) {
                here = true;
                allowed |= run < 0 || f->plan->llcs[l].run == run;
            }
        }
        if (allowed && room[l]) {
            room[l]--;
            if (can_stay(c, cookie + 1, room)) {
                return true;
            }
            room[l]++;
        }
    }
    return !here && can_stay(c, cookie + 1, room);
}

/* A cookie all of whose vCPUs left their LLCs, where all could have stayed. */
static void check_stays(const Case *c)
{
    const Fixture *f = c->f;
    int room[64] = { 0 };
    unsigned stayed = 0, left = 0;
    int v, core;

    for (core = 0; core < f->host->n_cores; core++) {
        room[f->host->cores[core].llc] +=
            host_cpuset_intersects(&f->host->cores[core].cpus,
                                   &f->candidates);
    }
    for (v = 0; v < f->guest->n_vcpus; v++) {
        unsigned bit = 1u << c->cookie[v];

        left |= reason_of(c, v) == TRUST_OTHER_LLC ? bit : 0;
        stayed |= reason_of(c, v) == TRUST_OWN_CORES ? bit : 0;
    }
    if (can_stay(c, 0, room)) {
        g_assert_cmpuint(left & ~stayed, ==, 0);
    }
}

/* One LLC, guest cores of one thread: pairs only where no core is free. */
static void check_spread(const Case *c)
{
    const Fixture *f = c->f;
    unsigned used[64] = { 0 }, v, most = 0;
    int core, empty = 0;

    if (f->host->n_llcs > 1 || f->guest->n_cores != f->guest->n_vcpus ||
        f->in.width == PLACEMENT_WIDTH_LLC) {
        return;
    }
    for (v = 0; v < (unsigned)f->guest->n_vcpus; v++) {
        if (f->plan->vcpus[v].host_core >= 0) {
            used[f->plan->vcpus[v].host_core]++;
            most = MAX(most, used[f->plan->vcpus[v].host_core]);
        }
    }
    for (core = 0; core < f->host->n_cores; core++) {
        empty += !used[core] &&
                 host_cpuset_intersects(&f->host->cores[core].cpus,
                                        &f->candidates);
    }
    if (most > 1 && f->plan->vcpus[0].host_core >= 0) {
        g_assert_cmpint(empty, ==, 0);
    }
}

static bool some_guarded(const Plan *plan)
{
    int v;

    for (v = 0; v < plan->n_vcpus; v++) {
        if (plan->vcpus[v].reason == PLACEMENT_GUARDED) {
            return true;
        }
    }
    return false;
}

/*
 * The same again, from what was: nothing moves.  Where some masks are those of
 * LLCs and some of all, it may take a second time.
 */
static void check_stable(Case *c)
{
    int moves, most = some_guarded(c->f->plan) ? 2 : 0;

    for (moves = 0; moves <= most; moves++) {
        g_autoptr(Plan) first = refine_again(c);

        if (placement_plan_same_masks(first, c->f->plan)) {
            return;
        }
    }
    g_assert_not_reached();
}

static Case *random_case(GRand *rand)
{
    HostTopology *host = fake_host_new(1 + g_rand_int_range(rand, 0, 2), 1,
                                       1 + g_rand_int_range(rand, 0, 2),
                                       1 + g_rand_int_range(rand, 0, 4),
                                       1 + g_rand_int_range(rand, 0, 2),
                                       g_rand_int_range(rand, 0, 2));
    int sockets = 1 + g_rand_int_range(rand, 0, 3);
    int cores = 1 + g_rand_int_range(rand, 0, 3);
    int threads = 1 + g_rand_int_range(rand, 0, 2);
    int most = 1 + g_rand_int_range(rand, 0, COOKIES_MAX);
    g_autofree char *smp = g_strdup_printf("%d,sockets=%d,cores=%d,threads=%d",
                                           sockets * cores * threads, sockets,
                                           cores, threads);
    Case *c = case_new(host, smp, NULL);
    int v, l;

    for (v = 0; v < c->f->guest->n_vcpus; v++) {
        c->cookie[v] = g_rand_int_range(rand, 0, most);
    }
    for (v = 0; v < host->n_cpus; v++) {
        if (g_rand_int_range(rand, 0, 5) == 0) {
            host_cpuset_remove(&c->f->candidates, v);
        }
    }
    if (host_cpuset_empty(&c->f->candidates)) {
        c->f->candidates = host->online;
    }
    for (l = 0; l < host->n_llcs; l++) {
        if (g_rand_int_range(rand, 0, 6) == 0) {
            fixture_set_load(c->f, l, 900, 900);
        }
    }
    c->f->in.width = g_rand_int_range(rand, 0, 3);
    c->kernel = g_rand_boolean(rand);
    return c;
}

static void check_case(guint32 seed)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(seed);
    g_autoptr(Case) c = random_case(rand);
    bool leaves_to_kernel;
    Users u;

    refine(c);
    u = count_users(c);
    leaves_to_kernel = c->kernel && c->f->in.width == PLACEMENT_WIDTH_LLC;
    g_assert_cmpint(c->trust->n_cookies, ==, u.n_cookies);
    g_assert_true(c->trust->disjoint == (u.n_crowded == 0));
    if (u.n_cookies <= u.n_usable) {
        g_assert_true(c->trust->disjoint);
        check_stays(c);
    } else if (!leaves_to_kernel) {
        g_assert_cmpint(u.n_empty, ==, 0);
    }
    if (u.n_crowded && !leaves_to_kernel) {
        g_assert_cmpint(u.n_empty, ==, 0);
    }
    if (u.n_cookies > 1) {
        check_spread(c);
    }
    check_stable(c);
}

static void test_properties(void)
{
    const char *only = g_getenv("TRUST_SEED");
    guint32 seed;

    if (only) {
        check_case(g_ascii_strtoull(only, NULL, 10));
        return;
    }
    for (seed = 0; seed < SEEDS; seed++) {
        g_test_message("TRUST_SEED=%u", seed);
        check_case(seed);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/trust-cores/only-equal-cookies-share", test_may_share);
    g_test_add_func("/trust-cores/unknown-masks-are-all-cores", test_widen);
    g_test_add_func("/trust-cores/cookies-that-meet-are-a-domain",
                    test_domains);
    g_test_add_func("/trust-cores/one-cookie-is-as-planned",
                    test_one_cookie_as_planned);
    g_test_add_func("/trust-cores/cookies-of-one-llc-split-its-cores",
                    test_split_of_one_llc);
    g_test_add_func("/trust-cores/cores-go-by-demand", test_split_by_demand);
    g_test_add_func("/trust-cores/vcpus-without-cookie-are-kept-apart",
                    test_no_cookie_is_kept_apart);
    g_test_add_func("/trust-cores/a-free-core-of-another-llc-beats-sharing",
                    test_leaves_llc_for_free_core);
    g_test_add_func("/trust-cores/more-cookies-than-cores",
                    test_more_cookies_than_cores);
    g_test_add_func("/trust-cores/the-kernel-chooses-who-shares",
                    test_kernel_chooses_who_shares);
    g_test_add_func("/trust-cores/guest-siblings-on-host-siblings",
                    test_siblings_on_siblings);
    g_test_add_func("/trust-cores/siblings-that-do-not-trust-part",
                    test_untrusting_siblings_part);
    g_test_add_func("/trust-cores/foreign-masks-are-avoided",
                    test_foreign_is_avoided);
    g_test_add_func("/trust-cores/foreign-masks-everywhere-are-told",
                    test_foreign_everywhere);
    g_test_add_func("/trust-cores/fast-cores-are-shared-out",
                    test_fast_cores_are_shared_out);
    g_test_add_func("/trust-cores/cores-count-by-capacity",
                    test_cores_count_by_capacity);
    g_test_add_func("/trust-cores/demand-that-wavers-moves-nobody",
                    test_wavering_demand_moves_nobody);
    g_test_add_func("/trust-cores/pairs-part-when-a-core-comes-free",
                    test_pairs_part_when_a_core_comes_free);
    g_test_add_func("/trust-cores/properties", test_properties);
    return g_test_run();
}
