/*
 * The threads of a real QEMU that are not vCPUs are where they should be
 *
 * On a tree that splits two CPUs of this machine over two last-level caches.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "vm-sched.h"

#include <stdio.h>
#include <string.h>

static SchedHost host;

/* One vCPU, so that one cache is free of any; sockets to plug more into. */
static Vm *start_with(const char *more, const char *args)
{
    g_autofree char *object = sched_object(&host, more);
    g_autofree char *all = g_strconcat("-name t,debug-threads=on ", object,
                                       " ", args, NULL);
    Vm *vm = vm_start(&(VmConfig) { .smp = "1,sockets=3,maxcpus=3",
                                    .mode = "halt", .args = all });

    vm_wait_up(vm, 1);
    return vm;
}

static Vm *start(const char *more)
{
    return start_with(more, "");
}

static void set_option(Vm *vm, const char *name, const char *value)
{
    vm_do(vm, "qom-set", "{'path': '/objects/sched0', 'property': '%s',"
          " 'value': '%s'}", name, value);
}

/* Where the vCPU is not. */
static const char *elsewhere(Vm *vm)
{
    g_autofree char *mask = sched_real_mask(vm, 0);

    g_assert_cmpstr(mask, !=, host.both);
    return g_str_equal(mask, host.first) ? host.second : host.first;
}

static int iothread_tid(Vm *vm, const char *id)
{
    g_autoptr(JsonNode) reply = vm_qmp(vm, "query-iothreads", NULL);
    JsonArray *list = json_node_get_array(reply);

    for (guint i = 0; i < json_array_get_length(list); i++) {
        JsonObject *one = json_array_get_object_element(list, i);

        if (g_str_equal(json_object_get_string_member(one, "id"), id)) {
            return json_object_get_int_member(one, "thread-id");
        }
    }
    g_assert_not_reached();
}

/* What a wait is for; @tid or, if 0, the thread @name of the query. */
typedef struct Wanted {
    int tid;
    const char *name, *member, *value;
} Wanted;

/* "(absent)": there is no such thread. */
static char *thread_text(Vm *vm, const char *name, const char *member)
{
    g_autoptr(JsonNode) info = sched_query(vm);
    JsonObject *all = json_object_get_object_member(json_node_get_object(info),
                                                    "emulator-threads");
    JsonArray *list = json_object_get_array_member(all, "threads");

    for (guint i = 0; i < json_array_get_length(list); i++) {
        JsonObject *one = json_array_get_object_element(list, i);

        if (g_str_equal(json_object_get_string_member(one, "name"), name)) {
            return g_strdup(json_object_get_string_member(one, member));
        }
    }
    return g_strdup("(absent)");
}

static bool wanted_is_there(Vm *vm, void *opaque)
{
    const Wanted *wanted = opaque;
    g_autofree char *text = wanted->tid
                            ? thread_mask(wanted->tid)
                            : thread_text(vm, wanted->name, wanted->member);

    return g_strcmp0(text, wanted->value) == 0;
}

static void wait_mask(Vm *vm, int tid, const char *cpus)
{
    Wanted wanted = { .tid = tid, .value = cpus };

    vm_wait(vm, wanted_is_there, &wanted, cpus);
}

static void wait_text(Vm *vm, const char *name, const char *member,
                      const char *value)
{
    Wanted wanted = { .name = name, .member = member, .value = value };

    vm_wait(vm, wanted_is_there, &wanted, value);
}

static void assert_emulator(Vm *vm, const char *member, const char *value)
{
    g_autoptr(JsonNode) info = sched_query(vm);
    JsonObject *all = json_object_get_object_member(json_node_get_object(info),
                                                    "emulator-threads");

    g_assert_cmpstr(json_object_get_string_member(all, member), ==, value);
}

/* Whoever listed them: the kernel. */
static bool all_are_on(Vm *vm, void *opaque)
{
    g_autoptr(GArray) tids = sched_other_threads(vm);

    for (guint i = 0; i < tids->len; i++) {
        g_autofree char *mask = thread_mask(g_array_index(tids, int, i));

        if (mask && strcmp(mask, opaque)) {
            return false;
        }
    }
    return true;
}

static void wait_all_on(Vm *vm, const char *cpus)
{
    vm_wait(vm, all_are_on, (void *)cpus, cpus);
}

/* --- The modes --- */

static void test_modes(void)
{
    g_autoptr(Vm) vm = start(",interval=100,emulator=other");
    const char *other = elsewhere(vm);

    wait_all_on(vm, other);
    assert_emulator(vm, "planned-mask", other);
    assert_emulator(vm, "reason", "other-llc");
    /* the vCPU has every CPU of its cache: nothing is forced onto it */
    set_option(vm, "emulator", "near");
    wait_all_on(vm, host.both);
    assert_emulator(vm, "reason", "llc-full");
    set_option(vm, "emulator", "other");
    wait_all_on(vm, other);
    set_option(vm, "emulator", "off");
    wait_all_on(vm, host.both);
    assert_emulator(vm, "reason", "off");
    wait_text(vm, "llcsched", "mask-state", "unset");
}

/* The only cache that may be used takes all, whether it is full or not. */
static void test_near(void)
{
    g_autofree char *cpus = g_strdup_printf(",interval=100,cpus=%s",
                                            host.second);
    g_autoptr(Vm) vm = start(cpus);

    wait_all_on(vm, host.second);
    assert_emulator(vm, "emulator", "near");
    sched_assert_real_masks(vm, 1, host.second);
    vm_do(vm, "object-del", "{'id': 'sched0'}");
    wait_all_on(vm, host.both);
    sched_assert_real_masks(vm, 1, host.both);
}

static void test_placement_off(void)
{
    g_autoptr(Vm) vm = start(",interval=100,emulator=other");

    wait_all_on(vm, elsewhere(vm));
    set_option(vm, "placement", "off");
    wait_all_on(vm, host.both);
    sched_wait_looks(vm, 2);
    wait_all_on(vm, host.both);
}

/* --- IOThreads --- */

static void test_iothread(void)
{
    g_autoptr(Vm) vm = start_with(",interval=100,emulator=other",
                                  "-object iothread,id=first");
    const char *other = elsewhere(vm);

    wait_mask(vm, iothread_tid(vm, "first"), other);
    wait_text(vm, "first", "role", "iothread");
    vm_do(vm, "object-add", "{'qom-type': 'iothread', 'id': 'second'}");
    wait_mask(vm, iothread_tid(vm, "second"), other);
    wait_text(vm, "second", "mask-state", "ours");
    vm_do(vm, "object-del", "{'id': 'second'}");
    wait_text(vm, "second", "role", "(absent)");
    /* it inherited what the main loop had; without us it has everything */
    vm_do(vm, "object-add", "{'qom-type': 'iothread', 'id': 'third'}");
    vm_do(vm, "object-del", "{'id': 'sched0'}");
    wait_mask(vm, iothread_tid(vm, "first"), host.both);
    wait_mask(vm, iothread_tid(vm, "third"), host.both);
    wait_all_on(vm, host.both);
}

static void test_disk(void)
{
    g_autoptr(Vm) vm = start_with(
        ",interval=100,emulator=other",
        "-object iothread,id=io -device virtio-blk-pci,drive=d,iothread=io"
        " -drive if=none,id=d,driver=null-co,read-zeroes=on,size=1M");

    wait_mask(vm, iothread_tid(vm, "io"), elsewhere(vm));
    wait_text(vm, "io", "mask-state", "ours");
}

static void test_pinned_iothread(void)
{
    g_autoptr(Vm) vm = start_with(",interval=100,emulator=other",
                                  "-object iothread,id=io");
    const char *other = elsewhere(vm);
    const char *pinned = g_str_equal(other, host.first) ? host.second
                                                        : host.first;
    int tid = iothread_tid(vm, "io");

    wait_mask(vm, tid, other);
    g_assert_cmpint(thread_set_mask(tid, pinned), ==, 0);
    wait_text(vm, "io", "mask-state", "foreign");
    sched_wait_looks(vm, 2);
    wait_mask(vm, tid, pinned);
    vm_do(vm, "object-del", "{'id': 'sched0'}");
    wait_mask(vm, tid, pinned);
}

/* --- What is inherited --- */

static bool plugged_is_ours(Vm *vm, void *opaque)
{
    g_autofree char *state = sched_vcpu_text(vm, GPOINTER_TO_INT(opaque),
                                             "mask-state");

    return strcmp(state, "ours") == 0;
}

/* vCPU threads are made by the main thread, whose mask is narrow. */
static void test_plugged_vcpu(void)
{
    g_autofree char *narrow = g_strdup_printf(",interval=100,emulator=other");
    g_autoptr(Vm) vm = start(narrow);
    const char *other = elsewhere(vm);

    wait_all_on(vm, other);
    for (int socket = 1; socket < 3; socket++) {
        g_autofree char *planned = NULL;

        vm_do(vm, "device_add", "{'driver': 'qemu64-x86_64-cpu',"
              " 'socket-id': %d, 'core-id': 0, 'thread-id': 0}", socket);
        vm_wait(vm, plugged_is_ours, GINT_TO_POINTER(socket),
                "the plugged vCPU to be placed");
        planned = sched_vcpu_text(vm, socket, "planned-mask");
        sched_wait_real_mask(vm, socket, planned);
        set_option(vm, "emulator", "other");
    }
    /* it was found wide, though it was born narrow */
    vm_do(vm, "object-del", "{'id': 'sched0'}");
    sched_assert_real_masks(vm, 3, host.both);
    wait_all_on(vm, host.both);
}

static bool file_is_there(Vm *vm, void *opaque)
{
    g_autofree char *text = NULL;

    return g_file_get_contents(opaque, &text, NULL, NULL) &&
           g_str_has_suffix(text, "end\n");
}

/* A program that QEMU starts may use all CPUs that QEMU itself may. */
static void test_child(void)
{
    g_autoptr(Vm) vm = start(",interval=100,emulator=other");
    g_autofree char *path = g_build_filename(vm_dir(vm), "child", NULL);
    g_autofree char *found = NULL;
    g_autofree char *line = g_strdup_printf("\nCpus_allowed_list:\t%s\n",
                                            host.both);

    wait_all_on(vm, elsewhere(vm));
    vm_do(vm, "migrate", "{'uri': 'exec:cat /proc/self/status > %s;"
          " echo end >> %s; cat > /dev/null'}", path, path);
    vm_wait(vm, file_is_there, path, "the program to tell its mask");
    g_assert_true(g_file_get_contents(path, &found, NULL, NULL));
    if (!strstr(found, line)) {
        g_test_message("%s", found);
    }
    g_assert_nonnull(strstr(found, line));
    g_assert_cmpint(remove(path), ==, 0);
}

/* An object that comes later finds what there was before the first. */
static void test_again(void)
{
    g_autoptr(Vm) vm = start(",interval=100,emulator=other");

    for (int round = 0; round < 3; round++) {
        g_autoptr(JsonNode) info = NULL;

        wait_all_on(vm, elsewhere(vm));
        info = sched_query(vm);
        g_assert_cmpstr(json_object_get_string_member(
                            json_node_get_object(info), "allowed"), ==,
                        host.both);
        vm_do(vm, "object-del", "{'id': 'sched0'}");
        wait_all_on(vm, host.both);
        vm_do(vm, "object-add", "{'qom-type': 'llcsched', 'id': 'sched0',"
              " 'emulator': 'other', 'interval': 100,"
              " 'x-sysfs-root': '%s'}", host.tree->dir);
    }
}

/* --- Where it is forbidden --- */

static void test_sandbox(void)
{
    g_autoptr(Vm) vm = start_with(",interval=100,emulator=other",
                                  "-sandbox on,resourcecontrol=deny"
                                  " -object iothread,id=io");
    g_autofree char *messages = NULL;
    int warnings = 0;

    wait_text(vm, "io", "mask-state", "failed");
    sched_wait_looks(vm, 5);
    wait_all_on(vm, host.both);
    messages = vm_messages(vm);
    for (char *at = messages; (at = strstr(at, "cannot be placed")); at++) {
        warnings++;
    }
    g_assert_cmpint(warnings, ==, 1);
}

int main(int argc, char **argv)
{
    int ret;

    vm_test_init(&argc, &argv);
    sched_host_init(&host);
    g_test_add_func("/threads/each-mode-sets-their-masks", test_modes);
    g_test_add_func("/threads/near-is-within-the-limits", test_near);
    g_test_add_func("/threads/placement-off-leaves-them-alone",
                    test_placement_off);
    g_test_add_func("/threads/iothreads-come-and-go", test_iothread);
    g_test_add_func("/threads/iothread-of-a-disk", test_disk);
    g_test_add_func("/threads/pinned-iothread-is-respected",
                    test_pinned_iothread);
    g_test_add_func("/threads/plugged-vcpu-inherits-nothing",
                    test_plugged_vcpu);
    g_test_add_func("/threads/program-inherits-nothing", test_child);
    g_test_add_func("/threads/next-object-inherits-nothing", test_again);
    g_test_add_func("/threads/sandbox-costs-one-warning", test_sandbox);
    ret = g_test_run();
    sched_host_clear(&host);
    return ret;
}
