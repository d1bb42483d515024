/*
 * Balance: every rule, one by one
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <string.h>
#include "hw/sched/balance.h"
#include "placement-fixture.h"

#define LOOK_NS 1000000000ll
#define SECONDS(n) ((n) * LOOK_NS)

/* A VM on a host, and what is measured at the next looks. */
typedef struct Bench {
    Fixture *f;
    Balance *balance;
    LoadHistory *history;
    HostLoad *load;
    ThreadTimes *times;
    unsigned run, wait;      /* of each vCPU, per mille */
    bool missing;            /* no load of others at this look */
    int64_t now_ns;
    Plan *plan;
} Bench;

static Bench *bench_new(int n_llcs, int cores, const char *smp)
{
    Bench *b = g_new0(Bench, 1);
    int v;

    b->f = fixture_new(fake_host_new(1, 1, n_llcs, cores, 1, 0), smp,
                       GUEST_CACHE_SOCKET);
    b->balance = balance_new(1, LOOK_NS);
    b->history = load_history_new(b->f->guest->n_vcpus, n_llcs, LOOK_NS);
    b->load = host_load_new_idle(b->f->host);
    b->load->source = HOST_LOAD_SCHEDSTAT;
    b->load->window_ns = LOOK_NS;
    b->times = g_new0(ThreadTimes, b->f->guest->n_vcpus);
    for (v = 0; v < b->f->guest->n_vcpus; v++) {
        b->times[v].waits_known = true;
    }
    b->run = 1000;
    b->now_ns = SECONDS(1000);
    return b;
}

static void bench_free(Bench *b)
{
    placement_plan_free(b->plan);
    host_load_free(b->load);
    load_history_free(b->history);
    balance_free(b->balance);
    g_free(b->times);
    fixture_free(b->f);
    g_free(b);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Bench, bench_free)

/* Start on LLC @llc; -1: everywhere. */
static void bench_start(Bench *b, int llc)
{
    g_autofree bool *closed = g_new0(bool, b->f->host->n_llcs);
    PlacementInput in = b->f->in;
    int l;

    for (l = 0; l < b->f->host->n_llcs; l++) {
        closed[l] = l != llc;
    }
    in.closed = closed;
    placement_plan_free(b->plan);
    b->plan = placement_plan(&in);
    balance_configure(b->balance, &b->f->in);
    balance_took(b->balance, b->plan, b->now_ns);
}

static void bench_set_others(Bench *b, int llc, unsigned per_mille)
{
    b->load->llcs[llc] = (LlcLoad) {
        .others_util = MIN(per_mille, 1000), .others_tasks = per_mille,
    };
}

static void all_others(Bench *b, unsigned per_mille)
{
    int l;

    for (l = 0; l < b->f->host->n_llcs; l++) {
        bench_set_others(b, l, per_mille);
    }
}

static void bench_measure(Bench *b)
{
    int v;

    b->now_ns += LOOK_NS;
    b->load->source = b->missing ? HOST_LOAD_NONE : HOST_LOAD_SCHEDSTAT;
    load_history_llcs(b->history, b->now_ns, b->load);
    for (v = 0; v < b->f->guest->n_vcpus; v++) {
        b->times[v].run_ns += b->run * LOOK_NS / 1000;
        b->times[v].wait_ns += b->wait * LOOK_NS / 1000;
        load_history_vcpu(b->history, v, b->now_ns, 1 + v, &b->times[v]);
    }
}

/* One look; true if the VM moved. */
static bool bench_look(Bench *b)
{
    g_autofree unsigned *demand = g_new(unsigned, b->f->guest->n_vcpus);
    PlacementInput in = b->f->in;
    g_autoptr(Plan) plan = NULL;

    bench_measure(b);
    if (balance_look(b->balance, b->history, b->now_ns) != BALANCE_PLAN) {
        return false;
    }
    load_history_demand(b->history, demand);
    in.demand = demand;
    in.load = balance_load(b->balance);
    in.closed = balance_closed(b->balance);
    in.previous = b->plan;
    plan = placement_plan(&in);
    if (balance_judge(b->balance, plan, b->now_ns) != BALANCE_MOVE) {
        return false;
    }
    placement_plan_free(b->plan);
    b->plan = g_steal_pointer(&plan);
    return true;
}

/* Looks until the VM moves; how many, or -1 if it does not within @max. */
static int bench_until_move(Bench *b, int max)
{
    int i;

    for (i = 1; i <= max; i++) {
        if (bench_look(b)) {
            return i;
        }
    }
    return -1;
}

static const BalanceStats *stats(const Bench *b)
{
    return balance_stats(b->balance);
}

static void test_nothing_without_a_plan(void)
{
    g_autoptr(Bench) b = bench_new(2, 4, "4");

    g_assert_false(bench_look(b));
    g_assert_cmpuint(stats(b)->kept[BALANCE_NO_PLAN], ==, 1);
}

static void test_unknown_load_moves_nothing(void)
{
    g_autoptr(Bench) b = bench_new(2, 4, "4");

    b->missing = true;
    bench_start(b, 0);
    g_assert_cmpint(bench_until_move(b, 20), ==, -1);
    g_assert_cmpuint(stats(b)->kept[BALANCE_UNKNOWN], ==, 20);
}

static void test_nothing_to_gain_asks_for_no_plan(void)
{
    g_autoptr(Bench) b = bench_new(2, 4, "4");

    bench_start(b, 0);
    g_assert_cmpint(bench_until_move(b, 300), ==, -1);
    g_assert_cmpuint(stats(b)->looks, ==, 300);
    g_assert_cmpuint(stats(b)->plans, <=, 11);
    g_assert_cmpuint(stats(b)->kept[BALANCE_SETTLED], >=, 285);
}

static void test_below_25_percent_nothing_moves(void)
{
    g_autoptr(Bench) b = bench_new(2, 4, "4");

    b->run = 50;
    bench_start(b, 0);
    bench_set_others(b, 0, 190);
    g_assert_cmpint(bench_until_move(b, 60), ==, -1);
    g_assert_cmpuint(stats(b)->kept[BALANCE_IDLE], >, 0);
    g_assert_cmpuint(stats(b)->plans, ==, 0);
}

static void test_a_crowded_llc_is_left_within_seconds(void)
{
    g_autoptr(Bench) b = bench_new(2, 4, "4");

    bench_start(b, 0);
    g_assert_cmpint(bench_until_move(b, 30), ==, -1);
    bench_set_others(b, 0, 1000);
    g_assert_cmpint(bench_until_move(b, 10), >, 1); /* a spike of a look */
    g_assert_cmpint(b->plan->vcpus[0].host_llc, ==, 1);
    g_assert_cmpuint(stats(b)->moves[BALANCE_MOVE_ESCAPE], ==, 1);
}

static void test_where_all_is_crowded_everywhere_is_best(void)
{
    g_autoptr(Bench) b = bench_new(3, 4, "4");
    int l;

    bench_start(b, 0);
    bench_until_move(b, 10);
    for (l = 0; l < 3; l++) {
        bench_set_others(b, l, 600);
    }
    g_assert_cmpint(bench_until_move(b, 10), >, 0);
    g_assert_cmpint(b->plan->vcpus[0].reason, ==, PLACEMENT_GUARDED);
    for (l = 0; l < 3; l++) {
        bench_set_others(b, l, 0);
    }
    g_assert_cmpint(bench_until_move(b, 300), >, 30); /* the slow average */
    g_assert_cmpuint(stats(b)->moves[BALANCE_MOVE_GATHER], ==, 1);
    g_assert_cmpint(b->plan->vcpus[0].n_llcs, ==, 1);
}

static void test_guard_leaves_lower_than_it_enters(void)
{
    g_autoptr(Bench) b = bench_new(2, 4, "4");
    const BalanceGuard *guard = balance_guards(b->balance);
    int i;

    bench_start(b, 0);
    guard = balance_guards(b->balance);
    bench_set_others(b, 1, 240);
    bench_until_move(b, 30);
    g_assert_cmpint(guard[1].cause, ==, BALANCE_CAUSE_NONE);
    bench_set_others(b, 1, 270);
    bench_until_move(b, 30);
    g_assert_cmpint(guard[1].cause, ==, BALANCE_CAUSE_UTIL);
    bench_set_others(b, 1, 200);
    bench_until_move(b, 600);
    g_assert_cmpint(guard[1].cause, ==, BALANCE_CAUSE_UTIL);
    bench_set_others(b, 1, 170);
    for (i = 0; i < 600 && !guard[1].changed; i++) {
        bench_look(b);
    }
    g_assert_cmpint(guard[1].cause, ==, BALANCE_CAUSE_NONE);
    g_assert_cmpuint(stats(b)->guard_closed, ==, 1);
    g_assert_cmpuint(stats(b)->guard_opened, ==, 1);
}

static void test_tasks_close_as_well(void)
{
    g_autoptr(Bench) b = bench_new(2, 4, "4");

    bench_start(b, 0);
    b->load->llcs[1] = (LlcLoad) { .others_util = 100, .others_tasks = 400 };
    bench_until_move(b, 10);
    g_assert_cmpint(balance_guards(b->balance)[1].cause, ==,
                    BALANCE_CAUSE_TASKS);
}

static void test_a_switch_needs_20_percent(void)
{
    g_autoptr(Bench) b = bench_new(2, 4, "4");

    b->f->in.guard_util = b->f->in.guard_tasks = 100;
    b->run = 600;
    b->wait = 270;
    bench_start(b, 0);
    bench_set_others(b, 0, 700);
    bench_set_others(b, 1, 450); /* 870 + 450 is 84 % of 870 + 700 */
    bench_look(b);
    bench_look(b);
    balance_took(b->balance, b->plan, b->now_ns - SECONDS(60));
    g_assert_false(bench_look(b));
    g_assert_cmpint(stats(b)->reason, ==, BALANCE_GAIN);
    bench_set_others(b, 1, 100);
    g_assert_cmpint(bench_until_move(b, 60), >, 0);
    g_assert_cmpint(b->plan->vcpus[0].host_llc, ==, 1);
}

static void test_equal_llcs_with_room_are_not_switched(void)
{
    g_autoptr(Bench) b = bench_new(2, 4, "4");

    b->f->in.guard_util = b->f->in.guard_tasks = 100;
    b->run = 300;
    bench_start(b, 0);
    bench_set_others(b, 0, 650); /* 950 of 1000: full, but nobody waits */
    g_assert_cmpint(bench_until_move(b, 60), ==, -1);
    g_assert_cmpuint(stats(b)->kept[BALANCE_EQUAL], >, 0);
}

static void test_lost_time_moves_below_the_guard(void)
{
    g_autoptr(Bench) b = bench_new(2, 4, "4");
    int looks;

    b->run = 830;
    b->wait = 170;
    bench_start(b, 0);
    bench_set_others(b, 0, 200);
    looks = bench_until_move(b, 60);
    g_assert_cmpint(looks, >, 5);
    g_assert_cmpint(looks, <, 20);
    g_assert_cmpint(b->plan->vcpus[0].host_llc, ==, 1);
}

static void test_a_guard_at_100_percent_never_closes(void)
{
    g_autoptr(Bench) b = bench_new(2, 4, "4");

    b->run = b->wait = 500;
    bench_start(b, 0);
    bench_set_others(b, 0, 1000);
    bench_until_move(b, 10);
    g_assert_cmpint(balance_guards(b->balance)[0].cause, !=,
                    BALANCE_CAUSE_NONE);
    b->f->in.guard_util = b->f->in.guard_tasks = 100;
    bench_start(b, 0);
    balance_watch(b->balance, b->history, b->now_ns);
    g_assert_cmpint(balance_guards(b->balance)[0].cause, ==,
                    BALANCE_CAUSE_NONE);
    all_others(b, 1000);
    g_assert_cmpint(bench_until_move(b, 60), ==, -1);
    g_assert_cmpint(balance_guards(b->balance)[0].cause, ==,
                    BALANCE_CAUSE_NONE);
}

static void test_new_thresholds_know_no_hysteresis(void)
{
    g_autoptr(Bench) b = bench_new(2, 4, "4");

    bench_start(b, 0);
    bench_set_others(b, 1, 300);
    bench_until_move(b, 5);
    g_assert_true(balance_closed(b->balance)[1]);
    b->f->in.guard_util = b->f->in.guard_tasks = 31;
    bench_start(b, 0);
    balance_watch(b->balance, b->history, b->now_ns);
    g_assert_false(balance_closed(b->balance)[1]);
}

/* A plan that is told starts from what the guard has seen by then. */
static void test_a_watch_closes_before_the_first_plan(void)
{
    g_autoptr(Bench) b = bench_new(2, 4, "4");

    balance_configure(b->balance, &b->f->in);
    bench_set_others(b, 1, 500);
    bench_measure(b);
    balance_watch(b->balance, b->history, b->now_ns);
    g_assert_false(balance_closed(b->balance)[0]);
    g_assert_true(balance_closed(b->balance)[1]);
    g_assert_true(balance_guards(b->balance)[1].changed);
    g_assert_cmpuint(stats(b)->looks, ==, 0);
    bench_start(b, 0);
    g_assert_true(balance_closed(b->balance)[1]);
}

static void test_told_moves_are_counted(void)
{
    g_autoptr(Bench) b = bench_new(2, 4, "4");

    bench_start(b, 0);
    bench_start(b, 0);
    g_assert_cmpuint(stats(b)->moves[BALANCE_MOVE_TOLD], ==, 0);
    bench_start(b, 1);
    g_assert_cmpuint(stats(b)->moves[BALANCE_MOVE_TOLD], ==, 1);
    g_assert_cmpuint(stats(b)->moves_last_hour, ==, 0);
}

static void test_a_little_lost_time_is_borne(void)
{
    g_autoptr(Bench) b = bench_new(2, 4, "4");

    b->run = 986;
    b->wait = 14;
    bench_start(b, 0);
    bench_set_others(b, 0, 10);
    g_assert_cmpint(bench_until_move(b, 3600), ==, -1);
}

static void test_a_move_cools_down(void)
{
    g_autoptr(Bench) b = bench_new(3, 4, "4");

    bench_start(b, 0);
    bench_set_others(b, 0, 1000);
    g_assert_cmpint(bench_until_move(b, 20), >, 0);
    bench_set_others(b, b->plan->vcpus[0].host_llc, 1000);
    g_assert_cmpint(bench_until_move(b, 20), >=, BALANCE_COOLDOWN_LOOKS);
    g_assert_cmpuint(stats(b)->kept[BALANCE_COOLDOWN], >, 0);
}

static void test_an_undone_move_doubles_the_cool_down(void)
{
    g_autoptr(Bench) b = bench_new(2, 4, "4");
    int64_t first;

    bench_start(b, 0);
    first = stats(b)->cooldown_ns;
    all_others(b, 600);
    g_assert_cmpint(bench_until_move(b, 20), >, 0);
    g_assert_cmpint(stats(b)->cooldown_ns, ==, first);
    all_others(b, 0);
    g_assert_cmpint(bench_until_move(b, 300), >, 0);
    g_assert_cmpuint(stats(b)->undone, ==, 1);
    g_assert_cmpint(stats(b)->cooldown_ns, ==, 2 * first);
}

static void test_six_moves_an_hour_and_the_last_is_to_safety(void)
{
    g_autoptr(Bench) b = bench_new(2, 4, "4");
    unsigned moves = 0;
    int i;

    bench_start(b, 0);
    for (i = 0; i < 3600; i++) {
        /* crowded wherever the VM is on one LLC, and free otherwise */
        all_others(b, b->plan->vcpus[0].n_llcs == 1 ? 600 : 0);
        moves += bench_look(b);
        g_assert_cmpuint(stats(b)->moves_last_hour, <=,
                         BALANCE_MOVES_PER_HOUR);
    }
    g_assert_cmpuint(moves, <=, BALANCE_MOVES_PER_HOUR);
    g_assert_cmpuint(moves, >=, 4);
    g_assert_cmpint(b->plan->vcpus[0].n_llcs, ==, 2);
    g_assert_cmpuint(stats(b)->kept[BALANCE_RATE], >, 0);
}

static void test_a_plan_told_is_no_move_of_ours(void)
{
    g_autoptr(Bench) b = bench_new(2, 4, "4");

    bench_start(b, 0);
    bench_look(b);
    bench_start(b, 1);
    g_assert_cmpuint(stats(b)->moves_last_hour, ==, 0);
    g_assert_cmpuint(stats(b)->undone, ==, 0);
}

static void test_masks_outside_of_the_plan_are_misaligned(void)
{
    g_autoptr(Bench) b = bench_new(2, 4, "4");
    HostCpuSet mask;

    bench_start(b, 0);
    g_assert_true(host_cpuset_parse_list("0-7", &mask));
    balance_note_mask(b->balance, b->plan, 0, &mask, 1000);
    g_assert_cmpuint(stats(b)->misaligned_ns, ==, 500);
    balance_note_mask(b->balance, b->plan, 0, &b->plan->vcpus[0].mask, 1000);
    g_assert_cmpuint(stats(b)->misaligned_ns, ==, 500);
}

static void test_every_look_that_keeps_has_one_reason(void)
{
    g_autoptr(Bench) b = bench_new(4, 4, "4,sockets=2");
    g_autoptr(GRand) rand = g_rand_new_with_seed(3);
    uint64_t kept = 0, moves = 0;
    int i;

    bench_start(b, 0);
    for (i = 0; i < 2000; i++) {
        bench_set_others(b, g_rand_int_range(rand, 0, 4),
                         g_rand_int_range(rand, 0, 1500));
        b->missing = !g_rand_int_range(rand, 0, 10);
        moves += bench_look(b);
    }
    for (i = 0; i < BALANCE_REASON_MAX; i++) {
        kept += stats(b)->kept[i];
    }
    g_assert_cmpuint(kept + moves, ==, stats(b)->looks);
}

static void test_names_are_distinct(void)
{
    g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
    int i;

    for (i = 0; i < BALANCE_REASON_MAX; i++) {
        g_assert_true(g_hash_table_add(seen,
                                  (gpointer)balance_reason_name(i)));
    }
    for (i = 0; i < BALANCE_MOVE_MAX; i++) {
        g_assert_nonnull(balance_move_name(i));
    }
    for (i = 0; i < BALANCE_CAUSE_MAX; i++) {
        g_assert_nonnull(balance_cause_name(i));
    }
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } tests[] = {
        { "nothing-without-a-plan", test_nothing_without_a_plan },
        { "unknown-load-moves-nothing", test_unknown_load_moves_nothing },
        { "nothing-to-gain-asks-for-no-plan",
          test_nothing_to_gain_asks_for_no_plan },
        { "below-25-percent-nothing-moves",
          test_below_25_percent_nothing_moves },
        { "crowded-llc-is-left-within-seconds",
          test_a_crowded_llc_is_left_within_seconds },
        { "where-all-is-crowded-everywhere-is-best",
          test_where_all_is_crowded_everywhere_is_best },
        { "guard-leaves-lower-than-it-enters",
          test_guard_leaves_lower_than_it_enters },
        { "tasks-close-as-well", test_tasks_close_as_well },
        { "switch-needs-20-percent", test_a_switch_needs_20_percent },
        { "equal-llcs-with-room-are-not-switched",
          test_equal_llcs_with_room_are_not_switched },
        { "lost-time-moves-below-the-guard",
          test_lost_time_moves_below_the_guard },
        { "guard-at-100-percent-never-closes",
          test_a_guard_at_100_percent_never_closes },
        { "new-thresholds-know-no-hysteresis",
          test_new_thresholds_know_no_hysteresis },
        { "watch-closes-before-the-first-plan",
          test_a_watch_closes_before_the_first_plan },
        { "told-moves-are-counted", test_told_moves_are_counted },
        { "a-little-lost-time-is-borne", test_a_little_lost_time_is_borne },
        { "move-cools-down", test_a_move_cools_down },
        { "undone-move-doubles-the-cool-down",
          test_an_undone_move_doubles_the_cool_down },
        { "six-moves-an-hour-and-the-last-is-to-safety",
          test_six_moves_an_hour_and_the_last_is_to_safety },
        { "plan-told-is-no-move-of-ours", test_a_plan_told_is_no_move_of_ours },
        { "masks-outside-of-the-plan-are-misaligned",
          test_masks_outside_of_the_plan_are_misaligned },
        { "every-look-that-keeps-has-one-reason",
          test_every_look_that_keeps_has_one_reason },
        { "names-are-distinct", test_names_are_distinct },
    };
    gsize i;

    g_test_init(&argc, &argv, NULL);
    for (i = 0; i < G_N_ELEMENTS(tests); i++) {
        g_autofree char *path = g_strdup_printf("/balance/%s", tests[i].name);

        g_test_add_func(path, tests[i].run);
    }
    return g_test_run();
}
