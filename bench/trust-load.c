/*
 * Two tenants on the cores of a lab host, by load, and by who keeps them apart
 *
 * tests/lab/lab runs it; every value is a line of its output, "# value " and
 * what samples.h has.  bench-trust makes a report of them.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "bench.h"
#include "competitor.h"
#include "guest-times.h"
#include "trust-tenants.h"
#include "tests/lab/lab-vm.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const side_names[] = TRUST_SIDE_NAMES;
static const double loads[] = TRUST_LOADS;
static const double softirqs[] = TRUST_SOFTIRQS;

/* A hundred threads in all, that together want one CPU for each core. */
#define BURST_VCPUS 50
#define BURST_LOAD 1.0

/* The guest's job at first, before its length is known. */
#define BURST_ROUNDS 50000
#define BURST_TRIES 3
#define BURST_SETTLE_US 1000000

#define SOFTIRQ_PERIOD_US 20000

static LabHost host;
static int rounds, window_ms;

static int setting(const char *name)
{
    const char *text = g_getenv(name);
    int value = text ? atoi(text) : 0;

    if (value < 1) {
        bench_fail("%s must be set: scripts/bench does", name);
    }
    return value;
}

/* In one write: the console's line is whole. */
static void tell(const char *row, TrustSide side, int round,
                 const char *metric, const char *unit, double value)
{
    printf("# value %s,%s,%d,%s,%s,%.6g\n", row, side_names[side], round,
           metric, unit, value);
    fflush(stdout);
}

static void tell_all(const char *row, TrustSide side, int round,
                     const TenantsTime *seen)
{
    const CoreTime *t = &seen->time;
    double granted = t->granted_ns[0] + t->granted_ns[1];
    const struct {
        const char *metric;
        double ns;
    } parts[] = {
        { TRUST_GRANTED, granted }, { TRUST_ALONE, t->alone_ns },
        { TRUST_PAIRED, t->paired_ns }, { TRUST_BESIDE, t->beside_ns },
        { TRUST_OVERLAP, t->overlap_ns },
    };

    for (guint i = 0; i < G_N_ELEMENTS(parts); i++) {
        tell(row, side, round, parts[i].metric, "%",
             100 * parts[i].ns / seen->core_ns);
    }
    tell(row, side, round, TRUST_FORCED_IDLE, "%",
         100 * seen->forced / host.n_cores);
    tell(row, side, round, "overlaps", "1/s",
         t->overlaps * 1e9 / seen->wall_ns);
    tell(row, side, round, "longest overlap", "us",
         t->longest_overlap_ns / 1e3);
    tell(row, side, round, "share error", "%",
         100 * fabs(t->granted_ns[0] / granted - 0.5));
    tell(row, side, round, "waiting", "vCPUs", seen->waiting);
    tell(row, side, round, "longest wait", "ms", t->longest_wait_ns / 1e6);
}

/* Each CPU gets @percent; where there are half as many, twice that. */
static Competitor *start_softirqs(TrustSide side, double percent)
{
    double part = percent / 100 * (side == TRUST_SIDE_SMT_OFF ? 2 : 1);

    return percent ? competitor_start(NULL, 1, part * SOFTIRQ_PERIOD_US,
                                      SOFTIRQ_PERIOD_US) : NULL;
}

static void measure_side(Tenants *tenants, const char *row, TrustSide side,
                         int round, double softirq)
{
    Competitor *competitor;
    TenantsTime seen;

    tenants_enter(tenants, side);
    competitor = start_softirqs(side, softirq);
    seen = tenants_measure(tenants, window_ms);
    competitor_stop(competitor);
    tenants_leave(tenants, side);
    tell_all(row, side, round, &seen);
}

/* The sides in turns the first. */
static void measure_round(Tenants *tenants, const char *row, int round,
                          double softirq)
{
    for (int i = 0; i < N_TRUST_SIDES; i++) {
        measure_side(tenants, row, round % 2 ? N_TRUST_SIDES - 1 - i : i,
                     round, softirq);
    }
}

static void test_load(gconstpointer data)
{
    double load = *(const double *)data;
    g_autofree char *row = g_strdup_printf(TRUST_LOAD_ROW, load);
    Tenants tenants;

    tenants_start(&tenants, &host, "spin",
                  lrint(load * host.n_cores / CORE_TIME_TENANTS));
    for (int round = 0; round < rounds; round++) {
        measure_round(&tenants, row, round, 0);
    }
    tenants_end(&tenants);
}

/* Jobs of such a length that the load is as wanted, more or less. */
static void set_job(Tenants *tenants)
{
    double job = BURST_ROUNDS;

    for (int try = 0; try < BURST_TRIES; try++) {
        TenantsTime seen;
        double load;

        for (int i = 0; i < CORE_TIME_TENANTS; i++) {
            guest_times_set_job(&tenants->guests[i], job);
        }
        g_usleep(BURST_SETTLE_US);
        seen = tenants_measure(tenants, window_ms);
        load = (seen.time.granted_ns[0] + seen.time.granted_ns[1]) /
               seen.core_ns;
        g_test_message("jobs of %.0f: %.2f CPUs a core", job, load);
        job *= CLAMP(BURST_LOAD / load, 0.1, 10);
    }
}

static void test_bursts(void)
{
    Tenants tenants;

    tenants_start(&tenants, &host, "halt", BURST_VCPUS);
    for (int i = 0; i < CORE_TIME_TENANTS; i++) {
        vm_send(tenants.guests[i].vm, 'u');
        g_free(vm_wait_line(tenants.guests[i].vm, "mode pulse"));
    }
    set_job(&tenants);
    for (int round = 0; round < MAX(rounds / 3, 1); round++) {
        for (guint i = 0; i < G_N_ELEMENTS(softirqs); i++) {
            g_autofree char *row = g_strdup_printf(TRUST_SOFTIRQ_ROW,
                                                   softirqs[i]);

            measure_round(&tenants, row, round, softirqs[i]);
        }
    }
    tenants_end(&tenants);
}

int main(int argc, char **argv)
{
    int ret;

    lab_vm_test_init(&argc, &argv);
    lab_host_init(&host);
    rounds = setting("LLCSCHED_BENCH_ROUNDS");
    window_ms = setting("LLCSCHED_BENCH_WINDOW_MS");
    lab_write("/proc/sys/kernel/sched_schedstats", "1");
    for (guint i = 0; i < G_N_ELEMENTS(loads); i++) {
        g_autofree char *path = g_strdup_printf("/load/" TRUST_LOAD_ROW,
                                                loads[i]);

        g_strdelimit(path, ".", '-');
        g_test_add_data_func(path, &loads[i], test_load);
    }
    g_test_add_func("/bursts/hundred-threads", test_bursts);
    ret = g_test_run();
    lab_host_clear(&host);
    return ret;
}
