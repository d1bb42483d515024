/*
 * What a plan costs: 1024 vCPUs on hosts of 4096 CPUs
 *
 * Hosts and guests of every shape that should be hard are tried with each
 * other; the worst is what counts.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "bench-host.h"
#include "stats.h"
#include "hw/sched/placement.h"
#include "tests/unit/fake-host.h"

#define N_CPUS 4096
#define N_VCPUS 1024
#define NS_PER_MS 1e6

/* Of each case; the worst is measured again, at length. */
#define TRIES 5

typedef struct HostShape {
    const char *name;
    int packages, nodes, llcs, cores, threads, flags;
} HostShape;

static const HostShape host_shapes[] = {
    { "256 LLCs of 8 cores x 2", 8, 4, 8, 8, 2, FAKE_HOST_SIBLINGS_APART },
    { "64 LLCs of 64 cores", 64, 1, 1, 64, 1, 0 },
    { "1024 LLCs of 4 cores", 16, 8, 8, 4, 1, 0 },
    { "2048 LLCs of 1 core x 2", 16, 4, 32, 1, 2, FAKE_HOST_SIBLINGS_APART },
    { "1 LLC of 512 cores x 8", 1, 1, 1, 512, 8, 0 },
};

static const char *const guest_shapes[] = {
    "1024,sockets=1,cores=1024,threads=1",
    "1024,sockets=16,cores=64,threads=1",
    "1024,sockets=128,cores=4,threads=2",
    "1024,sockets=1024,cores=1,threads=1",
};

static const PlacementWidth widths[] = {
    PLACEMENT_WIDTH_LLC, PLACEMENT_WIDTH_CORE, PLACEMENT_WIDTH_CPU,
};

/* Which others there are, and whether there was a plan before. */
typedef enum Situation {
    SITUATION_QUIET,
    SITUATION_BUSY,     /* every third LLC is crowded, the rest a little */
    SITUATION_AGAIN,    /* with the plan of the quiet host to stay near to */
    N_SITUATIONS,
} Situation;

static const char *const situation_names[N_SITUATIONS] = {
    "quiet", "busy", "again",
};

typedef struct Case {
    const HostShape *host_shape;
    const char *smp;
    PlacementWidth width;
    Situation situation;
} Case;

/* What a plan is made from. */
typedef struct Prepared {
    HostTopology *host;
    GuestTopology *guest;
    HostLoad *load;
    Plan *previous;
    PlacementInput in;
} Prepared;

static void load_others(HostLoad *load)
{
    load->source = HOST_LOAD_SCHEDSTAT;
    load->window_ns = 1000000000;
    for (int i = 0; i < load->n_llcs; i++) {
        load->llcs[i].others_util = i % 3 ? 37 * i % 200 : 600;
        load->llcs[i].others_tasks = load->llcs[i].others_util;
    }
}

static void prepare(const Case *which, Prepared *p)
{
    const HostShape *shape = which->host_shape;
    g_autoptr(GError) err = NULL;

    p->host = fake_host_new(shape->packages, shape->nodes, shape->llcs,
                            shape->cores, shape->threads, shape->flags);
    p->guest = guest_topology_from_smp(which->smp, GUEST_CACHE_SOCKET, &err);
    if (!p->guest) {
        bench_fail("-smp %s: %s", which->smp, err->message);
    }
    g_assert(p->host->n_cpus == N_CPUS && p->guest->n_vcpus == N_VCPUS);
    p->load = host_load_new_idle(p->host);
    p->in = (PlacementInput) {
        .host = p->host, .guest = p->guest, .load = p->load,
        .candidates = &p->host->online, .width = which->width,
        .guard_util = PLACEMENT_GUARD_UTIL_DEFAULT,
        .guard_tasks = PLACEMENT_GUARD_TASKS_DEFAULT,
        .seed = 1,
    };
    if (which->situation == SITUATION_AGAIN) {
        p->previous = placement_plan(&p->in);
        p->in.previous = p->previous;
    }
    if (which->situation != SITUATION_QUIET) {
        load_others(p->load);
    }
}

static void prepared_clear(Prepared *p)
{
    placement_plan_free(p->previous);
    host_load_free(p->load);
    guest_topology_free(p->guest);
    host_topology_unref(p->host);
}

static void plan_once(void *opaque)
{
    const Prepared *p = opaque;

    placement_plan_free(placement_plan(&p->in));
}

static GArray *measure(const Case *which, int repeats)
{
    Prepared p = { 0 };
    GArray *values;

    prepare(which, &p);
    values = bench_repeat(plan_once, &p, repeats);
    prepared_clear(&p);
    return bench_scale(values, NS_PER_MS);
}

/* The n-th of all combinations; false behind the last. */
static bool nth_case(guint n, Case *ret_case)
{
    Case which;

    which.situation = n % N_SITUATIONS;
    n /= N_SITUATIONS;
    which.width = widths[n % G_N_ELEMENTS(widths)];
    n /= G_N_ELEMENTS(widths);
    which.smp = guest_shapes[n % G_N_ELEMENTS(guest_shapes)];
    n /= G_N_ELEMENTS(guest_shapes);
    if (n >= G_N_ELEMENTS(host_shapes)) {
        return false;
    }
    which.host_shape = &host_shapes[n];
    *ret_case = which;
    return true;
}

/* The medians of all cases; @ret_worst is the one with the largest. */
static GArray *measure_all(Case *ret_worst)
{
    GArray *medians = g_array_new(false, false, sizeof(double));
    double worst = 0;
    Case which;

    for (guint n = 0; nth_case(n, &which); n++) {
        g_autoptr(GArray) values = measure(&which, TRIES);
        double median = stats_median((double *)values->data, values->len);

        g_array_append_val(medians, median);
        if (median > worst) {
            worst = median;
            *ret_worst = which;
        }
    }
    return medians;
}

void bench_plan(const Bench *bench)
{
    const BenchBound bound = { .median = 10 };
    g_autoptr(GArray) medians = NULL;
    g_autoptr(GArray) values = NULL;
    Case worst = { 0 };

    bench_say("planning 1024 vCPUs on 4096 CPUs");
    medians = measure_all(&worst);
    bench_say("worst of %u: %s; -smp %s; width %s; %s", medians->len,
              worst.host_shape->name, worst.smp,
              placement_width_name(worst.width),
              situation_names[worst.situation]);
    values = measure(&worst, bench->seconds);
    bench_row(bench, "plan 1024 vCPUs on 4096 CPUs: the worst shape", "ms",
              values, &bound);
    bench_row(bench, "plan 1024 vCPUs on 4096 CPUs: every shape", "ms",
              medians, NULL);
}
