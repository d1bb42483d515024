/*
 * qemu-llcsched xml: put llcsched into a libvirt domain's XML
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <string.h>
#include <unistd.h>

#include "domain-advice.h"
#include "domain-llcsched.h"
#include "xml.h"

static const char description[] =
    "The XML is read from standard input, or by virsh with --domain.  Written "
    "is the\nsame with llcsched and the options given, in place of those of an "
    "earlier call.\nAll else stays as it is, to the byte:\n\n"
    "  virsh dumpxml --inactive --security-info vm |\n"
    "    qemu-llcsched xml --placement core | virsh define /dev/stdin\n\n"
    "libvirt's sandbox keeps QEMU from setting masks: --allow-affinity changes "
    "that\nfor this domain.  --emulator names the QEMU that has llcsched.";

typedef struct XmlOptions {
    char *domain, *connect, *id, *emulator;
    gboolean allow_affinity, remove, advise;
    ToolHost where;         /* of --advise */
    XmlProperties properties;
} XmlOptions;

static void options_clear(XmlOptions *o)
{
    g_free(o->domain);
    g_free(o->connect);
    g_free(o->id);
    g_free(o->emulator);
    tool_host_clear(&o->where);
    xml_properties_clear(&o->properties);
}

/* The name of an option that changes what is put in, or NULL. */
static const char *change_given(const XmlOptions *o)
{
    return o->emulator ? "emulator" :
           o->allow_affinity ? "allow-affinity" :
           xml_properties_given(&o->properties);
}

static int check_mode(const ToolCommand *command, const XmlOptions *o)
{
    const char *given = change_given(o);

    if (o->remove && o->advise) {
        return tool_usage_error(command, "--remove and --advise each say what "
                                "to do: give one of them");
    }
    if ((o->remove || o->advise) && given) {
        return tool_usage_error(command, "--%s says what to put in, and --%s "
                                "puts nothing in: leave one out", given,
                                o->remove ? "remove" : "advise");
    }
    if (!o->advise && (o->where.root || o->where.description)) {
        return tool_usage_error(command, "--root and --host are for --advise "
                                "alone");
    }
    return TOOL_OK;
}

static int check_emulator(const ToolCommand *command, const char *path)
{
    const char *c = path;

    while (*c && !g_ascii_iscntrl(*c)) {
        c++;
    }
    if (*path != '/' || *c || !g_utf8_validate(path, -1, NULL)) {
        return tool_usage_error(command, "--emulator '%s': give the path of a "
                                "program, from / on", path);
    }
    return TOOL_OK;
}

static int check_options(const ToolCommand *command, const XmlOptions *o)
{
    int status = check_mode(command, o);

    if (!status && o->emulator) {
        status = check_emulator(command, o->emulator);
    }
    if (!status && o->id && !xml_is_id(o->id)) {
        status = tool_usage_error(command, "--id '%s': give a letter and then "
                                  "letters, digits, '-', '.', '_'", o->id);
    }
    if (!status && o->domain && !*o->domain) {
        status = tool_usage_error(command, "--domain '': name a domain, or "
                                  "leave the option out");
    }
    if (!status && o->connect && !o->domain) {
        status = tool_usage_error(command, "--connect is for --domain alone");
    }
    if (!status && !o->domain && isatty(STDIN_FILENO)) {
        status = tool_usage_error(command, "give the domain's XML on standard "
                                  "input, or --domain NAME");
    }
    return status;
}

static int print_text(const ToolCommand *command, const char *text,
                      const GError *err)
{
    return text ? tool_print(command, text) : tool_failed(command, err);
}

static int add(const ToolCommand *command, const XmlOptions *o, const char *id,
               const char *object, const char *group, int last_vcpu,
               const DomainXml *xml)
{
    g_autoptr(GError) err = NULL;
    const DomainLlcsched what = {
        .id = id,
        .object = object,
        .group = group,
        .group_last_vcpu = last_vcpu,
        .allow_affinity = o->allow_affinity,
        .emulator = o->emulator,
    };
    g_autofree char *text = domain_llcsched_add(xml, &what, &err);

    return print_text(command, text, err);
}

static int take_out(const ToolCommand *command, const char *id,
                    const DomainXml *xml)
{
    g_autoptr(GError) err = NULL;
    g_autofree char *text = domain_llcsched_remove(xml, id, &err);

    return print_text(command, text, err);
}

static int advise(const ToolCommand *command, const XmlOptions *o,
                  const DomainXml *xml)
{
    g_autoptr(HostTopology) host = NULL;
    g_autoptr(GError) err = NULL;
    g_autofree char *text = NULL;
    int status;

    host = tool_read_host(command, &o->where, &status);
    if (!host) {
        return status;
    }
    text = domain_advice(xml, host, &err);
    return print_text(command, text, err);
}

static int change(const ToolCommand *command, const XmlOptions *o)
{
    const char *id = o->id ? o->id : DOMAIN_LLCSCHED_ID;
    g_autoptr(GError) err = NULL;
    g_autoptr(GByteArray) input = NULL;
    g_autoptr(DomainXml) xml = NULL;
    g_autofree char *object = NULL;
    g_autofree char *group = NULL;
    int last_vcpu = -1;
    int status = xml_properties_text(command, &o->properties, &object, &group,
                                     &last_vcpu);

    if (status) {
        return status;
    }
    input = xml_input(o->connect, o->domain, &err);
    if (input) {
        xml = domain_xml_parse((char *)input->data, input->len, &err);
    }
    if (!xml) {
        return tool_failed(command, err);
    }
    return o->advise ? advise(command, o, xml) :
           o->remove ? take_out(command, id, xml) :
           add(command, o, id, object, group, last_vcpu, xml);
}

#define OWN_ENTRIES 9

int tool_xml(const ToolCommand *command, int argc, char **argv)
{
    XmlOptions o = { 0 };
    int n, status;
    GOptionEntry entries[OWN_ENTRIES + XML_PROPERTIES_MAX + 1] = {
        { "domain", 0, 0, G_OPTION_ARG_STRING, &o.domain,
          "Take the XML of this domain from virsh", "NAME" },
        { "connect", 'c', 0, G_OPTION_ARG_STRING, &o.connect,
          "virsh's connection, such as qemu:///system", "URI" },
        { "remove", 0, 0, G_OPTION_ARG_NONE, &o.remove,
          "Take out what an earlier call put in", NULL },
        { "advise", 0, 0, G_OPTION_ARG_NONE, &o.advise,
          "Write no XML, but what would suit the host, and why", NULL },
        TOOL_ROOT_ENTRY(&o.where.root),
        TOOL_HOST_ENTRY(&o.where.description),
        { "id", 0, 0, G_OPTION_ARG_STRING, &o.id,
          "The object's id (default " DOMAIN_LLCSCHED_ID ")", "ID" },
        { "allow-affinity", 0, 0, G_OPTION_ARG_NONE, &o.allow_affinity,
          "Let the sandbox of this domain allow masks", NULL },
        { "emulator", 0, 0, G_OPTION_ARG_STRING, &o.emulator,
          "Run this QEMU", "PATH" },
    };

    n = xml_properties_entries(&o.properties, entries + OWN_ENTRIES);
    entries[OWN_ENTRIES + n] = (GOptionEntry) { NULL };
    if (tool_parse_options(command, entries, description, argc, argv,
                           &status)) {
        status = check_options(command, &o);
        if (!status) {
            status = change(command, &o);
        }
    }
    options_clear(&o);
    return status;
}
