/*
 * What the two halves of the description parser share
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef HW_SCHED_CORE_HOST_DESCRIPTION_PARSE_H
#define HW_SCHED_CORE_HOST_DESCRIPTION_PARSE_H

#include "host-description-int.h"

/* Levels by types that a `cache` line can name. */
#define CACHE_SLOTS (10 * 3)

typedef struct Parser {
    HostDescription *desc;
    int line;
    char **words;        /* of the line; words[0] is the key */
    int n_words;
    GError **err;
    bool seen_cpus, seen_online;
    HostCpuSet in_core, in_package, in_node, in_capacity, in_kind;
    HostCpuSet *in_cache[CACHE_SLOTS];
} Parser;

/* Take the line in p->words into p->desc. */
bool description_parse_line(Parser *p);

#endif
