/*
 * qemu-llcsched xml: the properties of the objects as options
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <string.h>

#include "hw/sched/bandwidth.h"
#include "hw/sched/core-cookie.h"
#include "hw/sched/guest-topology.h"
#include "xml.h"

typedef enum Kind {
    KIND_WORD,      /* one of @words */
    KIND_NUMBER,    /* from @min to @max, of @unit */
    KIND_LIST,      /* of numbers below @max */
    KIND_ID,
    KIND_COOKIE,
} Kind;

/* A property of llcsched, or with @of_group of llcsched-group. */
typedef struct Property {
    const char *option, *name;
    bool of_group;
    Kind kind;
    const char *const *words;
    uint64_t min, max;
    const char *unit;
    const char *help, *argument;
} Property;

static const char *const widths[] = { "off", "llc", "core", "cpu", NULL };
static const char *const switches[] = { "on", "off", NULL };
static const char *const preferences[] = { "auto", "cache", "capacity", NULL };
static const char *const emulators[] = { "off", "near", "other", NULL };
static const char *const trusts[] = { "strict", "best-effort", NULL };
static const char *const backends[] = { "auto", "kernel", "gate", NULL };

/* The ranges are those of qapi/llcsched.json. */
static const Property properties[] = {
    { "placement", "placement", false, KIND_WORD, widths,
      .help = "Width of the masks: off, llc (default), core, cpu",
      .argument = "WIDTH" },
    { "dynamic", "dynamic", false, KIND_WORD, switches,
      .help = "Look at the host while the VM runs: on (default), off",
      .argument = "on|off" },
    { "interval", "interval", false, KIND_NUMBER, NULL, 100, 60000,
      "milliseconds",
      "Time between looks, milliseconds (default 1000)", "MS" },
    { "cpus", "cpus", false, KIND_LIST, NULL, 0, HOST_CPU_MAX, "CPUs",
      "Never use other host CPUs", "LIST" },
    { "guard-util", "guard-util", false, KIND_NUMBER, NULL, 1, 100, "percent",
      "Close an LLC that others use by more than N percent", "N" },
    { "guard-tasks", "guard-tasks", false, KIND_NUMBER, NULL, 1, 100,
      "percent", "Close an LLC whose CPUs others' tasks fill by more", "N" },
    { "prefer", "prefer", false, KIND_WORD, preferences,
      .help = "auto (default), cache or capacity where unequal",
      .argument = "WHAT" },
    { "emulator-threads", "emulator", false, KIND_WORD, emulators,
      .help = "Where other threads run: off, near (default), other",
      .argument = "WHERE" },
    { "cookie", "cookie", false, KIND_COOKIE,
      .help = "Share no core with vCPUs of other cookies",
      .argument = "TEXT" },
    { "trust", "trust", false, KIND_WORD, trusts,
      .help = "If that cannot be: strict (default), best-effort",
      .argument = "HOW" },
    { "trust-backend", "trust-backend", false, KIND_WORD, backends,
      .help = "Who sees to it: auto (default), kernel, gate",
      .argument = "WHO" },
    { "slice", "slice-us", false, KIND_NUMBER, NULL, 1000, 20000,
      "microseconds", "A turn by trust-backend gate (default 3000)", "US" },
    { "steal-time", "steal-time", false, KIND_WORD, switches,
      .help = "Show throttled time as steal: on (default), off",
      .argument = "on|off" },
    { "quota", "quota-us", true, KIND_NUMBER, NULL, 0, INT64_MAX,
      "microseconds",
      "CPU time that all vCPUs may use in each period", "US" },
    { "period", "period-us", true, KIND_NUMBER, NULL, 0, INT64_MAX,
      "microseconds", "That period (default 10000)", "US" },
    { "burst", "burst-us", true, KIND_NUMBER, NULL, 0, INT64_MAX,
      "microseconds", "Unused quota to carry over (default 0)", "US" },
    { "weight", "weight", true, KIND_NUMBER, NULL, 1, 10000, "parts",
      "Share where cookies take turns (default 100)", "N" },
    { "vcpus", "vcpus", true, KIND_LIST, NULL, 0, GUEST_VCPU_MAX, "vCPUs",
      "Limit these vCPUs (default: all)", "LIST" },
    { "parent", "parent", true, KIND_ID,
      .help = "The limit is part of that of a group in the XML",
      .argument = "ID" },
};

G_STATIC_ASSERT(G_N_ELEMENTS(properties) <= XML_PROPERTIES_MAX);

int xml_properties_entries(XmlProperties *p, GOptionEntry *entries)
{
    for (int i = 0; i < G_N_ELEMENTS(properties); i++) {
        entries[i] = (GOptionEntry) {
            properties[i].option, 0, 0, G_OPTION_ARG_STRING, &p->values[i],
            properties[i].help, properties[i].argument
        };
    }
    return G_N_ELEMENTS(properties);
}

void xml_properties_clear(XmlProperties *p)
{
    for (int i = 0; i < G_N_ELEMENTS(properties); i++) {
        g_clear_pointer(&p->values[i], g_free);
    }
}

const char *xml_properties_given(const XmlProperties *p)
{
    for (int i = 0; i < G_N_ELEMENTS(properties); i++) {
        if (p->values[i]) {
            return properties[i].option;
        }
    }
    return NULL;
}

/* QEMU's rule for ids. */
bool xml_is_id(const char *text)
{
    if (!g_ascii_isalpha(*text)) {
        return false;
    }
    for (; *text; text++) {
        if (!g_ascii_isalnum(*text) && !strchr("-._", *text)) {
            return false;
        }
    }
    return true;
}

/* A list is the property once for each range. 0, or the status. */
static int append_list(const ToolCommand *command, const Property *property,
                       const char *value, GString *text)
{
    g_autofree char *list = NULL;
    g_auto(GStrv) ranges = NULL;
    HostCpuSet set;

    if (!host_cpuset_parse_list(value, &set) || host_cpuset_empty(&set) ||
        host_cpuset_next(&set, property->max) >= 0) {
        return tool_usage_error(command, "--%s '%s': give a list of %s below "
                                "%d, such as 0-3,8", property->option, value,
                                property->unit, (int)property->max);
    }
    list = host_cpuset_to_list(&set);
    ranges = g_strsplit(list, ",", 0);
    for (char **range = ranges; *range; range++) {
        g_string_append_printf(text, ",%s=%s", property->name, *range);
    }
    return TOOL_OK;
}

static int check_word(const ToolCommand *command, const Property *property,
                      const char *value)
{
    g_autofree char *all = g_strjoinv(", ", (char **)property->words);

    return g_strv_contains(property->words, value) ? TOOL_OK :
           tool_usage_error(command, "--%s '%s': choose one of %s",
                            property->option, value, all);
}

static int check_number(const ToolCommand *command, const Property *property,
                        const char *value)
{
    uint64_t number;

    if (tool_parse_number(value, property->min, property->max, &number)) {
        return TOOL_OK;
    }
    if (property->max == INT64_MAX) {
        return tool_usage_error(command, "--%s '%s': give a number of %s",
                                property->option, value, property->unit);
    }
    return tool_usage_error(command, "--%s '%s': give a number of %s from %d "
                            "to %d", property->option, value, property->unit,
                            (int)property->min, (int)property->max);
}

/* A comma is written twice.  A cookie is a secret of sorts: in no message. */
static int append_cookie(const ToolCommand *command, const Property *property,
                         const char *value, GString *text)
{
    g_auto(GStrv) parts = g_strsplit(value, ",", 0);
    g_autofree char *doubled = g_strjoinv(",,", parts);

    if (!core_cookie_name_valid(value)) {
        return tool_usage_error(command, "--%s: give 1 to %d printable ASCII "
                                "characters", property->option,
                                CORE_COOKIE_NAME_MAX);
    }
    g_string_append_printf(text, ",%s=%s", property->name, doubled);
    return TOOL_OK;
}

static int append_value(const ToolCommand *command, const Property *property,
                        const char *value, GString *text)
{
    int status = TOOL_OK;

    switch (property->kind) {
    case KIND_LIST:
        return append_list(command, property, value, text);
    case KIND_COOKIE:
        return append_cookie(command, property, value, text);
    case KIND_WORD:
        status = check_word(command, property, value);
        break;
    case KIND_NUMBER:
        status = check_number(command, property, value);
        break;
    case KIND_ID:
        if (!xml_is_id(value)) {
            status = tool_usage_error(command, "--%s '%s': give the id of a "
                                      "group: letters, digits, '-', '.', '_'",
                                      property->option, value);
        }
        break;
    }
    g_string_append_printf(text, ",%s=%s", property->name, value);
    return status;
}

static const char *value_of(const XmlProperties *p, const char *option)
{
    for (int i = 0; i < G_N_ELEMENTS(properties); i++) {
        if (!strcmp(properties[i].option, option)) {
            return p->values[i];
        }
    }
    g_assert_not_reached();
}

static int64_t microseconds(const XmlProperties *p, const char *option,
                            int64_t unset)
{
    const char *text = value_of(p, option);
    uint64_t value = unset;

    if (text) {
        tool_parse_number(text, 0, INT64_MAX, &value);
    }
    return value;
}

/* The three together, as QEMU will check them. */
static int check_limits(const ToolCommand *command, const XmlProperties *p)
{
    g_autoptr(GError) err = NULL;
    BandwidthLimits limits;

    if (!bandwidth_limits_from_us(microseconds(p, "quota", 0),
                                  microseconds(p, "period", 10000),
                                  microseconds(p, "burst", 0), &limits,
                                  &err)) {
        return tool_usage_error(command, "--quota, --period, --burst: %s",
                                err->message);
    }
    return TOOL_OK;
}

static int last_vcpu(const XmlProperties *p)
{
    const char *text = value_of(p, "vcpus");
    HostCpuSet set = { 0 };
    int last = -1;

    if (text && host_cpuset_parse_list(text, &set)) {
        HOST_CPUSET_FOREACH(vcpu, &set) {
            last = vcpu;
        }
    }
    return last;
}

int xml_properties_text(const ToolCommand *command, const XmlProperties *p,
                        char **ret_object, char **ret_group,
                        int *ret_last_vcpu)
{
    g_autoptr(GString) object = g_string_new(NULL);
    g_autoptr(GString) group = g_string_new(NULL);
    int status = TOOL_OK;

    for (int i = 0; !status && i < G_N_ELEMENTS(properties); i++) {
        if (p->values[i]) {
            status = append_value(command, &properties[i], p->values[i],
                                  properties[i].of_group ? group : object);
        }
    }
    if (!status) {
        status = check_limits(command, p);
    }
    if (!status) {
        *ret_object = g_strdup(object->str);
        *ret_group = group->len ? g_strdup(group->str) : NULL;
        *ret_last_vcpu = last_vcpu(p);
    }
    return status;
}
