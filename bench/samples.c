/*
 * Every single value that a benchmark measured
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "samples.h"

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

GArray *samples_ratios(const Samples *samples, const char *row,
                       const char *side, const char *to_side,
                       const char *metric, double factor)
{
    const GArray *values = samples_get(samples, row, side, metric);
    const GArray *others = samples_get(samples, row, to_side, metric);
    GArray *ratios;

    if (!values || !others) {
        return NULL;
    }
    ratios = g_array_new(false, false, sizeof(double));
    for (guint i = 0; i < MIN(values->len, others->len); i++) {
        double ratio = factor * g_array_index(values, double, i) /
                       g_array_index(others, double, i);

        g_array_append_val(ratios, ratio);
    }
    return ratios;
}

/* row,side,round,metric,unit,value */
static bool load_line(Samples *samples, const char *line)
{
    g_auto(GStrv) words = g_strsplit(line, ",", -1);
    guint64 round;
    char *end;
    double value;

    if (g_strv_length(words) != 6 ||
        !g_ascii_string_to_unsigned(words[2], 10, 0, G_MAXINT, &round, NULL)) {
        return false;
    }
    value = g_ascii_strtod(words[5], &end);
    if (end == words[5] || *end) {
        return false;
    }
    samples_add(samples, words[0], words[1], round, words[3], words[4],
                value);
    return true;
}

bool samples_load(Samples *samples, const char *path, GError **err)
{
    g_autofree char *text = NULL;
    g_auto(GStrv) lines = NULL;

    if (!g_file_get_contents(path, &text, NULL, err)) {
        return false;
    }
    lines = g_strsplit(text, "\n", -1);
    for (char **line = lines; *line; line++) {
        if (**line && !load_line(samples, *line)) {
            g_set_error(err, G_FILE_ERROR, G_FILE_ERROR_FAILED,
                        "%s has the line '%s', which is no value", path,
                        *line);
            return false;
        }
    }
    return true;
}
