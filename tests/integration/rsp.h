/*
 * A debugger that knows four commands of GDB's remote serial protocol
 *
 * Like the harness (vm.h), it fails the test program when QEMU does not do
 * what it must, and waits no longer than that does.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TESTS_INTEGRATION_RSP_H
#define TESTS_INTEGRATION_RSP_H

#include "vm.h"

typedef struct Rsp Rsp;

/* For QEMU's command line, where the debugger is to connect to @path. */
char *rsp_args(const char *path);

/* Connect: QEMU stops the guest. */
Rsp *rsp_connect(Vm *vm, const char *path);
void rsp_free(Rsp *rsp);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Rsp, rsp_free)

/* Interrupt the guest, and wait until it has stopped. */
void rsp_interrupt(Rsp *rsp);

/* The registers of the current vCPU, in hex digits; the caller frees them. */
char *rsp_registers(Rsp *rsp);

/* Let the guest go on, and go on without a debugger. */
void rsp_continue(Rsp *rsp);
void rsp_detach(Rsp *rsp);

#endif
