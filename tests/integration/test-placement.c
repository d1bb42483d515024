/*
 * A real guest's vCPU threads are where the plan says: from the start on
 *
 * On a tree that splits two CPUs of this machine over two last-level caches.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "vm-sched.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOBODY 65534
/* libvirt's default */
#define SANDBOX "-sandbox on,obsolete=deny,elevateprivileges=deny," \
                "spawn=deny,resourcecontrol=deny"

static SchedHost host;

static void test_two_groups(gconstpointer data)
{
    const VmPlatform *platform = data;
    g_autofree char *object = sched_object(&host, "");
    g_autoptr(Vm) vm = NULL;

    if (vm_skip_without_kvm(platform->accel)) {
        return;
    }
    vm = vm_start(&(VmConfig) { .machine = platform->machine,
                                .accel = platform->accel,
                                .smp = "2,sockets=2", .args = object });
    vm_wait_up(vm, 2);
    sched_assert_apart(vm, &host);
    sched_wait_text(vm, "verdict", "matched");
    vm_wait_all_move(vm, 2);
}

/* Two cores that share an LLC find none with two: they get both. */
static void test_one_group(void)
{
    g_autofree char *object = sched_object(&host, "");
    g_autofree char *reason = NULL;
    g_autoptr(Vm) vm = vm_start(&(VmConfig) { .smp = "2,sockets=1,cores=2",
                                              .args = object });

    vm_wait_up(vm, 2);
    sched_assert_placed(vm, 2);
    sched_assert_real_masks(vm, 2, host.both);
    reason = sched_vcpu_text(vm, 0, "reason");
    g_assert_cmpstr(reason, ==, "split-node");
    vm_wait_all_move(vm, 2);
}

/* What QEMU may not use at its start is not used later. */
static void test_inherited_mask(void)
{
    g_autofree char *object = sched_object(&host, ",interval=100");
    g_autofree char *candidates = NULL;
    g_autoptr(Vm) vm = NULL;

    g_assert_cmpint(thread_set_mask(getpid(), host.second), ==, 0);
    vm = vm_start(&(VmConfig) { .smp = "2,sockets=2", .args = object });
    g_assert_cmpint(thread_set_mask(getpid(), host.both), ==, 0);
    vm_wait_up(vm, 2);
    sched_wait_looks(vm, 2);
    sched_assert_placed(vm, 2);
    sched_assert_real_masks(vm, 2, host.second);
    candidates = sched_query_text(vm, "candidates");
    g_assert_cmpstr(candidates, ==, host.second);
    sched_wait_text(vm, "verdict", "overcommitted");
    vm_wait_all_move(vm, 2);
}

static void test_cpus(void)
{
    g_autofree char *more = g_strdup_printf(",cpus=%s", host.first);
    g_autofree char *object = sched_object(&host, more);
    g_autoptr(Vm) vm = vm_start(&(VmConfig) { .smp = "2,sockets=2",
                                              .args = object });

    vm_wait_up(vm, 2);
    sched_assert_placed(vm, 2);
    sched_assert_real_masks(vm, 2, host.first);
}

/* libvirt starts paused and resets every mask before it lets the guest run. */
static void test_paused(void)
{
    g_autofree char *object = sched_object(&host, "");
    g_autofree char *status = NULL;
    g_autoptr(Vm) vm = vm_start(&(VmConfig) { .smp = "2,sockets=2",
                                              .paused = true,
                                              .args = object });

    status = sched_query_text(vm, "status");
    g_assert_cmpstr(status, ==, "waiting");
    sched_assert_real_masks(vm, 2, host.both);
    sched_taskset(vm, 0, host.both);
    sched_taskset(vm, 1, host.both);
    vm_do(vm, "cont", NULL);
    sched_assert_apart(vm, &host);
    sched_wait_text(vm, "status", "placed");
    vm_wait_up(vm, 2);
}

/* A mask that was there first is an operator's. */
static void test_pinned_before_start(void)
{
    g_autofree char *object = sched_object(&host, "");
    g_autofree char *state = NULL;
    g_autoptr(Vm) vm = vm_start(&(VmConfig) { .smp = "2,sockets=2",
                                              .paused = true,
                                              .args = object });

    sched_taskset(vm, 0, host.second);
    vm_do(vm, "cont", NULL);
    vm_wait_up(vm, 2);
    state = sched_vcpu_text(vm, 0, "mask-state");
    g_assert_cmpstr(state, ==, "foreign");
    sched_wait_vcpu_text(vm, 1, "mask-state", "ours");
    sched_wait_real_mask(vm, 0, host.second);
    /* the free LLC is the other one */
    sched_wait_real_mask(vm, 1, host.first);
}

static void test_daemon(void)
{
    g_autofree char *object = sched_object(&host, "");
    g_autoptr(Vm) vm = vm_start(&(VmConfig) { .smp = "2,sockets=2",
                                              .daemonize = true,
                                              .args = object });

    sched_assert_apart(vm, &host);
    vm_wait_up(vm, 2);
    vm_wait_all_move(vm, 2);
}

/* Lines of @text that hold @word. */
static int count_lines(const char *text, const char *word)
{
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    int n = 0;

    for (char **line = lines; *line; line++) {
        n += strstr(*line, word) != NULL;
    }
    return n;
}

static void test_sandbox(void)
{
    g_autofree char *object = sched_object(&host, ",interval=100");
    g_autofree char *args = g_strconcat(SANDBOX " ", object, NULL);
    g_autofree char *messages = NULL;
    g_autoptr(JsonNode) info = NULL;
    JsonArray *warnings;
    g_autoptr(Vm) vm = vm_start(&(VmConfig) { .smp = "2,sockets=2",
                                              .args = args });

    vm_wait_up(vm, 2);
    vm_wait_all_move(vm, 2);
    sched_wait_looks(vm, 3);
    sched_assert_real_masks(vm, 2, host.both);
    sched_wait_text(vm, "status", "degraded");
    sched_wait_vcpu_text(vm, 0, "mask-state", "failed");
    sched_wait_vcpu_text(vm, 1, "mask-state", "failed");
    messages = vm_messages(vm);
    g_assert_cmpint(count_lines(messages, "llcsched"), ==, 1);
    info = sched_query(vm);
    warnings = json_object_get_array_member(json_node_get_object(info),
                                            "warnings");
    g_assert_cmpint(json_array_get_length(warnings), ==, 1);
    g_assert_nonnull(strstr(messages,
                            json_array_get_string_element(warnings, 0)));
    g_assert_nonnull(strstr(messages, "resourcecontrol=deny"));
}

static void test_user(void)
{
    g_autofree char *object = sched_object(&host, "");
    g_autoptr(Vm) vm = NULL;

    if (geteuid() != 0) {
        g_test_skip("only root can change the user");
        return;
    }
    vm = vm_start(&(VmConfig) { .smp = "2,sockets=2", .uid = NOBODY,
                                .args = object });
    vm_wait_up(vm, 2);
    sched_assert_apart(vm, &host);
    vm_wait_all_move(vm, 2);
}

typedef struct Refusal {
    const char *machine;
    const char *smp;
    const char *accel;
    const char *args;       /* before the object's */
    const char *more;       /* of the object */
    const char *named;      /* what the message must name */
} Refusal;

static const Refusal one_thread = {
    .accel = "tcg,thread=single", .args = "", .more = "",
    .named = "thread=multi",
};
static const Refusal icount = {
    .accel = "tcg", .args = "-icount shift=auto", .more = "",
    .named = "-icount",
};
static const Refusal replay = {
    .accel = "tcg", .args = "-icount shift=auto,rr=record,rrfile=/dev/null",
    .more = "", .named = "record/replay",
};
static const Refusal no_machine = {
    .machine = "none", .smp = "1", .args = "", .more = "", .named = "-machine",
};
static const Refusal second = {
    .args = "-object llcsched,id=first", .more = "", .named = "already",
};
static const Refusal no_tree = {
    .args = "", .more = ",x-sysfs-root=/nonexistent", .named = "/nonexistent",
};
static const Refusal no_such_cpu = {
    .args = "", .more = ",cpus=8191", .named = "8191",
};

static void test_refused(gconstpointer data)
{
    const Refusal *refusal = data;
    g_autofree char *object = sched_object(&host, refusal->more);
    g_autofree char *args = g_strjoin(" ", refusal->args, object, NULL);
    g_autofree char *messages = NULL;
    int status;

    messages = vm_start_refused(&(VmConfig) { .machine = refusal->machine,
                                              .smp = refusal->smp,
                                              .accel = refusal->accel,
                                              .args = args }, &status);
    g_assert_true(WIFEXITED(status));
    g_assert_cmpint(WEXITSTATUS(status), ==, 1);
    if (!strstr(messages, refusal->named)) {
        g_test_message("%s", messages);
    }
    g_assert_nonnull(strstr(messages, refusal->named));
}

int main(int argc, char **argv)
{
    int ret;

    vm_test_init(&argc, &argv);
    sched_host_init(&host);
    vm_add_platform_tests("/placement/two-groups-on-two-llcs", test_two_groups,
                          false);
    g_test_add_func("/placement/group-too-large-for-one-llc-gets-both",
                    test_one_group);
    g_test_add_func("/placement/inherited-mask-is-never-widened",
                    test_inherited_mask);
    g_test_add_func("/placement/cpus-is-a-limit", test_cpus);
    g_test_add_func("/placement/paused-vm-is-placed-by-cont", test_paused);
    g_test_add_func("/placement/mask-set-before-start-is-respected",
                    test_pinned_before_start);
    g_test_add_func("/placement/daemon-is-placed-when-it-is-ready",
                    test_daemon);
    g_test_add_func("/placement/sandbox-costs-one-warning-not-the-guest",
                    test_sandbox);
    g_test_add_func("/placement/needs-no-privilege", test_user);
    g_test_add_data_func("/placement/refused/single-threaded-tcg",
                         &one_thread, test_refused);
    g_test_add_data_func("/placement/refused/icount", &icount, test_refused);
    g_test_add_data_func("/placement/refused/record-replay", &replay,
                         test_refused);
    g_test_add_data_func("/placement/refused/no-machine", &no_machine,
                         test_refused);
    g_test_add_data_func("/placement/refused/no-such-cpu", &no_such_cpu,
                         test_refused);
    g_test_add_data_func("/placement/refused/second-object", &second,
                         test_refused);
    g_test_add_data_func("/placement/refused/no-such-tree", &no_tree,
                         test_refused);
    ret = g_test_run();
    sched_host_clear(&host);
    return ret;
}
