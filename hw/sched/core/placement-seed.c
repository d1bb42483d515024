/*
 * The seed by which a VM decides between LLCs that are equally good
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "hw/sched/placement-seed.h"

/* 32-bit FNV-1a (RFC 9923): UUIDs that differ in one byte must spread. */
uint32_t placement_seed(const uint8_t uuid[16])
{
    uint32_t hash = 0x811c9dc5;

    for (int i = 0; i < 16; i++) {
        hash = (hash ^ uuid[i]) * 0x01000193;
    }
    return hash;
}

/* After Wellons' hash prospector. */
uint32_t placement_mix(uint32_t x)
{
    x ^= x >> 16;
    x *= 0x7feb352du;
    x ^= x >> 15;
    x *= 0x846ca68bu;
    return x ^ x >> 16;
}
