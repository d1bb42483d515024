/*
 * What the parts of the VM harness share
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TESTS_INTEGRATION_VM_INTERNAL_H
#define TESTS_INTEGRATION_VM_INTERNAL_H

#include "line-channel.h"
#include "vm.h"

struct Vm {
    pid_t pid;              /* 0 once reaped */
    int status;             /* then: as waitpid() gives it */
    char *dir;              /* holds the file of messages, and the test's */
    LineChannel qmp;
    LineChannel serial;
    GQueue events;          /* of JsonNode *, objects, oldest first */
    int guard;              /* closing it kills a daemon; or -1 */
    GPid guard_pid;
};

/* Monotonic time by which a wait that begins now must be over. */
gint64 vm_deadline(void);

/*
 * Wait until QEMU says something on either channel, ends, or @ms passed; take
 * in what it said.  Fails the program when @deadline is over: @what is what
 * was waited for.
 */
void vm_poll(Vm *vm, int ms, gint64 deadline, const char *what);

/* Reap it if it ended. */
bool vm_ended(Vm *vm);

/* Take the greeting and leave negotiation. */
void vm_qmp_open(Vm *vm);

#endif
