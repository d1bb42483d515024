/*
 * The kernel's CPU quota and llcsched's, on the vCPUs of the same QEMU
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "rows.h"
#include "throttle.h"

static const struct {
    const char *name;
    ThrottleRow *measure;
    const char *what;
} rows[] = {
    { "share", throttle_share, "how exactly a quota is kept" },
    { "beside", throttle_beside,
      "the same beside others that use a tenth of each CPU" },
    { "one", throttle_one, "one vCPU of eight spins" },
    { "crowd", throttle_crowd, "two busy competitors per CPU" },
    { "stall", throttle_stall, "how long the guest is stopped" },
    { "endless", throttle_endless,
      "overrun of a guest that never exits by itself" },
    { "hop", throttle_hop, "a word handed between two vCPUs" },
    { "lag", throttle_lag, "how long that takes" },
    { "throttles", throttle_throttles, "5 ms of work each 100 ms, allowed" },
    { "burst", throttle_burst, "the same with a tight quota, and burst" },
    { "depth", throttle_depth, "work at depths 1, 3 and 5" },
    { "depth-hop", throttle_depth_hop, "hand-offs at these depths" },
    { "linux", throttle_linux, "a Linux guest at these depths" },
    { "thread", throttle_thread, "what llcsched's thread costs" },
};

static const char *row_name(guint i)
{
    return rows[i].name;
}

static void open_tree(Throttle *throttle, const char *note)
{
    g_autoptr(GError) err = NULL;

    throttle->tree = cgroup_tree_new(&err);
    if (!throttle->tree) {
        bench_say("the kernel's quota is skipped: %s", err->message);
        throttle->skipped++;
        return;
    }
    /* for whoever has to clean up after us, if we cannot */
    if (note && !g_file_set_contents(note, cgroup_tree_path(throttle->tree),
                                     -1, &err)) {
        bench_fail("%s", err->message);
    }
}

static void measure_rows(Throttle *throttle, const BenchRows *chosen)
{
    for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
        if (bench_rows_wants(chosen, rows[i].name)) {
            bench_say("%s: %s", rows[i].name, rows[i].what);
            rows[i].measure(throttle, rows[i].name);
        }
    }
}

int main(int argc, char **argv)
{
    g_autofree char *note = NULL;
    BenchRows common = { .rounds = THROTTLE_ROUNDS_DEFAULT };
    Throttle throttle = { 0 };
    const GOptionEntry own = {
        "cgroup-note", 0, 0, G_OPTION_ARG_FILENAME, &note,
        "Write to FILE which cgroup is made", "FILE"
    };

    bench_rows_begin(&common, argc, argv, &own, row_name,
                     G_N_ELEMENTS(rows));
    throttle.bench = common.bench;
    throttle.samples = common.samples;
    throttle.rounds = common.rounds;
    throttle.window_ms = common.window_ms;
    open_tree(&throttle, note);
    measure_rows(&throttle, &common);
    if (throttle.skipped) {
        bench_say("%d things were skipped, see above", throttle.skipped);
    }
    cgroup_tree_free(throttle.tree);
    bench_rows_end(&common);
    return 0;
}
