/*
 * The host as the helper shows it: topology, and the load of whole LLCs
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef HELPER_HOST_VIEW_H
#define HELPER_HOST_VIEW_H

#include "hw/sched/helper-protocol.h"
#include "hw/sched/host-load.h"

/* How often the host is looked at, while somebody is there to be told. */
#define HOST_VIEW_INTERVAL_MS 1000

typedef struct HostView HostView;

/* Of the host below @root ("": the running one). */
HostView *host_view_new(const char *root, GError **err);
void host_view_free(HostView *view); /* NULL is allowed */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(HostView, host_view_free)

/* As of the last look.  Owned by @view. */
HostTopology *host_view_topology(const HostView *view);

/*
 * Look at the host.  True: its CPUs changed, and the topology is another one.
 * Too long after the last look, the load is unknown until the next.
 */
bool host_view_look(HostView *view, int64_t now_ns);

/*
 * The load of @llc between the last two looks, in steps; @ret_age_ms: how old
 * that is.  False, outputs untouched: not known.
 */
bool host_view_load(const HostView *view, int llc, int64_t now_ns,
                    HelperLlcLoad *ret_load, uint32_t *ret_age_ms);

/* The LLCs with a CPU in @cpus, as a set of indexes. */
HostCpuSet host_view_llcs_of(const HostTopology *host, const HostCpuSet *cpus);

#endif
