/*
 * Reading /proc/stat, /proc/schedstat and thread times; the load of others
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <fcntl.h>
#include <glib/gstdio.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hw/sched/host-load-parse.h"

#define TICK_NS 10000000ull
#define S_NS 1000000000ll
#define MAX_CPUS 8

static const char stat_text[] =
    "cpu  100 20 30 4000 5 6 7 8 9 10\n"
    "cpu0 10 2 3 400 5 6 7 800 9 10\n"
    "cpu2 1 0 0 0 0 0 0 0 0 0\n"
    "intr 12345 1 2 3\n"
    "cpu3 1 1 1 1 1 1 1 1 1 1\n";

static const char schedstat_text[] =
    "version 15\n"
    "timestamp 4295000000\n"
    "cpu0 0 0 1 2 3 4 1000 500 9\n"
    "domain0 00000003 1 2 3 4 5 6 7 8 9\n"
    "cpu1 0 0 1 2 3 4 2000 700 9\n"
    "domain0 00000003 1 2 3 4 5 6 7 8 9\n";

typedef struct Fixture {
    HostLoadParser parser;
    HostCpuTimes cpus[MAX_CPUS];
} Fixture;

/* Feed @text in pieces of @step bytes. */
static void parse(Fixture *f, HostLoadSource format, const char *text,
                  size_t len, size_t step)
{
    memset(f, 0, sizeof(*f));
    host_load_parser_init(&f->parser, format, f->cpus, MAX_CPUS, true,
                          TICK_NS);
    for (size_t at = 0; at < len; at += step) {
        if (!host_load_parser_feed(&f->parser, text + at,
                                   MIN(step, len - at))) {
            break;
        }
    }
}

static void parse_text(Fixture *f, HostLoadSource format, const char *text)
{
    parse(f, format, text, strlen(text), 4096);
}

static void test_stat_sums_what_ran_here(void)
{
    Fixture f;

    parse_text(&f, HOST_LOAD_STAT, stat_text);
    g_assert_true(host_load_parser_ok(&f.parser));
    g_assert_cmpint(f.parser.n_rows, ==, 2);
    /* user nice system irq softirq, neither idle nor iowait nor steal */
    g_assert_cmpuint(f.cpus[0].run_ns, ==, (10 + 2 + 3 + 6 + 7) * TICK_NS);
    g_assert_cmpuint(f.cpus[0].wait_ns, ==, 0);
    g_assert_cmpuint(f.cpus[1].run_ns, ==, 0);
    g_assert_cmpuint(f.cpus[2].run_ns, ==, TICK_NS);
}

static void test_stat_stops_after_the_cpu_rows(void)
{
    Fixture f;

    parse_text(&f, HOST_LOAD_STAT, stat_text);
    g_assert_true(f.parser.done);
    g_assert_cmpuint(f.cpus[3].run_ns, ==, 0);
}

static void test_schedstat_reads_run_and_wait(void)
{
    Fixture f;

    parse_text(&f, HOST_LOAD_SCHEDSTAT, schedstat_text);
    g_assert_cmpuint(f.parser.version, ==, 15);
    g_assert_cmpint(f.parser.n_rows, ==, 2);
    g_assert_cmpuint(f.cpus[0].run_ns, ==, 1000);
    g_assert_cmpuint(f.cpus[0].wait_ns, ==, 500);
    g_assert_cmpuint(f.cpus[1].run_ns, ==, 2000);
    g_assert_cmpuint(f.cpus[1].wait_ns, ==, 700);
}

static void test_schedstat_knows_its_versions(void)
{
    static const struct {
        const char *first;
        bool known;
    } cases[] = {
        { "version 14", false },
        { "version 15", true },
        { "version 16", true },
        { "version 17", true },
        { "version 18", false },
        { "version 0", false },
        { "version", false },
        { "version x", false },
        { "version 15x", false },
        { "version -15", false },
        { "version 18446744073709551631", false }, /* 15 mod 2^64 */
        { "timestamp 15", false },
        { "", false },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *text =
            g_strdup_printf("%s\ncpu0 0 0 1 2 3 4 1000 500 9\n",
                            cases[i].first);
        Fixture f;

        g_test_message("%s", cases[i].first);
        parse_text(&f, HOST_LOAD_SCHEDSTAT, text);
        g_assert_true(host_load_parser_ok(&f.parser) == cases[i].known);
        g_assert_cmpuint(f.cpus[0].run_ns, ==, 1000 * cases[i].known);
    }
}

static void test_piece_size_does_not_matter(void)
{
    Fixture whole, f;

    parse_text(&whole, HOST_LOAD_SCHEDSTAT, schedstat_text);
    for (size_t step = 1; step < sizeof(schedstat_text); step++) {
        parse(&f, HOST_LOAD_SCHEDSTAT, schedstat_text,
              strlen(schedstat_text), step);
        g_assert_cmpmem(f.cpus, sizeof(f.cpus), whole.cpus,
                        sizeof(whole.cpus));
    }
}

static void test_cut_line_is_not_used(void)
{
    const char *text = "cpu0 1 0 0 0 0 0 0 0\ncpu1 123 0 0 0 0 0 0 0";
    Fixture f;

    parse_text(&f, HOST_LOAD_STAT, text);
    g_assert_cmpint(f.parser.n_rows, ==, 1);
    g_assert_cmpuint(f.cpus[1].run_ns, ==, 0);
}

static void test_bad_rows_are_skipped(void)
{
    static const char *const bad[] = {
        "cpu1", "cpu1 ", "cpu1 1 2 3", "cpu1 1 2 3 4 5 6",
        "cpu1x 1 2 3 4 5 6 7", "cpu1 1 2 3 4 5 6 x", "cpu1 1 2 3 4 5 6 7x",
        "cpu1 -1 2 3 4 5 6 7", "cpu1 1 2 3 4 5 6 18446744073709551616",
        "cpu1 99999999999999999999999999999 2 3 4 5 6 7",
        "cpu-1 1 2 3 4 5 6 7", "cpu8 1 2 3 4 5 6 7", "cpu8192 1 2 3 4 5 6 7",
        "cpu18446744073709551617 1 2 3 4 5 6 7", "cpufreq 1 2 3 4 5 6 7",
    };

    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        g_autofree char *text =
            g_strdup_printf("cpu0 1 0 0 0 0 0 0\n%s\ncpu2 2 0 0 0 0 0 0\n",
                            bad[i]);
        Fixture f;

        g_test_message("%s", bad[i]);
        parse_text(&f, HOST_LOAD_STAT, text);
        g_assert_cmpint(f.parser.n_rows, ==, 2);
        g_assert_cmpuint(f.cpus[1].run_ns, ==, 0);
        g_assert_cmpuint(f.cpus[2].run_ns, ==, 2 * TICK_NS);
    }
}

static void test_rows_in_any_order_first_one_counts(void)
{
    Fixture f;

    parse_text(&f, HOST_LOAD_STAT,
               "cpu5 5 0 0 0 0 0 0\ncpu1 1 0 0 0 0 0 0\n"
               "cpu5 9 0 0 0 0 0 0\n");
    g_assert_cmpint(f.parser.n_rows, ==, 2);
    g_assert_cmpuint(f.cpus[1].run_ns, ==, TICK_NS);
    g_assert_cmpuint(f.cpus[5].run_ns, ==, 5 * TICK_NS);
}

static void test_huge_numbers_saturate(void)
{
    Fixture f;

    parse_text(&f, HOST_LOAD_STAT,
               "cpu0 18446744073709551615 18446744073709551615 1 0 0 0 0\n");
    g_assert_cmpuint(f.cpus[0].run_ns, ==, UINT64_MAX);
}

static void test_long_lines_are_cut_short(void)
{
    g_autoptr(GString) text = g_string_new("version 17\n");
    Fixture f;

    g_string_append(text, "domain0 ");
    for (int i = 0; i < 100000; i++) {
        g_string_append(text, "ffffffff,");
    }
    g_string_append(text, "\ncpu0 0 0 1 2 3 4 1000 500 9\n");
    parse(&f, HOST_LOAD_SCHEDSTAT, text->str, text->len, 777);
    g_assert_cmpint(f.parser.n_rows, ==, 1);
    g_assert_cmpuint(f.cpus[0].wait_ns, ==, 500);
}

static void test_thread_text(void)
{
    static const char *const bad[] = {
        "", "\n", "1 2 3", "1 2\n", "1 2 x\n", "-1 2 3\n",
        "18446744073709551616 2 3\n", "1,2,3\n",
    };
    ThreadTimes times = { .run_ns = 77 };

    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        g_test_message("'%s'", bad[i]);
        g_assert_false(host_load_parse_thread(bad[i], strlen(bad[i]),
                                              &times));
        g_assert_cmpuint(times.run_ns, ==, 77);
    }
    g_assert_true(host_load_parse_thread("123 45 6\n", 9, &times));
    g_assert_cmpuint(times.run_ns, ==, 123);
    g_assert_cmpuint(times.wait_ns, ==, 45);
    g_assert_cmpuint(times.slices, ==, 6);
    g_assert_true(times.waits_known);
}

/* Seeded damage: nothing but the rows may be written, nothing may crash. */
static void test_damaged_text_is_harmless(void)
{
    uint32_t seed = 20260101;
    g_autoptr(GRand) rand = g_rand_new_with_seed(seed);
    int rounds = g_test_thorough() ? 200000 : 20000;

    g_test_message("seed %u", seed);
    for (int round = 0; round < rounds; round++) {
        bool stat = g_rand_boolean(rand);
        const char *from = stat ? stat_text : schedstat_text;
        size_t len = strlen(from);
        g_autofree char *text = g_memdup2(from, len);
        int damages = g_rand_int_range(rand, 1, 6);
        ThreadTimes times;
        Fixture f;

        while (damages--) {
            text[g_rand_int_range(rand, 0, len)] =
                g_rand_boolean(rand) ? g_rand_int_range(rand, 0, 256) :
                "cpu0123456789\n\t "[g_rand_int_range(rand, 0, 16)];
        }
        len = g_rand_int_range(rand, 0, len + 1);
        parse(&f, stat ? HOST_LOAD_STAT : HOST_LOAD_SCHEDSTAT, text, len,
              g_rand_int_range(rand, 1, 64));
        g_assert_cmpint(f.parser.n_rows, <=, MAX_CPUS);
        host_load_parse_thread(text, len, &times);
    }
}

/* Files below a root of our own. */
typedef struct Root {
    char *dir;
} Root;

static void root_set_up(Root *root, gconstpointer data)
{
    g_autofree char *task = NULL;

    root->dir = g_dir_make_tmp("llcsched-load-XXXXXX", NULL);
    g_assert_nonnull(root->dir);
    task = g_build_filename(root->dir, "proc/self/task/42", NULL);
    g_assert_cmpint(g_mkdir_with_parents(task, 0755), ==, 0);
}

static char *root_path(Root *root, const char *file)
{
    return g_build_filename(root->dir, "proc", file, NULL);
}

static void root_write(Root *root, const char *file, const char *text)
{
    g_autofree char *path = root_path(root, file);

    g_assert_true(g_file_set_contents(path, text, -1, NULL));
}

static void root_tear_down(Root *root, gconstpointer data)
{
    static const char *const leaves[] = {
        "self/task/42/schedstat", "self/task/42", "self/task", "self",
        "stat", "schedstat", "",
    };

    for (size_t i = 0; i < G_N_ELEMENTS(leaves); i++) {
        g_autofree char *path = root_path(root, leaves[i]);

        g_remove(path);
    }
    g_assert_cmpint(g_rmdir(root->dir), ==, 0);
    g_free(root->dir);
}

static void test_sample_takes_both(Root *root, gconstpointer data)
{
    g_autoptr(HostLoadSample) sample = NULL;
    g_autofree char *note = NULL;

    root_write(root, "stat", "cpu0 3 0 0 0 0 0 0\ncpu1 4 0 0 0 0 0 0\n");
    root_write(root, "schedstat", schedstat_text);
    sample = host_load_sample(root->dir, 4, 99, &note);
    g_assert_null(note);
    g_assert_cmpint(sample->source, ==, HOST_LOAD_SCHEDSTAT);
    g_assert_true(sample->run_from_stat);
    g_assert_cmpint(sample->when_ns, ==, 99);
    g_assert_cmpint(sample->n_cpus, ==, 4);
    g_assert_cmpint(sample->n_rows, ==, 2);
    g_assert_cmpuint(sample->cpus[1].run_ns, ==,
                     4 * (S_NS / sysconf(_SC_CLK_TCK)));
    g_assert_cmpuint(sample->cpus[1].wait_ns, ==, 700);
    g_assert_cmpuint(sample->cpus[3].run_ns, ==, 0);
}

static void test_sample_without_schedstat(Root *root, gconstpointer data)
{
    g_autoptr(HostLoadSample) sample = NULL;
    g_autofree char *note = NULL;

    root_write(root, "stat", stat_text);
    sample = host_load_sample(root->dir, 4, 1, &note);
    g_assert_cmpint(sample->source, ==, HOST_LOAD_STAT);
    g_assert_nonnull(strstr(note, "proc/schedstat: No such file"));
}

static void test_sample_without_stat(Root *root, gconstpointer data)
{
    g_autoptr(HostLoadSample) sample = NULL;
    g_autofree char *note = NULL;

    root_write(root, "schedstat", schedstat_text);
    sample = host_load_sample(root->dir, 4, 1, &note);
    g_assert_cmpint(sample->source, ==, HOST_LOAD_SCHEDSTAT);
    g_assert_false(sample->run_from_stat);
    g_assert_cmpuint(sample->cpus[1].run_ns, ==, 2000);
    g_assert_nonnull(strstr(note, "proc/stat: No such file"));
}

static void test_sample_unknown_version(Root *root, gconstpointer data)
{
    g_autoptr(HostLoadSample) sample = NULL;
    g_autofree char *note = NULL;

    root_write(root, "stat", stat_text);
    root_write(root, "schedstat", "version 99\ncpu0 1 2 3 4 5 6 7 8 9\n");
    sample = host_load_sample(root->dir, 4, 1, &note);
    g_assert_cmpint(sample->source, ==, HOST_LOAD_STAT);
    g_assert_cmpuint(sample->cpus[0].wait_ns, ==, 0);
    g_assert_nonnull(strstr(note, "version 99, known are 15 to 17"));
}

static void test_sample_without_anything(Root *root, gconstpointer data)
{
    g_autoptr(HostLoadSample) sample = NULL;
    g_autofree char *note = NULL;

    root_write(root, "stat", "no rows\n");
    sample = host_load_sample(root->dir, 4, 1, &note);
    g_assert_cmpint(sample->source, ==, HOST_LOAD_NONE);
    g_assert_cmpuint(sample->cpus[3].run_ns, ==, 0);
    g_assert_nonnull(strstr(note, "proc/stat: no CPU rows"));
    g_assert_nonnull(strstr(note, "proc/schedstat: No such file"));
}

static void test_sample_never_blocks_or_grows(Root *root, gconstpointer data)
{
    g_autofree char *stat_path = root_path(root, "stat");
    g_autofree char *schedstat_path = root_path(root, "schedstat");
    g_autoptr(HostLoadSample) sample = NULL;
    g_autofree char *note = NULL;
    int fd;

    g_assert_cmpint(mkfifo(stat_path, 0600), ==, 0);
    /* Sparse, so it takes no space: one line of 40 MiB without an end. */
    fd = open(schedstat_path, O_CREAT | O_WRONLY, 0600);
    g_assert_cmpint(fd, >=, 0);
    g_assert_cmpint(write(fd, "version 15\n", 11), ==, 11);
    g_assert_cmpint(ftruncate(fd, 40 << 20), ==, 0);
    close(fd);
    sample = host_load_sample(root->dir, 4, 1, &note);
    g_assert_cmpint(sample->source, ==, HOST_LOAD_NONE);
    g_assert_nonnull(strstr(note, "proc/stat: not a regular file"));
    g_assert_nonnull(strstr(note, "proc/schedstat: larger than 32 MiB"));
}

static void test_thread_file(Root *root, gconstpointer data)
{
    ThreadTimes times = { .run_ns = 5 };

    g_assert_false(host_load_thread(root->dir, 42, &times));
    g_assert_cmpuint(times.run_ns, ==, 5);
    root_write(root, "self/task/42/schedstat", "10 20 30\n");
    g_assert_true(host_load_thread(root->dir, 42, &times));
    g_assert_cmpuint(times.wait_ns, ==, 20);
    g_assert_false(host_load_thread(root->dir, 43, &times));
    root_write(root, "self/task/42/schedstat", "garbage\n");
    g_assert_false(host_load_thread(root->dir, 42, &times));
}

static void test_own_thread_runs_on(void)
{
    int tid = syscall(SYS_gettid);
    ThreadTimes before, after;

    /* The reading is the work: it costs CPU time as well. */
    g_assert_true(host_load_thread("", tid, &before));
    do {
        g_assert_true(host_load_thread("", tid, &after));
    } while (after.run_ns <= before.run_ns);
    g_assert_false(host_load_thread("", 0, &after));
    g_assert_false(host_load_thread("", -1, &after));
    /* A process of its own, not a thread of ours. */
    g_assert_false(host_load_thread("", 1, &after));
}

static void test_this_machine_has_rows(void)
{
    int n = sysconf(_SC_NPROCESSORS_CONF);
    g_autoptr(HostLoadSample) sample = NULL;

    sample = host_load_sample("", n, 1, NULL);
    g_assert_cmpint(sample->source, !=, HOST_LOAD_NONE);
    g_assert_cmpint(sample->n_rows, ==, sysconf(_SC_NPROCESSORS_ONLN));
}

/* Four CPUs, two LLCs: 0-1 of capacity 1024, 2-3 of 1024 and 512. */
static HostTopology make_host(HostCpu cpus[4])
{
    static const unsigned capacity[] = { 1024, 1024, 1024, 512 };

    for (int i = 0; i < 4; i++) {
        cpus[i] = (HostCpu) {
            .online = true, .llc = i / 2, .capacity = capacity[i],
        };
    }
    return (HostTopology) { .n_cpus = 4, .n_llcs = 2, .cpus = cpus };
}

static HostLoadSample make_sample(HostCpuTimes *cpus, int64_t when_ns)
{
    return (HostLoadSample) {
        .source = HOST_LOAD_SCHEDSTAT, .run_from_stat = true,
        .when_ns = when_ns, .n_cpus = 4, .cpus = cpus,
    };
}

typedef struct Window {
    HostCpu host_cpus[4];
    HostCpuTimes t0[4], t1[4];
    HostTopology host;
    HostLoadSample before, after;
} Window;

/* One second in which nothing runs; every CPU has run for 100 s before. */
static void window_init(Window *w)
{
    w->host = make_host(w->host_cpus);
    for (int i = 0; i < 4; i++) {
        w->t0[i] = w->t1[i] = (HostCpuTimes) { 100 * S_NS, 50 * S_NS };
    }
    w->before = make_sample(w->t0, 5 * S_NS);
    w->after = make_sample(w->t1, 6 * S_NS);
}

static void test_between_counts_others_only(void)
{
    uint64_t own_run[2] = { S_NS / 2, 0 }, own_wait[2] = { S_NS / 10, 0 };
    g_autoptr(HostLoad) load = NULL;
    Window w;

    window_init(&w);
    w.t1[0].run_ns += S_NS;
    w.t1[0].wait_ns += S_NS / 2;
    load = host_load_between(&w.host, &w.before, &w.after, own_run, own_wait);
    g_assert_cmpint(load->source, ==, HOST_LOAD_SCHEDSTAT);
    g_assert_cmpint(load->window_ns, ==, S_NS);
    /* 0.5 s of others' run and 0.4 s of their waiting on two CPUs */
    g_assert_cmpuint(load->llcs[0].others_util, ==, 250);
    g_assert_cmpuint(load->llcs[0].others_tasks, ==, 450);
    g_assert_cmpuint(load->llcs[1].others_util, ==, 0);
    g_assert_cmpuint(load->llcs[1].others_tasks, ==, 0);
}

static void test_between_weighs_by_capacity(void)
{
    g_autoptr(HostLoad) big = NULL;
    g_autoptr(HostLoad) small = NULL;
    Window w;

    window_init(&w);
    w.t1[2].run_ns += S_NS;
    big = host_load_between(&w.host, &w.before, &w.after, NULL, NULL);
    g_assert_cmpuint(big->llcs[1].others_util, ==, 667);
    w.t1[2].run_ns -= S_NS;
    w.t1[3].run_ns += S_NS;
    small = host_load_between(&w.host, &w.before, &w.after, NULL, NULL);
    g_assert_cmpuint(small->llcs[1].others_util, ==, 333);
    g_assert_cmpuint(small->llcs[1].others_tasks, ==, 500);
}

static void test_between_own_more_than_all_is_nothing(void)
{
    uint64_t own[2] = { 2 * S_NS, UINT64_MAX };
    g_autoptr(HostLoad) load = NULL;
    Window w;

    window_init(&w);
    w.t1[0].run_ns += S_NS;
    w.t1[0].wait_ns += S_NS;
    load = host_load_between(&w.host, &w.before, &w.after, own, own);
    g_assert_cmpuint(load->llcs[0].others_util, ==, 0);
    g_assert_cmpuint(load->llcs[0].others_tasks, ==, 0);
}

static void test_between_survives_odd_counters(void)
{
    g_autoptr(HostLoad) load = NULL;
    Window w;

    window_init(&w);
    w.t1[0] = (HostCpuTimes) { 1, 1 };                   /* ran backwards */
    w.t0[1] = (HostCpuTimes) { 0, 0 };                   /* came online */
    w.t1[2] = (HostCpuTimes) { UINT64_MAX, UINT64_MAX }; /* garbage */
    w.t1[3] = (HostCpuTimes) { 0, 0 };                   /* went offline */
    load = host_load_between(&w.host, &w.before, &w.after, NULL, NULL);
    g_assert_cmpuint(load->llcs[0].others_util, ==, 0);
    g_assert_cmpuint(load->llcs[0].others_tasks, ==, 0);
    g_assert_cmpuint(load->llcs[1].others_util, ==, 667);
    g_assert_cmpuint(load->llcs[1].others_tasks, ==, HOST_LOAD_TASKS_MAX);
}

static void test_between_offline_cpus_have_no_part(void)
{
    g_autoptr(HostLoad) load = NULL;
    Window w;

    window_init(&w);
    w.host_cpus[1] = (HostCpu) { .online = false, .llc = -1 };
    w.t1[0].run_ns += S_NS;
    w.t1[1].run_ns += S_NS;
    load = host_load_between(&w.host, &w.before, &w.after, NULL, NULL);
    g_assert_cmpuint(load->llcs[0].others_util, ==, 1000);
    g_assert_cmpuint(load->llcs[0].others_tasks, ==, 1000);
}

static void assert_unknown(Window *w)
{
    g_autoptr(HostLoad) load = NULL;

    load = host_load_between(&w->host, &w->before, &w->after, NULL, NULL);
    g_assert_cmpint(load->source, ==, HOST_LOAD_NONE);
    g_assert_cmpint(load->n_llcs, ==, 2);
    g_assert_cmpuint(load->llcs[0].others_util, ==, 0);
}

static void test_between_unlike_samples_tell_nothing(void)
{
    Window w;

    window_init(&w);
    w.t1[0].run_ns += S_NS;
    w.after.source = HOST_LOAD_STAT;
    assert_unknown(&w);
    w.after.source = HOST_LOAD_SCHEDSTAT;
    w.after.run_from_stat = false;
    assert_unknown(&w);
    w.after.run_from_stat = true;
    w.after.when_ns = w.before.when_ns;
    assert_unknown(&w);
    w.after.when_ns = w.before.when_ns - 1;
    assert_unknown(&w);
    w.before.source = w.after.source = HOST_LOAD_NONE;
    w.after.when_ns = w.before.when_ns + 1;
    assert_unknown(&w);
}

static void test_between_fewer_rows_than_cpus(void)
{
    g_autoptr(HostLoad) load = NULL;
    Window w;

    window_init(&w);
    w.t1[0].run_ns += S_NS;
    w.t1[2].run_ns += S_NS;
    w.after.n_cpus = 2;
    load = host_load_between(&w.host, &w.before, &w.after, NULL, NULL);
    g_assert_cmpuint(load->llcs[0].others_util, ==, 500);
    g_assert_cmpuint(load->llcs[1].others_util, ==, 0);
}

#define ADD_ROOT_TEST(name, function)                                 \
    g_test_add(name, Root, NULL, root_set_up, function, root_tear_down)

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/host-load/stat/sums-what-ran-here",
                    test_stat_sums_what_ran_here);
    g_test_add_func("/host-load/stat/stops-after-the-cpu-rows",
                    test_stat_stops_after_the_cpu_rows);
    g_test_add_func("/host-load/stat/bad-rows-are-skipped",
                    test_bad_rows_are_skipped);
    g_test_add_func("/host-load/stat/rows-in-any-order-first-one-counts",
                    test_rows_in_any_order_first_one_counts);
    g_test_add_func("/host-load/stat/cut-line-is-not-used",
                    test_cut_line_is_not_used);
    g_test_add_func("/host-load/stat/huge-numbers-saturate",
                    test_huge_numbers_saturate);
    g_test_add_func("/host-load/schedstat/reads-run-and-wait",
                    test_schedstat_reads_run_and_wait);
    g_test_add_func("/host-load/schedstat/knows-its-versions",
                    test_schedstat_knows_its_versions);
    g_test_add_func("/host-load/parse/piece-size-does-not-matter",
                    test_piece_size_does_not_matter);
    g_test_add_func("/host-load/parse/long-lines-are-cut-short",
                    test_long_lines_are_cut_short);
    g_test_add_func("/host-load/parse/damaged-text-is-harmless",
                    test_damaged_text_is_harmless);
    g_test_add_func("/host-load/thread/text", test_thread_text);
    ADD_ROOT_TEST("/host-load/thread/file", test_thread_file);
    g_test_add_func("/host-load/thread/own-thread-runs-on",
                    test_own_thread_runs_on);
    ADD_ROOT_TEST("/host-load/sample/takes-both", test_sample_takes_both);
    ADD_ROOT_TEST("/host-load/sample/without-schedstat",
                  test_sample_without_schedstat);
    ADD_ROOT_TEST("/host-load/sample/without-stat", test_sample_without_stat);
    ADD_ROOT_TEST("/host-load/sample/unknown-version",
                  test_sample_unknown_version);
    ADD_ROOT_TEST("/host-load/sample/without-anything",
                  test_sample_without_anything);
    ADD_ROOT_TEST("/host-load/sample/never-blocks-or-grows",
                  test_sample_never_blocks_or_grows);
    g_test_add_func("/host-load/sample/this-machine-has-rows",
                    test_this_machine_has_rows);
    g_test_add_func("/host-load/between/counts-others-only",
                    test_between_counts_others_only);
    g_test_add_func("/host-load/between/weighs-by-capacity",
                    test_between_weighs_by_capacity);
    g_test_add_func("/host-load/between/own-more-than-all-is-nothing",
                    test_between_own_more_than_all_is_nothing);
    g_test_add_func("/host-load/between/survives-odd-counters",
                    test_between_survives_odd_counters);
    g_test_add_func("/host-load/between/offline-cpus-have-no-part",
                    test_between_offline_cpus_have_no_part);
    g_test_add_func("/host-load/between/unlike-samples-tell-nothing",
                    test_between_unlike_samples_tell_nothing);
    g_test_add_func("/host-load/between/fewer-rows-than-cpus",
                    test_between_fewer_rows_than_cpus);
    return g_test_run();
}
