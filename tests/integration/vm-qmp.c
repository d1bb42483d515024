/*
 * A QEMU with the test guest: QMP
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "vm-internal.h"

#include <string.h>

/* The next message of any kind. */
static JsonNode *read_message(Vm *vm, gint64 deadline, const char *what)
{
    g_autofree char *line = NULL;
    g_autoptr(GError) err = NULL;
    JsonNode *message;

    while (!(line = line_channel_pop(&vm->qmp))) {
        vm_poll(vm, -1, deadline, what);
    }
    message = json_from_string(line, &err);
    if (!message || !JSON_NODE_HOLDS_OBJECT(message)) {
        vm_fail(vm, "QMP said \"%s\": %s", line, err ? err->message : "?");
    }
    return message;
}

/* The next message that is no event; events are kept. */
static JsonNode *read_reply(Vm *vm, const char *command)
{
    gint64 deadline = vm_deadline();
    JsonNode *message;

    for (;;) {
        message = read_message(vm, deadline, command);
        if (!json_object_has_member(json_node_get_object(message), "event")) {
            return message;
        }
        g_queue_push_tail(&vm->events, message);
    }
}

G_GNUC_PRINTF(4, 0)
static JsonNode *try_qmp_va(Vm *vm, GError **err, const char *command,
                            const char *format, va_list ap)
{
    g_autofree char *arguments = g_strdup_vprintf(format ? format : "{}", ap);
    g_autofree char *text = NULL;
    g_autoptr(JsonNode) reply = NULL;
    JsonObject *object;

    g_strdelimit(arguments, "'", '"');
    text = g_strdup_printf("{\"execute\": \"%s\", \"arguments\": %s}\n",
                           command, arguments);
    if (!line_channel_send(&vm->qmp, text, strlen(text))) {
        vm_fail(vm, "QEMU takes no QMP command: %s", text);
    }
    reply = read_reply(vm, command);
    object = json_node_get_object(reply);
    if (json_object_has_member(object, "return")) {
        return json_object_dup_member(object, "return");
    }
    object = json_object_get_object_member(object, "error");
    g_set_error_literal(err, g_quark_from_static_string("qmp"), 0,
                        json_object_get_string_member(object, "desc"));
    return NULL;
}

JsonNode *vm_try_qmp(Vm *vm, GError **err, const char *command,
                     const char *arguments, ...)
{
    JsonNode *value;
    va_list ap;

    va_start(ap, arguments);
    value = try_qmp_va(vm, err, command, arguments, ap);
    va_end(ap);
    return value;
}

G_GNUC_PRINTF(3, 0)
static JsonNode *qmp_va(Vm *vm, const char *command, const char *arguments,
                        va_list ap)
{
    g_autoptr(GError) err = NULL;
    JsonNode *value = try_qmp_va(vm, &err, command, arguments, ap);

    if (!value) {
        vm_fail(vm, "%s failed: %s", command, err->message);
    }
    return value;
}

JsonNode *vm_qmp(Vm *vm, const char *command, const char *arguments, ...)
{
    JsonNode *value;
    va_list ap;

    va_start(ap, arguments);
    value = qmp_va(vm, command, arguments, ap);
    va_end(ap);
    return value;
}

void vm_do(Vm *vm, const char *command, const char *arguments, ...)
{
    va_list ap;

    va_start(ap, arguments);
    json_node_unref(qmp_va(vm, command, arguments, ap));
    va_end(ap);
}

char *vm_qmp_refused(Vm *vm, const char *command, const char *arguments, ...)
{
    g_autoptr(GError) err = NULL;
    g_autoptr(JsonNode) value = NULL;
    va_list ap;

    va_start(ap, arguments);
    value = try_qmp_va(vm, &err, command, arguments, ap);
    va_end(ap);
    if (value) {
        vm_fail(vm, "%s was not refused", command);
    }
    return g_strdup(err->message);
}

char *vm_hmp(Vm *vm, const char *line)
{
    g_autoptr(JsonNode) value = NULL;

    value = vm_qmp(vm, "human-monitor-command", "{'command-line': '%s'}",
                   line);
    return json_node_dup_string(value);
}

void vm_qmp_open(Vm *vm)
{
    g_autoptr(JsonNode) greeting = NULL;

    greeting = read_message(vm, vm_deadline(), "the QMP greeting");
    if (!json_object_has_member(json_node_get_object(greeting), "QMP")) {
        vm_fail(vm, "no QMP greeting");
    }
    vm_do(vm, "qmp_capabilities", NULL);
}

static bool event_is(JsonNode *event, const char *name)
{
    JsonObject *object = json_node_get_object(event);

    return strcmp(json_object_get_string_member(object, "event"), name) == 0;
}

static JsonNode *take_event(Vm *vm, const char *name)
{
    for (GList *item = vm->events.head; item; item = item->next) {
        JsonNode *event = item->data;

        if (event_is(event, name)) {
            g_queue_delete_link(&vm->events, item);
            return event;
        }
    }
    return NULL;
}

JsonNode *vm_wait_event(Vm *vm, const char *name)
{
    gint64 deadline = vm_deadline();
    g_autoptr(JsonNode) event = NULL;

    while (!(event = take_event(vm, name))) {
        g_queue_push_tail(&vm->events, read_message(vm, deadline, name));
    }
    return json_object_dup_member(json_node_get_object(event), "data");
}

void vm_forget_events(Vm *vm)
{
    /* a reply comes after all events before it */
    vm_do(vm, "query-status", NULL);
    g_queue_clear_full(&vm->events, (GDestroyNotify)json_node_unref);
}

static bool migrated(Vm *vm, void *opaque)
{
    g_autoptr(JsonNode) reply = vm_qmp(vm, "query-migrate", NULL);
    const char *status = json_object_get_string_member_with_default(
        json_node_get_object(reply), "status", "none");

    if (strcmp(status, "failed") == 0) {
        vm_fail(vm, "the migration failed");
    }
    return strcmp(status, "completed") == 0;
}

void vm_migrate(Vm *from, Vm *to)
{
    g_autofree char *uri = g_strdup_printf("unix:%s/migration", vm_dir(to));
    g_autoptr(JsonNode) resumed = NULL;

    vm_do(to, "migrate-incoming", "{'uri': '%s'}", uri);
    vm_do(from, "migrate", "{'uri': '%s'}", uri);
    vm_wait(from, migrated, NULL, "the migration");
    resumed = vm_wait_event(to, "RESUME");
}

GArray *vm_vcpu_threads(Vm *vm)
{
    g_autoptr(JsonNode) reply = vm_qmp(vm, "query-cpus-fast", NULL);
    JsonArray *cpus = json_node_get_array(reply);
    guint n = json_array_get_length(cpus);
    GArray *threads = g_array_new(false, true, sizeof(int));

    for (guint i = 0; i < n; i++) {
        JsonObject *cpu = json_array_get_object_element(cpus, i);
        int tid = json_object_get_int_member(cpu, "thread-id");

        g_array_append_val(threads, tid);
    }
    return threads;
}
