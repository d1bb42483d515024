/*
 * A client of the helper, as QEMU would be one, or as an attacker
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "client.h"

/* Long enough for a machine that is busy with other things. */
#define ANSWER_SECONDS 120

int client_connect(Client *client, const char *path)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    struct timeval limit = { .tv_sec = ANSWER_SECONDS };
    int error;

    *client = (Client) {
        .fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0),
    };
    g_assert_cmpint(client->fd, >=, 0);
    g_assert_cmpint(setsockopt(client->fd, SOL_SOCKET, SO_RCVTIMEO, &limit,
                               sizeof(limit)), ==, 0);
    g_strlcpy(address.sun_path, path, sizeof(address.sun_path));
    if (connect(client->fd, (struct sockaddr *)&address,
                sizeof(address)) == 0) {
        return 0;
    }
    error = errno;
    close(client->fd);
    client->fd = -1;
    return -error;
}

bool client_send_bytes(Client *client, const void *data, size_t len)
{
    return send(client->fd, data, len, MSG_NOSIGNAL) == (ssize_t)len;
}

bool client_send(Client *client, HelperKind kind, GVariant *body)
{
    g_autoptr(GBytes) packet = helper_message_encode(kind, ++client->serial,
                                                     body);

    return client_send_bytes(client, g_bytes_get_data(packet, NULL),
                             g_bytes_get_size(packet));
}

bool client_hear(Client *client, HelperMessage *ret_message)
{
    g_autofree char *buf = g_malloc(HELPER_ANSWER_MAX);
    ssize_t len = recv(client->fd, buf, HELPER_ANSWER_MAX, 0);
    g_autoptr(GError) err = NULL;

    if (len == 0 || (len < 0 && errno == ECONNRESET)) {
        return false;
    }
    g_assert_cmpint(len, >, 0);
    helper_message_decode(buf, len, HELPER_ANSWER_MAX, ret_message, &err);
    g_assert_no_error(err);
    return true;
}

bool client_hear_hello(Client *client)
{
    g_auto(HelperMessage) message = { };

    if (!client_hear(client, &message)) {
        return false;
    }
    g_assert_cmpint(message.kind, ==, HELPER_HELLO);
    g_assert_true(helper_hello_parse(&message, &client->hello, NULL));
    return true;
}

bool client_join(Client *client)
{
    HelperJoin join = { .version = HELPER_PROTOCOL_VERSION };
    g_auto(HelperMessage) message = { };

    memcpy(join.nonce, client->hello.nonce, sizeof(join.nonce));
    if (!client_send(client, HELPER_JOIN, helper_join_body(&join)) ||
        !client_hear(client, &message) || message.kind != HELPER_WELCOME) {
        return false;
    }
    g_assert_true(helper_welcome_parse(&message, &client->allowed, NULL));
    return true;
}

Client *client_new(const char *path)
{
    Client *client = g_new0(Client, 1);

    g_assert_cmpint(client_connect(client, path), ==, 0);
    g_assert_true(client_hear_hello(client));
    g_assert_true(client_join(client));
    return client;
}

void client_free(Client *client)
{
    close(client->fd);
    g_free(client);
}

void client_is_dropped(Client *client)
{
    g_auto(HelperMessage) message = { };
    g_autofree char *text = NULL;
    HelperStatus status;

    if (!client_hear(client, &message)) {
        return;
    }
    g_assert_cmpint(message.kind, ==, HELPER_REFUSAL);
    text = helper_refusal_parse(&message, &status, NULL);
    g_assert_nonnull(text);
    g_test_message("%s", text);
    g_assert_cmpint(status, ==, HELPER_BAD_MESSAGE);
    helper_message_clear(&message);
    g_assert_false(client_hear(client, &message));
}

static HelperMessage ask(Client *client, HelperKind kind, GVariant *body,
                         HelperKind answer)
{
    HelperMessage message = { };

    g_assert_true(client_send(client, kind, body));
    g_assert_true(client_hear(client, &message));
    g_assert_cmpint(message.kind, ==, answer);
    g_assert_cmpuint(message.serial, ==, client->serial);
    return message;
}

static HelperStatus only_status(HelperMessage message)
{
    g_autoptr(GArray) statuses = helper_statuses_parse(&message, NULL);

    g_assert_cmpint(statuses->len, ==, 1);
    helper_message_clear(&message);
    return g_array_index(statuses, uint8_t, 0);
}

HelperStatus client_prove(Client *client, uint32_t tid)
{
    g_autoptr(GArray) tids = g_array_new(FALSE, FALSE, sizeof(tid));

    g_array_append_val(tids, tid);
    return only_status(ask(client, HELPER_THREADS, helper_threads_body(tids),
                           HELPER_STATUSES));
}

HelperStatus client_set_mask(Client *client, uint32_t tid,
                             const HostCpuSet *mask)
{
    g_autoptr(GArray) threads = g_array_new(FALSE, FALSE,
                                            sizeof(HelperThreadMask));
    HelperThreadMask thread = { tid, *mask };

    g_array_append_val(threads, thread);
    return only_status(ask(client, HELPER_AFFINITY,
                           helper_affinity_body(threads), HELPER_STATUSES));
}

HelperStatus client_set_cpus(Client *client, uint32_t tid, const char *cpus)
{
    HostCpuSet mask;

    g_assert_true(host_cpuset_parse_list(cpus, &mask));
    return client_set_mask(client, tid, &mask);
}

HostTopology *client_topology(Client *client)
{
    g_auto(HelperMessage) message = ask(client, HELPER_TOPOLOGY, NULL,
                                        HELPER_HOST);
    g_autoptr(GError) err = NULL;
    HostTopology *host = helper_host_parse(&message, &err);

    g_assert_no_error(err);
    return host;
}

void client_loads(Client *client, HelperLoads *ret_loads)
{
    g_auto(HelperMessage) message = ask(client, HELPER_LOAD, NULL,
                                        HELPER_LOADS);

    g_assert_true(helper_loads_parse(&message, ret_loads, NULL));
}

HelperStatus client_claim(Client *client, uint64_t view, bool force,
                          uint32_t first_cpu, uint32_t amount)
{
    g_autoptr(GArray) parts = g_array_new(FALSE, FALSE,
                                          sizeof(HelperClaimPart));
    HelperClaim claim = { view, force, parts };
    HelperClaimPart part = { first_cpu, amount };
    g_auto(HelperMessage) message = { };
    HelperClaimed claimed;

    if (amount) {
        g_array_append_val(parts, part);
    }
    message = ask(client, HELPER_CLAIM, helper_claim_body(&claim),
                  HELPER_CLAIMED);
    g_assert_true(helper_claimed_parse(&message, &claimed, NULL));
    return claimed.status;
}
