/*
 * The numbers that a thread has, from its status file in /proc
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <glib.h>
#include <string.h>

#include "proc-text.h"

/* MAX_PID_NS_LEVEL of Linux' include/linux/pid_namespace.h, and our own. */
#define LEVELS_MAX 33

/*
 * The text behind "\nKEY:\t".  The first line is the name, in which the kernel
 * writes a newline as "\n", so no name can look like another line.
 */
static const char *field_of(const char *text, const char *key)
{
    g_autofree char *start = g_strdup_printf("\n%s:\t", key);
    const char *found = strstr(text, start);

    return found ? found + strlen(start) : NULL;
}

static bool parse_id(const char **text, uint32_t *ret_id)
{
    char *end;
    guint64 id;

    if (!*text || !g_ascii_isdigit(**text)) {
        return false;
    }
    id = g_ascii_strtoull(*text, &end, 10);
    if (id > G_MAXINT32) {
        return false;
    }
    *ret_id = id;
    *text = end;
    return true;
}

bool proc_text_ids(const char *text, ProcIds *ret_ids)
{
    const char *levels = field_of(text, "NSpid");
    const char *group = field_of(text, "Tgid");
    const char *parent = field_of(text, "PPid");
    ProcIds ids = { };

    if (!parse_id(&group, &ids.group) || !parse_id(&parent, &ids.parent)) {
        return false;
    }
    while (ids.depth < LEVELS_MAX && parse_id(&levels, &ids.inner)) {
        ids.depth++;
        if (*levels != '\t') {
            break;
        }
        levels++;
    }
    if (!ids.depth || *levels != '\n') {
        return false;
    }
    *ret_ids = ids;
    return true;
}
