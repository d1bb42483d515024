/*
 * What the helper does for whom: a request in, an answer out
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <errno.h>
#include <string.h>

#include "mask.h"
#include "requests.h"

/* So many looks at other threads, to find one, cost a unit. */
#define LOOKS_PER_UNIT 16

/* Looks at the cpusets of threads, and how old what they saw may be. */
#define CPUS_PER_UNIT 4
#define CPUS_AGE_NS 1000000000

static bool against_protocol(GError **err, const char *what)
{
    g_set_error_literal(err, HELPER_PROTOCOL_ERROR,
                        HELPER_PROTOCOL_ERROR_RANGE, what);
    return false;
}

static void refuse(Answer *answer, HelperStatus status)
{
    answer->kind = HELPER_REFUSAL;
    answer->body = helper_refusal_body(status, helper_status_explain(status));
}

/* Its own CPUs, as far as the administrator lends a hand. */
static bool allowed_cpus(const Connection *connection, HostCpuSet *ret_cpus)
{
    HostCpuSet cpus;

    if (!process_cpuset(connection->process, &cpus)) {
        return false;
    }
    host_cpuset_and(&cpus, &connection->server->config.cpus);
    *ret_cpus = cpus;
    return true;
}

static unsigned add_threads_cpus(Connection *connection)
{
    GHashTableIter iter;
    gpointer tid;

    g_hash_table_iter_init(&iter, connection->proven);
    while (g_hash_table_iter_next(&iter, &tid, NULL)) {
        ProcessThread thread;
        HostCpuSet cpus;

        if (process_open_thread(connection->process, GPOINTER_TO_UINT(tid),
                                &thread)) {
            continue;
        }
        if (process_thread_cpuset(&thread, &cpus)) {
            host_cpuset_or(&connection->cpus, &cpus);
        }
        process_close_thread(&thread);
    }
    return g_hash_table_size(connection->proven);
}

/*
 * The LLCs of the cpusets of the process and of its proven threads, which have
 * others under libvirt.  Looked at again once in a while: cpusets do not change
 * often, and the process pays for it.
 */
static HostCpuSet visible_llcs(Connection *connection, Answer *answer)
{
    int64_t now = server_now_ns();

    if (!connection->cpus_ns || now - connection->cpus_ns > CPUS_AGE_NS ||
        g_hash_table_size(connection->proven) != connection->cpus_threads) {
        connection->cpus = (HostCpuSet) { };
        process_cpuset(connection->process, &connection->cpus);
        connection->cpus_threads = add_threads_cpus(connection);
        connection->cpus_ns = now;
        answer->cost += connection->cpus_threads / CPUS_PER_UNIT;
    }
    return host_view_llcs_of(host_view_topology(connection->server->view),
                             &connection->cpus);
}

static bool join(Connection *connection, const HelperMessage *message,
                 Answer *answer, GError **err)
{
    HostCpuSet allowed;
    HelperJoin join;

    if (!helper_join_parse(message, &join, err)) {
        return false;
    }
    if (connection->joined ||
        memcmp(join.nonce, connection->nonce, sizeof(join.nonce))) {
        return against_protocol(err, "joined twice, or without the number "
                                "that the helper said hello with");
    }
    if (!allowed_cpus(connection, &allowed)) {
        refuse(answer, HELPER_UNAVAILABLE);
        return true;
    }
    connection->joined = true;
    server_joined(connection);
    answer->kind = HELPER_WELCOME;
    answer->body = helper_welcome_body(&allowed);
    return true;
}

static gboolean has_ended(gpointer key, gpointer value, gpointer process)
{
    ProcessThread thread;
    bool same;

    if (process_open_thread(process, GPOINTER_TO_UINT(key), &thread)) {
        return true;
    }
    same = GSIZE_TO_POINTER(thread.start) == value;
    process_close_thread(&thread);
    return !same;
}

/*
 * Room for one more, if need be by forgetting those that ended.  To look at
 * them all takes long: once for a request, however many threads it names.
 */
static bool may_prove_more(Connection *connection, Answer *answer)
{
    unsigned limit = connection->server->config.threads;
    unsigned n = g_hash_table_size(connection->proven);

    if (n >= limit && !answer->pruned) {
        g_hash_table_foreach_remove(connection->proven, has_ended,
                                    connection->process);
        answer->pruned = true;
        answer->cost += n / LOOKS_PER_UNIT;
    }
    return g_hash_table_size(connection->proven) < limit;
}

/* The same for a thread that is new in its PID namespace: look once. */
static int open_thread(Connection *connection, uint32_t tid, Answer *answer,
                       ProcessThread *ret_thread)
{
    int err = process_open_thread(connection->process, tid, ret_thread);

    if (err == -ESRCH && !answer->mapped) {
        answer->mapped = true;
        answer->cost += process_map_threads(connection->process) /
                        LOOKS_PER_UNIT;
        err = process_open_thread(connection->process, tid, ret_thread);
    }
    return err;
}

static HelperStatus status_of_open(Connection *connection, int err)
{
    if (err == -ESRCH) {
        return HELPER_NOT_YOURS;
    }
    server_log(connection->server, "thread of process %d: %s",
               connection->process->pid, g_strerror(-err));
    return HELPER_DENIED;
}

/* On HELPER_OK, @ret_thread is open, and the process known to have it. */
static HelperStatus prove(Connection *connection, uint32_t tid, Answer *answer,
                          ProcessThread *ret_thread)
{
    ProcessThread thread;
    int err = open_thread(connection, tid, answer, &thread);

    answer->cost++;
    if (err) {
        return status_of_open(connection, err);
    }
    if (!g_hash_table_contains(connection->proven, GUINT_TO_POINTER(tid)) &&
        !may_prove_more(connection, answer)) {
        process_close_thread(&thread);
        return HELPER_TOO_MANY;
    }
    g_hash_table_insert(connection->proven, GUINT_TO_POINTER(tid),
                        GSIZE_TO_POINTER(thread.start));
    *ret_thread = thread;
    return HELPER_OK;
}

static void put_status(GArray *statuses, HelperStatus status)
{
    uint8_t byte = status;

    g_array_append_val(statuses, byte);
}

static bool threads(Connection *connection, const HelperMessage *message,
                    Answer *answer, GError **err)
{
    g_autoptr(GArray) tids = helper_threads_parse(message, err);
    g_autoptr(GArray) statuses = g_array_new(FALSE, FALSE, 1);

    for (guint i = 0; tids && i < tids->len; i++) {
        ProcessThread thread;
        HelperStatus status = prove(connection,
                                    g_array_index(tids, uint32_t, i), answer,
                                    &thread);

        if (status == HELPER_OK) {
            process_close_thread(&thread);
        }
        put_status(statuses, status);
    }
    answer->kind = HELPER_STATUSES;
    answer->body = tids ? helper_statuses_body(statuses) : NULL;
    return tids;
}

static HelperStatus set_one(Connection *connection,
                            const HelperThreadMask *wanted, Answer *answer)
{
    g_autofree char *note = NULL;
    ProcessThread thread;
    HelperStatus status = prove(connection, wanted->tid, answer, &thread);

    if (status == HELPER_OK) {
        status = mask_set(&mask_kernel, &thread, &wanted->mask,
                          &connection->server->config.cpus, &note);
        process_close_thread(&thread);
    }
    if (note) {
        server_log(connection->server, "process %d: %s",
                   connection->process->pid, note);
    }
    return status;
}

static bool affinity(Connection *connection, const HelperMessage *message,
                     Answer *answer, GError **err)
{
    g_autoptr(GArray) wanted = helper_affinity_parse(message, err);
    g_autoptr(GArray) statuses = g_array_new(FALSE, FALSE, 1);

    for (guint i = 0; wanted && i < wanted->len; i++) {
        put_status(statuses,
                   set_one(connection,
                           &g_array_index(wanted, HelperThreadMask, i),
                           answer));
    }
    answer->kind = HELPER_STATUSES;
    answer->body = wanted ? helper_statuses_body(statuses) : NULL;
    return wanted;
}

static bool topology(Connection *connection, Answer *answer)
{
    g_autoptr(GError) err = NULL;

    answer->cost += SERVER_COST_TOPOLOGY;
    answer->kind = HELPER_HOST;
    answer->body =
        helper_host_body(host_view_topology(connection->server->view), &err);
    if (!answer->body) {
        server_log(connection->server, "topology: %s", err->message);
        refuse(answer, HELPER_UNAVAILABLE);
    }
    return true;
}

static HelperLlcLoad load_of(const Connection *connection, int llc,
                             int64_t now, uint32_t *age_ms)
{
    const Server *server = connection->server;
    const HostTopology *host = host_view_topology(server->view);
    HelperLlcLoad load = {
        .first_cpu = host_cpuset_next(&host->llcs[llc].cpus, 0),
        .claimed = claims_by_others(server->claims, connection->owner, llc),
    };

    if (server->config.load) {
        host_view_load(server->view, llc, now, &load, age_ms);
    }
    return load;
}

static bool load(Connection *connection, Answer *answer)
{
    g_autoptr(GArray) llcs = g_array_new(FALSE, FALSE, sizeof(HelperLlcLoad));
    HelperLoads loads = { .age_ms = HELPER_AGE_UNKNOWN, .llcs = llcs };
    int64_t now = server_now_ns();
    HostCpuSet visible;

    if (connection->server->config.load) {
        server_want_load(connection->server);
    }
    visible = visible_llcs(connection, answer);
    HOST_CPUSET_FOREACH(llc, &visible) {
        HelperLlcLoad told = load_of(connection, llc, now, &loads.age_ms);

        g_array_append_val(llcs, told);
    }
    loads.view = claims_view(connection->server->claims, connection->owner,
                             &visible);
    answer->kind = HELPER_LOADS;
    answer->body = helper_loads_body(&loads);
    return true;
}

static bool claim(Connection *connection, const HelperMessage *message,
                  Answer *answer, GError **err)
{
    Claims *claims = connection->server->claims;
    HostCpuSet visible = visible_llcs(connection, answer);
    HelperClaimed claimed;
    HelperClaim claim;

    if (!helper_claim_parse(message, &claim, err)) {
        return false;
    }
    claimed.status = claims_take(claims, connection->owner, &claim, &visible,
                                 connection_threads(connection));
    claimed.view = claims_view(claims, connection->owner, &visible);
    g_array_unref(claim.parts);
    answer->kind = HELPER_CLAIMED;
    answer->body = helper_claimed_body(&claimed);
    return true;
}

bool requests_answer(Connection *connection, const HelperMessage *message,
                     Answer *ret_answer, GError **err)
{
    if (!connection->joined && message->kind != HELPER_JOIN) {
        return against_protocol(err, "a request before joining");
    }
    switch (message->kind) {
    case HELPER_JOIN:
        return join(connection, message, ret_answer, err);
    case HELPER_THREADS:
        return threads(connection, message, ret_answer, err);
    case HELPER_AFFINITY:
        return affinity(connection, message, ret_answer, err);
    case HELPER_TOPOLOGY:
        return topology(connection, ret_answer);
    case HELPER_LOAD:
        return load(connection, ret_answer);
    case HELPER_CLAIM:
        return claim(connection, message, ret_answer, err);
    default:
        return against_protocol(err, "a message that only the helper sends");
    }
}
