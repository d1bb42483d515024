/*
 * A set of host CPUs, up to the most that Linux can be built for
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef HW_SCHED_HOST_CPUSET_H
#define HW_SCHED_HOST_CPUSET_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* The largest NR_CPUS of any Linux configuration (x86 MAXSMP). */
#define HOST_CPU_MAX 8192

/*
 * A value type: copied by assignment, compared by host_cpuset_equal(), needs
 * no destructor.  One kilobyte, so pass it by pointer.  All-zero is empty.
 */
typedef struct HostCpuSet {
    uint64_t words[HOST_CPU_MAX / 64];
} HostCpuSet;

/* Calls the block that follows once for each CPU in @set, ascending. */
#define HOST_CPUSET_FOREACH(cpu, set)                        \
    for (int cpu = host_cpuset_next((set), 0); cpu >= 0;     \
         cpu = host_cpuset_next((set), cpu + 1))

/* @cpu must be in [0, HOST_CPU_MAX). */
static inline void host_cpuset_add(HostCpuSet *set, int cpu)
{
    set->words[cpu / 64] |= 1ull << (cpu % 64);
}

static inline void host_cpuset_remove(HostCpuSet *set, int cpu)
{
    set->words[cpu / 64] &= ~(1ull << (cpu % 64));
}

static inline bool host_cpuset_has(const HostCpuSet *set, int cpu)
{
    return cpu >= 0 && cpu < HOST_CPU_MAX &&
           (set->words[cpu / 64] >> (cpu % 64) & 1);
}

/* The lowest member that is not below @from, or -1. */
int host_cpuset_next(const HostCpuSet *set, int from);

int host_cpuset_count(const HostCpuSet *set);
bool host_cpuset_empty(const HostCpuSet *set);
bool host_cpuset_equal(const HostCpuSet *a, const HostCpuSet *b);
bool host_cpuset_subset(const HostCpuSet *sub, const HostCpuSet *super);
bool host_cpuset_intersects(const HostCpuSet *a, const HostCpuSet *b);

/* @dst becomes @dst op @src. */
void host_cpuset_and(HostCpuSet *dst, const HostCpuSet *src);
void host_cpuset_or(HostCpuSet *dst, const HostCpuSet *src);
void host_cpuset_andnot(HostCpuSet *dst, const HostCpuSet *src);

/* The number of CPUs that are in both. */
int host_cpuset_count_and(const HostCpuSet *a, const HostCpuSet *b);

guint host_cpuset_hash(const HostCpuSet *set);

/*
 * Parse the kernel's list format ("0-2,48-50", with ":used/size" groups, as in
 * Documentation/admin-guide/kernel-parameters.rst); an empty or blank text is
 * the empty set.  False, with @ret_set untouched, on anything else, on CPUs
 * from HOST_CPU_MAX up and on ranges that run backwards.
 */
bool host_cpuset_parse_list(const char *text, HostCpuSet *ret_set);

/*
 * Parse the kernel's mask format: 32-bit hexadecimal words, highest first,
 * separated by commas ("00000000,00ff00ff").  Errors as above.
 */
bool host_cpuset_parse_mask(const char *text, HostCpuSet *ret_set);

/* The set in list format; the caller frees it. Empty set: empty string. */
char *host_cpuset_to_list(const HostCpuSet *set);

/* The set in mask format with words for CPUs 0 .. @n_cpus - 1. */
char *host_cpuset_to_mask(const HostCpuSet *set, int n_cpus);

#endif
