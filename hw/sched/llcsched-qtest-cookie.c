/*
 * LLC-aware vCPU scheduler: under qtest, core scheduling as a file tells it
 *
 * The file core-sched in the host's tree.  Without it, this is a kernel without
 * core scheduling.  Its lines:
 *   errno VERB NUMBER  what get, create or share-from fail with
 *   inherited HASH     threads have this cookie at first
 *   set TID HASH       somebody gives thread TID this cookie; done once, when
 *                      the file has changed
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include <sys/prctl.h>
#include "llcsched-internal.h"

static struct {
    char *path;
    char *text;                 /* of the file, as it was last */
    int fail[PR_SCHED_CORE_SHARE_FROM + 1];
    uint64_t inherited, last;
    GHashTable *hashes;         /* thread id -> hash */
} kernel;
static GMutex kernel_lock;      /* guards all of it */

void llcsched_qtest_cookie_init(const char *root)
{
    g_mutex_lock(&kernel_lock);
    g_free(kernel.path);
    kernel.path = g_strconcat(root, "/core-sched", NULL);
    g_clear_pointer(&kernel.text, g_free);
    if (!kernel.hashes) {
        kernel.hashes = g_hash_table_new(NULL, NULL);
        kernel.last = 0x1000;
    }
    g_mutex_unlock(&kernel_lock);
}

static void llcsched_qtest_put(int tid, uint64_t hash)
{
    g_hash_table_insert(kernel.hashes, GINT_TO_POINTER(tid),
                        (gpointer)(uintptr_t)hash);
}

static uint64_t llcsched_qtest_hash(int tid)
{
    gpointer hash;

    return g_hash_table_lookup_extended(kernel.hashes, GINT_TO_POINTER(tid),
                                        NULL, &hash)
           ? (uintptr_t)hash : kernel.inherited;
}

static void llcsched_qtest_line(const char *line)
{
    static const char *const verbs[] = {
        [PR_SCHED_CORE_GET] = "get",
        [PR_SCHED_CORE_CREATE] = "create",
        [PR_SCHED_CORE_SHARE_FROM] = "share-from",
    };
    char verb[16];
    int number;
    uint64_t hash;

    if (sscanf(line, "errno %15s %d", verb, &number) == 2) {
        for (int i = 0; i < ARRAY_SIZE(verbs); i++) {
            if (g_strcmp0(verbs[i], verb) == 0) {
                kernel.fail[i] = number;
            }
        }
    } else if (sscanf(line, "set %d %" SCNx64, &number, &hash) == 2) {
        llcsched_qtest_put(number, hash);
    } else if (sscanf(line, "inherited %" SCNx64, &hash) == 1) {
        kernel.inherited = hash;
    }
}

/* Do what the file says, if it says something new; false: there is none. */
static bool llcsched_qtest_read(void)
{
    g_autofree char *text = NULL;
    g_auto(GStrv) lines = NULL;

    if (!kernel.path || !g_file_get_contents(kernel.path, &text, NULL, NULL)) {
        return false;
    }
    if (g_strcmp0(text, kernel.text) == 0) {
        return true;
    }
    memset(kernel.fail, 0, sizeof(kernel.fail));
    lines = g_strsplit(text, "\n", -1);
    for (char **line = lines; *line; line++) {
        llcsched_qtest_line(*line);
    }
    g_free(kernel.text);
    kernel.text = g_steal_pointer(&text);
    return true;
}

static int llcsched_qtest_do(unsigned long cmd, int tid, uint64_t *ret_hash)
{
    int self = qemu_get_thread_id();

    if (!llcsched_qtest_read()) {
        return -EINVAL;
    }
    if (kernel.fail[cmd]) {
        return -kernel.fail[cmd];
    }
    switch (cmd) {
    case PR_SCHED_CORE_GET:
        *ret_hash = llcsched_qtest_hash(tid ? tid : self);
        break;
    case PR_SCHED_CORE_CREATE:
        llcsched_qtest_put(self, ++kernel.last);
        break;
    default:
        llcsched_qtest_put(self, llcsched_qtest_hash(tid));
        break;
    }
    return 0;
}

int llcsched_qtest_cookie(unsigned long cmd, int tid, uint64_t *ret_hash)
{
    int ret;

    g_mutex_lock(&kernel_lock);
    ret = llcsched_qtest_do(cmd, tid, ret_hash);
    g_mutex_unlock(&kernel_lock);
    return ret;
}
