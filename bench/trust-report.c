/*
 * What trust-load saw in the lab, and what follows from it
 *
 * Work is not measured there, since the lab's CPUs share this machine's: it
 * follows from who ran beside whom, and from how much more two siblings do
 * than one, the yield, which is left open.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "trust.h"
#include "summary.h"
#include "trust-sides.h"

#include <string.h>

/* Below this part of core time, percent, siblings are not shared. */
#define SHARED_LEAST 5

/* The yield that the table has; the samples have all. */
#define YIELD_SHOWN "1.2"

static const char *const sides[] = TRUST_SIDE_NAMES;

/* One window of one side, percent of the time of all cores. */
typedef struct Parts {
    double alone, shared;
} Parts;

/* A yield is the work of two siblings, so one of them does half of it. */
static bool get_parts(const TrustBench *trust, const char *row,
                      const char *side, guint round, Parts *ret_parts)
{
    static const struct {
        const char *metric;
        double alone, shared;
    } terms[] = {
        { TRUST_ALONE, 1, 0 }, { TRUST_PAIRED, 0, 1 },
        { TRUST_OVERLAP, 0, 1 }, { TRUST_BESIDE, 0, 0.5 },
    };
    Parts parts = { 0 };

    for (guint i = 0; i < G_N_ELEMENTS(terms); i++) {
        const GArray *values = samples_get(trust->samples, row, side,
                                           terms[i].metric);

        if (!values || round >= values->len) {
            return false;
        }
        parts.alone += terms[i].alone * g_array_index(values, double, round);
        parts.shared += terms[i].shared * g_array_index(values, double,
                                                        round);
    }
    *ret_parts = parts;
    return true;
}

static double work(const Parts *parts, double yield)
{
    return parts->alone + yield * parts->shared;
}

/* Of one pair of windows. */
static void derive(const TrustBench *trust, const char *row, const char *side,
                   guint round, const Parts *parts, const Parts *off)
{
    for (int tenths = 10; tenths <= 14; tenths++) {
        double yield = tenths / 10.0;
        g_autofree char *metric = g_strdup_printf("work at %.1f", yield);

        samples_add(trust->samples, row, side, round, metric, "",
                    work(parts, yield) / work(off, yield));
    }
    if (parts->shared >= SHARED_LEAST) {
        samples_add(trust->samples, row, side, round, "break-even", "",
                    (work(off, 1) - parts->alone) / parts->shared);
    }
}

static void derive_row(const TrustBench *trust, const char *row)
{
    Parts parts, off;

    for (int side = 0; side < N_TRUST_SIDES; side++) {
        for (guint round = 0;
             get_parts(trust, row, sides[side], round, &parts) &&
             get_parts(trust, row, sides[TRUST_SIDE_SMT_OFF], round, &off);
             round++) {
            derive(trust, row, sides[side], round, &parts, &off);
        }
    }
}

static void summarize(const TrustBench *trust, const char *row,
                      const char *metric, const char *unit,
                      const BenchBound *bound)
{
    g_autofree char *what = g_strdup_printf("%s: %s", row, metric);

    for (int side = 0; side < N_TRUST_SIDES; side++) {
        bool cookies = side >= TRUST_SIDE_LIBVIRT;
        bool off = side == TRUST_SIDE_SMT_OFF;

        if (cookies || (!off && strstr(metric, "work"))) {
            summary_row(&trust->bench, trust->samples, row, sides[side],
                        metric, what, unit,
                        side == TRUST_SIDE_LLCSCHED ? bound : NULL);
        }
    }
}

static void report(const TrustBench *trust, const char *row,
                   const BenchBound *forced, const BenchBound *even)
{
    derive_row(trust, row);
    summarize(trust, row, "work at " YIELD_SHOWN, "", NULL);
    summarize(trust, row, "break-even", "", even);
    summarize(trust, row, TRUST_FORCED_IDLE, "%", forced);
    summarize(trust, row, TRUST_OVERLAP, "%", NULL);
    summarize(trust, row, "share error", "%", NULL);
    summarize(trust, row, "longest wait", "ms", NULL);
}

void trust_loads(TrustBench *trust)
{
    const double loads[] = TRUST_LOADS;
    const BenchBound forced = { .median = 1 }, even = { .median = 1.05 };

    for (guint i = 0; i < G_N_ELEMENTS(loads); i++) {
        g_autofree char *row = g_strdup_printf(TRUST_LOAD_ROW, loads[i]);

        report(trust, row, loads[i] == 0.5 ? &forced : NULL,
               loads[i] == 2 ? &even : NULL);
    }
}

void trust_bursts(TrustBench *trust)
{
    const double softirqs[] = TRUST_SOFTIRQS;

    for (guint i = 0; i < G_N_ELEMENTS(softirqs); i++) {
        g_autofree char *row = g_strdup_printf(TRUST_SOFTIRQ_ROW,
                                               softirqs[i]);

        report(trust, row, NULL, NULL);
    }
}
