/*
 * A libvirt domain's XML: its tree, and where in the text each element is
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <string.h>
#include <libxml/SAX2.h>
#include <libxml/parser.h>
#include <libxml/parserInternals.h>

#include "hw/sched/guest-topology.h"
#include "domain-xml.h"

GQuark domain_xml_error_quark(void)
{
    return g_quark_from_static_string("domain-xml-error");
}

/* Below libxml2's own limit of 256; domains nest about ten elements. */
#define DEPTH_MAX 100

/* What the parser's callbacks know; it is the context's _private. */
typedef struct Parse {
    DomainXml *xml;
    bool doctype;       /* seen, and stopped at */
    bool deep;          /* nested too deep, and stopped at */
    bool lost;          /* the parser's offsets are not what they should be */
} Parse;

void domain_xml_fail(GError **err, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    g_propagate_error(err, g_error_new_valist(DOMAIN_XML_ERROR, 0, format,
                                              args));
    va_end(args);
}

/* Markup begins with the last '<' before @end: nowhere else can one stand. */
static size_t tag_start(const DomainXml *xml, size_t end)
{
    const char *start = memrchr(xml->text, '<', end);

    return start ? start - xml->text : 0;
}

/* The parser stands at the '>' or '/>' of the start tag. */
static void on_start(void *ctx, const xmlChar *localname,
                     const xmlChar *prefix, const xmlChar *uri,
                     int n_namespaces, const xmlChar **namespaces,
                     int n_attributes, int n_defaulted,
                     const xmlChar **attributes)
{
    xmlParserCtxt *ctxt = ctx;
    Parse *parse = ctxt->_private;
    long at = xmlByteConsumed(ctxt);
    DomainSpan *span;

    xmlSAX2StartElementNs(ctx, localname, prefix, uri, n_namespaces,
                          namespaces, n_attributes, n_defaulted, attributes);
    /* Without memory for a node, ctxt->node is still the one above. */
    if (!ctxt->node || ctxt->node->_private) {
        return;
    }
    if (ctxt->nodeNr > DEPTH_MAX) {
        parse->deep = true;
        xmlStopParser(ctxt);
        return;
    }
    if (at <= 0 || at >= parse->xml->len ||
        !strchr("/>", parse->xml->text[at])) {
        parse->lost = true;
        at = 1;
    }
    span = g_new0(DomainSpan, 1);
    span->start = tag_start(parse->xml, at);
    span->empty = parse->xml->text[at] == '/';
    span->open_end = at + (span->empty ? 2 : 1);
    span->close_start = span->end = span->open_end;
    ctxt->node->_private = span;
    g_ptr_array_add(parse->xml->spans, span);
}

/* The parser stands behind the end tag. */
static void on_end(void *ctx, const xmlChar *localname, const xmlChar *prefix,
                   const xmlChar *uri)
{
    xmlParserCtxt *ctxt = ctx;
    Parse *parse = ctxt->_private;
    DomainSpan *span = ctxt->node ? ctxt->node->_private : NULL;
    long at = xmlByteConsumed(ctxt);

    if (!span || at < span->open_end || at > parse->xml->len ||
        parse->xml->text[at - 1] != '>') {
        parse->lost = true;
    } else if (!span->empty) {
        span->end = at;
        span->close_start = tag_start(parse->xml, at);
    }
    xmlSAX2EndElementNs(ctx, localname, prefix, uri);
}

/* Called at the DOCTYPE's name, before anything in it is read. */
static void on_doctype(void *ctx, const xmlChar *name, const xmlChar *external,
                       const xmlChar *system)
{
    xmlParserCtxt *ctxt = ctx;

    ((Parse *)ctxt->_private)->doctype = true;
    xmlStopParser(ctxt);
}

/* The parser's message, as part of a sentence; the caller frees it. */
static char *parser_message(xmlParserCtxt *ctxt)
{
    const xmlError *error = xmlCtxtGetLastError(ctxt);
    /* Messages quote names, which can be long. */
    char *text = g_strndup(error && error->message ? error->message :
                           "unknown error", 160);

    g_strstrip(text);
    for (char *c = text; *c; c++) {
        if (g_ascii_iscntrl(*c)) {
            *c = ' ';
        }
    }
    return text;
}

static void tell_why(xmlParserCtxt *ctxt, const Parse *parse, GError **err)
{
    const xmlError *error = xmlCtxtGetLastError(ctxt);
    g_autofree char *message = NULL;

    if (parse->doctype) {
        domain_xml_fail(err, "the XML has a DOCTYPE, which no domain needs and "
                        "which can hide entities: take it out");
    } else if (error && error->code == XML_ERR_DOCUMENT_END) {
        domain_xml_fail(err, "line %d: there is something behind the first "
                        "element: give one domain at a time", error->line);
    } else if (parse->deep) {
        domain_xml_fail(err, "elements of the XML are nested more than %d "
                        "deep: that is no domain", DEPTH_MAX);
    } else {
        message = parser_message(ctxt);
        domain_xml_fail(err, "the input is not XML: line %d: %s", error ?
                        error->line : 0, message);
    }
}

static bool is_utf8_name(const xmlChar *encoding)
{
    static const char *const names[] = { "UTF-8", "UTF8", "US-ASCII", "ASCII" };

    for (int i = 0; encoding && i < G_N_ELEMENTS(names); i++) {
        if (!g_ascii_strcasecmp((const char *)encoding, names[i])) {
            return true;
        }
    }
    return !encoding;
}

static bool parse_text(DomainXml *xml, GError **err)
{
    xmlParserCtxt *ctxt = xmlNewParserCtxt();
    Parse parse = { .xml = xml };

    if (!ctxt) {
        domain_xml_fail(err, "no memory for the XML parser");
        return false;
    }
    ctxt->_private = &parse;
    ctxt->sax->startElementNs = on_start;
    ctxt->sax->endElementNs = on_end;
    ctxt->sax->internalSubset = on_doctype;
    xml->doc = xmlCtxtReadMemory(ctxt, xml->text, xml->len, NULL, NULL,
                                 XML_PARSE_NONET | XML_PARSE_NOERROR |
                                 XML_PARSE_NOWARNING);
    if (!xml->doc || parse.doctype || parse.deep || !ctxt->nsWellFormed) {
        tell_why(ctxt, &parse, err);
        xmlFreeParserCtxt(ctxt);
        return false;
    }
    xmlFreeParserCtxt(ctxt);
    if (!is_utf8_name(xml->doc->encoding)) {
        domain_xml_fail(err, "the XML is encoded in %.40s: convert it to "
                        "UTF-8, as libvirt writes it",
                        (const char *)xml->doc->encoding);
        return false;
    }
    if (parse.lost) {
        domain_xml_fail(err, "this libxml2 (%s) does not tell where elements "
                        "are: please report it", xmlParserVersion);
        return false;
    }
    return true;
}

static bool check_root(DomainXml *xml, GError **err)
{
    xmlNode *root = xmlDocGetRootElement(xml->doc);
    g_autofree char *type = NULL;

    if (strcmp((const char *)root->name, "domain") || root->ns) {
        domain_xml_fail(err, "the XML is no libvirt domain: its outermost "
                        "element is <%.40s>%s", (const char *)root->name,
                        root->ns ? " in a namespace" : "");
        return false;
    }
    type = domain_xml_attribute(root, "type");
    if (!type) {
        domain_xml_fail(err, "the domain has no type: it should begin with "
                        "<domain type='kvm'>");
        return false;
    }
    if (strcmp(type, "kvm") && strcmp(type, "qemu")) {
        domain_xml_fail(err, "the domain is of type '%.40s': llcsched is a "
                        "part of QEMU, so only domains of type 'kvm' and "
                        "'qemu' can have it", type);
        return false;
    }
    xml->root = root;
    return true;
}

static bool check_bytes(const char *text, size_t len, GError **err)
{
    const char *bad;

    if (len > DOMAIN_XML_MAX) {
        domain_xml_fail(err, "the XML is larger than %d MiB, the most that "
                        "libvirt takes", DOMAIN_XML_MAX >> 20);
        return false;
    }
    if (!len) {
        domain_xml_fail(err, "there is no XML: the input is empty");
        return false;
    }
    if (!g_utf8_validate(text, len, &bad)) {
        domain_xml_fail(err, "the input is not UTF-8 text: byte %zu", bad -
                        text);
        return false;
    }
    return true;
}

DomainXml *domain_xml_parse(const char *text, size_t len, GError **err)
{
    g_autoptr(DomainXml) xml = NULL;

    if (!check_bytes(text, len, err)) {
        return NULL;
    }
    xml = g_new0(DomainXml, 1);
    xml->text = g_strndup(text, len);
    xml->len = len;
    xml->spans = g_ptr_array_new_with_free_func(g_free);
    if (!parse_text(xml, err) || !check_root(xml, err)) {
        return NULL;
    }
    return g_steal_pointer(&xml);
}

void domain_xml_free(DomainXml *xml)
{
    if (xml) {
        xmlFreeDoc(xml->doc);
        g_ptr_array_unref(xml->spans);
        g_free(xml->text);
        g_free(xml);
    }
}

const DomainSpan *domain_xml_span(const xmlNode *element)
{
    return element->_private;
}

static xmlNode *find_child(const xmlNode *parent, const char *name,
                           const char *uri, const xmlNode *after)
{
    xmlNode *node = after ? after->next : parent ? parent->children : NULL;

    for (; node; node = node->next) {
        const char *has = node->type == XML_ELEMENT_NODE && node->ns ?
                          (const char *)node->ns->href : NULL;

        if (node->type == XML_ELEMENT_NODE && !g_strcmp0(has, uri) &&
            !strcmp((const char *)node->name, name)) {
            return node;
        }
    }
    return NULL;
}

xmlNode *domain_xml_child(const xmlNode *parent, const char *name,
                          const xmlNode *after)
{
    return find_child(parent, name, NULL, after);
}

xmlNode *domain_xml_qemu_child(const xmlNode *parent, const char *name,
                               const xmlNode *after)
{
    return find_child(parent, name, DOMAIN_QEMU_NAMESPACE, after);
}

xmlNode *domain_xml_first_child(const xmlNode *parent)
{
    return xmlFirstElementChild((xmlNode *)parent);
}

/* What libxml2 allocated, as GLib's. */
static char *take_string(xmlChar *text)
{
    char *copy = g_strdup((const char *)text);

    xmlFree(text);
    return copy;
}

char *domain_xml_attribute(const xmlNode *element, const char *name)
{
    return take_string(xmlGetNoNsProp((xmlNode *)element,
                                      (const xmlChar *)name));
}

char *domain_xml_content(const xmlNode *element)
{
    char *text = take_string(xmlNodeGetContent((xmlNode *)element));

    return text ? g_strstrip(text) : g_strdup("");
}

unsigned domain_xml_vcpus(const DomainXml *xml, GError **err)
{
    const xmlNode *vcpu = domain_xml_child(xml->root, "vcpu", NULL);
    g_autofree char *text = NULL;
    guint64 count;

    if (!vcpu) {
        return 1; /* libvirt's rule */
    }
    text = domain_xml_content(vcpu);
    if (!g_ascii_string_to_unsigned(text, 10, 1, GUEST_VCPU_MAX, &count,
                                    NULL)) {
        domain_xml_fail(err, "<vcpu> is '%.40s': it should be a number from 1 "
                        "to %d", text, GUEST_VCPU_MAX);
        return 0;
    }
    return count;
}
