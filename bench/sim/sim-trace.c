/*
 * The recorded load of a running VM, as text
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <string.h>
#include "sim-trace.h"

/* A row is four numbers of at most 20 digits. */
#define LINE_MAX_BYTES 128

GQuark sim_trace_error_quark(void)
{
    return g_quark_from_static_string("sim-trace-error-quark");
}

void sim_trace_free(SimTrace *trace)
{
    if (trace) {
        g_free(trace->rows);
        g_free(trace);
    }
}

void sim_trace_print_head(GString *text, int n_vcpus, int64_t window_ns)
{
    g_string_append_printf(text, SIM_TRACE_MAGIC "\nvcpus %d\nwindow-ms %d\n"
                           "# vcpu run_us wait_us slices\n", n_vcpus,
                           (int)(window_ns / 1000000));
}

void sim_trace_print_rows(GString *text, const SimTraceRow *rows, int n_vcpus)
{
    int v;

    for (v = 0; v < n_vcpus; v++) {
        g_string_append_printf(text, "%d %" G_GINT64_FORMAT " %"
                               G_GINT64_FORMAT " %u\n", v,
                               rows[v].run_ns / 1000, rows[v].wait_ns / 1000,
                               rows[v].slices);
    }
}

typedef struct Reader {
    const char *at, *end;
    int line;
    GError **err;
} Reader;

static bool fail(const Reader *reader, const char *what)
{
    g_set_error(reader->err, SIM_TRACE_ERROR, 0, "line %d: %s", reader->line,
                what);
    return false;
}

/* The next line that is neither empty nor a comment; false at the end. */
static bool next_line(Reader *reader, char *line)
{
    while (reader->at < reader->end) {
        const char *newline = memchr(reader->at, '\n',
                                     reader->end - reader->at);
        gsize len = (newline ? newline : reader->end) - reader->at;
        gsize copied = MIN(len, LINE_MAX_BYTES - 1);

        memcpy(line, reader->at, copied);
        line[copied] = 0;
        reader->at = newline ? newline + 1 : reader->end;
        reader->line++;
        if (line[0] && line[0] != '#') {
            return true;
        }
    }
    return false;
}

/* Exactly @n numbers, each at most @max, one blank between two. */
static bool parse_numbers(const char *line, guint64 *values, int n,
                          guint64 max)
{
    g_auto(GStrv) words = g_strsplit(line, " ", n + 1);
    int i;

    for (i = 0; i < n; i++) {
        if (!words[i] || !g_ascii_string_to_unsigned(words[i], 10, 0, max,
                                                     &values[i], NULL)) {
            return false;
        }
    }
    return !words[n];
}

static bool read_named(Reader *reader, const char *name, guint64 min,
                       guint64 max, guint64 *ret_value)
{
    char line[LINE_MAX_BYTES];
    gsize len = strlen(name);
    g_autofree char *expected = g_strdup_printf(
        "expected \"%s N\" with N from %" G_GUINT64_FORMAT " to %"
        G_GUINT64_FORMAT, name, min, max);

    if (!next_line(reader, line) || strncmp(line, name, len) ||
        line[len] != ' ' ||
        !g_ascii_string_to_unsigned(line + len + 1, 10, min, max, ret_value,
                                    NULL)) {
        return fail(reader, expected);
    }
    return true;
}

static bool read_rows(Reader *reader, SimTrace *trace)
{
    g_autoptr(GArray) rows = g_array_new(FALSE, FALSE, sizeof(SimTraceRow));
    char line[LINE_MAX_BYTES];

    while (next_line(reader, line)) {
        guint64 v[4];

        if (!parse_numbers(line, v, 4, G_MAXINT32) ||
            v[0] != rows->len % trace->n_vcpus) {
            return fail(reader, "expected \"VCPU RUN_US WAIT_US SLICES\", "
                        "every vCPU in turn");
        }
        if (rows->len >= SIM_TRACE_ROWS_MAX ||
            rows->len / trace->n_vcpus >= SIM_TRACE_WINDOWS_MAX) {
            return fail(reader, "too many windows; record fewer or longer "
                        "ones");
        }
        g_array_append_vals(rows, &(SimTraceRow) {
            .run_ns = v[1] * 1000, .wait_ns = v[2] * 1000, .slices = v[3],
        }, 1);
    }
    if (!rows->len || rows->len % trace->n_vcpus) {
        return fail(reader, "it ends within a window; expected a row for "
                    "each vCPU");
    }
    trace->n_windows = rows->len / trace->n_vcpus;
    trace->rows = (SimTraceRow *)g_array_free(g_steal_pointer(&rows), FALSE);
    return true;
}

SimTrace *sim_trace_parse(const char *text, gsize len, GError **err)
{
    g_autoptr(SimTrace) trace = g_new0(SimTrace, 1);
    Reader reader = { .at = text, .end = text + len, .err = err };
    char line[LINE_MAX_BYTES];
    guint64 vcpus, ms;

    if (!next_line(&reader, line) || strcmp(line, SIM_TRACE_MAGIC)) {
        fail(&reader, "expected \"" SIM_TRACE_MAGIC "\", as "
             "qemu-llcsched record writes it");
        return NULL;
    }
    if (!read_named(&reader, "vcpus", 1, SIM_TRACE_VCPUS_MAX, &vcpus) ||
        !read_named(&reader, "window-ms", SIM_TRACE_WINDOW_MIN_MS,
                    SIM_TRACE_WINDOW_MAX_MS, &ms)) {
        return NULL;
    }
    trace->n_vcpus = vcpus;
    trace->window_ns = ms * 1000000;
    return read_rows(&reader, trace) ? g_steal_pointer(&trace) : NULL;
}
