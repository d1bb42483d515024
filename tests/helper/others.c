/*
 * Other processes and threads, for tests of who may do what to whom
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hw/sched/host-affinity.h"
#include "others.h"

Other *other_start(OtherBody *body, const void *data)
{
    Other *other = g_new0(Other, 1);
    int ends[2];

    g_assert_cmpint(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends),
                    ==, 0);
    other->pid = fork();
    g_assert_cmpint(other->pid, >=, 0);
    if (other->pid == 0) {
        Other parent = { .pid = getppid(), .fd = ends[1] };

        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(ends[0]);
        body(&parent, data);
        _exit(0);
    }
    close(ends[1]);
    other->fd = ends[0];
    return other;
}

void other_end(Other *other)
{
    kill(other->pid, SIGKILL);
    g_assert_cmpint(waitpid(other->pid, NULL, 0), ==, other->pid);
    close(other->fd);
    g_free(other);
}

void other_tell(Other *other, uint64_t number)
{
    g_assert_cmpint(send(other->fd, &number, sizeof(number), MSG_NOSIGNAL), ==,
                    sizeof(number));
}

bool other_hear(Other *other, uint64_t *ret_number)
{
    return recv(other->fd, ret_number, sizeof(*ret_number), MSG_WAITALL) ==
           sizeof(*ret_number);
}

uint64_t other_must_hear(Other *other)
{
    uint64_t number;

    g_assert_true(other_hear(other, &number));
    return number;
}

void other_idles(Other *parent, const void *data)
{
    uint64_t number;

    other_hear(parent, &number);
}

static gpointer work(gpointer opaque)
{
    Worker *worker = opaque;

    g_atomic_int_set(&worker->tid, gettid());
    g_mutex_lock(&worker->busy);
    g_mutex_unlock(&worker->busy);
    return NULL;
}

Worker *worker_start(void)
{
    Worker *worker = g_new0(Worker, 1);

    g_mutex_init(&worker->busy);
    g_mutex_lock(&worker->busy);
    worker->thread = g_thread_new("worker", work, worker);
    while (!g_atomic_int_get(&worker->tid)) {
        g_thread_yield();
    }
    return worker;
}

void worker_end(Worker *worker)
{
    g_mutex_unlock(&worker->busy);
    g_thread_join(worker->thread);
    g_mutex_clear(&worker->busy);
    g_free(worker);
}

static HostCpuSet mask_set_of(int tid)
{
    HostCpuSet mask;

    g_assert_cmpint(host_affinity_get(tid, &mask), ==, 0);
    return mask;
}

char *mask_of(int tid)
{
    HostCpuSet mask = mask_set_of(tid);

    return host_cpuset_to_list(&mask);
}

char *own_cpus(void)
{
    return mask_of(getpid());
}

int own_first_cpu(void)
{
    HostCpuSet mask = mask_set_of(getpid());

    return host_cpuset_next(&mask, 0);
}

int own_last_cpu(void)
{
    HostCpuSet mask = mask_set_of(getpid());
    int last = -1;

    HOST_CPUSET_FOREACH(cpu, &mask) {
        last = cpu;
    }
    return last;
}
