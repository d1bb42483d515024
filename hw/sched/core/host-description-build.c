/*
 * Writes the sysfs tree that a described host would have
 *
 * The files and their form are those of drivers/base/{cacheinfo,topology,node,
 * cpu}.c in Linux: offline CPUs have neither cache nor topology, lists and
 * masks name online CPUs only, masks are as wide as the host.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "host-description-int.h"

#define CPU_DIR "sys/devices/system/cpu"
#define NODE_DIR "sys/devices/system/node"

/* A tree being written; after the first failure nothing more is done. */
typedef struct Tree {
    const HostDescription *desc;
    int dir;
    int err;             /* errno of the first failure */
    char path[256];      /* and what failed */
} Tree;

static void tree_fail(Tree *t, const char *path)
{
    if (!t->err) {
        t->err = errno;
        g_strlcpy(t->path, path, sizeof(t->path));
    }
}

/* Make the folder @path and, where they are missing, those above it. */
static void make_dirs(Tree *t, const char *path)
{
    const char *slash = strrchr(path, '/');

    if (t->err || !mkdirat(t->dir, path, 0755) || errno == EEXIST) {
        return;
    }
    if (errno == ENOENT && slash) {
        g_autofree char *parent = g_strndup(path, slash - path);

        make_dirs(t, parent);
        if (t->err || !mkdirat(t->dir, path, 0755)) {
            return;
        }
    }
    tree_fail(t, path);
}

/* One file, with a newline after @text as sysfs has it. */
static void G_GNUC_PRINTF(3, 4) put(Tree *t, const char *path,
                                    const char *format, ...)
{
    g_autofree char *body = NULL, *text = NULL;
    size_t len;
    va_list args;
    int fd;

    if (t->err) {
        return;
    }
    va_start(args, format);
    body = g_strdup_vprintf(format, args);
    va_end(args);
    text = g_strconcat(body, "\n", NULL);
    len = strlen(text);
    fd = openat(t->dir, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0) {
        tree_fail(t, path);
        return;
    }
    errno = EIO;
    if (write(fd, text, len) != (ssize_t)len) {
        tree_fail(t, path);
    }
    close(fd);
}

static void put_list(Tree *t, const char *path, const HostCpuSet *set)
{
    g_autofree char *list = host_cpuset_to_list(set);

    put(t, path, "%s", list);
}

/* @dir/@mask and, unless the host has masks only, @dir/@list. */
static void put_set(Tree *t, const char *dir, const char *mask,
                    const char *list, const HostCpuSet *set)
{
    char path[128];
    HostCpuSet online = *set;
    g_autofree char *text = NULL;

    host_cpuset_and(&online, &t->desc->online);
    text = host_cpuset_to_mask(&online, t->desc->n_cpus);
    snprintf(path, sizeof(path), "%s/%s", dir, mask);
    put(t, path, "%s", text);
    if (!(t->desc->layout & LAYOUT_MASKS_ONLY)) {
        snprintf(path, sizeof(path), "%s/%s", dir, list);
        put_list(t, path, &online);
    }
}

static void put_cache(Tree *t, int cpu, int index, int id,
                      const DescribedCache *cache)
{
    char dir[96], path[128];

    snprintf(dir, sizeof(dir), CPU_DIR "/cpu%d/cache/index%d", cpu, index);
    make_dirs(t, dir);
    snprintf(path, sizeof(path), "%s/level", dir);
    put(t, path, "%d", cache->level);
    snprintf(path, sizeof(path), "%s/type", dir);
    put(t, path, "%s", cache->type == 'd' ? "Data" :
        cache->type == 'i' ? "Instruction" : "Unified");
    if (cache->bytes) {
        snprintf(path, sizeof(path), "%s/size", dir);
        put(t, path, "%" G_GUINT64_FORMAT "K", cache->bytes / 1024);
    }
    if (!(t->desc->layout & LAYOUT_NO_CACHE_ID)) {
        snprintf(path, sizeof(path), "%s/id", dir);
        put(t, path, "%d", id);
    }
    put_set(t, dir, "shared_cpu_map", "shared_cpu_list", &cache->cpus);
}

static int cache_rank(const DescribedCache *cache)
{
    return cache->level * 4 + (cache->type == 'i' ? 1 : 0);
}

static int compare_caches(const void *a, const void *b, void *data)
{
    GArray *caches = data;
    int x = *(const int *)a, y = *(const int *)b;
    int order = cache_rank(&g_array_index(caches, DescribedCache, x)) -
                cache_rank(&g_array_index(caches, DescribedCache, y));

    return order ? order : x - y;
}

/* As Linux numbers them: from the inside out, data before instructions. */
static void put_caches(Tree *t)
{
    GArray *caches = t->desc->caches;
    g_autofree int *order = g_new(int, caches->len + 1);
    g_autofree int *next_index = g_new0(int, t->desc->n_cpus);
    g_autofree int *last = g_new(int, t->desc->n_cpus);
    bool only_llc = t->desc->layout & LAYOUT_ONLY_LLC;

    for (guint i = 0; i < caches->len; i++) {
        order[i] = i;
    }
    g_qsort_with_data(order, caches->len, sizeof(int), compare_caches, caches);
    for (guint i = 0; i < caches->len; i++) {
        HOST_CPUSET_FOREACH(cpu, &g_array_index(caches, DescribedCache,
                                                order[i]).cpus) {
            last[cpu] = i;
        }
    }
    for (guint i = 0; i < caches->len && !t->err; i++) {
        DescribedCache *cache = &g_array_index(caches, DescribedCache,
                                               order[i]);

        HOST_CPUSET_FOREACH(cpu, &cache->cpus) {
            int index = next_index[cpu]++;

            if (host_cpuset_has(&t->desc->online, cpu) &&
                (!only_llc || last[cpu] == i)) {
                put_cache(t, cpu, index, order[i], cache);
            }
        }
    }
}

/* core_of[cpu]: its number; -1 for a CPU that is a core by itself. */
static int *map_cores(const HostDescription *desc)
{
    int *core_of = g_new(int, desc->n_cpus);

    for (int cpu = 0; cpu < desc->n_cpus; cpu++) {
        core_of[cpu] = -1;
    }
    for (guint i = 0; i < desc->cores->len; i++) {
        HOST_CPUSET_FOREACH(cpu, &g_array_index(desc->cores, HostCpuSet, i)) {
            core_of[cpu] = i;
        }
    }
    return core_of;
}

static const DescribedPackage *find_package(const HostDescription *desc,
                                            int cpu)
{
    for (guint i = 0; i < desc->packages->len; i++) {
        const DescribedPackage *package =
            &g_array_index(desc->packages, DescribedPackage, i);

        if (host_cpuset_has(&package->cpus, cpu)) {
            return package;
        }
    }
    return NULL;
}

static void put_topology(Tree *t, int cpu, const int *core_of)
{
    const DescribedPackage *package = find_package(t->desc, cpu);
    HostCpuSet core = { };
    char dir[64], path[96];

    snprintf(dir, sizeof(dir), CPU_DIR "/cpu%d/topology", cpu);
    make_dirs(t, dir);
    if (core_of[cpu] >= 0) {
        core = g_array_index(t->desc->cores, HostCpuSet, core_of[cpu]);
    }
    host_cpuset_add(&core, cpu);
    put_set(t, dir, "thread_siblings", "thread_siblings_list", &core);
    put_set(t, dir, "core_cpus", "core_cpus_list", &core);
    /* Without a package (POWER): -1, and the core in its place. */
    put_set(t, dir, "core_siblings", "core_siblings_list",
            package ? &package->cpus : &core);
    put_set(t, dir, "package_cpus", "package_cpus_list",
            package ? &package->cpus : &core);
    snprintf(path, sizeof(path), "%s/physical_package_id", dir);
    put(t, path, "%d", package ? package->id : -1);
    /* Its first CPU: unique, and sparse as on real hosts. */
    snprintf(path, sizeof(path), "%s/core_id", dir);
    put(t, path, "%d", host_cpuset_next(&core, 0));
}

static void put_cpus(Tree *t)
{
    g_autofree int *core_of = map_cores(t->desc);

    HOST_CPUSET_FOREACH(cpu, &t->desc->possible) {
        bool online = host_cpuset_has(&t->desc->online, cpu);
        char path[64];

        snprintf(path, sizeof(path), CPU_DIR "/cpu%d", cpu);
        make_dirs(t, path);
        snprintf(path, sizeof(path), CPU_DIR "/cpu%d/online", cpu);
        put(t, path, "%d", online);
        if (t->desc->capacities) {
            snprintf(path, sizeof(path), CPU_DIR "/cpu%d/cpu_capacity", cpu);
            put(t, path, "%u", t->desc->capacities[cpu]);
        }
        if (online) {
            put_topology(t, cpu, core_of);
        }
    }
    put_caches(t);
}

static void put_cpu_lists(Tree *t)
{
    const HostDescription *desc = t->desc;
    HostCpuSet offline = desc->possible;

    host_cpuset_andnot(&offline, &desc->online);
    if (!(desc->layout & LAYOUT_NO_CPU_LISTS)) {
        put_list(t, CPU_DIR "/online", &desc->online);
        put_list(t, CPU_DIR "/offline", &offline);
        put_list(t, CPU_DIR "/possible", &desc->possible);
        put_list(t, CPU_DIR "/present", &desc->possible);
        put_list(t, CPU_DIR "/isolated", &desc->isolated);
        put(t, CPU_DIR "/kernel_max", "%d", HOST_CPU_MAX - 1);
    }
    if (!host_cpuset_empty(&desc->nohz_full)) {
        put_list(t, CPU_DIR "/nohz_full", &desc->nohz_full);
    }
    if (!host_cpuset_empty(&desc->partition)) {
        make_dirs(t, "sys/fs/cgroup");
        put_list(t, "sys/fs/cgroup/cpuset.cpus.isolated", &desc->partition);
    }
}

static void put_kinds(Tree *t)
{
    static const char *const dirs[KIND_COUNT] = {
        [KIND_PERFORMANCE] = "sys/devices/cpu_core",
        [KIND_EFFICIENCY] = "sys/devices/cpu_atom",
        [KIND_LOW_POWER] = "sys/devices/cpu_lowpower",
    };

    for (int i = 0; i < KIND_COUNT; i++) {
        HostCpuSet online = t->desc->kinds[i];
        char path[64];

        host_cpuset_and(&online, &t->desc->online);
        if (!host_cpuset_empty(&online)) {
            make_dirs(t, dirs[i]);
            snprintf(path, sizeof(path), "%s/cpus", dirs[i]);
            put_list(t, path, &online);
        }
    }
}

static void put_node(Tree *t, const DescribedNode *node)
{
    char dir[64], path[96];

    snprintf(dir, sizeof(dir), NODE_DIR "/node%d", node->id);
    make_dirs(t, dir);
    put_set(t, dir, "cpumap", "cpulist", &node->cpus);
    if (node->distances) {
        g_autoptr(GString) row = g_string_new(NULL);

        for (int i = 0; i < node->n_distances; i++) {
            g_string_append_printf(row, "%s%u", i ? " " : "",
                                   node->distances[i]);
        }
        snprintf(path, sizeof(path), "%s/distance", dir);
        put(t, path, "%s", row->str);
    }
    if (node->mem_bytes || !node->has_memory) {
        snprintf(path, sizeof(path), "%s/meminfo", dir);
        put(t, path, "Node %d MemTotal:       %8" G_GUINT64_FORMAT " kB",
            node->id, node->mem_bytes / 1024);
    }
}

/* cpuN/nodeM, for offline CPUs and of offline nodes as well. */
static void put_links(Tree *t, int id, const HostCpuSet *cpus)
{
    HOST_CPUSET_FOREACH(cpu, cpus) {
        char path[96], target[64];

        snprintf(path, sizeof(path), CPU_DIR "/cpu%d/node%d", cpu, id);
        snprintf(target, sizeof(target), "../../node/node%d", id);
        if (!t->err && symlinkat(target, t->dir, path) < 0) {
            tree_fail(t, path);
        }
    }
}

static void put_offline_nodes(Tree *t, HostCpuSet *ids)
{
    GArray *nodes = t->desc->offline_nodes;

    for (guint i = 0; i < nodes->len; i++) {
        const DescribedPackage *node = &g_array_index(nodes, DescribedPackage,
                                                      i);

        put_links(t, node->id, &node->cpus);
        host_cpuset_add(ids, node->id);
    }
}

static void put_nodes(Tree *t)
{
    GArray *nodes = t->desc->nodes;
    HostCpuSet all = { }, memory = { }, cpus = { };

    if (!nodes->len) {
        return;
    }
    make_dirs(t, NODE_DIR);
    for (guint i = 0; i < nodes->len; i++) {
        const DescribedNode *node = &g_array_index(nodes, DescribedNode, i);

        put_node(t, node);
        put_links(t, node->id, &node->cpus);
        host_cpuset_add(&all, node->id);
        if (node->has_memory) {
            host_cpuset_add(&memory, node->id);
        }
        if (host_cpuset_intersects(&node->cpus, &t->desc->online)) {
            host_cpuset_add(&cpus, node->id);
        }
    }
    put_list(t, NODE_DIR "/online", &all);
    put_offline_nodes(t, &all);
    put_list(t, NODE_DIR "/possible", &all);
    put_list(t, NODE_DIR "/has_memory", &memory);
    put_list(t, NODE_DIR "/has_normal_memory", &memory);
    put_list(t, NODE_DIR "/has_cpu", &cpus);
}

bool host_description_build(const HostDescription *desc, const char *dir,
                            GError **err)
{
    Tree t = { .desc = desc };

    t.dir = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (t.dir < 0) {
        g_set_error(err, HOST_DESCRIPTION_ERROR, HOST_DESCRIPTION_ERROR_IO,
                    "%s: %s", dir, g_strerror(errno));
        return false;
    }
    make_dirs(&t, CPU_DIR);
    put_cpus(&t);
    put_cpu_lists(&t);
    put_kinds(&t);
    put_nodes(&t);
    close(t.dir);
    if (t.err) {
        g_set_error(err, HOST_DESCRIPTION_ERROR, HOST_DESCRIPTION_ERROR_IO,
                    "%s/%s: %s", dir, t.path, g_strerror(t.err));
        return false;
    }
    return true;
}
