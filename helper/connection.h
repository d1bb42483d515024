/*
 * One connection: reads messages of a proven process and answers them
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef HELPER_CONNECTION_H
#define HELPER_CONNECTION_H

#include "process.h"
#include "server.h"

struct Connection {
    Server *server;
    ServerProcess *entry;
    Process *process;        /* owned */
    int fd;                  /* owned */
    uint64_t owner;          /* of its claims */
    int64_t accepted_ns;
    bool joined;
    uint8_t nonce[HELPER_NONCE_SIZE];
    GHashTable *proven;      /* thread id, as it says it, to start time */
    HostCpuSet cpus;         /* of its cpusets, as looked at last */
    int64_t cpus_ns;         /* when that was; 0: never */
    unsigned cpus_threads;   /* how many were proven then */
    guint read_source, pause_source, end_source;
};

/* Takes over @process and @fd. */
Connection *connection_new(Server *server, ServerProcess *entry,
                           Process *process, int fd, uint64_t owner);
void connection_free(gpointer connection);

/* Say hello.  The connection may be gone after it. */
void connection_start(Connection *connection);

/* How many threads it has proven, no more than it has. */
unsigned connection_threads(const Connection *connection);

#endif
