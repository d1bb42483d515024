/*
 * Random hosts, guests and loads, and the loop over them
 *
 * Random cases from a seed each; a failing case names its seed, and
 * LLCSCHED_TEST_SEED=N runs that one alone.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TESTS_UNIT_PLACEMENT_RANDOM_H
#define TESTS_UNIT_PLACEMENT_RANDOM_H

#include "placement-fixture.h"

int pick(GRand *rand, int low, int high); /* both included */
bool chance(GRand *rand, int one_in);

/* Take some of the candidates away, never all. */
void random_candidates(GRand *rand, Fixture *f);

/* All vCPUs present, all CPUs usable, no load; and anything that can be. */
Fixture *random_simple(GRand *rand);
Fixture *random_fixture(GRand *rand);

typedef void (*Property)(Fixture *f, GRand *rand);

/* Cases in which the property had something to say, or did not hold. */
extern unsigned applied, worse;

/* Check @property for many inputs; it must apply to one in fifty. */
void for_all(Fixture *(*make)(GRand *), Property property);

/* First thing after g_test_init(). */
void say_seed_of_failures(void);

#define PROPERTY(name, make, property)                        \
    static void name(void)                                    \
    {                                                         \
        for_all(make, property);                              \
    }

#endif
