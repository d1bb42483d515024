/*
 * Trees that look like /sys, for tests
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TESTS_UNIT_HOST_TREE_H
#define TESTS_UNIT_HOST_TREE_H

#include "hw/sched/host-description.h"

/* A new empty folder, in memory where /dev/shm is there. */
char *host_tree_new(void);

/* Remove a folder and all in it, and free its name. */
void host_tree_free(char *dir);

/* The tree of a description's text, which must be good. */
char *host_tree_build(const char *text);

/* The tree of @name.host in tests/hosts. */
char *host_tree_build_file(const char *name);

/* The topology of a tree, which must be readable. */
HostTopology *host_tree_read(const char *dir);

/* The topology of a description's text. */
HostTopology *host_tree_topology(const char *text);

/* Write @len bytes (-1: a string) to @dir/sys/devices/system/@path. */
void host_tree_put(const char *dir, const char *path, const char *data,
                   gssize len);

/* Write a string to @dir/@path. */
void host_tree_put_text(const char *dir, const char *path, const char *text);

/* Remove @dir/sys/devices/system/@path, a file or a folder. */
void host_tree_remove(const char *dir, const char *path);

/* The paths of all regular files in @dir, sorted, relative to it. */
GPtrArray *host_tree_files(const char *dir);

/* The names of tests/hosts/ files, sorted, with no suffix. */
GPtrArray *host_tree_hosts(void);

char *host_tree_host_path(const char *name);

/*
 * The dump @file of the folder with real machines' trees, unpacked into a new
 * folder: its root.  NULL, with @ret_why, where the folder is not there.
 */
char *host_tree_unpack(const char *file, char **ret_dir, const char **ret_why);

/* The CPUs as text are @cpus; the message names @what. */
void host_tree_assert_cpus(const HostCpuSet *set, const char *cpus);

/* What holds for every snapshot, however bad the tree was. */
void host_tree_assert_sound(const HostTopology *host);

/* Some note contains @text. */
bool host_tree_has_note(const HostTopology *host, const char *text);

#endif
