/*
 * A host that is not this one, as a sysfs tree in a folder of its own
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TESTS_INTEGRATION_TREE_H
#define TESTS_INTEGRATION_TREE_H

#include <glib.h>

typedef struct HostTree {
    char *dir;      /* for x-sysfs-root; any user may read it */
} HostTree;

/*
 * Build the tree of @description (tests/hosts/README.md); fails the program
 * if that is none.
 */
HostTree *host_tree_new(const char *description);
void host_tree_free(HostTree *tree); /* removes the folder */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(HostTree, host_tree_free)

#endif
