/*
 * The helper's server: who is connected, and what they may have together
 *
 * One thread, GLib's default main context.  A connection is served a message
 * at a time, in turn with all others.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef HELPER_SERVER_H
#define HELPER_SERVER_H

#include "claims.h"
#include "config.h"
#include "host-view.h"

/* Of unproven connections of one process, while it connects anew. */
#define SERVER_UNJOINED_MAX 4

/* A connection that has not joined after that is dropped. */
#define SERVER_JOIN_SECONDS 5

/* What it costs to be accepted, in units; so much to be told the topology. */
#define SERVER_COST_ACCEPT 10
#define SERVER_COST_TOPOLOGY 20

typedef struct Connection Connection;

/* What is known of a process besides its connections, and outlives them. */
typedef struct ServerProcess {
    pid_t pid;
    Budget budget;
    unsigned connections;
    Connection *joined;      /* at most one; NULL: none */
} ServerProcess;

typedef struct Server {
    HelperConfig config;
    HostView *view;
    Claims *claims;
    GHashTable *connections; /* Connection, a set that owns */
    GHashTable *processes;   /* pid to ServerProcess, owned */
    GHashTable *users;       /* uid to number of connections */
    int listener;            /* owned */
    guint listen_source, tick_source;
    int64_t load_asked_ns;   /* when somebody asked for the load last */
    uint64_t next_owner;     /* of claims */
    Budget log_budget;
    unsigned log_lost;
} Server;

/* Serve the listening socket @listener, which is the server's from then on. */
Server *server_new(const HelperConfig *config, HostView *view, int listener);
void server_free(Server *server); /* NULL is allowed */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Server, server_free)

/* The clock of everything here: monotonic, ns. */
int64_t server_now_ns(void);

/* A line in the log, unless there were too many of late. */
void server_log(Server *server, const char *format, ...) G_GNUC_PRINTF(2, 3);

/* Look at the load within a tick from now, and for some time after it. */
void server_want_load(Server *server);

/* For connections: one ends, or has joined in place of the process's last. */
void server_drop(Connection *connection);
void server_joined(Connection *connection);

#endif
