/*
 * A real guest's vCPU threads are where the plan says: after every change
 *
 * On a tree that splits two CPUs of this machine over two last-level caches.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "vm-sched.h"

#include <string.h>


static SchedHost host;

static Vm *start(const char *smp, const char *more)
{
    g_autofree char *object = sched_object(&host, more);
    Vm *vm = vm_start(&(VmConfig) { .smp = smp, .args = object });

    vm_wait_up(vm, 2);
    return vm;
}

/*
 * A VM that is placed before the load of others is known is looked at once
 * more, without dynamic=on as well: no later look comes unasked.
 */
static void wait_settled(Vm *vm)
{
    sched_wait_text(vm, "load-source", "schedstat");
}

/* --- Properties --- */

static void set_placement(Vm *vm, const char *placement)
{
    vm_do(vm, "qom-set", "{'path': '/objects/sched0',"
          " 'property': 'placement', 'value': '%s'}", placement);
}

/* One guest LLC of two cores: both CPUs, or one for each core. */
static void test_width(void)
{
    static const char *const narrow[] = { "core", "cpu" };
    g_autoptr(Vm) vm = start("2,sockets=1,cores=2", "");

    sched_assert_real_masks(vm, 2, host.both);
    for (int i = 0; i < 2; i++) {
        set_placement(vm, narrow[i]);
        sched_assert_apart(vm, &host);
        set_placement(vm, "llc");
        sched_assert_placed(vm, 2);
        sched_assert_real_masks(vm, 2, host.both);
    }
    vm_wait_all_move(vm, 2);
}

static void test_off(void)
{
    g_autoptr(Vm) vm = start("2,sockets=2", ",interval=100");
    g_autofree char *planned0 = NULL;
    g_autofree char *planned1 = NULL;

    sched_assert_apart(vm, &host);
    set_placement(vm, "off");
    sched_assert_real_masks(vm, 2, host.both);
    sched_wait_looks(vm, 2);
    sched_assert_real_masks(vm, 2, host.both);
    sched_wait_text(vm, "status", "observing");
    planned0 = sched_vcpu_text(vm, 0, "planned-mask");
    planned1 = sched_vcpu_text(vm, 1, "planned-mask");
    g_assert_cmpstr(planned0, !=, planned1);
    set_placement(vm, "llc");
    sched_assert_apart(vm, &host);
    sched_wait_text(vm, "status", "placed");
}

static void test_off_from_start(void)
{
    g_autoptr(Vm) vm = start("2,sockets=2", ",placement=off,interval=100");
    g_autofree char *planned0 = sched_vcpu_text(vm, 0, "planned-mask");
    g_autofree char *planned1 = sched_vcpu_text(vm, 1, "planned-mask");
    g_autofree char *state = sched_vcpu_text(vm, 0, "mask-state");

    sched_wait_looks(vm, 2);
    sched_assert_real_masks(vm, 2, host.both);
    g_assert_cmpstr(planned0, !=, planned1);
    g_assert_cmpstr(state, ==, "unset");
}

static void test_bad_property(void)
{
    g_autoptr(Vm) vm = start("2,sockets=2", "");
    g_autofree char *refused = NULL;

    refused = vm_qmp_refused(vm, "qom-set", "{'path': '/objects/sched0',"
                             " 'property': 'placement', 'value': 'die'}");
    g_assert_nonnull(strstr(refused, "placement"));
    g_clear_pointer(&refused, g_free);
    refused = vm_qmp_refused(vm, "qom-set", "{'path': '/objects/sched0',"
                             " 'property': 'cpus', 'value': [8191]}");
    g_assert_nonnull(strstr(refused, "8191"));
    sched_assert_apart(vm, &host);
}

static void test_cpus_changes(void)
{
    g_autoptr(Vm) vm = start("2,sockets=2", "");

    vm_do(vm, "qom-set", "{'path': '/objects/sched0', 'property': 'cpus',"
          " 'value': [%s]}", host.second);
    sched_assert_placed(vm, 2);
    sched_assert_real_masks(vm, 2, host.second);
    vm_do(vm, "qom-set", "{'path': '/objects/sched0', 'property': 'cpus',"
          " 'value': [%s, %s]}", host.first, host.second);
    sched_assert_apart(vm, &host);
}

/* --- The object comes and goes --- */

static void test_delete_and_add(void)
{
    g_autoptr(Vm) vm = start("2,sockets=2", "");
    g_autoptr(JsonNode) reply = NULL;

    for (int round = 0; round < 3; round++) {
        sched_assert_apart(vm, &host);
        vm_do(vm, "object-del", "{'id': 'sched0'}");
        sched_assert_real_masks(vm, 2, host.both);
        g_clear_pointer(&reply, json_node_unref);
        reply = vm_qmp(vm, "query-llcsched", NULL);
        g_assert_cmpint(json_array_get_length(json_node_get_array(reply)), ==,
                        0);
        vm_wait_all_move(vm, 2);
        vm_do(vm, "object-add", "{'qom-type': 'llcsched', 'id': 'sched0',"
              " 'x-sysfs-root': '%s'}", host.tree->dir);
        sched_assert_apart(vm, &host);
        vm_wait_all_move(vm, 2);
    }
}

/* What somebody else chose meanwhile is not ours to restore. */
static void test_delete_keeps_foreign(void)
{
    g_autoptr(Vm) vm = start("2,sockets=1,cores=2", ",interval=100");

    sched_taskset(vm, 0, host.first);
    sched_wait_vcpu_text(vm, 0, "mask-state", "foreign");
    vm_do(vm, "object-del", "{'id': 'sched0'}");
    sched_wait_real_mask(vm, 0, host.first);
    sched_wait_real_mask(vm, 1, host.both);
}

static void test_second_object(void)
{
    g_autoptr(Vm) vm = start("2,sockets=2", "");
    g_autofree char *refused = NULL;

    refused = vm_qmp_refused(vm, "object-add", "{'qom-type': 'llcsched',"
                             " 'id': 'sched1'}");
    g_assert_nonnull(strstr(refused, "llcsched"));
    sched_assert_apart(vm, &host);
}

/* --- Masks set from outside --- */

static void test_narrowed(void)
{
    g_autoptr(Vm) vm = start("2,sockets=1,cores=2", ",interval=100");
    g_autofree char *reason = NULL;

    sched_taskset(vm, 1, host.second);
    sched_wait_vcpu_text(vm, 1, "mask-state", "foreign");
    sched_wait_looks(vm, 3);
    sched_wait_real_mask(vm, 1, host.second);
    reason = sched_vcpu_text(vm, 1, "reason");
    g_assert_cmpstr(reason, ==, "foreign");
    /* a new plan does not change that */
    vm_do(vm, "llcsched-replan", NULL);
    sched_wait_real_mask(vm, 1, host.second);
    /* until it is given back */
    sched_taskset(vm, 1, host.both);
    sched_wait_vcpu_text(vm, 1, "mask-state", "ours");
    sched_wait_real_mask(vm, 1, host.both);
}

/* Without looks nobody notices, until a plan is asked for. */
static void test_widened_unlooked(void)
{
    g_autoptr(Vm) vm = start("2,sockets=2", ",dynamic=off,interval=100");

    wait_settled(vm);
    sched_taskset(vm, 0, host.both);
    vm_wait_all_move(vm, 2);
    sched_wait_real_mask(vm, 0, host.both);
    vm_do(vm, "llcsched-replan", NULL);
    sched_assert_apart(vm, &host);
}

typedef struct Reset {
    const char *ours;
    bool contested;
} Reset;

static bool reset_was_answered(Vm *vm, void *opaque)
{
    Reset *reset = opaque;
    g_autofree char *state = sched_vcpu_text(vm, 0, "mask-state");
    g_autofree char *mask = sched_real_mask(vm, 0);

    reset->contested = strcmp(state, "contested") == 0;
    return reset->contested || strcmp(mask, reset->ours) == 0;
}

/* Reset to everything: set again twice; the third time is left alone. */
static void test_contested(void)
{
    g_autoptr(Vm) vm = start("2,sockets=2", ",interval=200");
    g_autofree char *ours = sched_real_mask(vm, 0);
    Reset reset = { .ours = ours };
    int resets = 0;

    while (!reset.contested) {
        g_assert_cmpint(resets, <, 20); /* unless ten looks lie between */
        sched_taskset(vm, 0, host.both);
        resets++;
        vm_wait(vm, reset_was_answered, &reset, "a mask of ours, or contest");
    }
    g_assert_cmpint(resets, >=, 3);
    sched_wait_looks(vm, 3);
    sched_wait_real_mask(vm, 0, host.both);
    sched_wait_vcpu_text(vm, 0, "mask-state", "contested");
    sched_wait_vcpu_text(vm, 1, "mask-state", "ours");
    vm_do(vm, "llcsched-replan", NULL);
    sched_assert_apart(vm, &host);
}

/* --- Others on the host --- */

static bool first_llc_is_guarded(Vm *vm)
{
    g_autoptr(JsonNode) info = sched_query(vm);
    JsonArray *llcs = json_object_get_array_member(json_node_get_object(info),
                                                   "host-llcs");
    JsonObject *llc = json_array_get_object_element(llcs, 0);

    g_assert_cmpstr(json_object_get_string_member(llc, "cpus"), ==,
                    host.first);
    return json_object_get_boolean_member(llc, "guarded");
}

/* A look that comes too soon after another does not measure: try again. */
static bool replanned_until(Vm *vm, void *opaque)
{
    vm_do(vm, "llcsched-replan", NULL);
    return first_llc_is_guarded(vm) == GPOINTER_TO_INT(opaque);
}

/*
 * Work of others on the first LLC, a minute of it at once.  The guest halts,
 * so that none of it can be its own.
 */
static void test_crowded(void)
{
    g_autofree char *object = sched_object(
        &host, ",dynamic=off,guard-util=25,guard-tasks=33");
    g_autoptr(Vm) vm = vm_start(&(VmConfig) { .smp = "2,sockets=2",
                                              .mode = "halt",
                                              .args = object });

    vm_wait_up(vm, 2);
    wait_settled(vm);
    sched_assert_apart(vm, &host);
    sched_host_set_load(&host, SCHED_HOST_QUIET + 6000, SCHED_HOST_QUIET);
    vm_wait(vm, replanned_until, GINT_TO_POINTER(true), "the crowd to be seen");
    sched_assert_placed(vm, 2);
    for (int i = 0; i < 2; i++) {
        g_autofree char *mask = sched_real_mask(vm, i);

        g_assert_cmpstr(mask, !=, host.first);
    }
    vm_wait(vm, replanned_until, GINT_TO_POINTER(false), "the crowd to go");
    sched_assert_apart(vm, &host);
    sched_host_set_load(&host, SCHED_HOST_QUIET, SCHED_HOST_QUIET);
}

/* --- vCPUs come and go --- */

static void plug(Vm *vm, int socket)
{
    vm_do(vm, "device_add",
          "{'driver': 'qemu64-x86_64-cpu', 'id': 'plugged',"
          " 'socket-id': %d, 'core-id': 0, 'thread-id': 0}", socket);
}

static bool vcpu_is_placed(Vm *vm, void *opaque)
{
    g_autofree char *state = sched_vcpu_text(vm, GPOINTER_TO_INT(opaque),
                                             "mask-state");

    return strcmp(state, "ours") == 0;
}

static bool vcpu_is_gone(Vm *vm, void *opaque)
{
    g_autofree char *state = sched_vcpu_text(vm, GPOINTER_TO_INT(opaque),
                                             "mask-state");

    return strcmp(state, "(absent)") == 0;
}

/* query-cpus-fast lists by index; a hole does not matter with one plugged. */
static void assert_plugged_apart(Vm *vm, int index)
{
    g_autofree char *plugged = sched_vcpu_text(vm, index, "planned-mask");
    g_autofree char *boot = sched_vcpu_text(vm, 0, "planned-mask");

    g_assert_cmpstr(plugged, !=, boot);
    g_assert_cmpstr(plugged, !=, host.both);
    g_assert_cmpstr(boot, !=, host.both);
    sched_wait_real_mask(vm, 0, boot);
    sched_wait_real_mask(vm, 1, plugged);
}

/*
 * Not twice the same vCPU: TCG has a context for each possible vCPU's thread
 * and takes none back (tcg_register_thread()), and some KVMs refuse a vCPU
 * that has run before.
 */
static void test_hotplug(gconstpointer data)
{
    const VmPlatform *platform = data;
    g_autofree char *object = sched_object(&host, ",interval=100");
    g_autoptr(Vm) vm = NULL;

    if (vm_skip_without_kvm(platform->accel)) {
        return;
    }
    vm = vm_start(&(VmConfig) { .machine = platform->machine,
                                .accel = platform->accel,
                                .smp = "1,sockets=4,maxcpus=4",
                                .args = object });
    vm_wait_up(vm, 1);
    for (int socket = 1; socket < 4; socket++) {
        g_autoptr(JsonNode) deleted = NULL;

        plug(vm, socket);
        vm_wait(vm, vcpu_is_placed, GINT_TO_POINTER(socket),
                "the plugged vCPU to be placed");
        assert_plugged_apart(vm, socket);
        vm_send(vm, 'p');
        vm_wait_up(vm, 2);
        vm_wait_all_move(vm, 2);
        vm_do(vm, "device_del", "{'id': 'plugged'}");
        vm_send(vm, 'p');
        deleted = vm_wait_event(vm, "DEVICE_DELETED");
        vm_wait(vm, vcpu_is_gone, GINT_TO_POINTER(socket),
                "the unplugged vCPU to be forgotten");
        vm_wait_up(vm, 1);
        sched_assert_placed(vm, 1);
        vm_wait_all_move(vm, 1);
    }
}

/* A vCPU that is there before the object is, and one after it has gone. */
static void test_hotplug_without_object(void)
{
    g_autoptr(Vm) vm = vm_start(&(VmConfig) {
        .smp = "1,sockets=3,maxcpus=3" });
    g_autoptr(JsonNode) deleted = NULL;

    vm_wait_up(vm, 1);
    plug(vm, 1);
    vm_send(vm, 'p');
    vm_wait_up(vm, 2);
    sched_assert_real_masks(vm, 2, host.both);
    vm_do(vm, "object-add", "{'qom-type': 'llcsched', 'id': 'sched0',"
          " 'x-sysfs-root': '%s'}", host.tree->dir);
    sched_assert_apart(vm, &host);
    vm_do(vm, "object-del", "{'id': 'sched0'}");
    vm_do(vm, "device_del", "{'id': 'plugged'}");
    vm_send(vm, 'p');
    deleted = vm_wait_event(vm, "DEVICE_DELETED");
    vm_wait_up(vm, 1);
    plug(vm, 2);
    vm_send(vm, 'p');
    vm_wait_up(vm, 2);
    sched_assert_real_masks(vm, 2, host.both);
    vm_wait_all_move(vm, 2);
}

/* Threads come and go while looks go on, and none is taken for another. */
static void plug_in_turn(int rounds)
{
    g_autofree char *object = sched_object(&host, ",interval=100");
    g_autofree char *smp = g_strdup_printf("1,sockets=%d,maxcpus=%d",
                                           rounds + 1, rounds + 1);
    g_autoptr(Vm) vm = vm_start(&(VmConfig) { .smp = smp, .mode = "halt",
                                              .args = object });

    vm_wait_up(vm, 1);
    for (int socket = 1; socket <= rounds; socket++) {
        g_autoptr(JsonNode) deleted = NULL;

        plug(vm, socket);
        vm_send(vm, 'p');
        vm_wait_up(vm, 2);
        vm_do(vm, "device_del", "{'id': 'plugged'}");
        vm_send(vm, 'p');
        vm_do(vm, "llcsched-replan", NULL);
        deleted = vm_wait_event(vm, "DEVICE_DELETED");
        vm_wait_up(vm, 1);
        vm_forget_events(vm);
    }
    vm_wait(vm, vcpu_is_gone, GINT_TO_POINTER(rounds), "one vCPU to be left");
    sched_assert_placed(vm, 1);
    vm_wait_all_move(vm, 1);
}

static void test_plug_loop(void)
{
    int vms = g_getenv("LLCSCHED_SOAK") ? 10 : 1;

    for (int i = 0; i < vms; i++) {
        plug_in_turn(50);
    }
}

/* --- The VM's state --- */

static void test_stop_and_cont(void)
{
    g_autoptr(Vm) vm = start("2,sockets=2", "");

    for (int round = 0; round < 3; round++) {
        vm_do(vm, "stop", NULL);
        sched_taskset(vm, 0, host.both);
        sched_taskset(vm, 1, host.both);
        /* no contest: replanned by hand, resets are forgiven */
        vm_do(vm, "llcsched-replan", NULL);
        vm_do(vm, "cont", NULL);
        sched_assert_apart(vm, &host);
        vm_wait_all_move(vm, 2);
    }
}

static void test_reset(void)
{
    g_autoptr(Vm) vm = start("2,sockets=2", "");

    vm_do(vm, "system_reset", NULL);
    vm_wait_up(vm, 2);
    sched_assert_apart(vm, &host);
    vm_wait_all_move(vm, 2);
}

static void test_event(void)
{
    g_autoptr(Vm) vm = start("2,sockets=2", "");
    g_autoptr(JsonNode) data = NULL;
    JsonObject *event;

    vm_forget_events(vm);
    vm_do(vm, "object-del", "{'id': 'sched0'}");
    vm_do(vm, "object-add", "{'qom-type': 'llcsched', 'id': 'sched0',"
          " 'x-sysfs-root': '%s'}", host.tree->dir);
    data = vm_wait_event(vm, "LLCSCHED_PLACEMENT");
    event = json_node_get_object(data);
    g_assert_cmpstr(json_object_get_string_member(event, "id"), ==, "sched0");
    g_assert_cmpstr(json_object_get_string_member(event, "status"), ==,
                    "placed");
    g_assert_cmpstr(json_object_get_string_member(event, "verdict"), ==,
                    "matched");
    g_assert_cmpint(json_object_get_int_member(event, "changes"), ==, 2);
}

/* As libvirt does it, just after it has plugged one. */
static void test_hotplug_reset(void)
{
    g_autofree char *object = sched_object(&host, ",dynamic=off");
    g_autoptr(Vm) vm = vm_start(&(VmConfig) {
        .smp = "1,sockets=2,maxcpus=2", .args = object });

    vm_wait_up(vm, 1);
    plug(vm, 1);
    vm_wait(vm, vcpu_is_placed, GINT_TO_POINTER(1),
            "the plugged vCPU to be placed");
    sched_taskset(vm, 1, host.both);
    assert_plugged_apart(vm, 1);
}

static void add_hotplug_tests(void)
{
    vm_add_platform_tests("/changes/plugged-vcpu-is-placed", test_hotplug,
                          true);
    g_test_add_func("/changes/plugged-vcpu-without-object-is-left-alone",
                    test_hotplug_without_object);
    g_test_add_func("/changes/plugging-goes-on-under-looks", test_plug_loop);
    g_test_add_func("/changes/plugged-vcpu-that-is-reset-is-placed-soon",
                    test_hotplug_reset);
}

int main(int argc, char **argv)
{
    int ret;

    vm_test_init(&argc, &argv);
    sched_host_init(&host);
    g_test_add_func("/changes/width-follows-placement", test_width);
    g_test_add_func("/changes/off-restores-and-only-plans", test_off);
    g_test_add_func("/changes/off-from-the-start-touches-nothing",
                    test_off_from_start);
    g_test_add_func("/changes/bad-value-changes-nothing", test_bad_property);
    g_test_add_func("/changes/cpus-moves-masks", test_cpus_changes);
    g_test_add_func("/changes/deleting-restores-adding-places",
                    test_delete_and_add);
    g_test_add_func("/changes/deleting-keeps-foreign-masks",
                    test_delete_keeps_foreign);
    g_test_add_func("/changes/second-object-is-refused", test_second_object);
    g_test_add_func("/changes/narrowed-mask-is-respected", test_narrowed);
    g_test_add_func("/changes/not-dynamic-waits-for-replan",
                    test_widened_unlooked);
    g_test_add_func("/changes/third-reset-in-ten-looks-is-contested",
                    test_contested);
    g_test_add_func("/changes/crowded-llc-is-left-and-used-again",
                    test_crowded);
    add_hotplug_tests();
    g_test_add_func("/changes/cont-places-again", test_stop_and_cont);
    g_test_add_func("/changes/reset-changes-nothing", test_reset);
    g_test_add_func("/changes/placing-sends-an-event", test_event);
    ret = g_test_run();
    sched_host_clear(&host);
    return ret;
}
