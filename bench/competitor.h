/*
 * Processes that take CPU time from the benchmark's guest
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef BENCH_COMPETITOR_H
#define BENCH_COMPETITOR_H

#include "cgroup.h"

typedef struct Competitor Competitor;

/*
 * Start @per_cpu processes on each CPU that we may use, bound to it.  Each
 * uses @busy_us of CPU time, then sleeps until the next @period_us begin;
 * @busy_us of @period_us never sleeps.  With @tree they are in its group
 * "others", on a par with a VM in "vm".
 */
Competitor *competitor_start(CgroupTree *tree, int per_cpu, int64_t busy_us,
                             int64_t period_us);
void competitor_stop(Competitor *competitor); /* NULL is allowed */

#endif
