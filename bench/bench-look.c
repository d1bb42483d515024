/*
 * What one look costs: everything that the object reads at each interval
 *
 * The threads live and sleep, and their files are this kernel's.  A look does
 * what llcsched_look() in hw/sched/llcsched-look.c does when nothing changed;
 * that file needs QEMU, so its calls are repeated here.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "bench-host.h"
#include "stats.h"
#include "hw/sched/balance.h"
#include "hw/sched/host-affinity.h"
#include "hw/sched/host-load.h"
#include "hw/sched/host-threads.h"
#include "hw/sched/mask-watch.h"
#include "hw/sched/placement.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <time.h>
#include <unistd.h>

/* vCPUs of a large guest, and of the largest that has a bound. */
#define N_THREADS 64
#define N_THREADS_MAX 256

/* IOThreads and the like; with the main thread, what a look finds besides. */
#define N_OTHERS 16
#define N_SLEEPERS_MAX (N_THREADS_MAX + N_OTHERS)
#define NS_PER_US 1e3
#define NS_PER_LOOK 1000000000ll

/* A look may take as long as a repeat: many are cheap. */
#define REPEATS_PER_SECOND 20

/* Of a large server: interrupts, and scheduling domains of a CPU. */
#define N_INTERRUPTS 2000
#define N_DOMAINS 4
#define N_DOMAIN_FIELDS 36

/* Threads that wait to be told to end. */
typedef struct Sleepers {
    GMutex lock;
    GCond changed;
    bool end;
    int n_vcpus;
    int n;
    int n_tids;
    int tids[N_SLEEPERS_MAX];   /* the first n_vcpus stand for vCPUs */
    GThread *threads[N_SLEEPERS_MAX];
} Sleepers;

static void *sleep_until_end(void *opaque)
{
    Sleepers *sleepers = opaque;

    g_mutex_lock(&sleepers->lock);
    sleepers->tids[sleepers->n_tids++] = gettid();
    g_cond_broadcast(&sleepers->changed);
    while (!sleepers->end) {
        g_cond_wait(&sleepers->changed, &sleepers->lock);
    }
    g_mutex_unlock(&sleepers->lock);
    return NULL;
}

static void sleepers_start(Sleepers *sleepers, int n_vcpus)
{
    *sleepers = (Sleepers) { .n_vcpus = n_vcpus, .n = n_vcpus + N_OTHERS };
    g_mutex_init(&sleepers->lock);
    g_cond_init(&sleepers->changed);
    for (int i = 0; i < sleepers->n; i++) {
        sleepers->threads[i] = g_thread_new("sleeper", sleep_until_end,
                                            sleepers);
    }
    g_mutex_lock(&sleepers->lock);
    while (sleepers->n_tids < sleepers->n) {
        g_cond_wait(&sleepers->changed, &sleepers->lock);
    }
    g_mutex_unlock(&sleepers->lock);
}

static void sleepers_end(Sleepers *sleepers)
{
    g_mutex_lock(&sleepers->lock);
    sleepers->end = true;
    g_cond_broadcast(&sleepers->changed);
    g_mutex_unlock(&sleepers->lock);
    for (int i = 0; i < sleepers->n; i++) {
        g_thread_join(sleepers->threads[i]);
    }
    g_cond_clear(&sleepers->changed);
    g_mutex_clear(&sleepers->lock);
}

/* What is kept between two looks. */
typedef struct Look {
    const char *root;
    const Sleepers *sleepers;
    HostTopology *host;
    HostCpuSet allowed;
    HostLoadSample *sample;
    uint64_t *run_ns, *wait_ns;
    MaskWatch watches[N_SLEEPERS_MAX];
    ThreadTimes times[N_SLEEPERS_MAX];
    GuestTopology *guest;
    LoadHistory *history;
    Balance *balance;
} Look;

/* A plan runs, so that the load is judged against it. */
static void look_balance_init(Look *look)
{
    g_autofree char *smp = g_strdup_printf("%d", look->sleepers->n_vcpus);
    g_autoptr(Plan) plan = NULL;
    PlacementInput in;

    look->guest = guest_topology_from_smp(smp, GUEST_CACHE_SOCKET, NULL);
    in = (PlacementInput) {
        .host = look->host, .guest = look->guest,
        .candidates = &look->host->online,
        .guard_util = PLACEMENT_GUARD_UTIL_DEFAULT,
        .guard_tasks = PLACEMENT_GUARD_TASKS_DEFAULT,
    };
    look->history = load_history_new(look->sleepers->n_vcpus,
                                     look->host->n_llcs, NS_PER_LOOK);
    look->balance = balance_new(1, NS_PER_LOOK);
    balance_configure(look->balance, &in);
    plan = placement_plan(&in);
    balance_took(look->balance, plan, bench_now_ns());
}

static void look_init(Look *look, const char *root, const Sleepers *sleepers)
{
    g_autoptr(GError) err = NULL;

    *look = (Look) { .root = root, .sleepers = sleepers };
    look->host = host_topology_read(root, &err);
    if (!look->host) {
        bench_fail("%s/sys: %s", root, err->message);
    }
    look->run_ns = g_new0(uint64_t, look->host->n_llcs);
    look->wait_ns = g_new0(uint64_t, look->host->n_llcs);
    look_balance_init(look);
}

static void look_clear(Look *look)
{
    balance_free(look->balance);
    load_history_free(look->history);
    guest_topology_free(look->guest);
    host_topology_unref(look->host);
    host_load_sample_free(look->sample);
    g_free(look->run_ns);
    g_free(look->wait_ns);
}

static void look_allowed(void *opaque)
{
    Look *look = opaque;
    int ret = host_affinity_probe(&look->host->possible, &look->allowed);

    if (ret) {
        bench_fail("the CPUs that may be used: %s", g_strerror(-ret));
    }
}

static void look_online(void *opaque)
{
    Look *look = opaque;
    g_autofree char *text = host_topology_online_text(look->root);

    if (!text) {
        bench_fail("%s/sys/devices/system/cpu/online cannot be read",
                   look->root);
    }
}

static void look_thread(Look *look, int i)
{
    int tid = look->sleepers->tids[i];
    HostCpuSet mask;
    ThreadTimes now;
    int cpus;

    if (host_affinity_get(tid, &mask) || !host_load_thread("", tid, &now)) {
        bench_fail("thread %d cannot be looked at", tid);
    }
    mask_watch_look(&look->watches[i], &mask, &look->allowed);
    if (i < look->sleepers->n_vcpus) {
        load_history_vcpu(look->history, i, bench_now_ns(), tid, &now);
    }
    cpus = host_cpuset_count_and(&mask, &look->host->online);
    for (int llc = 0; cpus && llc < look->host->n_llcs; llc++) {
        int here = host_cpuset_count_and(&mask, &look->host->llcs[llc].cpus);

        look->run_ns[llc] += (now.run_ns - look->times[i].run_ns) / cpus *
                             here;
        look->wait_ns[llc] += (now.wait_ns - look->times[i].wait_ns) / cpus *
                              here;
    }
    look->times[i] = now;
}

static void look_threads(void *opaque)
{
    Look *look = opaque;

    for (int i = 0; i < look->sleepers->n_vcpus; i++) {
        look_thread(look, i);
    }
}

/* The threads of the process are listed, and those that are no vCPUs seen. */
static void look_others(void *opaque)
{
    Look *look = opaque;
    g_autoptr(GArray) tids = host_threads_list("");

    if (!tids || tids->len < look->sleepers->n) {
        bench_fail("the threads of this process cannot be listed");
    }
    for (int i = look->sleepers->n_vcpus; i < look->sleepers->n; i++) {
        look_thread(look, i);
    }
}

static void look_rows(void *opaque)
{
    Look *look = opaque;

    host_load_sample_free(look->sample);
    look->sample = host_load_sample(look->root, look->host->n_cpus,
                                    bench_now_ns(), NULL);
}

static void look_load(Look *look)
{
    g_autoptr(HostLoadSample) before = g_steal_pointer(&look->sample);

    look_rows(look);
    if (before) {
        g_autoptr(HostLoad) load = host_load_between(
            look->host, before, look->sample, look->run_ns, look->wait_ns);

        load_history_llcs(look->history, bench_now_ns(), load);
    }
}

static void look_once(void *opaque)
{
    Look *look = opaque;
    g_autoptr(GError) err = NULL;
    HostCpuSet candidates;
    bool isolated;

    look_online(look);
    look_allowed(look);
    /* this process's CPUs may not be among those of the tree */
    if (!placement_candidates(look->host, &look->allowed, NULL, &candidates,
                              &isolated, &err)) {
        bench_fail("no CPU of %s/sys may be used: %s", look->root,
                   err->message);
    }
    if (!host_topology_equal(look->host, look->host)) {
        bench_fail("a host is not equal to itself");
    }
    look_threads(look);
    look_others(look);
    look_load(look);
    balance_look(look->balance, look->history, bench_now_ns());
}

static void part_row(const Bench *bench, Look *look, BenchRun *run,
                     const char *name, const char *unit, double divisor)
{
    g_autoptr(GArray) values = NULL;

    values = bench_repeat(run, look, bench->seconds * REPEATS_PER_SECOND);
    bench_row(bench, name, unit, bench_scale(values, divisor), NULL);
}

static void rows_row(const Bench *bench, Look *look, const char *where,
                     int min_rows)
{
    g_autofree char *name = NULL;

    look_rows(look);
    if (look->sample->source == HOST_LOAD_NONE ||
        look->sample->n_rows < min_rows) {
        bench_fail("%s/proc has %d CPU rows, not %d", look->root,
                   look->sample->n_rows, min_rows);
    }
    name = g_strdup_printf("- per row of %s (%s; %d)",
                           look->sample->source == HOST_LOAD_STAT ?
                           "stat" : "stat + schedstat", where,
                           look->sample->n_rows);
    part_row(bench, look, look_rows, name, "ns", look->sample->n_rows);
}

static void look_row(const Bench *bench, Look *look, const char *name,
                     const BenchBound *bound)
{
    g_autoptr(GArray) values = NULL;

    values = bench_repeat(look_once, look,
                          bench->seconds * REPEATS_PER_SECOND);
    bench_row(bench, name, "us", bench_scale(values, NS_PER_US), bound);
}

static void add_stat(GString *text, int n_cpus)
{
    g_string_append(text, "cpu  1 0 1 1 1 0 1 0 0 0\n");
    for (int i = 0; i < n_cpus; i++) {
        g_string_append_printf(text, "cpu%d %d 1234 %d 123456789 12345 0 "
                               "%d 0 1234567 0\n", i, 12345678 + i,
                               2345678 + i, 3456 + i);
    }
    g_string_append(text, "intr 123456789");
    for (int i = 0; i < N_INTERRUPTS; i++) {
        g_string_append(text, " 0");
    }
    g_string_append(text, "\nctxt 123456789\nbtime 1700000000\n");
}

/* A mask of @n_cpus CPUs as the kernel writes it: words of 32 bits. */
static char *full_mask(int n_cpus)
{
    GString *text = g_string_new("ffffffff");

    for (int i = 32; i < n_cpus; i += 32) {
        g_string_append(text, ",ffffffff");
    }
    return g_string_free(text, FALSE);
}

static void add_schedstat(GString *text, int n_cpus)
{
    g_autofree char *mask = full_mask(n_cpus);

    g_string_append(text, "version 15\ntimestamp 4295123456\n");
    for (int i = 0; i < n_cpus; i++) {
        g_string_append_printf(text, "cpu%d 0 0 0 0 0 0 %d000000 %d00000 "
                               "12345678\n", i, 1234567 + i, 345678 + i);
        for (int domain = 0; domain < N_DOMAINS; domain++) {
            g_string_append_printf(text, "domain%d %s", domain, mask);
            for (int field = 0; field < N_DOMAIN_FIELDS; field++) {
                g_string_append(text, " 1234");
            }
            g_string_append_c(text, '\n');
        }
    }
}

static void write_file(const char *dir, const char *name, const GString *text)
{
    g_autofree char *path = g_build_filename(dir, name, NULL);
    g_autoptr(GError) err = NULL;

    if (!g_file_set_contents(path, text->str, text->len, &err)) {
        bench_fail("%s", err->message);
    }
}

/* Both files, as a host of BENCH_HOST_CPUS CPUs has them. */
static void write_proc(const char *root)
{
    g_autofree char *dir = g_build_filename(root, "proc", NULL);
    g_autoptr(GString) stat = g_string_new(NULL);
    g_autoptr(GString) schedstat = g_string_new(NULL);

    if (g_mkdir(dir, 0755) < 0) {
        bench_fail("%s: %s", dir, g_strerror(errno));
    }
    add_stat(stat, BENCH_HOST_CPUS);
    add_schedstat(schedstat, BENCH_HOST_CPUS);
    write_file(dir, "stat", stat);
    write_file(dir, "schedstat", schedstat);
}

static void look_here(const Bench *bench, const Sleepers *sleepers)
{
    const BenchBound bound = { .median = 1000 };
    Look look;

    look_init(&look, "", sleepers);
    look_row(bench, &look, "one look at 64 vCPUs", &bound);
    part_row(bench, &look, look_threads,
             "- per thread: its mask and schedstat", "ns", N_THREADS);
    part_row(bench, &look, look_others,
             "- listing all threads, and 16 that are no vCPUs", "us",
             NS_PER_US);
    rows_row(bench, &look, "this machine", 1);
    part_row(bench, &look, look_allowed, "- asking what is allowed", "us",
             NS_PER_US);
    part_row(bench, &look, look_online, "- reading cpu/online", "us",
             NS_PER_US);
    look_clear(&look);
}

static void look_large(const Bench *bench, const Sleepers *sleepers,
                       const char *root)
{
    Look look;

    write_proc(root);
    look_init(&look, root, sleepers);
    look_row(bench, &look, "one look at 64 vCPUs: files of a 384-CPU host",
             NULL);
    rows_row(bench, &look, "in a file", BENCH_HOST_CPUS);
    look_clear(&look);
}

static int64_t cpu_now_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return ts.tv_sec * 1000000000ll + ts.tv_nsec;
}

/* As bench_repeat(), in CPU time. */
static GArray *repeat_cpu(BenchRun *run, void *opaque, int repeats)
{
    GArray *values = g_array_new(false, false, sizeof(double));

    run(opaque);
    for (int i = 0; i < repeats; i++) {
        int64_t start_ns = cpu_now_ns();
        double ns;

        run(opaque);
        ns = cpu_now_ns() - start_ns;
        g_array_append_val(values, ns);
    }
    return values;
}

/*
 * The largest guest on the largest host: its threads are real, and for each CPU
 * that this machine lacks, a look takes as long again as one of its rows.  What
 * a file costs whatever its rows are is counted with each, too.
 */
static void look_largest(const Bench *bench, const Sleepers *sleepers)
{
    const BenchBound bound = { .median = 3000 };
    int repeats = bench->seconds * REPEATS_PER_SECOND;
    g_autoptr(GArray) rows = NULL;
    g_autoptr(GArray) values = NULL;
    double per_row;
    Look look;

    look_init(&look, "", sleepers);
    rows = repeat_cpu(look_rows, &look, repeats);
    per_row = stats_median((double *)rows->data, rows->len) /
              look.sample->n_rows;
    values = repeat_cpu(look_once, &look, repeats);
    for (guint i = 0; i < values->len; i++) {
        g_array_index(values, double, i) +=
            per_row * (BENCH_HOST_CPUS - look.sample->n_rows);
    }
    bench_row(bench,
              "one look at 256 vCPUs, rows scaled to 384 CPUs: CPU time", "us",
              bench_scale(values, NS_PER_US), &bound);
    look_clear(&look);
}

void bench_look(const Bench *bench, const char *root)
{
    Sleepers sleepers;

    bench_say("looking at %d threads, and at %d", N_THREADS, N_THREADS_MAX);
    sleepers_start(&sleepers, N_THREADS);
    look_here(bench, &sleepers);
    look_large(bench, &sleepers, root);
    sleepers_end(&sleepers);
    sleepers_start(&sleepers, N_THREADS_MAX);
    look_largest(bench, &sleepers);
    sleepers_end(&sleepers);
}
