/*
 * Fuzzes the changes to libvirt domains
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <stdlib.h>
#include <string.h>
#include "domain-llcsched.h"
#include "fuzz.h"

static void check(bool ok)
{
    if (!ok) {
        abort();
    }
}

/* The result of a call, or a reason, never both or neither. */
static char *add(const DomainXml *xml, const DomainLlcsched *what)
{
    g_autoptr(GError) err = NULL;
    char *text = domain_llcsched_add(xml, what, &err);

    check(!text == !!err);
    return text;
}

static char *take_out(const DomainXml *xml)
{
    g_autoptr(GError) err = NULL;
    char *text = domain_llcsched_remove(xml, DOMAIN_LLCSCHED_ID, &err);

    check(!text == !!err);
    return text;
}

static bool is_empty(const xmlNode *element)
{
    for (xmlNode *node = element->children; node; node = node->next) {
        if (!xmlIsBlankNode(node)) {
            return false;
        }
    }
    return true;
}

/* What is left empty by a removal goes, so what was empty before goes too. */
static bool has_empty(const DomainXml *xml)
{
    for (xmlNode *node = xml->root->children; node; node = node->next) {
        if (node->type == XML_ELEMENT_NODE && is_empty(node)) {
            return true;
        }
    }
    return false;
}

static void check_round_trip(const DomainXml *xml, const DomainLlcsched *what)
{
    g_autofree char *clean = take_out(xml);
    g_autofree char *with = add(xml, what);
    g_autoptr(DomainXml) result = NULL;
    g_autofree char *again = NULL;
    g_autofree char *back = NULL;

    if (!with) {
        return;
    }
    result = domain_xml_parse(with, strlen(with), NULL);
    check(result);
    again = add(result, what);
    check(!g_strcmp0(again, with));
    back = take_out(result);
    if (back && !g_strcmp0(clean, xml->text) && !has_empty(xml)) {
        check(!strcmp(back, xml->text));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autoptr(GError) err = NULL;
    g_autoptr(DomainXml) xml = domain_xml_parse((const char *)data, size, &err);
    const DomainLlcsched plain = {
        .id = DOMAIN_LLCSCHED_ID, .object = "", .group_last_vcpu = -1,
    };
    const DomainLlcsched full = {
        .id = DOMAIN_LLCSCHED_ID, .object = ",placement=core",
        .group = ",quota-us=5000", .group_last_vcpu = -1,
        .allow_affinity = true, .emulator = "/opt/<&'\">",
    };

    check(!xml == !!err);
    if (xml) {
        check_round_trip(xml, &plain);
        check_round_trip(xml, &full);
    }
    return 0;
}
