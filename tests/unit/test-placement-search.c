/*
 * Placement against an exhaustive search by the written cost
 *
 * For small cases all ways to cut the guest's LLC groups into runs of
 * neighbours, and to give each run a set of host LLCs, are tried.  Allowed is
 * what docs/devel/placement.rst allows: a run fits its LLCs, and a run of
 * several groups has one LLC unless each of its groups is larger than any.
 * The search shares no code with the plan; it reads the plan's masks.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <string.h>
#include "placement-fixture.h"

#define GROUPS_MAX 4
#define LLCS_MAX 5

#define PARTS 7
static const char *const part_names[PARTS] = {
    "overfull LLCs", "split groups", "folded groups", "LLCs used",
    "crowding of shared LLCs", "node distance", "excess load",
};

typedef struct Cost {
    long part[PARTS];
} Cost;

typedef struct Group {
    long demand, threads;
    bool large;             /* fits no open LLC */
    bool bound;
    HostCpuSet nodes;       /* where it is bound */
} Group;

typedef struct Case {
    Fixture *f;
    int n_groups, n_llcs;
    Group groups[GROUPS_MAX];
    long room[LLCS_MAX], thread_room[LLCS_MAX], others[LLCS_MAX];
    bool open[LLCS_MAX];
    bool equal_llcs, one_binding;
} Case;

static int compare(const Cost *a, const Cost *b)
{
    int i;

    for (i = 0; i < PARTS; i++) {
        if (a->part[i] != b->part[i]) {
            return a->part[i] < b->part[i] ? -1 : 1;
        }
    }
    return 0;
}

static bool same_place(const Group *a, const Group *b)
{
    return a->bound == b->bound && host_cpuset_equal(&a->nodes, &b->nodes);
}

static long node_distance(const Case *c, int a, int b)
{
    return c->f->host->distances[a * c->f->host->n_nodes + b];
}

static int node_of(const Case *c, int llc)
{
    return c->f->host->llcs[llc].node;
}

/* The way from the LLCs of @set to the memory of @g, or to its home @home. */
static long group_distance(const Case *c, const Group *g, unsigned set,
                           int home)
{
    long best = G_MAXLONG, sum;
    int n, l, m;

    if (g->bound) {
        sum = 0;
        for (l = 0; l < c->n_llcs; l++) {
            long nearest = G_MAXLONG;

            for (m = 0; m < c->f->host->n_nodes; m++) {
                if (host_cpuset_has(&g->nodes, m)) {
                    nearest = MIN(nearest, node_distance(c, node_of(c, l), m));
                }
            }
            sum += set >> l & 1 ? 4 * nearest : 0;
        }
        return sum;
    }
    for (n = 0; n < c->f->host->n_nodes; n++) {
        bool has_node = false;

        sum = 0;
        for (l = 0; l < c->n_llcs; l++) {
            if (set >> l & 1) {
                has_node |= node_of(c, l) == n;
                sum += 4 * node_distance(c, node_of(c, l), n);
            }
        }
        if (has_node) {
            best = MIN(best, sum + node_distance(c, n, home));
        }
    }
    return best;
}

/* @set[g]: the LLCs of each group as bits; equal sets are one run. */
static Cost cost_of(const Case *c, const unsigned *set)
{
    Cost cost = { { 0 } };
    long best = G_MAXLONG;
    int g, h, l, home;

    for (g = 0; g < c->n_groups; g++) {
        bool first = true;
        long demand = 0, threads = 0, room = 0, thread_room = 0, limit = 0;
        int groups = 0;

        cost.part[1] += __builtin_popcount(set[g]) > 1;
        cost.part[3] += __builtin_popcount(set[g]);
        for (h = 0; h < c->n_groups; h++) {
            if (set[h] == set[g]) {
                first &= h >= g;
                demand += c->groups[h].demand;
                threads += c->groups[h].threads;
                groups++;
            }
        }
        if (!first) {
            cost.part[2]++;
            continue;
        }
        for (l = 0; l < c->n_llcs; l++) {
            if (set[g] >> l & 1) {
                room += c->room[l];
                thread_room += c->thread_room[l];
                limit += MIN(c->room[l], MAX(1000, c->room[l] * 80 / 100));
            }
        }
        cost.part[0] += MAX(0, demand - room) + MAX(0, threads - thread_room);
        cost.part[4] += groups > 1 ? MAX(0, demand - limit) : 0;
        for (l = 0; l < c->n_llcs; l++) {
            if (set[g] >> l & 1) {
                cost.part[6] += MAX(0, demand * c->room[l] / room +
                                       c->others[l] - c->room[l]);
            }
        }
    }
    for (home = 0; home < c->f->host->n_nodes; home++) {
        long sum = 0;
        bool is_home = false;

        for (l = 0; l < c->n_llcs; l++) {
            is_home |= c->open[l] && node_of(c, l) == home;
        }
        for (g = 0; g < c->n_groups; g++) {
            sum += group_distance(c, &c->groups[g], set[g], home);
        }
        if (is_home) {
            best = MIN(best, sum);
        }
    }
    cost.part[5] = best;
    return cost;
}

/*
 * Groups of one run are neighbours: between them are none but those of the
 * other size, or, if all of the run are bound to one place, to another.
 */
static bool neighbours(const Case *c, const int *run_of, int run)
{
    bool one_size = true, one_place = true;
    int first = -1, last = -1, g;

    for (g = 0; g < c->n_groups; g++) {
        if (run_of[g] == run) {
            first = first < 0 ? g : first;
            last = g;
            one_size &= c->groups[g].large == c->groups[first].large;
            one_place &= same_place(&c->groups[g], &c->groups[first]);
        }
    }
    for (g = first + 1; g < last; g++) {
        bool other_size = c->groups[g].large != c->groups[first].large;
        bool other_place = !same_place(&c->groups[g], &c->groups[first]);

        if (run_of[g] != run && !(one_size && other_size) &&
            !(one_place && other_place)) {
            return false;
        }
    }
    return true;
}

/* Whether the runs may have these LLCs, if they are not too much for them. */
static bool allowed(const Case *c, const unsigned *set, const int *run_of,
                    int n_runs)
{
    int run, g;

    for (run = 1; run <= n_runs; run++) {
        bool all_large = true;
        unsigned llcs = 0;
        int n = 0;

        for (g = 0; g < c->n_groups; g++) {
            if (run_of[g] == run) {
                all_large &= c->groups[g].large;
                llcs = set[g];
                n++;
            }
        }
        if ((n > 1 && !all_large && __builtin_popcount(llcs) > 1) ||
            !neighbours(c, run_of, run)) {
            return false;
        }
    }
    return true;
}

/* Try every owner of every LLC for these runs; keep the best. */
static void search_runs(const Case *c, const int *run_of, int n_runs,
                        Cost *best, bool *found)
{
    int owner[LLCS_MAX] = { 0 };
    int g, l;

    for (;;) {
        unsigned of_run[GROUPS_MAX + 1] = { 0 }, set[GROUPS_MAX];
        bool complete = true, legal = true;

        for (l = 0; l < c->n_llcs; l++) {
            of_run[owner[l]] |= 1u << l;
            legal &= c->open[l] || owner[l] == 0;
        }
        for (g = 0; g < c->n_groups; g++) {
            set[g] = of_run[run_of[g]];
            complete &= set[g] != 0;
        }
        if (complete && legal && allowed(c, set, run_of, n_runs)) {
            Cost cost = cost_of(c, set);

            if (!*found || compare(&cost, best) < 0) {
                *best = cost;
                *found = true;
            }
        }
        for (l = 0; l < c->n_llcs && ++owner[l] > n_runs; l++) {
            owner[l] = 0;
        }
        if (l == c->n_llcs) {
            return;
        }
    }
}

/* All ways to put the groups from @g on into runs, at most one new each. */
static void search_partitions(const Case *c, int *run_of, int g, int n_runs,
                              Cost *best, bool *found)
{
    int run;

    if (g == c->n_groups) {
        search_runs(c, run_of, n_runs, best, found);
        return;
    }
    for (run = 1; run <= n_runs + 1; run++) {
        run_of[g] = run;
        search_partitions(c, run_of, g + 1, MAX(n_runs, run), best, found);
    }
}

static bool search_all(const Case *c, Cost *best)
{
    int run_of[GROUPS_MAX];
    bool found = false;

    search_partitions(c, run_of, 0, 0, best, &found);
    return found;
}

/* ---- random cases ---- */

static GuestTopology *random_guest(GRand *rand, int max_cores)
{
    int n_groups = g_rand_int_range(rand, 1, GROUPS_MAX + 1);
    int threads = g_rand_int_range(rand, 1, 3);
    bool same = g_rand_int_range(rand, 0, 2);
    int cores = g_rand_int_range(rand, 1, max_cores + 1);
    GuestVcpuPlace places[GROUPS_MAX * 32] = { 0 };
    GuestTopology *guest;
    int g, k, t, n = 0;

    for (g = 0; g < n_groups; g++) {
        if (!same) {
            cores = g_rand_int_range(rand, 1, max_cores + 1);
        }
        for (k = 0; k < cores; k++) {
            for (t = 0; t < threads; t++) {
                places[n++] = (GuestVcpuPlace) {
                    .socket = g, .core = k, .thread = t, .node = -1,
                };
            }
        }
    }
    guest = guest_topology_new(places, n, GUEST_CACHE_SOCKET, NULL, 0);
    for (k = 0; k < n; k++) {
        guest->vcpus[k].present = true;
    }
    return guest;
}

/* 1 or 2 nodes, up to 5 LLCs of up to 6 cores, some CPUs not candidates. */
static Fixture *random_fixture(GRand *rand)
{
    int nodes = g_rand_int_range(rand, 1, 3);
    int llcs = nodes == 1 ? g_rand_int_range(rand, 2, 6) :
                            g_rand_int_range(rand, 1, 3);
    int cores = g_rand_int_range(rand, 1, 7);
    int threads = g_rand_int_range(rand, 1, 3);
    HostTopology *host = fake_host_new(1, nodes, llcs, cores, threads, 0);
    Fixture *f = fixture_new_guest(host, random_guest(rand, cores * 3 / 2 + 1));
    int l, g;

    f->in.seed = g_rand_int(rand);
    if (g_rand_int_range(rand, 0, 2)) {
        for (l = 0; l < host->n_llcs; l++) {
            int drop = g_rand_int_range(rand, 0, cores);

            for (g = 0; g < drop * threads; g++) {
                host_cpuset_remove(&f->candidates,
                                   host_cpuset_next(&host->llcs[l].cpus, 0) +
                                   g);
            }
        }
    }
    if (g_rand_int_range(rand, 0, 3) == 0) {
        for (l = 0; l < host->n_llcs; l++) {
            fixture_set_load(f, l, g_rand_int_range(rand, 0, 300), 0);
        }
    }
    if (g_rand_int_range(rand, 0, 3) == 0) {
        fixture_make_nodes(f, 2, g_rand_int_range(rand, 1, 4));
        for (g = 0; g < 2; g++) {
            fixture_bind(f, g, nodes == 1 ? "0" :
                         g_rand_int_range(rand, 0, 2) ? "0" : "1");
        }
    }
    return f;
}

/* What the search needs to know, counted from the input alone. */
static void case_init(Case *c, Fixture *f)
{
    long demand = 0, threads = 0, room = 0, thread_room = 0;
    bool core_seen[GROUPS_MAX * 32] = { false };
    int v, l, g;

    memset(c, 0, sizeof(*c));
    c->f = f;
    c->n_groups = f->guest->n_llcs;
    c->n_llcs = f->host->n_llcs;
    for (v = 0; v < f->guest->n_vcpus; v++) {
        const GuestVcpu *vcpu = &f->guest->vcpus[v];
        Group *group = &c->groups[vcpu->llc];

        group->threads += 1000;
        group->demand += core_seen[vcpu->core] ? 0 : 1000;
        core_seen[vcpu->core] = true;
        if (vcpu->place.node >= 0) {
            group->bound = true;
            group->nodes = f->guest->node_binding[vcpu->place.node];
        }
    }
    for (l = 0; l < c->n_llcs; l++) {
        const HostLlc *llc = &f->host->llcs[l];
        int k;

        c->thread_room[l] = 1000 * host_cpuset_count_and(&f->candidates,
                                                         &llc->cpus);
        for (k = 0; k < f->host->n_cores; k++) {
            c->room[l] += f->host->cores[k].llc == l &&
                host_cpuset_intersects(&f->candidates,
                                       &f->host->cores[k].cpus) ? 1000 : 0;
        }
        c->open[l] = true;
        if (f->load) {
            long util = f->load->llcs[l].others_util;

            c->open[l] = util <= 250;
            c->others[l] = util / 200 * 200 * llc->n_cores;
        }
        room += c->room[l];
        thread_room += c->thread_room[l];
    }
    for (g = 0; g < c->n_groups; g++) {
        demand += c->groups[g].demand;
        threads += c->groups[g].threads;
    }
    for (l = 0; l < c->n_llcs && (demand > room || threads > thread_room);
         l++) {
        bool by_core = demand * thread_room >= threads * room;
        long num = by_core ? demand : threads;
        long den = by_core ? room : thread_room;

        c->room[l] = (c->room[l] * num + den - 1) / den;
        c->thread_room[l] = (c->thread_room[l] * num + den - 1) / den;
    }
    c->equal_llcs = true;
    for (l = 1; l < c->n_llcs; l++) {
        c->equal_llcs &= c->room[l] == c->room[0];
        c->equal_llcs &= c->thread_room[l] == c->thread_room[0];
    }
    for (g = 0; g < c->n_groups; g++) {
        c->groups[g].large = true;
        for (l = 0; l < c->n_llcs; l++) {
            if (c->open[l] && c->groups[g].demand <= c->room[l] &&
                c->groups[g].threads <= c->thread_room[l]) {
                c->groups[g].large = false;
            }
        }
    }
}

/* How a case ended, by what the best assignment is like. */
typedef enum Class {
    CLASS_APART,    /* nothing folded, no group split that fits an LLC */
    CLASS_FOLD,     /* something folded */
    CLASS_SPLIT,    /* a group split that fits an LLC: none is left for it */
    CLASS_OVERFULL, /* some LLC is overfull whatever is done */
    CLASS_MAX,
} Class;

typedef struct Tally {
    unsigned cases[CLASS_MAX], equal[CLASS_MAX], better[CLASS_MAX];
    unsigned worse[CLASS_MAX][PARTS];
    unsigned missed[CLASS_MAX];       /* found nothing where something is */
    unsigned worse_equal_llcs[CLASS_MAX];
    unsigned closed, guarded;         /* not compared */
} Tally;

static Class class_of(const Case *c, const Cost *best)
{
    int g, large = 0;

    if (best->part[0]) {
        return CLASS_OVERFULL;
    }
    for (g = 0; g < c->n_groups; g++) {
        large += c->groups[g].large;
    }
    return best->part[2] ? CLASS_FOLD :
           best->part[1] > large ? CLASS_SPLIT : CLASS_APART;
}

/* The LLC sets of the plan; false if some group went to all candidates. */
static bool read_plan(const Case *c, unsigned *set)
{
    int g, v;

    for (v = 0; v < c->f->guest->n_vcpus; v++) {
        if (c->f->plan->vcpus[v].reason == PLACEMENT_GUARDED) {
            return false;
        }
    }
    for (g = 0; g < c->n_groups; g++) {
        HostCpuSet llcs = fixture_group_llcs(c->f, g);

        set[g] = (unsigned)llcs.words[0];
    }
    return true;
}

/* Whether the plan is one of those that the search goes through. */
static bool plan_is_allowed(const Case *c, const unsigned *set)
{
    int run_of[GROUPS_MAX];
    int g, h, n_runs = 0;

    for (g = 0; g < c->n_groups; g++) {
        run_of[g] = 0;
        for (h = 0; h < g; h++) {
            if (set[h] == set[g]) {
                run_of[g] = run_of[h];
            } else if (set[h] & set[g]) {
                return false;
            }
        }
        if (run_of[g] == 0) {
            run_of[g] = ++n_runs;
        }
    }
    return allowed(c, set, run_of, n_runs);
}

static bool some_closed(const Case *c)
{
    int l;

    for (l = 0; l < c->n_llcs; l++) {
        if (!c->open[l]) {
            return true;
        }
    }
    return false;
}

static char *case_text(const Case *c, const unsigned *set)
{
    GString *text = g_string_new(NULL);
    int i;

    for (i = 0; i < c->n_groups; i++) {
        g_string_append_printf(text, " group %ld/%ld%s%s", c->groups[i].demand,
                               c->groups[i].threads,
                               c->groups[i].large ? " large" : "",
                               c->groups[i].bound ? " bound" : "");
        if (set) {
            g_string_append_printf(text, " on 0x%x", set[i]);
        }
    }
    for (i = 0; i < c->n_llcs; i++) {
        g_string_append_printf(text, " LLC %ld/%ld +%ld node %d%s", c->room[i],
                               c->thread_room[i], c->others[i],
                               node_of(c, i), c->open[i] ? "" : " closed");
    }
    return g_string_free(text, FALSE);
}

static void tally_case(Tally *t, Fixture *f, unsigned seed)
{
    Cost best = { { 0 } }, mine;
    unsigned set[GROUPS_MAX] = { 0 };
    g_autofree char *text = NULL;
    Class class;
    Case c;
    int i;

    case_init(&c, f);
    fixture_plan(f);
    if (!search_all(&c, &best)) {
        t->closed++;
        return;
    }
    class = class_of(&c, &best);
    t->cases[class]++;
    text = read_plan(&c, set) ? case_text(&c, set) : case_text(&c, NULL);
    if (!read_plan(&c, set) || !plan_is_allowed(&c, set)) {
        if (class == CLASS_OVERFULL && some_closed(&c)) {
            t->guarded++;
            t->cases[class]--;
            return;
        }
        g_test_message("seed %u: nothing allowed was found:%s", seed, text);
        t->missed[class]++;
        t->worse_equal_llcs[class] += c.equal_llcs;
        return;
    }
    mine = cost_of(&c, set);
    if (compare(&mine, &best) == 0) {
        t->equal[class]++;
        return;
    }
    g_assert_cmpint(compare(&mine, &best), >, 0);
    for (i = 0; mine.part[i] == best.part[i]; i++) {
        continue;
    }
    g_test_message("seed %u: %s %ld, best %ld (class %d):%s", seed,
                   part_names[i], mine.part[i], best.part[i], class, text);
    t->worse[class][i]++;
    t->worse_equal_llcs[class] += c.equal_llcs;
}

static void print_tally(const Tally *t)
{
    static const char *const class_names[CLASS_MAX] = {
        "apart", "folded", "split though it fits", "overfull",
    };
    int class, i;

    for (class = 0; class < CLASS_MAX; class++) {
        g_test_message("%s: %u cases, %u equal, %u outside the search, "
                       "%u of the worse with equal LLCs", class_names[class],
                       t->cases[class], t->equal[class], t->missed[class],
                       t->worse_equal_llcs[class]);
        for (i = 0; i < PARTS; i++) {
            if (t->worse[class][i]) {
                g_test_message("    worse in %s: %u", part_names[i],
                               t->worse[class][i]);
            }
        }
    }
    g_test_message("not compared: %u all closed, %u guarded", t->closed,
                   t->guarded);
}

/* At most @per_mille of the cases of @class may be worse than the best. */
static void assert_equal_but(const Tally *t, Class class, unsigned per_mille)
{
    unsigned worse = t->cases[class] - t->equal[class];

    g_assert_cmpuint(t->cases[class], >, 0);
    g_assert_cmpuint(worse * 1000, <=, t->cases[class] * per_mille);
}

/*
 * The bounds are stated in docs/devel/placement.rst.  With LLCs of equal room
 * and nothing folded the plan is the best one, always.
 */
static void test_search(void)
{
    unsigned first = 1000, n = g_test_thorough() ? 100000 : 5000, s;
    Tally t = { { 0 } };

    for (s = first; s < first + n; s++) {
        g_autoptr(GRand) rand = g_rand_new_with_seed(s);
        g_autoptr(Fixture) f = random_fixture(rand);

        tally_case(&t, f, s);
    }
    print_tally(&t);
    g_assert_cmpuint(t.worse_equal_llcs[CLASS_APART], ==, 0);
    g_assert_cmpuint(t.worse_equal_llcs[CLASS_SPLIT], ==, 0);
    assert_equal_but(&t, CLASS_APART, 1);
    assert_equal_but(&t, CLASS_SPLIT, 20);
    assert_equal_but(&t, CLASS_FOLD, 10);
    assert_equal_but(&t, CLASS_OVERFULL, 150);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/placement-search/no-worse-than-all-assignments",
                    test_search);
    return g_test_run();
}
