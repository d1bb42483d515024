/*
 * qemu-llcsched-helper is killed and started again, and nothing is lost
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <errno.h>
#include <unistd.h>

#include "client.h"
#include "daemon.h"
#include "others.h"

static void test_restart_is_survived(void)
{
    g_autoptr(Daemon) daemon = daemon_start(NULL, -1);
    Client *client = client_new(daemon->socket);
    g_autoptr(Worker) worker = worker_start();
    g_autofree char *last = g_strdup_printf("%d", own_last_cpu());
    g_autofree char *kept = NULL;
    Client gone;

    g_assert_cmpint(client_set_cpus(client, worker->tid, last), ==, HELPER_OK);
    daemon_kill(daemon);
    client_is_dropped(client);
    client_free(client);
    g_assert_cmpint(client_connect(&gone, daemon->socket), ==, -ECONNREFUSED);
    /* What it set stays. */
    kept = mask_of(worker->tid);
    g_assert_cmpstr(kept, ==, last);
    daemon_restart(daemon);
    client = client_new(daemon->socket);
    g_assert_cmpint(client_set_cpus(client, worker->tid, "0-8191"), ==,
                    HELPER_OK);
    client_free(client);
}

static void test_connecting_anew_replaces(void)
{
    g_autoptr(Daemon) daemon = daemon_start(NULL, -1);
    g_autoptr(Client) first = client_new(daemon->socket);
    g_autoptr(Client) second = client_new(daemon->socket);

    client_is_dropped(first);
    g_assert_cmpint(client_prove(second, gettid()), ==, HELPER_OK);
}

static void test_socket_activation(void)
{
    g_autoptr(Daemon) daemon = daemon_start(NULL, -1);
    Client *client;

    daemon_restart_activated(daemon);
    client = client_new(daemon->socket);
    g_assert_cmpint(client_prove(client, gettid()), ==, HELPER_OK);
    client_free(client);
}

/* What all others claim of the first LLC. */
static unsigned claimed_by_others(Client *client)
{
    HelperLoads loads;
    unsigned claimed;

    client_loads(client, &loads);
    claimed = g_array_index(loads.llcs, HelperLlcLoad, 0).claimed;
    g_array_unref(loads.llcs);
    return claimed;
}

/* Requests of which nobody waits for the answers, some of them claims. */
static void send_ahead(Client *client, GRand *rand, int tid)
{
    int n = g_rand_int_range(rand, 0, 50);

    for (int i = 0; i < n; i++) {
        g_autoptr(GArray) threads = g_array_new(FALSE, FALSE,
                                                sizeof(HelperThreadMask));
        HelperThreadMask thread = { .tid = tid };

        host_cpuset_add(&thread.mask, g_rand_boolean(rand) ? own_first_cpu()
                                                           : own_last_cpu());
        g_array_append_val(threads, thread);
        g_assert_true(client_send(client, HELPER_AFFINITY,
                                  helper_affinity_body(threads)));
    }
}

/* A VM that claims whenever it is told that the helper is there. */
static void claim_again(Other *parent, const void *data)
{
    const Daemon *daemon = data;
    Client *client = NULL;

    for (;;) {
        other_must_hear(parent);
        g_clear_pointer(&client, client_free);
        client = client_new(daemon->socket);
        g_assert_cmpint(client_prove(client, getpid()), ==, HELPER_OK);
        other_tell(parent, client_claim(client, 0, true, 0, 1000));
    }
}

static void join_and_claim(Other *other)
{
    other_tell(other, 0);
    g_assert_cmpint(other_must_hear(other), ==, HELPER_OK);
}

static void test_any_moment(void)
{
    g_autoptr(Daemon) daemon = daemon_start(NULL, -1);
    g_autoptr(Worker) worker = worker_start();
    g_autoptr(Other) other = other_start(claim_again, daemon);
    g_autofree char *first = g_strdup_printf("%d", own_first_cpu());
    uint32_t seed = g_test_rand_int();
    GRand *rand = g_rand_new_with_seed(seed);
    int rounds = g_getenv("LLCSCHED_SOAK") ? 50 : 5;
    Client *client = client_new(daemon->socket);
    unsigned one;

    g_test_message("seed %u", seed);
    join_and_claim(other);
    one = claimed_by_others(client);
    g_assert_cmpuint(one, >, 0);
    for (int i = 0; i < rounds; i++) {
        g_autofree char *mask = NULL;

        send_ahead(client, rand, worker->tid);
        daemon_kill(daemon);
        client_free(client);
        daemon_restart(daemon);
        client = client_new(daemon->socket);
        /* Claims are those of who has come back, each once. */
        g_assert_cmpuint(claimed_by_others(client), ==, 0);
        join_and_claim(other);
        g_assert_cmpuint(claimed_by_others(client), ==, one);
        g_assert_cmpint(client_set_cpus(client, worker->tid, first), ==,
                        HELPER_OK);
        mask = mask_of(worker->tid);
        g_assert_cmpstr(mask, ==, first);
    }
    client_free(client);
    g_rand_free(rand);
}

/* A VM that is killed takes its claims with it, at any moment. */
static void test_killed_vm(void)
{
    g_autoptr(Daemon) daemon = daemon_start(NULL, -1);
    g_autoptr(Client) client = client_new(daemon->socket);

    for (int i = 0; i < 5; i++) {
        Other *other = other_start(claim_again, daemon);
        bool gone = false;

        join_and_claim(other);
        g_assert_cmpuint(claimed_by_others(client), >, 0);
        other_end(other);
        for (int j = 0; j < 2000 && !gone; j++) {
            gone = !claimed_by_others(client);
        }
        g_assert_true(gone);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/helper-crash/killed-and-restarted",
                    test_restart_is_survived);
    g_test_add_func("/helper-crash/connecting-anew-replaces",
                    test_connecting_anew_replaces);
    g_test_add_func("/helper-crash/socket-activation", test_socket_activation);
    g_test_add_func("/helper-crash/at-any-moment", test_any_moment);
    g_test_add_func("/helper-crash/a-killed-vm-takes-its-claims-along",
                    test_killed_vm);
    return g_test_run();
}
