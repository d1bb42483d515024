/*
 * Lines over a socket, without threads and with deadlines
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TESTS_INTEGRATION_LINE_CHANNEL_H
#define TESTS_INTEGRATION_LINE_CHANNEL_H

#include <glib.h>
#include <stdbool.h>

typedef struct LineChannel {
    int fd;             /* ours; -1 once the other side is gone */
    GString *partial;   /* a line that has not ended yet */
    GQueue lines;       /* of char *, complete, oldest first */
    GString *log;       /* everything, for a failure's report */
} LineChannel;

/* Takes @fd over. */
void line_channel_init(LineChannel *channel, int fd);
void line_channel_clear(LineChannel *channel);

/* Read what is there, without waiting. */
void line_channel_fill(LineChannel *channel);

/* The oldest unread line without its end, for the caller to free; or NULL. */
char *line_channel_pop(LineChannel *channel);

/* All of @text, or false with errno. */
bool line_channel_send(LineChannel *channel, const char *text, gsize len);

#endif
