/*
 * qemu-llcsched-helper: does for VMs what they may not do themselves
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <errno.h>
#include <glib-unix.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "confine.h"
#include "listen.h"
#include "server.h"

#define NAME "qemu-llcsched-helper"

/* As qemu-llcsched's. */
#define STATUS_FAILED 1
#define STATUS_USAGE 2

/* Socket, pidfd and folder of /proc; and what is open besides. */
#define DESCRIPTORS_EACH 3
#define DESCRIPTORS_OTHER 64

typedef struct Options {
    char *socket;
    char *group;
    char *config;
    gboolean version;
} Options;

static int complain(int status, const GError *err)
{
    fprintf(stderr, NAME ": %s\n", err->message);
    return status;
}

static bool parse_options(Options *options, int *argc, char ***argv,
                          GError **err)
{
    const GOptionEntry entries[] = {
        { "socket", 'k', 0, G_OPTION_ARG_FILENAME, &options->socket,
          "Listen at PATH, unless systemd hands over a socket (default: "
          HELPER_SOCKET_PATH ")", "PATH" },
        { "group", 'g', 0, G_OPTION_ARG_STRING, &options->group,
          "Who may connect besides root, unless systemd hands over a socket",
          "GROUP" },
        { "config", 'c', 0, G_OPTION_ARG_FILENAME, &options->config,
          "Read FILE (default: " HELPER_CONFIG_PATH ", if it is there)",
          "FILE" },
        { "version", 'V', 0, G_OPTION_ARG_NONE, &options->version,
          "Show the version", NULL },
        { NULL }
    };
    g_autoptr(GOptionContext) context = g_option_context_new(NULL);

    g_option_context_set_summary(context, "Sets CPU masks of virtual machines "
                                 "and tells them of their host, for the "
                                 "llcsched object of QEMU.");
    g_option_context_add_main_entries(context, entries, NULL);
    if (!g_option_context_parse(context, argc, argv, err)) {
        return false;
    }
    if (*argc > 1) {
        g_set_error(err, G_OPTION_ERROR, G_OPTION_ERROR_FAILED,
                    "unexpected argument '%s'; see --help", (*argv)[1]);
        return false;
    }
    return true;
}

static bool read_config(const Options *options, HelperConfig *ret_config,
                        GError **err)
{
    if (options->config) {
        return helper_config_load(options->config, ret_config, err);
    }
    if (access(HELPER_CONFIG_PATH, F_OK) == 0) {
        return helper_config_load(HELPER_CONFIG_PATH, ret_config, err);
    }
    helper_config_init(ret_config);
    return true;
}

static bool find_group(const char *name, gid_t *ret_gid, GError **err)
{
    struct group *group;

    if (!name) {
        *ret_gid = -1;
        return true;
    }
    group = getgrnam(name);
    if (!group) {
        g_set_error(err, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                    "--group %s: there is no such group", name);
        return false;
    }
    *ret_gid = group->gr_gid;
    return true;
}

static int open_listener(const Options *options, GError **err)
{
    gid_t gid;
    int fd;

    if (!listen_activated(&fd, err)) {
        return -1;
    }
    if (fd >= 0) {
        if (options->socket || options->group) {
            g_set_error(err, G_OPTION_ERROR, G_OPTION_ERROR_FAILED,
                        "--socket and --group: systemd hands over a socket; "
                        "set ListenSequentialPacket= and SocketGroup= in its "
                        "unit instead");
            return -1;
        }
        return fd;
    }
    if (!find_group(options->group, &gid, err)) {
        return -1;
    }
    return listen_at(options->socket ? options->socket : HELPER_SOCKET_PATH,
                     gid, err);
}

/* Fewer connections where that many descriptors are not to be had. */
static void raise_descriptors(HelperConfig *config)
{
    rlim_t wanted = config->connections * (rlim_t)DESCRIPTORS_EACH +
                    DESCRIPTORS_OTHER;
    struct rlimit limit, more;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= wanted) {
        return;
    }
    more = (struct rlimit) { wanted, MAX(limit.rlim_max, wanted) };
    if (setrlimit(RLIMIT_NOFILE, &more) == 0) {
        return;
    }
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    config->connections = limit.rlim_cur > DESCRIPTORS_OTHER ?
        (limit.rlim_cur - DESCRIPTORS_OTHER) / DESCRIPTORS_EACH : 1;
    fprintf(stderr, "%lu descriptors are not to be had: no more than %u "
            "connections\n", (unsigned long)wanted, config->connections);
}

static gboolean on_signal(gint fd, GIOCondition condition, gpointer loop)
{
    g_main_loop_quit(loop);
    return G_SOURCE_REMOVE;
}

/* Without GLib's own way, which takes another thread. */
static bool watch_signals(GMainLoop *loop)
{
    sigset_t signals;
    int fd;

    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    if (sigprocmask(SIG_BLOCK, &signals, NULL) < 0) {
        return false;
    }
    fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    if (fd < 0) {
        return false;
    }
    g_unix_fd_add(fd, G_IO_IN, on_signal, loop);
    return true;
}

static bool serve(const Options *options, GError **err)
{
    g_autoptr(GMainLoop) loop = g_main_loop_new(NULL, FALSE);
    g_autoptr(HostView) view = NULL;
    g_autoptr(Server) server = NULL;
    HelperConfig config;
    int listener;

    if (!read_config(options, &config, err)) {
        return false;
    }
    view = host_view_new("", err);
    if (!view) {
        return false;
    }
    raise_descriptors(&config);
    if (!watch_signals(loop)) {
        g_set_error(err, G_FILE_ERROR, g_file_error_from_errno(errno),
                    "signals: %s", g_strerror(errno));
        return false;
    }
    listener = open_listener(options, err);
    if (listener < 0) {
        return false;
    }
    server = server_new(&config, view, listener);
    if (!confine_capabilities(err)) {
        return false;
    }
    sd_notify(1, "READY=1");
    if (!confine_system_calls(err)) {
        return false;
    }
    g_main_loop_run(loop);
    return true;
}

int main(int argc, char **argv)
{
    g_autoptr(GError) err = NULL;
    Options options = { };
    int status = 0;

    g_set_prgname(NAME);
    if (!parse_options(&options, &argc, &argv, &err)) {
        status = complain(STATUS_USAGE, err);
    } else if (options.version) {
        printf(NAME " " LLCSCHED_VERSION "\n");
    } else if (!serve(&options, &err)) {
        status = complain(STATUS_FAILED, err);
    }
    g_free(options.socket);
    g_free(options.group);
    g_free(options.config);
    return status;
}
