/*
 * The tree of a made-up host for the tests of llcsched: sys and proc in a
 * folder of their own
 *
 * CPUs are numbered through LLC by LLC, core by core, thread by thread.  Load
 * is what a test says: it adds to /proc/stat and /proc/schedstat what others
 * ran and waited.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TESTS_QTEST_LLCSCHED_TREE_H
#define TESTS_QTEST_LLCSCHED_TREE_H

#define TREE_LLCS_MAX 8
#define TREE_CPUS "sys/devices/system/cpu"
#define TREE_NODES "sys/devices/system/node"

typedef struct LlcschedTree {
    char *path;
    int llcs, nodes;
    int per_llc;                        /* CPUs */
    uint64_t run_ms[TREE_LLCS_MAX];     /* of each CPU of the LLC */
    uint64_t wait_ms[TREE_LLCS_MAX];
    bool schedstat;                     /* else only /proc/stat */
} LlcschedTree;

/* An idle host of @nodes with @llcs in all; and a folder with nothing in it. */
LlcschedTree *tree_new(int nodes, int llcs, int cores, int threads);
LlcschedTree *tree_new_empty(void);

/* Takes the folder away, too; so does a failing assertion. */
void tree_free(LlcschedTree *tree);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(LlcschedTree, tree_free)

/* Write a file, and one in the folder of @cpu. */
void G_GNUC_PRINTF(3, 4) tree_put(const LlcschedTree *tree, const char *file,
                                  const char *fmt, ...);
void tree_put_cpu(const LlcschedTree *tree, int cpu, const char *file,
                  const char *text);

/* A CPU runs or is idle; what waits is in schedstat alone. */
void tree_put_load(const LlcschedTree *tree);

/* Others run and wait that long on each CPU of @llc. */
void tree_run(LlcschedTree *tree, int llc, int run_ms, int wait_ms);

#endif
