/*
 * What a VM's llcsched object says, and whether the kernel agrees
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "vm-sched.h"

#include "hw/sched/host-cpuset.h"

#include <glib/gstdio.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char host_format[] =
    "cpus %s\n"
    "package 0 %s\n"
    "core %s\n"
    "core %s\n"
    "cache L3 16M %s\n"
    "cache L3 16M %s\n"
    "node 0 cpus %s mem 4G\n"
    "distance 0 10\n";

static const char siblings_format[] =
    "cpus %s\n"
    "package 0 %s\n"
    "core %s\n"
    "cache L3 16M %s\n"
    "node 0 cpus %s mem 4G\n"
    "distance 0 10\n";

static char *one_cpu(int cpu)
{
    return g_strdup_printf("%d", cpu);
}

static void host_choose_cpus(SchedHost *host)
{
    g_autofree char *allowed = thread_mask(getpid());
    HostCpuSet set, both = { { 0 } };
    int first, second;

    g_assert_true(host_cpuset_parse_list(allowed, &set));
    first = host_cpuset_next(&set, 0);
    second = host_cpuset_next(&set, first + 1);
    if (second < 0) {
        printf("1..0 # SKIP this machine has one CPU for us, not two\n");
        exit(0);
    }
    host_cpuset_add(&both, first);
    host_cpuset_add(&both, second);
    host->first = one_cpu(first);
    host->second = one_cpu(second);
    host->both = host_cpuset_to_list(&both);
    g_assert_cmpint(thread_set_mask(getpid(), host->both), ==, 0);
}

static void host_make_tree(SchedHost *host, const char *text)
{
    g_autofree char *path = NULL;

    host->tree = host_tree_new(text);
    path = g_build_filename(host->tree->dir, "proc", NULL);
    g_assert_cmpint(g_mkdir(path, 0755), ==, 0);
    sched_host_set_load(host, SCHED_HOST_QUIET, SCHED_HOST_QUIET);
}

void sched_host_init(SchedHost *host)
{
    g_autofree char *text = NULL;

    host_choose_cpus(host);
    text = g_strdup_printf(host_format, host->both, host->both, host->first,
                           host->second, host->first, host->second,
                           host->both);
    host_make_tree(host, text);
}

void sched_host_init_siblings(SchedHost *host)
{
    g_autofree char *text = NULL;

    host_choose_cpus(host);
    text = g_strdup_printf(siblings_format, host->both, host->both, host->both,
                           host->both, host->both);
    host_make_tree(host, text);
}

static void write_proc(const SchedHost *host, const char *name,
                       const char *text)
{
    g_autofree char *path = g_build_filename(host->tree->dir, "proc", name,
                                             NULL);
    g_autoptr(GError) err = NULL;

    /* replaces the file as a whole: a reader sees the old or the new one */
    g_file_set_contents_full(path, text, -1, G_FILE_SET_CONTENTS_CONSISTENT,
                             0644, &err);
    g_assert_no_error(err);
}

void sched_host_set_load(const SchedHost *host, guint64 first, guint64 second)
{
    static const guint64 ns_per_tick = 10000000;
    g_autofree char *stat = NULL;
    g_autofree char *schedstat = NULL;

    stat = g_strdup_printf(
        "cpu  %" G_GUINT64_FORMAT " 0 0 0 0 0 0 0 0 0\n"
        "cpu%s %" G_GUINT64_FORMAT " 0 0 0 0 0 0 0 0 0\n"
        "cpu%s %" G_GUINT64_FORMAT " 0 0 0 0 0 0 0 0 0\n",
        first + second, host->first, first, host->second, second);
    schedstat = g_strdup_printf(
        "version 15\ntimestamp 1\n"
        "cpu%s 0 0 0 0 0 0 %" G_GUINT64_FORMAT " 0 1\n"
        "cpu%s 0 0 0 0 0 0 %" G_GUINT64_FORMAT " 0 1\n",
        host->first, first * ns_per_tick, host->second, second * ns_per_tick);
    write_proc(host, "stat", stat);
    write_proc(host, "schedstat", schedstat);
}

void sched_host_clear(SchedHost *host)
{
    host_tree_free(host->tree);
    g_free(host->first);
    g_free(host->second);
    g_free(host->both);
}

char *sched_object(const SchedHost *host, const char *more)
{
    return g_strdup_printf("-object llcsched,id=sched0,x-sysfs-root=%s,"
                           "guard-util=100,guard-tasks=100%s",
                           host->tree->dir, more);
}

JsonNode *sched_query(Vm *vm)
{
    g_autoptr(JsonNode) reply = vm_qmp(vm, "query-llcsched", NULL);
    JsonArray *list = json_node_get_array(reply);

    if (json_array_get_length(list) != 1) {
        vm_fail(vm, "query-llcsched has %u entries",
                json_array_get_length(list));
    }
    return json_array_dup_element(list, 0);
}

char *sched_query_text(Vm *vm, const char *member)
{
    g_autoptr(JsonNode) info = sched_query(vm);

    return g_strdup(json_object_get_string_member_with_default(
                        json_node_get_object(info), member, "(absent)"));
}

/* Borrowed from @info; NULL if there is no such vCPU. */
static JsonObject *find_vcpu(JsonNode *info, int index)
{
    JsonArray *vcpus = json_object_get_array_member(json_node_get_object(info),
                                                    "vcpus");

    for (guint i = 0; i < json_array_get_length(vcpus); i++) {
        JsonObject *vcpu = json_array_get_object_element(vcpus, i);

        if (json_object_get_int_member(vcpu, "vcpu") == index) {
            return vcpu;
        }
    }
    return NULL;
}

char *sched_vcpu_text(Vm *vm, int index, const char *member)
{
    g_autoptr(JsonNode) info = sched_query(vm);
    JsonObject *vcpu = find_vcpu(info, index);

    return g_strdup(vcpu ? json_object_get_string_member(vcpu, member)
                         : "(absent)");
}

gint64 sched_vcpu_int(Vm *vm, int index, const char *member)
{
    g_autoptr(JsonNode) info = sched_query(vm);
    JsonObject *vcpu = find_vcpu(info, index);

    g_assert_nonnull(vcpu);
    return json_object_get_int_member(vcpu, member);
}

/* Borrowed from @info. */
static JsonObject *find_group(Vm *vm, JsonNode *info, const char *id)
{
    JsonArray *groups = json_object_get_array_member(
        json_node_get_object(info), "groups");

    for (guint i = 0; i < json_array_get_length(groups); i++) {
        JsonObject *group = json_array_get_object_element(groups, i);

        if (strcmp(json_object_get_string_member(group, "id"), id) == 0) {
            return group;
        }
    }
    vm_fail(vm, "there is no group '%s'", id);
}

gint64 sched_group_int(Vm *vm, const char *id, const char *member)
{
    g_autoptr(JsonNode) info = sched_query(vm);

    return json_object_get_int_member(find_group(vm, info, id), member);
}

bool sched_group_is_throttled(Vm *vm, const char *id)
{
    g_autoptr(JsonNode) info = sched_query(vm);

    return json_object_get_boolean_member(find_group(vm, info, id),
                                          "throttled");
}

typedef struct WantedPeriods {
    const char *id;
    gint64 throttled;
} WantedPeriods;

static bool throttled_periods_reached(Vm *vm, void *opaque)
{
    const WantedPeriods *wanted = opaque;

    return sched_group_int(vm, wanted->id, "throttled-periods") >=
           wanted->throttled;
}

void sched_wait_throttled(Vm *vm, const char *id, int n)
{
    WantedPeriods wanted = {
        .id = id,
        .throttled = sched_group_int(vm, id, "throttled-periods") + n,
    };

    vm_wait(vm, throttled_periods_reached, &wanted, "throttled periods");
}

typedef struct Wanted {
    int index;              /* of a vCPU, or -1 for the object */
    const char *member;     /* NULL: the kernel's mask */
    const char *value;
    gint64 looks;
} Wanted;

static bool text_is(Vm *vm, void *opaque)
{
    const Wanted *wanted = opaque;
    g_autofree char *text = NULL;

    if (!wanted->member) {
        text = sched_real_mask(vm, wanted->index);
    } else if (wanted->index < 0) {
        text = sched_query_text(vm, wanted->member);
    } else {
        text = sched_vcpu_text(vm, wanted->index, wanted->member);
    }
    return g_strcmp0(text, wanted->value) == 0;
}

void sched_wait_text(Vm *vm, const char *member, const char *value)
{
    Wanted wanted = { .index = -1, .member = member, .value = value };

    vm_wait(vm, text_is, &wanted, value);
}

void sched_wait_vcpu_text(Vm *vm, int index, const char *member,
                          const char *value)
{
    Wanted wanted = { .index = index, .member = member, .value = value };

    vm_wait(vm, text_is, &wanted, value);
}

void sched_wait_real_mask(Vm *vm, int index, const char *cpus)
{
    Wanted wanted = { .index = index, .value = cpus };

    vm_wait(vm, text_is, &wanted, cpus);
}

static JsonObject *trust_of(JsonNode *info)
{
    return json_object_get_object_member(json_node_get_object(info), "trust");
}

char *sched_trust_text(Vm *vm, const char *member)
{
    g_autoptr(JsonNode) info = sched_query(vm);

    return g_strdup(json_object_get_string_member_with_default(
                        trust_of(info), member, "(absent)"));
}

gint64 sched_trust_int(Vm *vm, const char *member)
{
    g_autoptr(JsonNode) info = sched_query(vm);

    return json_object_get_int_member(trust_of(info), member);
}

void sched_assert_trust(Vm *vm, const char *mode, const char *isolation)
{
    g_autofree char *has_mode = sched_trust_text(vm, "mode");
    g_autofree char *has_isolation = sched_trust_text(vm, "isolation");

    g_assert_cmpstr(has_mode, ==, mode);
    g_assert_cmpstr(has_isolation, ==, isolation);
}

static gint64 looks_so_far(Vm *vm)
{
    g_autoptr(JsonNode) info = sched_query(vm);

    return json_object_get_int_member(json_node_get_object(info), "looks");
}

static bool looks_reached(Vm *vm, void *opaque)
{
    return looks_so_far(vm) >= ((const Wanted *)opaque)->looks;
}

void sched_wait_looks(Vm *vm, int n)
{
    Wanted wanted = { .looks = looks_so_far(vm) + n };

    vm_wait(vm, looks_reached, &wanted, "more looks");
}

static int vcpu_thread(Vm *vm, int index)
{
    g_autoptr(GArray) threads = vm_vcpu_threads(vm);

    g_assert_cmpint(index, <, threads->len);
    return g_array_index(threads, int, index);
}

void sched_vcpu_times(Vm *vm, int index, gint64 *ret_run_ns,
                      gint64 *ret_wait_ns)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/task/%d/schedstat",
                                            (int)vm_pid(vm),
                                            vcpu_thread(vm, index));
    g_autofree char *text = NULL;
    g_autoptr(GError) err = NULL;
    char *rest;

    g_file_get_contents(path, &text, NULL, &err);
    g_assert_no_error(err);
    *ret_run_ns = g_ascii_strtoll(text, &rest, 10);
    *ret_wait_ns = g_ascii_strtoll(rest, NULL, 10);
}

char *sched_real_mask(Vm *vm, int index)
{
    return thread_mask(vcpu_thread(vm, index));
}

void sched_taskset(Vm *vm, int index, const char *cpus)
{
    g_assert_cmpint(thread_set_mask(vcpu_thread(vm, index), cpus), ==, 0);
}

static void assert_vcpu_placed(JsonObject *vcpu, int tid)
{
    const char *planned = json_object_get_string_member(vcpu, "planned-mask");
    g_autofree char *real = thread_mask(tid);

    g_assert_cmpint(json_object_get_int_member(vcpu, "thread-id"), ==, tid);
    g_assert_cmpstr(json_object_get_string_member(vcpu, "mask-state"), ==,
                    "ours");
    g_assert_cmpstr(json_object_get_string_member(vcpu, "mask"), ==, planned);
    g_assert_cmpstr(real, ==, planned);
}

void sched_assert_placed(Vm *vm, int n)
{
    g_autoptr(JsonNode) info = sched_query(vm);
    g_autoptr(GArray) threads = vm_vcpu_threads(vm);

    g_assert_cmpint(threads->len, ==, n);
    for (int i = 0; i < n; i++) {
        JsonObject *vcpu = find_vcpu(info, i);

        g_assert_nonnull(vcpu);
        assert_vcpu_placed(vcpu, g_array_index(threads, int, i));
    }
}

void sched_assert_apart(Vm *vm, const SchedHost *host)
{
    g_autofree char *mask0 = sched_real_mask(vm, 0);
    g_autofree char *mask1 = sched_real_mask(vm, 1);

    sched_assert_placed(vm, 2);
    /* which of the two goes where depends on the VM's UUID */
    if (strcmp(mask0, host->first) == 0) {
        g_assert_cmpstr(mask1, ==, host->second);
    } else {
        g_assert_cmpstr(mask0, ==, host->second);
        g_assert_cmpstr(mask1, ==, host->first);
    }
}

static bool is_in(const GArray *tids, int tid)
{
    for (guint i = 0; i < tids->len; i++) {
        if (g_array_index(tids, int, i) == tid) {
            return true;
        }
    }
    return false;
}

GArray *sched_other_threads(Vm *vm)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/task", vm_pid(vm));
    GArray *others = g_array_new(FALSE, FALSE, sizeof(int));
    g_autoptr(GArray) vcpus = vm_vcpu_threads(vm);
    g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
    const char *name;

    g_assert_nonnull(dir);
    while ((name = g_dir_read_name(dir))) {
        int tid = atoi(name);

        if (!is_in(vcpus, tid)) {
            g_array_append_val(others, tid);
        }
    }
    return others;
}

void sched_assert_real_masks(Vm *vm, int n, const char *cpus)
{
    for (int i = 0; i < n; i++) {
        g_autofree char *mask = sched_real_mask(vm, i);

        g_assert_cmpstr(mask, ==, cpus);
    }
}
