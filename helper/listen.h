/*
 * The socket that the helper listens on: systemd's, or its own
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef HELPER_LISTEN_H
#define HELPER_LISTEN_H

#include <glib.h>
#include <stdbool.h>
#include <sys/types.h>

/*
 * The one socket that systemd hands over.  True with @ret_fd -1: it hands over
 * none.  False and @err: something else than one listening SOCK_SEQPACKET.
 */
bool listen_activated(int *ret_fd, GError **err);

/*
 * A socket of our own at @path with mode 0660, for the group @gid (-1: as the
 * process's).  What is left of a helper that ended is replaced; one that still
 * listens is an error.  A descriptor, or -1 and @err.
 */
int listen_at(const char *path, gid_t gid, GError **err);

#endif
