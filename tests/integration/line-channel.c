/*
 * Lines over a socket, without threads and with deadlines
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "line-channel.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

void line_channel_init(LineChannel *channel, int fd)
{
    channel->fd = fd;
    channel->partial = g_string_new(NULL);
    channel->log = g_string_new(NULL);
    g_queue_init(&channel->lines);
}

static void line_channel_close(LineChannel *channel)
{
    if (channel->fd >= 0) {
        close(channel->fd);
    }
    channel->fd = -1;
}

void line_channel_clear(LineChannel *channel)
{
    line_channel_close(channel);
    g_string_free(channel->partial, true);
    g_string_free(channel->log, true);
    g_queue_clear_full(&channel->lines, g_free);
}

static void line_channel_take(LineChannel *channel, const char *data,
                              gsize len)
{
    g_string_append_len(channel->log, data, len);
    for (gsize i = 0; i < len; i++) {
        if (data[i] == '\n') {
            g_queue_push_tail(&channel->lines,
                              g_strdup(channel->partial->str));
            g_string_truncate(channel->partial, 0);
        } else if (data[i] != '\r') {
            g_string_append_c(channel->partial, data[i]);
        }
    }
}

void line_channel_fill(LineChannel *channel)
{
    char data[4096];
    ssize_t len;

    while (channel->fd >= 0) {
        len = recv(channel->fd, data, sizeof(data), MSG_DONTWAIT);
        if (len > 0) {
            line_channel_take(channel, data, len);
        } else if (len < 0 && errno == EINTR) {
            continue;
        } else if (len < 0 && errno == EAGAIN) {
            return;
        } else {
            line_channel_close(channel);
        }
    }
}

char *line_channel_pop(LineChannel *channel)
{
    return g_queue_pop_head(&channel->lines);
}

bool line_channel_send(LineChannel *channel, const char *text, gsize len)
{
    ssize_t sent;

    while (len > 0) {
        sent = send(channel->fd, text, len, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) {
            continue;
        }
        if (sent < 0) {
            return false;
        }
        text += sent;
        len -= sent;
    }
    return true;
}
