/*
 * What the parts of bench-throttle share
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "throttle.h"

/* Some periods of either length, and the debt of before is repaid. */
#define SETTLE_MS 400

void throttle_vm_start(Throttle *throttle, const char *mode, int n_vcpus)
{
    g_autofree char *args = limiter_args(n_vcpus, "");

    guest_vm_start(&throttle->guest, mode, n_vcpus, args);
    limiter_init(&throttle->limiter, throttle->guest.vm, n_vcpus,
                 throttle->tree);
}

void throttle_vm_end(Throttle *throttle)
{
    guest_vm_end(&throttle->guest);
    limiter_clear(&throttle->limiter);
}

void throttle_settle(Throttle *throttle, const LimitSide *side, double cpus)
{
    limiter_set(&throttle->limiter, side, cpus, 0);
    g_usleep(SETTLE_MS * 1000);
}

void throttle_rounds(Throttle *throttle, const LimitSide *sides, int n,
                     ThrottleMeasure *measure, void *opaque)
{
    for (int round = 0; round < throttle->rounds; round++) {
        for (int i = 0; i < n; i++) {
            const LimitSide *side = &sides[round % 2 ? n - 1 - i : i];

            if (side->by != LIMIT_BY_KERNEL || throttle->tree) {
                measure(throttle, side, round, opaque);
            }
        }
    }
}

void throttle_summary(const Throttle *throttle, const char *row,
                      const char *side, const char *metric, const char *what,
                      const char *unit, const BenchBound *bound)
{
    const GArray *values = samples_get(throttle->samples, row, side, metric);
    g_autofree char *name = g_strdup_printf("%s: %s", what, side);

    if (values) {
        bench_row(&throttle->bench, name, unit, values, bound);
    }
}

void throttle_ratio(Throttle *throttle, const char *row,
                    const char *side, const char *to_side,
                    const char *metric, double factor, const char *what,
                    const BenchBound *bound)
{
    const GArray *values = samples_get(throttle->samples, row, side, metric);
    const GArray *others = samples_get(throttle->samples, row, to_side,
                                       metric);
    g_autoptr(GArray) ratios = g_array_new(false, false, sizeof(double));

    if (!values || !others) {
        bench_say("skipped: %s", what);
        throttle->skipped++;
        return;
    }
    for (guint i = 0; i < MIN(values->len, others->len); i++) {
        double ratio = factor * g_array_index(values, double, i) /
                       g_array_index(others, double, i);

        g_array_append_val(ratios, ratio);
    }
    bench_row(&throttle->bench, what, "", ratios, bound);
}
