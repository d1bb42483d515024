/*
 * What the simulator's runs showed: percentiles, means, deviations
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <math.h>
#include "sim-case.h"

#define NS_PER_MS 1000000.0

static const struct {
    const char *name;
    int digits;
} columns[SIM_COLUMNS] = {
    [SIM_P50_US] = { "p50", 2 }, [SIM_P99_US] = { "p99", 2 },
    [SIM_THROUGHPUT] = { "throughput", 1 },
    [SIM_MIGRATIONS] = { "migrations", 1 }, [SIM_ALIGNED] = { "aligned", 4 },
    [SIM_P90_US] = { "p90", 2 }, [SIM_P999_US] = { "p999", 2 },
    [SIM_MOVES] = { "moves", 2 },
};

static gint compare_double(gconstpointer a, gconstpointer b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

static double percentile(const GArray *sorted, double part)
{
    if (!sorted->len) {
        return 0;
    }
    return g_array_index(sorted, double, (guint)((sorted->len - 1) * part));
}

/* Useful work of the measured VMs, in ms of a full CPU per second. */
static double throughput(const Sim *sim, double seconds)
{
    double done = 0;
    int v;

    for (v = 0; v < sim->n_vms; v++) {
        done += sim->vms[v].neighbor ? 0 : sim->vms[v].done_ns;
    }
    return done / NS_PER_MS / seconds;
}

void sim_result_add(SimResult *result, Sim *sim, double seconds)
{
    double value[SIM_COLUMNS];
    int i;

    g_array_sort(sim->waits, compare_double);
    value[SIM_P50_US] = percentile(sim->waits, 0.5);
    value[SIM_P90_US] = percentile(sim->waits, 0.9);
    value[SIM_P99_US] = percentile(sim->waits, 0.99);
    value[SIM_P999_US] = percentile(sim->waits, 0.999);
    value[SIM_THROUGHPUT] = throughput(sim, seconds);
    value[SIM_MIGRATIONS] = sim->migrations / seconds;
    value[SIM_ALIGNED] = sim->wakes ? (double)sim->near_wakes / sim->wakes
                                    : 1;
    value[SIM_MOVES] = sim->moves;
    for (i = 0; i < SIM_COLUMNS; i++) {
        result->sum[i] += value[i];
        result->squares[i] += value[i] * value[i];
    }
    result->n++;
}

const char *sim_result_header(void)
{
    return "p50_us,p99_us,throughput,migrations,aligned,p90_us,p999_us,moves,"
           "p50_std,p99_std,throughput_std,migrations_std,aligned_std,p90_std,"
           "p999_std,moves_std,seeds";
}

void sim_result_print(const SimResult *result, GString *text)
{
    char number[G_ASCII_DTOSTR_BUF_SIZE], format[8];
    int pass, i;

    for (pass = 0; pass < 2; pass++) {
        for (i = 0; i < SIM_COLUMNS; i++) {
            double mean = result->sum[i] / result->n;
            double variance = result->n < 2 ? 0 :
                (result->squares[i] - mean * result->sum[i]) /
                (result->n - 1);

            g_snprintf(format, sizeof(format), "%%.%df", columns[i].digits);
            g_ascii_formatd(number, sizeof(number), format,
                            pass ? sqrt(MAX(variance, 0)) : mean);
            g_string_append_printf(text, "%s,", number);
        }
    }
    g_string_append_printf(text, "%d", result->n);
}
