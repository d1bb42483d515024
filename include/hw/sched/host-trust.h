/*
 * What of a host bears on trust: SMT, sched_ext, and who else may meddle
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef HW_SCHED_HOST_TRUST_H
#define HW_SCHED_HOST_TRUST_H

#include <stdbool.h>
#include <stdint.h>

typedef enum HostSmt {
    HOST_SMT_UNKNOWN,   /* no such file, or hidden from us */
    HOST_SMT_OFF,       /* no core has two online siblings */
    HOST_SMT_ON,
} HostSmt;

/* @root/sys/devices/system/cpu/smt/active.  One small file: cheap. */
HostSmt host_trust_smt(const char *root);

/*
 * A scheduler is loaded by sched_ext: cookies are then known to hang the host
 * (sched-ext/scx issue 3715).  Only what is surely so: a state that cannot be
 * read is taken for "no".
 */
bool host_trust_sched_ext(const char *root);

/*
 * For how long siblings of @tid, a thread of the caller's process, had to be
 * idle because of its cookie.  False where the kernel does not count it
 * (CONFIG_SCHED_DEBUG and the sysctl kernel.sched_schedstats make it).
 */
bool host_trust_forced_idle(const char *root, int tid, uint64_t *ret_ns);

/*
 * What keeps other processes from copying or clearing the cookies of ours.
 * The kernel asks for ptrace read access, which Yama does not restrict: a
 * process of the same user has it unless one of the others applies.
 */
typedef enum HostPeers {
    HOST_PEERS_NONE,    /* nothing: we run as root */
    HOST_PEERS_UID,     /* processes of other users have no access */
    HOST_PEERS_PIDNS,   /* we are not in the host's first PID namespace */
    HOST_PEERS_LSM,     /* a label of this VM's own, enforced */
} HostPeers;

/* Of the calling process, from @root/proc/self and @root/sys/fs/selinux. */
HostPeers host_trust_peers(const char *root, bool privileged);

#endif
