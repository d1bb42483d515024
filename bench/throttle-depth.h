/*
 * Loads that are compared at several depths of the tree
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef BENCH_THROTTLE_DEPTH_H
#define BENCH_THROTTLE_DEPTH_H

#include "throttle.h"

typedef struct DepthLoad DepthLoad;
struct DepthLoad {
    const char *row;
    const char *metric, *unit;
    const char *what;       /* in the summary */
    void (*measure)(Throttle *throttle, const DepthLoad *load,
                    const LimitSide *side, int round);
};

/* Measure @load at each depth, by the kernel and by llcsched. */
void throttle_depth_rounds(Throttle *throttle, const DepthLoad *load);

/* Of each depth, and compared with a depth of one. */
void throttle_depth_summarize(Throttle *throttle, const DepthLoad *load);

#endif
