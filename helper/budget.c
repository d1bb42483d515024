/*
 * How many requests a process may still make: a rate with something saved up
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <glib.h>

#include "budget.h"

#define NS_PER_S 1000000000ll

void budget_charge(Budget *budget, const BudgetRules *rules, int64_t now_ns,
                   unsigned units)
{
    budget->paid_ns = MAX(budget->paid_ns, now_ns) +
                      units * NS_PER_S / rules->rate;
}

int64_t budget_wait_ns(const Budget *budget, const BudgetRules *rules,
                       int64_t now_ns)
{
    int64_t saved_ns = rules->burst * NS_PER_S / rules->rate;

    return MAX(0, budget->paid_ns - now_ns - saved_ns);
}

bool budget_full(const Budget *budget, int64_t now_ns)
{
    return budget->paid_ns <= now_ns;
}
