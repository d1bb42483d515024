/*
 * Whether and how often a vCPU halts, as seen from another thread
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include <linux/kvm.h>
#include "hw/sched/vcpu-blocking.h"
#include "system/kvm.h"

/* What KVM has today, times ten. */
#define VCPU_STATS_MAX 1000
#define VCPU_STATS_NAME_MAX 256

/* KVM's statistics of a vCPU that are read here. */
typedef enum VcpuStat {
    VCPU_STAT_BLOCKING,
    VCPU_STAT_HALTS,            /* x86 alone has it */
    VCPU_STAT_POLL_SUCCESS_NS,
    VCPU_STAT_POLL_FAIL_NS,
    VCPU_STAT_MAX,
} VcpuStat;

static const char *const vcpu_stat_names[VCPU_STAT_MAX] = {
    [VCPU_STAT_BLOCKING] = "blocking",
    [VCPU_STAT_HALTS] = "halt_exits",
    [VCPU_STAT_POLL_SUCCESS_NS] = "halt_poll_success_ns",
    [VCPU_STAT_POLL_FAIL_NS] = "halt_poll_fail_ns",
};

/* Where each is in the file of a vCPU; 0: there is none. */
static void vcpu_stats_find(int fd, off_t *ret_offsets)
{
    struct kvm_stats_header header;
    g_autofree struct kvm_stats_desc *desc = NULL;
    size_t size;

    if (pread(fd, &header, sizeof(header), 0) != sizeof(header) ||
        header.num_desc > VCPU_STATS_MAX ||
        header.name_size > VCPU_STATS_NAME_MAX) {
        return;
    }
    size = sizeof(*desc) + header.name_size;
    desc = g_malloc0(size + 1);
    for (uint32_t i = 0; i < header.num_desc; i++) {
        if (pread(fd, desc, size, header.desc_offset + i * size) != size) {
            return;
        }
        for (int stat = 0; stat < VCPU_STAT_MAX; stat++) {
            if (g_str_equal(desc->name, vcpu_stat_names[stat]) &&
                desc->size == 1) {
                ret_offsets[stat] = header.data_offset + desc->offset;
            }
        }
    }
}

/* The offsets are the same for all vCPUs: they have the same stats. */
static bool vcpu_stat_read(CPUState *cpu, VcpuStat stat, uint64_t *ret_value)
{
    static off_t offsets[VCPU_STAT_MAX];
    static gsize once;
    int fd = cpu->kvm_vcpu_stats_fd;

    if (fd < 0) {
        return false;
    }
    if (g_once_init_enter(&once)) {
        vcpu_stats_find(fd, offsets);
        g_once_init_leave(&once, 1);
    }
    return offsets[stat] && pread(fd, ret_value, sizeof(*ret_value),
                                  offsets[stat]) == sizeof(*ret_value);
}

bool vcpu_blocking(CPUState *cpu)
{
    uint64_t value;

    if (!kvm_enabled() || !kvm_halt_in_kernel()) {
        return qatomic_read(&cpu->halted);
    }
    return vcpu_stat_read(cpu, VCPU_STAT_BLOCKING, &value) && value;
}

bool vcpu_halts(CPUState *cpu, VcpuHalts *ret_halts)
{
    uint64_t halts, success_ns, fail_ns;

    if (!kvm_enabled() || !kvm_halt_in_kernel() ||
        !vcpu_stat_read(cpu, VCPU_STAT_HALTS, &halts) ||
        !vcpu_stat_read(cpu, VCPU_STAT_POLL_SUCCESS_NS, &success_ns) ||
        !vcpu_stat_read(cpu, VCPU_STAT_POLL_FAIL_NS, &fail_ns)) {
        return false;
    }
    *ret_halts = (VcpuHalts) {
        .halts = halts, .poll_ns = success_ns + fail_ns,
    };
    return true;
}
