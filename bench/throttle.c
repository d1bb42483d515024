/*
 * What the parts of bench-throttle share
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "throttle.h"
#include "guest-times.h"
#include "summary.h"
#include "hw/sched/host-load-parse.h"

#include <string.h>

/* Some periods of either length, and the debt of before is repaid. */
#define SETTLE_MS 400

/* A short window has some of the longest periods, however it begins. */
#define SHORT_PARTS 4
#define SHORT_MIN_MS 300

/* As -name debug-threads=on names it. */
#define THREAD_NAME "IO llcsched\n"

/* Of thread @tid of the VM; the caller frees it. */
static char *task_file(const Throttle *throttle, const char *tid,
                       const char *name)
{
    g_autofree char *path = NULL;
    g_autoptr(GError) err = NULL;
    char *text = NULL;

    path = g_strdup_printf("/proc/%d/task/%s/%s",
                           (int)vm_pid(throttle->guest.vm), tid, name);
    if (!g_file_get_contents(path, &text, NULL, &err)) {
        bench_fail("%s", err->message);
    }
    return text;
}

static int find_thread(const Throttle *throttle)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/task",
                                            (int)vm_pid(throttle->guest.vm));
    g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
    const char *tid;

    while (dir && (tid = g_dir_read_name(dir))) {
        g_autofree char *name = task_file(throttle, tid, "comm");

        if (strcmp(name, THREAD_NAME) == 0) {
            return g_ascii_strtoull(tid, NULL, 10);
        }
    }
    bench_fail("llcsched has no thread of the name " THREAD_NAME);
}

/* The text of a file of llcsched's thread; the caller frees it. */
static char *thread_file(const Throttle *throttle, const char *name)
{
    g_autofree char *tid = g_strdup_printf("%d", throttle->thread);

    return task_file(throttle, tid, name);
}

uint64_t throttle_wakeups(const Throttle *throttle)
{
    g_autofree char *text = thread_file(throttle, "status");
    const char *found = strstr(text, "\nvoluntary_ctxt_switches:");

    if (!found) {
        bench_fail("the kernel does not count voluntary switches");
    }
    return g_ascii_strtoull(strchr(found, ':') + 1, NULL, 10);
}

uint64_t throttle_thread_ns(const Throttle *throttle)
{
    g_autofree char *text = thread_file(throttle, "schedstat");
    ThreadTimes times;

    if (!host_load_parse_thread(text, strlen(text), &times)) {
        bench_fail("the time of llcsched's thread cannot be read");
    }
    return times.run_ns;
}

void throttle_take_vm(Throttle *throttle)
{
    limiter_init(&throttle->limiter, throttle->guest.vm,
                 throttle->guest.n_vcpus, throttle->tree);
    throttle->thread = find_thread(throttle);
    throttle->ticks_per_ms = 0;
}

void throttle_vm_start(Throttle *throttle, const char *mode, int n_vcpus)
{
    throttle_vm_start_with(throttle, mode, n_vcpus, "");
}

void throttle_vm_start_with(Throttle *throttle, const char *mode, int n_vcpus,
                            const char *more)
{
    g_autofree char *args = limiter_args(n_vcpus, more);

    guest_vm_start(&throttle->guest, mode, n_vcpus, args);
    throttle_take_vm(throttle);
}

void throttle_vm_start_noting(Throttle *throttle, const char *mode,
                              int n_vcpus)
{
    static const struct {
        const char *mode;
        char letter;
    } letters[] = { { "lag", 'l' }, { "burst", 'b' } };

    throttle_vm_start(throttle, "gap", n_vcpus);
    throttle->ticks_per_ms = guest_times_per_ns(&throttle->guest) * 1e6;
    for (guint i = 0; i < G_N_ELEMENTS(letters); i++) {
        if (strcmp(mode, letters[i].mode) == 0) {
            vm_send(throttle->guest.vm, letters[i].letter);
            g_free(vm_wait_line(throttle->guest.vm, "mode "));
        }
    }
}

void throttle_vm_end(Throttle *throttle)
{
    guest_vm_end(&throttle->guest);
    limiter_clear(&throttle->limiter);
}

void throttle_settle(Throttle *throttle, const LimitSide *side, double cpus)
{
    limiter_set(&throttle->limiter, side, cpus, 0);
    g_usleep(SETTLE_MS * 1000);
}

void throttle_rounds(Throttle *throttle, const LimitSide *sides, int n,
                     ThrottleMeasure *measure, void *opaque)
{
    for (int round = 0; round < throttle->rounds; round++) {
        for (int i = 0; i < n; i++) {
            const LimitSide *side = &sides[round % 2 ? n - 1 - i : i];

            if (side->by != LIMIT_BY_KERNEL || throttle->tree) {
                measure(throttle, side, round, opaque);
            }
        }
    }
}

void throttle_rounds_short(Throttle *throttle, const LimitSide *sides, int n,
                           ThrottleMeasure *measure, void *opaque)
{
    Throttle all = *throttle;

    throttle->rounds *= SHORT_PARTS;
    throttle->window_ms = MAX(throttle->window_ms / SHORT_PARTS,
                              SHORT_MIN_MS);
    throttle_rounds(throttle, sides, n, measure, opaque);
    throttle->rounds = all.rounds;
    throttle->window_ms = all.window_ms;
}

void throttle_add(const Throttle *throttle, const char *row,
                  const LimitSide *side, int round, const char *metric,
                  const char *unit, double value)
{
    samples_add(throttle->samples, row, side->name, round, metric, unit,
                value);
}

void throttle_summary(const Throttle *throttle, const char *row,
                      const char *side, const char *metric, const char *what,
                      const char *unit, const BenchBound *bound)
{
    summary_row(&throttle->bench, throttle->samples, row, side, metric, what,
                unit, bound);
}

void throttle_ratio(Throttle *throttle, const char *row,
                    const char *side, const char *to_side,
                    const char *metric, double factor, const char *what,
                    const BenchBound *bound)
{
    g_autoptr(GArray) ratios = samples_ratios(throttle->samples, row, side,
                                              to_side, metric, factor);

    if (!ratios) {
        bench_say("skipped: %s", what);
        throttle->skipped++;
        return;
    }
    bench_row(&throttle->bench, what, "", ratios, bound);
}
