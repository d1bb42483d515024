/*
 * QTest testcase for llcsched: the threads that are not vCPUs
 *
 * Under qtest they are those below proc/self/task in the host's tree, with
 * masks that are kept in memory.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "libqtest.h"
#include "llcsched-tree.h"
#include "llcsched-util.h"
#include "qobject/qdict.h"
#include "qobject/qlist.h"
#include "qobject/qnum.h"

/* No thread of a real QEMU: above the largest id of Linux. */
#define TID 5000000

/* PF_NO_SETAFFINITY */
#define FIXED 0x04000000u

typedef struct Thread {
    const char *name;
    unsigned flags;
    int cpu, run_ms, wait_ms;
} Thread;

static void thread_put(const LlcschedTree *tree, int tid, const Thread *thread)
{
    g_autofree char *stat = g_strdup_printf("proc/self/task/%d/stat", tid);
    g_autofree char *times = g_strdup_printf("proc/self/task/%d/schedstat",
                                             tid);

    tree_put(tree, stat, "%d (%s) S 1 1 1 0 -1 %u 0 0 0 0 0 0 0 0 20 0 9 0 "
             "100 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 %d 0 0 0 0 0\n", tid,
             thread->name, thread->flags, thread->cpu);
    tree_put(tree, times, "%d000000 %d000000 1\n", thread->run_ms,
             thread->wait_ms);
}

static void thread_remove(const LlcschedTree *tree, int tid)
{
    static const char *const files[] = { "/stat", "/schedstat", "" };

    for (int i = 0; i < ARRAY_SIZE(files); i++) {
        g_autofree char *path = g_strdup_printf("%s/proc/self/task/%d%s",
                                                tree->path, tid, files[i]);

        g_assert_cmpint(remove(path), ==, 0);
    }
}

static void look(QTestState *qts)
{
    qtest_clock_step(qts, SECOND);
}

/* NULL: it is not listed. */
static QDict *thread_query(QTestState *qts, int tid)
{
    QDict *info = query(qts);
    QDict *all = qdict_get_qdict(info, "emulator-threads");
    const QListEntry *entry;
    QDict *found = NULL;

    QLIST_FOREACH_ENTRY(qdict_get_qlist(all, "threads"), entry) {
        QDict *thread = qobject_to(QDict, qlist_entry_obj(entry));

        if (qdict_get_int(thread, "thread-id") == tid) {
            found = qobject_ref(thread);
        }
    }
    qobject_unref(info);
    return found;
}

static void assert_absent(QTestState *qts, int tid)
{
    g_assert_null(thread_query(qts, tid));
}

static void assert_thread(QTestState *qts, int tid, const char *name,
                          const char *role, const char *mask,
                          const char *state)
{
    QDict *thread = thread_query(qts, tid);

    g_assert_nonnull(thread);
    g_assert_cmpstr(qdict_get_str(thread, "name"), ==, name);
    g_assert_cmpstr(qdict_get_str(thread, "role"), ==, role);
    g_assert_cmpstr(qdict_get_str(thread, "mask"), ==, mask);
    g_assert_cmpstr(qdict_get_str(thread, "mask-state"), ==, state);
    qobject_unref(thread);
}

static void assert_plan(QTestState *qts, const char *mode, const char *mask,
                        const char *reason)
{
    QDict *info = query(qts);
    QDict *all = qdict_get_qdict(info, "emulator-threads");

    g_assert_cmpstr(qdict_get_str(all, "emulator"), ==, mode);
    g_assert_cmpstr(qdict_get_str(all, "planned-mask"), ==, mask);
    g_assert_cmpstr(qdict_get_str(all, "reason"), ==, reason);
    qobject_unref(info);
}

static LlcschedTree *host_with_worker(void)
{
    LlcschedTree *tree = tree_new(1, 2, 4, 1);

    thread_put(tree, TID, &(Thread) { .name = "worker" });
    return tree;
}

/* The LLC of the two vCPUs, and the other one. */
static bool first_llc_has_vcpus(QTestState *qts)
{
    QDict *info = query(qts);
    bool first = !strcmp(qdict_get_str(nth(info, "vcpus", 0), "mask"), "0-3");

    qobject_unref(info);
    return first;
}

static const char *near(QTestState *qts)
{
    return first_llc_has_vcpus(qts) ? "0-3" : "4-7";
}

static const char *far(QTestState *qts)
{
    return first_llc_has_vcpus(qts) ? "4-7" : "0-3";
}

static void test_values(void)
{
    g_autoptr(LlcschedTree) tree = host_with_worker();
    QTestState *qts = start_without_object("-smp 2");

    assert_error(object_add(qts, tree->path, "emulator", "'far'"),
                 "emulator|far");
    assert_success(object_add(qts, tree->path, NULL, NULL));
    assert_plan(qts, "near", near(qts), "near-llc");
    assert_error(qom_set(qts, "emulator", "'llc'"), "emulator|llc");
    assert_plan(qts, "near", near(qts), "near-llc");
    assert_success(qom_set(qts, "emulator", "'other'"));
    assert_plan(qts, "other", far(qts), "other-llc");
    assert_success(qom_set(qts, "emulator", "'off'"));
    assert_plan(qts, "off", "", "off");
    qtest_quit(qts);
}

static void test_masks_follow_the_mode(void)
{
    g_autoptr(LlcschedTree) tree = host_with_worker();
    QTestState *qts = start(tree, "-smp 2", "");

    assert_thread(qts, TID, "worker", "other", near(qts), "ours");
    assert_success(qom_set(qts, "emulator", "'other'"));
    assert_thread(qts, TID, "worker", "other", far(qts), "ours");
    assert_success(qom_set(qts, "emulator", "'off'"));
    assert_thread(qts, TID, "worker", "other", "0-7", "unset");
    assert_success(qom_set(qts, "emulator", "'near'"));
    assert_thread(qts, TID, "worker", "other", near(qts), "ours");
    assert_success(qom_set(qts, "placement", "'off'"));
    assert_thread(qts, TID, "worker", "other", "0-7", "unset");
    look(qts);
    assert_thread(qts, TID, "worker", "other", "0-7", "unset");
    qtest_quit(qts);
}

static void test_nothing_is_set_before_the_vm_runs(void)
{
    g_autoptr(LlcschedTree) tree = host_with_worker();
    QTestState *qts = start(tree, "-S -smp 2", "");

    assert_plan(qts, "near", "", "no-vcpus");
    assert_thread(qts, TID, "worker", "other", "0-7", "unset");
    run_command(qts, "cont");
    assert_thread(qts, TID, "worker", "other", near(qts), "ours");
    qtest_quit(qts);
}

static void test_threads_come_and_go(void)
{
    g_autoptr(LlcschedTree) tree = host_with_worker();
    QTestState *qts = start(tree, "-smp 2", "");

    thread_put(tree, TID + 1, &(Thread) { .name = "second" });
    assert_absent(qts, TID + 1);
    look(qts);
    look(qts);
    assert_thread(qts, TID + 1, "second", "other", near(qts), "ours");
    thread_remove(tree, TID);
    look(qts);
    assert_absent(qts, TID);
    assert_thread(qts, TID + 1, "second", "other", near(qts), "ours");
    qtest_quit(qts);
}

static void test_without_dynamic_they_wait(void)
{
    g_autoptr(LlcschedTree) tree = host_with_worker();
    QTestState *qts = start(tree, "-smp 2", ",dynamic=off");

    look(qts);
    thread_put(tree, TID + 1, &(Thread) { .name = "second" });
    look(qts);
    assert_absent(qts, TID + 1);
    replan(qts);
    assert_thread(qts, TID + 1, "second", "other", near(qts), "ours");
    qtest_quit(qts);
}

static int iothread_id(QTestState *qts)
{
    QDict *reply = qtest_qmp(qts, "{ 'execute': 'query-iothreads' }");
    QDict *one = qobject_to(QDict, qlist_peek(qdict_get_qlist(reply,
                                                              "return")));
    int tid = qdict_get_int(one, "thread-id");

    qobject_unref(reply);
    return tid;
}

static void test_what_they_are(void)
{
    g_autoptr(LlcschedTree) tree = host_with_worker();
    QTestState *qts = start(tree, "-smp 2 -object iothread,id=disk", "");
    QDict *info = query(qts);
    int vcpu = qdict_get_int(nth(info, "vcpus", 1), "thread-id");
    int iothread = iothread_id(qts);

    thread_put(tree, qtest_pid(qts), &(Thread) { .name = "qemu" });
    thread_put(tree, iothread, &(Thread) { .name = "IO disk" });
    thread_put(tree, vcpu, &(Thread) { .name = "CPU 1/KVM" });
    thread_put(tree, TID + 1, &(Thread) { .name = "vhost-12" });
    thread_put(tree, TID + 2, &(Thread) { .name = "iou-wrk-12",
                                          .flags = FIXED });
    look(qts);
    assert_thread(qts, qtest_pid(qts), "qemu", "main", near(qts), "ours");
    assert_thread(qts, iothread, "disk", "iothread", near(qts), "ours");
    assert_thread(qts, TID + 1, "vhost-12", "vhost", near(qts), "ours");
    assert_thread(qts, TID + 2, "iou-wrk-12", "other", "0-7",
                  "out-of-reach");
    assert_absent(qts, vcpu);
    qobject_unref(info);
    qtest_quit(qts);
}

/* They are looked for when a device comes, if one has a vhost of the kernel. */
static void test_workers_of_the_kernel(void)
{
    g_autoptr(LlcschedTree) tree = host_with_worker();
    QTestState *qts = start(tree, "-machine pc -smp 2", "");
    g_autofree char *name = g_strdup_printf("vhost-%d", qtest_pid(qts));
    g_autofree char *fd = g_strdup_printf("%s/proc/self/fd/9", tree->path);
    g_autofree char *text = NULL;

    tree_put(tree, "proc/77/comm", "%s\n", name);
    tree_put(tree, "proc/78/comm", "vhost-1\n");
    tree_put(tree, "proc/self/fd/8", "\n");
    qtest_qmp_assert_success(qts, "{ 'execute': 'device_add', 'arguments': {"
                             "  'driver': 'virtio-rng-pci', 'id': 'a' } }");
    look(qts);
    assert_absent(qts, 77);
    g_assert_cmpint(symlink("/dev/vhost-net", fd), ==, 0);
    look(qts);
    assert_absent(qts, 77);
    qtest_qmp_assert_success(qts, "{ 'execute': 'device_add', 'arguments': {"
                             "  'driver': 'virtio-rng-pci', 'id': 'b' } }");
    look(qts);
    assert_thread(qts, 77, name, "vhost", "", "out-of-reach");
    assert_absent(qts, 78);
    text = qtest_hmp(qts, "info llcsched");
    g_assert_nonnull(strstr(text, "other threads: 1 on CPUs "));
    g_assert_nonnull(strstr(text, ", 1 out-of-reach, near the vCPUs: LLC "));
    qtest_quit(qts);
}

static void test_cpus_of_vcpus_are_left_alone(void)
{
    g_autoptr(LlcschedTree) tree = host_with_worker();
    QTestState *qts = start(tree, "-smp 2,cores=2", ",placement=cpu");
    QDict *info = query(qts);
    QDict *thread = thread_query(qts, TID);

    g_assert_cmpstr(qdict_get_str(thread, "mask-state"), ==, "ours");
    for (int i = 0; i < 2; i++) {
        const char *mask = qdict_get_str(nth(info, "vcpus", i), "mask");

        g_assert_null(strstr(qdict_get_str(thread, "mask"), mask));
    }
    assert_plan(qts, "near", qdict_get_str(thread, "mask"), "beside-vcpus");
    qobject_unref(thread);
    qobject_unref(info);
    qtest_quit(qts);
}

/* A VM that fills an LLC has no CPU there to spare. */
static void test_full_llc_opens_its_node(void)
{
    g_autoptr(LlcschedTree) tree = host_with_worker();
    QTestState *qts = start(tree, "-smp 4,cores=4", "");

    assert_placed(qts, "matched", "AAAA", 4);
    assert_plan(qts, "near", "0-7", "llc-full");
    assert_success(qom_set(qts, "emulator", "'other'"));
    assert_thread(qts, TID, "worker", "other", far(qts), "ours");
    qtest_quit(qts);
}

static void assert_others_util(QTestState *qts, int llc, double util)
{
    QDict *info = query(qts);
    QNum *found = qobject_to(QNum, qdict_get(nth(info, "host-llcs", llc),
                                             "others-util"));

    g_assert_cmpfloat(qnum_get_double(found), ==, util);
    qobject_unref(info);
}

/*
 * The worker ran a second of what each of four CPUs did: where its mask is, or
 * without one, where it was seen.
 */
static void test_their_time_is_not_the_load_of_others(void)
{
    static const char *const modes[] = { "near", "off" };

    for (int i = 0; i < ARRAY_SIZE(modes); i++) {
        g_autoptr(LlcschedTree) tree = host_with_worker();
        g_autofree char *option = g_strdup_printf(",emulator=%s", modes[i]);
        QTestState *qts = start(tree, "-smp 2", option);
        int llc = first_llc_has_vcpus(qts) ? 0 : 1;

        look(qts);
        assert_others_util(qts, llc, 0);
        thread_put(tree, TID, &(Thread) { .name = "worker",
                                          .cpu = llc * 4 + 1,
                                          .run_ms = 1000 });
        tree_run(tree, llc, 500, 0);
        look(qts);
        assert_others_util(qts, llc, 25);
        tree_run(tree, llc, 500, 0);
        look(qts);
        assert_others_util(qts, llc, 50);
        qtest_quit(qts);
    }
}

int main(int argc, char **argv)
{
    static const TestCase tests[] = {
        { "option-takes-its-three-values", test_values },
        { "masks-follow-the-mode", test_masks_follow_the_mode },
        { "nothing-is-set-before-the-vm-runs",
          test_nothing_is_set_before_the_vm_runs },
        { "threads-come-and-go", test_threads_come_and_go },
        { "without-dynamic-they-wait", test_without_dynamic_they_wait },
        { "each-is-known-for-what-it-is", test_what_they_are },
        { "workers-of-the-kernel-are-out-of-reach",
          test_workers_of_the_kernel },
        { "cpus-of-vcpus-are-left-alone", test_cpus_of_vcpus_are_left_alone },
        { "full-llc-opens-its-node", test_full_llc_opens_its_node },
        { "their-time-is-not-the-load-of-others",
          test_their_time_is_not_the_load_of_others },
    };

    g_test_init(&argc, &argv, NULL);
    add_tests("llcsched-threads", tests, ARRAY_SIZE(tests));
    return g_test_run();
}
