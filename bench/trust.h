/*
 * The parts of bench-trust: what keeping cookies apart costs
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef BENCH_TRUST_H
#define BENCH_TRUST_H

#include "rows.h"

typedef BenchRows TrustBench;

/* Two cookies that take turns on this machine. */
void trust_turns(TrustBench *trust);

/* What trust-load saw in the lab: spinning vCPUs, and short bursts. */
void trust_loads(TrustBench *trust);
void trust_bursts(TrustBench *trust);

#endif
