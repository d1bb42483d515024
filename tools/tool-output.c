/*
 * qemu-llcsched: text for people, JSON for programs
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "tool.h"

#define COLUMNS 80

bool tool_write_all(int fd, const char *text, size_t len)
{
    while (len) {
        ssize_t written = write(fd, text, len);

        if (written < 0) {
            if (errno == EINTR) {
                continue;
            }
            return false;
        }
        text += written;
        len -= written;
    }
    return true;
}

static int print_failed(const ToolCommand *command)
{
    g_autoptr(GError) err =
        g_error_new(G_FILE_ERROR, g_file_error_from_errno(errno),
                    "standard output cannot be written: %s",
                    g_strerror(errno));

    return tool_failed(command, err);
}

int tool_print_part(const ToolCommand *command, const char *text)
{
    return tool_write_all(STDOUT_FILENO, text, strlen(text)) ?
           TOOL_OK : print_failed(command);
}

int tool_print(const ToolCommand *command, const char *text)
{
    int status = tool_print_part(command, text);

    /* close() is where some file systems tell that the disk is full. */
    if (!status && close(STDOUT_FILENO) < 0) {
        status = print_failed(command);
    }
    return status;
}

int tool_print_json(const ToolCommand *command, JsonBuilder *builder)
{
    g_autoptr(JsonGenerator) generator = json_generator_new();
    g_autoptr(JsonNode) root = json_builder_get_root(builder);
    g_autofree char *data = NULL;
    g_autofree char *text = NULL;

    json_generator_set_root(generator, root);
    json_generator_set_pretty(generator, TRUE);
    data = json_generator_to_data(generator, NULL);
    text = g_strconcat(data, "\n", NULL);
    return tool_print(command, text);
}

void tool_append_list(GString *text, int indent, const char *list)
{
    int room = COLUMNS - indent;

    while (strlen(list) > room) {
        const char *comma = list + room - 1;

        while (comma > list && *comma != ',') {
            comma--;
        }
        if (comma == list) {
            break;
        }
        g_string_append_len(text, list, comma + 1 - list);
        g_string_append_printf(text, "\n%*s", indent, "");
        list = comma + 1;
    }
    g_string_append(text, *list ? list : "-");
}

void tool_append_bytes(GString *text, uint64_t bytes, int width)
{
    static const char *const units[] = {
        "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB",
    };
    g_autofree char *size = NULL;
    double value = bytes;
    int unit = 0;

    /* Below ten of a unit one decimal is shown, so go on from 1024. */
    while (value >= 1024 && unit < G_N_ELEMENTS(units) - 1) {
        value /= 1024;
        unit++;
    }
    size = bytes ? g_strdup_printf("%.*f %s", value < 10 &&
                                   value != (int)value ? 1 : 0, value,
                                   units[unit]) : g_strdup("-");
    g_string_append_printf(text, "%*s", width, size);
}

void tool_json_cpus(JsonBuilder *json, const char *name,
                    const HostCpuSet *set)
{
    g_autofree char *list = host_cpuset_to_list(set);

    tool_json_string(json, name, list);
}

void tool_json_int(JsonBuilder *json, const char *name, int64_t value)
{
    json_builder_set_member_name(json, name);
    json_builder_add_int_value(json, value);
}

void tool_json_bool(JsonBuilder *json, const char *name, bool value)
{
    json_builder_set_member_name(json, name);
    json_builder_add_boolean_value(json, value);
}

void tool_json_string(JsonBuilder *json, const char *name, const char *value)
{
    json_builder_set_member_name(json, name);
    json_builder_add_string_value(json, value);
}

void tool_json_list(JsonBuilder *json, const char *name)
{
    json_builder_set_member_name(json, name);
    json_builder_begin_array(json);
}

int tool_node_id(const HostTopology *host, int node)
{
    return node >= 0 && node < host->n_nodes ? host->nodes[node].id : -1;
}
