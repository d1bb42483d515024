/*
 * What keeping cookies apart costs: turns here, and a report of the lab's
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "trust.h"
#include "tests/integration/vm.h"

#define ROUNDS_DEFAULT 5
#define WINDOW_LEAST_MS 1000

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

static void load_lab(TrustBench *trust, const char *path)
{
    g_autoptr(GError) err = NULL;

    if (path && !samples_load(trust->samples, path, &err)) {
        bench_fail("%s", err->message);
    }
    trust->lab = path;
}

static void measure_rows(TrustBench *trust, char **names)
{
    for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
        if (bench_is_chosen(names, rows[i].name) &&
            (trust->lab || !rows[i].lab)) {
            bench_say("%s", rows[i].name);
            rows[i].measure(trust);
        }
    }
}

int main(int argc, char **argv)
{
    TrustBench trust = { .rounds = ROUNDS_DEFAULT };
    g_autofree char *path = NULL;
    g_autofree char *lab = NULL;
    g_auto(GStrv) names = NULL;
    const GOptionEntry more[] = {
        { "samples", 0, 0, G_OPTION_ARG_FILENAME, &path,
          "Add every value to FILE", "FILE" },
        { "lab", 0, 0, G_OPTION_ARG_FILENAME, &lab,
          "Report the values of trust-load in FILE", "FILE" },
        { "rounds", 0, 0, G_OPTION_ARG_INT, &trust.rounds,
          "Measure each side N times", "N" },
        { NULL }
    };
    FILE *csv;

    bench_init_more(&trust.bench, &argc, &argv, more);
    names = g_strdupv(argv + 1);
    bench_check_names(names, row_name, G_N_ELEMENTS(rows));
    if (trust.rounds < 1 || trust.rounds > 1000) {
        bench_fail("--rounds takes 1 to 1000, not %d", trust.rounds);
    }
    csv = bench_open_samples(path);
    argc = 1;
    argv[1] = NULL;
    vm_test_init(&argc, &argv);
    bench_come_first();
    trust.samples = samples_new(csv);
    trust.window_ms = MAX(WINDOW_LEAST_MS,
                          trust.bench.seconds * 1000 / trust.rounds);
    load_lab(&trust, lab);
    measure_rows(&trust, names);
    samples_free(trust.samples);
    if (fclose(csv)) {
        bench_fail("the values could not be written");
    }
    bench_clear(&trust.bench);
    return 0;
}
