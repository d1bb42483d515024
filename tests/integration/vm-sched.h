/*
 * What a VM's llcsched object says, and whether the kernel agrees
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TESTS_INTEGRATION_VM_SCHED_H
#define TESTS_INTEGRATION_VM_SCHED_H

#include "tree.h"
#include "vm.h"

/*
 * The host that the tests show to QEMU: two CPUs that this machine has, each
 * under a last-level cache of its own.  As CPU lists.
 */
typedef struct SchedHost {
    char *first, *second, *both;
    HostTree *tree;
} SchedHost;

/*
 * Choose two CPUs that this program may use and bind it, and so each QEMU
 * that it starts, to them; build the tree.  End the program with a skipped
 * plan if there are no two.
 */
void sched_host_init(SchedHost *host);

/* The same, but the two are the siblings of one core. */
void sched_host_init_siblings(SchedHost *host);
void sched_host_clear(SchedHost *host);

/*
 * What ran on the two CPUs since boot, in clock ticks (1/100 s), says the
 * tree's /proc from now on.  At first it is SCHED_HOST_QUIET, and stays so:
 * what this machine does has no part in the tests.
 */
#define SCHED_HOST_QUIET 1000
void sched_host_set_load(const SchedHost *host, guint64 first, guint64 second);

/*
 * "-object llcsched,id=sched0,x-sysfs-root=...@more"; the caller frees it.  The
 * guard is off unless @more sets it: on two busy CPUs every guest loses time.
 */
char *sched_object(const SchedHost *host, const char *more);

/* The one entry of query-llcsched, for the caller to unref. */
JsonNode *sched_query(Vm *vm);

/* A text member of it. */
char *sched_query_text(Vm *vm, const char *member);

/* Wait until @member of it is @value. */
void sched_wait_text(Vm *vm, const char *member, const char *value);

/* Wait for @n more looks. */
void sched_wait_looks(Vm *vm, int n);

/* The same for vCPU @index. */
char *sched_vcpu_text(Vm *vm, int index, const char *member);
void sched_wait_vcpu_text(Vm *vm, int index, const char *member,
                          const char *value);

/* The same of what it says of cookies, and a number. */
char *sched_trust_text(Vm *vm, const char *member);
gint64 sched_trust_int(Vm *vm, const char *member);
void sched_assert_trust(Vm *vm, const char *mode, const char *isolation);

/* What the query has of a group, or of vCPU @index, as a number. */
gint64 sched_group_int(Vm *vm, const char *id, const char *member);
gint64 sched_vcpu_int(Vm *vm, int index, const char *member);

bool sched_group_is_throttled(Vm *vm, const char *id);

/* Wait until the group was throttled in @n more periods. */
void sched_wait_throttled(Vm *vm, const char *id, int n);

/* What the kernel says that the thread of vCPU @index ran and waited. */
void sched_vcpu_times(Vm *vm, int index, gint64 *ret_run_ns,
                      gint64 *ret_wait_ns);

/* The mask that the kernel has for vCPU @index, for the caller to free. */
char *sched_real_mask(Vm *vm, int index);

/* Set it from outside. */
void sched_taskset(Vm *vm, int index, const char *cpus);

/* Wait until the kernel has it. */
void sched_wait_real_mask(Vm *vm, int index, const char *cpus);

/*
 * Each of the @n vCPUs has a mask of ours, and the plan, the query and the
 * kernel agree on it.
 */
void sched_assert_placed(Vm *vm, int n);

/* Besides, the two vCPUs are on one CPU each, and not the same. */
void sched_assert_apart(Vm *vm, const SchedHost *host);

/*
 * Ids of all threads of QEMU but those of vCPUs, as the kernel lists them, for
 * the caller to unref: GArray of int.
 */
GArray *sched_other_threads(Vm *vm);

/* The kernel has @cpus for each of the @n vCPUs. */
void sched_assert_real_masks(Vm *vm, int n, const char *cpus);

#endif
