/*
 * Trees that look like /sys, for tests
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <errno.h>
#include <ftw.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "host-tree.h"

#define SYSTEM_DIR "sys/devices/system"

char *host_tree_new(void)
{
    char *dir = g_strdup("/dev/shm/llcsched-test-XXXXXX");
    GError *err = NULL;

    if (!g_mkdtemp(dir)) {
        g_free(dir);
        dir = g_dir_make_tmp("llcsched-test-XXXXXX", &err);
        g_assert_no_error(err);
    }
    return dir;
}

static int remove_entry(const char *path, const struct stat *st, int flag,
                        struct FTW *ftw)
{
    return remove(path);
}

static int open_folder(const char *path, const struct stat *st, int flag,
                       struct FTW *ftw)
{
    return flag == FTW_D || flag == FTW_DNR ? g_chmod(path, 0755) : 0;
}

void host_tree_free(char *dir)
{
    if (dir) {
        nftw(dir, open_folder, 32, FTW_PHYS);
        nftw(dir, remove_entry, 32, FTW_DEPTH | FTW_PHYS);
        g_free(dir);
    }
}

char *host_tree_build(const char *text)
{
    GError *err = NULL;
    g_autoptr(HostDescription) desc = NULL;
    char *dir = host_tree_new();

    desc = host_description_parse(text, strlen(text), &err);
    g_assert_no_error(err);
    host_description_build(desc, dir, &err);
    g_assert_no_error(err);
    return dir;
}

char *host_tree_host_path(const char *name)
{
    g_autofree char *file = g_strconcat(name, ".host", NULL);
    const char *root = g_getenv("LLCSCHED_SOURCE_ROOT");

    return g_build_filename(root ? root : ".", "tests", "hosts", file, NULL);
}

char *host_tree_build_file(const char *name)
{
    g_autofree char *path = host_tree_host_path(name);
    g_autofree char *text = NULL;
    GError *err = NULL;

    g_file_get_contents(path, &text, NULL, &err);
    g_assert_no_error(err);
    return host_tree_build(text);
}

HostTopology *host_tree_read(const char *dir)
{
    GError *err = NULL;
    HostTopology *host = host_topology_read(dir, &err);

    g_assert_no_error(err);
    g_assert_nonnull(host);
    return host;
}

HostTopology *host_tree_topology(const char *text)
{
    char *dir = host_tree_build(text);
    HostTopology *host = host_tree_read(dir);

    host_tree_free(dir);
    return host;
}

static void put_bytes(const char *full, const char *data, size_t len)
{
    g_autofree char *parent = g_path_get_dirname(full);
    FILE *file;

    g_assert_cmpint(g_mkdir_with_parents(parent, 0755), ==, 0);
    file = fopen(full, "w");
    g_assert_nonnull(file);
    g_assert_cmpuint(fwrite(data, 1, len, file), ==, len);
    fclose(file);
}

void host_tree_put(const char *dir, const char *path, const char *data,
                   gssize len)
{
    g_autofree char *full = g_build_filename(dir, SYSTEM_DIR, path, NULL);

    put_bytes(full, data, len < 0 ? strlen(data) : len);
}

void host_tree_put_text(const char *dir, const char *path, const char *text)
{
    g_autofree char *full = g_build_filename(dir, path, NULL);

    put_bytes(full, text, strlen(text));
}

void host_tree_remove(const char *dir, const char *path)
{
    g_autofree char *full = g_build_filename(dir, SYSTEM_DIR, path, NULL);

    g_assert_cmpint(nftw(full, remove_entry, 32, FTW_DEPTH | FTW_PHYS), ==, 0);
}

static GPtrArray *found;
static size_t found_skip;

static int add_file(const char *path, const struct stat *st, int flag,
                    struct FTW *ftw)
{
    if (flag == FTW_F) {
        g_ptr_array_add(found, g_strdup(path + found_skip));
    }
    return 0;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

GPtrArray *host_tree_files(const char *dir)
{
    GPtrArray *files = g_ptr_array_new_with_free_func(g_free);

    found = files;
    found_skip = strlen(dir) + 1;
    g_assert_cmpint(nftw(dir, add_file, 32, FTW_PHYS), ==, 0);
    g_ptr_array_sort(files, compare_names);
    return files;
}

GPtrArray *host_tree_hosts(void)
{
    g_autofree char *any = host_tree_host_path("x");
    g_autofree char *path = g_path_get_dirname(any);
    GPtrArray *hosts = g_ptr_array_new_with_free_func(g_free);
    GError *err = NULL;
    GDir *dir = g_dir_open(path, 0, &err);
    const char *name;

    g_assert_no_error(err);
    while ((name = g_dir_read_name(dir))) {
        if (g_str_has_suffix(name, ".host")) {
            g_ptr_array_add(hosts, g_strndup(name, strlen(name) - 5));
        }
    }
    g_dir_close(dir);
    g_ptr_array_sort(hosts, compare_names);
    return hosts;
}

/* The dumps are not part of the source: they lie beside it, if at all. */
char *host_tree_unpack(const char *file, char **ret_dir, const char **ret_why)
{
    const char *source = g_getenv("LLCSCHED_SOURCE_ROOT");
    g_autofree char *tar = g_build_filename(source ? source : ".", "..",
                                            "shared", "hosts", file, NULL);
    g_autofree char *name = g_strndup(file, strstr(file, ".tar") - file);
    int status = 0;
    char *dir;

    if (!g_file_test(tar, G_FILE_TEST_IS_REGULAR)) {
        *ret_why = "the folder with dumps of real hosts is not there";
        return NULL;
    }
    dir = host_tree_new();
    const char *argv[] = { "tar", "-xf", tar, "-C", dir, NULL };
    if (!g_spawn_sync(NULL, (char **)argv, NULL, G_SPAWN_SEARCH_PATH, NULL,
                      NULL, NULL, NULL, &status, NULL) || status) {
        host_tree_free(dir);
        *ret_why = "tar cannot unpack the dump";
        return NULL;
    }
    *ret_dir = dir;
    return g_build_filename(dir, name, NULL);
}

void host_tree_assert_cpus(const HostCpuSet *set, const char *cpus)
{
    g_autofree char *text = host_cpuset_to_list(set);

    g_assert_cmpstr(text, ==, cpus);
}

static void assert_cpu_sound(const HostTopology *host, int cpu)
{
    const HostCpu *c = &host->cpus[cpu];

    if (!host_cpuset_has(&host->online, cpu)) {
        g_assert_false(c->online);
        g_assert_cmpint(c->core, ==, -1);
        g_assert_cmpint(c->llc, ==, -1);
        return;
    }
    g_assert_true(c->online);
    g_assert_cmpint(c->core, >=, 0);
    g_assert_cmpint(c->core, <, host->n_cores);
    g_assert_cmpint(c->llc, >=, 0);
    g_assert_cmpint(c->llc, <, host->n_llcs);
    g_assert_cmpint(c->node, >=, 0);
    g_assert_cmpint(c->node, <, host->n_nodes);
    g_assert_cmpint(c->capacity, >=, 1);
    g_assert_cmpint(c->capacity, <=, HOST_CAPACITY_MAX);
    g_assert_true(host_cpuset_has(&host->cores[c->core].cpus, cpu));
    g_assert_true(host_cpuset_has(&host->llcs[c->llc].cpus, cpu));
    g_assert_true(host_cpuset_has(&host->nodes[c->node].cpus, cpu));
}

void host_tree_assert_sound(const HostTopology *host)
{
    int in_cores = 0, in_llcs = 0, in_nodes = 0, cores_of_llcs = 0, last = -1;
    int online = host_cpuset_count(&host->online);

    g_assert_cmpint(online, >, 0);
    g_assert_true(host_cpuset_subset(&host->online, &host->possible));
    g_assert_true(host_cpuset_subset(&host->isolated, &host->possible));
    g_assert_true(host_cpuset_has(&host->possible, host->n_cpus - 1));
    for (int cpu = 0; cpu < host->n_cpus; cpu++) {
        assert_cpu_sound(host, cpu);
    }
    for (int i = 0; i < host->n_cores; i++) {
        const HostCore *core = &host->cores[i];

        g_assert_cmpint(host_cpuset_next(&core->cpus, 0), >, last);
        last = host_cpuset_next(&core->cpus, 0);
        in_cores += host_cpuset_count(&core->cpus);
        g_assert_true(host_cpuset_subset(&core->cpus,
                                         &host->llcs[core->llc].cpus));
    }
    last = -1;
    for (int i = 0; i < host->n_llcs; i++) {
        g_assert_cmpint(host_cpuset_next(&host->llcs[i].cpus, 0), >, last);
        last = host_cpuset_next(&host->llcs[i].cpus, 0);
        in_llcs += host_cpuset_count(&host->llcs[i].cpus);
        cores_of_llcs += host->llcs[i].n_cores;
    }
    last = -1;
    for (int i = 0; i < host->n_nodes; i++) {
        g_assert_cmpint(host->nodes[i].id, >, last);
        last = host->nodes[i].id;
        in_nodes += host_cpuset_count(&host->nodes[i].cpus);
        g_assert_cmpint(host_topology_distance(host, i, i), ==, 10);
        for (int j = 0; j < host->n_nodes; j++) {
            g_assert_cmpint(host_topology_distance(host, i, j), >=, 10);
        }
    }
    /* Each CPU is in the set it names, so equal sums make partitions. */
    g_assert_cmpint(in_cores, ==, online);
    g_assert_cmpint(in_llcs, ==, online);
    g_assert_cmpint(in_nodes, ==, online);
    g_assert_cmpint(cores_of_llcs, ==, host->n_cores);
}

bool host_tree_has_note(const HostTopology *host, const char *text)
{
    for (guint i = 0; i < host->notes->len; i++) {
        if (strstr(g_ptr_array_index(host->notes, i), text)) {
            return true;
        }
    }
    return false;
}
