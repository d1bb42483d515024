/*
 * What the parts of the helper's protocol share
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef HW_SCHED_CORE_HELPER_PROTOCOL_INT_H
#define HW_SCHED_CORE_HELPER_PROTOCOL_INT_H

#include "hw/sched/helper-protocol.h"

/*
 * Possible, online and isolated CPUs; per CPU its core, LLC, node, package,
 * capacity and kind; per LLC its level and bytes; per node its number, whether
 * it has memory, and how much; distances, row by row.
 */
#define HELPER_HOST_TYPE "(sssa(iiiiqy)a(ut)a(ibt)ay)"

/* True, or false with @err: @name is what the message calls @value. */
bool helper_in_range(const char *name, uint64_t value, uint64_t min,
                     uint64_t max, GError **err);
/* Sets @err; false. */
bool helper_range_error(GError **err, const char *name, uint64_t value,
                        uint64_t min, uint64_t max);

/* A CPU list of a message, named @name. */
bool helper_cpus_parse(const char *name, const char *text,
                       HostCpuSet *ret_set, GError **err);

#endif
