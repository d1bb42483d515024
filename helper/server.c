/*
 * The helper's server: who is connected, and what they may have together
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <errno.h>
#include <glib-unix.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "connection.h"
#include "server.h"

/* A process that is refused is told to the log, and may not fill it. */
static const BudgetRules log_rules = { .rate = 5, .burst = 50 };

/* Samples are taken as long as somebody asked within so many ticks. */
#define LOAD_TICKS 10

static gboolean server_tick(gpointer opaque);

int64_t server_now_ns(void)
{
    return g_get_monotonic_time() * 1000;
}

void server_log(Server *server, const char *format, ...)
{
    int64_t now = server_now_ns();
    g_autofree char *text = NULL;
    va_list args;

    if (budget_wait_ns(&server->log_budget, &log_rules, now)) {
        server->log_lost++;
        return;
    }
    budget_charge(&server->log_budget, &log_rules, now, 1);
    va_start(args, format);
    text = g_strdup_vprintf(format, args);
    va_end(args);
    if (server->log_lost) {
        fprintf(stderr, "%u lines left out\n", server->log_lost);
        server->log_lost = 0;
    }
    fprintf(stderr, "%s\n", text);
}

static void start_tick(Server *server)
{
    if (!server->tick_source) {
        server->tick_source = g_timeout_add(HOST_VIEW_INTERVAL_MS, server_tick,
                                            server);
    }
}

void server_want_load(Server *server)
{
    int64_t now = server_now_ns();
    bool first = !server->load_asked_ns;

    server->load_asked_ns = now;
    if (first && host_view_look(server->view, now)) {
        claims_set_host(server->claims, host_view_topology(server->view));
    }
}

static unsigned count_of(GHashTable *counts, unsigned key)
{
    return GPOINTER_TO_UINT(g_hash_table_lookup(counts,
                                                GUINT_TO_POINTER(key)));
}

static void count(GHashTable *counts, unsigned key, int by)
{
    unsigned n = count_of(counts, key) + by;

    if (n) {
        g_hash_table_insert(counts, GUINT_TO_POINTER(key),
                            GUINT_TO_POINTER(n));
    } else {
        g_hash_table_remove(counts, GUINT_TO_POINTER(key));
    }
}

static ServerProcess *process_entry(Server *server, pid_t pid)
{
    ServerProcess *entry = g_hash_table_lookup(server->processes,
                                               GINT_TO_POINTER(pid));

    if (!entry) {
        entry = g_new0(ServerProcess, 1);
        entry->pid = pid;
        g_hash_table_insert(server->processes, GINT_TO_POINTER(pid), entry);
    }
    return entry;
}

static bool too_many(Server *server, const Process *process,
                     ServerProcess *entry, int64_t now)
{
    unsigned of_process = entry->connections - !!entry->joined;
    unsigned of_user = count_of(server->users, process->uid);
    const char *what = NULL;

    if (g_hash_table_size(server->connections) >= server->config.connections) {
        what = "connections";
    } else if (of_user >= server->config.connections_per_user) {
        what = "connections-per-user";
    } else if (of_process >= SERVER_UNJOINED_MAX) {
        what = "connections of one process";
    } else if (budget_wait_ns(&entry->budget, &server->config.budget, now)) {
        what = "rate";
    }
    if (what) {
        server_log(server, "process %d of user %u is refused: beyond the limit "
                   "of %s", process->pid, process->uid, what);
    }
    return what;
}

/* Takes over @fd. */
static void accept_one(Server *server, int fd)
{
    int64_t now = server_now_ns();
    g_autoptr(GError) err = NULL;
    Process *process = process_of_socket(fd, &err);
    ServerProcess *entry;
    Connection *connection;

    if (!process) {
        server_log(server, "refused: %s", err->message);
        close(fd);
        return;
    }
    start_tick(server);
    entry = process_entry(server, process->pid);
    if (too_many(server, process, entry, now)) {
        process_free(process);
        close(fd);
        return;
    }
    budget_charge(&entry->budget, &server->config.budget, now,
                  SERVER_COST_ACCEPT);
    entry->connections++;
    count(server->users, process->uid, 1);
    connection = connection_new(server, entry, process, fd,
                                ++server->next_owner);
    g_hash_table_add(server->connections, connection);
    connection_start(connection);
}

static gboolean on_connect(gint listener, GIOCondition condition,
                           gpointer opaque);

static gboolean listen_again(gpointer opaque)
{
    Server *server = opaque;

    server->listen_source = g_unix_fd_add(server->listener, G_IO_IN,
                                          on_connect, server);
    return G_SOURCE_REMOVE;
}

/* One in each turn of the loop, so that connecting starves nobody. */
static gboolean on_connect(gint listener, GIOCondition condition,
                           gpointer opaque)
{
    Server *server = opaque;
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    if (fd >= 0) {
        accept_one(server, fd);
        return G_SOURCE_CONTINUE;
    }
    if (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED) {
        return G_SOURCE_CONTINUE;
    }
    /* Out of something: the next try would fail as soon as this one. */
    server_log(server, "accept: %s; trying again in a second",
               g_strerror(errno));
    server->listen_source = g_timeout_add_seconds(1, listen_again, server);
    return G_SOURCE_REMOVE;
}

void server_drop(Connection *connection)
{
    Server *server = connection->server;
    ServerProcess *entry = connection->entry;

    claims_drop(server->claims, connection->owner);
    if (entry->joined == connection) {
        entry->joined = NULL;
    }
    entry->connections--;
    count(server->users, connection->process->uid, -1);
    g_hash_table_remove(server->connections, connection);
}

void server_joined(Connection *connection)
{
    ServerProcess *entry = connection->entry;

    if (entry->joined) {
        server_drop(entry->joined);
    }
    entry->joined = connection;
}

/* Claims follow the threads that are left; who does not join goes. */
static void check_connection(Server *server, Connection *connection,
                             int64_t now)
{
    if (!connection->joined) {
        if (now - connection->accepted_ns >
            SERVER_JOIN_SECONDS * G_GINT64_CONSTANT(1000000000)) {
            server_drop(connection);
        }
        return;
    }
    claims_limit(server->claims, connection->owner,
                 connection_threads(connection));
}

static gboolean entry_is_done(gpointer key, gpointer value, gpointer opaque)
{
    const ServerProcess *entry = value;
    const int64_t *now = opaque;

    return !entry->connections && budget_full(&entry->budget, *now);
}

static void look_at_load(Server *server, int64_t now)
{
    if (!server->load_asked_ns) {
        return;
    }
    if (now - server->load_asked_ns >
        LOAD_TICKS * HOST_VIEW_INTERVAL_MS * G_GINT64_CONSTANT(1000000)) {
        server->load_asked_ns = 0;
        return;
    }
    if (host_view_look(server->view, now)) {
        claims_set_host(server->claims, host_view_topology(server->view));
    }
}

static gboolean server_tick(gpointer opaque)
{
    Server *server = opaque;
    int64_t now = server_now_ns();
    g_autoptr(GList) all = g_hash_table_get_keys(server->connections);

    for (GList *item = all; item; item = item->next) {
        check_connection(server, item->data, now);
    }
    g_hash_table_foreach_remove(server->processes, entry_is_done, &now);
    look_at_load(server, now);
    if (g_hash_table_size(server->processes)) {
        return G_SOURCE_CONTINUE;
    }
    server->tick_source = 0;  /* nobody is there: sleep */
    return G_SOURCE_REMOVE;
}

Server *server_new(const HelperConfig *config, HostView *view, int listener)
{
    Server *server = g_new0(Server, 1);

    server->config = *config;
    server->view = view;
    server->claims = claims_new(host_view_topology(view));
    server->connections = g_hash_table_new_full(NULL, NULL, connection_free,
                                                NULL);
    server->processes = g_hash_table_new_full(NULL, NULL, NULL, g_free);
    server->users = g_hash_table_new(NULL, NULL);
    server->listener = listener;
    listen_again(server);
    return server;
}

void server_free(Server *server)
{
    if (!server) {
        return;
    }
    g_source_remove(server->listen_source);
    if (server->tick_source) {
        g_source_remove(server->tick_source);
    }
    g_hash_table_unref(server->connections);
    g_hash_table_unref(server->processes);
    g_hash_table_unref(server->users);
    claims_free(server->claims);
    close(server->listener);
    g_free(server);
}
