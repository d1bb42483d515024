/*
 * A qemu-llcsched-helper of the test's own
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../integration/remove-tree.h"
#include "daemon.h"

#define ACTIVATED_FD 3       /* SD_LISTEN_FDS_START */
#define READY_SECONDS 60

static const char *program(void)
{
    const char *path = g_getenv("LLCSCHED_HELPER");

    g_assert_nonnull(path);
    return path;
}

static struct sockaddr_un address_of(const char *path)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };

    g_assert_cmpuint(strlen(path), <, sizeof(address.sun_path));
    strcpy(address.sun_path, path);
    return address;
}

static int bound_socket(int type, const char *path)
{
    struct sockaddr_un address = address_of(path);
    int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

    g_assert_cmpint(fd, >=, 0);
    unlink(path);
    g_assert_cmpint(bind(fd, (struct sockaddr *)&address, sizeof(address)), ==,
                    0);
    return fd;
}

/* The child has the name of the socket that READY=1 goes to. */
static void run(const Daemon *daemon, const char *path, const char *notify,
                int activated)
{
    const char *args[8] = { path };
    int n = 1;

    if (activated < 0) {
        args[n++] = "--socket";
        args[n++] = daemon->socket;
    } else {
        g_autofree char *pid = g_strdup_printf("%d", getpid());

        setenv("LISTEN_FDS", "1", 1);
        setenv("LISTEN_PID", pid, 1);
        /* dup2() leaves the flag alone where both are the same. */
        if (activated == ACTIVATED_FD) {
            activated = dup(activated);
        }
        dup2(activated, ACTIVATED_FD);
    }
    if (daemon->config) {
        args[n++] = "--config";
        args[n++] = daemon->config;
    }
    setenv("NOTIFY_SOCKET", notify, 1);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    execv(path, (char **)args);
    _exit(127);
}

static void wait_until_ready(Daemon *daemon, int notify)
{
    struct timeval limit = { .tv_sec = READY_SECONDS };
    char text[64] = "";

    g_assert_cmpint(setsockopt(notify, SOL_SOCKET, SO_RCVTIMEO, &limit,
                               sizeof(limit)), ==, 0);
    g_assert_cmpint(recv(notify, text, sizeof(text) - 1, 0), >, 0);
    g_assert_cmpstr(text, ==, "READY=1");
}

static void start(Daemon *daemon, int activated)
{
    g_autofree char *path = g_build_filename(daemon->dir, "notify", NULL);
    const char *name = program();
    int notify = bound_socket(SOCK_DGRAM, path);

    daemon->pid = fork();
    g_assert_cmpint(daemon->pid, >=, 0);
    if (daemon->pid == 0) {
        run(daemon, name, path, activated);
    }
    wait_until_ready(daemon, notify);
    close(notify);
}

Daemon *daemon_start(const char *config, gid_t gid)
{
    Daemon *daemon = g_new0(Daemon, 1);

    daemon->dir = g_dir_make_tmp("llcsched-helper-XXXXXX", NULL);
    g_assert_nonnull(daemon->dir);
    g_assert_cmpint(chmod(daemon->dir, 0755), ==, 0);
    daemon->socket = g_build_filename(daemon->dir, "socket", NULL);
    if (config) {
        daemon->config = g_build_filename(daemon->dir, "config", NULL);
        g_assert_true(g_file_set_contents(daemon->config, config, -1, NULL));
    }
    start(daemon, -1);
    if (gid != (gid_t)-1) {
        g_assert_cmpint(chown(daemon->socket, -1, gid), ==, 0);
    }
    return daemon;
}

void daemon_kill(Daemon *daemon)
{
    int status;

    g_assert_cmpint(kill(daemon->pid, SIGKILL), ==, 0);
    g_assert_cmpint(waitpid(daemon->pid, &status, 0), ==, daemon->pid);
    daemon->pid = 0;
}

void daemon_restart(Daemon *daemon)
{
    if (daemon->pid) {
        daemon_kill(daemon);
    }
    start(daemon, -1);
}

void daemon_restart_activated(Daemon *daemon)
{
    int fd;

    daemon_kill(daemon);
    fd = bound_socket(SOCK_SEQPACKET, daemon->socket);
    g_assert_cmpint(listen(fd, 16), ==, 0);
    start(daemon, fd);
    close(fd);
}

void daemon_free(Daemon *daemon)
{
    int status = 0;

    if (daemon->pid) {
        g_assert_cmpint(kill(daemon->pid, SIGTERM), ==, 0);
        g_assert_cmpint(waitpid(daemon->pid, &status, 0), ==, daemon->pid);
    }
    remove_tree(daemon->dir);
    g_free(daemon->dir);
    g_free(daemon->socket);
    g_free(daemon->config);
    g_free(daemon);
    g_assert_cmpint(status, ==, 0);
}

char *daemon_status(const Daemon *daemon, const char *field)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/status", daemon->pid);
    g_autofree char *key = g_strdup_printf("\n%s:\t", field);
    g_autofree char *text = NULL;
    const char *found;

    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    found = strstr(text, key);
    g_assert_nonnull(found);
    found += strlen(key);
    return g_strndup(found, strcspn(found, "\n"));
}

char *daemon_fails(int *ret_status, const char *first, ...)
{
    g_autoptr(GPtrArray) args = g_ptr_array_new();
    g_autoptr(GError) err = NULL;
    const char *arg = first;
    char *text = NULL;
    va_list more;

    g_ptr_array_add(args, (char *)program());
    va_start(more, first);
    for (; arg; arg = va_arg(more, const char *)) {
        g_ptr_array_add(args, (char *)arg);
    }
    va_end(more);
    g_ptr_array_add(args, NULL);
    g_assert_true(g_spawn_sync(NULL, (char **)args->pdata, NULL,
                               G_SPAWN_DEFAULT, NULL, NULL, NULL, &text,
                               ret_status, &err));
    g_assert_no_error(err);
    g_assert_true(WIFEXITED(*ret_status));
    *ret_status = WEXITSTATUS(*ret_status);
    return text;
}
