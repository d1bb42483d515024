/*
 * What the object costs a running guest
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "bench-guest.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

/* The most that an ordinary process can have over others. */
#define NICE -20

void bench_let_run(int ms)
{
    g_usleep(ms * 1000);
}

void bench_object_add(GuestVm *guest)
{
    vm_do(guest->vm, "object-add",
          "{'qom-type': 'llcsched', 'id': 'sched0'}");
}

void bench_object_del(GuestVm *guest)
{
    vm_do(guest->vm, "object-del", "{'id': 'sched0'}");
}

/*
 * Where the kernel gives each session its share of the CPU (autogroup in
 * sched(7)), the nice value counts among the session's own threads only, and
 * the session has another.  It is ours to change in a session of our own.
 */
static bool session_comes_first(void)
{
    FILE *file;
    bool failed;

    if (getsid(0) != getpid()) {
        return false;
    }
    file = fopen("/proc/self/autogroup", "w");
    if (!file) {
        return errno == ENOENT;
    }
    failed = fprintf(file, "%d", NICE) < 0;
    return !fclose(file) && !failed;
}

/*
 * QEMU inherits it, and so all of its threads keep their shares of each other;
 * only what else the machine does disturbs less.
 */
static void come_first(void)
{
    if (setpriority(PRIO_PROCESS, 0, NICE) < 0 || !session_comes_first()) {
        bench_say("not before other programs (that takes root and setsid): "
                  "what they do shows in the results");
    }
}

int main(int argc, char **argv)
{
    Bench bench;

    bench_init(&bench, &argc, &argv);
    vm_test_init(&argc, &argv);
    come_first();
    bench_idle(&bench);
    bench_speed(&bench);
    bench_clear(&bench);
    return 0;
}
