/*
 * A QEMU with the test guest, for integration tests
 *
 * What goes wrong in here fails the test program, with QEMU's messages and
 * the guest's last lines: a test only checks what it is about.  Every wait is
 * for a condition and has a bound (LLCSCHED_TEST_PATIENCE, seconds, default
 * 60); nothing sleeps.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TESTS_INTEGRATION_VM_H
#define TESTS_INTEGRATION_VM_H

#include <glib.h>
#include <json-glib/json-glib.h>
#include <stdbool.h>
#include <sys/types.h>

typedef struct Vm Vm;

/* Zero or NULL: the default. */
typedef struct VmConfig {
    const char *machine;    /* pc */
    const char *smp;        /* 2 */
    const char *accel;      /* vm_accel(@uid) */
    const char *mode;       /* of the guest: spin */
    const char *args;       /* more arguments, quoted as for a shell */
    uid_t uid;              /* run as this user and nogroup; 0: as we are */
    bool daemonize;
    bool paused;            /* -S */
} VmConfig;

/*
 * First thing in main(): g_test_init(), and end the program with a skipped
 * plan if there is no QEMU at LLCSCHED_QEMU or no guest at LLCSCHED_GUEST.
 */
void vm_test_init(int *argc, char ***argv);

/* The accelerator of tests that need no hardware. */
#define VM_TCG "tcg,thread=multi"

/* "kvm" where @uid may open /dev/kvm, else VM_TCG; LLCSCHED_ACCEL overrides. */
const char *vm_accel(uid_t uid);

/* If @accel is "kvm" and does not work here: skip the test, and true. */
bool vm_skip_without_kvm(const char *accel);

/* A machine that tests start, with each accelerator. */
typedef struct VmPlatform {
    const char *machine;
    const char *accel;
} VmPlatform;

/*
 * Add @test, whose data is a VmPlatform, as PREFIX/MACHINE/ACCEL for each of
 * pc, q35 and, unless @plugs, microvm, which cannot plug vCPUs.
 */
void vm_add_platform_tests(const char *prefix, GTestDataFunc test, bool plugs);

typedef struct VmTest {
    const char *name;
    GTestDataFunc test;         /* its data is the accelerator */
} VmTest;

/* Add the @n @tests as PREFIX/kvm/NAME, and as PREFIX/tcg/NAME. */
void vm_add_accel_tests(const char *prefix, const VmTest *tests, guint n);

/*
 * Start QEMU and wait until QMP answers (and, without @paused, no longer: see
 * vm_wait_up()).  vm_free() kills and reaps it, whatever it does.
 */
Vm *vm_start(const VmConfig *config);
void vm_free(Vm *vm); /* NULL is allowed */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Vm, vm_free)

/*
 * Start a QEMU that must refuse @config and end by itself.  Its messages, for
 * the caller to free; @ret_status as waitpid() gives it.
 */
char *vm_start_refused(const VmConfig *config, int *ret_status);

pid_t vm_pid(const Vm *vm);

/* A folder of this VM's own that any user may read; gone after vm_free(). */
const char *vm_dir(const Vm *vm);

/* What QEMU wrote to stderr and stdout so far. */
char *vm_messages(const Vm *vm);

/* Wait until QEMU ends; its status as waitpid() gives it. */
int vm_wait_exit(Vm *vm);

/* Wait until @done(vm, opaque); @what says for what, if it never comes. */
typedef bool VmCondition(Vm *vm, void *opaque);
void vm_wait(Vm *vm, VmCondition *done, void *opaque, const char *what);

/* End the program with @format and what is known about @vm. */
void G_NORETURN vm_fail(Vm *vm, const char *format, ...) G_GNUC_PRINTF(2, 3);

/* --- QMP --- */

/*
 * Execute @command.  @arguments is a printf format for a JSON object, in which
 * ' stands for "; NULL: none.  The value of "return", for the caller to unref;
 * or NULL and @err with QEMU's description.
 */
JsonNode *vm_try_qmp(Vm *vm, GError **err, const char *command,
                     const char *arguments, ...) G_GNUC_PRINTF(4, 5);

/* The same for a command that must succeed. */
JsonNode *vm_qmp(Vm *vm, const char *command, const char *arguments, ...)
    G_GNUC_PRINTF(3, 4);

/* For one whose return value nobody needs. */
void vm_do(Vm *vm, const char *command, const char *arguments, ...)
    G_GNUC_PRINTF(3, 4);

/* For one that must fail: the description, for the caller to free. */
char *vm_qmp_refused(Vm *vm, const char *command, const char *arguments, ...)
    G_GNUC_PRINTF(3, 4);

/* What a line of the human monitor prints. */
char *vm_hmp(Vm *vm, const char *line);

/*
 * Wait for an event; its data (or NULL), for the caller to unref.  Earlier
 * events of other names are kept.
 */
JsonNode *vm_wait_event(Vm *vm, const char *name);

/* Forget all events so far, so that only a new one is waited for. */
void vm_forget_events(Vm *vm);

/* Migrate to @to, which was started with "-incoming defer" and runs then. */
void vm_migrate(Vm *from, Vm *to);

/* Plug the vCPU of @socket; the guest is not told. */
void vm_plug(Vm *vm, int socket);

/* Unplug it; the guest lets it go. */
void vm_unplug(Vm *vm);

/*
 * Snapshots, in a disk that no device has: to be added once, with the VM
 * running or not.
 */
void vm_add_snapshot_disk(Vm *vm);
void vm_savevm(Vm *vm, const char *name);
void vm_loadvm(Vm *vm, const char *name);

/*
 * After vm_loadvm(), once the guest runs: a snapshot may be of a guest in the
 * middle of a report, which goes on there.
 */
void vm_drop_cut_line(Vm *vm);

/* Thread ids of the vCPUs in the order of their indexes: GArray of int. */
GArray *vm_vcpu_threads(Vm *vm);

/* --- The guest (tests/guest/README.md) --- */

/* Wait until it said that @n vCPUs are up. */
void vm_wait_up(Vm *vm, int n);

/*
 * Wait for a line that begins with "llcsched-guest: @start"; the rest of it,
 * for the caller to free.  Lines before it are dropped.
 */
char *vm_wait_line(Vm *vm, const char *start);

/* Send it a letter. */
void vm_send(Vm *vm, char letter);

/* The counters of its vCPUs now: GArray of guint32. */
GArray *vm_counters(Vm *vm);

/* Wait until the counters of all vCPUs, of which there are @n, moved. */
void vm_wait_all_move(Vm *vm, int n);

/* --- Threads, as another program sees them --- */

/*
 * The online CPUs that the kernel lets @tid use, as a list for the caller to
 * free; NULL: it is gone.
 */
char *thread_mask(int tid);

/* What taskset does: 0 or errno. */
int thread_set_mask(int tid, const char *cpus);

#endif
