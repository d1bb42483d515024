/*
 * What the tests of llcsched ask of QEMU
 *
 * Under qtest the masks of vCPU threads are kept in memory, every online CPU
 * of the tree may be used, and looks are turned by the virtual clock.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TESTS_QTEST_LLCSCHED_UTIL_H
#define TESTS_QTEST_LLCSCHED_UTIL_H

#include "libqtest.h"
#include "llcsched-tree.h"
#include "qobject/qdict.h"

#define MS 1000000ll
#define SECOND (1000 * MS)

/* The first look that knows the load comes this long after the start. */
#define SETTLE (150 * MS)

#define TWO_GROUPS "-smp 4,sockets=2,cores=2"

/* Abort, so that QEMU and trees go, too (after g_error() they would not). */
G_NORETURN void G_GNUC_PRINTF(1, 2) fail(const char *fmt, ...);

/* A VM with an object sched0, with @options, that takes @tree for its host. */
QTestState *start(const LlcschedTree *tree, const char *args,
                  const char *options);
QTestState *start_without_object(const char *args);

/* The only element of what @command returns; NULL: the list is empty. */
QDict *query_one(QTestState *qts, const char *command);

/* From query-llcsched: all, a number, and row @n of @list. */
QDict *query(QTestState *qts);
int64_t query_int(QTestState *qts, const char *field);
const QDict *nth(const QDict *info, const char *list, int n);

/* Take @reply.  An error must have all of @words, which are parted by '|'. */
void assert_error(QDict *reply, const char *words);
void assert_success(QDict *reply);

/* Add sched0.  @name: NULL, or a property that gets @json. */
QDict *object_add(QTestState *qts, const char *root, const char *name,
                  const char *json);
void object_del(QTestState *qts);
QDict *qom_set(QTestState *qts, const char *name, const char *json);
void replan(QTestState *qts);
void run_command(QTestState *qts, const char *command);

/* A letter for each vCPU: those with the same mask have the same. */
char *letters_of(const QDict *info, const char *mask_field);

/*
 * Which of several equal LLCs is taken is no matter here, so masks are letters:
 * "AABB" are two vCPUs with one mask and two with another, of @width CPUs each.
 */
void assert_placed(QTestState *qts, const char *verdict, const char *letters,
                   int width);
void assert_mask(QTestState *qts, int vcpu, const char *mask);
void assert_field(QTestState *qts, const char *field, const char *text);

/*
 * Start QEMU with @args, without qtest: it must end with status 1 and a
 * message that has all of @words.
 */
void assert_start_refused(const char *args, const char *words);

/* Add group @id with the members @json: "'quota-us': 5000", or "". */
QDict *group_add(QTestState *qts, const char *id, const char *json);

/* Delete an object of any type. */
QDict *delete_object(QTestState *qts, const char *id);

/* Members @json besides the id: "'quota-us': 0", or "". */
QDict *set_limits(QTestState *qts, const char *id, const char *json);

/* What query-llcsched says of group @id; NULL: there is none. */
QDict *group_query(QTestState *qts, const char *id);
int64_t group_int(QTestState *qts, const char *id, const char *field);
bool group_bool(QTestState *qts, const char *id, const char *field);

/* NULL: the member is absent. */
char *group_text(QTestState *qts, const char *id, const char *field);

/* A test, and what follows "/SUITE/" in its path. */
typedef struct TestCase {
    const char *name;
    void (*test)(void);
} TestCase;

void add_tests(const char *suite, const TestCase *tests, int n);

/*
 * Add @test for each of the @n elements of an array, which are @size bytes
 * long and start with their name, a const char *.
 */
void add_data_tests(const char *suite, const void *cases, int n, size_t size,
                    void (*test)(const void *data));

/* Plug a vCPU, and wait until @n are there, and placed. */
void plug(QTestState *qts, int socket, int core);
void wait_for_vcpus(QTestState *qts, int n);

/* To plug: vCPU 0 is there, 1 is socket 0, core 1, then follows socket 1. */
#define ROOM_TO_PLUG "-cpu qemu64 -smp 1,maxcpus=4,sockets=2,cores=2"

#endif
