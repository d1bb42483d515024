/*
 * Neighbors that a test makes: processes that do nothing but run
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TESTS_LAB_LAB_CROWD_H
#define TESTS_LAB_LAB_CROWD_H

#include "lab-host.h"

/*
 * Forked processes that spin, one bound to each CPU of @cpus, until
 * lab_crowd_end(): GArray of pid_t.  They end with the program, too.
 */
GArray *lab_crowd_start(const LabHost *host, const char *cpus);
void lab_crowd_end(GArray *crowd);

#endif
