/*
 * What the depth of the tree costs a Linux guest
 *
 * The distribution's kernel, emulated; see bench/linux-init.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "throttle.h"
#include "throttle-depth.h"

#define N_VCPUS 2

static void start(Throttle *throttle, const char *kernel,
                  const char *initramfs)
{
    g_autofree char *linux_args = NULL;
    g_autofree char *args = NULL;
    g_autofree char *smp = g_strdup_printf("%d", N_VCPUS);
    VmConfig config = { .smp = smp, .accel = "tcg,thread=multi" };

    /* the harness's firmware and memory are for the test guest */
    linux_args = g_strdup_printf(
        "-bios bios-256k.bin -m 384 -kernel '%s' -initrd '%s' "
        "-append 'console=ttyS0 quiet panic=-1 tsc=reliable "
        "mitigations=off watchdog_thresh=60'", kernel, initramfs);
    args = limiter_args(N_VCPUS, linux_args);
    config.args = args;
    throttle->guest = (GuestVm) {
        .vm = vm_start(&config), .n_vcpus = N_VCPUS,
    };
    vm_wait_up(throttle->guest.vm, N_VCPUS);
    throttle_take_vm(throttle);
}

/* What the guest says of a load. */
static double run_load(Vm *vm, char letter, const char *name)
{
    g_autofree char *start = g_strdup_printf("%s ", name);
    g_autofree char *text = NULL;
    double value;

    vm_send(vm, letter);
    text = vm_wait_line(vm, start);
    value = g_ascii_strtod(text, NULL);
    if (value <= 0) {
        vm_fail(vm, "%s: '%s' is no result", name, text);
    }
    return value;
}

static void measure(Throttle *throttle, const DepthLoad *load,
                    const LimitSide *side, int round)
{
    throttle_add(throttle, load->row, side, round, "hackbench", "s",
                 run_load(throttle->guest.vm, 'h', "hackbench"));
    throttle_add(throttle, load->row, side, round, "exchanges", "1/s",
                 run_load(throttle->guest.vm, 'r', "exchanges"));
}

void throttle_linux(Throttle *throttle, const char *row)
{
    const char *kernel = g_getenv("LLCSCHED_BENCH_KERNEL");
    const char *initramfs = g_getenv("LLCSCHED_BENCH_INITRAMFS");
    const DepthLoad loads[] = {
        { .row = row, .metric = "hackbench", .unit = "s",
          .what = "hackbench", .measure = measure },
        { .row = row, .metric = "exchanges", .unit = "1/s",
          .what = "request/response" },
    };

    if (!kernel || !initramfs) {
        bench_say("skipped: LLCSCHED_BENCH_KERNEL and "
                  "LLCSCHED_BENCH_INITRAMFS do not name a Linux guest "
                  "(scripts/build-bench-guest makes one)");
        throttle->skipped++;
        return;
    }
    start(throttle, kernel, initramfs);
    /* not the first time, when it loads its programs */
    run_load(throttle->guest.vm, 'h', "hackbench");
    run_load(throttle->guest.vm, 'r', "exchanges");
    throttle_depth_rounds(throttle, &loads[0]);
    vm_free(throttle->guest.vm);
    limiter_clear(&throttle->limiter);
    for (guint i = 0; i < G_N_ELEMENTS(loads); i++) {
        throttle_depth_summarize(throttle, &loads[i]);
    }
}
