/*
 * qemu-llcsched: options, and what is said when they are wrong
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <stdio.h>

#include "hw/sched/host-description.h"
#include "hw/sched/placement-seed.h"
#include "tool.h"

/* Before a command is known its name is empty. */
static void say(const ToolCommand *command, const char *text)
{
    fprintf(stderr, TOOL_NAME "%s%s: %s\n", *command->name ? " " : "",
            command->name, text);
}

int tool_usage_error(const ToolCommand *command, const char *format, ...)
{
    g_autofree char *text = NULL;
    va_list args;

    va_start(args, format);
    text = g_strdup_vprintf(format, args);
    va_end(args);
    say(command, text);
    return TOOL_USAGE;
}

int tool_failed(const ToolCommand *command, const GError *err)
{
    say(command, err->message);
    return TOOL_FAILED;
}

/* g_option_context_get_help() would name the program alone. */
static char *help_text(const ToolCommand *command, GOptionContext *context)
{
    g_autofree char *name = g_strdup_printf(TOOL_NAME " %s", command->name);

    g_set_prgname(name);
    return g_option_context_get_help(context, TRUE, NULL);
}

bool tool_parse_options(const ToolCommand *command, const GOptionEntry *entries,
                        const char *description, int argc, char **argv,
                        int *ret_status)
{
    g_autoptr(GOptionContext) context = g_option_context_new(NULL);
    g_autoptr(GError) err = NULL;
    gboolean help = FALSE;
    GOptionEntry help_entry[] = {
        { "help", 'h', 0, G_OPTION_ARG_NONE, &help, "Show this text", NULL },
        { NULL }
    };

    /* GLib's own --help exits without a look at whether it was written. */
    g_option_context_set_help_enabled(context, FALSE);
    g_option_context_add_main_entries(context, entries, NULL);
    g_option_context_add_main_entries(context, help_entry, NULL);
    g_option_context_set_summary(context, command->summary);
    g_option_context_set_description(context, description);
    if (!g_option_context_parse(context, &argc, &argv, &err)) {
        *ret_status = tool_usage_error(command, "%s; see " TOOL_NAME
                                       " %s --help", err->message,
                                       command->name);
        return false;
    }
    if (help) {
        g_autofree char *text = help_text(command, context);

        *ret_status = tool_print(command, text);
        return false;
    }
    if (argc > 1) {
        *ret_status = tool_usage_error(command, "unexpected argument '%s'; "
                                       "see " TOOL_NAME " %s --help",
                                       argv[1], command->name);
        return false;
    }
    return true;
}

int tool_check_path(const ToolCommand *command, const char *option,
                    const char *path)
{
    if (path && !*path) {
        return tool_usage_error(command, "%s '': give a path, or leave the "
                                "option out", option);
    }
    return TOOL_OK;
}

HostTopology *tool_read_host(const ToolCommand *command, const ToolHost *host,
                             int *ret_status)
{
    g_autoptr(GError) err = NULL;
    HostTopology *topology;

    if (host->root && host->description) {
        *ret_status = tool_usage_error(command, "--root and --host each name "
                                       "a host; give one of them");
        return NULL;
    }
    *ret_status = tool_check_path(command, "--root", host->root);
    if (!*ret_status) {
        *ret_status = tool_check_path(command, "--host", host->description);
    }
    if (*ret_status) {
        return NULL;
    }
    topology = host->description ?
               host_description_load_host(host->description, &err) :
               host_topology_read(host->root ? host->root : "", &err);
    if (!topology) {
        *ret_status = tool_failed(command, err);
    }
    return topology;
}

void tool_host_clear(ToolHost *host)
{
    g_clear_pointer(&host->root, g_free);
    g_clear_pointer(&host->description, g_free);
}

bool tool_parse_number(const char *text, uint64_t min, uint64_t max,
                       uint64_t *ret_value)
{
    guint64 value;

    if (!g_ascii_string_to_unsigned(text, 10, min, max, &value, NULL)) {
        return false;
    }
    *ret_value = value;
    return true;
}

uint32_t tool_uuid_seed(const char *text)
{
    uint8_t bytes[16];

    for (int i = 0; i < 16; i++) {
        text += *text == '-';
        bytes[i] = g_ascii_xdigit_value(text[0]) << 4 |
                   g_ascii_xdigit_value(text[1]);
        text += 2;
    }
    return placement_seed(bytes);
}
