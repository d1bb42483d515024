/*
 * The kernel's CPU bandwidth control, for the benchmark: a tree of cgroups
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "cgroup.h"
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * The most shares that version 2 knows, and as many in version 1, where a
 * group has 1024 by default.
 */
#define WEIGHT "10000"
#define SHARES "102400"

/* What is killed leaves its group a little later. */
#define REMOVE_TRIES 500
#define REMOVE_PAUSE_US 10000

struct CgroupTree {
    int version;
    char *mount;
    char *path;
    bool enabled_cpu;       /* version 2: in the root, by us */
};

static bool try_write(const char *dir, const char *file, const char *text,
                      GError **err)
{
    g_autofree char *path = g_build_filename(dir, file, NULL);
    ssize_t len = strlen(text);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    ssize_t written = fd < 0 ? -1 : write(fd, text, len);
    int code = errno;

    if (fd >= 0) {
        close(fd);
    }
    if (written != len) {
        g_set_error(err, G_FILE_ERROR, g_file_error_from_errno(code),
                    "%s takes no '%s': %s", path, text, g_strerror(code));
        return false;
    }
    return true;
}

static void write_or_fail(const CgroupTree *tree, const char *name,
                          const char *file, const char *text)
{
    g_autofree char *dir = g_build_filename(tree->path, name, NULL);
    g_autoptr(GError) err = NULL;

    if (!try_write(dir, file, text, &err)) {
        bench_fail("%s", err->message);
    }
}

static void write_number(const CgroupTree *tree, const char *name,
                         const char *file, int64_t number)
{
    g_autofree char *text = g_strdup_printf("%" G_GINT64_FORMAT, number);

    write_or_fail(tree, name, file, text);
}

/* True if @word is one of those in @list, which @separators separate. */
static bool has_word(const char *list, const char *separators,
                     const char *word)
{
    g_auto(GStrv) words = g_strsplit_set(list, separators, -1);

    return g_strv_contains((const char *const *)words, word);
}

static bool file_has_word(const char *dir, const char *file, const char *word)
{
    g_autofree char *path = g_build_filename(dir, file, NULL);
    g_autofree char *text = NULL;

    return g_file_get_contents(path, &text, NULL, NULL) &&
           has_word(text, "\n ", word);
}

/* Find where the cpu controller is. */
static bool find_mount(CgroupTree *tree)
{
    g_autofree char *text = NULL;
    g_auto(GStrv) lines = NULL;

    if (!g_file_get_contents("/proc/self/mounts", &text, NULL, NULL)) {
        return false;
    }
    lines = g_strsplit(text, "\n", -1);
    for (char **line = lines; *line; line++) {
        g_auto(GStrv) words = g_strsplit(*line, " ", -1);
        int version = 0;

        if (g_strv_length(words) < 4) {
            continue;
        }
        if (strcmp(words[2], "cgroup") == 0 && has_word(words[3], ",", "cpu")) {
            version = 1;
        } else if (strcmp(words[2], "cgroup2") == 0 &&
                   file_has_word(words[1], "cgroup.controllers", "cpu")) {
            version = 2;
        }
        if (version) {
            tree->version = version;
            tree->mount = g_strdup(words[1]);
            return true;
        }
    }
    return false;
}

static bool make_top(CgroupTree *tree, GError **err)
{
    if (tree->version == 2 &&
        !file_has_word(tree->mount, "cgroup.subtree_control", "cpu")) {
        if (!try_write(tree->mount, "cgroup.subtree_control", "+cpu", err)) {
            return false;
        }
        tree->enabled_cpu = true;
    }
    if (mkdir(tree->path, 0755) < 0) {
        g_set_error(err, G_FILE_ERROR, g_file_error_from_errno(errno),
                    "%s: %s", tree->path, g_strerror(errno));
        return false;
    }
    if (tree->version == 1) {
        return try_write(tree->path, "cpu.shares", SHARES, err);
    }
    return try_write(tree->path, "cpu.weight", WEIGHT, err) &&
           try_write(tree->path, "cgroup.subtree_control", "+cpu", err);
}

CgroupTree *cgroup_tree_new(GError **err)
{
    CgroupTree *tree = g_new0(CgroupTree, 1);

    if (!find_mount(tree)) {
        g_set_error(err, G_FILE_ERROR, G_FILE_ERROR_NOENT,
                    "there is no cgroup with the cpu controller");
        g_free(tree);
        return NULL;
    }
    tree->path = g_strdup_printf("%s/llcsched-bench-%d", tree->mount,
                                 (int)getpid());
    if (!make_top(tree, err)) {
        cgroup_tree_free(tree);
        return NULL;
    }
    return tree;
}

/* Files of a group vanish with it: only folders count. */
static void remove_folder(const char *path)
{
    g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
    const char *name;

    while (dir && (name = g_dir_read_name(dir))) {
        g_autofree char *child = g_build_filename(path, name, NULL);

        if (g_file_test(child, G_FILE_TEST_IS_DIR)) {
            remove_folder(child);
        }
    }
    for (int i = 0; rmdir(path) < 0 && errno == EBUSY; i++) {
        if (i == REMOVE_TRIES) {
            bench_say("%s stays in use: remove it by rmdir", path);
            return;
        }
        g_usleep(REMOVE_PAUSE_US);
    }
}

void cgroup_tree_free(CgroupTree *tree)
{
    if (!tree) {
        return;
    }
    remove_folder(tree->path);
    if (tree->enabled_cpu) {
        try_write(tree->mount, "cgroup.subtree_control", "-cpu", NULL);
    }
    g_free(tree->mount);
    g_free(tree->path);
    g_free(tree);
}

const char *cgroup_tree_path(const CgroupTree *tree)
{
    return tree->path;
}

int cgroup_tree_version(const CgroupTree *tree)
{
    return tree->version;
}

void cgroup_make(CgroupTree *tree, const char *name)
{
    g_autofree char *path = g_build_filename(tree->path, name, NULL);

    if (mkdir(path, 0755) < 0) {
        bench_fail("%s: %s", path, g_strerror(errno));
    }
}

void cgroup_make_for_threads(CgroupTree *tree, const char *name)
{
    g_autofree char *parent = g_path_get_dirname(name);

    cgroup_make(tree, name);
    if (tree->version == 2) {
        write_or_fail(tree, name, "cgroup.type", "threaded");
        write_or_fail(tree, parent, "cgroup.subtree_control", "+cpu");
    }
}

void cgroup_remove(CgroupTree *tree, const char *name)
{
    g_autofree char *path = g_build_filename(tree->path, name, NULL);

    remove_folder(path);
}

void cgroup_add_process(CgroupTree *tree, const char *name, pid_t pid)
{
    write_number(tree, name, "cgroup.procs", pid);
}

void cgroup_add_thread(CgroupTree *tree, const char *name, pid_t tid)
{
    write_number(tree, name, tree->version == 1 ? "tasks" : "cgroup.threads",
                 tid);
}

/* From no limit, since old and new values need not go together. */
static void set_limits_v1(CgroupTree *tree, const char *name,
                          int64_t quota_us, int64_t period_us,
                          int64_t burst_us)
{
    write_number(tree, name, "cpu.cfs_burst_us", 0);
    write_number(tree, name, "cpu.cfs_quota_us", -1);
    if (quota_us) {
        write_number(tree, name, "cpu.cfs_period_us", period_us);
        write_number(tree, name, "cpu.cfs_quota_us", quota_us);
        write_number(tree, name, "cpu.cfs_burst_us", burst_us);
    }
}

static void set_limits_v2(CgroupTree *tree, const char *name,
                          int64_t quota_us, int64_t period_us,
                          int64_t burst_us)
{
    g_autofree char *max = NULL;

    write_number(tree, name, "cpu.max.burst", 0);
    write_or_fail(tree, name, "cpu.max", "max");
    if (quota_us) {
        max = g_strdup_printf("%" G_GINT64_FORMAT " %" G_GINT64_FORMAT,
                              quota_us, period_us);
        write_or_fail(tree, name, "cpu.max", max);
        write_number(tree, name, "cpu.max.burst", burst_us);
    }
}

void cgroup_set_limits(CgroupTree *tree, const char *name, int64_t quota_us,
                       int64_t period_us, int64_t burst_us)
{
    if (tree->version == 1) {
        set_limits_v1(tree, name, quota_us, period_us, burst_us);
    } else {
        set_limits_v2(tree, name, quota_us, period_us, burst_us);
    }
}

uint64_t cgroup_throttled_periods(CgroupTree *tree, const char *name)
{
    g_autofree char *path = g_build_filename(tree->path, name, "cpu.stat",
                                             NULL);
    g_autofree char *text = NULL;
    const char *found = NULL;

    if (g_file_get_contents(path, &text, NULL, NULL)) {
        found = strstr(text, "nr_throttled ");
    }
    if (!found) {
        bench_fail("%s tells no nr_throttled", path);
    }
    return g_ascii_strtoull(found + strlen("nr_throttled "), NULL, 10);
}
