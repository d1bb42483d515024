/*
 * The numbers that a thread has, from its status file in /proc
 *
 * Pure: the text is handed in.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef HELPER_PROC_TEXT_H
#define HELPER_PROC_TEXT_H

#include <stdbool.h>
#include <stdint.h>

typedef struct ProcIds {
    unsigned depth;          /* PID namespaces from ours to its own; 1: ours */
    uint32_t inner;          /* its number in its own */
    uint32_t group;          /* of the process it is a thread of, in ours */
    uint32_t parent;         /* of the process that made that; 0: unknown */
} ProcIds;

/* From a status file.  False, with @ret_ids untouched, on anything else. */
bool proc_text_ids(const char *text, ProcIds *ret_ids);

#endif
