/*
 * A qemu-llcsched-helper of the test's own
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TESTS_HELPER_DAEMON_H
#define TESTS_HELPER_DAEMON_H

#include <glib.h>
#include <stdbool.h>
#include <sys/types.h>

typedef struct Daemon {
    char *dir;
    char *socket;
    char *config;            /* a file, NULL: none */
    pid_t pid;               /* 0: not running */
} Daemon;

/*
 * Start one with the configuration @config (NULL: none), for the group @gid
 * (-1: none), and wait until it is ready.
 */
Daemon *daemon_start(const char *config, gid_t gid);
void daemon_free(Daemon *daemon); /* ends it, and checks that it ends well */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Daemon, daemon_free)

/* Kill it as if it had crashed; start another in its place. */
void daemon_kill(Daemon *daemon);
void daemon_restart(Daemon *daemon);

/* The same, with a socket handed over as systemd does. */
void daemon_restart_activated(Daemon *daemon);

/* What a field of its /proc/PID/status says. */
char *daemon_status(const Daemon *daemon, const char *field);

/*
 * Run one with these arguments (up to NULL) that does not get as far as
 * serving: what it says, and its exit status.
 */
char *daemon_fails(int *ret_status, const char *first, ...);

#endif
