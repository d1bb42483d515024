/*
 * CPU bandwidth for a tree of vCPU groups: quota, period and burst
 *
 * Pure: no clock, no lock, no thread.  The caller charges CPU time that was
 * used, tells the time, and gates the vCPUs of groups that ran dry:
 *
 *     for each vCPU of a limited group: bandwidth_charge(group, ran_ns);
 *     if (bandwidth_advance(tree, now)) { close and open gates; }
 *     sleep until bandwidth_next_look(tree, now);
 *
 * The rules are those of the Linux kernel's CFS bandwidth control
 * (Documentation/scheduler/sched-bwc.rst): a group may use its quota in each
 * period, unused quota is carried over up to a burst, a group is throttled by
 * itself or by any ancestor.  They differ where gating from outside must: use
 * is seen late, so it can exceed the quota, and that debt is repaid by halves.
 * docs/devel/bandwidth.rst has all rules and differences, with reasons.
 *
 * Times are ns of one monotonic clock, from 0 to BANDWIDTH_NOW_NS_MAX; a time
 * before that of an earlier call counts as that one.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef HW_SCHED_BANDWIDTH_H
#define HW_SCHED_BANDWIDTH_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#define BANDWIDTH_NOW_NS_MAX (INT64_MAX / 2)

#define BANDWIDTH_QUOTA_NS_MIN (100 * 1000ull)          /* 100 us */
#define BANDWIDTH_QUOTA_NS_MAX (1ull << 53)
#define BANDWIDTH_PERIOD_NS_MIN (1000 * 1000ull)        /* the kernel's: 1 ms */
#define BANDWIDTH_PERIOD_NS_MAX (1000 * 1000 * 1000ull) /* the kernel's: 1 s */
#define BANDWIDTH_PERIOD_NS_DEFAULT (10 * 1000 * 1000ull)
#define BANDWIDTH_BURST_QUOTAS_MAX 100

/* As deep as sched_ext's cgroup bandwidth library, above the VM's needs. */
#define BANDWIDTH_DEPTH_MAX 32

/* In one group itself, far above KVM's limit; keeps products in 64 bits. */
#define BANDWIDTH_VCPUS_MAX 65536

/*
 * A look costs a wake-up: to find a group dry never sooner than this after the
 * last, but for the first one after a release that uses most of a quota.
 */
#define BANDWIDTH_LOOK_NS_MIN (250 * 1000ull)

/* Debt up to this many quotas is never forgiven. */
#define BANDWIDTH_DEBT_QUOTAS_MAX 4

typedef struct BandwidthLimits {
    uint64_t quota_ns;      /* CPU time in each period; 0: unlimited */
    uint64_t period_ns;
    uint64_t burst_ns;      /* unused quota that may be carried over */
} BandwidthLimits;

/*
 * Make limits of what a user gave, in us.  False and @err, naming the
 * property, the value and the range or the remedy, unless the three may stand
 * together.
 */
bool bandwidth_limits_from_us(int64_t quota_us, int64_t period_us,
                              int64_t burst_us, BandwidthLimits *ret_limits,
                              GError **err);

/* Whether the limits are in range: what bandwidth_limits_from_us() gives. */
bool bandwidth_limits_valid(const BandwidthLimits *limits);

/*
 * Cumulative, ns and counts.  The kernel's cpu.stat calls them nr_periods,
 * nr_throttled, throttled_usec, nr_bursts, burst_usec and, in cpu.stat.local,
 * throttled_usec (here gated_ns).
 */
typedef struct BandwidthStats {
    uint64_t periods;               /* in which it ran or was throttled */
    uint64_t throttled_periods;     /* at whose end it was throttled */
    uint64_t throttled_ns;          /* wall time that it had run dry itself */
    uint64_t bursts;                /* periods that used carried quota */
    uint64_t burst_ns;              /* by how much */
    uint64_t gated_ns;              /* wall time gated, by whomever */
    uint64_t longest_stall_ns;      /* longest time gated at a stretch */
    uint64_t consecutive_throttled; /* throttled periods in a row, now */
    uint64_t consecutive_throttled_max;
    uint64_t used_ns;               /* charged so far */
    uint64_t forgiven_ns;           /* debt that was too large to repay */
    uint64_t late_looks;            /* looks more than a period late */
    /* As it is now. */
    uint64_t remaining_ns;          /* may still be used in this period */
    uint64_t debt_ns;               /* to be repaid in later ones */
    uint64_t margin_ns;             /* gated when no more than this is left */
    uint64_t need_ns;               /* let go when at least this is there */
} BandwidthStats;

typedef struct BandwidthTree BandwidthTree;
typedef struct BandwidthGroup BandwidthGroup;

BandwidthTree *bandwidth_tree_new(void);
void bandwidth_tree_free(BandwidthTree *tree); /* its groups with it */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(BandwidthTree, bandwidth_tree_free)

/*
 * How many host CPUs there are, at least 1: no more vCPUs than that use CPU
 * time at once.  Where more wake up than there are CPUs, it saves looks.
 */
void bandwidth_tree_set_cpus(BandwidthTree *tree, unsigned n_cpus);

/*
 * Add a group without vCPUs below @parent (NULL: a root), with valid @limits.
 * Owned by the tree.  NULL and @err if it would be deeper than
 * BANDWIDTH_DEPTH_MAX.
 */
BandwidthGroup *bandwidth_group_add(BandwidthTree *tree,
                                    BandwidthGroup *parent,
                                    const BandwidthLimits *limits,
                                    int64_t now_ns, GError **err);

/*
 * Remove a group without children.  What it was charged stays with its
 * ancestors; its vCPUs leave them, too.
 */
void bandwidth_group_remove(BandwidthGroup *group, int64_t now_ns);

/*
 * Change the limits in one step.  As in the kernel, a new period starts and
 * the group is not throttled by itself any more; debt stays, and is forgiven
 * above what the new limits may owe.  Setting what is set already does
 * nothing.  Charge what ran under the old limits before.
 */
void bandwidth_group_set_limits(BandwidthGroup *group,
                                const BandwidthLimits *limits, int64_t now_ns);

/*
 * How many vCPUs are in the group itself, without those of groups below: up to
 * BANDWIDTH_VCPUS_MAX.  A quota of as many whole CPUs as a group and those
 * below have vCPUs is no limit, and costs nothing.
 */
void bandwidth_group_set_vcpus(BandwidthGroup *group, unsigned n_vcpus,
                               int64_t now_ns);

/* True if @group or an ancestor can run dry: only then must it be charged. */
bool bandwidth_group_limited(const BandwidthGroup *group);

/*
 * Charge @ran_ns of CPU time to @group and, with the next call that tells the
 * time, to all its ancestors.
 */
void bandwidth_charge(BandwidthGroup *group, uint64_t ran_ns);

/*
 * Settle everything that was charged, then turn the periods up to @now_ns:
 * refill what is due, find what ran dry.  All running time up to @now_ns has
 * to be charged before.  True if the gate of some group has changed since the
 * last call, by whatever call.
 */
bool bandwidth_advance(BandwidthTree *tree, int64_t now_ns);

/*
 * When to look again after the last bandwidth_advance(), which was at @now_ns:
 * the earliest time at which a group could run dry (@ret_close_ns) and at which
 * a refill is due to one that did (@ret_open_ns).  Different threads may see to
 * each.  INT64_MAX: there is none, or the VM is stopped.
 */
void bandwidth_next_looks(BandwidthTree *tree, int64_t now_ns,
                          int64_t *ret_close_ns, int64_t *ret_open_ns);

/* The earlier of the two. */
int64_t bandwidth_next_look(BandwidthTree *tree, int64_t now_ns);

/*
 * The VM stops, and runs again.  In between no time passes for stalls, nothing
 * is looked at, and of the periods that go by one gives a refill.
 */
void bandwidth_pause(BandwidthTree *tree, int64_t now_ns);
void bandwidth_resume(BandwidthTree *tree, int64_t now_ns);

/* True while the vCPUs of @group must stay out of the guest. */
bool bandwidth_group_gated(const BandwidthGroup *group);

/* Which group gates it: itself or the nearest ancestor that ran dry; NULL. */
const BandwidthGroup *bandwidth_group_gated_by(const BandwidthGroup *group);

/*
 * The limits with the smallest quota per period along the path, the nearest of
 * equal ones, and whose they are: NULL, and all zero, if nothing is limited.
 */
const BandwidthGroup *
bandwidth_group_effective(const BandwidthGroup *group,
                          BandwidthLimits *ret_limits);

void bandwidth_group_stats(const BandwidthGroup *group, int64_t now_ns,
                           BandwidthStats *ret_stats);

#define BANDWIDTH_ERROR bandwidth_error_quark()
GQuark bandwidth_error_quark(void);

#endif
