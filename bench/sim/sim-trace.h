/*
 * The recorded load of a running VM: what each vCPU ran in each window
 *
 * docs/devel/simulator.rst describes the file.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef BENCH_SIM_SIM_TRACE_H
#define BENCH_SIM_SIM_TRACE_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* QEMU's own limit of vCPUs, and a day at the shortest window. */
#define SIM_TRACE_VCPUS_MAX 4096
#define SIM_TRACE_WINDOWS_MAX 864000
/* vCPUs times windows: 384 MB of memory. */
#define SIM_TRACE_ROWS_MAX 16000000

/* Windows, ms: shorter ones would show the reading, not the load. */
#define SIM_TRACE_WINDOW_MIN_MS 100
#define SIM_TRACE_WINDOW_MAX_MS 60000

/* What one vCPU did in one window. */
typedef struct SimTraceRow {
    int64_t run_ns, wait_ns;
    unsigned slices;         /* how often it was put on a CPU */
} SimTraceRow;

typedef struct SimTrace {
    int n_vcpus, n_windows;
    int64_t window_ns;
    SimTraceRow *rows;       /* n_windows times n_vcpus */
} SimTrace;

/* The text's first line. */
#define SIM_TRACE_MAGIC "llcsched-load 1"

/* NULL and @err, with the line's number, on anything that is none. */
SimTrace *sim_trace_parse(const char *text, gsize len, GError **err);
void sim_trace_free(SimTrace *trace); /* NULL is allowed */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(SimTrace, sim_trace_free)

/* The text up to the first window, and one window's rows. */
void sim_trace_print_head(GString *text, int n_vcpus, int64_t window_ns);
void sim_trace_print_rows(GString *text, const SimTraceRow *rows, int n_vcpus);

#define SIM_TRACE_ERROR sim_trace_error_quark()
GQuark sim_trace_error_quark(void);

#endif
