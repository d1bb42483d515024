/*
 * Every single value that a benchmark measured
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "samples.h"

#include <stdbool.h>
#include <string.h>

struct Samples {
    FILE *csv;
    GHashTable *values;     /* "row,side,metric" -> GArray of double */
};

Samples *samples_new(FILE *csv)
{
    Samples *samples = g_new(Samples, 1);

    samples->csv = csv;
    samples->values = g_hash_table_new_full(g_str_hash, g_str_equal, g_free,
                                            (GDestroyNotify)g_array_unref);
    return samples;
}

void samples_free(Samples *samples)
{
    if (!samples) {
        return;
    }
    g_hash_table_unref(samples->values);
    g_free(samples);
}

static char *make_key(const char *row, const char *side, const char *metric)
{
    return g_strdup_printf("%s,%s,%s", row, side, metric);
}

void samples_add(Samples *samples, const char *row, const char *side,
                 int round, const char *metric, const char *unit,
                 double value)
{
    char *key = make_key(row, side, metric);
    GArray *values = g_hash_table_lookup(samples->values, key);
    char text[G_ASCII_DTOSTR_BUF_SIZE];

    g_assert(!strpbrk(row, ",\n") && !strpbrk(side, ",\n") &&
             !strpbrk(metric, ",\n") && !strpbrk(unit, ",\n"));
    if (values) {
        g_free(key);
    } else {
        values = g_array_new(false, false, sizeof(double));
        g_hash_table_insert(samples->values, key, values);
    }
    g_array_append_val(values, value);
    /* in any locale, a point */
    g_ascii_formatd(text, sizeof(text), "%.9g", value);
    fprintf(samples->csv, "%s,%s,%d,%s,%s,%s\n", row, side, round, metric,
            unit, text);
    fflush(samples->csv);
}

const GArray *samples_get(const Samples *samples, const char *row,
                          const char *side, const char *metric)
{
    g_autofree char *key = make_key(row, side, metric);

    return g_hash_table_lookup(samples->values, key);
}
