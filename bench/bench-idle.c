/*
 * What an object with nothing to do costs: a guest that halts
 *
 * Everything that QEMU does besides its vCPUs is compared, with the object and
 * without, in the same process: so work that the object leaves to the main
 * loop, and threads that come and go, are counted as well.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "bench-guest.h"
#include "stats.h"
#include "hw/sched/host-load-parse.h"

#include <string.h>

#define N_VCPUS 2

/* Two looks at the default interval. */
#define WINDOW_MS 2000

/* With, without, with: each this often for each 12 s of time. */
#define WINDOWS_PER_SECONDS 12

static char *task_file(const GuestVm *guest, const char *tid,
                       const char *name)
{
    g_autofree char *path = NULL;
    char *text = NULL;

    path = g_strdup_printf("/proc/%d/task/%s/%s", (int)vm_pid(guest->vm), tid,
                           name);
    return g_file_get_contents(path, &text, NULL, NULL) ? text : NULL;
}

/* The ids of QEMU's threads now: a set of text. */
static GHashTable *list_threads(const GuestVm *guest)
{
    GHashTable *tids = g_hash_table_new_full(g_str_hash, g_str_equal, g_free,
                                             NULL);
    g_autofree char *path = NULL;
    g_autoptr(GDir) dir = NULL;
    const char *tid;

    path = g_strdup_printf("/proc/%d/task", (int)vm_pid(guest->vm));
    dir = g_dir_open(path, 0, NULL);
    while (dir && (tid = g_dir_read_name(dir))) {
        g_hash_table_add(tids, g_strdup(tid));
    }
    return tids;
}

/*
 * Create the object; the id of its thread, for the caller to free.  The
 * thread's name does not tell: QEMU sets names on request only, and none that
 * is longer than 15 letters.
 */
static char *add_object(GuestVm *guest)
{
    g_autoptr(GHashTable) before = list_threads(guest);
    g_autoptr(GHashTable) after = NULL;
    char *found = NULL;
    GHashTableIter iter;
    void *tid;

    bench_object_add(guest);
    bench_let_run(BENCH_SETTLE_MS);
    after = list_threads(guest);
    g_hash_table_iter_init(&iter, after);
    while (g_hash_table_iter_next(&iter, &tid, NULL)) {
        if (!g_hash_table_contains(before, tid)) {
            if (found) {
                bench_fail("the object has more than one thread");
            }
            found = g_strdup(tid);
        }
    }
    if (!found) {
        bench_fail("the object has no thread");
    }
    return found;
}

static uint64_t thread_ns(const GuestVm *guest, const char *tid)
{
    g_autofree char *text = task_file(guest, tid, "schedstat");
    ThreadTimes times;

    if (!text || !host_load_parse_thread(text, strlen(text), &times)) {
        bench_fail("the time of thread %s cannot be read", tid);
    }
    return times.run_ns;
}

static void append_percent(GArray *values, uint64_t cpu_ns, int64_t wall_ns)
{
    double percent = 100.0 * cpu_ns / wall_ns;

    g_array_append_val(values, percent);
}

/*
 * Per cent of a CPU, one value per window: of all threads but the vCPUs, and
 * of thread @tid (NULL: of none).
 */
static void measure(const GuestVm *guest, int windows, GArray *others,
                    const char *tid, GArray *thread)
{
    for (int i = 0; i < windows; i++) {
        int64_t start = bench_now_ns();
        uint64_t others_ns = guest_vm_others_ns(guest);
        uint64_t own_ns = tid ? thread_ns(guest, tid) : 0;
        int64_t wall_ns;

        bench_let_run(WINDOW_MS);
        wall_ns = bench_now_ns() - start;
        append_percent(others, guest_vm_others_ns(guest) - others_ns,
                       wall_ns);
        if (tid) {
            append_percent(thread, thread_ns(guest, tid) - own_ns, wall_ns);
        }
    }
}

static GArray *new_values(void)
{
    return g_array_new(false, false, sizeof(double));
}

static void subtract(GArray *values, double less)
{
    for (guint i = 0; i < values->len; i++) {
        g_array_index(values, double, i) -= less;
    }
}

void bench_idle(const Bench *bench)
{
    const BenchBound bound = { .median = 0.1 };
    int windows = MAX(1, bench->seconds / WINDOWS_PER_SECONDS);
    g_autoptr(GArray) with = new_values();
    g_autoptr(GArray) without = new_values();
    g_autoptr(GArray) thread = new_values();
    g_autofree char *tid = NULL;
    GuestVm guest;

    bench_say("an idle object: %d windows of %d s", 3 * windows,
              WINDOW_MS / 1000);
    guest_vm_start(&guest, "halt", N_VCPUS, "-object llcsched,id=sched0");
    bench_let_run(BENCH_SETTLE_MS);
    measure(&guest, windows, with, NULL, NULL);
    bench_object_del(&guest);
    bench_let_run(BENCH_SETTLE_MS);
    measure(&guest, windows, without, NULL, NULL);
    tid = add_object(&guest);
    measure(&guest, windows, with, tid, thread);
    guest_vm_end(&guest);

    subtract(with, stats_median((double *)without->data, without->len));
    bench_row(bench, "an idle object: all it does outside vCPUs", "% CPU",
              with, &bound);
    bench_row(bench, "- its thread", "% CPU", thread, NULL);
    bench_row(bench, "- QEMU's other threads without it", "% CPU", without,
              NULL);
}
