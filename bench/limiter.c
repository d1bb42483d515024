/*
 * Who limits a VM's vCPUs: the kernel, or llcsched in the same process
 *
 * Both have a chain of groups of the same depth around the same threads all
 * the time, and the limits of one are set at a time: so the two sides differ
 * in nothing else.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "limiter.h"
#include "bench.h"

#include <string.h>
#include <sys/resource.h>

#include "tests/integration/vm-sched.h"

#define PROCESS "vm"
#define KERNEL_TOP PROCESS "/1"

const LimitSide limit_sides[N_SIDES] = {
    [SIDE_KERNEL_10] = { "kernel-10ms", LIMIT_BY_KERNEL, 10000 },
    [SIDE_LLCSCHED_10] = { "llcsched-10ms", LIMIT_BY_LLCSCHED, 10000 },
    [SIDE_KERNEL_100] = { "kernel-100ms", LIMIT_BY_KERNEL, 100000 },
    [SIDE_LLCSCHED_100] = { "llcsched-100ms", LIMIT_BY_LLCSCHED, 100000 },
    [SIDE_NONE] = { "unlimited", LIMIT_BY_NONE, 10000 },
};

char *limiter_args(int n_vcpus, const char *more)
{
    /*
     * Threads have names, and so that of llcsched's can be found.  It looks
     * after limits only, not after placement as well.
     */
    return g_strdup_printf("-name bench,debug-threads=on "
                           "-object llcsched,id=sched0,dynamic=off "
                           "-object llcsched-group,id=g1,vcpus=0-%d %s",
                           n_vcpus - 1, more);
}

/* "vm/1/2/3" for 3 */
static char *kernel_group(int level)
{
    GString *name = g_string_new(PROCESS);

    for (int i = 1; i <= level; i++) {
        g_string_append_printf(name, "/%d", i);
    }
    return g_string_free(name, false);
}

static void move_vcpus(Limiter *limiter, const char *group)
{
    g_autoptr(GArray) tids = vm_vcpu_threads(limiter->vm);

    for (guint i = 0; i < tids->len; i++) {
        cgroup_add_thread(limiter->tree, group,
                          g_array_index(tids, int, i));
    }
}

static void make_kernel_groups(Limiter *limiter, int depth)
{
    g_autofree char *leaf = kernel_group(depth);

    for (int level = 1; level <= depth; level++) {
        g_autofree char *name = kernel_group(level);

        cgroup_make_for_threads(limiter->tree, name);
    }
    move_vcpus(limiter, leaf);
}

/* "0, 1, 2" */
static char *list_vcpus(int n_vcpus)
{
    GString *list = g_string_new("0");

    for (int i = 1; i < n_vcpus; i++) {
        g_string_append_printf(list, ", %d", i);
    }
    return g_string_free(list, false);
}

static void make_own_groups(Limiter *limiter, int depth)
{
    g_autofree char *list = list_vcpus(limiter->n_vcpus);

    for (int level = 1; level <= depth; level++) {
        g_autofree char *parent = NULL;
        g_autofree char *vcpus = NULL;

        parent = level == 1 ? g_strdup("") :
                 g_strdup_printf(", 'parent': 'g%d'", level - 1);
        vcpus = level < depth ? g_strdup("") :
                g_strdup_printf(", 'vcpus': [%s]", list);
        vm_do(limiter->vm, "object-add", "{'qom-type': 'llcsched-group',"
              " 'id': 'g%d'%s%s}", level, parent, vcpus);
    }
}

static void remove_own_groups(Limiter *limiter)
{
    for (int level = limiter->depth; level; level--) {
        vm_do(limiter->vm, "object-del", "{'id': 'g%d'}", level);
    }
}

/*
 * The nice value that a QEMU has from us puts its other threads before its
 * vCPUs, which are in a group.  In a group they need none.
 */
static void make_threads_equal(Limiter *limiter)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/task",
                                            (int)vm_pid(limiter->vm));
    g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
    const char *tid;

    while (dir && (tid = g_dir_read_name(dir))) {
        setpriority(PRIO_PROCESS, g_ascii_strtoull(tid, NULL, 10), 0);
    }
}

void limiter_init(Limiter *limiter, Vm *vm, int n_vcpus, CgroupTree *tree)
{
    *limiter = (Limiter) {
        .vm = vm, .n_vcpus = n_vcpus, .tree = tree, .depth = 1,
    };
    if (tree) {
        cgroup_make(tree, PROCESS);
        cgroup_add_process(tree, PROCESS, vm_pid(vm));
        make_threads_equal(limiter);
        make_kernel_groups(limiter, 1);
    }
}

void limiter_clear(Limiter *limiter)
{
    if (limiter->tree) {
        cgroup_remove(limiter->tree, PROCESS);
    }
}

void limiter_set_depth(Limiter *limiter, int depth)
{
    g_assert(depth >= 1 && depth <= LIMITER_DEPTH_MAX);
    if (depth == limiter->depth) {
        return;
    }
    remove_own_groups(limiter);
    make_own_groups(limiter, depth);
    if (limiter->tree) {
        move_vcpus(limiter, PROCESS);
        cgroup_remove(limiter->tree, KERNEL_TOP);
        make_kernel_groups(limiter, depth);
    }
    limiter->depth = depth;
}

/* What a group has that does not bind: between that which does and no limit. */
static double loose(const Limiter *limiter, double cpus)
{
    return (cpus + limiter->n_vcpus) / 2;
}

static void set_kernel(Limiter *limiter, const LimitSide *side, double cpus,
                       int64_t burst_us)
{
    for (int level = 1; level <= limiter->depth; level++) {
        g_autofree char *name = kernel_group(level);
        bool binds = level == 1 || cgroup_tree_version(limiter->tree) == 1;
        double own = binds ? cpus : loose(limiter, cpus);

        cgroup_set_limits(limiter->tree, name,
                          own * side->period_us + 0.5, side->period_us,
                          burst_us);
    }
}

static void clear_kernel(Limiter *limiter)
{
    /* from the lowest: in version 1 none may have more than that above */
    for (int level = limiter->depth; level; level--) {
        g_autofree char *name = kernel_group(level);

        cgroup_set_limits(limiter->tree, name, 0, 0, 0);
    }
}

static void set_own(Limiter *limiter, const LimitSide *side, double cpus,
                    int64_t burst_us)
{
    for (int level = 1; level <= limiter->depth; level++) {
        double own = level == 1 || !cpus ? cpus : loose(limiter, cpus);

        vm_do(limiter->vm, "llcsched-set-limits",
              "{'id': 'g%d', 'quota-us': %d, 'period-us': %d,"
              " 'burst-us': %d}", level, (int)(own * side->period_us + 0.5),
              (int)side->period_us, (int)burst_us);
    }
}

void limiter_set(Limiter *limiter, const LimitSide *side, double cpus,
                 int64_t burst_us)
{
    if (limiter->tree) {
        clear_kernel(limiter);
    }
    if (side->by == LIMIT_BY_LLCSCHED) {
        set_own(limiter, side, cpus, burst_us);
        return;
    }
    set_own(limiter, side, 0, 0);
    if (side->by == LIMIT_BY_KERNEL && cpus) {
        set_kernel(limiter, side, cpus, burst_us);
    }
}

int64_t limiter_group_int(Limiter *limiter, const char *member)
{
    g_autoptr(JsonNode) info = sched_query(limiter->vm);
    JsonArray *groups = json_object_get_array_member(
        json_node_get_object(info), "groups");

    for (guint i = 0; i < json_array_get_length(groups); i++) {
        JsonObject *group = json_array_get_object_element(groups, i);

        if (strcmp(json_object_get_string_member(group, "id"), "g1") == 0) {
            return json_object_get_int_member(group, member);
        }
    }
    bench_fail("query-llcsched has no group g1");
}

uint64_t limiter_throttled_periods(Limiter *limiter, const LimitSide *side)
{
    if (side->by == LIMIT_BY_KERNEL) {
        return cgroup_throttled_periods(limiter->tree, KERNEL_TOP);
    }
    return limiter_group_int(limiter, "throttled-periods");
}
