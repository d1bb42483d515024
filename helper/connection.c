/*
 * One connection: reads messages of a proven process and answers them
 *
 * The kernel tells of each message which process sent it.  Only those of the
 * process that connected count, also if others have got the socket; and that
 * it sent one while the pidfd is alive is the proof that the pidfd is its own.
 *
 * Nothing is queued.  A process that sends too much is not read from until its
 * budget allows; one that does not read its answers is dropped.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <errno.h>
#include <glib-unix.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "connection.h"
#include "requests.h"

static gboolean on_message(gint fd, GIOCondition condition, gpointer opaque);

/* Ends the process, its claims go with it. */
static gboolean on_end(gint pidfd, GIOCondition condition, gpointer opaque)
{
    server_drop(opaque);
    return G_SOURCE_REMOVE;
}

Connection *connection_new(Server *server, ServerProcess *entry,
                           Process *process, int fd, uint64_t owner)
{
    Connection *connection = g_new0(Connection, 1);

    connection->server = server;
    connection->entry = entry;
    connection->process = process;
    connection->fd = fd;
    connection->owner = owner;
    connection->accepted_ns = server_now_ns();
    connection->proven = g_hash_table_new(NULL, NULL);
    connection->end_source = g_unix_fd_add(process->pidfd, G_IO_IN, on_end,
                                           connection);
    connection->read_source = g_unix_fd_add(fd, G_IO_IN, on_message,
                                            connection);
    return connection;
}

static void remove_source(guint source)
{
    if (source) {
        g_source_remove(source);
    }
}

void connection_free(gpointer opaque)
{
    Connection *connection = opaque;

    remove_source(connection->read_source);
    remove_source(connection->pause_source);
    remove_source(connection->end_source);
    g_hash_table_unref(connection->proven);
    process_free(connection->process);
    close(connection->fd);
    g_free(connection);
}

unsigned connection_threads(const Connection *connection)
{
    return MIN(g_hash_table_size(connection->proven),
               process_count_threads(connection->process));
}

/* False: it does not read its answers, or is gone. */
static bool send_message(Connection *connection, HelperKind kind,
                         uint32_t serial, GVariant *body)
{
    g_autoptr(GBytes) packet = helper_message_encode(kind, serial, body);
    gsize len;
    const void *data = g_bytes_get_data(packet, &len);

    return send(connection->fd, data, len, MSG_DONTWAIT | MSG_NOSIGNAL) ==
           (ssize_t)len;
}

void connection_start(Connection *connection)
{
    const HelperConfig *config = &connection->server->config;
    HelperHello hello = {
        .lowest = HELPER_PROTOCOL_VERSION, .highest = HELPER_PROTOCOL_VERSION,
        .rate = config->budget.rate, .burst = config->budget.burst,
        .threads = config->threads,
    };
    int on = 1;

    if (getrandom(connection->nonce, sizeof(connection->nonce), 0) !=
            sizeof(connection->nonce) ||
        setsockopt(connection->fd, SOL_SOCKET, SO_PASSCRED, &on,
                   sizeof(on)) < 0) {
        server_drop(connection);
        return;
    }
    memcpy(hello.nonce, connection->nonce, sizeof(hello.nonce));
    if (!send_message(connection, HELPER_HELLO, 0, helper_hello_body(&hello))) {
        server_drop(connection);
    }
}

/* Who sent it, by the kernel's word. */
static bool sent_by_process(const Connection *connection, struct msghdr *header)
{
    struct cmsghdr *control = CMSG_FIRSTHDR(header);
    struct ucred sender;

    if (!control || control->cmsg_level != SOL_SOCKET ||
        control->cmsg_type != SCM_CREDENTIALS ||
        control->cmsg_len != CMSG_LEN(sizeof(sender))) {
        return false;
    }
    memcpy(&sender, CMSG_DATA(control), sizeof(sender));
    return sender.pid == connection->process->pid &&
           process_alive(connection->process);
}

/*
 * The next packet into @buf.  Its length; 0: nothing now; negative: the end,
 * with @ret_why if the process is to blame.
 */
static ssize_t receive(Connection *connection, void *buf, size_t size,
                       const char **ret_why)
{
    /* Room for credentials alone: the kernel drops descriptors that come. */
    union {
        char bytes[CMSG_SPACE(sizeof(struct ucred))];
        struct cmsghdr align;
    } control;
    struct iovec iov = { buf, size };
    struct msghdr header = {
        .msg_iov = &iov, .msg_iovlen = 1,
        .msg_control = control.bytes, .msg_controllen = sizeof(control.bytes),
    };
    ssize_t len = recvmsg(connection->fd, &header,
                          MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

    if (len < 0) {
        return errno == EAGAIN || errno == EINTR ? 0 : -1;
    }
    if (len == 0) {
        return -1;
    }
    if (header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) {
        *ret_why = "a message that is too long, or comes with descriptors";
        return -1;
    }
    if (!sent_by_process(connection, &header)) {
        *ret_why = "a message from another process than the one that connected";
        return -1;
    }
    return len;
}

/* The connection is gone after this. */
static void violation(Connection *connection, const char *why)
{
    server_log(connection->server, "process %d of user %u is dropped: %s",
               connection->process->pid, connection->process->uid, why);
    /* For its own log; whether it arrives changes nothing. */
    (void)send_message(connection, HELPER_REFUSAL, 0,
                       helper_refusal_body(HELPER_BAD_MESSAGE, why));
    server_drop(connection);
}

/* False: the connection is gone. */
static bool handle(Connection *connection, const void *data, size_t len)
{
    g_auto(HelperMessage) message = { };
    g_autoptr(GError) err = NULL;
    Answer answer = { .cost = 1 };
    bool good = helper_message_decode(data, len, HELPER_REQUEST_MAX, &message,
                                      &err) &&
                requests_answer(connection, &message, &answer, &err);

    budget_charge(&connection->entry->budget,
                  &connection->server->config.budget, server_now_ns(),
                  answer.cost);
    if (!good) {
        violation(connection, err->message);
        return false;
    }
    if (!send_message(connection, answer.kind, message.serial, answer.body)) {
        server_drop(connection);
        return false;
    }
    return true;
}

static gboolean on_pause_over(gpointer opaque)
{
    Connection *connection = opaque;

    connection->pause_source = 0;
    connection->read_source = g_unix_fd_add(connection->fd, G_IO_IN,
                                            on_message, connection);
    return G_SOURCE_REMOVE;
}

/* True: nothing is read until the process can pay for it again. */
static bool paused(Connection *connection)
{
    int64_t wait = budget_wait_ns(&connection->entry->budget,
                                  &connection->server->config.budget,
                                  server_now_ns());

    if (!wait) {
        return false;
    }
    connection->read_source = 0;
    connection->pause_source = g_timeout_add(wait / 1000000 + 1, on_pause_over,
                                             connection);
    return true;
}

static gboolean on_message(gint fd, GIOCondition condition, gpointer opaque)
{
    /* One for all: there is one thread, and it is done with it at return. */
    static uint8_t buf[HELPER_REQUEST_MAX];
    Connection *connection = opaque;
    const char *why = NULL;
    ssize_t len;

    if (paused(connection)) {
        return G_SOURCE_REMOVE;
    }
    len = receive(connection, buf, sizeof(buf), &why);
    if (len == 0) {
        return G_SOURCE_CONTINUE;
    }
    if (len < 0) {
        if (why) {
            violation(connection, why);
        } else {
            server_drop(connection);
        }
        return G_SOURCE_REMOVE;
    }
    return handle(connection, buf, len) ? G_SOURCE_CONTINUE : G_SOURCE_REMOVE;
}
