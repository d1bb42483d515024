/*
 * qemu-llcsched: look at a host as llcsched sees it, and plan without running
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <signal.h>
#include <string.h>

#include "tool.h"

static const ToolCommand commands[] = {
    { "topo", "Show the last-level caches, cores and nodes of a host",
      tool_topo },
    { "plan", "Plan where the vCPUs of one or more VMs would run",
      tool_plan },
    { "capture", "Write a description of a host, for bug reports",
      tool_capture },
    { "sim", "Compare placement policies on a simulated host", tool_sim },
    { "record", "Record the load of a VM's vCPUs, for sim", tool_record },
    { "xml", "Put llcsched into a libvirt domain's XML, or advise on it",
      tool_xml },
};

/* For what is said before a command is known. */
static const ToolCommand no_command = { "" };

static int show_help(void)
{
    g_autoptr(GString) text = g_string_new(
        "Usage:\n  " TOOL_NAME " COMMAND [OPTION...]\n\nCommands:\n");

    for (size_t i = 0; i < G_N_ELEMENTS(commands); i++) {
        g_string_append_printf(text, "  %-10s %s\n", commands[i].name,
                               commands[i].summary);
    }
    g_string_append(text, "\nOptions:\n"
                    "  -h, --help Show this text\n"
                    "  --version  Show the version\n"
                    "\n" TOOL_NAME " COMMAND --help tells the options of "
                    "a command.\n"
                    "Exit status: 0 done, 1 failed, 2 wrong usage.\n");
    return tool_print(&no_command, text->str);
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : NULL;

    /* A reader that went away is an error to tell, not a way to die. */
    signal(SIGPIPE, SIG_IGN);
    if (!name) {
        return tool_usage_error(&no_command, "no command given; the commands "
                                "are topo, plan, capture, sim, record, xml, "
                                "see " TOOL_NAME " --help");
    }
    if (!strcmp(name, "--help") || !strcmp(name, "-h")) {
        return show_help();
    }
    if (!strcmp(name, "--version")) {
        return tool_print(&no_command, TOOL_NAME " " LLCSCHED_VERSION "\n");
    }
    for (size_t i = 0; i < G_N_ELEMENTS(commands); i++) {
        if (!strcmp(name, commands[i].name)) {
            return commands[i].run(&commands[i], argc - 1, argv + 1);
        }
    }
    return tool_usage_error(&no_command, "unknown %s '%s'; the commands are "
                            "topo, plan, capture, sim, record, xml, see "
                            TOOL_NAME " --help",
                            name[0] == '-' ? "option" : "command", name);
}
