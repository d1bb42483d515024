/*
 * Cookies that take turns: what the guest sees of it, and what the query says
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TESTS_INTEGRATION_VM_TURNS_H
#define TESTS_INTEGRATION_VM_TURNS_H

#include "vm-sched.h"

/*
 * Of all vCPUs of a guest that "meets" or "naps", since it started: how often
 * one looked at its partner, and saw it run.
 */
typedef struct TurnsSight {
    guint64 looks, meets;
} TurnsSight;

TurnsSight turns_sight(Vm *vm);

/* Wait until there were that many looks; the meetings in all so far. */
guint64 turns_meets_after(Vm *vm, guint64 looks);

/* Wait until partners met that often. */
void turns_wait_meets(Vm *vm, guint64 meets);

/* The query, for the caller to unref; @ret_turns is its "cookie-turns". */
JsonNode *turns_query(Vm *vm, JsonArray **ret_turns);

/* What it has of @cookie, which must take turns. */
gint64 turns_int(Vm *vm, gint64 cookie, const char *member);

/* The same of all cookies together. */
gint64 turns_sum(Vm *vm, const char *member);

#endif
