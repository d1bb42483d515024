/*
 * qemu-llcsched topo: the host as llcsched sees it
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "tool.h"

static const char description[] =
    "Without --root and --host it is this host.  The numbers of LLCs are those "
    "that\nplan and query-llcsched use: in order of their lowest CPU.";

static int count_packages(const HostTopology *host)
{
    g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL);

    for (int i = 0; i < host->n_cores; i++) {
        g_hash_table_add(seen, GINT_TO_POINTER(host->cores[i].package));
    }
    return g_hash_table_size(seen);
}

static void append_count(GString *text, int count, const char *what)
{
    g_string_append_printf(text, "%s%d %s%s", text->len ? ", " : "", count,
                           what, count == 1 ? "" : "s");
}

static void append_header(GString *text, const HostTopology *host)
{
    append_count(text, host_cpuset_count(&host->online), "CPU");
    append_count(text, host->n_cores, "core");
    g_string_append(text, host->smt ? " with SMT" : " without SMT");
    append_count(text, host->n_llcs, "LLC");
    append_count(text, host->n_nodes, "node");
    append_count(text, count_packages(host), "package");
    g_string_append_c(text, '\n');
}

static void append_set(GString *text, const char *what, const HostCpuSet *set)
{
    g_autofree char *list = host_cpuset_to_list(set);

    if (*list) {
        g_string_append_printf(text, "%-13s ", what);
        tool_append_list(text, 14, list);
        g_string_append_c(text, '\n');
    }
}

static void append_kinds(GString *text, const HostTopology *host)
{
    HostCpuSet performance = { 0 }, efficiency = { 0 };

    HOST_CPUSET_FOREACH(cpu, &host->online) {
        if (host->cpus[cpu].kind == HOST_CPU_PERFORMANCE) {
            host_cpuset_add(&performance, cpu);
        } else if (host->cpus[cpu].kind == HOST_CPU_EFFICIENCY) {
            host_cpuset_add(&efficiency, cpu);
        }
    }
    append_set(text, "performance:", &performance);
    append_set(text, "efficiency:", &efficiency);
}

static void append_cpus(GString *text, const HostTopology *host)
{
    HostCpuSet offline = host->possible;

    host_cpuset_andnot(&offline, &host->online);
    append_set(text, "online:", &host->online);
    append_set(text, "offline:", &offline);
    append_set(text, "isolated:", &host->isolated);
    append_kinds(text, host);
}

static void append_number(GString *text, int number, int width)
{
    if (number >= 0) {
        g_string_append_printf(text, "%*d", width, number);
    } else {
        g_string_append_printf(text, "%*s", width, "-");
    }
}

static void append_llcs(GString *text, const HostTopology *host)
{
    g_string_append(text, "\n LLC  cache       size  node  package  cores  "
                    "CPUs\n");
    for (int i = 0; i < host->n_llcs; i++) {
        const HostLlc *llc = &host->llcs[i];
        g_autofree char *list = host_cpuset_to_list(&llc->cpus);
        g_autofree char *cache = llc->level ?
            g_strdup_printf("L%u", llc->level) : g_strdup("none");

        g_string_append_printf(text, "%4d  %-5s ", i, cache);
        tool_append_bytes(text, llc->bytes, 10);
        append_number(text, tool_node_id(host, llc->node), 6);
        append_number(text, llc->package, 9);
        g_string_append_printf(text, "%7d  ", llc->n_cores);
        tool_append_list(text, 46, list);
        g_string_append_c(text, '\n');
    }
}

static void append_nodes(GString *text, const HostTopology *host)
{
    g_string_append(text, "\nnode      memory  CPUs\n");
    for (int i = 0; i < host->n_nodes; i++) {
        const HostNode *node = &host->nodes[i];
        g_autofree char *list = host_cpuset_to_list(&node->cpus);

        g_string_append_printf(text, "%4d  ", node->id);
        if (node->has_memory && !node->mem_bytes) {
            g_string_append(text, "   unknown");
        } else {
            tool_append_bytes(text, node->mem_bytes, 10);
        }
        g_string_append(text, "  ");
        tool_append_list(text, 18, list);
        g_string_append_c(text, '\n');
    }
}

/* More nodes than that do not fit in 80 columns. */
#define DISTANCE_COLUMNS 16

static void append_distances(GString *text, const HostTopology *host)
{
    if (host->n_nodes < 2 || host->n_nodes > DISTANCE_COLUMNS) {
        return;
    }
    g_string_append(text, "\ndistance");
    for (int i = 0; i < host->n_nodes; i++) {
        g_string_append_printf(text, "%4d", host->nodes[i].id);
    }
    g_string_append_c(text, '\n');
    for (int i = 0; i < host->n_nodes; i++) {
        g_string_append_printf(text, "%8d", host->nodes[i].id);
        for (int j = 0; j < host->n_nodes; j++) {
            g_string_append_printf(text, "%4u",
                                   host_topology_distance(host, i, j));
        }
        g_string_append_c(text, '\n');
    }
}

static char *topo_text(const HostTopology *host)
{
    GString *text = g_string_new(NULL);

    append_header(text, host);
    append_cpus(text, host);
    append_llcs(text, host);
    append_nodes(text, host);
    append_distances(text, host);
    for (guint i = 0; i < host->notes->len; i++) {
        g_string_append_printf(text, "%snote: %s\n", i ? "" : "\n",
                               (char *)host->notes->pdata[i]);
    }
    return g_string_free(text, FALSE);
}

static void json_llcs(JsonBuilder *json, const HostTopology *host)
{
    tool_json_list(json, "llcs");
    for (int i = 0; i < host->n_llcs; i++) {
        const HostLlc *llc = &host->llcs[i];

        json_builder_begin_object(json);
        tool_json_int(json, "id", i);
        tool_json_cpus(json, "cpus", &llc->cpus);
        tool_json_int(json, "level", llc->level);
        tool_json_int(json, "bytes", llc->bytes);
        tool_json_int(json, "node", tool_node_id(host, llc->node));
        tool_json_int(json, "package", llc->package);
        tool_json_int(json, "n_cores", llc->n_cores);
        json_builder_end_object(json);
    }
    json_builder_end_array(json);
}

static const char *kind_name(HostCpuKind kind)
{
    switch (kind) {
    case HOST_CPU_PERFORMANCE:
        return "performance";
    case HOST_CPU_EFFICIENCY:
        return "efficiency";
    default:
        return "plain";
    }
}

static void json_cores(JsonBuilder *json, const HostTopology *host)
{
    tool_json_list(json, "cores");
    for (int i = 0; i < host->n_cores; i++) {
        const HostCore *core = &host->cores[i];
        int first = host_cpuset_next(&core->cpus, 0);

        json_builder_begin_object(json);
        tool_json_int(json, "id", i);
        tool_json_cpus(json, "cpus", &core->cpus);
        tool_json_int(json, "llc", core->llc);
        tool_json_int(json, "node", tool_node_id(host, core->node));
        tool_json_int(json, "package", core->package);
        tool_json_int(json, "capacity", core->capacity);
        tool_json_string(json, "kind",
                         kind_name(first < 0 ? HOST_CPU_PLAIN :
                                   host->cpus[first].kind));
        json_builder_end_object(json);
    }
    json_builder_end_array(json);
}

static void json_nodes(JsonBuilder *json, const HostTopology *host)
{
    tool_json_list(json, "nodes");
    for (int i = 0; i < host->n_nodes; i++) {
        const HostNode *node = &host->nodes[i];

        json_builder_begin_object(json);
        tool_json_int(json, "id", node->id);
        tool_json_cpus(json, "cpus", &node->cpus);
        tool_json_bool(json, "has_memory", node->has_memory);
        tool_json_int(json, "mem_bytes", node->mem_bytes);
        tool_json_list(json, "distances");
        for (int j = 0; j < host->n_nodes; j++) {
            json_builder_add_int_value(json,
                                       host_topology_distance(host, i, j));
        }
        json_builder_end_array(json);
        json_builder_end_object(json);
    }
    json_builder_end_array(json);
}

static void topo_json(JsonBuilder *json, const HostTopology *host)
{
    json_builder_begin_object(json);
    tool_json_cpus(json, "cpus", &host->online);
    tool_json_cpus(json, "possible", &host->possible);
    tool_json_cpus(json, "isolated", &host->isolated);
    tool_json_bool(json, "smt", host->smt);
    json_llcs(json, host);
    json_cores(json, host);
    json_nodes(json, host);
    tool_json_list(json, "notes");
    for (guint i = 0; i < host->notes->len; i++) {
        json_builder_add_string_value(json, host->notes->pdata[i]);
    }
    json_builder_end_array(json);
    json_builder_end_object(json);
}

static int print_host(const ToolCommand *command, const HostTopology *host,
                      bool json)
{
    g_autofree char *text = NULL;

    if (json) {
        g_autoptr(JsonBuilder) builder = json_builder_new();

        topo_json(builder, host);
        return tool_print_json(command, builder);
    }
    text = topo_text(host);
    return tool_print(command, text);
}

int tool_topo(const ToolCommand *command, int argc, char **argv)
{
    g_autoptr(HostTopology) host = NULL;
    ToolHost where = { 0 };
    gboolean json = FALSE;
    int status;
    const GOptionEntry entries[] = {
        TOOL_ROOT_ENTRY(&where.root),
        TOOL_HOST_ENTRY(&where.description),
        { "json", 0, 0, G_OPTION_ARG_NONE, &json,
          "Write JSON, for programs", NULL },
        { NULL }
    };

    if (tool_parse_options(command, entries, description, argc, argv,
                           &status)) {
        host = tool_read_host(command, &where, &status);
        if (host) {
            status = print_host(command, host, json);
        }
    }
    tool_host_clear(&where);
    return status;
}
