/*
 * qemu-llcsched capture: a host's description, for bug reports
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hw/sched/host-description.h"
#include "tool.h"

static const char description[] =
    "The description holds CPU numbers, caches, nodes and capacities, nothing "
    "that\nnames the machine or its owner.  topo and plan read it with --host.";

/* Devices and pipes are written to; a file is replaced as a whole or not. */
static bool save(const char *path, const char *text, GError **err)
{
    struct stat st;
    int fd, error = 0;

    if (stat(path, &st) < 0 || S_ISREG(st.st_mode)) {
        bool ok = g_file_set_contents(path, text, -1, err);

        if (!ok) {
            g_prefix_error(err, "-o '%s' cannot be written: ", path);
        }
        return ok;
    }
    fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0 || !tool_write_all(fd, text, strlen(text))) {
        error = errno;
    }
    if (fd >= 0 && close(fd) < 0 && !error) {
        error = errno;
    }
    if (error) {
        g_set_error(err, G_FILE_ERROR, g_file_error_from_errno(error),
                    "-o '%s' cannot be written: %s", path, g_strerror(error));
    }
    return !error;
}

static int capture(const ToolCommand *command, const char *root,
                   const char *path)
{
    g_autoptr(GError) err = NULL;
    g_autofree char *text = host_description_capture(root ? root : "", &err);

    if (!text) {
        return tool_failed(command, err);
    }
    if (!path) {
        return tool_print(command, text);
    }
    if (!save(path, text, &err)) {
        return tool_failed(command, err);
    }
    return TOOL_OK;
}

int tool_capture(const ToolCommand *command, int argc, char **argv)
{
    g_autofree char *root = NULL;
    g_autofree char *path = NULL;
    int status;
    const GOptionEntry entries[] = {
        TOOL_ROOT_ENTRY(&root),
        { "output", 'o', 0, G_OPTION_ARG_FILENAME, &path,
          "Write to FILE instead of standard output", "FILE" },
        { NULL }
    };

    if (tool_parse_options(command, entries, description, argc, argv,
                           &status)) {
        status = tool_check_path(command, "--root", root);
        if (!status) {
            status = tool_check_path(command, "-o", path);
        }
        if (!status) {
            status = capture(command, root, path);
        }
    }
    return status;
}
