/*
 * KVM's steal clock: the record by which a guest is told of stolen time
 *
 * A guest gives the address of one record for each vCPU in a register (MSR
 * 0x4b564d03, Documentation/virt/kvm/x86/msr.rst in Linux).  KVM adds to it
 * what the vCPU thread waited for a CPU; whoever else keeps a vCPU from
 * running may add that, by the same rules.
 *
 * Pure: the guest may write the record and the register as it likes, so
 * nothing here loops over, or trusts, what it reads.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef HW_SCHED_STEAL_CLOCK_H
#define HW_SCHED_STEAL_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* As KVM lays it out; it lies in one page, since it is aligned to its size. */
typedef struct StealRecord {
    uint64_t steal_ns;
    uint32_t version;       /* odd while the record is written */
    uint32_t flags;
    uint8_t preempted;      /* KVM's */
    uint8_t pad[47];
} StealRecord;

/*
 * Where the record is, by the value of the register.  False if the guest has
 * not enabled it, or the value is one that KVM does not accept.
 */
bool steal_clock_address(uint64_t msr, uint64_t *ret_address);

/*
 * Add @ns.  In the vCPU's own thread, outside the guest: KVM adds to the
 * record there as well.  The vCPUs of the guest may read it meanwhile.
 */
void steal_record_add(StealRecord *record, uint64_t ns);

#endif
