/*
 * A QEMU with llcsched inside a lab host
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TESTS_LAB_LAB_VM_H
#define TESTS_LAB_LAB_VM_H

#include "vm-sched.h"

/* As vm_test_init(), and /dev/kvm must open: that is what the lab is for. */
void lab_vm_test_init(int *argc, char ***argv);

/*
 * Start a guest with @smp that halts, with an llcsched object that looks ten
 * times a second and never minds what others run, since all of the lab's CPUs
 * are busy with starting QEMU.  @object: more of the object's options, each
 * with a comma before it; @args: more arguments.
 */
Vm *lab_vm_start(const char *smp, const char *object, const char *args);

/* The thread of a vCPU, by its place among those that are there. */
int lab_vcpu_tid(Vm *vm, int index);

/* What the kernel shows for the cookie of a thread, or of a vCPU's. */
guint64 lab_cookie_of(int tid);
guint64 lab_vcpu_cookie(Vm *vm, int index);

#endif
