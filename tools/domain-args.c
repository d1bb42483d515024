/*
 * The QEMU arguments in a libvirt domain's XML
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <string.h>
#include <json-glib/json-glib.h>

#include "domain-args.h"

#define JSON_BRACKETS_MAX 64

static void arg_clear(void *data)
{
    DomainArg *arg = data;

    g_free(arg->text);
    g_free(arg->type);
    g_free(arg->id);
}

/* One "name=value" of a list; a comma in a value is written twice. */
static const char *next_item(const char *text, GString *item)
{
    g_string_truncate(item, 0);
    for (; *text; text++) {
        if (*text == ',') {
            if (text[1] != ',') {
                return text + 1;
            }
            text++;
        }
        g_string_append_c(item, *text);
    }
    return text;
}

/* Replace *@value by what is behind "@name=" in @item, if that is there. */
static void take_value(const char *item, const char *name, char **value)
{
    if (g_str_has_prefix(item, name) && item[strlen(name)] == '=') {
        g_free(*value);
        *value = g_strdup(item + strlen(name) + 1);
    }
}

static void read_list(DomainArg *arg)
{
    g_autoptr(GString) item = g_string_new(NULL);
    const char *rest = next_item(arg->text, item);

    /* The first may be the type alone. */
    if (strchr(item->str, '=')) {
        rest = arg->text;
    } else {
        arg->type = g_strdup(item->str);
    }
    while (*rest) {
        rest = next_item(rest, item);
        take_value(item->str, "qom-type", &arg->type);
        take_value(item->str, "id", &arg->id);
    }
}

static char *json_text(JsonObject *object, const char *name)
{
    JsonNode *node = json_object_get_member(object, name);

    return node && json_node_get_value_type(node) == G_TYPE_STRING ?
           json_node_dup_string(node) : NULL;
}

/* The parser calls itself for each, and an llcsched has three at most. */
static bool has_many_brackets(const char *json)
{
    int count = 0;

    while (*json && count <= JSON_BRACKETS_MAX) {
        count += *json == '{' || *json == '[';
        json++;
    }
    return count > JSON_BRACKETS_MAX;
}

static void read_json(DomainArg *arg)
{
    g_autoptr(JsonParser) parser = json_parser_new();
    JsonNode *root;

    if (has_many_brackets(arg->text) ||
        !json_parser_load_from_data(parser, arg->text, -1, NULL)) {
        return; /* QEMU will refuse it; it is nobody's llcsched */
    }
    root = json_parser_get_root(parser);
    if (root && JSON_NODE_HOLDS_OBJECT(root)) {
        arg->type = json_text(json_node_get_object(root), "qom-type");
        arg->id = json_text(json_node_get_object(root), "id");
    }
}

/* Past the one or two dashes that QEMU takes. */
static bool is_option(const char *text, const char *name)
{
    return *text == '-' && !strcmp(text + (text[1] == '-' ? 2 : 1), name);
}

static void add_pair(GArray *args, xmlNode *name, xmlNode *value)
{
    g_autofree char *option = domain_xml_attribute(name, "value");
    DomainArg arg = { name, value, domain_xml_attribute(value, "value") };

    if (option && arg.text && is_option(option, "sandbox")) {
        arg.is_sandbox = true;
    } else if (option && arg.text && is_option(option, "object")) {
        if (*arg.text == '{') {
            read_json(&arg);
        } else {
            read_list(&arg);
        }
    } else {
        g_free(arg.text);
        return;
    }
    g_array_append_val(args, arg);
}

GArray *domain_args_read(const DomainXml *xml)
{
    GArray *args = g_array_new(FALSE, FALSE, sizeof(DomainArg));
    xmlNode *line = NULL, *name = NULL;

    g_array_set_clear_func(args, arg_clear);
    while ((line = domain_xml_qemu_child(xml->root, "commandline", line))) {
        xmlNode *arg = NULL;

        while ((arg = domain_xml_qemu_child(line, "arg", arg))) {
            if (name) {
                add_pair(args, name, arg);
            }
            name = arg;
        }
    }
    return args;
}
