/*
 * Changes to the text of a domain's XML
 *
 * What is put in is laid out as its surroundings are.  Taking an element out
 * takes the white space before it as well, so that it undoes putting it in.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef LLCSCHED_TOOL_DOMAIN_EDIT_H
#define LLCSCHED_TOOL_DOMAIN_EDIT_H

#include "domain-xml.h"

/* Changes that are collected, then made at once; they must not overlap. */
typedef struct DomainEdit DomainEdit;

/* @xml must live as long. */
DomainEdit *domain_edit_new(const DomainXml *xml);
void domain_edit_free(DomainEdit *edit); /* NULL is allowed */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DomainEdit, domain_edit_free)

void domain_edit_remove(DomainEdit *edit, DomainElement *element);

/* @element has no attribute and nothing in it is left but white space. */
bool domain_edit_is_bare(const DomainEdit *edit, const DomainElement *element);

/* Remove @element if it is that. */
void domain_edit_remove_bare(DomainEdit *edit, DomainElement *element);

/*
 * Elements are given as XML text, each in a line of its own where the text has
 * lines; @elements ends with NULL.
 *
 * domain_edit_append() puts them at the end of @parent, at most once for each
 * parent that is <empty/>; domain_edit_prepend() at its beginning;
 * domain_edit_before() before @element.  domain_edit_append_in() puts them at
 * the end of @parent inside a new element; @open is its start tag, @close its
 * end tag.
 */
void domain_edit_append(DomainEdit *edit, const DomainElement *parent,
                        char **elements);
void domain_edit_append_in(DomainEdit *edit, const DomainElement *parent,
                           const char *open, const char *close,
                           char **elements);
void domain_edit_prepend(DomainEdit *edit, const DomainElement *parent,
                         char **elements);
void domain_edit_before(DomainEdit *edit, const DomainElement *element,
                        char **elements);

/* The elements of an array that owns them, for the calls above. */
char **domain_edit_elements(GPtrArray *elements);

/* @text as an attribute's value, to the byte; the caller frees it. */
char *domain_edit_escape(const char *text);

/* What is between the tags of @element, which is not <empty/>. */
void domain_edit_set_content(DomainEdit *edit, const DomainElement *element,
                             const char *content);

/* The changed text; the caller frees it. */
char *domain_edit_apply(const DomainEdit *edit);

#endif
