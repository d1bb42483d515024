/*
 * Cookies given and taken from outside, as libvirt does it, or a bad neighbor
 *
 * A child does it: what it has as a cookie is what it gives.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "lab-cookie.h"

#include <errno.h>
#include <glib.h>
#include <linux/prctl.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* With a cookie of its own (@tagged) or none, do @verb to the threads. */
static int neighbor(unsigned long verb, bool tagged, const int *tids, int n)
{
    if (tagged && prctl(PR_SCHED_CORE, PR_SCHED_CORE_CREATE, 0, 0, 0)) {
        return errno;
    }
    for (int i = 0; i < n; i++) {
        if (prctl(PR_SCHED_CORE, verb, (unsigned long)tids[i], 0, 0)) {
            return errno;
        }
    }
    return 0;
}

static void let_neighbor(unsigned long verb, bool tagged, const int *tids,
                         int n)
{
    int status;
    pid_t pid = fork();

    g_assert_cmpint(pid, >=, 0);
    if (pid == 0) {
        _exit(neighbor(verb, tagged, tids, n));
    }
    g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
    g_assert_true(WIFEXITED(status));
    g_assert_cmpint(WEXITSTATUS(status), ==, 0);
}

void lab_cookie_give(const int *tids, int n)
{
    let_neighbor(PR_SCHED_CORE_SHARE_TO, true, tids, n);
}

void lab_cookie_clear(const int *tids, int n)
{
    let_neighbor(PR_SCHED_CORE_SHARE_TO, false, tids, n);
}

void lab_cookie_copy(int tid)
{
    let_neighbor(PR_SCHED_CORE_SHARE_FROM, false, &tid, 1);
}
