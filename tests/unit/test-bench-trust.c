/*
 * The benchmark of trust: who ran beside whom
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "../../bench/core-time.h"
#include "../../bench/samples.h"

#include <glib/gstdio.h>
#include <unistd.h>

#define END 1000

/* Threads 1x are of tenant 1, 2x of tenant 2, 3x of nobody. */
static CoreTime sum(const Stretch *stretches, int n)
{
    g_autoptr(GArray) array = g_array_new(false, false, sizeof(Stretch));
    g_autoptr(GHashTable) tenants = g_hash_table_new(NULL, NULL);
    HostCpuSet cores[2] = { 0 };

    for (int cpu = 0; cpu < 4; cpu++) {
        host_cpuset_add(&cores[cpu / 2], cpu);
    }
    for (int tid = 10; tid < 30; tid++) {
        g_hash_table_insert(tenants, GINT_TO_POINTER(tid),
                            GINT_TO_POINTER(tid / 10));
    }
    g_array_append_vals(array, stretches, n);
    return core_time_sum(array, cores, 2, tenants, END);
}

static void test_alone(void)
{
    const Stretch stretches[] = {
        { .cpu = 0, .tid = 10, .from_ns = 0, .to_ns = 400 },
        { .cpu = 2, .tid = 20, .from_ns = 100, .to_ns = 400 },
    };
    CoreTime time = sum(stretches, 2);

    g_assert_cmpint(time.granted_ns[0], ==, 400);
    g_assert_cmpint(time.granted_ns[1], ==, 300);
    g_assert_cmpint(time.alone_ns, ==, 700);
    g_assert_cmpint(time.paired_ns + time.beside_ns + time.overlap_ns, ==, 0);
}

static void test_beside(void)
{
    const Stretch stretches[] = {
        { .cpu = 0, .tid = 10, .from_ns = 0, .to_ns = 1000 },
        { .cpu = 1, .tid = 11, .from_ns = 100, .to_ns = 300 },
        { .cpu = 1, .tid = 30, .from_ns = 300, .to_ns = 350 },
        { .cpu = 1, .tid = 20, .from_ns = 400, .to_ns = 420 },
        { .cpu = 1, .tid = 21, .from_ns = 450, .to_ns = 480 },
    };
    CoreTime time = sum(stretches, 5);

    g_assert_cmpint(time.paired_ns, ==, 200);
    g_assert_cmpint(time.beside_ns, ==, 50);
    g_assert_cmpint(time.overlap_ns, ==, 50);
    g_assert_cmpint(time.longest_overlap_ns, ==, 30);
    g_assert_cmpint(time.overlaps, ==, 2);
    g_assert_cmpint(time.alone_ns, ==, 700);
}

/* A switch at the same moment on both is no overlap. */
static void test_switch(void)
{
    const Stretch stretches[] = {
        { .cpu = 0, .tid = 10, .from_ns = 0, .to_ns = 500 },
        { .cpu = 0, .tid = 20, .from_ns = 500, .to_ns = 1000 },
        { .cpu = 1, .tid = 11, .from_ns = 0, .to_ns = 500 },
        { .cpu = 1, .tid = 21, .from_ns = 500, .to_ns = 1000 },
    };
    CoreTime time = sum(stretches, 4);

    g_assert_cmpint(time.paired_ns, ==, 1000);
    g_assert_cmpint(time.overlaps, ==, 0);
    g_assert_cmpint(time.alone_ns, ==, 0);
}

/* Of those that would have run on; on whatever CPU they do so. */
static void test_waits(void)
{
    const Stretch stretches[] = {
        { .cpu = 0, .tid = 10, .from_ns = 0, .to_ns = 100,
          .preempted = true },
        { .cpu = 0, .tid = 30, .from_ns = 100, .to_ns = 150,
          .preempted = true },
        { .cpu = 1, .tid = 11, .from_ns = 0, .to_ns = 100 },
        { .cpu = 1, .tid = 11, .from_ns = 700, .to_ns = 800 },
        { .cpu = 2, .tid = 10, .from_ns = 220, .to_ns = 300 },
    };
    CoreTime time = sum(stretches, 5);

    g_assert_cmpint(time.longest_wait_ns, ==, 120);
}

static void test_waits_to_the_end(void)
{
    const Stretch stretch = {
        .cpu = 0, .tid = 10, .from_ns = 0, .to_ns = 100, .preempted = true,
    };

    g_assert_cmpint(sum(&stretch, 1).longest_wait_ns, ==, END - 100);
}

/* --- Samples of another program --- */

static bool load(Samples *samples, const char *text)
{
    g_autofree char *path = NULL;
    g_autoptr(GError) err = NULL;
    int fd = g_file_open_tmp(NULL, &path, &err);
    bool loaded;

    g_assert_no_error(err);
    close(fd);
    g_assert_true(g_file_set_contents(path, text, -1, NULL));
    loaded = samples_load(samples, path, &err);
    g_assert_true(loaded == !err);
    g_unlink(path);
    return loaded;
}

static void test_load(void)
{
    FILE *none = fopen("/dev/null", "w");
    g_autoptr(Samples) samples = samples_new(none);
    g_autoptr(GArray) ratios = NULL;

    g_assert_true(load(samples, "load,a,0,work,%,3\nload,b,0,work,%,1.5\n"));
    ratios = samples_ratios(samples, "load", "a", "b", "work", 10);
    g_assert_cmpint(ratios->len, ==, 1);
    g_assert_cmpfloat(g_array_index(ratios, double, 0), ==, 20);
    g_assert_null(samples_ratios(samples, "load", "a", "c", "work", 1));
    g_assert_false(load(samples, "load,a,0,work,%\n"));
    g_assert_false(load(samples, "load,a,0,work,%,3x\n"));
    g_assert_false(load(samples, "load,a,-1,work,%,3\n"));
    fclose(none);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/core-time/alone-on-a-core", test_alone);
    g_test_add_func("/core-time/beside-each-other", test_beside);
    g_test_add_func("/core-time/switched-together-is-no-overlap",
                    test_switch);
    g_test_add_func("/core-time/waits-of-preempted-threads", test_waits);
    g_test_add_func("/core-time/waits-to-the-end", test_waits_to_the_end);
    g_test_add_func("/samples/of-another-program", test_load);
    return g_test_run();
}
