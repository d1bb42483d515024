/*
 * The socket that the helper listens on: systemd's, or its own
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <errno.h>
#include <glib-unix.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "listen.h"

/* All VMs of a large host, as they start with it. */
#define BACKLOG 1024

bool listen_activated(int *ret_fd, GError **err)
{
    int n = sd_listen_fds(1);

    if (n < 0) {
        g_set_error(err, G_FILE_ERROR, g_file_error_from_errno(-n),
                    "socket activation: %s", g_strerror(-n));
        return false;
    }
    if (n == 0) {
        *ret_fd = -1;
        return true;
    }
    if (n > 1 || sd_is_socket_unix(SD_LISTEN_FDS_START, SOCK_SEQPACKET, 1,
                                   NULL, 0) <= 0) {
        g_set_error(err, G_FILE_ERROR, G_FILE_ERROR_INVAL,
                    "socket activation: expected one listening UNIX socket, "
                    "ListenSequentialPacket= in the socket unit");
        return false;
    }
    /* Who is gone before it is accepted must not keep us waiting. */
    if (!g_unix_set_fd_nonblocking(SD_LISTEN_FDS_START, TRUE, err)) {
        return false;
    }
    *ret_fd = SD_LISTEN_FDS_START;
    return true;
}

static int failed(GError **err, const char *path, const char *what, int fd)
{
    int error = errno;

    g_set_error(err, G_FILE_ERROR, g_file_error_from_errno(error),
                "socket %s: %s: %s", path, what, g_strerror(error));
    if (fd >= 0) {
        close(fd);
    }
    return -1;
}

/* False with errno: somebody listens there, or it is not ours to remove. */
static bool remove_stale(const struct sockaddr_un *address)
{
    struct stat st;
    int fd, error;

    if (lstat(address->sun_path, &st) < 0) {
        return errno == ENOENT;
    }
    if (!S_ISSOCK(st.st_mode)) {
        errno = EEXIST;
        return false;
    }
    fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return false;
    }
    error = connect(fd, (const struct sockaddr *)address,
                    sizeof(*address)) == 0 ? EADDRINUSE : errno;
    close(fd);
    if (error != ECONNREFUSED) {
        errno = error;
        return false;
    }
    return unlink(address->sun_path) == 0;
}

/* Never open to more than it will be, not even for a moment. */
static int bind_closed(int fd, const struct sockaddr_un *address)
{
    mode_t mask = umask(0117);
    int ret = bind(fd, (const struct sockaddr *)address, sizeof(*address));
    int error = errno;

    umask(mask);
    errno = error;
    return ret;
}

int listen_at(const char *path, gid_t gid, GError **err)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int fd;

    if (*path != '/' || strlen(path) >= sizeof(address.sun_path)) {
        g_set_error(err, G_FILE_ERROR, G_FILE_ERROR_INVAL, "socket %s: "
                    "expected an absolute path of at most %zu characters",
                    path, sizeof(address.sun_path) - 1);
        return -1;
    }
    strcpy(address.sun_path, path);
    if (!remove_stale(&address)) {
        return failed(err, path, "already there", -1);
    }
    fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || bind_closed(fd, &address) < 0) {
        return failed(err, path, "cannot be made", fd);
    }
    if (gid != (gid_t)-1 && lchown(path, -1, gid) < 0) {
        return failed(err, path, "cannot be given to the group", fd);
    }
    if (listen(fd, BACKLOG) < 0) {
        return failed(err, path, "cannot be listened on", fd);
    }
    return fd;
}
