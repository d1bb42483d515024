/*
 * A QEMU with the test guest: the guest's serial line
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "vm-internal.h"

#include <string.h>

#define PREFIX "llcsched-guest: "

char *vm_wait_line(Vm *vm, const char *start)
{
    g_autofree char *wanted = g_strconcat(PREFIX, start, NULL);
    gint64 deadline = vm_deadline();

    for (;;) {
        g_autofree char *line = line_channel_pop(&vm->serial);

        if (!line) {
            vm_poll(vm, -1, deadline, wanted);
        } else if (g_str_has_prefix(line, wanted)) {
            return g_strdup(line + strlen(wanted));
        }
    }
}

void vm_wait_up(Vm *vm, int n)
{
    g_autofree char *rest = vm_wait_line(vm, "up, ");
    g_autofree char *expected = g_strdup_printf("%d vCPUs", n);

    if (strcmp(rest, expected) != 0) {
        vm_fail(vm, "the guest has %s, not %s", rest, expected);
    }
}

void vm_send(Vm *vm, char letter)
{
    if (!line_channel_send(&vm->serial, &letter, 1)) {
        vm_fail(vm, "the guest takes no '%c'", letter);
    }
}

GArray *vm_counters(Vm *vm)
{
    GArray *counters = g_array_new(false, true, sizeof(guint32));
    g_autofree char *text = NULL;
    g_auto(GStrv) words = NULL;

    line_channel_fill(&vm->serial);
    g_queue_clear_full(&vm->serial.lines, g_free);
    vm_send(vm, 't');
    text = vm_wait_line(vm, "ticks ");
    words = g_strsplit(text, " ", -1);
    for (char **word = words; *word; word++) {
        guint32 count = g_ascii_strtoull(*word, NULL, 10);

        g_array_append_val(counters, count);
    }
    return counters;
}

typedef struct Movement {
    GArray *before;
    guint n;
} Movement;

static bool all_moved(Vm *vm, void *opaque)
{
    const Movement *movement = opaque;
    g_autoptr(GArray) now = vm_counters(vm);

    if (now->len != movement->n || movement->before->len != movement->n) {
        vm_fail(vm, "the guest counts %u vCPUs, not %u", now->len,
                movement->n);
    }
    for (guint i = 0; i < movement->n; i++) {
        if (g_array_index(now, guint32, i) ==
            g_array_index(movement->before, guint32, i)) {
            return false;
        }
    }
    return true;
}

void vm_wait_all_move(Vm *vm, int n)
{
    g_autoptr(GArray) before = vm_counters(vm);
    Movement movement = { .before = before, .n = n };

    vm_wait(vm, all_moved, &movement, "every vCPU's counter to move");
}

void vm_plug(Vm *vm, int socket)
{
    vm_do(vm, "device_add",
          "{'driver': 'qemu64-x86_64-cpu', 'id': 'plugged',"
          " 'socket-id': %d, 'core-id': 0, 'thread-id': 0}", socket);
}

void vm_unplug(Vm *vm)
{
    g_autoptr(JsonNode) deleted = NULL;

    vm_do(vm, "device_del", "{'id': 'plugged'}");
    vm_send(vm, 'p');
    deleted = vm_wait_event(vm, "DEVICE_DELETED");
}
