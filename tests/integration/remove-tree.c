/*
 * Remove a folder and what is in it
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "remove-tree.h"

#include <ftw.h>
#include <stdio.h>

#define OPEN_FOLDERS 16

static int remove_one(const char *path, const struct stat *st, int type,
                      struct FTW *ftw)
{
    return remove(path);
}

void remove_tree(const char *dir)
{
    nftw(dir, remove_one, OPEN_FOLDERS, FTW_DEPTH | FTW_PHYS);
}
