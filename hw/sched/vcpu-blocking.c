/*
 * Whether a vCPU halts, as seen from another thread
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include <linux/kvm.h>
#include "hw/sched/vcpu-blocking.h"
#include "system/kvm.h"

#define VCPU_BLOCKING_NAME "blocking"

/* What KVM has today, times ten. */
#define VCPU_STATS_MAX 1000
#define VCPU_STATS_NAME_MAX 256

/* Where the stat is in the file of a vCPU; 0: it has none. */
static off_t vcpu_blocking_find(int fd)
{
    struct kvm_stats_header header;
    g_autofree struct kvm_stats_desc *desc = NULL;
    size_t size;

    if (pread(fd, &header, sizeof(header), 0) != sizeof(header) ||
        header.num_desc > VCPU_STATS_MAX ||
        header.name_size > VCPU_STATS_NAME_MAX) {
        return 0;
    }
    size = sizeof(*desc) + header.name_size;
    desc = g_malloc0(size + 1);
    for (uint32_t i = 0; i < header.num_desc; i++) {
        if (pread(fd, desc, size, header.desc_offset + i * size) != size) {
            return 0;
        }
        if (g_str_equal(desc->name, VCPU_BLOCKING_NAME) && desc->size == 1) {
            return header.data_offset + desc->offset;
        }
    }
    return 0;
}

/* The same for all vCPUs: they have the same stats. */
static off_t vcpu_blocking_offset(int fd)
{
    static gsize offset;

    if (g_once_init_enter(&offset)) {
        /* never 0 once it is looked for: that would be to look again */
        g_once_init_leave(&offset, vcpu_blocking_find(fd) + 1);
    }
    return offset - 1;
}

bool vcpu_blocking(CPUState *cpu)
{
    uint64_t value;
    off_t offset;

    if (!kvm_enabled() || !kvm_halt_in_kernel()) {
        return qatomic_read(&cpu->halted);
    }
    offset = cpu->kvm_vcpu_stats_fd >= 0
             ? vcpu_blocking_offset(cpu->kvm_vcpu_stats_fd) : 0;
    return offset && pread(cpu->kvm_vcpu_stats_fd, &value, sizeof(value),
                           offset) == sizeof(value) && value;
}
