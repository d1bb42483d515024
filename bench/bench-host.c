/*
 * What the policy costs: reading a host, planning, one look
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "bench-host.h"
#include "hw/sched/host-description.h"
#include "tests/integration/remove-tree.h"

/* tests/hosts: 384 CPUs, 24 LLCs, 8 nodes */
#define DESCRIPTION "epyc-9654-2s-nps4.host"

#define NS_PER_MS 1e6

static HostDescription *load_description(void)
{
    const char *source = g_getenv("LLCSCHED_SOURCE_ROOT");
    g_autofree char *path = g_build_filename(source ? source : ".", "tests",
                                             "hosts", DESCRIPTION, NULL);
    g_autofree char *text = NULL;
    g_autoptr(GError) err = NULL;
    HostDescription *desc;
    gsize len;

    if (!g_file_get_contents(path, &text, &len, &err)) {
        bench_fail("%s: set LLCSCHED_SOURCE_ROOT to the source tree",
                err->message);
    }
    desc = host_description_parse(text, len, &err);
    if (!desc) {
        bench_fail("%s: %s", path, err->message);
    }
    return desc;
}

/* A tree of BENCH_HOST_CPUS CPUs in a folder of its own. */
static char *make_tree(void)
{
    g_autoptr(HostDescription) desc = load_description();
    g_autoptr(GError) err = NULL;
    char *dir = g_dir_make_tmp("llcsched-bench-XXXXXX", &err);

    if (!dir || !host_description_build(desc, dir, &err)) {
        bench_fail("a host's tree cannot be made: %s", err->message);
    }
    return dir;
}

static void read_once(void *opaque)
{
    g_autoptr(GError) err = NULL;
    g_autoptr(HostTopology) host = host_topology_read(opaque, &err);

    if (!host) {
        bench_fail("%s/sys: %s", (const char *)opaque, err->message);
    }
}

static void read_row(const Bench *bench, const char *root, const char *name,
                     const BenchBound *bound)
{
    g_autoptr(GArray) values = NULL;

    values = bench_repeat(read_once, (void *)root, 20 + bench->seconds);
    bench_row(bench, name, "ms", bench_scale(values, NS_PER_MS), bound);
}

void bench_read(const Bench *bench, const char *root)
{
    const BenchBound bound = { .median = 30 };
    g_autoptr(HostTopology) host = host_topology_read(root, NULL);

    if (!host || host_cpuset_count(&host->online) != BENCH_HOST_CPUS) {
        bench_fail("%s/sys does not show %d CPUs", root, BENCH_HOST_CPUS);
    }
    bench_say("reading topologies");
    read_row(bench, root, "read a tree of 384 CPUs", &bound);
    read_row(bench, "", "read this machine's /sys", NULL);
}

int main(int argc, char **argv)
{
    Bench bench;
    g_autofree char *root = NULL;

    bench_init(&bench, &argc, &argv);
    bench_come_first();
    root = make_tree();
    bench_read(&bench, root);
    bench_plan(&bench);
    bench_look(&bench, root);
    remove_tree(root);
    bench_clear(&bench);
    return 0;
}
