/*
 * Reads the node folders of /sys
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "host-file.h"
#include "host-sysfs.h"

static void read_distances(HostSysfs *sysfs, int dir, SysfsNode *node)
{
    g_auto(GStrv) words = NULL;
    int err = host_file_read(dir, "distance", sysfs->buf);

    if (err) {
        host_sysfs_note(sysfs, "distance", err, "node%d/distance: %s",
                        node->id, host_file_strerror(err));
        return;
    }
    words = g_strsplit_set(sysfs->buf, " \t", HOST_NODE_MAX + 1);
    node->distances = g_new0(unsigned, HOST_NODE_MAX + 1);
    for (char **word = words; *word; word++) {
        int64_t value = 0;

        if (!**word) {
            continue;
        }
        /* ACPI has a byte; POWER doubles 10 for each level of difference. */
        if (!host_file_parse_int(*word, 10, 65535, &value)) {
            host_sysfs_note(sysfs, "distance", -EBADMSG, "node%d/distance: "
                            "'%.20s' is not a distance", node->id, *word);
        }
        node->distances[node->n_distances++] = value;
    }
}

/* "Node 0 MemTotal:  129839104 kB" among other lines. */
static void read_node_memory(HostSysfs *sysfs, int dir, SysfsNode *node)
{
    static const char field[] = "MemTotal:";
    int err = host_file_read(dir, "meminfo", sysfs->buf);
    char *at = err ? NULL : strstr(sysfs->buf, field);
    int64_t kb = 0;

    if (at) {
        at += strlen(field);
        at += strspn(at, " \t");
        at[strcspn(at, " \t\n")] = '\0';
    }
    if (!err && (!at || !host_file_parse_int(at, 0, 1ll << 40, &kb))) {
        err = -EBADMSG;
    }
    if (err) {
        host_sysfs_note(sysfs, "meminfo", err, "node%d/meminfo: %s", node->id,
                        host_file_strerror(err));
    }
    node->mem_bytes = kb * 1024;
}

static void read_node(HostSysfs *sysfs, int nodes_dir, SysfsNode *node)
{
    static const char *const names[] = { "cpulist", "cpumap", NULL };
    HostCpuSet cpus;
    char name[16];
    int dir, err;

    snprintf(name, sizeof(name), "node%d", node->id);
    dir = host_file_open_dir_at(nodes_dir, name);
    if (dir < 0) {
        host_sysfs_note(sysfs, "node", dir, "%s: %s", name,
                        host_file_strerror(dir));
        return;
    }
    /* Not interned: a node without CPUs has an empty set, rightly. */
    err = host_sysfs_list(sysfs, dir, names[0], &cpus);
    if (err) {
        int mask_err = host_file_read(dir, names[1], sysfs->buf);

        if (!mask_err && !host_cpuset_parse_mask(sysfs->buf, &cpus)) {
            mask_err = -EBADMSG;
        }
        err = err == -ENOENT || !mask_err ? mask_err : err;
    }
    if (err) {
        host_sysfs_note(sysfs, "cpulist", err, "%s/cpulist: %s", name,
                        host_file_strerror(err));
    } else {
        node->cpus = cpus;
    }
    read_distances(sysfs, dir, node);
    read_node_memory(sysfs, dir, node);
    close(dir);
}

/*
 * has_memory since 4.x, has_normal_memory before it; a copy may have neither,
 * then the size tells, and a node with CPUs whose size cannot be read is taken
 * to have some.
 */
static void read_has_memory(HostSysfs *sysfs, int dir)
{
    HostCpuSet with;
    bool known = !host_sysfs_list(sysfs, dir, "has_memory", &with) ||
                 !host_sysfs_list(sysfs, dir, "has_normal_memory", &with);

    for (int i = 0; i < sysfs->n_nodes; i++) {
        SysfsNode *node = &sysfs->nodes[i];

        if (known) {
            node->has_memory = host_cpuset_has(&with, node->id);
        } else {
            node->has_memory = node->mem_bytes ||
                               !host_cpuset_empty(&node->cpus);
        }
        if (!node->has_memory) {
            node->mem_bytes = 0;
        }
    }
}

void host_sysfs_read_nodes(HostSysfs *sysfs, const char *root)
{
    int dir = host_file_open_dir(root, NODE_DIR);
    HostCpuSet ids = { };
    int err = dir;

    if (dir >= 0) {
        err = host_sysfs_list(sysfs, dir, "online", &ids);
        if (err) {
            err = host_file_list_numbered(dir, ".", "node", &ids);
        }
        if (host_sysfs_list(sysfs, dir, "possible", &sysfs->possible_nodes)) {
            sysfs->possible_nodes = ids;
        }
    }
    if (err < 0) {
        host_sysfs_note(sysfs, "nodes", err, "node: %s; all CPUs are taken to "
                        "be in node 0", host_file_strerror(err));
        if (dir >= 0) {
            close(dir);
        }
        return;
    }
    sysfs->nodes = g_new0(SysfsNode, HOST_NODE_MAX);
    HOST_CPUSET_FOREACH(id, &ids) {
        if (id >= HOST_NODE_MAX) {
            host_sysfs_note(sysfs, "node", 0, "node/online: node %d is not "
                            "below %d", id, HOST_NODE_MAX);
            break;
        }
        sysfs->nodes[sysfs->n_nodes].id = id;
        read_node(sysfs, dir, &sysfs->nodes[sysfs->n_nodes++]);
    }
    read_has_memory(sysfs, dir);
    close(dir);
}

int host_sysfs_node_link(const char *root, int cpu)
{
    int dir = host_file_open_dir(root, CPU_DIR);
    HostCpuSet ids = { };
    char name[16];

    if (dir < 0) {
        return -1;
    }
    snprintf(name, sizeof(name), "cpu%d", cpu);
    host_file_list_numbered(dir, name, "node", &ids);
    close(dir);
    return host_cpuset_next(&ids, 0);
}
