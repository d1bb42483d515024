/*
 * qemu-llcsched-helper refuses what a process may not have, and nothing breaks
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client.h"
#include "daemon.h"
#include "hw/sched/host-affinity.h"
#include "others.h"

#define VICTIMS 4
#define ATTACKERS 3

/* Fast enough for a flood, so that the limit is not what is tested. */
#define NO_LIMIT "[helper]\nrate=100000\nburst=1000000\n"

static int count_entries(const char *format, pid_t pid)
{
    g_autofree char *path = g_strdup_printf(format, pid);
    GDir *dir = g_dir_open(path, 0, NULL);
    int n = 0;

    g_assert_nonnull(dir);
    while (g_dir_read_name(dir)) {
        n++;
    }
    g_dir_close(dir);
    return n;
}

/* While it serves one connection and has answered it. */
static int descriptors_with(const Daemon *daemon, Client *client)
{
    g_assert_cmpint(client_prove(client, getpid()), ==, HELPER_OK);
    return count_entries("/proc/%d/fd", daemon->pid);
}

static int descriptors_of(const Daemon *daemon)
{
    g_autoptr(Client) client = client_new(daemon->socket);

    return descriptors_with(daemon, client);
}

/* It answers, and nothing is left of those that are gone. */
static void check_well(const Daemon *daemon, int descriptors)
{
    g_autoptr(Client) client = client_new(daemon->socket);
    int now = descriptors_with(daemon, client);

    for (int i = 0; i < 1000 && now > descriptors; i++) {
        now = descriptors_with(daemon, client);
    }
    g_assert_cmpint(now, ==, descriptors);
}

static void test_foreign_threads(void)
{
    g_autoptr(Daemon) daemon = daemon_start(NULL, -1);
    g_autoptr(Client) client = client_new(daemon->socket);
    g_autoptr(Other) victim = other_start(other_idles, NULL);
    const int foreign[] = { victim->pid, 1, 2, daemon->pid, G_MAXINT32 };

    for (size_t i = 0; i < G_N_ELEMENTS(foreign); i++) {
        HostCpuSet before = { }, after = { };

        host_affinity_get(foreign[i], &before);
        g_assert_cmpint(client_prove(client, foreign[i]), ==,
                        HELPER_NOT_YOURS);
        g_assert_cmpint(client_set_cpus(client, foreign[i], "0"), ==,
                        HELPER_NOT_YOURS);
        host_affinity_get(foreign[i], &after);
        g_assert_true(host_cpuset_equal(&before, &after));
    }
}

static void test_ended_thread(void)
{
    g_autoptr(Daemon) daemon = daemon_start(NULL, -1);
    g_autoptr(Client) client = client_new(daemon->socket);
    Worker *worker = worker_start();
    int tid = worker->tid;

    g_assert_cmpint(client_prove(client, tid), ==, HELPER_OK);
    worker_end(worker);
    g_assert_cmpint(client_set_cpus(client, tid, "0"), ==, HELPER_NOT_YOURS);
}

/* A child that got the socket of its parent says something in its name. */
static void speak_for_parent(Other *parent, const void *data)
{
    Client client = *(const Client *)data;
    g_autoptr(GArray) tids = g_array_new(FALSE, FALSE, sizeof(uint32_t));
    uint32_t tid = parent->pid;

    g_array_append_val(tids, tid);
    other_tell(parent, client_send(&client, HELPER_THREADS,
                                   helper_threads_body(tids)));
}

static void test_socket_in_other_hands(void)
{
    g_autoptr(Daemon) daemon = daemon_start(NULL, -1);
    g_autoptr(Client) client = client_new(daemon->socket);
    g_autoptr(Other) other = other_start(speak_for_parent, client);

    g_assert_true(other_must_hear(other));
    client_is_dropped(client);
}

/* Send one byte with some control message. */
static void send_control(Client *client, int type, const void *data,
                         size_t len)
{
    union {
        char bytes[CMSG_SPACE(64)];
        struct cmsghdr align;
    } control = { };
    char byte = 0;
    struct iovec iov = { &byte, 1 };
    struct msghdr header = {
        .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control.bytes,
        .msg_controllen = CMSG_SPACE(len),
    };
    struct cmsghdr *first = CMSG_FIRSTHDR(&header);

    first->cmsg_level = SOL_SOCKET;
    first->cmsg_type = type;
    first->cmsg_len = CMSG_LEN(len);
    memcpy(CMSG_DATA(first), data, len);
    g_assert_cmpint(sendmsg(client->fd, &header, MSG_NOSIGNAL), ==, 1);
}

static void test_descriptors_are_not_taken(void)
{
    g_autoptr(Daemon) daemon = daemon_start(NULL, -1);
    int before = descriptors_of(daemon);
    Client *client = client_new(daemon->socket);
    int fds[] = { 0, 1, 2 };

    send_control(client, SCM_RIGHTS, fds, sizeof(fds));
    client_is_dropped(client);
    client_free(client);
    check_well(daemon, before);
}

static void test_forged_credentials(void)
{
    g_autoptr(Daemon) daemon = NULL;
    g_autoptr(Client) client = NULL;
    g_autoptr(Other) victim = NULL;
    struct ucred forged = { };

    if (geteuid()) {
        g_test_skip("needs root: the kernel lets nobody else forge them");
        return;
    }
    daemon = daemon_start(NULL, -1);
    client = client_new(daemon->socket);
    victim = other_start(other_idles, NULL);
    forged.pid = victim->pid;
    send_control(client, SCM_CREDENTIALS, &forged, sizeof(forged));
    client_is_dropped(client);
}

typedef enum Breach {
    GIANT, GARBAGE, BEFORE_JOINING, WRONG_NONCE, JOINED_TWICE, HELPERS_OWN,
    BREACHES,
} Breach;

static void commit_breach(Client *client, Breach breach)
{
    g_autofree char *bytes = g_malloc0(HELPER_REQUEST_MAX + 1);
    HelperJoin join = { .version = 1 };

    switch (breach) {
    case GIANT:
        client_send_bytes(client, bytes, HELPER_REQUEST_MAX + 1);
        break;
    case GARBAGE:
        client_send_bytes(client, bytes, 100);
        break;
    case BEFORE_JOINING:
        client_send(client, HELPER_LOAD, NULL);
        break;
    case WRONG_NONCE:
        client_send(client, HELPER_JOIN, helper_join_body(&join));
        break;
    case JOINED_TWICE:
        g_assert_true(client_join(client));
        memcpy(join.nonce, client->hello.nonce, sizeof(join.nonce));
        client_send(client, HELPER_JOIN, helper_join_body(&join));
        break;
    default:
        client_send(client, HELPER_REFUSAL,
                    helper_refusal_body(HELPER_OK, "no"));
        break;
    }
}

static void test_breaches_end_the_connection(void)
{
    g_autoptr(Daemon) daemon = daemon_start(NULL, -1);
    int before = descriptors_of(daemon);

    for (int i = 0; i < BREACHES; i++) {
        Client client;

        g_assert_cmpint(client_connect(&client, daemon->socket), ==, 0);
        g_assert_true(client_hear_hello(&client));
        commit_breach(&client, i);
        client_is_dropped(&client);
        close(client.fd);
    }
    check_well(daemon, before);
}

/* Many connections at once, each told whether it was greeted. */
static void connect_often(Other *parent, const void *data)
{
    const Daemon *daemon = data;
    uint64_t greeted = 0;
    Client clients[200];

    for (size_t i = 0; i < G_N_ELEMENTS(clients); i++) {
        g_assert_cmpint(client_connect(&clients[i], daemon->socket), ==, 0);
        greeted += client_hear_hello(&clients[i]);
    }
    other_tell(parent, greeted);
    other_idles(parent, NULL);
}

static void test_200_connections(void)
{
    g_autoptr(Daemon) daemon = daemon_start(NULL, -1);
    int before = descriptors_of(daemon);
    Other *other = other_start(connect_often, daemon);
    Client *client;

    g_assert_cmpint(other_must_hear(other), ==, 4);
    client = client_new(daemon->socket);
    g_assert_cmpint(client_prove(client, getpid()), ==, HELPER_OK);
    client_free(client);
    other_end(other);
    check_well(daemon, before);
}

static void test_users_share_no_limit(void)
{
    g_autoptr(Daemon) daemon = daemon_start(
        "[helper]\nconnections-per-user=2\n", -1);
    g_autoptr(Client) first = client_new(daemon->socket);
    Client second, third;

    g_assert_cmpint(client_connect(&second, daemon->socket), ==, 0);
    g_assert_true(client_hear_hello(&second));
    g_assert_cmpint(client_connect(&third, daemon->socket), ==, 0);
    g_assert_false(client_hear_hello(&third));
    g_assert_cmpint(client_prove(first, getpid()), ==, HELPER_OK);
    close(second.fd);
    close(third.fd);
}

/* Asks for the largest answer, and reads none, until it is thrown out. */
static void never_read(Other *parent, const void *data)
{
    const Daemon *daemon = data;
    Client *client = client_new(daemon->socket);
    uint64_t sent = 0;

    while (client_send(client, HELPER_TOPOLOGY, NULL)) {
        sent++;
    }
    other_tell(parent, sent);
}

static void test_unread_answers(void)
{
    g_autoptr(Daemon) daemon = daemon_start(NO_LIMIT, -1);
    int before = descriptors_of(daemon);
    Other *other = other_start(never_read, daemon);

    g_assert_cmpint(other_must_hear(other), >, 0);
    other_end(other);
    check_well(daemon, before);
}

typedef struct Flood {
    const Daemon *daemon;
    const int *victims;
    uint32_t seed;
    unsigned messages;
} Flood;

/* A mask on threads of others, or on what may be anybody's. */
static void attack_threads(Client *client, const Flood *flood, GRand *rand)
{
    g_autoptr(GArray) threads = g_array_new(FALSE, FALSE,
                                            sizeof(HelperThreadMask));
    int n = g_rand_int_range(rand, 1, 4);
    g_auto(HelperMessage) message = { };
    g_autoptr(GArray) statuses = NULL;

    for (int i = 0; i < n; i++) {
        HelperThreadMask thread = {
            g_rand_boolean(rand) ?
                flood->victims[g_rand_int_range(rand, 0, VICTIMS)] :
                g_rand_int_range(rand, 1, 4194304),
        };

        host_cpuset_add(&thread.mask, own_first_cpu());
        if (thread.tid != (uint32_t)getpid()) {
            g_array_append_val(threads, thread);
        }
    }
    if (!threads->len ||
        !client_send(client, HELPER_AFFINITY, helper_affinity_body(threads)) ||
        !client_hear(client, &message)) {
        return;
    }
    statuses = helper_statuses_parse(&message, NULL);
    for (guint i = 0; i < statuses->len; i++) {
        g_assert_cmpint(g_array_index(statuses, uint8_t, i), ==,
                        HELPER_NOT_YOURS);
    }
}

static void attack_claims(Client *client, GRand *rand)
{
    g_assert_cmpint(client_claim(client, 0, true, 0,
                                 g_rand_int_range(rand, 1, 1000000)), ==,
                    HELPER_TOO_MANY);
}

/* A valid packet with some bytes changed or cut.  False: that was too much. */
static bool attack_bytes(Client *client, GRand *rand)
{
    HelperJoin join = { .version = 1 };
    g_autoptr(GBytes) packet = helper_message_encode(HELPER_JOIN, 1,
                                                     helper_join_body(&join));
    gsize len = g_bytes_get_size(packet);
    g_autofree uint8_t *bytes = g_memdup2(g_bytes_get_data(packet, NULL), len);
    g_auto(HelperMessage) message = { };

    for (int i = 0; i < 3; i++) {
        bytes[g_rand_int_range(rand, 0, len)] = g_rand_int(rand);
    }
    return client_send_bytes(client, bytes, g_rand_int_range(rand, 1, len)) &&
           client_hear(client, &message) && message.kind != HELPER_REFUSAL;
}

/* A connection is refused at times, while the last ones are taken down. */
static Client *connect_again(const Flood *flood)
{
    Client *client = g_new0(Client, 1);

    while (client_connect(client, flood->daemon->socket) ||
           !client_hear_hello(client) || !client_join(client)) {
        close(client->fd);
    }
    return client;
}

static void attack(Other *parent, const void *data)
{
    const Flood *flood = data;
    GRand *rand = g_rand_new_with_seed(flood->seed + getpid() % ATTACKERS);
    Client *client = connect_again(flood);

    for (unsigned i = 0; i < flood->messages; i++) {
        switch (g_rand_int_range(rand, 0, 50)) {
        case 0:
            if (!attack_bytes(client, rand)) {
                client_free(client);
                client = connect_again(flood);
            }
            break;
        case 1:
            attack_claims(client, rand);
            break;
        default:
            attack_threads(client, flood, rand);
            break;
        }
    }
    other_tell(parent, flood->messages);
}

static void check_memory(const Daemon *daemon)
{
    g_autofree char *text = daemon_status(daemon, "VmRSS");

    g_test_message("VmRSS %s", g_strstrip(text));
    /* What a sanitizer adds is not the helper's. */
    if (!g_getenv("LLCSCHED_SANITIZED")) {
        g_assert_cmpint(g_ascii_strtoull(text, NULL, 10), <=, 8192);
    }
}

static void check_victims(Other **victims, char **masks)
{
    for (int i = 0; i < VICTIMS; i++) {
        g_autofree char *mask = mask_of(victims[i]->pid);

        g_assert_cmpstr(mask, ==, masks[i]);
    }
}

static void test_flood(void)
{
    g_autoptr(Daemon) daemon = daemon_start(NO_LIMIT, -1);
    int before = descriptors_of(daemon), pids[VICTIMS];
    unsigned messages = g_getenv("LLCSCHED_SOAK") ? 1000000 :
                        g_getenv("LLCSCHED_SANITIZED") ? 10000 : 100000;
    Flood flood = { daemon, pids, g_test_rand_int(), messages / ATTACKERS };
    Other *victims[VICTIMS], *attackers[ATTACKERS];
    Client *client = client_new(daemon->socket);
    char *masks[VICTIMS];

    g_test_message("seed %u, %u messages", flood.seed, messages);
    for (int i = 0; i < VICTIMS; i++) {
        HostCpuSet mask = { };

        victims[i] = other_start(other_idles, NULL);
        pids[i] = victims[i]->pid;
        host_cpuset_add(&mask, own_last_cpu());
        g_assert_cmpint(host_affinity_set(pids[i], &mask), ==, 0);
        masks[i] = mask_of(pids[i]);
    }
    for (int i = 0; i < ATTACKERS; i++) {
        attackers[i] = other_start(attack, &flood);
    }
    for (int i = 0; i < ATTACKERS; i++) {
        /* Others are served meanwhile. */
        g_assert_cmpint(client_prove(client, getpid()), ==, HELPER_OK);
        g_assert_cmpint(other_must_hear(attackers[i]), ==, flood.messages);
        other_end(attackers[i]);
        check_victims(victims, masks);
    }
    client_free(client);
    for (int i = 0; i < VICTIMS; i++) {
        other_end(victims[i]);
        g_free(masks[i]);
    }
    check_well(daemon, before);
    check_memory(daemon);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/helper-hostile/foreign-threads-are-refused",
                    test_foreign_threads);
    g_test_add_func("/helper-hostile/ended-threads-are-refused",
                    test_ended_thread);
    g_test_add_func("/helper-hostile/a-socket-in-other-hands-is-worth-nothing",
                    test_socket_in_other_hands);
    g_test_add_func("/helper-hostile/descriptors-are-not-taken",
                    test_descriptors_are_not_taken);
    g_test_add_func("/helper-hostile/forged-credentials-are-seen",
                    test_forged_credentials);
    g_test_add_func("/helper-hostile/breaches-end-the-connection",
                    test_breaches_end_the_connection);
    g_test_add_func("/helper-hostile/200-connections", test_200_connections);
    g_test_add_func("/helper-hostile/a-user-has-a-limit",
                    test_users_share_no_limit);
    g_test_add_func("/helper-hostile/unread-answers-end-the-connection",
                    test_unread_answers);
    g_test_add_func("/helper-hostile/a-flood-changes-nothing", test_flood);
    return g_test_run();
}
