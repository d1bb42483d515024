/*
 * What a running guest has done, and what that cost, at one moment
 *
 * The guest's memory is a file that this program maps as well, so that reading
 * its counters takes no exit, no QMP and no time of the guest.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "guest-sample.h"
#include "bench.h"
#include "hw/sched/host-load-parse.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

/* The layout of tests/guest/: README.md, "Counters in memory". */
#define MEMORY_BYTES (16 * 1024 * 1024)
#define SLOTS 0x10000

/*
 * Longer than a tick of any kernel (HZ=100), and than the turn that another
 * thread may have on the vCPU's CPU.
 */
#define FRESH_WITHIN_NS 30000000

/* What is read within this time belongs together: 1e-4 of a window of 1 s. */
#define MOMENT_NS 100000

static void create_memory(GuestVm *guest)
{
    void *memory;

    guest->memory_fd = memfd_create("guest", MFD_CLOEXEC);
    if (guest->memory_fd < 0 ||
        ftruncate(guest->memory_fd, MEMORY_BYTES) < 0) {
        bench_fail("memory for a guest: %s", g_strerror(errno));
    }
    memory = mmap(NULL, MEMORY_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
                  guest->memory_fd, 0);
    if (memory == MAP_FAILED) {
        bench_fail("memory of the guest: %s", g_strerror(errno));
    }
    guest->memory = memory;
}

/* APIC ids are vCPU indexes as long as all counts are powers of two. */
volatile uint32_t *guest_vm_slot(const GuestVm *guest, int vcpu)
{
    return guest->memory + SLOTS / sizeof(uint32_t) + vcpu * SLOT_WORDS;
}

static uint32_t read_count(const GuestVm *guest, int vcpu)
{
    return *guest_vm_slot(guest, vcpu);
}

/* What the guest itself says must lie between what we read around it. */
static void check_counters(const GuestVm *guest)
{
    for (int i = 0; i < guest->n_vcpus; i++) {
        uint32_t before = read_count(guest, i);
        g_autoptr(GArray) counters = vm_counters(guest->vm);
        uint32_t told = g_array_index(counters, guint32, i);
        uint32_t after = read_count(guest, i);

        if (told - before > after - before) {
            bench_fail("the guest counts %u on vCPU %d, its memory says %u "
                       "to %u: has its layout changed?", told, i, before,
                       after);
        }
    }
}

static void open_schedstats(GuestVm *guest)
{
    g_autoptr(GArray) tids = vm_vcpu_threads(guest->vm);

    g_assert(tids->len == guest->n_vcpus);
    guest->schedstats = g_new(int, guest->n_vcpus);
    for (int i = 0; i < guest->n_vcpus; i++) {
        g_autofree char *path = NULL;

        path = g_strdup_printf("/proc/%d/task/%d/schedstat",
                               (int)vm_pid(guest->vm),
                               g_array_index(tids, int, i));
        guest->schedstats[i] = open(path, O_RDONLY | O_CLOEXEC);
        if (guest->schedstats[i] < 0) {
            bench_fail("%s: %s", path, g_strerror(errno));
        }
    }
}

void guest_vm_start(GuestVm *guest, const char *mode, int n_vcpus,
                    const char *args)
{
    g_autofree char *smp = g_strdup_printf("%d", n_vcpus);
    g_autofree char *all_args = NULL;
    VmConfig config = {
        .machine = "pc,memory-backend=ram", .smp = smp, .mode = mode,
    };

    *guest = (GuestVm) { .n_vcpus = n_vcpus };
    create_memory(guest);
    all_args = g_strdup_printf("-object memory-backend-file,id=ram,share=on,"
                               "size=%d,mem-path=/proc/%d/fd/%d %s",
                               MEMORY_BYTES, (int)getpid(), guest->memory_fd,
                               args);
    config.args = all_args;
    guest->vm = vm_start(&config);
    vm_wait_up(guest->vm, n_vcpus);
    vm_wait_line(guest->vm, "mode ");
    check_counters(guest);
    open_schedstats(guest);
    if (clock_getcpuclockid(vm_pid(guest->vm), &guest->clock)) {
        bench_fail("QEMU's CPU clock cannot be read");
    }
}

void guest_vm_end(GuestVm *guest)
{
    for (int i = 0; i < guest->n_vcpus; i++) {
        close(guest->schedstats[i]);
    }
    g_free(guest->schedstats);
    vm_free(guest->vm);
    munmap((void *)guest->memory, MEMORY_BYTES);
    close(guest->memory_fd);
}

static uint64_t read_run_ns(const GuestVm *guest, int vcpu)
{
    char text[HOST_LOAD_LINE_MAX];
    ThreadTimes times;
    ssize_t len = pread(guest->schedstats[vcpu], text, sizeof(text), 0);

    if (len <= 0 || !host_load_parse_thread(text, len, &times)) {
        bench_fail("the time of vCPU %d cannot be read", vcpu);
    }
    return times.run_ns;
}

/* False: something came in between, and the parts are not of one moment. */
static bool try_sample(const GuestVm *guest, int vcpu, VcpuSample *ret_sample)
{
    int64_t start = bench_now_ns();
    VcpuSample sample;
    int64_t end;

    sample.run_ns = read_run_ns(guest, vcpu);
    sample.count = read_count(guest, vcpu);
    end = bench_now_ns();
    sample.when_ns = start + (end - start) / 2;
    *ret_sample = sample;
    return end - start < MOMENT_NS;
}

VcpuSample guest_vm_sample_vcpu(const GuestVm *guest, int vcpu)
{
    int64_t start = bench_now_ns();
    VcpuSample before, now;

    try_sample(guest, vcpu, &before);
    for (;;) {
        bool good = try_sample(guest, vcpu, &now);
        bool fresh = now.run_ns != before.run_ns &&
                     now.when_ns - before.when_ns < MOMENT_NS;

        /* no change for so long: it does not run, and the time is exact */
        if (good && (fresh || now.when_ns - start > FRESH_WITHIN_NS)) {
            return now;
        }
        before = now;
    }
}

uint64_t guest_vm_vcpus_ns(const GuestVm *guest)
{
    uint64_t sum = 0;

    for (int i = 0; i < guest->n_vcpus; i++) {
        sum += read_run_ns(guest, i);
    }
    return sum;
}

uint64_t guest_vm_count(const GuestVm *guest)
{
    uint64_t sum = 0;

    for (int i = 0; i < guest->n_vcpus; i++) {
        sum += read_count(guest, i);
    }
    return sum;
}

double guest_vm_rate(const GuestVm *guest, int ms)
{
    g_autofree uint32_t *before = g_new(uint32_t, guest->n_vcpus);
    int64_t start = bench_now_ns();
    double count = 0;

    for (int i = 0; i < guest->n_vcpus; i++) {
        before[i] = read_count(guest, i);
    }
    bench_sleep_until(start + ms * 1000000ll);
    for (int i = 0; i < guest->n_vcpus; i++) {
        count += (uint32_t)(read_count(guest, i) - before[i]);
    }
    return count * 1e9 / (bench_now_ns() - start);
}

/*
 * The process's clock and the threads' files show the same counters, so that
 * the difference is exact when no tick came in between.
 */
uint64_t guest_vm_others_ns(const GuestVm *guest)
{
    struct timespec ts;
    uint64_t before, after;

    after = guest_vm_vcpus_ns(guest);
    do {
        before = after;
        if (clock_gettime(guest->clock, &ts) < 0) {
            bench_fail("QEMU's CPU clock: %s", g_strerror(errno));
        }
        after = guest_vm_vcpus_ns(guest);
    } while (before != after);
    return ts.tv_sec * 1000000000ull + ts.tv_nsec - before;
}
