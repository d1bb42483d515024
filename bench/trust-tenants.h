/*
 * Two VMs in a lab host that must not share a core, and who sees to that
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef BENCH_TRUST_TENANTS_H
#define BENCH_TRUST_TENANTS_H

#include "core-time.h"
#include "guest-sample.h"
#include "trust-sides.h"
#include "tests/lab/lab-host.h"

typedef struct Tenants {
    LabHost *host;
    GuestVm guests[CORE_TIME_TENANTS];
    GHashTable *of_thread;  /* thread id to 1 or 2 */
} Tenants;

/* Start both, each with @n_vcpus in @mode. */
void tenants_start(Tenants *tenants, LabHost *host, const char *mode,
                   int n_vcpus);
void tenants_end(Tenants *tenants);

/* Let @side keep them apart, and wait until it does; and no longer. */
void tenants_enter(Tenants *tenants, TrustSide side);
void tenants_leave(Tenants *tenants, TrustSide side);

/* What a window showed. */
typedef struct TenantsTime {
    CoreTime time;
    double wall_ns, core_ns;    /* the latter of all cores */
    /* says the kernel, on average: */
    double forced;              /* siblings that stood idle by force */
    double waiting;             /* vCPUs that waited for a CPU */
} TenantsTime;

TenantsTime tenants_measure(const Tenants *tenants, int ms);

#endif
