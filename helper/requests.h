/*
 * What the helper does for whom: a request in, an answer out
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef HELPER_REQUESTS_H
#define HELPER_REQUESTS_H

#include "connection.h"

typedef struct Answer {
    HelperKind kind;
    GVariant *body;          /* floating */
    unsigned cost;           /* units of the process's budget */
    bool mapped, pruned;     /* all threads were looked at: once is enough */
} Answer;

/*
 * Do what @message asks.  False and @err: it is against the protocol, and the
 * connection has to end; @ret_answer then holds the cost alone.
 */
bool requests_answer(Connection *connection, const HelperMessage *message,
                     Answer *ret_answer, GError **err);

#endif
