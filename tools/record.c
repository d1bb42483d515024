/*
 * qemu-llcsched record: what the vCPUs of a running VM do, for sim
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "hw/sched/host-load-parse.h"
#include "sim-trace.h"
#include "tool.h"

#define NS_PER_S 1000000000ll
#define NS_PER_MS 1000000ll

static const char description[] =
    "The threads of the process that are called \"CPU N/KVM\" or \"CPU N/TCG\" "
    "are its\nvCPUs; QEMU calls them so with -name debug-threads=on, as "
    "libvirt starts it.\nWhat is recorded is how long and how often each ran "
    "and waited in each window.";

typedef struct Options {
    int pid, seconds, window_ms;
} Options;

/* One vCPU's thread, by its number in the guest. */
typedef struct Vcpu {
    int vcpu, tid;
} Vcpu;

static gint compare_vcpus(gconstpointer a, gconstpointer b)
{
    return ((const Vcpu *)a)->vcpu - ((const Vcpu *)b)->vcpu;
}

/* NULL and @err: not readable. */
static char *read_task_file(int pid, const char *tid, const char *file,
                            gsize *ret_len, GError **err)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/task/%s/%s", pid, tid,
                                            file);
    char *text = NULL;

    return g_file_get_contents(path, &text, ret_len, err) ? text : NULL;
}

/* A thread that ends while it is looked at is none. */
static void add_vcpu(GArray *vcpus, int pid, const char *tid)
{
    g_autofree char *name = read_task_file(pid, tid, "comm", NULL, NULL);
    Vcpu vcpu = { .tid = atoi(tid) };
    char end;

    if (name && (sscanf(name, "CPU %d/KVM%c", &vcpu.vcpu, &end) == 2 ||
                 sscanf(name, "CPU %d/TCG%c", &vcpu.vcpu, &end) == 2) &&
        end == '\n' && vcpu.vcpu >= 0) {
        g_array_append_val(vcpus, vcpu);
    }
}

static GArray *find_vcpus(int pid, GError **err)
{
    g_autoptr(GArray) vcpus = g_array_new(FALSE, FALSE, sizeof(Vcpu));
    g_autofree char *path = g_strdup_printf("/proc/%d/task", pid);
    g_autoptr(GDir) dir = g_dir_open(path, 0, err);
    const char *tid;

    if (!dir) {
        return NULL;
    }
    while ((tid = g_dir_read_name(dir))) {
        add_vcpu(vcpus, pid, tid);
    }
    if (!vcpus->len) {
        g_set_error(err, SIM_TRACE_ERROR, 0, "process %d has no threads called "
                    "\"CPU N/KVM\" or \"CPU N/TCG\"; start QEMU with -name "
                    "debug-threads=on", pid);
        return NULL;
    }
    if (vcpus->len > SIM_TRACE_VCPUS_MAX) {
        g_set_error(err, SIM_TRACE_ERROR, 0, "process %d has %u vCPUs; at most "
                    "%d are recorded", pid, vcpus->len, SIM_TRACE_VCPUS_MAX);
        return NULL;
    }
    g_array_sort(vcpus, compare_vcpus);
    return g_steal_pointer(&vcpus);
}

static bool read_times(int pid, const GArray *vcpus, ThreadTimes *times,
                       GError **err)
{
    for (guint i = 0; i < vcpus->len; i++) {
        int tid = g_array_index(vcpus, Vcpu, i).tid;
        g_autofree char *name = g_strdup_printf("%d", tid);
        gsize len = 0;
        g_autofree char *text = read_task_file(pid, name, "schedstat", &len,
                                               err);

        if (!text) {
            return false;
        }
        if (!host_load_parse_thread(text, len, &times[i])) {
            g_set_error(err, SIM_TRACE_ERROR, 0, "/proc/%d/task/%d/schedstat: "
                        "expected three numbers", pid, tid);
            return false;
        }
    }
    return true;
}

static void wait_until(int64_t ns)
{
    struct timespec when = { ns / NS_PER_S, ns % NS_PER_S };

    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, NULL) ==
           EINTR) {
        continue;
    }
}

static int64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * NS_PER_S + now.tv_nsec;
}

static int print_window(const ToolCommand *command, const ThreadTimes *before,
                        const ThreadTimes *now, int n)
{
    g_autofree SimTraceRow *rows = g_new0(SimTraceRow, n);
    g_autoptr(GString) text = g_string_new(NULL);

    for (int i = 0; i < n; i++) {
        rows[i] = (SimTraceRow) {
            .run_ns = MAX((int64_t)(now[i].run_ns - before[i].run_ns), 0),
            .wait_ns = MAX((int64_t)(now[i].wait_ns - before[i].wait_ns), 0),
            .slices = MIN(now[i].slices - before[i].slices, G_MAXINT32),
        };
    }
    sim_trace_print_rows(text, rows, n);
    return tool_print_part(command, text->str);
}

/* Windows begin at fixed times, so that a late one makes no other late. */
static int record(const ToolCommand *command, const Options *o)
{
    g_autoptr(GError) err = NULL;
    g_autoptr(GArray) vcpus = find_vcpus(o->pid, &err);
    int n = vcpus ? vcpus->len : 0;
    g_autofree ThreadTimes *before = g_new0(ThreadTimes, MAX(n, 1));
    g_autofree ThreadTimes *now = g_new0(ThreadTimes, MAX(n, 1));
    g_autoptr(GString) head = g_string_new(NULL);
    int64_t start = now_ns(), window_ns = o->window_ms * NS_PER_MS;
    int64_t windows = MAX(o->seconds * NS_PER_S / window_ns, 1);
    int status = TOOL_OK;

    if (!vcpus || !read_times(o->pid, vcpus, before, &err)) {
        return tool_failed(command, err);
    }
    sim_trace_print_head(head, n, window_ns);
    status = tool_print_part(command, head->str);
    for (int64_t i = 1; !status && i <= windows; i++) {
        wait_until(start + i * window_ns);
        if (!read_times(o->pid, vcpus, now, &err)) {
            return tool_failed(command, err);
        }
        status = print_window(command, before, now, n);
        memcpy(before, now, n * sizeof(*now));
    }
    return status ? status : tool_print(command, "");
}

static int check(const ToolCommand *command, const Options *o)
{
    int64_t limit = o->window_ms / 1000.0 * SIM_TRACE_WINDOWS_MAX;

    if (o->pid <= 0) {
        return tool_usage_error(command, "--pid %d: give the process id of a "
                                "QEMU", o->pid);
    }
    if (o->window_ms < SIM_TRACE_WINDOW_MIN_MS ||
        o->window_ms > SIM_TRACE_WINDOW_MAX_MS) {
        return tool_usage_error(command, "--window %d: give %d to %d ms",
                                o->window_ms, SIM_TRACE_WINDOW_MIN_MS,
                                SIM_TRACE_WINDOW_MAX_MS);
    }
    if (o->seconds < 1 || o->seconds > limit) {
        return tool_usage_error(command, "--seconds %d: give 1 to %" PRId64
                                " with windows of %d ms", o->seconds, limit,
                                o->window_ms);
    }
    return TOOL_OK;
}

int tool_record(const ToolCommand *command, int argc, char **argv)
{
    Options o = { .seconds = 60, .window_ms = 100 };
    const GOptionEntry entries[] = {
        { "pid", 'p', 0, G_OPTION_ARG_INT, &o.pid,
          "The process id of the VM's QEMU", "PID" },
        { "seconds", 't', 0, G_OPTION_ARG_INT, &o.seconds,
          "Record for N seconds (60)", "N" },
        { "window", 'w', 0, G_OPTION_ARG_INT, &o.window_ms,
          "In windows of N ms (100)", "N" },
        { NULL }
    };
    int status;

    if (tool_parse_options(command, entries, description, argc, argv,
                           &status)) {
        status = check(command, &o);
        if (!status) {
            status = record(command, &o);
        }
    }
    return status;
}
