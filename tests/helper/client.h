/*
 * A client of the helper, as QEMU would be one, or as an attacker
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TESTS_HELPER_CLIENT_H
#define TESTS_HELPER_CLIENT_H

#include "hw/sched/helper-protocol.h"

typedef struct Client {
    int fd;
    uint32_t serial;
    HelperHello hello;       /* after client_hear_hello() */
    HostCpuSet allowed;      /* after client_join() */
} Client;

/* Connect alone.  A negative errno if that is refused. */
int client_connect(Client *client, const char *path);

/* False: the connection ended instead. */
bool client_hear_hello(Client *client);
bool client_join(Client *client);

/* Connected, greeted and joined, or the test fails. */
Client *client_new(const char *path);
void client_free(Client *client);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Client, client_free)

/* False: the connection has ended. */
bool client_send(Client *client, HelperKind kind, GVariant *body);
bool client_send_bytes(Client *client, const void *data, size_t len);

/* The next message.  False: the connection has ended. */
bool client_hear(Client *client, HelperMessage *ret_message);

/* Nothing comes any more but a refusal. */
void client_is_dropped(Client *client);

/* One request of each kind; the test fails if it gets no answer. */
HelperStatus client_prove(Client *client, uint32_t tid);
HelperStatus client_set_mask(Client *client, uint32_t tid,
                             const HostCpuSet *mask);
HelperStatus client_set_cpus(Client *client, uint32_t tid, const char *cpus);
HostTopology *client_topology(Client *client);
void client_loads(Client *client, HelperLoads *ret_loads);
HelperStatus client_claim(Client *client, uint64_t view, bool force,
                          uint32_t first_cpu, uint32_t amount);

#endif
