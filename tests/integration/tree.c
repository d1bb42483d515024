/*
 * A host that is not this one, as a sysfs tree in a folder of its own
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "tree.h"
#include "remove-tree.h"

#include "hw/sched/host-description.h"

#include <string.h>
#include <sys/stat.h>

HostTree *host_tree_new(const char *description)
{
    HostTree *tree = g_new0(HostTree, 1);
    g_autoptr(HostDescription) parsed = NULL;
    g_autoptr(GError) err = NULL;

    parsed = host_description_parse(description, strlen(description), &err);
    g_assert_no_error(err);
    tree->dir = g_dir_make_tmp("llcsched-host-XXXXXX", &err);
    g_assert_no_error(err);
    g_assert_cmpint(chmod(tree->dir, 0755), ==, 0);
    host_description_build(parsed, tree->dir, &err);
    g_assert_no_error(err);
    return tree;
}

void host_tree_free(HostTree *tree)
{
    if (tree) {
        remove_tree(tree->dir);
        g_free(tree->dir);
        g_free(tree);
    }
}
