/*
 * Tell the guest of time that was taken from a vCPU: KVM for x86
 *
 * By the guest's steal clock, which KVM itself adds to when a vCPU thread
 * waited for a CPU.  KVM does so in the vCPU's thread as it enters the guest,
 * so an addition in that thread outside the guest is never lost.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qemu/main-loop.h"
#include "cpu.h"
#include "exec/address-spaces.h"
#include "exec/memory.h"
#include "hw/sched/steal-clock.h"
#include "hw/sched/vcpu-steal.h"
#include "linux/kvm.h"
#include "standard-headers/asm-x86/kvm_para.h"
#include "system/kvm.h"

QEMU_BUILD_BUG_ON(sizeof(StealRecord) != sizeof(struct kvm_steal_time));
QEMU_BUILD_BUG_ON(offsetof(StealRecord, steal_ns) !=
                  offsetof(struct kvm_steal_time, steal));
QEMU_BUILD_BUG_ON(offsetof(StealRecord, version) !=
                  offsetof(struct kvm_steal_time, version));

bool vcpu_steal_supported(void)
{
    return kvm_enabled();
}

bool vcpu_steal_wants_to_run(CPUState *cpu)
{
    struct kvm_mp_state state;

    /* without an APIC in the kernel, halts are QEMU's */
    if (!kvm_halt_in_kernel()) {
        return !cpu->halted;
    }
    return kvm_vcpu_ioctl(cpu, KVM_GET_MP_STATE, &state) == 0 &&
           state.mp_state == KVM_MP_STATE_RUNNABLE;
}

/*
 * The register alone: reading all of them costs more than it is worth twice a
 * period.  While QEMU holds them (after a reset, KVM may still have the old
 * ones), its copy counts.  A register that cannot be read is not enabled.
 */
static uint64_t vcpu_steal_register(CPUState *cpu)
{
    struct {
        struct kvm_msrs head;
        struct kvm_msr_entry entry;
    } msrs = {
        .head.nmsrs = 1,
        .entry.index = MSR_KVM_STEAL_TIME,
    };

    if (cpu->vcpu_dirty) {
        return X86_CPU(cpu)->env.steal_time_msr;
    }
    return kvm_vcpu_ioctl(cpu, KVM_GET_MSRS, &msrs) == 1 ? msrs.entry.data : 0;
}

/*
 * Only writable memory will do: the guest chooses the address, and may point
 * at ROM, at a device, or at nothing.  KVM takes the same, and devices' memory
 * besides.
 */
static bool vcpu_steal_is_memory(const MemoryRegionSection *section)
{
    return section->mr && !section->readonly &&
           int128_get64(section->size) == sizeof(StealRecord) &&
           memory_access_is_direct(section->mr, true, MEMTXATTRS_UNSPECIFIED);
}

static LlcschedStealState vcpu_steal_update(CPUState *cpu, uint64_t ns)
{
    LlcschedStealState state = LLCSCHED_STEAL_STATE_UNREACHABLE;
    MemoryRegionSection section;
    uint64_t address;

    if (!(X86_CPU(cpu)->env.features[FEAT_KVM] & CPUID_KVM_STEAL_TIME)) {
        return LLCSCHED_STEAL_STATE_HIDDEN;
    }
    if (!steal_clock_address(vcpu_steal_register(cpu), &address)) {
        return LLCSCHED_STEAL_STATE_NOT_ENABLED;
    }
    /* as KVM: the address space of system management mode is another */
    section = memory_region_find(get_system_memory(), address,
                                 sizeof(StealRecord));
    if (vcpu_steal_is_memory(&section)) {
        state = LLCSCHED_STEAL_STATE_SHOWN;
        if (ns) {
            steal_record_add(memory_region_get_ram_ptr(section.mr) +
                             section.offset_within_region, ns);
            memory_region_set_dirty(section.mr, section.offset_within_region,
                                    sizeof(StealRecord));
        }
    }
    memory_region_unref(section.mr);
    return state;
}

LlcschedStealState vcpu_steal_state(CPUState *cpu)
{
    return vcpu_steal_update(cpu, 0);
}

LlcschedStealState vcpu_steal_add(CPUState *cpu, uint64_t ns)
{
    assert(qemu_cpu_is_self(cpu) && bql_locked());
    return vcpu_steal_update(cpu, ns);
}
