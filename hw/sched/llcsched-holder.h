/*
 * LLC-aware vCPU scheduler: the threads that keep cookies
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef HW_SCHED_LLCSCHED_HOLDER_H
#define HW_SCHED_LLCSCHED_HOLDER_H

#include "hw/sched/core-cookie.h"
#include "llcsched-types.h"

/*
 * The holder of @cookie: a thread that lives until the process ends, as does
 * what is returned.  It makes no cookie yet.  BQL held.
 */
LlcschedHolder *llcsched_holder_get(const char *cookie, CoreCookieCall *call,
                                    Error **errp);

/*
 * Read back the holder's cookie; make one if it has none, or not the one that
 * it made.  With @create false none is made.  One call at a time; it waits for
 * the holder's thread, which takes no lock of others.
 */
CoreCookie llcsched_holder_check(LlcschedHolder *holder, bool create);

int llcsched_holder_tid(const LlcschedHolder *holder);

/* What its cookie reads back as; 0: it has none.  From any thread. */
uint64_t llcsched_holder_hash(LlcschedHolder *holder);

/* Some holder of this process has that one.  BQL or lock held. */
bool llcsched_holder_made(uint64_t hash);

#endif
