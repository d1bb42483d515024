/*
 * qemu-llcsched-helper does for a process what that may ask for
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client.h"
#include "daemon.h"
#include "hw/sched/host-affinity.h"
#include "others.h"

#define NOBODY 65534

static char *list_of(int cpu)
{
    return g_strdup_printf("%d", cpu);
}

static void test_mask_is_set(void)
{
    g_autoptr(Daemon) daemon = daemon_start(NULL, -1);
    g_autoptr(Client) client = client_new(daemon->socket);
    g_autoptr(Worker) worker = worker_start();
    g_autofree char *all = own_cpus();
    int cpus[] = { own_first_cpu(), own_last_cpu() };

    for (size_t i = 0; i < G_N_ELEMENTS(cpus); i++) {
        g_autofree char *one = list_of(cpus[i]);
        g_autofree char *got = NULL;

        g_assert_cmpint(client_set_cpus(client, worker->tid, one), ==,
                        HELPER_OK);
        got = mask_of(worker->tid);
        g_assert_cmpstr(got, ==, one);
    }
    g_assert_cmpint(client_set_cpus(client, worker->tid, "0-8191"), ==,
                    HELPER_OK);
    g_assert_cmpstr(mask_of(worker->tid), ==, all);
}

static void test_many_threads_in_one_request(void)
{
    g_autoptr(Daemon) daemon = daemon_start(NULL, -1);
    g_autoptr(Client) client = client_new(daemon->socket);
    g_autoptr(GArray) threads = g_array_new(FALSE, FALSE,
                                            sizeof(HelperThreadMask));
    g_auto(HelperMessage) message = { };
    g_autoptr(GArray) statuses = NULL;
    g_autofree char *one = list_of(own_last_cpu());
    Worker *workers[100];

    for (size_t i = 0; i < G_N_ELEMENTS(workers); i++) {
        HelperThreadMask thread = { };

        workers[i] = worker_start();
        thread.tid = workers[i]->tid;
        host_cpuset_add(&thread.mask, own_last_cpu());
        g_array_append_val(threads, thread);
    }
    /* One of them is nobody's: the others are served all the same. */
    g_array_index(threads, HelperThreadMask, 50).tid = 1;
    g_assert_true(client_send(client, HELPER_AFFINITY,
                              helper_affinity_body(threads)));
    g_assert_true(client_hear(client, &message));
    statuses = helper_statuses_parse(&message, NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(workers); i++) {
        g_autofree char *got = mask_of(workers[i]->tid);

        g_assert_cmpint(g_array_index(statuses, uint8_t, i), ==,
                        i == 50 ? HELPER_NOT_YOURS : HELPER_OK);
        g_assert_true(i == 50 || g_str_equal(got, one));
        worker_end(workers[i]);
    }
}

static void test_administrator_limits_cpus(void)
{
    g_autofree char *config = g_strdup_printf("[helper]\ncpus=%d\n",
                                              own_first_cpu());
    g_autoptr(Daemon) daemon = daemon_start(config, -1);
    g_autoptr(Client) client = client_new(daemon->socket);
    g_autoptr(Worker) worker = worker_start();
    g_autofree char *first = list_of(own_first_cpu());
    g_autofree char *last = list_of(own_last_cpu());
    g_autofree char *told = host_cpuset_to_list(&client->allowed);
    g_autofree char *got = NULL;

    g_assert_cmpstr(told, ==, first);
    if (own_last_cpu() != own_first_cpu()) {
        g_assert_cmpint(client_set_cpus(client, worker->tid, last), ==,
                        HELPER_NOTHING_ALLOWED);
    }
    g_assert_cmpint(client_set_cpus(client, worker->tid, "8191"), ==,
                    HELPER_NOTHING_ALLOWED);
    g_assert_cmpint(client_set_cpus(client, worker->tid, "0-8191"), ==,
                    HELPER_OK);
    got = mask_of(worker->tid);
    g_assert_cmpstr(got, ==, first);
}

#define CPUSETS "/sys/fs/cgroup/cpuset"

static void put(const char *dir, const char *name, const char *text)
{
    g_autofree char *path = g_build_filename(dir, name, NULL);
    int fd = open(path, O_WRONLY | O_CLOEXEC);

    g_assert_cmpint(fd, >=, 0);
    g_assert_cmpint(write(fd, text, strlen(text)), ==, strlen(text));
    close(fd);
}

/* A process in a cpuset of the first CPU asks for the last. */
static void leave_cpuset(Other *parent, const void *data)
{
    const Daemon *daemon = data;
    g_autofree char *last = list_of(own_last_cpu());
    g_autofree char *mask = NULL;
    Client *client;

    other_tell(parent, 0);
    other_must_hear(parent);
    client = client_new(daemon->socket);
    other_tell(parent, host_cpuset_count(&client->allowed));
    other_tell(parent, client_set_cpus(client, getpid(), last));
    other_tell(parent, client_set_cpus(client, getpid(), "0-8191"));
    mask = mask_of(getpid());
    other_tell(parent, strlen(mask) == 1);
}

static void check_cpuset(const char *dir)
{
    g_autoptr(Daemon) daemon = daemon_start(NULL, -1);
    g_autofree char *mems = NULL;
    g_autofree char *first = list_of(own_first_cpu());
    g_autofree char *pid = NULL;
    Other *other = other_start(leave_cpuset, daemon);

    g_assert_true(g_file_get_contents(CPUSETS "/cpuset.mems", &mems, NULL,
                                      NULL));
    put(dir, "cpuset.cpus", first);
    put(dir, "cpuset.mems", mems);
    other_must_hear(other);
    pid = g_strdup_printf("%d", other->pid);
    put(dir, "cgroup.procs", pid);
    other_tell(other, 0);
    g_assert_cmpint(other_must_hear(other), ==, 1);
    g_assert_cmpint(other_must_hear(other), ==, HELPER_NOTHING_ALLOWED);
    g_assert_cmpint(other_must_hear(other), ==, HELPER_OK);
    g_assert_true(other_must_hear(other));
    other_end(other);
}

static void test_cpuset_is_not_left(void)
{
    g_autofree char *dir = g_strdup_printf(CPUSETS "/llcsched-test-%d",
                                           getpid());

    if (own_first_cpu() == own_last_cpu() || mkdir(dir, 0700) < 0) {
        g_test_skip("needs two CPUs, and cpusets of cgroup v1 to make one in");
        return;
    }
    check_cpuset(dir);
    g_assert_cmpint(rmdir(dir), ==, 0);
}

static void test_topology_is_the_hosts(void)
{
    g_autoptr(Daemon) daemon = daemon_start(NULL, -1);
    g_autoptr(Client) client = client_new(daemon->socket);
    g_autoptr(HostTopology) told = client_topology(client);
    g_autoptr(HostTopology) host = host_topology_read("", NULL);

    g_assert_true(host_topology_equal(told, host));
}

static void check_steps(const HelperLoads *loads, const HostTopology *host)
{
    g_assert_cmpint(loads->llcs->len, ==, host->n_llcs);
    for (guint i = 0; i < loads->llcs->len; i++) {
        const HelperLlcLoad *llc = &g_array_index(loads->llcs, HelperLlcLoad,
                                                  i);

        g_assert_cmpint(llc->busy % HELPER_LOAD_STEP, ==, 0);
        g_assert_cmpint(llc->waiting % HELPER_LOAD_STEP, ==, 0);
        g_assert_cmpint(llc->claimed, ==, 0);
    }
}

static void test_load_in_steps(void)
{
    g_autoptr(Daemon) daemon = daemon_start(NULL, -1);
    g_autoptr(Client) client = client_new(daemon->socket);
    g_autoptr(HostTopology) host = host_topology_read("", NULL);
    HelperLoads loads = { .age_ms = HELPER_AGE_UNKNOWN };

    /* The rate alone bounds it: some seconds at the most. */
    for (int i = 0; i < 20000 && loads.age_ms == HELPER_AGE_UNKNOWN; i++) {
        g_clear_pointer(&loads.llcs, g_array_unref);
        client_loads(client, &loads);
    }
    g_assert_cmpuint(loads.age_ms, !=, HELPER_AGE_UNKNOWN);
    check_steps(&loads, host);
    g_array_unref(loads.llcs);
}

static void test_load_can_be_denied(void)
{
    g_autoptr(Daemon) daemon = daemon_start("[helper]\nload=no\n", -1);
    g_autoptr(Client) client = client_new(daemon->socket);
    HelperLoads loads;

    client_loads(client, &loads);
    g_assert_cmpuint(loads.age_ms, ==, HELPER_AGE_UNKNOWN);
    g_array_unref(loads.llcs);
}

/* What the others claim of the first LLC that is told, and the view. */
static unsigned claimed(Client *client, uint64_t *ret_view)
{
    HelperLoads loads;
    unsigned amount;

    client_loads(client, &loads);
    amount = g_array_index(loads.llcs, HelperLlcLoad, 0).claimed;
    *ret_view = loads.view;
    g_array_unref(loads.llcs);
    return amount;
}

static void claim_and_idle(Other *parent, const void *data)
{
    const Daemon *daemon = data;
    Client *client = client_new(daemon->socket);

    g_assert_cmpint(client_prove(client, gettid()), ==, HELPER_OK);
    other_tell(parent, client_claim(client, 0, true, 0, 1000));
    other_idles(parent, NULL);
}

static void test_claims_are_seen_by_others(void)
{
    g_autoptr(Daemon) daemon = daemon_start(NULL, -1);
    g_autoptr(Client) client = client_new(daemon->socket);
    uint64_t before, during, after;
    Other *other;

    g_assert_cmpint(client_prove(client, gettid()), ==, HELPER_OK);
    g_assert_cmpuint(claimed(client, &before), ==, 0);
    other = other_start(claim_and_idle, daemon);
    g_assert_cmpint(other_must_hear(other), ==, HELPER_OK);
    g_assert_cmpuint(claimed(client, &during), >, 0);
    g_assert_cmpuint(during, !=, before);
    /* Planned by what was true before the other came. */
    g_assert_cmpint(client_claim(client, before, false, 0, 1000), ==,
                    HELPER_STALE);
    g_assert_cmpint(client_claim(client, during, false, 0, 1000), ==,
                    HELPER_OK);
    other_end(other);
    for (int i = 0; i < 20000 && claimed(client, &after); i++) {
        continue;
    }
    g_assert_cmpuint(after, ==, before);
}

static void test_claims_need_threads(void)
{
    g_autoptr(Daemon) daemon = daemon_start(NULL, -1);
    g_autoptr(Client) client = client_new(daemon->socket);

    g_assert_cmpint(client_claim(client, 0, true, 0, 1), ==, HELPER_TOO_MANY);
    g_assert_cmpint(client_prove(client, gettid()), ==, HELPER_OK);
    g_assert_cmpint(client_claim(client, 0, true, 0, 1001), ==,
                    HELPER_TOO_MANY);
    g_assert_cmpint(client_claim(client, 0, true, 0, 1000), ==, HELPER_OK);
    g_assert_cmpint(client_claim(client, 0, true, 0, 0), ==, HELPER_OK);
    g_assert_cmpint(client_claim(client, 0, true, 8000, 1), ==,
                    HELPER_UNKNOWN_LLC);
}

static void test_threads_have_a_limit(void)
{
    g_autoptr(Daemon) daemon = daemon_start("[helper]\nthreads=2\n", -1);
    g_autoptr(Client) client = client_new(daemon->socket);
    Worker *first = worker_start();
    g_autoptr(Worker) second = worker_start();
    g_autoptr(Worker) third = worker_start();

    g_assert_cmpint(client_prove(client, first->tid), ==, HELPER_OK);
    g_assert_cmpint(client_prove(client, second->tid), ==, HELPER_OK);
    g_assert_cmpint(client_prove(client, third->tid), ==, HELPER_TOO_MANY);
    g_assert_cmpint(client_prove(client, second->tid), ==, HELPER_OK);
    /* One that ended makes room. */
    worker_end(first);
    g_assert_cmpint(client_prove(client, third->tid), ==, HELPER_OK);
}

/* Nothing is refused, but it takes the time that the rate says. */
static void test_too_much_waits(void)
{
    g_autoptr(Daemon) daemon = daemon_start("[helper]\nrate=100\n"
                                            "burst=300\n", -1);
    g_autoptr(Client) client = client_new(daemon->socket);
    gint64 start = g_get_monotonic_time();

    /* Two units each, so 100 more than can be saved up. */
    for (int i = 0; i < 200; i++) {
        g_assert_cmpint(client_prove(client, getpid()), ==, HELPER_OK);
    }
    g_assert_cmpint(g_get_monotonic_time() - start, >, 900000);
}

static void test_it_gives_up_rights(void)
{
    g_autoptr(Daemon) daemon = daemon_start(NULL, -1);
    /* Ready is said before the last of it, and nobody is served before. */
    g_autoptr(Client) client = client_new(daemon->socket);
    g_autofree char *permitted = daemon_status(daemon, "CapPrm");
    g_autofree char *bounding = daemon_status(daemon, "CapBnd");
    g_autofree char *inherited = daemon_status(daemon, "CapInh");
    g_autofree char *seccomp = daemon_status(daemon, "Seccomp");
    g_autofree char *no_new = daemon_status(daemon, "NoNewPrivs");
    g_autofree char *threads = daemon_status(daemon, "Threads");
    /* CAP_SETUID is 7, CAP_SYS_NICE 23. */
    guint64 two = 1ull << 7 | 1ull << 23;

    g_assert_cmpuint(g_ascii_strtoull(permitted, NULL, 16), ==,
                     geteuid() ? 0 : two);
    g_assert_cmpuint(g_ascii_strtoull(inherited, NULL, 16), ==, 0);
    g_assert_true(geteuid() || !g_ascii_strtoull(bounding, NULL, 16));
    g_assert_cmpstr(seccomp, ==, "2");
    g_assert_cmpstr(no_new, ==, "1");
    g_assert_cmpstr(threads, ==, "1");
}

static void test_socket_is_closed_to_others(void)
{
    g_autoptr(Daemon) daemon = daemon_start(NULL, -1);
    struct stat st;

    g_assert_cmpint(stat(daemon->socket, &st), ==, 0);
    g_assert_cmpint(st.st_mode & 0777, ==, 0660);
}

/* As libvirt's QEMU: another user, in the group of the socket or not. */
static void be_nobody(Other *parent, const void *data)
{
    const Daemon *daemon = data;
    gid_t gid = other_must_hear(parent);
    g_autofree char *last = list_of(own_last_cpu());
    g_autofree char *mask = NULL;
    Client client;

    g_assert_cmpint(setgroups(0, NULL), ==, 0);
    g_assert_cmpint(setresgid(gid, gid, gid), ==, 0);
    g_assert_cmpint(setresuid(NOBODY, NOBODY, NOBODY), ==, 0);
    other_tell(parent, -client_connect(&client, daemon->socket));
    if (client.fd < 0) {
        return;
    }
    g_assert_true(client_hear_hello(&client));
    g_assert_true(client_join(&client));
    other_tell(parent, client_set_cpus(&client, gettid(), last));
    mask = mask_of(gettid());
    other_tell(parent, g_str_equal(mask, last));
    other_tell(parent, client_set_cpus(&client, parent->pid, last));
}

static void test_other_users(void)
{
    Daemon *daemon;
    Other *other;

    if (geteuid()) {
        g_test_skip("needs root");
        return;
    }
    daemon = daemon_start(NULL, NOBODY);
    other = other_start(be_nobody, daemon);
    other_tell(other, NOBODY);
    g_assert_cmpint(other_must_hear(other), ==, 0);
    g_assert_cmpint(other_must_hear(other), ==, HELPER_OK);
    g_assert_true(other_must_hear(other));
    g_assert_cmpint(other_must_hear(other), ==, HELPER_NOT_YOURS);
    other_end(other);
    other = other_start(be_nobody, daemon);
    other_tell(other, NOBODY - 1);
    g_assert_cmpint(other_must_hear(other), ==, EACCES);
    other_end(other);
    daemon_free(daemon);
}

static void test_bad_options(void)
{
    g_autofree char *text = NULL;
    int status;

    text = daemon_fails(&status, "--no-such-option", NULL);
    g_assert_cmpint(status, ==, 2);
    g_clear_pointer(&text, g_free);
    text = daemon_fails(&status, "--socket", "here", NULL);
    g_assert_cmpint(status, ==, 1);
    g_assert_nonnull(strstr(text, "expected an absolute path"));
    g_clear_pointer(&text, g_free);
    text = daemon_fails(&status, "--config", "/nowhere", NULL);
    g_assert_cmpint(status, ==, 1);
    g_assert_nonnull(strstr(text, "/nowhere"));
    g_clear_pointer(&text, g_free);
    text = daemon_fails(&status, "--group", "no-such-group", NULL);
    g_assert_cmpint(status, ==, 1);
    g_assert_nonnull(strstr(text, "there is no such group"));
}

static void test_a_second_is_refused(void)
{
    g_autoptr(Daemon) daemon = daemon_start(NULL, -1);
    g_autofree char *text = NULL;
    g_autofree char *file = g_build_filename(daemon->dir, "file", NULL);
    int status;

    text = daemon_fails(&status, "--socket", daemon->socket, NULL);
    g_assert_cmpint(status, ==, 1);
    g_assert_nonnull(strstr(text, "already there"));
    g_clear_pointer(&text, g_free);
    /* What is no socket is nobody's to remove. */
    g_assert_true(g_file_set_contents(file, "precious", -1, NULL));
    text = daemon_fails(&status, "--socket", file, NULL);
    g_assert_cmpint(status, ==, 1);
    g_assert_true(g_file_test(file, G_FILE_TEST_EXISTS));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/helper/a-mask-is-set", test_mask_is_set);
    g_test_add_func("/helper/many-threads-in-one-request",
                    test_many_threads_in_one_request);
    g_test_add_func("/helper/the-administrator-limits-cpus",
                    test_administrator_limits_cpus);
    g_test_add_func("/helper/a-cpuset-is-not-left", test_cpuset_is_not_left);
    g_test_add_func("/helper/the-topology-is-the-hosts",
                    test_topology_is_the_hosts);
    g_test_add_func("/helper/load-is-told-in-steps", test_load_in_steps);
    g_test_add_func("/helper/load-can-be-denied", test_load_can_be_denied);
    g_test_add_func("/helper/claims-are-seen-by-others-until-the-end",
                    test_claims_are_seen_by_others);
    g_test_add_func("/helper/claims-need-threads", test_claims_need_threads);
    g_test_add_func("/helper/threads-have-a-limit", test_threads_have_a_limit);
    g_test_add_func("/helper/who-asks-too-much-waits", test_too_much_waits);
    g_test_add_func("/helper/it-gives-up-rights", test_it_gives_up_rights);
    g_test_add_func("/helper/its-socket-is-closed-to-others",
                    test_socket_is_closed_to_others);
    g_test_add_func("/helper/other-users-by-group", test_other_users);
    g_test_add_func("/helper/bad-options", test_bad_options);
    g_test_add_func("/helper/a-second-one-is-refused",
                    test_a_second_is_refused);
    return g_test_run();
}
