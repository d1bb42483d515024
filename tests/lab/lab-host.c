/*
 * The lab host that a test program runs in
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "lab-host.h"

#include "hw/sched/host-cpuset.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CPU_DIR "/sys/devices/system/cpu/"
#define CGROUP_DIR "/sys/fs/cgroup/"
#define CACHE_INDEX_MAX 8

/* The file's text without its newline; NULL if there is none. */
static char *read_text(const char *path)
{
    char *text = NULL;

    if (g_file_get_contents(path, &text, NULL, NULL)) {
        g_strchomp(text);
    }
    return text;
}

void lab_write(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);

    g_assert_cmpint(fd, >=, 0);
    if (write(fd, text, strlen(text)) != (ssize_t)strlen(text)) {
        g_test_message("'%s' > %s: %s", text, path, strerror(errno));
        g_assert_not_reached();
    }
    close(fd);
}

static char *cpu_text(int cpu, const char *name)
{
    g_autofree char *path = g_strdup_printf(CPU_DIR "cpu%d/%s", cpu, name);

    return read_text(path);
}

/* The CPUs that share the level 3 cache of @cpu, or NULL. */
static char *level3_of(int cpu)
{
    for (int i = 0; i < CACHE_INDEX_MAX; i++) {
        g_autofree char *level_name = g_strdup_printf("cache/index%d/level",
                                                      i);
        g_autofree char *cpus_name =
            g_strdup_printf("cache/index%d/shared_cpu_list", i);
        g_autofree char *level = cpu_text(cpu, level_name);

        if (g_strcmp0(level, "3") == 0) {
            return cpu_text(cpu, cpus_name);
        }
    }
    return NULL;
}

static char *llc_of(int cpu)
{
    char *cpus = level3_of(cpu);

    return cpus ? cpus : cpu_text(cpu, "topology/package_cpus_list");
}

static char *core_of(int cpu)
{
    return cpu_text(cpu, "topology/thread_siblings_list");
}

static char *node_of(int cpu)
{
    for (int node = 0; ; node++) {
        g_autofree char *path = g_strdup_printf(
            "/sys/devices/system/node/node%d/cpulist", node);
        g_autofree char *cpus = read_text(path);
        g_autofree char *text = g_strdup_printf("%d", cpu);

        g_assert_nonnull(cpus);
        if (lab_list_within(text, cpus)) {
            return g_steal_pointer(&cpus);
        }
    }
}

/* What @of says of each online CPU, each set once. */
static char **sets_of(const HostCpuSet *online, char *(*of)(int cpu))
{
    GStrvBuilder *builder = g_strv_builder_new();
    HostCpuSet seen = { { 0 } };
    char **sets;

    HOST_CPUSET_FOREACH(cpu, online) {
        g_autofree char *text = NULL;
        HostCpuSet set;

        if (host_cpuset_has(&seen, cpu)) {
            continue;
        }
        text = of(cpu);
        g_assert_nonnull(text);
        g_assert_true(host_cpuset_parse_list(text, &set));
        host_cpuset_or(&seen, &set);
        g_strv_builder_add(builder, text);
    }
    sets = g_strv_builder_end(builder);
    g_strv_builder_unref(builder);
    return sets;
}

static void assert_declared(const char *variable, const char *found)
{
    const char *declared = g_getenv(variable);

    if (g_strcmp0(found, declared) != 0) {
        g_test_message("%s should be %s", variable, declared);
    }
    g_assert_cmpstr(found, ==, declared);
}

static void assert_sets_declared(const char *variable, char **sets)
{
    g_autofree char *found = g_strjoinv(":", sets);

    assert_declared(variable, found);
}

void lab_host_init(LabHost *host)
{
    g_autofree char *level3 = NULL;
    HostCpuSet online, llc;

    if (!g_getenv("LAB_HOST")) {
        printf("1..0 # SKIP not in a lab host: tests/lab/lab runs it\n");
        exit(0);
    }
    host->online = read_text(CPU_DIR "online");
    g_assert_true(host_cpuset_parse_list(host->online, &online));
    host->llcs = sets_of(&online, llc_of);
    host->cores = sets_of(&online, core_of);
    host->nodes = sets_of(&online, node_of);
    level3 = level3_of(0);
    assert_declared("LAB_LLC_LEVEL", level3 ? "3" : "none");
    assert_sets_declared("LAB_LLCS", host->llcs);
    assert_sets_declared("LAB_CORES", host->cores);
    assert_sets_declared("LAB_NODES", host->nodes);
    host->n_cpus = host_cpuset_count(&online);
    host->n_llcs = g_strv_length(host->llcs);
    host->n_cores = g_strv_length(host->cores);
    host->n_nodes = g_strv_length(host->nodes);
    g_assert_true(host_cpuset_parse_list(host->llcs[0], &llc));
    host->llc_cpus = host_cpuset_count(&llc);
    host->threads = host->n_cpus / host->n_cores;
    host->llc_cores = host->llc_cpus / host->threads;
}

void lab_host_clear(LabHost *host)
{
    g_free(host->online);
    g_strfreev(host->llcs);
    g_strfreev(host->cores);
    g_strfreev(host->nodes);
}

bool lab_list_within(const char *cpus, const char *of)
{
    HostCpuSet inner, outer;

    g_assert_true(host_cpuset_parse_list(cpus, &inner));
    g_assert_true(host_cpuset_parse_list(of, &outer));
    return host_cpuset_subset(&inner, &outer);
}

static bool lists_meet(const char *one, const char *other)
{
    HostCpuSet a, b;

    g_assert_true(host_cpuset_parse_list(one, &a));
    g_assert_true(host_cpuset_parse_list(other, &b));
    return host_cpuset_intersects(&a, &b);
}

bool lab_cores_meet(const LabHost *host, const char *one, const char *other)
{
    for (int i = 0; i < host->n_cores; i++) {
        if (lists_meet(one, host->cores[i]) &&
            lists_meet(other, host->cores[i])) {
            return true;
        }
    }
    return false;
}

int lab_list_of(char *const *lists, const char *cpus)
{
    for (int i = 0; lists[i]; i++) {
        if (lab_list_within(cpus, lists[i])) {
            return i;
        }
    }
    return -1;
}

void lab_cpu_set_online(int cpu, bool online)
{
    g_autofree char *path = g_strdup_printf(CPU_DIR "cpu%d/online", cpu);

    lab_write(path, online ? "1" : "0");
}

void lab_cpus_set_online(const char *cpus, bool online)
{
    HostCpuSet set;

    g_assert_true(host_cpuset_parse_list(cpus, &set));
    HOST_CPUSET_FOREACH(cpu, &set) {
        lab_cpu_set_online(cpu, online);
    }
}

void lab_smt_set(const LabHost *host, bool on)
{
    for (int i = 0; i < host->n_cores; i++) {
        int first, last;

        if (sscanf(host->cores[i], "%d-%d", &first, &last) == 2) {
            lab_cpu_set_online(last, on);
        }
    }
}

void lab_cgroup_make(const char *name, const char *cpus)
{
    g_autofree char *dir = g_strconcat(CGROUP_DIR, name, NULL);

    if (mkdir(dir, 0755) < 0) {
        g_test_message("%s: %s", dir, strerror(errno));
        g_assert_not_reached();
    }
    lab_cgroup_set_cpus(name, cpus);
}

void lab_cgroup_set_cpus(const char *name, const char *cpus)
{
    g_autofree char *path = g_strconcat(CGROUP_DIR, name, "/cpuset.cpus",
                                        NULL);

    lab_write(path, cpus);
}

void lab_cgroup_enter(const char *name, int pid)
{
    g_autofree char *path = g_build_filename(CGROUP_DIR, name, "cgroup.procs",
                                             NULL);
    g_autofree char *text = g_strdup_printf("%d", pid);

    lab_write(path, text);
}

void lab_cgroup_remove(const char *name)
{
    g_autofree char *dir = g_strconcat(CGROUP_DIR, name, NULL);

    if (rmdir(dir) < 0) {
        g_test_message("%s: %s", dir, strerror(errno));
        g_assert_not_reached();
    }
}
