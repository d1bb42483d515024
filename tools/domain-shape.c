/*
 * Which sockets, dies, cores and threads of a guest suit a host's LLCs
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "domain-shape.h"
#include "hw/sched/placement.h"

static void node_free(void *data)
{
    ShapeNode *node = data;

    g_array_unref(node->llcs);
    g_free(node);
}

void shape_host_free(ShapeHost *host)
{
    if (host) {
        g_ptr_array_unref(host->nodes);
        g_free(host);
    }
}

static ShapeNode *find_node(ShapeHost *shape, int id)
{
    ShapeNode *node;

    for (guint i = 0; i < shape->nodes->len; i++) {
        node = shape->nodes->pdata[i];
        if (node->id == id) {
            return node;
        }
    }
    node = g_new0(ShapeNode, 1);
    node->id = id;
    node->llcs = g_array_new(FALSE, FALSE, sizeof(int));
    g_ptr_array_add(shape->nodes, node);
    return node;
}

static gint compare_most_first(const void *a, const void *b)
{
    return *(const int *)b - *(const int *)a;
}

static gint compare_nodes(const void *a, const void *b)
{
    const ShapeNode *x = *(ShapeNode *const *)a, *y = *(ShapeNode *const *)b;

    return x->cores != y->cores ? y->cores - x->cores : x->id - y->id;
}

static void count_threads(ShapeHost *shape, const HostTopology *host)
{
    for (int i = 0; i < host->n_cores; i++) {
        int threads = host_cpuset_count_and(&host->cores[i].cpus,
                                            &shape->cpus);

        if (threads && !shape->threads) {
            shape->threads = threads;
        }
        shape->unequal |= threads && threads != shape->threads;
    }
    if (shape->unequal) {
        shape->threads = 1;
    }
}

static void count_cores(ShapeHost *shape, const HostTopology *host)
{
    for (int i = 0; i < host->n_llcs; i++) {
        const HostLlc *llc = &host->llcs[i];
        int cores = 0;

        for (int j = 0; j < host->n_cores; j++) {
            cores += host->cores[j].llc == i &&
                     host_cpuset_intersects(&host->cores[j].cpus,
                                            &shape->cpus);
        }
        if (cores) {
            ShapeNode *node = find_node(shape, llc->node >= 0 ?
                                        host->nodes[llc->node].id : -1);

            g_array_append_val(node->llcs, cores);
            node->cores += cores;
            shape->n_llcs++;
            shape->largest = MAX(shape->largest, cores);
        }
    }
}

ShapeHost *shape_host_new(const HostTopology *host, GError **err)
{
    g_autoptr(ShapeHost) shape = g_new0(ShapeHost, 1);
    bool isolated;

    shape->nodes = g_ptr_array_new_with_free_func(node_free);
    if (!placement_candidates(host, &host->online, NULL, &shape->cpus,
                              &isolated, err)) {
        return NULL;
    }
    count_threads(shape, host);
    count_cores(shape, host);
    for (guint i = 0; i < shape->nodes->len; i++) {
        g_array_sort(((ShapeNode *)shape->nodes->pdata[i])->llcs,
                     compare_most_first);
    }
    g_ptr_array_sort(shape->nodes, compare_nodes);
    return g_steal_pointer(&shape);
}

/* What the @groups-th LLC of each of the first @nodes has, at least. */
static int room_for(const ShapeHost *host, int nodes, int groups)
{
    int room = host->largest;

    for (int i = 0; i < nodes; i++) {
        const ShapeNode *node = host->nodes->pdata[i];

        room = MIN(room, groups <= node->llcs->len ?
                   g_array_index(node->llcs, int, groups - 1) : 0);
    }
    return room;
}

bool shape_find(const ShapeHost *host, int vcpus, bool dies,
                GuestShape *ret_shape)
{
    int threads = vcpus % host->threads ? 1 : host->threads;
    int cores = vcpus / threads;

    for (int nodes = 1; nodes <= host->nodes->len; nodes++) {
        for (int groups = 1; groups <= host->n_llcs; groups++) {
            int size = cores / (nodes * groups);

            if (cores % (nodes * groups) ||
                size > room_for(host, nodes, groups)) {
                continue;
            }
            *ret_shape = (GuestShape) {
                .vcpus = vcpus,
                .sockets = dies ? nodes : nodes * groups,
                .dies = dies ? groups : 1,
                .cores = size,
                .threads = threads,
                .nodes = nodes,
            };
            return true;
        }
    }
    return false;
}

static bool shape_whole(const ShapeHost *host, int vcpus, bool dies,
                        GuestShape *ret_shape)
{
    return vcpus > 0 && vcpus <= host_cpuset_count(&host->cpus) &&
           (vcpus == 1 || vcpus % host->threads == 0) &&
           shape_find(host, vcpus, dies, ret_shape);
}

GuestShape shape_nearest(const ShapeHost *host, int vcpus, bool dies)
{
    GuestShape shape;

    /* One vCPU always has a shape, so this ends. */
    for (int away = 0; ; away++) {
        if (shape_whole(host, vcpus + away, dies, &shape) ||
            shape_whole(host, vcpus - away, dies, &shape)) {
            return shape;
        }
    }
}
