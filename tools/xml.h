/*
 * qemu-llcsched xml: the properties of the objects as options
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef LLCSCHED_TOOL_XML_H
#define LLCSCHED_TOOL_XML_H

#include "tool.h"

/* An upper limit of the number of properties, checked at compile time. */
#define XML_PROPERTIES_MAX 24

/* The texts given, in the order of the table; NULL: not given. */
typedef struct XmlProperties {
    char *values[XML_PROPERTIES_MAX];
} XmlProperties;

/* Add an entry for each to @entries, of at least XML_PROPERTIES_MAX. */
int xml_properties_entries(XmlProperties *p, GOptionEntry *entries);
void xml_properties_clear(XmlProperties *p);

/* The option of the first that was given, or NULL. */
const char *xml_properties_given(const XmlProperties *p);

/*
 * Check the values and write those of the llcsched object, and of its group
 * (NULL: none was given), as they go behind an id in -object.
 * @ret_last_vcpu: the highest that the group names, or -1.
 */
int xml_properties_text(const ToolCommand *command, const XmlProperties *p,
                        char **ret_object, char **ret_group,
                        int *ret_last_vcpu);

/*
 * The XML of @domain as virsh has it, or with NULL of standard input; cut
 * behind DOMAIN_XML_MAX + 1 bytes.  NULL with @err set.
 */
GByteArray *xml_input(const char *connect, const char *domain, GError **err);

/* Whether @text can be the id of an object. */
bool xml_is_id(const char *text);

#endif
