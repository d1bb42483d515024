/*
 * The threads of a process as /proc shows them, real and made up
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>
#include <glib/gstdio.h>

#include "../integration/remove-tree.h"
#include "hw/sched/host-threads.h"

/* Fields 3 to 40 of a thread that sleeps: flags @flags, on CPU @cpu. */
#define STAT(flags, cpu)                                                     \
    " S 1 7 7 0 -1 " flags " 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 " \
    "25 26 27 28 29 30 31 32 33 34 35 36 37 38 " cpu " 40 41\n"

typedef struct Root {
    char *path;
} Root;

static void root_set_up(Root *root, gconstpointer data)
{
    root->path = g_dir_make_tmp("llcsched-test-XXXXXX", NULL);
}

static void root_tear_down(Root *root, gconstpointer data)
{
    remove_tree(root->path);
    g_free(root->path);
}

static char *make_folder(const Root *root, const char *name)
{
    char *dir = g_build_filename(root->path, "proc", name, NULL);

    g_assert_cmpint(g_mkdir_with_parents(dir, 0700), ==, 0);
    return dir;
}

static void put(const Root *root, const char *folder, const char *name,
                const char *text)
{
    g_autofree char *dir = make_folder(root, folder);
    g_autofree char *file = g_build_filename(dir, name, NULL);

    g_assert_true(g_file_set_contents(file, text, -1, NULL));
}

static gpointer wait_for_end(gpointer end)
{
    g_mutex_lock(end);
    g_mutex_unlock(end);
    return NULL;
}

static bool lists(const GArray *tids, int tid)
{
    for (guint i = 0; i < tids->len; i++) {
        if (g_array_index(tids, int, i) == tid) {
            return true;
        }
    }
    return false;
}

static void test_own_threads_are_listed(void)
{
    g_autoptr(GArray) one = host_threads_list("");
    g_autoptr(GArray) two = NULL;
    GMutex end;
    GThread *thread;

    g_mutex_init(&end);
    g_mutex_lock(&end);
    thread = g_thread_new("other", wait_for_end, &end);
    two = host_threads_list("");
    g_mutex_unlock(&end);
    g_thread_join(thread);
    g_mutex_clear(&end);
    g_assert_true(lists(one, getpid()));
    g_assert_true(lists(two, getpid()));
    g_assert_cmpint(two->len, ==, one->len + 1);
    for (guint i = 1; i < two->len; i++) {
        g_assert_cmpint(g_array_index(two, int, i - 1), <,
                        g_array_index(two, int, i));
    }
}

static void test_own_name_and_cpu(void)
{
    cpu_set_t before, one;
    HostThread thread;
    int cpu = 0;

    g_assert_cmpint(sched_getaffinity(0, sizeof(before), &before), ==, 0);
    while (!CPU_ISSET(cpu, &before)) {
        cpu++;
    }
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    g_assert_cmpint(sched_setaffinity(0, sizeof(one), &one), ==, 0);
    g_assert_cmpint(prctl(PR_SET_NAME, "a) S (b"), ==, 0);
    g_assert_true(host_thread_read("", gettid(), &thread));
    g_assert_cmpint(sched_setaffinity(0, sizeof(before), &before), ==, 0);
    g_assert_cmpint(thread.cpu, ==, cpu);
    g_assert_cmpstr(thread.name, ==, "a) S (b");
    g_assert_false(thread.fixed);
    g_assert_false(host_thread_is_vhost(&thread));
    g_assert_false(host_thread_read("/nowhere", gettid(), &thread));
}

static void test_by_open_folders(void)
{
    int process = open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int task = open("/proc/thread-self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    g_autoptr(GArray) by_root = host_threads_list("");
    g_autoptr(GArray) by_folder = host_threads_list_at(process);
    HostThread thread, again;

    g_assert_cmpmem(by_folder->data, by_folder->len * sizeof(int),
                    by_root->data, by_root->len * sizeof(int));
    g_assert_true(host_thread_read_at(task, &thread));
    g_assert_true(host_thread_read("", gettid(), &again));
    g_assert_cmpuint(thread.start, >, 0);
    g_assert_cmpuint(thread.start, ==, again.start);
    g_assert_null(host_threads_list_at(task));
    close(process);
    close(task);
}

static void test_folder_with_odd_entries(Root *root, gconstpointer data)
{
    static const char *const names[] = {
        "self/task/12", "self/task/3", "self/task/0", "self/task/-4",
        "self/task/x", "self/task/99999999999", "self/task/7x",
    };
    g_autoptr(GArray) tids = host_threads_list(root->path);

    g_assert_null(tids);
    for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
        g_free(make_folder(root, names[i]));
    }
    tids = host_threads_list(root->path);
    g_assert_cmpint(tids->len, ==, 2);
    g_assert_cmpint(g_array_index(tids, int, 0), ==, 3);
    g_assert_cmpint(g_array_index(tids, int, 1), ==, 12);
}

static void test_stat_of_any_text(Root *root, gconstpointer data)
{
    static const struct {
        const char *text, *name;
        int cpu;
        bool fixed, vhost;
    } rows[] = {
        { "7 (a)" STAT("64", "5"), "a", 5, false, false },
        { "7 (a) R 1 (b) 9)" STAT("64", "5"), "a) R 1 (b) 9", 5, false, false },
        { "7 (iou-wrk-7)" STAT("67108928", "0"), "iou-wrk-7", 0, true, false },
        { "7 (vhost-12)" STAT("16448", "1"), "vhost-12", 1, false, true },
        { "7 (vhost-12x)" STAT("16448", "1"), "vhost-12x", 1, false, false },
        { "7 (IO vhost-12)" STAT("64", "1"), "IO vhost-12", 1, false, false },
        { "7 (a)" STAT("64", "-5"), NULL, 0, false, false },
        { "7 (a)" STAT("64", "99999"), NULL, 0, false, false },
        { "7 (a)" STAT("x", "5"), NULL, 0, false, false },
        { "7 (a" STAT("64", "5"), NULL, 0, false, false },
        { "7 a)" STAT("64", "5"), NULL, 0, false, false },
        { ")(" STAT("64", "5"), NULL, 0, false, false },
        { "7 (0123456789012345678901234567890123456789012345678901234567890123)"
          STAT("64", "5"), NULL, 0, false, false },
        { "7 (a) R 4 5\n", NULL, 0, false, false },
        { "garbage", NULL, 0, false, false },
        { "", NULL, 0, false, false },
    };

    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        HostThread thread = { .cpu = -7 };
        bool ok;

        put(root, "self/task/7", "stat", rows[i].text);
        ok = host_thread_read(root->path, 7, &thread);
        g_test_message("%s", rows[i].text);
        g_assert_true(ok == (rows[i].name != NULL));
        if (!ok) {
            g_assert_cmpint(thread.cpu, ==, -7);
            continue;
        }
        g_assert_cmpstr(thread.name, ==, rows[i].name);
        g_assert_cmpint(thread.cpu, ==, rows[i].cpu);
        g_assert_true(thread.fixed == rows[i].fixed);
        g_assert_true(host_thread_is_vhost(&thread) == rows[i].vhost);
    }
}

static void test_open_vhost_devices(Root *root, gconstpointer data)
{
    g_autofree char *dir = make_folder(root, "self/fd");
    g_autofree char *other = g_build_filename(dir, "3", NULL);
    g_autofree char *net = g_build_filename(dir, "4", NULL);

    g_assert_false(host_threads_use_vhost("/nowhere"));
    g_assert_false(host_threads_use_vhost(root->path));
    g_assert_cmpint(symlink("/dev/net/tun", other), ==, 0);
    put(root, "self/fd", "5", "no link");
    g_assert_false(host_threads_use_vhost(root->path));
    g_assert_cmpint(symlink("/dev/vhost-net", net), ==, 0);
    g_assert_true(host_threads_use_vhost(root->path));
}

static void test_workers_of_the_kernel(Root *root, gconstpointer data)
{
    g_autoptr(GArray) tids = host_threads_kernel_vhost(root->path, 44);

    g_assert_cmpint(tids->len, ==, 0);
    put(root, "90", "comm", "vhost-44\n");
    put(root, "80", "comm", "vhost-44\n");
    put(root, "70", "comm", "vhost-441\n");
    put(root, "60", "comm", "vhost-4\n");
    put(root, "44", "comm", "qemu\n");
    put(root, "sys", "comm", "vhost-44\n");
    g_free(make_folder(root, "50"));
    g_clear_pointer(&tids, g_array_unref);
    tids = host_threads_kernel_vhost(root->path, 44);
    g_assert_cmpint(tids->len, ==, 2);
    g_assert_cmpint(g_array_index(tids, int, 0), ==, 80);
    g_assert_cmpint(g_array_index(tids, int, 1), ==, 90);
}

#define ADD_ROOT_TEST(name, function)                                 \
    g_test_add("/host-threads/" name, Root, NULL, root_set_up, function, \
               root_tear_down)

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/host-threads/own-threads-are-listed",
                    test_own_threads_are_listed);
    g_test_add_func("/host-threads/own-name-and-cpu", test_own_name_and_cpu);
    g_test_add_func("/host-threads/the-same-by-open-folders",
                    test_by_open_folders);
    ADD_ROOT_TEST("only-numbers-are-threads", test_folder_with_odd_entries);
    ADD_ROOT_TEST("a-name-cannot-move-a-field", test_stat_of_any_text);
    ADD_ROOT_TEST("open-vhost-devices-are-seen", test_open_vhost_devices);
    ADD_ROOT_TEST("workers-of-the-kernel-are-found",
                  test_workers_of_the_kernel);
    return g_test_run();
}
