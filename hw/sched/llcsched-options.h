/*
 * LLC-aware vCPU scheduler: the options of the object
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef HW_SCHED_LLCSCHED_OPTIONS_H
#define HW_SCHED_LLCSCHED_OPTIONS_H

#include "hw/sched/host-cpuset.h"
#include "llcsched-types.h"

/* The options, validated together and swapped in as one. */
typedef struct LlcschedConfig {
    LlcschedPlacement placement;
    LlcschedPrefer prefer;
    LlcschedEmulator emulator;
    LlcschedTrust trust;
    LlcschedTrustBackend trust_backend;
    bool dynamic;
    uint32_t interval_ms;
    uint32_t guard_util;        /* percent */
    uint32_t guard_tasks;       /* percent */
    uint32_t slice_us;
    bool steal_time;
    bool has_cpus;
    HostCpuSet cpus;
    GArray *usage;              /* uint32_t percent; NULL: not given */
} LlcschedConfig;

void llcsched_config_default(LlcschedConfig *config);
void llcsched_config_clear(LlcschedConfig *config);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(LlcschedConfig, llcsched_config_clear)
void llcsched_add_options(ObjectClass *klass);

#endif
