/*
 * The speed of a guest with the object and without
 *
 * One guest that spins on two vCPUs gets the object and loses it, window by
 * window, so that both sides are the same boot of the same process.  Each pair
 * of windows is in the other order than the one before: what drifts cancels.
 *
 * Once more with a guard that is always closed, which costs what a look costs
 * and gives nothing: the host's tree says that others wait for all of it.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "bench-guest.h"
#include "stats.h"
#include "tests/integration/vm-sched.h"

#include <string.h>

#define N_VCPUS 2
#define WINDOW_MS 1000

/* A pair has two windows, and a change before each. */
#define SECONDS_PER_PAIR 2.5

/* At once: enough for many tasks to have waited between two looks. */
#define WAIT_S_PER_ADVANCE 50

/* Windows before the first pair. */
#define WARM_UP 2

/*
 * On a busy machine the interval is too wide to be compared with its bounds:
 * measure until it is this narrow, in per cent, but not longer than this many
 * times as long.  That depends on the width alone, never on where it lies.
 */
#define NARROW 0.5
#define PATIENCE 4
#define ROUNDS 1000

/* What the guest did in a window: rounds of its loops per ns ... */
typedef struct Speed {
    double per_cpu;     /* ... of CPU time that all of QEMU used */
    double per_wall;    /* ... of the time that passed */
} Speed;

/* How the object comes to be. */
typedef struct SpeedObject {
    void (*add)(GuestVm *guest, void *opaque);
    void *opaque;
} SpeedObject;

static void add_default(GuestVm *guest, void *opaque)
{
    bench_object_add(guest);
}

/*
 * A host on whose CPUs others wait, longer each time that it advances: what
 * they run cannot be seen beside a guest that spins.
 */
typedef struct Crowd {
    SchedHost host;
    uint64_t wait_s;
} Crowd;

static void crowd_advance(Crowd *crowd)
{
    const SchedHost *host = &crowd->host;
    g_autofree char *path = g_build_filename(host->tree->dir,
                                             "proc/schedstat", NULL);
    g_autofree char *text = NULL;
    g_autoptr(GError) err = NULL;

    crowd->wait_s += WAIT_S_PER_ADVANCE;
    text = g_strdup_printf("version 15\ntimestamp 1\n"
                           "cpu%s 0 0 0 0 0 0 1 %" G_GUINT64_FORMAT
                           "000000000 1\n"
                           "cpu%s 0 0 0 0 0 0 1 %" G_GUINT64_FORMAT
                           "000000000 1\n", host->first, crowd->wait_s,
                           host->second, crowd->wait_s);
    if (!g_file_set_contents(path, text, -1, &err)) {
        bench_fail("%s", err->message);
    }
}

/* Asked to plan, it does not wait for its cool-down. */
static bool is_guarded(Vm *vm, void *opaque)
{
    g_autofree char *verdict = NULL;

    crowd_advance(opaque);
    vm_do(vm, "llcsched-replan", NULL);
    verdict = sched_query_text(vm, "verdict");
    return strcmp(verdict, "guarded") == 0;
}

static void add_closed(GuestVm *guest, void *opaque)
{
    Crowd *crowd = opaque;

    vm_do(guest->vm, "object-add",
          "{'qom-type': 'llcsched', 'id': 'sched0', 'x-sysfs-root': '%s'}",
          crowd->host.tree->dir);
    vm_wait(guest->vm, is_guarded, crowd, "the guard to close");
    crowd_advance(crowd);
}

static void sample_all(const GuestVm *guest, VcpuSample *samples)
{
    for (int i = 0; i < N_VCPUS; i++) {
        samples[i] = guest_vm_sample_vcpu(guest, i);
    }
}

static Speed measure_window(const GuestVm *guest)
{
    VcpuSample before[N_VCPUS], after[N_VCPUS];
    uint64_t others_ns = guest_vm_others_ns(guest);
    Speed speed = { 0 };
    double count = 0, cpu_ns = 0;

    sample_all(guest, before);
    bench_let_run(WINDOW_MS);
    sample_all(guest, after);
    others_ns = guest_vm_others_ns(guest) - others_ns;
    for (int i = 0; i < N_VCPUS; i++) {
        uint32_t rounds = after[i].count - before[i].count;

        count += rounds;
        cpu_ns += after[i].run_ns - before[i].run_ns;
        speed.per_wall += rounds / (double)(after[i].when_ns -
                                            before[i].when_ns);
    }
    speed.per_cpu = count / (cpu_ns + others_ns);
    return speed;
}

/* A change comes before every window, so that all begin alike. */
static Speed measure_with(GuestVm *guest, const SpeedObject *object,
                          bool *has_object)
{
    if (*has_object) {
        bench_object_del(guest);
    }
    object->add(guest, object->opaque);
    *has_object = true;
    bench_let_run(BENCH_SETTLE_MS);
    return measure_window(guest);
}

static Speed measure_without(GuestVm *guest, const SpeedObject *object,
                             bool *has_object)
{
    if (!*has_object) {
        object->add(guest, object->opaque);
    }
    bench_object_del(guest);
    *has_object = false;
    bench_let_run(BENCH_SETTLE_MS);
    return measure_window(guest);
}

static void append_loss(GArray *values, double with, double without)
{
    double percent = 100 * (1 - with / without);

    g_array_append_val(values, percent);
}

static void measure_pair(GuestVm *guest, const SpeedObject *object,
                         bool with_first, bool *has_object, GArray *cpu,
                         GArray *wall)
{
    Speed with, without;

    if (with_first) {
        with = measure_with(guest, object, has_object);
        without = measure_without(guest, object, has_object);
    } else {
        without = measure_without(guest, object, has_object);
        with = measure_with(guest, object, has_object);
    }
    append_loss(cpu, with.per_cpu, without.per_cpu);
    append_loss(wall, with.per_wall, without.per_wall);
}

static bool is_narrow(const GArray *values)
{
    StatsInterval interval = stats_median_interval(
        (const double *)values->data, values->len, ROUNDS, 1);

    return interval.high - interval.low <= NARROW;
}

static void measure_pairs(GuestVm *guest, const SpeedObject *object, int pairs,
                          GArray *cpu, GArray *wall)
{
    bool has_object = true;

    for (int i = 0; i < pairs * PATIENCE; i++) {
        if (i >= pairs && i % 2 == 0 && is_narrow(cpu)) {
            return;
        }
        if (i == pairs) {
            bench_say("this machine is busy: up to %d pairs",
                      pairs * PATIENCE);
        }
        measure_pair(guest, object, i % 2 == 0, &has_object, cpu, wall);
    }
}

static void measure_rows(const Bench *bench, const SpeedObject *object,
                         const char *what, const BenchBound *bound)
{
    int pairs = MAX(1, (int)(bench->seconds / SECONDS_PER_PAIR));
    g_autoptr(GArray) cpu = g_array_new(false, false, sizeof(double));
    g_autoptr(GArray) wall = g_array_new(false, false, sizeof(double));
    g_autofree char *per_cpu = g_strdup_printf("%s per CPU time of QEMU", what);
    g_autofree char *per_wall = g_strdup_printf("%s per wall time", what);
    GuestVm guest;

    bench_say("%s: %d pairs of %d ms with the object and without", what, pairs,
              WINDOW_MS);
    guest_vm_start(&guest, "spin", N_VCPUS, "-object llcsched,id=sched0");
    for (int i = 0; i < WARM_UP; i++) {
        measure_window(&guest);
    }
    measure_pairs(&guest, object, pairs, cpu, wall);
    guest_vm_end(&guest);

    bench_row(bench, per_cpu, "%", cpu, bound);
    bench_row(bench, per_wall, "%", wall, NULL);
}

void bench_speed(const Bench *bench)
{
    const BenchBound bound = { .median = 0.5, .high = 1 };
    const BenchBound closed_bound = { .median = 0.5 };
    Crowd crowd = { .wait_s = 1 };
    const SpeedObject with_defaults = { .add = add_default };
    const SpeedObject closed = { .add = add_closed, .opaque = &crowd };

    measure_rows(bench, &with_defaults, "guest speed lost", &bound);
    sched_host_init(&crowd.host);
    measure_rows(bench, &closed, "guest speed lost, guard always closed",
                 &closed_bound);
    sched_host_clear(&crowd.host);
}
