/*
 * The seed by which a VM decides between LLCs that are equally good
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <glib.h>

#include "hw/sched/placement-seed.h"

/* FNV-1a's own test vector is "foobar"; this one goes on with ten zeros. */
static void test_is_fnv_1a(void)
{
    uint32_t want = 0xbf9cf968; /* of "foobar" */

    for (int i = 0; i < 10; i++) {
        want *= 0x01000193;
    }
    g_assert_cmphex(placement_seed((const uint8_t *)"foobar\0\0\0\0\0\0\0\0\0"),
                    ==, want);
}

static void test_neighbors_spread(void)
{
    int taken[8] = { 0 };

    for (int i = 0; i < 800; i++) {
        uint8_t uuid[16] = { [14] = i >> 8, [15] = i };

        taken[placement_seed(uuid) % 8]++;
    }
    for (int i = 0; i < 8; i++) {
        g_assert_cmpint(taken[i], >, 50);
        g_assert_cmpint(taken[i], <, 150);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/placement-seed/is-fnv-1a", test_is_fnv_1a);
    g_test_add_func("/placement-seed/neighbors-spread", test_neighbors_spread);
    return g_test_run();
}
