/*
 * What charging costs at a depth: to be run under callgrind, which counts
 *
 *     bench-charge DEPTH VCPUS LOOKS
 *
 * Each look charges every vCPU of one leaf, settles and asks when to look
 * again.  All levels are finite, and the lowest one binds: it runs dry and is
 * refilled in every period.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <stdio.h>
#include <stdlib.h>

#include "hw/sched/bandwidth.h"

#define PERIOD_NS BANDWIDTH_PERIOD_NS_DEFAULT

static BandwidthGroup *make_chain(BandwidthTree *tree, unsigned depth,
                                  unsigned n_vcpus)
{
    BandwidthLimits limits = { .period_ns = PERIOD_NS };
    BandwidthGroup *group = NULL;

    for (unsigned d = 0; d < depth; d++) {
        /* From three quarters of all CPUs down to a half. */
        limits.quota_ns = n_vcpus * PERIOD_NS *
                          (2 * depth + depth - 1 - d) / (4 * depth);
        group = bandwidth_group_add(tree, group, &limits, 0, NULL);
    }
    bandwidth_group_set_vcpus(group, n_vcpus, 0);
    return group;
}

static void run_looks(BandwidthTree *tree, BandwidthGroup *leaf,
                      unsigned n_vcpus, unsigned looks)
{
    int64_t now = 0, next;
    bool gated = false;

    for (unsigned i = 0; i < looks; i++) {
        next = bandwidth_next_look(tree, now);
        for (unsigned v = 0; v < n_vcpus; v++) {
            bandwidth_charge(leaf, gated ? 0 : next - now);
        }
        now = next;
        if (bandwidth_advance(tree, now)) {
            gated = bandwidth_group_gated(leaf);
        }
    }
}

int main(int argc, char **argv)
{
    g_autoptr(BandwidthTree) tree = bandwidth_tree_new();
    unsigned depth, n_vcpus, looks;

    if (argc != 4) {
        fprintf(stderr, "usage: %s DEPTH VCPUS LOOKS\n", argv[0]);
        return 2;
    }
    depth = CLAMP(atoi(argv[1]), 1, BANDWIDTH_DEPTH_MAX);
    n_vcpus = CLAMP(atoi(argv[2]), 1, 4096);
    looks = MAX(atoi(argv[3]), 0);
    run_looks(tree, make_chain(tree, depth, n_vcpus), n_vcpus, looks);
    return 0;
}
