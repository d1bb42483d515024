/*
 * Two VMs in a lab host that must not share a core, and who sees to that
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "trust-tenants.h"
#include "bench.h"
#include "hw/sched/host-load-parse.h"
#include "tests/integration/vm-sched.h"
#include "tests/lab/lab-cookie.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>

#define CPU_STAT "/sys/fs/cgroup/cpu.stat"
#define FORCED_IDLE "core_sched.force_idle_usec "

/* Sooner than those that spin, so that a window ends when it should. */
#define NICE -20

#define OTHERS_SAID 3

/* VMs that are started together choose their LLCs by it. */
#define UUID "-uuid 2f0c7d5a-6a0e-4d1b-9c53-%012x"

/* Cores move when sides change; vCPUs have found theirs after that. */
#define SETTLE_US 1500000

static void add_threads(Tenants *tenants, int tenant)
{
    g_autoptr(GArray) tids = vm_vcpu_threads(tenants->guests[tenant].vm);

    for (guint i = 0; i < tids->len; i++) {
        g_hash_table_insert(tenants->of_thread,
                            GINT_TO_POINTER(g_array_index(tids, int, i)),
                            GINT_TO_POINTER(tenant + 1));
    }
}

/* Of this program, and of what it starts later. */
static void set_nice(int nice)
{
    if (setpriority(PRIO_PROCESS, 0, nice) < 0) {
        bench_fail("setpriority: %s", g_strerror(errno));
    }
}

void tenants_start(Tenants *tenants, LabHost *host, const char *mode,
                   int n_vcpus)
{
    *tenants = (Tenants) {
        .host = host, .of_thread = g_hash_table_new(NULL, NULL),
    };
    for (int i = 0; i < CORE_TIME_TENANTS; i++) {
        g_autofree char *args = g_strdup_printf(UUID, i + 1);

        guest_vm_start(&tenants->guests[i], mode, n_vcpus, args);
        add_threads(tenants, i);
    }
    set_nice(NICE);
}

void tenants_end(Tenants *tenants)
{
    set_nice(0);
    for (int i = 0; i < CORE_TIME_TENANTS; i++) {
        guest_vm_end(&tenants->guests[i]);
    }
    g_hash_table_unref(tenants->of_thread);
}

/* --- Sides --- */

static bool is_isolated(Vm *vm, void *opaque)
{
    g_autoptr(JsonNode) info = sched_query(vm);
    JsonObject *trust = json_object_get_object_member(
        json_node_get_object(info), "trust");

    return strcmp(json_object_get_string_member(trust, "mode"),
                  "kernel") == 0 &&
           strcmp(json_object_get_string_member(trust, "isolation"),
                  "host") == 0;
}

/* Where its vCPUs may run, for whoever wonders about the results. */
static void say_masks(Vm *vm, int tenant)
{
    g_autoptr(GArray) tids = vm_vcpu_threads(vm);
    g_autofree char *verdict = sched_query_text(vm, "verdict");
    g_autofree char *mask = thread_mask(g_array_index(tids, int, 0));

    g_test_message("tenant %d: %s, its first vCPU on CPUs %s", tenant + 1,
                   verdict, mask);
}

static void enter(GuestVm *guest, TrustSide side)
{
    g_autoptr(GArray) tids = vm_vcpu_threads(guest->vm);

    if (side == TRUST_SIDE_LIBVIRT) {
        lab_cookie_give((int *)tids->data, tids->len);
    } else if (side == TRUST_SIDE_LLCSCHED) {
        vm_do(guest->vm, "object-add", "{'qom-type': 'llcsched',"
              " 'id': 'sched0', 'cookie': 'tenant'}");
    }
}

void tenants_enter(Tenants *tenants, TrustSide side)
{
    if (side == TRUST_SIDE_SMT_OFF) {
        lab_smt_set(tenants->host, false);
    }
    for (int i = 0; i < CORE_TIME_TENANTS; i++) {
        enter(&tenants->guests[i], side);
    }
    for (int i = 0; side == TRUST_SIDE_LLCSCHED && i < CORE_TIME_TENANTS;
         i++) {
        Vm *vm = tenants->guests[i].vm;

        vm_wait(vm, is_isolated, NULL, "cookies of all vCPUs");
        sched_wait_looks(vm, 1);
        say_masks(vm, i);
    }
    g_usleep(SETTLE_US);
}

void tenants_leave(Tenants *tenants, TrustSide side)
{
    for (int i = 0; i < CORE_TIME_TENANTS; i++) {
        Vm *vm = tenants->guests[i].vm;
        g_autoptr(GArray) tids = vm_vcpu_threads(vm);

        if (side == TRUST_SIDE_LIBVIRT) {
            lab_cookie_clear((int *)tids->data, tids->len);
        } else if (side == TRUST_SIDE_LLCSCHED) {
            vm_do(vm, "object-del", "{'id': 'sched0'}");
        }
    }
    if (side == TRUST_SIDE_SMT_OFF) {
        lab_smt_set(tenants->host, true);
    }
}

/* --- Windows --- */

static char *read_file(const char *path)
{
    g_autoptr(GError) err = NULL;
    char *text;

    if (!g_file_get_contents(path, &text, NULL, &err)) {
        bench_fail("%s", err->message);
    }
    return text;
}

static double forced_idle_ns(void)
{
    g_autofree char *text = read_file(CPU_STAT);
    const char *found = strstr(text, FORCED_IDLE);

    if (!found) {
        bench_fail(CPU_STAT " has no " FORCED_IDLE);
    }
    return g_ascii_strtoull(found + strlen(FORCED_IDLE), NULL, 10) * 1e3;
}

static double waited_ns(const Tenants *tenants)
{
    GHashTableIter iter;
    gpointer tid;
    double sum = 0;

    g_hash_table_iter_init(&iter, tenants->of_thread);
    while (g_hash_table_iter_next(&iter, &tid, NULL)) {
        g_autofree char *path = g_strdup_printf("/proc/%d/schedstat",
                                                GPOINTER_TO_INT(tid));
        g_autofree char *text = read_file(path);
        ThreadTimes times;

        if (!host_load_parse_thread(text, strlen(text), &times)) {
            bench_fail("%s is not understood", path);
        }
        sum += times.wait_ns;
    }
    return sum;
}

static HostCpuSet online_cpus(void)
{
    g_autofree char *text = read_file("/sys/devices/system/cpu/online");
    HostCpuSet online;

    if (!host_cpuset_parse_list(g_strstrip(text), &online)) {
        bench_fail("the online CPUs are not understood");
    }
    return online;
}

static CoreTime sum_up(const Tenants *tenants, const GArray *stretches,
                       int64_t to_ns)
{
    g_autofree HostCpuSet *cores = g_new(HostCpuSet, tenants->host->n_cores);

    for (int i = 0; i < tenants->host->n_cores; i++) {
        if (!host_cpuset_parse_list(tenants->host->cores[i], &cores[i])) {
            bench_fail("core %d is not understood", i);
        }
    }
    return core_time_sum(stretches, cores, tenants->host->n_cores,
                         tenants->of_thread, to_ns);
}

typedef struct OtherThread {
    int tid;
    int64_t ns;
} OtherThread;

static gint compare_others(gconstpointer pa, gconstpointer pb)
{
    const OtherThread *a = pa, *b = pb;

    return a->ns > b->ns ? -1 : a->ns < b->ns;
}

static int64_t *others_time(GArray *others, int tid)
{
    OtherThread other = { .tid = tid };

    for (guint i = 0; i < others->len; i++) {
        if (g_array_index(others, OtherThread, i).tid == tid) {
            return &g_array_index(others, OtherThread, i).ns;
        }
    }
    g_array_append_val(others, other);
    return &g_array_index(others, OtherThread, others->len - 1).ns;
}

/* Which threads without a cookie ran most, for whoever wonders. */
static void say_others(const Tenants *tenants, const GArray *stretches,
                       double wall_ns)
{
    g_autoptr(GArray) others = g_array_new(false, false, sizeof(OtherThread));

    for (guint i = 0; i < stretches->len; i++) {
        const Stretch *stretch = &g_array_index(stretches, Stretch, i);

        if (!g_hash_table_contains(tenants->of_thread,
                                   GINT_TO_POINTER(stretch->tid))) {
            *others_time(others, stretch->tid) += stretch->to_ns -
                                                  stretch->from_ns;
        }
    }
    g_array_sort(others, compare_others);
    for (guint i = 0; i < MIN(others->len, OTHERS_SAID); i++) {
        const OtherThread *other = &g_array_index(others, OtherThread, i);
        g_autofree char *path = g_strdup_printf("/proc/%d/comm", other->tid);
        g_autofree char *name = NULL;

        if (g_file_get_contents(path, &name, NULL, NULL)) {
            g_test_message("%s ran %.2f %%", g_strchomp(name),
                           100 * other->ns / wall_ns);
        }
    }
}

/* The kernel's counters, and when they were read. */
typedef struct Counters {
    double when_ns, forced_ns, waited_ns;
} Counters;

static Counters read_counters(const Tenants *tenants)
{
    return (Counters) {
        .when_ns = bench_now_ns(), .forced_ns = forced_idle_ns(),
        .waited_ns = waited_ns(tenants),
    };
}

TenantsTime tenants_measure(const Tenants *tenants, int ms)
{
    HostCpuSet online = online_cpus();
    g_autoptr(GArray) stretches = NULL;
    Switches *switches = switches_start(&online);
    Counters before = read_counters(tenants), after;
    int64_t from_ns, to_ns;
    TenantsTime seen;

    g_usleep(ms * 1000);
    after = read_counters(tenants);
    stretches = switches_stop(switches, &from_ns, &to_ns);
    seen.wall_ns = to_ns - from_ns;
    seen.core_ns = seen.wall_ns * tenants->host->n_cores;
    seen.forced = (after.forced_ns - before.forced_ns) /
                  (after.when_ns - before.when_ns);
    seen.waiting = (after.waited_ns - before.waited_ns) /
                   (after.when_ns - before.when_ns);
    seen.time = sum_up(tenants, stretches, to_ns);
    say_others(tenants, stretches, seen.wall_ns);
    return seen;
}
