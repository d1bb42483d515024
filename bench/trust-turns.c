/*
 * Two spinning cookies that take turns on a core, here
 *
 * The host that QEMU is shown makes two CPUs of this machine the siblings of
 * one core.  Beside it, in turns, the same two vCPUs share one CPU without
 * cookies, as the kernel has it.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "trust.h"
#include "guest-sample.h"
#include "guest-times.h"
#include "stats.h"
#include "summary.h"
#include "tests/integration/vm-turns.h"

#include <math.h>
#include <string.h>

#define ROW "turns"
#define OURS "turns"
#define KERNELS "one CPU"

#define N_VCPUS 2
#define SLICE_MS 3.0    /* the default of slice-us */
#define SETTLE_US 300000

/* Of each window, that in which the guest looks for overlaps. */
#define MEET_PART 4

/* The layout of tests/guest/README.md, "Counters in memory", in words. */
#define SLOT_RELAYS (40 / 4)
#define RELAYS (0x100000 / 4)
#define RELAYS_OF_ONE 16384

typedef struct TurnsRun {
    TrustBench *trust;
    SchedHost host;
    GuestVm guest;
    double ticks_per_us;
    int round;
    uint64_t looks, meets;
} TurnsRun;

static void add(TurnsRun *run, const char *side, const char *metric,
                const char *unit, double value)
{
    samples_add(run->trust->samples, ROW, side, run->round, metric, unit,
                value);
}

static void set_mode(TurnsRun *run, char letter, const char *line)
{
    vm_send(run->guest.vm, letter);
    g_free(vm_wait_line(run->guest.vm, line));
}

/* --- Sides --- */

static bool takes_turns(Vm *vm, void *opaque)
{
    return turns_sum(vm, "hand-overs") >= N_VCPUS;
}

static void start_turns(TurnsRun *run)
{
    Vm *vm = run->guest.vm;

    vm_do(vm, "object-add", "{'qom-type': 'llcsched', 'id': 'sched0',"
          " 'trust-backend': 'gate', 'x-sysfs-root': '%s'}",
          run->host.tree->dir);
    for (int i = 0; i < N_VCPUS; i++) {
        vm_do(vm, "object-add", "{'qom-type': 'llcsched-group',"
              " 'id': 'group%d', 'vcpus': [%d], 'cookie': 'tenant%d'}", i, i,
              i);
    }
    vm_wait(vm, takes_turns, NULL, "two cookies to take turns");
    g_usleep(SETTLE_US);
}

static void stop_turns(TurnsRun *run)
{
    for (int i = 0; i < N_VCPUS; i++) {
        vm_do(run->guest.vm, "object-del", "{'id': 'group%d'}", i);
    }
    vm_do(run->guest.vm, "object-del", "{'id': 'sched0'}");
}

static void set_masks(TurnsRun *run, const char *cpus)
{
    for (int i = 0; i < N_VCPUS; i++) {
        sched_taskset(run->guest.vm, i, cpus);
    }
}

/* --- What they got --- */

typedef struct TurnsMark {
    int64_t when_ns;
    uint64_t run_ns;
    uint64_t count;
    uint32_t relays[N_VCPUS];
} TurnsMark;

static TurnsMark mark(const TurnsRun *run)
{
    TurnsMark now = {
        .run_ns = guest_vm_vcpus_ns(&run->guest),
        .count = guest_vm_count(&run->guest), .when_ns = bench_now_ns(),
    };

    for (int i = 0; i < N_VCPUS; i++) {
        now.relays[i] = guest_vm_slot(&run->guest, i)[SLOT_RELAYS];
    }
    return now;
}

static void add_granted(TurnsRun *run, const char *side,
                        const TurnsMark *from, const TurnsMark *to)
{
    double wall_ns = to->when_ns - from->when_ns;

    add(run, side, "granted", "%",
        100 * (to->run_ns - from->run_ns) / wall_ns);
    /* each counter is one word, so their sum may step back by 2^32 */
    add(run, side, "work", "1/s",
        (uint32_t)(to->count - from->count) * 1e9 / wall_ns);
}

/* What the guest noted of hand-overs between the two marks, in us. */
static GArray *hand_overs(const TurnsRun *run, const TurnsMark *from,
                          const TurnsMark *to)
{
    GArray *values = g_array_new(false, false, sizeof(double));

    for (int i = 0; i < N_VCPUS; i++) {
        const volatile uint32_t *ring; /* the guest writes it */
        uint32_t n = MIN(to->relays[i] - from->relays[i], RELAYS_OF_ONE);

        ring = run->guest.memory + RELAYS + i * RELAYS_OF_ONE;
        for (uint32_t k = 1; k <= n; k++) {
            double us = ring[(to->relays[i] - k) % RELAYS_OF_ONE] /
                        run->ticks_per_us;

            g_array_append_val(values, us);
        }
    }
    if (!values->len) {
        bench_fail("the guest noted no hand-overs");
    }
    return values;
}

static void add_hand_overs(TurnsRun *run, const TurnsMark *from,
                           const TurnsMark *to)
{
    g_autoptr(GArray) values = hand_overs(run, from, to);
    const double *us = (const double *)values->data;

    add(run, OURS, "hand-overs", "1/s",
        values->len * 1e9 / (to->when_ns - from->when_ns));
    add(run, OURS, "hand-over median", "us", stats_median(us, values->len));
    add(run, OURS, "hand-over p99", "us",
        stats_percentile(us, values->len, 99));
    add(run, OURS, "hand-over most", "us",
        stats_percentile(us, values->len, 100));
}

/* What the query says, of all time since the object was created. */
static void add_query(TurnsRun *run)
{
    Vm *vm = run->guest.vm;
    double granted[N_VCPUS], sum = 0, wait_ms = 0, gross_ms = 0;
    double hand_overs = turns_sum(vm, "hand-overs");

    for (int i = 0; i < N_VCPUS; i++) {
        granted[i] = turns_int(vm, i + 1, "granted-ns");
        sum += granted[i];
        wait_ms = MAX(wait_ms, turns_int(vm, i + 1, "longest-wait-ns") / 1e6);
        gross_ms = MAX(gross_ms,
                       turns_int(vm, i + 1, "longest-gross-wait-ns") / 1e6);
    }
    add(run, OURS, "share error", "%", 100 * fabs(granted[0] / sum - 0.5));
    add(run, OURS, "longest wait beyond", "ms", MAX(0, wait_ms - SLICE_MS));
    add(run, OURS, "longest gross wait", "ms", gross_ms);
    add(run, OURS, "exit mean", "us",
        turns_sum(vm, "exit-ns") / 1e3 / hand_overs);
    add(run, OURS, "delayed exits", "of 1000",
        1000 * turns_sum(vm, "delayed-exits") / hand_overs);
    add(run, OURS, "late looks", "us",
        turns_sum(vm, "late-look-ns") / 1e3 / hand_overs);
}

/* Does one see the other run? */
static void look_for_overlaps(TurnsRun *run)
{
    TurnsSight before, after;

    set_mode(run, 'm', "mode meet");
    before = turns_sight(run->guest.vm);
    g_usleep(run->trust->window_ms * 1000 / MEET_PART);
    after = turns_sight(run->guest.vm);
    run->looks += after.looks - before.looks;
    run->meets += after.meets - before.meets;
    add(run, OURS, "looks", "", after.looks - before.looks);
    add(run, OURS, "meetings", "", after.meets - before.meets);
    set_mode(run, 'y', "mode relay");
}

static void measure_ours(TurnsRun *run)
{
    TurnsMark from, to;

    start_turns(run);
    from = mark(run);
    g_usleep(run->trust->window_ms * 1000);
    to = mark(run);
    add_granted(run, OURS, &from, &to);
    add_hand_overs(run, &from, &to);
    add_query(run);
    look_for_overlaps(run);
    stop_turns(run);
}

static void measure_kernels(TurnsRun *run)
{
    TurnsMark from, to;

    set_masks(run, run->host.first);
    g_usleep(SETTLE_US);
    from = mark(run);
    g_usleep(run->trust->window_ms * 1000);
    to = mark(run);
    add_granted(run, KERNELS, &from, &to);
    set_masks(run, run->host.both);
}

/* --- Summary --- */

static void summarize(TrustBench *trust)
{
    static const struct {
        const char *metric, *what, *unit;
        BenchBound bound;
    } rows[] = {
        { "granted", "CPU granted to two spinning cookies", "%",
          { .least = 98 } },
        { "share error", "error of their shares (ours)", "%",
          { .median = 2 } },
        { "hand-over median", "hand-over: median", "us", { .median = 100 } },
        { "hand-over p99", "hand-over: p99", "us", { .median = 500 } },
        { "longest wait beyond", "longest wait beyond the other's slice",
          "ms", { .median = 1 } },
        { "meetings", "overlaps that the guest saw", "", { .median = 0.001 } },
    };
    static const char *const more[][3] = {
        { "looks", "looks that it made", "" },
        { "hand-over most", "hand-over: longest", "us" },
        { "exit mean", "of that: from the order to the proof: mean", "us" },
        { "late looks", "end of a turn seen late: mean", "us" },
        { "delayed exits", "exits beyond 0.5 ms of 1000", "" },
        { "longest gross wait", "longest wait with delayed exits", "ms" },
    };
    g_autoptr(GArray) ratios = NULL;

    for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
        summary_row(&trust->bench, trust->samples, ROW, OURS, rows[i].metric,
                    rows[i].what, rows[i].unit, &rows[i].bound);
    }
    for (guint i = 0; i < G_N_ELEMENTS(more); i++) {
        summary_row(&trust->bench, trust->samples, ROW, OURS, more[i][0],
                    more[i][1], more[i][2], NULL);
    }
    summary_row(&trust->bench, trust->samples, ROW, KERNELS, "granted",
                "CPU of the two without trust", "%", NULL);
    ratios = samples_ratios(trust->samples, ROW, OURS, KERNELS, "work", 1);
    bench_row(&trust->bench, "work of the guest: turns of that", "", ratios,
              NULL);
}

void trust_turns(TrustBench *trust)
{
    TurnsRun run = { .trust = trust };

    sched_host_init_siblings(&run.host);
    /* TSCs are compared while nothing stops the guest */
    guest_vm_start(&run.guest, "gap", N_VCPUS, "");
    run.ticks_per_us = guest_times_per_ns(&run.guest) * 1e3;
    set_mode(&run, 'y', "mode relay");
    for (run.round = 0; run.round < trust->rounds; run.round++) {
        if (run.round % 2) {
            measure_kernels(&run);
            measure_ours(&run);
        } else {
            measure_ours(&run);
            measure_kernels(&run);
        }
    }
    guest_vm_end(&run.guest);
    sched_host_clear(&run.host);
    summarize(trust);
}
