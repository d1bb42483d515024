/*
 * A QEMU with the test guest: snapshots
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "vm.h"

#include <string.h>

static bool job_is_over(Vm *vm, void *opaque)
{
    g_autoptr(JsonNode) reply = vm_qmp(vm, "query-jobs", NULL);
    JsonObject *job = json_array_get_object_element(
        json_node_get_array(reply), 0);

    if (json_object_has_member(job, "error")) {
        vm_fail(vm, "no disk: %s",
                json_object_get_string_member(job, "error"));
    }
    return strcmp(json_object_get_string_member(job, "status"),
                  "concluded") == 0;
}

static void end_job(Vm *vm)
{
    vm_wait(vm, job_is_over, NULL, "a disk to be made");
    vm_do(vm, "job-dismiss", "{'id': 'make'}");
}

void vm_add_snapshot_disk(Vm *vm)
{
    g_autofree char *path = g_build_filename(vm_dir(vm), "disk", NULL);

    vm_do(vm, "blockdev-create", "{'job-id': 'make', 'options':"
          " {'driver': 'file', 'filename': '%s', 'size': 0}}", path);
    end_job(vm);
    vm_do(vm, "blockdev-add", "{'driver': 'file', 'node-name': 'file',"
          " 'filename': '%s'}", path);
    vm_do(vm, "blockdev-create", "{'job-id': 'make', 'options':"
          " {'driver': 'qcow2', 'file': 'file', 'size': 1048576}}");
    end_job(vm);
    vm_do(vm, "blockdev-add", "{'driver': 'qcow2', 'node-name': 'disk',"
          " 'file': 'file'}");
}

/* Both commands say nothing unless they fail. */
static void do_snapshot(Vm *vm, const char *command, const char *name)
{
    g_autofree char *line = g_strdup_printf("%s %s", command, name);
    g_autofree char *text = vm_hmp(vm, line);

    if (*text) {
        vm_fail(vm, "%s: %s", line, text);
    }
}

void vm_savevm(Vm *vm, const char *name)
{
    do_snapshot(vm, "savevm", name);
}

void vm_loadvm(Vm *vm, const char *name)
{
    do_snapshot(vm, "loadvm", name);
}

void vm_drop_cut_line(Vm *vm)
{
    g_array_unref(vm_counters(vm));
}
