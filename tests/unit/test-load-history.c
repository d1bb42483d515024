/*
 * Tests of the moving averages, against the sum over all samples
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <math.h>

#include "fake-host.h"
#include "hw/sched/load-history.h"

#define SEC 1000000000ll
#define EPSILON 0.000001
#define N_RANDOM 400
#define N_SAMPLES 40

typedef struct Sample {
    int64_t end_ns, window_ns;
    double value;
} Sample;

/*
 * The slow and obvious mean: every sample weighs as much as the integral of
 * 2^(-age / half-life) over its window.
 */
static double mean_of(const Sample *samples, int n, int64_t half_life_ns,
                      int64_t now_ns)
{
    double sum = 0, weight = 0;
    int i;

    for (i = 0; i < n; i++) {
        double late = exp2((double)(samples[i].end_ns - now_ns) / half_life_ns);
        double early = exp2((double)(samples[i].end_ns - samples[i].window_ns -
                                     now_ns) / half_life_ns);

        sum += samples[i].value * (late - early);
        weight += late - early;
    }
    return sum / weight;
}

static void test_average_is_the_weighted_mean(void)
{
    int run;

    for (run = 0; run < N_RANDOM; run++) {
        g_autoptr(GRand) rand = g_rand_new_with_seed(run);
        int64_t half_life = g_rand_int_range(rand, 1, 100) * SEC / 4;
        int64_t now = 1 + g_rand_int_range(rand, 0, 1000) * SEC;
        LoadAverage average = { 0 };
        Sample samples[N_SAMPLES];
        int i;

        for (i = 0; i < N_SAMPLES; i++) {
            int64_t gap = g_rand_int_range(rand, 0, 3)
                          ? 0 : g_rand_int_range(rand, 1, 20) * SEC;
            double value = 0;

            samples[i].window_ns = g_rand_int_range(rand, 1, 5000) *
                                   (SEC / 1000);
            samples[i].value = g_rand_int_range(rand, 0, 1001);
            now += gap + samples[i].window_ns;
            samples[i].end_ns = now;
            load_average_add(&average, half_life, now, samples[i].window_ns,
                             samples[i].value);
            if (load_average_get(&average, half_life, now, &value)) {
                g_test_message("seed %d sample %d", run, i);
                g_assert_cmpfloat_with_epsilon(
                    value, mean_of(samples, i + 1, half_life, now), EPSILON);
            }
        }
    }
}

static void test_half_life_is_what_it_says(void)
{
    LoadAverage average = { 0 };
    double value = 0;
    int i;

    for (i = 1; i <= 1000; i++) {
        load_average_add(&average, 4 * SEC, i * SEC, SEC, 1000);
    }
    for (; i <= 1004; i++) {
        load_average_add(&average, 4 * SEC, i * SEC, SEC, 0);
    }
    g_assert_true(load_average_get(&average, 4 * SEC, 1004 * SEC, &value));
    g_assert_cmpfloat_with_epsilon(value, 500, EPSILON);
}

static void test_first_sample_is_the_mean_at_once(void)
{
    LoadAverage average = { 0 };
    double value = 7;

    g_assert_false(load_average_get(&average, SEC, 5 * SEC, &value));
    g_assert_cmpfloat(value, ==, 7);
    load_average_add(&average, 60 * SEC, 5 * SEC, SEC, 300);
    g_assert_true(load_average_get(&average, 60 * SEC, 5 * SEC, &value));
    g_assert_cmpfloat_with_epsilon(value, 300, EPSILON);
}

static void test_what_is_old_is_not_known(void)
{
    LoadAverage average = { 0 };
    double value;

    load_average_add(&average, 4 * SEC, 100 * SEC, 100 * SEC, 300);
    g_assert_true(load_average_get(&average, 4 * SEC, 120 * SEC, &value));
    g_assert_false(load_average_get(&average, 4 * SEC, 130 * SEC, &value));
}

static void test_time_does_not_run_backwards(void)
{
    LoadAverage average = { 0 };
    double value = 0;

    load_average_add(&average, 4 * SEC, 10 * SEC, SEC, 100);
    load_average_add(&average, 4 * SEC, 9 * SEC, SEC, 900);
    load_average_add(&average, 4 * SEC, 10 * SEC, SEC, 900);
    load_average_add(&average, 4 * SEC, 11 * SEC, 0, 900);
    load_average_add(&average, 4 * SEC, 11 * SEC, -SEC, 900);
    g_assert_true(load_average_get(&average, 4 * SEC, 11 * SEC, &value));
    g_assert_cmpfloat_with_epsilon(value, 100, EPSILON);
}

/* Feeds a thread that runs and waits for so many per mille of each second. */
typedef struct Feed {
    LoadHistory *history;
    int64_t now_ns;
    int thread;
    ThreadTimes times;
} Feed;

static void feed(Feed *f, int seconds, unsigned run, unsigned wait)
{
    int i;

    for (i = 0; i < seconds; i++) {
        f->now_ns += SEC;
        f->times.run_ns += run * SEC / 1000;
        f->times.wait_ns += wait * SEC / 1000;
        f->times.slices += 100;
        load_history_vcpu(f->history, 0, f->now_ns, f->thread, &f->times);
    }
}

static Feed feed_new(void)
{
    return (Feed) {
        .history = load_history_new(1, 2, SEC), .now_ns = 50 * SEC, .thread = 7,
        .times = { .run_ns = 1234567, .waits_known = true },
    };
}

static void assert_load(const Feed *f, LoadSpan span, unsigned run,
                        unsigned wait)
{
    VcpuLoad load = load_history_get_vcpu(f->history, 0, span);

    g_assert_true(load.known);
    g_assert_cmpuint(load.run, ==, run);
    g_assert_cmpuint(load.wait, ==, wait);
}

static void test_a_vcpu_has_no_load_before_two_samples(void)
{
    Feed f = feed_new();
    unsigned demand;

    g_assert_false(load_history_get_vcpu(f.history, 0, LOAD_FAST).known);
    feed(&f, 1, 500, 0);
    g_assert_false(load_history_get_vcpu(f.history, 0, LOAD_FAST).known);
    load_history_demand(f.history, &demand);
    g_assert_cmpuint(demand, ==, 1000);
    feed(&f, 1, 500, 20);
    assert_load(&f, LOAD_LAST, 500, 20);
    assert_load(&f, LOAD_FAST, 500, 20);
    load_history_demand(f.history, &demand);
    g_assert_cmpuint(demand, ==, 520);
    load_history_free(f.history);
}

static void test_burst_is_run_per_slice(void)
{
    Feed f = feed_new();

    feed(&f, 5, 300, 0); /* 100 slices a second of 3 ms */
    g_assert_cmpuint(load_history_get_vcpu(f.history, 0, LOAD_FAST).burst_ns,
                     ==, 3000000);
    g_assert_cmpuint(load_history_get_vcpu(f.history, 0, LOAD_LAST).burst_ns,
                     ==, 3000000);
    load_history_free(f.history);
}

static void test_a_missing_sample_costs_nothing(void)
{
    Feed f = feed_new();

    feed(&f, 3, 400, 100);
    f.now_ns += 3 * SEC;
    f.times.run_ns += 3 * 400 * SEC / 1000;
    f.times.wait_ns += 3 * 100 * SEC / 1000;
    load_history_vcpu(f.history, 0, f.now_ns, f.thread, NULL);
    g_assert_false(load_history_get_vcpu(f.history, 0, LOAD_LAST).known);
    assert_load(&f, LOAD_FAST, 400, 100);
    feed(&f, 1, 400, 100);
    assert_load(&f, LOAD_LAST, 400, 100);
    assert_load(&f, LOAD_SLOW, 400, 100);
    load_history_free(f.history);
}

static void test_a_pause_is_no_idleness(void)
{
    Feed f = feed_new();

    feed(&f, 10, 800, 0);
    load_history_pause(f.history);
    f.now_ns += 5 * SEC;
    feed(&f, 1, 800, 0);
    g_assert_false(load_history_get_vcpu(f.history, 0, LOAD_LAST).known);
    feed(&f, 1, 800, 0);
    assert_load(&f, LOAD_FAST, 800, 0);
    load_history_free(f.history);
}

static void test_a_new_thread_starts_anew(void)
{
    Feed f = feed_new();

    feed(&f, 10, 800, 0);
    f.thread = 8;
    f.times.run_ns += 7777 * SEC; /* of another thread, so of no meaning */
    feed(&f, 1, 0, 0);
    g_assert_false(load_history_get_vcpu(f.history, 0, LOAD_SLOW).known);
    feed(&f, 1, 100, 0);
    assert_load(&f, LOAD_SLOW, 100, 0);
    load_history_forget_vcpu(f.history, 0);
    g_assert_false(load_history_get_vcpu(f.history, 0, LOAD_SLOW).known);
    load_history_free(f.history);
}

static void test_counters_that_run_backwards_are_a_new_start(void)
{
    Feed f = feed_new();

    feed(&f, 10, 800, 50);
    f.times.run_ns = 0;
    f.times.wait_ns = 0;
    feed(&f, 1, 800, 50);
    assert_load(&f, LOAD_FAST, 800, 50);
    g_assert_false(load_history_get_vcpu(f.history, 0, LOAD_LAST).known);
    feed(&f, 1, 800, 50);
    assert_load(&f, LOAD_LAST, 800, 50);
    load_history_free(f.history);
}

static void test_no_thread_runs_longer_than_the_time(void)
{
    Feed f = feed_new();

    feed(&f, 2, 1400, 300);
    assert_load(&f, LOAD_LAST, 1000, 0);
    feed(&f, 1, 700, 600);
    assert_load(&f, LOAD_LAST, 700, 300);
    load_history_free(f.history);
}

static void test_the_same_moment_twice_is_one_sample(void)
{
    Feed f = feed_new();

    feed(&f, 3, 400, 0);
    load_history_vcpu(f.history, 0, f.now_ns, f.thread, &f.times);
    assert_load(&f, LOAD_LAST, 400, 0);
    load_history_free(f.history);
}

static void test_demand_is_the_greater_average(void)
{
    Feed f = feed_new();
    unsigned demand;

    feed(&f, 300, 100, 0);
    feed(&f, 8, 900, 0); /* two fast half-lives */
    load_history_demand(f.history, &demand);
    g_assert_cmpuint(demand, ==, 700);
    feed(&f, 30, 0, 0);
    load_history_demand(f.history, &demand);
    g_assert_cmpuint(demand, >, 100); /* the slow one still knows */
    load_history_free(f.history);
}

static void test_llc_load_is_averaged_and_may_be_missing(void)
{
    g_autoptr(HostTopology) host = fake_host_new(1, 1, 2, 4, 1, 0);
    g_autoptr(HostLoad) load = host_load_new_idle(host);
    g_autoptr(LoadHistory) history = load_history_new(1, 2, SEC);
    LlcLoad got = { 77, 77 };
    int i;

    load_history_llcs(history, SEC, load);
    g_assert_false(load_history_get_llc(history, 1, LOAD_FAST, &got));
    g_assert_cmpint(load_history_source(history), ==, HOST_LOAD_NONE);
    load->source = HOST_LOAD_SCHEDSTAT;
    load->window_ns = SEC;
    for (i = 2; i < 6; i++) {
        load->llcs[1] = (LlcLoad) { 500, 600 };
        load_history_llcs(history, i * SEC, load);
    }
    load->llcs[1] = (LlcLoad) { 0, 0 };
    for (; i < 10; i++) {
        load_history_llcs(history, i * SEC, load);
    }
    g_assert_true(load_history_get_llc(history, 1, LOAD_FAST, &got));
    /* 4 s at a quarter and a half of the weight, 4 s at a half and all */
    g_assert_cmpuint(got.others_util, ==, 167);
    g_assert_cmpuint(got.others_tasks, ==, 200);
    load->source = HOST_LOAD_NONE;
    load_history_llcs(history, i * SEC, load);
    g_assert_false(load_history_get_llc(history, 1, LOAD_LAST, &got));
    g_assert_true(load_history_get_llc(history, 1, LOAD_FAST, &got));
    g_assert_cmpint(load_history_source(history), ==, HOST_LOAD_SCHEDSTAT);
    load_history_forget_llcs(history, 3);
    g_assert_cmpint(load_history_n_llcs(history), ==, 3);
    g_assert_false(load_history_get_llc(history, 1, LOAD_SLOW, &got));
}

static void test_half_lives_follow_the_interval(void)
{
    g_autoptr(LoadHistory) history = load_history_new(1, 1, SEC);

    g_assert_cmpint(load_history_half_life_ns(history, LOAD_FAST), ==, 4 * SEC);
    g_assert_cmpint(load_history_half_life_ns(history, LOAD_SLOW), ==,
                    60 * SEC);
    load_history_set_interval(history, 60 * SEC);
    g_assert_cmpint(load_history_half_life_ns(history, LOAD_FAST), ==,
                    240 * SEC);
    g_assert_cmpint(load_history_half_life_ns(history, LOAD_SLOW), ==,
                    960 * SEC);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/load-history/average-is-the-weighted-mean-of-all-samples",
                    test_average_is_the_weighted_mean);
    g_test_add_func("/load-history/half-life-is-what-it-says",
                    test_half_life_is_what_it_says);
    g_test_add_func("/load-history/first-sample-is-the-mean-at-once",
                    test_first_sample_is_the_mean_at_once);
    g_test_add_func("/load-history/what-is-old-is-not-known",
                    test_what_is_old_is_not_known);
    g_test_add_func("/load-history/time-does-not-run-backwards",
                    test_time_does_not_run_backwards);
    g_test_add_func("/load-history/vcpu-has-no-load-before-two-samples",
                    test_a_vcpu_has_no_load_before_two_samples);
    g_test_add_func("/load-history/burst-is-run-per-slice",
                    test_burst_is_run_per_slice);
    g_test_add_func("/load-history/missing-sample-costs-nothing",
                    test_a_missing_sample_costs_nothing);
    g_test_add_func("/load-history/pause-is-no-idleness",
                    test_a_pause_is_no_idleness);
    g_test_add_func("/load-history/new-thread-starts-anew",
                    test_a_new_thread_starts_anew);
    g_test_add_func("/load-history/counters-that-run-backwards-start-anew",
                    test_counters_that_run_backwards_are_a_new_start);
    g_test_add_func("/load-history/no-thread-runs-longer-than-the-time",
                    test_no_thread_runs_longer_than_the_time);
    g_test_add_func("/load-history/same-moment-twice-is-one-sample",
                    test_the_same_moment_twice_is_one_sample);
    g_test_add_func("/load-history/demand-is-the-greater-average",
                    test_demand_is_the_greater_average);
    g_test_add_func("/load-history/llc-load-is-averaged-and-may-be-missing",
                    test_llc_load_is_averaged_and_may_be_missing);
    g_test_add_func("/load-history/half-lives-follow-the-interval",
                    test_half_lives_follow_the_interval);
    return g_test_run();
}
