/*
 * Which host CPUs a VM may use at all
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "hw/sched/placement.h"

GQuark placement_error_quark(void)
{
    return g_quark_from_static_string("placement-error-quark");
}

/* CPUs that the user names must exist and run: a typing error else. */
static bool check_named(const HostTopology *host, const HostCpuSet *cpus,
                        GError **err)
{
    HostCpuSet wrong = *cpus;
    g_autofree char *list = NULL;
    g_autofree char *good = NULL;

    host_cpuset_andnot(&wrong, &host->possible);
    if (!host_cpuset_empty(&wrong)) {
        list = host_cpuset_to_list(&wrong);
        good = host_cpuset_to_list(&host->possible);
        g_set_error(err, PLACEMENT_ERROR, PLACEMENT_ERROR_CPU_RANGE,
                    "cpus: CPU %s does not exist; this host has %s", list,
                    good);
        return false;
    }
    wrong = *cpus;
    host_cpuset_andnot(&wrong, &host->online);
    if (!host_cpuset_empty(&wrong)) {
        list = host_cpuset_to_list(&wrong);
        good = host_cpuset_to_list(&host->online);
        g_set_error(err, PLACEMENT_ERROR, PLACEMENT_ERROR_CPU_OFFLINE,
                    "cpus: CPU %s is offline; bring it online or use %s", list,
                    good);
        return false;
    }
    return true;
}

static void set_empty_error(const HostTopology *host,
                            const HostCpuSet *allowed, const HostCpuSet *cpus,
                            GError **err)
{
    g_autofree char *allowed_list = host_cpuset_to_list(allowed);
    HostCpuSet usable = *allowed;
    g_autofree char *usable_list = NULL;
    g_autofree char *cpus_list = NULL;

    host_cpuset_and(&usable, &host->online);
    usable_list = host_cpuset_to_list(&usable);
    if (cpus && host_cpuset_empty(cpus)) {
        g_set_error(err, PLACEMENT_ERROR, PLACEMENT_ERROR_EMPTY,
                    "cpus: the list is empty; name some of %s", usable_list);
    } else if (host_cpuset_empty(&usable)) {
        g_set_error(err, PLACEMENT_ERROR, PLACEMENT_ERROR_EMPTY,
                    "none of the CPUs that this process may use ('%s') is "
                    "online; widen its affinity or cpuset", allowed_list);
    } else if (cpus) {
        cpus_list = host_cpuset_to_list(cpus);
        g_set_error(err, PLACEMENT_ERROR, PLACEMENT_ERROR_EMPTY,
                    "cpus: this process may use none of %s; name some of %s "
                    "or widen its affinity or cpuset", cpus_list, usable_list);
    } else {
        g_set_error(err, PLACEMENT_ERROR, PLACEMENT_ERROR_EMPTY,
                    "all CPUs that this process may use (%s) are isolated; "
                    "name those to use in cpus", usable_list);
    }
}

bool placement_candidates(const HostTopology *host, const HostCpuSet *allowed,
                          const HostCpuSet *cpus, HostCpuSet *ret_candidates,
                          bool *ret_uses_isolated, GError **err)
{
    HostCpuSet set = *allowed;

    if (cpus && !check_named(host, cpus, err)) {
        return false;
    }
    host_cpuset_and(&set, &host->online);
    if (cpus) {
        host_cpuset_and(&set, cpus);
    } else {
        host_cpuset_andnot(&set, &host->isolated);
    }
    if (host_cpuset_empty(&set)) {
        set_empty_error(host, allowed, cpus, err);
        return false;
    }
    *ret_candidates = set;
    *ret_uses_isolated = host_cpuset_intersects(&set, &host->isolated);
    return true;
}
