/*
 * Neighbors that a test makes: processes that do nothing but run
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "lab-crowd.h"
#include "vm-sched.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

GArray *lab_crowd_start(const LabHost *host, const char *cpus)
{
    GArray *crowd = g_array_new(false, false, sizeof(pid_t));

    for (int cpu = 0; cpu < host->n_cpus; cpu++) {
        g_autofree char *text = g_strdup_printf("%d", cpu);
        pid_t pid;

        if (!lab_list_within(text, cpus)) {
            continue;
        }
        pid = fork();
        g_assert_cmpint(pid, >=, 0);
        if (pid == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
            thread_set_mask(getpid(), text);
            for (;;) {
                /* until killed */
            }
        }
        g_array_append_val(crowd, pid);
    }
    return crowd;
}

void lab_crowd_end(GArray *crowd)
{
    for (guint i = 0; i < crowd->len; i++) {
        pid_t pid = g_array_index(crowd, pid_t, i);

        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
    }
    g_array_unref(crowd);
}
