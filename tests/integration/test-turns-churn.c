/*
 * Cookies that take turns never meet, whatever happens to the VM meanwhile
 *
 * As test-turns.c, but everything at once: seeded draws of whatever pauses,
 * resets, plugs, saves, migrates, throttles, places or pins vCPUs, or gives
 * them other cookies, until they have shared the core for a minute (ten in
 * `make soak`).  The guest says whether two different cookies met.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "vm-turns.h"

#include <string.h>

/*
 * The first and third vCPU have a cookie, the second has another one, and so
 * have those that are plugged, one at a time, each only once: some KVMs refuse
 * one that ran before.  So partners always have different ones.
 */
#define FIXED_VCPUS 3
#define SOCKETS_MAX 250
#define SMP "3,sockets=250,maxcpus=250"

typedef struct Churn {
    Vm *vm;
    const char *accel;
    int socket;                 /* of the last one that was plugged */
    bool plugged;               /* it is there */
    char *cookie;               /* of the others; NULL: their group is gone */
    char letter;                /* of the guest's mode */
    gint64 granted_ns;          /* when it was asked last */
    gint64 shared_ns;
    guint64 looks, seen;        /* so far; those that the guest counts now */
} Churn;

static SchedHost host;
static char *others;            /* JSON: the vCPUs of the other cookie */

static char *list_others(void)
{
    GString *list = g_string_new("[1");

    for (int i = FIXED_VCPUS; i < SOCKETS_MAX; i++) {
        g_string_append_printf(list, ", %d", i);
    }
    g_string_append_c(list, ']');
    return g_string_free(list, false);
}

static int n_vcpus(const Churn *churn)
{
    return FIXED_VCPUS + churn->plugged;
}

/* --- What the guest saw --- */

/* The counts of a vCPU that is unplugged go with it. */
static void note_sight(Churn *churn)
{
    TurnsSight sight = turns_sight(churn->vm);

    if (sight.meets) {
        vm_fail(churn->vm, "different cookies met %" G_GUINT64_FORMAT
                " times", sight.meets);
    }
    churn->looks += sight.looks > churn->seen ? sight.looks - churn->seen : 0;
    churn->seen = sight.looks;
}

static void note_shared(Churn *churn)
{
    gint64 ns = turns_sum(churn->vm, "granted-ns");

    churn->shared_ns += MAX(ns - churn->granted_ns, 0);
    churn->granted_ns = ns;
}

static void check(Churn *churn)
{
    vm_wait_all_move(churn->vm, n_vcpus(churn));
    note_sight(churn);
    note_shared(churn);
}

/* --- What takes effect by itself, also while the VM is paused --- */

static void set(Churn *churn, const char *id, const char *property,
                const char *value)
{
    vm_do(churn->vm, "qom-set", "{'path': '/objects/%s', 'property': '%s',"
          " 'value': %s}", id, property, value);
}

static void set_number(Churn *churn, const char *id, const char *property,
                       int min, int max)
{
    g_autofree char *text = g_strdup_printf(
        "%d", g_test_rand_int_range(min, max + 1));

    set(churn, id, property, text);
}

static const char *any_group(const Churn *churn)
{
    return churn->cookie && g_test_rand_bit() ? "others" : "some";
}

/* No group gets less than a fifth of a CPU: the test is to go on. */
static void limit(Churn *churn)
{
    int period = g_test_rand_int_range(1000, 20000);
    int quota = g_test_rand_bit() ? 0 : period *
                g_test_rand_int_range(20, 150) / 100;

    vm_do(churn->vm, "llcsched-set-limits", "{'id': '%s', 'quota-us': %d,"
          " 'period-us': %d}", any_group(churn), quota, period);
}

static void weigh(Churn *churn)
{
    set_number(churn, any_group(churn), "weight", 50, 400);
}

static void slice(Churn *churn)
{
    set_number(churn, "sched0", "slice-us", 1000, 20000);
}

static void place(Churn *churn)
{
    static const char *const widths[] = { "'off'", "'llc'", "'core'",
                                          "'cpu'" };

    set(churn, "sched0", "placement",
        widths[g_test_rand_int_range(0, G_N_ELEMENTS(widths))]);
}

static void pin(Churn *churn)
{
    const char *masks[] = { host.first, host.second, host.both };

    sched_taskset(churn->vm, g_test_rand_int_range(0, n_vcpus(churn)),
                  masks[g_test_rand_int_range(0, G_N_ELEMENTS(masks))]);
}

/* Without their group, the others have no cookie. */
static void regroup(Churn *churn)
{
    if (churn->cookie) {
        vm_do(churn->vm, "object-del", "{'id': 'others'}");
        g_clear_pointer(&churn->cookie, g_free);
        return;
    }
    churn->cookie = g_strdup(g_test_rand_bit() ? "two" : "three");
    vm_do(churn->vm, "object-add", "{'qom-type': 'llcsched-group',"
          " 'id': 'others', 'vcpus': %s, 'cookie': '%s'}", others,
          churn->cookie);
}

typedef void Action(Churn *churn);

static Action *const settings[] = {
    limit, limit, weigh, slice, place, pin, regroup,
};

static void change_something(Churn *churn)
{
    settings[g_test_rand_int_range(0, G_N_ELEMENTS(settings))](churn);
}

/* --- What happens to the VM --- */

static void pause_and_cont(Churn *churn)
{
    vm_do(churn->vm, "stop", NULL);
    for (int n = g_test_rand_int_range(0, 3); n > 0; n--) {
        change_something(churn);
    }
    vm_do(churn->vm, "cont", NULL);
}

/* The mode is that of the command line again. */
static void reset(Churn *churn)
{
    note_sight(churn);
    vm_do(churn->vm, "system_reset", NULL);
    vm_wait_up(churn->vm, n_vcpus(churn));
    churn->letter = 'm';
    churn->seen = 0;
}

static void nap_or_not(Churn *churn)
{
    churn->letter = churn->letter == 'm' ? 'a' : 'm';
    vm_send(churn->vm, churn->letter);
    g_free(vm_wait_line(churn->vm, "mode "));
}

static void plug_or_unplug(Churn *churn)
{
    note_sight(churn);
    if (churn->plugged) {
        vm_unplug(churn->vm);
        churn->plugged = false;
    } else if (churn->socket + 1 < SOCKETS_MAX) {
        vm_plug(churn->vm, ++churn->socket);
        vm_send(churn->vm, 'p');
        churn->plugged = true;
    } else {
        return;
    }
    vm_wait_up(churn->vm, n_vcpus(churn));
}

/* What was set meanwhile stays: it is none of the guest's. */
static void save_and_load(Churn *churn)
{
    note_sight(churn);
    vm_savevm(churn->vm, "now");
    change_something(churn);
    vm_loadvm(churn->vm, "now");
    vm_drop_cut_line(churn->vm);
}

static Vm *start(const Churn *churn, const char *more)
{
    g_autofree char *object = sched_object(&host, ",trust-backend=gate,"
                                           "interval=100");
    g_autofree char *group = g_strdup_printf(
        "-object llcsched-group,id=others,vcpus=1,vcpus=3-249,cookie=%s",
        churn->cookie);
    g_autofree char *plugged = g_strdup_printf(
        "-device qemu64-x86_64-cpu,id=plugged,socket-id=%d,core-id=0,"
        "thread-id=0", churn->socket);
    g_autofree char *args = g_strjoin(
        " ", object, "-object llcsched-group,id=some,vcpus=0,vcpus=2,"
        "cookie=one", churn->cookie ? group : "",
        churn->plugged ? plugged : "", more, NULL);

    return vm_start(&(VmConfig) { .accel = churn->accel, .smp = SMP,
                                  .mode = "meet", .args = args });
}

static void migrate(Churn *churn)
{
    Vm *to = start(churn, "-incoming defer");

    note_sight(churn);
    note_shared(churn);
    vm_migrate(churn->vm, to);
    vm_free(churn->vm);
    vm_add_snapshot_disk(to);
    churn->vm = to;
    churn->granted_ns = 0;
}

static Action *const actions[] = {
    change_something, change_something, change_something, pause_and_cont,
    reset, nap_or_not, plug_or_unplug, plug_or_unplug, save_and_load, migrate,
};

static gint64 wanted_ns(void)
{
    return (g_getenv("LLCSCHED_SOAK") ? 600 : 60) * 1000000000ll;
}

/* Up to four things in a row, none of which waits for the last to settle. */
static void test_churn(gconstpointer accel)
{
    Churn churn = { .accel = accel, .socket = FIXED_VCPUS - 1, .letter = 'm',
                    .cookie = g_strdup("two") };
    guint n = 0;

    if (vm_skip_without_kvm(accel)) {
        g_free(churn.cookie);
        return;
    }
    churn.vm = start(&churn, "");
    vm_add_snapshot_disk(churn.vm);
    vm_wait_up(churn.vm, n_vcpus(&churn));
    while (churn.shared_ns < wanted_ns()) {
        for (int i = g_test_rand_int_range(1, 5); i > 0; i--, n++) {
            actions[g_test_rand_int_range(0, G_N_ELEMENTS(actions))](&churn);
        }
        check(&churn);
    }
    note_sight(&churn);
    g_test_message("%u actions, %" G_GUINT64_FORMAT " looks, no meeting", n,
                   churn.looks);
    g_assert_cmpuint(churn.looks, >, wanted_ns() / 10000000);
    vm_free(churn.vm);
    g_free(churn.cookie);
}

static const VmTest tests[] = {
    { "never-do-two-cookies-meet", test_churn },
};

int main(int argc, char **argv)
{
    int ret;

    vm_test_init(&argc, &argv);
    sched_host_init_siblings(&host);
    others = list_others();
    vm_add_accel_tests("/turns-churn", tests, G_N_ELEMENTS(tests));
    ret = g_test_run();
    g_free(others);
    sched_host_clear(&host);
    return ret;
}
