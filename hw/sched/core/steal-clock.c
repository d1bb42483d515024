/*
 * KVM's steal clock: the record by which a guest is told of stolen time
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "hw/sched/steal-clock.h"

#include <assert.h>
#include <stddef.h>

#define STEAL_ENABLED 1ull
#define STEAL_RESERVED 0x3eull      /* bits 5:1: KVM refuses them */

static_assert(sizeof(StealRecord) == 64, "aligned to its size");
static_assert(offsetof(StealRecord, version) == 8, "as in KVM");

bool steal_clock_address(uint64_t msr, uint64_t *ret_address)
{
    if (!(msr & STEAL_ENABLED) || (msr & STEAL_RESERVED)) {
        return false;
    }
    *ret_address = msr & ~STEAL_ENABLED;
    return true;
}

/*
 * An odd version at the beginning is junk that the guest left: as KVM does,
 * take the next odd one, so that a reader sees it change.
 */
void steal_record_add(StealRecord *record, uint64_t ns)
{
    uint32_t version = __atomic_load_n(&record->version, __ATOMIC_RELAXED);
    uint64_t steal_ns = __atomic_load_n(&record->steal_ns, __ATOMIC_RELAXED);
    uint32_t writing = (version + 1) | 1;

    __atomic_store_n(&record->version, writing, __ATOMIC_RELAXED);
    /* nobody may see the new time with the old version ... */
    __atomic_thread_fence(__ATOMIC_RELEASE);
    __atomic_store_n(&record->steal_ns, steal_ns + ns, __ATOMIC_RELAXED);
    /* ... or the final version with the old time */
    __atomic_store_n(&record->version, writing + 1, __ATOMIC_RELEASE);
}
