/*
 * The kernel, as far as setting masks needs it
 *
 * A mask is set with the rights of the thread's own user, which are enough for
 * a QEMU that has no capabilities: then a thread of anybody else, who got the
 * number meanwhile, is out of reach for the kernel's own reasons.  Taking that
 * user's id makes the kernel take away our capabilities until we are root again
 * (capabilities(7), "Effect of user ID changes").  Only where those rights do
 * not suffice, as for a QEMU of root's, is CAP_SYS_NICE used.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hw/sched/host-affinity.h"

#include "../hw/sched/core/host-file.h"
#include "mask.h"
#include "proc-text.h"

/* This thread alone: glibc's own would interrupt all others for it. */
static bool take_user(uid_t uid)
{
    return syscall(SYS_setresuid, -1, uid, -1) == 0;
}

static int set_as(pid_t tid, uid_t uid, const HostCpuSet *mask)
{
    uid_t own = geteuid();
    int err;

    if (uid == own || !take_user(uid)) {
        return -EPERM;
    }
    err = host_affinity_set(tid, mask);
    if (!take_user(own)) {
        /* To go on as somebody else would be the wrong rights for the next. */
        g_error("cannot become user %u again", own);
    }
    return err;
}

static int kernel_set(pid_t tid, uid_t uid, const HostCpuSet *mask)
{
    int err = set_as(tid, uid, mask);

    return err == -EPERM ? host_affinity_set(tid, mask) : err;
}

static pid_t kernel_maker(pid_t tid)
{
    g_autofree char *text = g_malloc(HOST_FILE_MAX + 1);
    char path[32];
    ProcIds ids;

    snprintf(path, sizeof(path), "/proc/%d/status", tid);
    if (host_file_read(AT_FDCWD, path, text) || !proc_text_ids(text, &ids)) {
        return 0;
    }
    return (pid_t)ids.group == tid ? ids.parent : ids.group;
}

const MaskKernel mask_kernel = {
    .get = host_affinity_get,
    .set = kernel_set,
    .same = process_thread_same,
    .maker = kernel_maker,
};
