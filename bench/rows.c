/*
 * What programs have in common that measure rows, side by side, in rounds
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "rows.h"
#include "tests/integration/vm.h"

#include <string.h>

#define ROUNDS_MAX 1000
#define WINDOW_MS_MIN 1000

static void check_names(char *const *chosen, BenchRowName *name, guint n)
{
    g_autoptr(GString) known = g_string_new("");

    for (guint i = 0; i < n; i++) {
        g_string_append_printf(known, " %s", name(i));
    }
    for (; *chosen; chosen++) {
        guint i = 0;

        while (i < n && strcmp(name(i), *chosen)) {
            i++;
        }
        if (i == n) {
            bench_fail("there is no row '%s': choose from%s", *chosen,
                       known->str);
        }
    }
}

void bench_rows_begin(BenchRows *rows, int argc, char **argv,
                      const GOptionEntry *own, BenchRowName *name, guint n)
{
    g_autofree char *path = NULL;
    const GOptionEntry more[] = {
        { "samples", 0, 0, G_OPTION_ARG_FILENAME, &path,
          "Add every value to FILE", "FILE" },
        { "rounds", 0, 0, G_OPTION_ARG_INT, &rows->rounds,
          "Measure each side N times", "N" },
        *own,
        { NULL }
    };

    bench_init_more(&rows->bench, &argc, &argv, more);
    rows->chosen = g_strdupv(argv + 1);
    check_names(rows->chosen, name, n);
    if (rows->rounds < 1 || rows->rounds > ROUNDS_MAX) {
        bench_fail("--rounds takes 1 to %d, not %d", ROUNDS_MAX,
                   rows->rounds);
    }
    rows->csv = fopen(path ? path : "/dev/null", "a");
    if (!rows->csv) {
        bench_fail("the file of --samples cannot be written");
    }
    argc = 1;
    argv[1] = NULL;
    vm_test_init(&argc, &argv);
    bench_come_first();
    rows->samples = samples_new(rows->csv);
    rows->window_ms = MAX(WINDOW_MS_MIN,
                          rows->bench.seconds * 1000 / rows->rounds);
}

void bench_rows_end(BenchRows *rows)
{
    samples_free(rows->samples);
    if (fclose(rows->csv)) {
        bench_fail("the values could not be written");
    }
    bench_clear(&rows->bench);
    g_strfreev(rows->chosen);
}

bool bench_rows_wants(const BenchRows *rows, const char *name)
{
    return !*rows->chosen ||
           g_strv_contains((const char *const *)rows->chosen, name);
}
