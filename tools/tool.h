/*
 * qemu-llcsched: what its commands share
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef LLCSCHED_TOOL_H
#define LLCSCHED_TOOL_H

#include <glib.h>
#include <json-glib/json-glib.h>

#include "hw/sched/host-topology.h"

#define TOOL_NAME "qemu-llcsched"

/* Exit statuses; part of the interface. */
enum {
    TOOL_OK = 0,
    TOOL_FAILED = 1,   /* the host or the plan cannot be had, or not written */
    TOOL_USAGE = 2,    /* the command line is wrong */
};

/* One command; @name is that of the options' error messages and help. */
typedef struct ToolCommand {
    const char *name;
    const char *summary;
    int (*run)(const struct ToolCommand *command, int argc, char **argv);
} ToolCommand;

int tool_topo(const ToolCommand *command, int argc, char **argv);
int tool_plan(const ToolCommand *command, int argc, char **argv);
int tool_capture(const ToolCommand *command, int argc, char **argv);
int tool_sim(const ToolCommand *command, int argc, char **argv);
int tool_record(const ToolCommand *command, int argc, char **argv);
int tool_xml(const ToolCommand *command, int argc, char **argv);

/* Say on stderr, in one sentence, what is wrong. Both return the status. */
int tool_usage_error(const ToolCommand *command, const char *format, ...)
    G_GNUC_PRINTF(2, 3);
int tool_failed(const ToolCommand *command, const GError *err);

/*
 * Parse @argv by @entries, which must not have --help: it is added here.
 * True: go on.  False: *@ret_status is the exit status (help was shown, or an
 * error told).
 */
bool tool_parse_options(const ToolCommand *command, const GOptionEntry *entries,
                        const char *description, int argc, char **argv,
                        int *ret_status);

/* write() until all is out. False with errno set. */
bool tool_write_all(int fd, const char *text, size_t len);

/*
 * Write @text to standard output; every error counts. Both return the status.
 * More may follow a part; after the other one standard output is closed.
 */
int tool_print_part(const ToolCommand *command, const char *text);
int tool_print(const ToolCommand *command, const char *text);

/* As tool_print(), for what @builder has built. */
int tool_print_json(const ToolCommand *command, JsonBuilder *builder);

/* Which host a command is about; both NULL: this one. */
typedef struct ToolHost {
    char *root;        /* --root */
    char *description; /* --host */
} ToolHost;

#define TOOL_ROOT_ENTRY(text)                                            \
    { "root", 0, 0, G_OPTION_ARG_FILENAME, text,                         \
      "The host whose /sys is below DIR", "DIR" }
#define TOOL_HOST_ENTRY(text)                                            \
    { "host", 0, 0, G_OPTION_ARG_FILENAME, text,                         \
      "The host described in FILE, as capture writes it", "FILE" }

/* An empty path is most likely a script's unset variable. 0 or the status. */
int tool_check_path(const ToolCommand *command, const char *option,
                    const char *path);

/* A new reference, or NULL with *@ret_status set and the error told. */
HostTopology *tool_read_host(const ToolCommand *command, const ToolHost *host,
                             int *ret_status);
void tool_host_clear(ToolHost *host);

/* A whole decimal number in [@min, @max] and nothing else. */
bool tool_parse_number(const char *text, uint64_t min, uint64_t max,
                       uint64_t *ret_value);

/* What decides ties of placement, from the text of a valid UUID. */
uint32_t tool_uuid_seed(const char *text);

/*
 * Append a CPU list; where it would pass column 80 it goes on in the next
 * line, behind @indent blanks.  The text must stand at column @indent.
 */
void tool_append_list(GString *text, int indent, const char *list);

/* "32 MiB", "1.5 GiB"; "-" for 0. */
void tool_append_bytes(GString *text, uint64_t bytes, int width);

/* Add a member that is a CPU list, a number, a truth value, a string. */
void tool_json_cpus(JsonBuilder *json, const char *name,
                    const HostCpuSet *set);
void tool_json_int(JsonBuilder *json, const char *name, int64_t value);
void tool_json_bool(JsonBuilder *json, const char *name, bool value);
void tool_json_string(JsonBuilder *json, const char *name, const char *value);

/* Start a list that is a member. */
void tool_json_list(JsonBuilder *json, const char *name);

/* The kernel's number of a node by index; -1: no node. */
int tool_node_id(const HostTopology *host, int node);

#endif
