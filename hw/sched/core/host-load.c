/*
 * What the host's CPUs and our own threads have run, from /proc
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "hw/sched/host-load.h"
#include "hw/sched/host-load-parse.h"

/*
 * A CPU of /proc/schedstat has about 100 bytes and 200 to 400 more for each
 * of its four or five domains: 32 MiB hold the largest hosts that are sold,
 * and a look that reads more would cost more than it can gain.
 */
#define LOAD_FILE_MAX (32 * 1024 * 1024)

/* Enough for most hosts in one read(), and harmless on any stack. */
#define LOAD_BUFFER 65536

#define NS_PER_S 1000000000ll

static bool load_path(char *buf, size_t size, const char *root,
                      const char *file)
{
    int len = snprintf(buf, size, "%s/proc/%s", root ? root : "", file);

    return len > 0 && len < size;
}

/*
 * Open a regular file for reading; a negative errno on failure.  Anything else
 * in its place, such as a FIFO in a made tree, must not block us.
 */
static int open_regular(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat st;

    if (fd < 0) {
        return -errno;
    }
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
        close(fd);
        return -EINVAL;
    }
    return fd;
}

/* read() that goes on after a signal; a negative errno on failure. */
static ssize_t read_some(int fd, char *buf, size_t size)
{
    ssize_t got;

    do {
        got = read(fd, buf, size);
    } while (got < 0 && errno == EINTR);
    return got < 0 ? -errno : got;
}

/* 0 or a negative errno; EFBIG: more than any real host has. */
static int feed_file(HostLoadParser *parser, const char *path)
{
    char buf[LOAD_BUFFER];
    size_t total = 0;
    ssize_t got = 0;
    int fd = open_regular(path);

    if (fd < 0) {
        return fd;
    }
    while (total <= LOAD_FILE_MAX) {
        got = read_some(fd, buf, sizeof(buf));
        if (got <= 0 || !host_load_parser_feed(parser, buf, got)) {
            break;
        }
        total += got;
    }
    close(fd);
    if (got < 0) {
        return got;
    }
    return total > LOAD_FILE_MAX ? -EFBIG : 0;
}

static char *why_not(const HostLoadParser *parser, const char *path,
                     int error)
{
    if (error == -EFBIG) {
        return g_strdup_printf("%s: larger than %d MiB", path,
                               LOAD_FILE_MAX >> 20);
    }
    if (error == -EINVAL) {
        return g_strdup_printf("%s: not a regular file", path);
    }
    if (error) {
        return g_strdup_printf("%s: %s", path, g_strerror(-error));
    }
    if (parser->format == HOST_LOAD_SCHEDSTAT && parser->done) {
        return g_strdup_printf("%s: version %" PRIu64 ", known are %d to %d",
                               path, parser->version,
                               HOST_LOAD_SCHEDSTAT_VERSION_MIN,
                               HOST_LOAD_SCHEDSTAT_VERSION_MAX);
    }
    return g_strdup_printf("%s: no CPU rows", path);
}

/* Read @file into @cpus; the reason, for the caller to free, if it failed. */
static char *sample_file(HostLoadSample *sample, const char *root,
                         HostLoadSource format, bool want_run)
{
    long hz = sysconf(_SC_CLK_TCK); /* USER_HZ */
    g_autofree HostCpuTimes *cpus = g_new0(HostCpuTimes, sample->n_cpus);
    HostLoadParser parser;
    char path[PATH_MAX];
    int error;

    if (!load_path(path, sizeof(path), root,
                   format == HOST_LOAD_STAT ? "stat" : "schedstat")) {
        return g_strdup("the path of /proc is too long");
    }
    if (sample->cpus) {
        memcpy(cpus, sample->cpus, sample->n_cpus * sizeof(*cpus));
    }
    host_load_parser_init(&parser, format, cpus, sample->n_cpus, want_run,
                          NS_PER_S / (hz > 0 ? hz : 100));
    error = feed_file(&parser, path);
    if (error || !host_load_parser_ok(&parser)) {
        return why_not(&parser, path, error);
    }
    g_free(sample->cpus);
    sample->cpus = g_steal_pointer(&cpus);
    sample->n_rows = MAX(sample->n_rows, parser.n_rows);
    return NULL;
}

static char *sample_note(const HostLoadSample *sample, const char *no_stat,
                         const char *no_schedstat)
{
    if (sample->source == HOST_LOAD_NONE) {
        return g_strdup_printf("the load of others is unknown: %s; %s",
                               no_stat, no_schedstat);
    }
    if (no_schedstat) {
        return g_strdup_printf("the time that tasks of others wait is "
                               "unknown: %s", no_schedstat);
    }
    if (no_stat) {
        return g_strdup_printf("the load of others is late where one task "
                               "has a CPU for itself: %s", no_stat);
    }
    return NULL;
}

HostLoadSample *host_load_sample(const char *root, int n_cpus, int64_t now_ns,
                                 char **ret_note)
{
    HostLoadSample *sample = g_new0(HostLoadSample, 1);
    g_autofree char *no_stat = NULL;
    g_autofree char *no_schedstat = NULL;

    sample->when_ns = now_ns;
    sample->n_cpus = CLAMP(n_cpus, 0, HOST_CPU_MAX);
    no_stat = sample_file(sample, root, HOST_LOAD_STAT, true);
    sample->run_from_stat = !no_stat;
    no_schedstat = sample_file(sample, root, HOST_LOAD_SCHEDSTAT,
                               no_stat != NULL);
    if (!no_schedstat) {
        sample->source = HOST_LOAD_SCHEDSTAT;
    } else if (!no_stat) {
        sample->source = HOST_LOAD_STAT;
    }
    if (!sample->cpus) {
        sample->cpus = g_new0(HostCpuTimes, sample->n_cpus);
    }
    if (ret_note) {
        *ret_note = sample_note(sample, no_stat, no_schedstat);
    }
    return sample;
}

void host_load_sample_free(HostLoadSample *sample)
{
    if (sample) {
        g_free(sample->cpus);
        g_free(sample);
    }
}

/*
 * The kernel's CPU clock of one thread of this process, as in its
 * include/linux/posix-timers_types.h: per thread (4), scheduler time (2).
 */
static clockid_t thread_clock(int tid)
{
    return (clockid_t)(~(unsigned)tid << 3 | 4 | 2);
}

static bool thread_times_from_clock(int tid, ThreadTimes *ret_times)
{
    struct timespec ts;

    if (tid <= 0 || clock_gettime(thread_clock(tid), &ts) < 0) {
        return false;
    }
    *ret_times = (ThreadTimes) {
        .run_ns = (uint64_t)ts.tv_sec * NS_PER_S + ts.tv_nsec,
    };
    return true;
}

bool host_load_thread(const char *root, int tid, ThreadTimes *ret_times)
{
    char file[64], path[PATH_MAX], text[HOST_LOAD_LINE_MAX];
    ssize_t got;
    int fd;

    snprintf(file, sizeof(file), "self/task/%d/schedstat", tid);
    if (!load_path(path, sizeof(path), root, file)) {
        return false;
    }
    fd = open_regular(path);
    if (fd < 0) {
        bool here = !root || !*root;

        return here && (fd == -ENOENT || fd == -EACCES || fd == -EPERM) &&
               thread_times_from_clock(tid, ret_times);
    }
    got = read_some(fd, text, sizeof(text));
    close(fd);
    return got > 0 && host_load_parse_thread(text, got, ret_times);
}

static uint64_t gained(uint64_t before, uint64_t after)
{
    return after > before ? after - before : 0;
}

/* Sums over the CPUs of one LLC. */
typedef struct LlcSums {
    double run_ns, wait_ns;
    double weighted_run_ns;  /* run_ns of each CPU times its capacity */
    double capacity;
    int cpus;
} LlcSums;

static void sum_cpu(LlcSums *sums, const HostCpu *cpu,
                    const HostCpuTimes *before, const HostCpuTimes *after,
                    uint64_t window_ns)
{
    /* Without a row before, all since boot would seem to be new. */
    bool known = before->run_ns || before->wait_ns;

    sums->capacity += cpu->capacity;
    sums->cpus++;
    if (known) {
        uint64_t run = MIN(gained(before->run_ns, after->run_ns), window_ns);

        sums->run_ns += run;
        sums->weighted_run_ns += (double)run * cpu->capacity;
        sums->wait_ns += gained(before->wait_ns, after->wait_ns);
    }
}

static double less(double all, uint64_t own)
{
    return all > own ? all - own : 0;
}

/*
 * Our own threads are known by LLC, not by CPU: they are taken to have run
 * where the LLC's CPUs ran, big and small alike.
 */
static LlcLoad llc_load(const LlcSums *sums, uint64_t own_run_ns,
                        uint64_t own_wait_ns, int64_t window_ns)
{
    double run = less(sums->run_ns, own_run_ns);
    double wait = less(sums->wait_ns, own_wait_ns);
    LlcLoad load = { 0 };

    if (sums->run_ns > 0 && sums->capacity > 0) {
        double weighted = sums->weighted_run_ns * (run / sums->run_ns);

        load.others_util = 1000 * weighted / sums->capacity / window_ns + 0.5;
    }
    if (sums->cpus > 0) {
        double tasks = 1000 * (run + wait) / sums->cpus / window_ns + 0.5;

        load.others_tasks = MIN(tasks, HOST_LOAD_TASKS_MAX);
    }
    return load;
}

HostLoad *host_load_between(const HostTopology *host,
                            const HostLoadSample *before,
                            const HostLoadSample *after,
                            const uint64_t *own_run_ns,
                            const uint64_t *own_wait_ns)
{
    HostLoad *load = host_load_new_idle(host);
    int n_cpus = MIN(host->n_cpus, MIN(before->n_cpus, after->n_cpus));
    g_autofree LlcSums *sums = g_new0(LlcSums, host->n_llcs);

    if (before->source == HOST_LOAD_NONE || before->source != after->source ||
        before->run_from_stat != after->run_from_stat ||
        after->when_ns <= before->when_ns) {
        return load;
    }
    load->source = after->source;
    load->window_ns = after->when_ns - before->when_ns;
    for (int i = 0; i < n_cpus; i++) {
        const HostCpu *cpu = &host->cpus[i];

        if (cpu->online && cpu->llc >= 0 && cpu->llc < host->n_llcs) {
            sum_cpu(&sums[cpu->llc], cpu, &before->cpus[i], &after->cpus[i],
                    load->window_ns);
        }
    }
    for (int i = 0; i < host->n_llcs; i++) {
        load->llcs[i] = llc_load(&sums[i], own_run_ns ? own_run_ns[i] : 0,
                                 own_wait_ns ? own_wait_ns[i] : 0,
                                 load->window_ns);
    }
    return load;
}

HostLoad *host_load_new_idle(const HostTopology *host)
{
    HostLoad *load = g_new0(HostLoad, 1);

    load->n_llcs = host->n_llcs;
    load->llcs = g_new0(LlcLoad, host->n_llcs);
    return load;
}

void host_load_free(HostLoad *load)
{
    if (load) {
        g_free(load->llcs);
        g_free(load);
    }
}
