/*
 * Remove a folder and what is in it
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TESTS_INTEGRATION_REMOVE_TREE_H
#define TESTS_INTEGRATION_REMOVE_TREE_H

/* Remove @dir and all below it; symbolic links are not followed. */
void remove_tree(const char *dir);

#endif
