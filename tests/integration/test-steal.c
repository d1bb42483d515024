/*
 * A real guest that is throttled sees the time as steal
 *
 * The guest's record is read from its memory while the VM is stopped, and so
 * belongs exactly to what the query and the kernel say then.  KVM adds to the
 * record what the vCPU thread waited for a CPU; ours is the rest.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "vm-sched.h"

#include <string.h>

/*
 * The first vCPU spins, the second halts.  Stalls are long, so that the time
 * from the kick until a vCPU is out is little of them even on a busy machine.
 */
#define SMP "2,sockets=2"
#define GROUP(limits) "-object llcsched-group,id=g,vcpus=0-1," limits
#define LONG_STALLS GROUP("quota-us=20000,period-us=1000000")
#define SHORT_STALLS GROUP("quota-us=2000,period-us=10000")
#define STEAL(value) " -fw_cfg name=opt/llcsched/steal,string=" value

#define RECORDS 0x60000         /* tests/guest/README.md */
#define RECORD_BYTES 64
#define N_VCPUS 2

static SchedHost host;

static Vm *start_steal(const char *accel, const char *options,
                       const char *more)
{
    g_autofree char *object = sched_object(&host, options);
    g_autofree char *args = g_strconcat(object, " ", more, NULL);

    return vm_start(&(VmConfig) {
        .accel = accel, .smp = SMP, .mode = "one", .args = args,
    });
}

static Vm *start(const char *options, const char *more)
{
    Vm *vm = start_steal("kvm", options, more);

    vm_wait_up(vm, N_VCPUS);
    return vm;
}

static void assert_state(Vm *vm, int index, const char *state)
{
    g_autofree char *text = sched_vcpu_text(vm, index, "steal-state");

    g_assert_cmpstr(text, ==, state);
}

/* KVM has no steal clock where its kernel has no statistics of waiting. */
static bool kvm_offers_it(void)
{
    g_autoptr(Vm) vm = start("", SHORT_STALLS);
    g_autofree char *state = NULL;

    sched_wait_throttled(vm, "g", 2);
    state = sched_vcpu_text(vm, 0, "steal-state");
    return strcmp(state, "hidden") != 0;
}

static bool skipped(void)
{
    static int offered = -1;

    if (vm_skip_without_kvm("kvm")) {
        return true;
    }
    if (offered < 0) {
        offered = kvm_offers_it();
    }
    if (!offered) {
        g_test_skip("KVM offers no steal clock");
    }
    return !offered;
}

/* --- Samples --- */

/* Of one vCPU, ns, all up to the same moment. */
typedef struct Sample {
    gint64 throttled, told;     /* says the query */
    gint64 waited;              /* says the kernel */
    gint64 record;              /* says the guest's record */
} Sample;

static void read_records(Vm *vm, guint64 address, guint64 *ret_words, gsize n)
{
    g_autofree char *path = g_build_filename(vm_dir(vm), "records", NULL);
    g_autoptr(GError) err = NULL;
    g_autofree char *bytes = NULL;
    gsize len;

    vm_do(vm, "pmemsave", "{'val': %" G_GUINT64_FORMAT ", 'size': %zu,"
          " 'filename': '%s'}", address, n * sizeof(*ret_words), path);
    g_file_get_contents(path, &bytes, &len, &err);
    g_assert_no_error(err);
    g_assert_cmpuint(len, ==, n * sizeof(*ret_words));
    memcpy(ret_words, bytes, len);
    unlink(path);
}

static Sample sample(Vm *vm, int index)
{
    guint64 words[RECORD_BYTES / 8];
    Sample now;
    gint64 run;

    read_records(vm, RECORDS + index * RECORD_BYTES, words,
                 G_N_ELEMENTS(words));
    now.record = words[0];
    now.throttled = sched_vcpu_int(vm, index, "throttled-ns");
    now.told = sched_vcpu_int(vm, index, "steal-ns");
    sched_vcpu_times(vm, index, &run, &now.waited);
    g_test_message("vCPU %d: throttled %.3f ms, told %.3f, waited %.3f, "
                   "record %.3f version %u", index, now.throttled / 1e6,
                   now.told / 1e6, now.waited / 1e6, now.record / 1e6,
                   (guint32)words[1]);
    /* nobody is writing */
    g_assert_cmpuint(words[1] & 1, ==, 0);
    return now;
}

static void stop_and_sample(Vm *vm, Sample ret_samples[N_VCPUS])
{
    vm_do(vm, "stop", NULL);
    for (int i = 0; i < N_VCPUS; i++) {
        ret_samples[i] = sample(vm, i);
    }
}

/*
 * The record of a life that began in this QEMU has what was told and what KVM
 * told: what the thread waited until the vCPU last entered the guest.  The
 * first does so all the time, and so after @before.
 */
static void assert_adds_up(const Sample before[N_VCPUS],
                           const Sample now[N_VCPUS])
{
    for (int i = 0; i < N_VCPUS; i++) {
        gint64 kvm = now[i].record - now[i].told;

        g_assert_cmpint(kvm, >=, i == 0 ? before[i].waited : 0);
        g_assert_cmpint(kvm, <=, now[i].waited);
        g_assert_cmpint(now[i].told, <=, now[i].throttled);
    }
}

static bool is_told(Vm *vm, void *opaque)
{
    return sched_vcpu_int(vm, 0, "steal-ns") > *(gint64 *)opaque;
}

static void wait_told(Vm *vm, gint64 ns)
{
    vm_wait(vm, is_told, &ns, "the guest to be told");
}

/* --- What is told --- */

typedef struct Window {
    gint64 throttled, told;
} Window;

static void take_window(Vm *vm, Window ret_windows[N_VCPUS])
{
    Sample before[N_VCPUS], now[N_VCPUS];

    stop_and_sample(vm, before);
    vm_do(vm, "cont", NULL);
    sched_wait_throttled(vm, "g", 3);
    stop_and_sample(vm, now);
    vm_do(vm, "cont", NULL);
    assert_adds_up(before, now);
    for (int i = 0; i < N_VCPUS; i++) {
        ret_windows[i].throttled = now[i].throttled - before[i].throttled;
        ret_windows[i].told = now[i].told - before[i].told;
        g_assert_cmpint(ret_windows[i].throttled, >, 0);
        g_assert_cmpint(ret_windows[i].told, <=, ret_windows[i].throttled);
    }
}

/*
 * One that ran and was parked sees the time within 2 %, one that idled at most
 * 1 %.  It may be woken, and one may be late to leave, where the machine has
 * no time for them: one window of five will do.
 */
static void test_shown(void)
{
    g_autoptr(Vm) vm = NULL;
    bool good = false;

    if (skipped()) {
        return;
    }
    vm = start("", LONG_STALLS STEAL("own"));
    sched_wait_throttled(vm, "g", 1);
    for (int i = 0; i < 5 && !good; i++) {
        Window windows[N_VCPUS];

        take_window(vm, windows);
        good = windows[0].told >= windows[0].throttled * 0.98 &&
               windows[1].told <= windows[1].throttled * 0.01;
    }
    g_assert_true(good);
    assert_state(vm, 0, "shown");
}

/* Of a stall that goes on. */
#define MUCH_NS 300000000

/* @opaque: a Sample to compare with; then, what was told. */
static bool much_is_due(Vm *vm, void *opaque)
{
    Sample *since = opaque;
    gint64 told = sched_vcpu_int(vm, 0, "steal-ns");
    gint64 throttled = sched_vcpu_int(vm, 0, "throttled-ns");

    if (throttled - since->throttled < told - since->told + MUCH_NS) {
        return false;
    }
    since->told = told;
    return true;
}

/* Not only when it runs again, which may be elsewhere. */
static void test_stop_tells(void)
{
    g_autoptr(Vm) vm = NULL;

    if (skipped()) {
        return;
    }
    vm = start("", LONG_STALLS STEAL("own"));
    wait_told(vm, 0);
    for (int i = 0; i < 3; i++) {
        Sample before[N_VCPUS], now[N_VCPUS];

        stop_and_sample(vm, before);
        vm_do(vm, "cont", NULL);
        vm_wait(vm, much_is_due, &before[0], "the middle of a stall");
        stop_and_sample(vm, now);
        g_assert_cmpint(now[0].told - before[0].told, >=, MUCH_NS / 2);
        vm_do(vm, "cont", NULL);
    }
}

/* True once it was throttled for as long; stops and continues each time. */
static bool throttled_while_stopping(Vm *vm, void *opaque)
{
    vm_do(vm, "stop", NULL);
    vm_do(vm, "cont", NULL);
    return sched_vcpu_int(vm, 0, "throttled-ns") >= *(gint64 *)opaque;
}

/*
 * A stall that is cut into pieces is told, but for what each takes to begin: if
 * those that begin by "cont" were lost, next to nothing would be told.
 */
static void test_stops_lose_nothing(void)
{
    g_autoptr(Vm) vm = NULL;
    Sample before[N_VCPUS], now[N_VCPUS];
    gint64 wanted;

    if (skipped()) {
        return;
    }
    vm = start("", LONG_STALLS STEAL("own"));
    wait_told(vm, 0);
    stop_and_sample(vm, before);
    vm_do(vm, "cont", NULL);
    wanted = before[0].throttled + 2000000000;
    vm_wait(vm, throttled_while_stopping, &wanted, "two seconds of stalls");
    stop_and_sample(vm, now);
    assert_adds_up(before, now);
    g_assert_cmpint(now[0].told - before[0].told, >=,
                    (now[0].throttled - before[0].throttled) / 2);
}

/* What it reads by itself is what is in its memory. */
static void test_guest_reads_it(void)
{
    g_autoptr(Vm) vm = NULL;
    Sample before[N_VCPUS], after[N_VCPUS];
    g_autofree char *line = NULL;
    g_auto(GStrv) words = NULL;

    if (skipped()) {
        return;
    }
    vm = start("", SHORT_STALLS STEAL("own"));
    sched_wait_throttled(vm, "g", 10);
    stop_and_sample(vm, before);
    vm_do(vm, "cont", NULL);
    vm_send(vm, 'e');
    line = vm_wait_line(vm, "steal ");
    stop_and_sample(vm, after);
    words = g_strsplit(line, " ", -1);
    g_assert_cmpint(g_strv_length(words), ==, N_VCPUS);
    for (int i = 0; i < N_VCPUS; i++) {
        gint64 ns = g_ascii_strtoll(words[i], NULL, 10);

        g_assert_cmpint(ns, >=, before[i].record);
        g_assert_cmpint(ns, <=, after[i].record);
    }
}

/* --- What is not --- */

static void assert_nothing_told(Vm *vm, const char *state)
{
    sched_wait_throttled(vm, "g", 10);
    assert_state(vm, 0, state);
    for (int i = 0; i < N_VCPUS; i++) {
        g_assert_cmpint(sched_vcpu_int(vm, i, "steal-ns"), ==, 0);
        g_assert_cmpint(sched_vcpu_int(vm, i, "throttled-ns"), >, 0);
    }
}

static void test_not_enabled(void)
{
    guint64 words[N_VCPUS * RECORD_BYTES / 8];
    g_autoptr(Vm) vm = NULL;

    if (skipped()) {
        return;
    }
    vm = start("", SHORT_STALLS);
    assert_nothing_told(vm, "not-enabled");
    vm_do(vm, "stop", NULL);
    read_records(vm, RECORDS, words, G_N_ELEMENTS(words));
    for (guint i = 0; i < G_N_ELEMENTS(words); i++) {
        g_assert_cmphex(words[i], ==, 0);
    }
}

static void test_hidden(void)
{
    g_autoptr(Vm) vm = NULL;

    if (skipped()) {
        return;
    }
    vm = start("", "-cpu qemu64,kvm-steal-time=off " SHORT_STALLS STEAL("own"));
    assert_nothing_told(vm, "hidden");
}

static void test_tcg(void)
{
    g_autoptr(Vm) vm = start_steal(VM_TCG, "", SHORT_STALLS STEAL("own"));

    vm_wait_up(vm, N_VCPUS);
    assert_nothing_told(vm, "unsupported");
}

static void set_steal_time(Vm *vm, bool on)
{
    vm_do(vm, "qom-set", "{'path': '/objects/sched0',"
          " 'property': 'steal-time', 'value': %s}", on ? "true" : "false");
}

static void test_off(void)
{
    g_autoptr(Vm) vm = NULL;
    Sample before[N_VCPUS], now[N_VCPUS];

    if (skipped()) {
        return;
    }
    vm = start(",steal-time=off", SHORT_STALLS STEAL("own"));
    sched_wait_throttled(vm, "g", 1);
    stop_and_sample(vm, before);
    vm_do(vm, "cont", NULL);
    assert_nothing_told(vm, "off");
    stop_and_sample(vm, now);
    assert_adds_up(before, now);
    vm_do(vm, "cont", NULL);
    set_steal_time(vm, true);
    wait_told(vm, 0);
    assert_state(vm, 0, "shown");
    set_steal_time(vm, false);
    assert_state(vm, 0, "off");
}

/* --- Reset and migration --- */

/* A life later: the record begins anew, the query goes on. */
static void test_reset(void)
{
    g_autoptr(Vm) vm = NULL;

    if (skipped()) {
        return;
    }
    vm = start("", SHORT_STALLS STEAL("own"));
    for (int i = 0; i < 5; i++) {
        Sample before[N_VCPUS], now[N_VCPUS];
        gint64 kvm;

        wait_told(vm, sched_vcpu_int(vm, 0, "steal-ns"));
        stop_and_sample(vm, before);
        vm_do(vm, "system_reset", NULL);
        vm_do(vm, "cont", NULL);
        vm_wait_up(vm, N_VCPUS);
        wait_told(vm, before[0].told);
        assert_state(vm, 0, "shown");
        stop_and_sample(vm, now);
        kvm = now[0].record - (now[0].told - before[0].told);
        g_assert_cmpint(kvm, >=, 0);
        g_assert_cmpint(kvm, <=, now[0].waited);
        vm_do(vm, "cont", NULL);
    }
}

/* From the reset until it enables it again, the guest has no steal clock. */
static void test_reset_disables(void)
{
    g_autoptr(Vm) vm = NULL;

    if (skipped()) {
        return;
    }
    vm = start("", SHORT_STALLS STEAL("own"));
    wait_told(vm, 0);
    /* so little that it will not come that far for long */
    vm_do(vm, "llcsched-set-limits", "{'id': 'g', 'quota-us': 100,"
          " 'period-us': 1000000}");
    vm_do(vm, "system_reset", NULL);
    sched_wait_vcpu_text(vm, 0, "steal-state", "not-enabled");
    vm_do(vm, "llcsched-set-limits", "{'id': 'g', 'quota-us': 2000,"
          " 'period-us': 10000}");
    vm_wait_up(vm, N_VCPUS);
    sched_wait_vcpu_text(vm, 0, "steal-state", "shown");
}

/* Where it goes, the record goes on: what was told here is there. */
static void test_migration(void)
{
    Vm *vm;

    if (skipped()) {
        return;
    }
    vm = start("", SHORT_STALLS STEAL("own"));
    for (int i = 0; i < 5; i++) {
        Sample here, there;
        gint64 kvm;
        Vm *to = start_steal("kvm", "", SHORT_STALLS STEAL("own")
                             " -incoming defer");

        wait_told(vm, 0);
        vm_migrate(vm, to);
        here = sample(vm, 0);
        wait_told(to, 0);
        assert_state(to, 0, "shown");
        vm_do(to, "stop", NULL);
        there = sample(to, 0);
        kvm = there.record - here.record - there.told;
        g_assert_cmpint(kvm, >=, 0);
        g_assert_cmpint(kvm, <=, there.waited);
        vm_do(to, "cont", NULL);
        vm_free(vm);
        vm = to;
    }
    vm_free(vm);
}

/* --- A guest that means harm --- */

typedef struct Place {
    const char *name;
    const char *args;           /* what the register holds */
    const char *state;
} Place;

static const Place places[] = {
    { "last-record-of-memory", STEAL("ffffc1"), "shown" },
    { "address-zero", STEAL("1"), "shown" },
    { "end-of-memory", STEAL("1000001"), "unreachable" },
    { "below-4-gib", STEAL("7fffffc1"), "unreachable" },
    { "above-4-gib", STEAL("100000001"), "unreachable" },
    { "last-address", STEAL("ffffffffffffffc1"), "unreachable" },
    { "rom", STEAL("ffffffc1"), "unreachable" },
    { "rom-below-1-mib", STEAL("fffc1"), "unreachable" },
    { "vga-window", STEAL("a0001") " -device VGA,romfile=", "unreachable" },
    { "local-apic", STEAL("fee00001"), "unreachable" },
    { "io-apic", STEAL("fec00001"), "unreachable" },
    { "hpet", STEAL("fed00001"), "unreachable" },
    { "address-without-enabling", STEAL("60000"), "not-enabled" },
};

/* Both vCPUs name the same place: neither they nor QEMU come to harm. */
static void test_place(gconstpointer data)
{
    const Place *place = data;
    g_autofree char *args = g_strconcat(SHORT_STALLS, place->args, NULL);
    g_autoptr(Vm) vm = NULL;

    if (skipped()) {
        return;
    }
    vm = start("", args);
    sched_wait_throttled(vm, "g", 20);
    assert_state(vm, 0, place->state);
    g_assert_cmpint(sched_vcpu_int(vm, 0, "steal-ns") > 0, ==,
                    strcmp(place->state, "shown") == 0);
    vm_wait_all_move(vm, N_VCPUS);
    vm_send(vm, 'q');
    g_assert_cmpint(vm_wait_exit(vm), ==, 0);
}

/* KVM refuses them, and this guest knows no better than to fall over. */
static void test_reserved_bits(void)
{
    g_autoptr(Vm) vm = NULL;

    if (skipped()) {
        return;
    }
    vm = start_steal("kvm", "", SHORT_STALLS STEAL("60003"));
    for (int i = 0; i < 5; i++) {
        g_autoptr(JsonNode) data = vm_wait_event(vm, "RESET");
    }
    g_assert_cmpint(sched_vcpu_int(vm, 0, "steal-ns"), ==, 0);
    vm_do(vm, "quit", NULL);
    g_assert_cmpint(vm_wait_exit(vm), ==, 0);
}

int main(int argc, char **argv)
{
    int ret;

    vm_test_init(&argc, &argv);
    sched_host_init(&host);
    g_test_add_func("/steal/throttled-time-is-shown", test_shown);
    g_test_add_func("/steal/stop-tells", test_stop_tells);
    g_test_add_func("/steal/stops-lose-nothing", test_stops_lose_nothing);
    g_test_add_func("/steal/guest-reads-it", test_guest_reads_it);
    g_test_add_func("/steal/not-enabled-nothing-written", test_not_enabled);
    g_test_add_func("/steal/hidden-nothing-told", test_hidden);
    g_test_add_func("/steal/tcg-nothing-told", test_tcg);
    g_test_add_func("/steal/off-and-on", test_off);
    g_test_add_func("/steal/reset", test_reset);
    g_test_add_func("/steal/reset-disables", test_reset_disables);
    g_test_add_func("/steal/migration", test_migration);
    for (guint i = 0; i < G_N_ELEMENTS(places); i++) {
        g_autofree char *path = g_strconcat("/steal/record-at/",
                                            places[i].name, NULL);

        g_test_add_data_func(path, &places[i], test_place);
    }
    g_test_add_func("/steal/reserved-bits", test_reserved_bits);
    ret = g_test_run();
    sched_host_clear(&host);
    return ret;
}
