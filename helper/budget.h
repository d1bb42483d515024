/*
 * How many requests a process may still make: a rate with something saved up
 *
 * Pure: the clock is passed in.  Costs are settled after the work, so a budget
 * can be in debt; then nothing more is read from the process until it is paid.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef HELPER_BUDGET_H
#define HELPER_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

typedef struct BudgetRules {
    unsigned rate;           /* units a second, 1 or more */
    unsigned burst;          /* units that can be saved up, 1 or more */
} BudgetRules;

/*
 * All zero: everything saved up.  The whole state is when all that was charged
 * is paid for, as in the generic cell rate algorithm (ITU-T I.371).
 */
typedef struct Budget {
    int64_t paid_ns;
} Budget;

void budget_charge(Budget *budget, const BudgetRules *rules, int64_t now_ns,
                   unsigned units);

/* How long until there is something to spend again; 0: there is. */
int64_t budget_wait_ns(const Budget *budget, const BudgetRules *rules,
                       int64_t now_ns);

/* Nothing is owed: as good as a new one. */
bool budget_full(const Budget *budget, int64_t now_ns);

#endif
