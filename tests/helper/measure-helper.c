/*
 * What qemu-llcsched-helper costs: CPU time for each call, and memory
 *
 * Prints numbers and judges none.  usage: measure-helper [CLIENTS [CALLS]]
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "client.h"
#include "daemon.h"
#include "others.h"

typedef struct Plan {
    const Daemon *daemon;
    int calls;               /* of each client */
} Plan;

/* Connected first, and then all at once. */
static void call(Other *parent, const void *data)
{
    const Plan *plan = data;
    Client *client = client_new(plan->daemon->socket);
    HostCpuSet mask = { { ~0ull } };

    other_tell(parent, 0);
    other_must_hear(parent);
    for (int i = 0; i < plan->calls; i++) {
        g_assert_cmpint(client_set_mask(client, getpid(), &mask), ==,
                        HELPER_OK);
    }
    other_tell(parent, 0);
    other_idles(parent, NULL);
}

static guint64 cpu_ns(const Daemon *daemon)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/schedstat", daemon->pid);
    g_autofree char *text = NULL;

    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    return g_ascii_strtoull(text, NULL, 10);
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 100;
    g_autoptr(Daemon) daemon = daemon_start(NULL, -1);
    Plan plan = { daemon, argc > 2 ? atoi(argv[2]) : 100 };
    Other **others = g_new(Other *, n);
    g_autofree char *memory = NULL;
    guint64 before, connected, after;

    before = cpu_ns(daemon);
    for (int i = 0; i < n; i++) {
        others[i] = other_start(call, &plan);
        other_must_hear(others[i]);
    }
    connected = cpu_ns(daemon);
    for (int i = 0; i < n; i++) {
        other_tell(others[i], 0);
    }
    for (int i = 0; i < n; i++) {
        other_must_hear(others[i]);
    }
    after = cpu_ns(daemon);
    memory = daemon_status(daemon, "VmRSS");
    printf("%d clients: %.1f us of CPU to connect each, %.1f us for each "
           "call, VmRSS %s\n", n, (connected - before) / 1e3 / n,
           (after - connected) / 1e3 / n / plan.calls, g_strstrip(memory));
    for (int i = 0; i < n; i++) {
        other_end(others[i]);
    }
    g_free(others);
    return 0;
}
