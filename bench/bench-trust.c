/*
 * What keeping cookies apart costs: turns here, and a report of the lab's
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "trust.h"

#define ROUNDS_DEFAULT 5

static const struct {
    const char *name;
    void (*measure)(TrustBench *trust);
    bool lab;
} rows[] = {
    { "turns", trust_turns, false },
    { "load", trust_loads, true },
    { "bursts", trust_bursts, true },
};

static const char *row_name(guint i)
{
    return rows[i].name;
}

static void load_lab(const TrustBench *trust, const char *path)
{
    g_autoptr(GError) err = NULL;

    if (path && !samples_load(trust->samples, path, &err)) {
        bench_fail("%s", err->message);
    }
}

int main(int argc, char **argv)
{
    g_autofree char *lab = NULL;
    TrustBench trust = { .rounds = ROUNDS_DEFAULT };
    const GOptionEntry own = {
        "lab", 0, 0, G_OPTION_ARG_FILENAME, &lab,
        "Report the values of trust-load in FILE", "FILE"
    };

    bench_rows_begin(&trust, argc, argv, &own, row_name,
                     G_N_ELEMENTS(rows));
    load_lab(&trust, lab);
    for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
        if (bench_rows_wants(&trust, rows[i].name) &&
            (lab || !rows[i].lab)) {
            bench_say("%s", rows[i].name);
            rows[i].measure(&trust);
        }
    }
    bench_rows_end(&trust);
    return 0;
}
