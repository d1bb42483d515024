/*
 * Other processes and threads, for tests of who may do what to whom
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TESTS_HELPER_OTHERS_H
#define TESTS_HELPER_OTHERS_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* A child of the test that runs a function; each side tells numbers. */
typedef struct Other {
    pid_t pid;
    int fd;
} Other;

/* @parent: for other_tell() and other_hear().  It ends with the function. */
typedef void OtherBody(Other *parent, const void *data);

Other *other_start(OtherBody *body, const void *data);
void other_end(Other *other); /* kills it, if it has not ended */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Other, other_end)

void other_tell(Other *other, uint64_t number);
/* False: it has ended. */
bool other_hear(Other *other, uint64_t *ret_number);
/* The test fails if it has ended. */
uint64_t other_must_hear(Other *other);

/* Waits until it is told something, or is killed. */
void other_idles(Other *parent, const void *data);

/* A thread of this process that waits to be ended. */
typedef struct Worker {
    GThread *thread;
    GMutex busy;
    int tid;
} Worker;

Worker *worker_start(void);
void worker_end(Worker *worker);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Worker, worker_end)

/* The mask of a thread as a list of CPUs, for the caller to free. */
char *mask_of(int tid);

/* The CPUs that this process may use, and the first and last of them. */
char *own_cpus(void);
int own_first_cpu(void);
int own_last_cpu(void);

#endif
