/*
 * A libvirt domain's XML: its tree, and where in the text each element is
 *
 * The tree answers questions; changes are made to the text, so that all that
 * is not changed stays as it was, to the byte.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef LLCSCHED_TOOL_DOMAIN_XML_H
#define LLCSCHED_TOOL_DOMAIN_XML_H

#include <glib.h>
#include <stdbool.h>
#include <libxml/tree.h>

/* The longest string that libvirt's own protocol carries. */
#define DOMAIN_XML_MAX (4 * 1024 * 1024)

#define DOMAIN_QEMU_NAMESPACE "http://libvirt.org/schemas/domain/qemu/1.0"

/* Offsets into the text; an <empty/> element has all but @start equal. */
typedef struct DomainSpan {
    size_t start;       /* of "<name" */
    size_t open_end;    /* behind the start tag */
    size_t close_start; /* of "</name>" */
    size_t end;         /* behind the end tag */
    bool empty;         /* <name/> */
} DomainSpan;

/* A node of the tree that is an element. */
typedef xmlNode DomainElement;

typedef struct DomainXml {
    char *text;         /* terminated */
    size_t len;
    xmlDoc *doc;
    xmlNode *root;      /* <domain> */
    GPtrArray *spans;   /* DomainSpan; xmlNode._private is one of them */
} DomainXml;

/*
 * Parse @text, of DOMAIN_XML_MAX bytes at most, which must be one domain of a
 * type that QEMU runs.  No network, no DTD, no entities but XML's own five.
 * NULL and @err: a sentence, without full stop, on what is wrong.
 */
DomainXml *domain_xml_parse(const char *text, size_t len, GError **err);
void domain_xml_free(DomainXml *xml); /* NULL is allowed */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DomainXml, domain_xml_free)

const DomainSpan *domain_xml_span(const xmlNode *element);

/*
 * The first child element of @parent called @name, in no namespace or, with
 * @qemu, in that of libvirt's QEMU extensions; the next one behind @after if
 * that is not NULL.  NULL: there is none, or no @parent.
 */
xmlNode *domain_xml_child(const xmlNode *parent, const char *name,
                          const xmlNode *after);
xmlNode *domain_xml_qemu_child(const xmlNode *parent, const char *name,
                               const xmlNode *after);

/* Any first child element, or NULL. */
xmlNode *domain_xml_first_child(const xmlNode *parent);

/* The caller frees both; the first is NULL if there is no such attribute. */
char *domain_xml_attribute(const xmlNode *element, const char *name);
char *domain_xml_content(const xmlNode *element); /* stripped */

/* The most vCPUs that the domain can have, 1 to 4096; 0 and @err: nonsense. */
unsigned domain_xml_vcpus(const DomainXml *xml, GError **err);

/* Set @err to a sentence, without full stop. */
void domain_xml_fail(GError **err, const char *format, ...)
    G_GNUC_PRINTF(2, 3);

#define DOMAIN_XML_ERROR domain_xml_error_quark()
GQuark domain_xml_error_quark(void);

#endif
