/*
 * The emulator of a libvirt domain: set it, and give back what was there
 *
 * What was there is kept in <metadata>, which libvirt keeps.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <string.h>

#include "domain-emulator.h"

#define RECORD_NAMESPACE "urn:llcsched:domain:1"

static xmlNode *find_emulator(const DomainXml *xml)
{
    return domain_xml_child(domain_xml_child(xml->root, "devices", NULL),
                            "emulator", NULL);
}

/* What is between the tags of the emulator, as it is written there. */
static char *emulator_text(const DomainXml *xml, const xmlNode *emulator)
{
    const DomainSpan *span = domain_xml_span(emulator);

    return g_strndup(xml->text + span->open_end,
                     span->close_start - span->open_end);
}

static bool is_record(const xmlNode *node)
{
    return node->type == XML_ELEMENT_NODE && node->ns &&
           !strcmp((const char *)node->ns->href, RECORD_NAMESPACE);
}

static void restore(const DomainXml *xml, DomainEdit *edit, xmlNode *record)
{
    xmlNode *emulator = find_emulator(xml);
    g_autofree char *set = domain_xml_attribute(record, "emulator");
    g_autofree char *before = domain_xml_attribute(record, "before");
    g_autofree char *now = emulator ? domain_xml_content(emulator) : NULL;

    if (!set || !now || strcmp(set, now)) {
        return;
    }
    if (before) {
        domain_edit_set_content(edit, emulator, before);
    } else {
        domain_edit_remove(edit, emulator);
    }
}

/* There is one record, unless an editor copied it: then the first counts. */
void domain_emulator_restore(const DomainXml *xml, DomainEdit *edit)
{
    xmlNode *metadata = NULL, *node;
    bool found = false;

    while ((metadata = domain_xml_child(xml->root, "metadata", metadata))) {
        bool here = false;

        for (node = metadata->children; node; node = node->next) {
            if (is_record(node)) {
                if (!found) {
                    restore(xml, edit, node);
                }
                domain_edit_remove(edit, node);
                found = here = true;
            }
        }
        if (here) {
            domain_edit_remove_bare(edit, metadata);
        }
    }
}

static void add_record(const DomainXml *xml, DomainEdit *edit,
                       const char *emulator, const char *before)
{
    g_autoptr(GPtrArray) elements = g_ptr_array_new_with_free_func(g_free);
    xmlNode *metadata = domain_xml_child(xml->root, "metadata", NULL);
    g_autofree char *now = domain_edit_escape(emulator);
    g_autofree char *then = before ? domain_edit_escape(before) : NULL;
    g_autofree char *attribute = then ? g_strdup_printf(" before='%s'", then) :
                                 g_strdup("");

    g_ptr_array_add(elements, g_strdup_printf(
        "<llcsched:set xmlns:llcsched='" RECORD_NAMESPACE "' emulator='%s'%s/>",
        now, attribute));
    if (metadata && !domain_edit_is_bare(edit, metadata)) {
        domain_edit_append(edit, metadata, domain_edit_elements(elements));
    } else {
        if (metadata) {
            domain_edit_remove(edit, metadata);
        }
        domain_edit_append_in(edit, xml->root, "<metadata>", "</metadata>",
                              domain_edit_elements(elements));
    }
}

bool domain_emulator_set(const DomainXml *xml, DomainEdit *edit,
                         const char *path, GError **err)
{
    xmlNode *devices = domain_xml_child(xml->root, "devices", NULL);
    xmlNode *emulator = find_emulator(xml);
    g_autofree char *escaped = g_markup_escape_text(path, -1);
    g_autofree char *before = NULL;

    if (!devices || domain_xml_span(devices)->empty ||
        (emulator && domain_xml_span(emulator)->empty)) {
        domain_xml_fail(err, "--emulator: the domain has %s", emulator ? "an "
                        "empty <emulator/>, which libvirt refuses" : "no "
                        "devices, and <emulator> belongs there");
        return false;
    }
    if (emulator) {
        before = emulator_text(xml, emulator);
        domain_edit_set_content(edit, emulator, escaped);
    } else {
        g_autofree char *text = g_strdup_printf("<emulator>%s</emulator>",
                                                escaped);
        char *elements[] = { text, NULL };

        domain_edit_prepend(edit, devices, elements);
    }
    add_record(xml, edit, path, before);
    return true;
}
