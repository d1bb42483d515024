/*
 * The host as the helper shows it: topology, and the load of whole LLCs
 *
 * The host is sampled once for all VMs.  What they are told changes once in
 * HOST_VIEW_INTERVAL_MS and only in steps, so that nobody can watch a
 * neighbor's work through it.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "host-view.h"

/* After a break that long, a mean says little of what runs now. */
#define WINDOW_MAX_NS 10000000000ll

struct HostView {
    char *root;
    char *online;             /* what tells that the topology may change */
    HostTopology *host;
    HostLoadSample *sample;   /* of the last look; NULL: none */
    HostLoad *load;           /* between the last two; NULL: not known */
    int64_t when_ns;          /* of the last look */
};

HostView *host_view_new(const char *root, GError **err)
{
    HostTopology *host = host_topology_read(root, err);
    HostView *view;

    if (!host) {
        return NULL;
    }
    view = g_new0(HostView, 1);
    view->root = g_strdup(root);
    view->host = host;
    view->online = host_topology_online_text(root);
    return view;
}

static void forget_load(HostView *view)
{
    g_clear_pointer(&view->sample, host_load_sample_free);
    g_clear_pointer(&view->load, host_load_free);
}

void host_view_free(HostView *view)
{
    if (view) {
        forget_load(view);
        host_topology_unref(view->host);
        g_free(view->online);
        g_free(view->root);
        g_free(view);
    }
}

HostTopology *host_view_topology(const HostView *view)
{
    return view->host;
}

static bool look_at_topology(HostView *view)
{
    g_autofree char *online = host_topology_online_text(view->root);
    g_autoptr(HostTopology) host = NULL;

    if (!g_strcmp0(online, view->online)) {
        return false;
    }
    host = host_topology_read(view->root, NULL);
    if (!host) {
        return false;         /* what was there is better than nothing */
    }
    g_free(view->online);
    view->online = g_steal_pointer(&online);
    if (host_topology_equal(host, view->host)) {
        return false;
    }
    host_topology_unref(view->host);
    view->host = g_steal_pointer(&host);
    return true;
}

bool host_view_look(HostView *view, int64_t now_ns)
{
    bool changed = look_at_topology(view);
    HostLoadSample *sample;

    if (changed || (view->sample &&
                    now_ns - view->sample->when_ns > WINDOW_MAX_NS)) {
        forget_load(view);
    }
    sample = host_load_sample(view->root, view->host->n_cpus, now_ns, NULL);
    g_clear_pointer(&view->load, host_load_free);
    if (view->sample) {
        view->load = host_load_between(view->host, view->sample, sample, NULL,
                                       NULL);
    }
    host_load_sample_free(view->sample);
    view->sample = sample;
    view->when_ns = now_ns;
    return changed;
}

/* To the nearest step. */
static uint16_t in_steps(unsigned per_mille)
{
    unsigned most = G_MAXUINT16 / HELPER_LOAD_STEP * HELPER_LOAD_STEP;

    return (MIN(per_mille, most) + HELPER_LOAD_STEP / 2) / HELPER_LOAD_STEP *
           HELPER_LOAD_STEP;
}

bool host_view_load(const HostView *view, int llc, int64_t now_ns,
                    HelperLlcLoad *ret_load, uint32_t *ret_age_ms)
{
    const LlcLoad *load;

    if (!view->load || view->load->source == HOST_LOAD_NONE) {
        return false;
    }
    load = &view->load->llcs[llc];
    ret_load->busy = in_steps(MIN(load->others_util, 1000));
    ret_load->waiting = in_steps(load->others_tasks);
    *ret_age_ms = MIN((now_ns - view->when_ns) / 1000000, G_MAXUINT32);
    return true;
}

HostCpuSet host_view_llcs_of(const HostTopology *host, const HostCpuSet *cpus)
{
    HostCpuSet llcs = { };

    for (int llc = 0; llc < MIN(host->n_llcs, HELPER_LLCS_MAX); llc++) {
        if (host_cpuset_intersects(&host->llcs[llc].cpus, cpus)) {
            host_cpuset_add(&llcs, llc);
        }
    }
    return llcs;
}
