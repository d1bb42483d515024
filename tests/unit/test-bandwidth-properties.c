/*
 * What holds for every tree, every charge and every time of looking
 *
 * Seeds are fixed; one that fails is named, and BANDWIDTH_SEED=N runs it
 * alone.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "bandwidth-reference.h"

#define MS 1000000ll
#define US 1000ll

#define GROUPS_MAX 12
#define SEEDS 300
#define STEPS 400

/* --- random operations, compared with the reference --- */

typedef struct Pair {
    BandwidthGroup *real;
    RefGroup *ref;
    int parent;                 /* index; -1: a root */
} Pair;

typedef struct Random {
    GRand *rand;
    BandwidthTree *tree;
    RefTree *ref;
    Pair pairs[GROUPS_MAX];
    int n;
    int64_t now;
} Random;

static int64_t between(Random *r, int64_t min, int64_t max)
{
    return min + (int64_t)(g_rand_double(r->rand) * (max - min));
}

static BandwidthLimits random_limits(Random *r)
{
    static const int64_t periods[] = { 1 * MS, 10 * MS, 10 * MS, 100 * MS };
    BandwidthLimits limits = {
        .period_ns = periods[g_rand_int_range(r->rand, 0, 4)],
    };

    switch (g_rand_int_range(r->rand, 0, 8)) {
    case 0:
        break;
    case 1:
        limits.quota_ns = BANDWIDTH_QUOTA_NS_MIN;
        break;
    case 2:
        limits.quota_ns = BANDWIDTH_QUOTA_NS_MAX;
        break;
    default:
        limits.quota_ns = between(r, BANDWIDTH_QUOTA_NS_MIN,
                                  limits.period_ns * 2);
    }
    if (g_rand_boolean(r->rand)) {
        limits.burst_ns = g_rand_int_range(r->rand, 0, 101) * limits.quota_ns /
                          (g_rand_boolean(r->rand) ? 1 : 20);
    }
    g_assert_true(bandwidth_limits_valid(&limits));
    return limits;
}

static Pair *pick(Random *r)
{
    return &r->pairs[g_rand_int_range(r->rand, 0, r->n)];
}

static void add_group(Random *r)
{
    int parent = g_rand_int_range(r->rand, -1, r->n);
    BandwidthLimits limits = random_limits(r);
    Pair *up = parent < 0 ? NULL : &r->pairs[parent];
    Pair *p = &r->pairs[r->n];

    if (r->n == GROUPS_MAX) {
        return;
    }
    p->parent = parent;
    p->real = bandwidth_group_add(r->tree, up ? up->real : NULL, &limits,
                                  r->now, NULL);
    p->ref = ref_add(r->ref, up ? up->ref : NULL, p->real, &limits, r->now);
    r->n++;
}

/* The last one, whatever it owes, if nothing hangs below it. */
static void remove_group(Random *r)
{
    Pair *p = &r->pairs[r->n - 1];

    if (r->n == 1) {
        return;
    }
    ref_remove(r->ref, p->ref, r->now);
    bandwidth_group_remove(p->real, r->now);
    r->n--;
}

static void set_limits(Random *r)
{
    Pair *p = pick(r);
    BandwidthLimits limits = random_limits(r);

    ref_set_limits(r->ref, p->ref, &limits, r->now);
    bandwidth_group_set_limits(p->real, &limits, r->now);
}

static void set_vcpus(Random *r)
{
    Pair *p = pick(r);
    unsigned n = g_rand_int_range(r->rand, 0, 5);

    ref_set_vcpus(r->ref, p->ref, n, r->now);
    bandwidth_group_set_vcpus(p->real, n, r->now);
}

/* Like vCPUs that run all the time, or like a clock gone mad. */
static void charge(Random *r, int64_t elapsed)
{
    for (int i = 0; i < 3; i++) {
        Pair *p = pick(r);
        uint64_t ns = between(r, 0, 2 * elapsed);

        if (!g_rand_int_range(r->rand, 0, 200)) {
            ns = UINT64_MAX >> g_rand_int_range(r->rand, 0, 30);
        }
        ref_charge(p->ref, ns);
        bandwidth_charge(p->real, ns);
    }
}

static int64_t random_wait(Random *r)
{
    int64_t due = bandwidth_next_look(r->tree, r->now);

    switch (g_rand_int_range(r->rand, 0, 8)) {
    case 0:
        return 0;
    case 1:
        return between(r, 0, 300 * MS);
    case 2:
        return 10 * MS;
    case 3:
        return between(r, 0, MS);
    default:
        if (due > r->now + 200 * MS) {
            return MS;
        }
        return due - r->now + between(r, 0, 300 * US);
    }
}

static void look(Random *r)
{
    int64_t elapsed = random_wait(r);
    bool gated[GROUPS_MAX], changed = false, told;

    for (int i = 0; i < r->n; i++) {
        gated[i] = bandwidth_group_gated(r->pairs[i].real);
    }
    charge(r, elapsed);
    r->now += elapsed;
    ref_take_predictions(r->ref, r->now);
    told = bandwidth_advance(r->tree, r->now);
    ref_advance(r->ref, r->now);
    for (int i = 0; i < r->n; i++) {
        changed |= gated[i] != bandwidth_group_gated(r->pairs[i].real);
    }
    /* Other calls may have changed gates since the last look, too. */
    g_assert_true(told || !changed);
    g_assert_false(bandwidth_advance(r->tree, r->now));
    ref_advance(r->ref, r->now);
}

static void change(Random *r)
{
    ref_take_predictions(r->ref, r->now);
    switch (g_rand_int_range(r->rand, 0, 12)) {
    case 0:
    case 1:
        add_group(r);
        break;
    case 2:
        remove_group(r);
        break;
    case 3:
    case 4:
        set_limits(r);
        break;
    case 5:
    case 6:
        set_vcpus(r);
        break;
    case 7:
        ref_pause(r->ref, r->now);
        bandwidth_pause(r->tree, r->now);
        g_assert_cmpint(bandwidth_next_look(r->tree, r->now), ==, INT64_MAX);
        break;
    default:
        ref_resume(r->ref, r->now);
        bandwidth_resume(r->tree, r->now);
        break;
    }
}

static void compare_with_reference(guint32 seed)
{
    Random r = { .rand = g_rand_new_with_seed(seed),
                 .tree = bandwidth_tree_new(), .ref = ref_tree_new() };

    r.now = between(&r, 0, 1000 * MS);
    add_group(&r);
    for (int i = 0; i < STEPS; i++) {
        if (g_rand_int_range(r.rand, 0, 4)) {
            look(&r);
        } else {
            change(&r);
        }
        ref_assert_equal(r.ref, r.now);
    }
    ref_tree_free(r.ref);
    bandwidth_tree_free(r.tree);
    g_rand_free(r.rand);
}

static void for_each_seed(void (*run)(guint32 seed))
{
    const char *one = g_getenv("BANDWIDTH_SEED");
    guint32 first = one ? g_ascii_strtoull(one, NULL, 10) : 0;

    for (guint32 seed = first; seed < (one ? first + 1 : SEEDS); seed++) {
        /* An assertion that fails shows the last message. */
        g_test_message("BANDWIDTH_SEED=%u", seed);
        run(seed);
    }
}

static void test_every_step_is_as_the_reference_says(void)
{
    for_each_seed(compare_with_reference);
}

/* --- guests that respect their gates, looks that are late --- */

#define CHAIN_MAX 4
#define LEAVES 3
#define LEVEL_MAX (CHAIN_MAX + LEAVES)

/* A chain of groups, and leaves with vCPUs at its end. */
typedef struct World {
    GRand *rand;
    BandwidthTree *tree;
    BandwidthGroup *groups[LEVEL_MAX];
    BandwidthLimits limits[LEVEL_MAX];
    int n_chain, n;
    unsigned vcpus[LEAVES];
    double busy[LEAVES];        /* part of the time that its vCPUs run */
    bool stopped[LEAVES];       /* its vCPUs are out of the guest */
    int64_t late_max;
    int64_t now;
} World;

static int64_t world_between(World *w, int64_t min, int64_t max)
{
    return min + (int64_t)(g_rand_double(w->rand) * (max - min));
}

static BandwidthLimits world_limits(World *w, int64_t vcpus)
{
    BandwidthLimits limits = { .period_ns = 10 * MS };

    limits.quota_ns = world_between(w, MS, vcpus * 9 * MS);
    limits.burst_ns = g_rand_boolean(w->rand) ? limits.quota_ns * 3 : 0;
    return limits;
}

static void world_init(World *w, guint32 seed)
{
    BandwidthGroup *parent = NULL;

    *w = (World) { .rand = g_rand_new_with_seed(seed),
                   .tree = bandwidth_tree_new() };
    w->n_chain = g_rand_int_range(w->rand, 0, CHAIN_MAX + 1);
    w->n = w->n_chain + LEAVES;
    for (int i = 0; i < w->n; i++) {
        w->limits[i] = world_limits(w, i < w->n_chain ? 4 : 2);
        w->groups[i] = bandwidth_group_add(w->tree, parent, &w->limits[i], 0,
                                           NULL);
        parent = i < w->n_chain ? w->groups[i] : parent;
    }
    for (int i = 0; i < LEAVES; i++) {
        w->vcpus[i] = g_rand_int_range(w->rand, 1, 5);
        w->busy[i] = g_rand_boolean(w->rand) ? 1 : g_rand_double(w->rand);
        bandwidth_group_set_vcpus(w->groups[w->n_chain + i], w->vcpus[i], 0);
    }
    w->late_max = g_rand_boolean(w->rand) ? 300 * US : 3 * MS;
}

static void world_clear(World *w)
{
    bandwidth_tree_free(w->tree);
    g_rand_free(w->rand);
}

/* What ran up to the next look: a gated leaf only until its vCPUs stopped. */
static void world_look(World *w)
{
    int64_t due = bandwidth_next_look(w->tree, w->now);
    int64_t late = world_between(w, 0, w->late_max);
    int64_t elapsed = MIN(due, w->now + 50 * MS) - w->now + late;

    for (int i = 0; i < LEAVES; i++) {
        BandwidthGroup *leaf = w->groups[w->n_chain + i];
        bool gated = bandwidth_group_gated(leaf);
        int64_t ran = elapsed;

        if (gated) {
            ran = w->stopped[i] ? 0 : world_between(w, 0, 200 * US);
        }
        w->stopped[i] = gated;
        for (unsigned v = 0; v < w->vcpus[i]; v++) {
            bandwidth_charge(leaf, MIN(ran, elapsed) * w->busy[i]);
        }
    }
    w->now += elapsed;
    bandwidth_advance(w->tree, w->now);
}

static BandwidthStats stats_of(World *w, int i)
{
    BandwidthStats s;

    bandwidth_group_stats(w->groups[i], w->now, &s);
    return s;
}

typedef struct Window {
    int64_t since;
    uint64_t used, remaining;   /* when it began */
    uint64_t margin;            /* the largest one so far */
} Window;

/* The quotas of the periods that began since, what was there, what is owed. */
static void window_check(World *w, int i, Window *window)
{
    BandwidthStats s = stats_of(w, i);
    const BandwidthLimits *limits = &w->limits[i];
    uint64_t n = w->now / limits->period_ns -
                 window->since / limits->period_ns;

    window->margin = MAX(window->margin, s.margin_ns);
    g_assert_cmpuint(s.forgiven_ns, ==, 0);
    if (!s.periods) {
        return;     /* its vCPUs cannot use so much */
    }
    g_assert_cmpuint(s.used_ns - window->used, <=,
                     window->remaining + limits->quota_ns * n + s.debt_ns);
    g_assert_cmpuint(s.remaining_ns, <=, limits->quota_ns * 3 / 2 +
                     limits->burst_ns + window->margin);
}

static void use_is_bounded(guint32 seed)
{
    Window windows[LEVEL_MAX] = { { 0 } };
    World w;

    world_init(&w, seed);
    for (int k = 0; k < 1000; k++) {
        if (k % 50 == 0) {
            for (int i = 0; i < w.n; i++) {
                windows[i].since = w.now;
                windows[i].used = stats_of(&w, i).used_ns;
                windows[i].remaining = stats_of(&w, i).remaining_ns;
            }
        }
        world_look(&w);
        for (int i = 0; i < w.n; i++) {
            window_check(&w, i, &windows[i]);
        }
    }
    world_clear(&w);
}

static void test_long_run_use_is_within_quota_and_burst(void)
{
    for_each_seed(use_is_bounded);
}

/* With one leaf that never halts and room above it. */
static void no_group_starves(guint32 seed)
{
    BandwidthStats s;
    uint64_t periods, quota;
    World w;

    world_init(&w, seed);
    for (int i = 0; i < w.n_chain; i++) {
        BandwidthLimits none = { .period_ns = 10 * MS };

        bandwidth_group_set_limits(w.groups[i], &none, 0);
    }
    for (int i = 0; i < LEAVES; i++) {
        w.busy[i] = 1;
    }
    while (w.now < 2000 * MS) {
        world_look(&w);
    }
    for (int i = w.n_chain; i < w.n; i++) {
        s = stats_of(&w, i);
        quota = MIN(w.limits[i].quota_ns,
                    w.vcpus[i - w.n_chain] * w.limits[i].period_ns);
        periods = w.now / w.limits[i].period_ns;
        g_assert_cmpuint(s.used_ns + s.margin_ns + 2 * quota, >=,
                         quota * periods);
    }
    world_clear(&w);
}

static void test_no_group_starves_below_its_quota(void)
{
    for_each_seed(no_group_starves);
}

/*
 * A refill lets a group go, with at least half a quota: unless one release
 * uses more than the quota, which is what "need" says.  Then an eighth of each
 * is saved at least, until there is as much.
 */
static void refill_check(World *w, int i, uint64_t need_before)
{
    const BandwidthLimits *limits = &w->limits[i];
    BandwidthStats s = stats_of(w, i);

    if (!s.periods) {
        return;
    }
    g_assert_cmpuint(s.remaining_ns, >=,
                     limits->quota_ns / (need_before ? 8 : 2));
    if (bandwidth_group_gated_by(w->groups[i]) == w->groups[i]) {
        g_assert_cmpuint(need_before, >, limits->quota_ns / 2);
        g_assert_cmpuint(s.remaining_ns, <, need_before);
    }
}

static void no_period_is_dark(guint32 seed)
{
    uint64_t need[LEVEL_MAX];
    World w;

    world_init(&w, seed);
    while (w.now < 1000 * MS) {
        int64_t before = w.now;

        for (int i = 0; i < w.n; i++) {
            need[i] = stats_of(&w, i).need_ns;
        }
        world_look(&w);
        for (int i = 0; i < w.n; i++) {
            int64_t period = w.limits[i].period_ns;

            if (before / period != w.now / period) {
                refill_check(&w, i, need[i]);
            }
        }
    }
    world_clear(&w);
}

static void test_no_period_is_dark_from_debt_alone(void)
{
    for_each_seed(no_period_is_dark);
}

static void counters_add_up(guint32 seed)
{
    World w;

    world_init(&w, seed);
    while (w.now < 1000 * MS) {
        uint64_t leaves = 0;

        world_look(&w);
        for (int i = w.n; i-- > 0;) {
            BandwidthStats s = stats_of(&w, i);

            if (i >= w.n_chain) {
                leaves += s.used_ns;
            } else {
                g_assert_cmpuint(s.used_ns, ==, leaves);
            }
            g_assert_cmpuint(s.throttled_periods, <=, s.periods);
            g_assert_cmpuint(s.periods, <=, w.now / w.limits[i].period_ns);
            g_assert_cmpuint(s.bursts, <=, s.periods);
            g_assert_cmpuint(s.burst_ns, <=,
                             s.bursts * w.limits[i].burst_ns);
            g_assert_cmpuint(s.consecutive_throttled, <=,
                             s.consecutive_throttled_max);
            g_assert_cmpuint(s.consecutive_throttled_max, <=,
                             s.throttled_periods);
            g_assert_cmpuint(s.throttled_ns, <=, s.gated_ns);
            g_assert_cmpuint(s.longest_stall_ns, <=, s.gated_ns);
            g_assert_cmpuint(s.gated_ns, <=, w.now);
        }
    }
    world_clear(&w);
}

static void test_counters_add_up(void)
{
    for_each_seed(counters_add_up);
}

/* A leaf runs only if no group on its path is dry, and then it does. */
static void gates_follow_the_path(guint32 seed)
{
    World w;

    world_init(&w, seed);
    while (w.now < 500 * MS) {
        const BandwidthGroup *above = NULL;

        world_look(&w);
        for (int i = 0; i < w.n; i++) {
            const BandwidthGroup *by = bandwidth_group_gated_by(w.groups[i]);

            g_assert_true(by == w.groups[i] || by == above);
            above = i < w.n_chain ? by : above;
        }
    }
    world_clear(&w);
}

static void test_gates_follow_the_path(void)
{
    for_each_seed(gates_follow_the_path);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
#define ADD(name, f) g_test_add_func("/bandwidth-properties/" name, f)
    ADD("every-step-is-as-the-reference-says",
        test_every_step_is_as_the_reference_says);
    ADD("long-run-use-is-within-quota-and-burst",
        test_long_run_use_is_within_quota_and_burst);
    ADD("no-group-starves-below-its-quota",
        test_no_group_starves_below_its_quota);
    ADD("no-period-is-dark-from-debt-alone",
        test_no_period_is_dark_from_debt_alone);
    ADD("counters-add-up", test_counters_add_up);
    ADD("gates-follow-the-path", test_gates_follow_the_path);
#undef ADD
    return g_test_run();
}
