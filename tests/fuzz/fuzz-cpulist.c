/*
 * Fuzzes the kernel's CPU list and mask formats
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <stdlib.h>
#include "hw/sched/host-cpuset.h"
#include "fuzz.h"

/* What is parsed once must print and parse to the same set. */
static void check(const HostCpuSet *set)
{
    g_autofree char *list = host_cpuset_to_list(set);
    g_autofree char *mask = host_cpuset_to_mask(set, HOST_CPU_MAX);
    HostCpuSet a, b;

    if (!host_cpuset_parse_list(list, &a) || !host_cpuset_equal(&a, set) ||
        !host_cpuset_parse_mask(mask, &b) || !host_cpuset_equal(&b, set)) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autofree char *text = g_strndup((const char *)data, size);
    HostCpuSet set;

    if (host_cpuset_parse_list(text, &set)) {
        check(&set);
    }
    if (host_cpuset_parse_mask(text, &set)) {
        check(&set);
    }
    return 0;
}
