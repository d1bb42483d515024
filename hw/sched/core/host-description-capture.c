/*
 * Turns a host into its description, and a description into a host
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "host-description-int.h"

/* As many descriptors as nftw() may hold; a made tree is seven deep. */
#define TREE_DEPTH 16

/* A line to be: "KEY[ NUMBER][ BEFORE] LIST[ AFTER]" */
typedef struct Item {
    const char *key;
    int number;          /* -1: none */
    char *before, *after; /* NULL: none */
    const HostCpuSet *cpus;
} Item;

static void item_clear(void *data)
{
    Item *item = data;

    g_free(item->before);
    g_free(item->after);
}

static GArray *items_new(void)
{
    GArray *items = g_array_new(FALSE, TRUE, sizeof(Item));

    g_array_set_clear_func(items, item_clear);
    return items;
}

/* The distance by which all of @a is moved to give @b; 0 if it is not so. */
static int shift_between(const HostCpuSet *a, const HostCpuSet *b)
{
    int x = host_cpuset_next(a, 0), y = host_cpuset_next(b, 0);
    int step = y - x;

    if (x < 0 || step <= 0) {
        return 0;
    }
    while (x >= 0 && y >= 0 && y - x == step) {
        x = host_cpuset_next(a, x + 1);
        y = host_cpuset_next(b, y + 1);
    }
    return x < 0 && y < 0 ? step : 0;
}

/* The step from item @i to the next where one line can say both, else 0. */
static int step_after(const GArray *items, guint i)
{
    const Item *a = &g_array_index(items, Item, i), *b = a + 1;

    if (i + 1 >= items->len || g_strcmp0(a->before, b->before) ||
        g_strcmp0(a->after, b->after) ||
        (a->number >= 0 && b->number != a->number + 1)) {
        return 0;
    }
    return shift_between(a->cpus, b->cpus);
}

static void append_items(GString *out, const GArray *items)
{
    guint n;

    for (guint i = 0; i < items->len; i += n) {
        const Item *item = &g_array_index(items, Item, i);
        g_autofree char *list = host_cpuset_to_list(item->cpus);
        int step = step_after(items, i);

        n = 1;
        while (step && step_after(items, i + n - 1) == step) {
            n++;
        }
        g_string_append(out, item->key);
        if (item->number >= 0) {
            g_string_append_printf(out, " %d", item->number);
        }
        g_string_append_printf(out, "%s%s%s%s%s%s",
                               item->before ? " " : "",
                               item->before ? item->before : "",
                               *list ? " " : "", list,
                               item->after ? " " : "",
                               item->after ? item->after : "");
        if (n > 1) {
            g_string_append_printf(out, " repeat %u step %d", n, step);
        }
        g_string_append_c(out, '\n');
    }
}

static char *format_size(uint64_t bytes)
{
    static const char units[] = "KMG";
    uint64_t value = bytes / 1024;
    int unit = 0;

    if (!value) {
        return g_strdup("unknown");
    }
    while (unit < 2 && value % 1024 == 0) {
        value /= 1024;
        unit++;
    }
    return g_strdup_printf("%" G_GUINT64_FORMAT "%c", value, units[unit]);
}

static void append_packages(GString *out, const HostTopology *host)
{
    GArray *items = items_new();
    g_autofree HostCpuSet *sets = g_new0(HostCpuSet, host->n_cpus);

    HOST_CPUSET_FOREACH(cpu, &host->online) {
        int id = host->cpus[cpu].package;
        guint i = 0;

        if (id < 0) {
            continue;
        }
        while (i < items->len && g_array_index(items, Item, i).number != id) {
            i++;
        }
        if (i == items->len) {
            Item item = { .key = "package", .number = id, .cpus = &sets[i] };

            g_array_append_val(items, item);
        }
        host_cpuset_add(&sets[i], cpu);
    }
    append_items(out, items);
    g_array_unref(items);
}

static void append_cores(GString *out, const HostTopology *host)
{
    GArray *items = items_new();

    for (int i = 0; i < host->n_cores; i++) {
        Item item = { .key = "core", .number = -1,
                      .cpus = &host->cores[i].cpus };

        /* A CPU that no line names is a core by itself. */
        if (host_cpuset_count(item.cpus) > 1) {
            g_array_append_val(items, item);
        }
    }
    append_items(out, items);
    g_array_unref(items);
}

static void append_llcs(GString *out, const HostTopology *host)
{
    GArray *items = items_new();

    for (int i = 0; i < host->n_llcs; i++) {
        const HostLlc *llc = &host->llcs[i];
        Item item = { .key = "cache", .number = -1, .cpus = &llc->cpus };
        g_autofree char *size = format_size(llc->bytes);

        /* Level 0 is a package that stands for a cache nobody knows. */
        if (llc->level) {
            item.before = g_strdup_printf("L%u %s", llc->level, size);
            g_array_append_val(items, item);
        }
    }
    append_items(out, items);
    g_array_unref(items);
}

static void append_nodes(GString *out, const HostTopology *host)
{
    GArray *items = items_new();

    for (int i = 0; i < host->n_nodes; i++) {
        const HostNode *node = &host->nodes[i];
        Item item = { .key = "node", .number = node->id, .cpus = &node->cpus };
        g_autofree char *size = format_size(node->mem_bytes);

        if (!host_cpuset_empty(&node->cpus)) {
            item.before = g_strdup("cpus");
        }
        if (node->has_memory) {
            item.after = g_strconcat("mem ", size, NULL);
        }
        g_array_append_val(items, item);
    }
    append_items(out, items);
    g_array_unref(items);
    for (int a = 0; a < host->n_nodes; a++) {
        g_string_append_printf(out, "distance %d", host->nodes[a].id);
        for (int b = 0; b < host->n_nodes; b++) {
            g_string_append_printf(out, " %u",
                                   host_topology_distance(host, a, b));
        }
        g_string_append_c(out, '\n');
    }
}

static void append_set(GString *out, const char *key, const HostCpuSet *set)
{
    g_autofree char *list = host_cpuset_to_list(set);

    if (*list) {
        g_string_append_printf(out, "%s %s\n", key, list);
    }
}

/*
 * Capacities are written as soon as CPUs differ in anything, also where all
 * are the same: so they are not guessed from the kinds when read back.
 */
static void append_speeds(GString *out, const HostTopology *host)
{
    HostCpuSet performance = { }, efficiency = { }, left = host->online;
    bool mixed = false;

    HOST_CPUSET_FOREACH(cpu, &host->online) {
        const HostCpu *c = &host->cpus[cpu];

        if (c->kind == HOST_CPU_PERFORMANCE) {
            host_cpuset_add(&performance, cpu);
        } else if (c->kind == HOST_CPU_EFFICIENCY) {
            host_cpuset_add(&efficiency, cpu);
        }
        mixed |= c->kind != HOST_CPU_PLAIN || c->capacity != HOST_CAPACITY_MAX;
    }
    append_set(out, "kind performance", &performance);
    append_set(out, "kind efficiency", &efficiency);
    while (mixed && !host_cpuset_empty(&left)) {
        unsigned capacity = host->cpus[host_cpuset_next(&left, 0)].capacity;
        g_autofree char *key = g_strdup_printf("capacity %u", capacity);
        HostCpuSet same = { };

        HOST_CPUSET_FOREACH(cpu, &left) {
            if (host->cpus[cpu].capacity == capacity) {
                host_cpuset_add(&same, cpu);
            }
        }
        append_set(out, key, &same);
        host_cpuset_andnot(&left, &same);
    }
}

char *host_description_capture(const char *root, GError **err)
{
    g_autoptr(HostTopology) host = host_topology_read(root, err);
    GString *out;

    if (!host) {
        return NULL;
    }
    out = g_string_new("# A host's CPUs, caches and nodes; the format is in "
                       "tests/hosts/README.md\n");
    for (guint i = 0; i < host->notes->len; i++) {
        g_autofree char *note = g_strdup(g_ptr_array_index(host->notes, i));

        /* A file's own text may be quoted in it: keep to one printable line. */
        for (char *c = note; *c; c++) {
            *c = g_ascii_isprint(*c) ? *c : '?';
        }
        g_string_append_printf(out, "# note: %s\n", note);
    }
    append_set(out, "cpus", &host->possible);
    if (!host_cpuset_equal(&host->possible, &host->online)) {
        append_set(out, "online", &host->online);
    }
    append_set(out, "isolated", &host->isolated);
    append_packages(out, host);
    append_cores(out, host);
    append_llcs(out, host);
    append_nodes(out, host);
    append_speeds(out, host);
    return g_string_free(out, FALSE);
}

static int remove_entry(const char *path, const struct stat *st, int flag,
                        struct FTW *ftw)
{
    /* Going on leaves as little as can be behind. */
    remove(path);
    return 0;
}

/*
 * Where a tree of some ten thousand tiny files is made: in memory if possible,
 * which takes a fiftieth of the time of a disk.
 */
static char *make_tmp(GError **err)
{
    if (!g_getenv("TMPDIR")) {
        g_autofree char *dir = g_strdup("/dev/shm/llcsched-host-XXXXXX");

        if (g_mkdtemp(dir)) {
            return g_steal_pointer(&dir);
        }
    }
    return g_dir_make_tmp("llcsched-host-XXXXXX", err);
}

static HostTopology *load_built(const HostDescription *desc, GError **err)
{
    g_autofree char *dir = make_tmp(err);
    HostTopology *host = NULL;

    if (!dir) {
        return NULL;
    }
    if (host_description_build(desc, dir, err)) {
        host = host_topology_read(dir, err);
    }
    nftw(dir, remove_entry, TREE_DEPTH, FTW_DEPTH | FTW_PHYS);
    return host;
}

/* Longer than any description that parses; the rest is not read. */
#define FILE_MAX (8 * 1024 * 1024)

static char *read_description(const char *path, gsize *ret_len, GError **err)
{
    g_autofree char *text = g_malloc(FILE_MAX);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    gsize len = 0;
    ssize_t n = fd < 0 ? -1 : 1;

    while (n > 0 && len < FILE_MAX) {
        do {
            n = read(fd, text + len, FILE_MAX - len);
        } while (n < 0 && errno == EINTR);
        len += MAX(n, 0);
    }
    if (n < 0) {
        g_set_error(err, HOST_DESCRIPTION_ERROR, HOST_DESCRIPTION_ERROR_IO,
                    "%s: %s", path, g_strerror(errno));
    }
    if (fd >= 0) {
        close(fd);
    }
    *ret_len = len;
    return n < 0 ? NULL : g_steal_pointer(&text);
}

HostTopology *host_description_load_host(const char *path, GError **err)
{
    g_autoptr(HostDescription) desc = NULL;
    g_autofree char *text = NULL;
    gsize len;

    if (g_file_test(path, G_FILE_TEST_IS_DIR)) {
        return host_topology_read(path, err);
    }
    text = read_description(path, &len, err);
    if (!text) {
        return NULL;
    }
    desc = host_description_parse(text, len, err);
    if (!desc) {
        g_prefix_error(err, "%s: ", path);
        return NULL;
    }
    return load_built(desc, err);
}
