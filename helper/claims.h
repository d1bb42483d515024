/*
 * Which VM means to use which last-level caches
 *
 * Pure.  A claim is what a VM plans to run on an LLC, in per mille of a CPU.
 * Nothing is given out exclusively: claims only let VMs that start together see
 * each other before their load does.  A VM plans by what it was told of the
 * others, and says with its claim which telling that was; if that has changed,
 * the claim is refused as stale, so two of them cannot both be the first.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef HELPER_CLAIMS_H
#define HELPER_CLAIMS_H

#include "hw/sched/helper-protocol.h"

typedef struct Claims Claims;

/* For the LLCs of @host, of which a reference is taken. */
Claims *claims_new(HostTopology *host);
void claims_free(Claims *claims); /* NULL is allowed */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Claims, claims_free)

/* The host's LLCs are others now: what is claimed of them stays. */
void claims_set_host(Claims *claims, HostTopology *host);

/*
 * What @owner is told of an LLC: claims of others, per mille of its CPUs,
 * rounded up to a step, so that the smallest is seen and none is known exactly.
 */
unsigned claims_by_others(const Claims *claims, uint64_t owner, int llc);

/*
 * Stands for all that @owner is told of the LLCs in @visible (a set of their
 * indexes): the same as long as that is.
 */
uint64_t claims_view(const Claims *claims, uint64_t owner,
                     const HostCpuSet *visible);

/*
 * @owner, with so many proven @threads, claims what @claim says in place of
 * what it claimed before.  Anything but HELPER_OK leaves that as it was.
 */
HelperStatus claims_take(Claims *claims, uint64_t owner,
                         const HelperClaim *claim, const HostCpuSet *visible,
                         unsigned threads);

/* @owner has no more than @threads now: what it claims shrinks to that. */
void claims_limit(Claims *claims, uint64_t owner, unsigned threads);

void claims_drop(Claims *claims, uint64_t owner);

#endif
