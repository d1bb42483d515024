/*
 * Tests of telling whether the kernel gathers threads by cache itself
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <glib.h>

#include "hw/sched/host-kernel.h"
#include "host-tree.h"

typedef struct KernelCase {
    const char *name;
    const char *release;  /* NULL: no such file, as for the next two */
    const char *features;
    const char *enabled;
    HostCacheAware expected;
} KernelCase;

static const KernelCase cases[] = {
    { "switch-that-is-on-says-so", "6.12.9", "X", "1\n",
      HOST_CACHE_AWARE_YES },
    { "switch-in-letters-says-so", "7.2.0", "X", "Y\n",
      HOST_CACHE_AWARE_YES },
    { "switch-that-is-off-says-so", "7.3.1", "X", "0\n",
      HOST_CACHE_AWARE_NO },
    { "old-kernel-has-none", "7.1.12-amd64", NULL, NULL,
      HOST_CACHE_AWARE_NO },
    { "much-older-kernel-has-none", "6.99.0", NULL, NULL,
      HOST_CACHE_AWARE_NO },
    { "new-kernel-without-the-switch-has-none", "7.2.0", "X", NULL,
      HOST_CACHE_AWARE_NO },
    { "new-kernel-that-cannot-be-asked-is-unknown", "7.2.0-rc1", NULL, NULL,
      HOST_CACHE_AWARE_UNKNOWN },
    { "newer-major-is-new", "10.0", NULL, NULL, HOST_CACHE_AWARE_UNKNOWN },
    { "release-that-is-none-is-unknown", "next", NULL, NULL,
      HOST_CACHE_AWARE_UNKNOWN },
    { "nothing-readable-is-unknown", NULL, NULL, NULL,
      HOST_CACHE_AWARE_UNKNOWN },
};

static void put(const char *dir, const char *path, const char *text)
{
    if (text) {
        host_tree_put_text(dir, path, text);
    }
}

static void test_kernel(const void *opaque)
{
    const KernelCase *c = opaque;
    char *dir = host_tree_new();

    put(dir, "proc/sys/kernel/osrelease", c->release);
    put(dir, "sys/kernel/debug/sched/features", c->features);
    put(dir, "sys/kernel/debug/sched/llc_balancing/enabled", c->enabled);
    g_assert_cmpint(host_kernel_cache_aware(dir), ==, c->expected);
    host_tree_free(dir);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *path = g_strdup_printf("/host-kernel/%s",
                                                cases[i].name);

        g_test_add_data_func(path, &cases[i], test_kernel);
    }
    return g_test_run();
}
