/*
 * Changes to the text of a domain's XML
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <string.h>

#include "domain-edit.h"

/* Replace what is from @start to @end. */
typedef struct Change {
    size_t start, end;
    char *text;
} Change;

struct DomainEdit {
    const DomainXml *xml;
    GArray *changes;      /* Change, in order of their calls */
    GPtrArray *removed;   /* DomainElement */
};

static void change_clear(void *data)
{
    g_free(((Change *)data)->text);
}

DomainEdit *domain_edit_new(const DomainXml *xml)
{
    DomainEdit *edit = g_new0(DomainEdit, 1);

    edit->xml = xml;
    edit->changes = g_array_new(FALSE, FALSE, sizeof(Change));
    g_array_set_clear_func(edit->changes, change_clear);
    edit->removed = g_ptr_array_new();
    return edit;
}

void domain_edit_free(DomainEdit *edit)
{
    if (edit) {
        g_array_unref(edit->changes);
        g_ptr_array_unref(edit->removed);
        g_free(edit);
    }
}

static void add_change(DomainEdit *edit, size_t start, size_t end, char *text)
{
    Change change = { start, end, text };

    g_array_append_val(edit->changes, change);
}

/* Where the white space that ends at @end begins, not before @limit. */
static size_t space_start(const DomainXml *xml, size_t limit, size_t end)
{
    while (end > limit && strchr(" \t\r\n", xml->text[end - 1])) {
        end--;
    }
    return end;
}

/* Where the white space before @element begins. */
static size_t before_start(const DomainXml *xml, const DomainElement *element)
{
    return space_start(xml, 0, domain_xml_span(element)->start);
}

/*
 * The line break and blanks before an element; empty if it does not begin a
 * line.  Blank lines are not imitated.  The caller frees it.
 */
static char *layout_of(const DomainXml *xml, const DomainElement *element)
{
    size_t end = domain_xml_span(element)->start;
    size_t start = before_start(xml, element);
    const char *line = memrchr(xml->text + start, '\n', end - start);

    if (!line) {
        return g_strdup("");
    }
    if (line > xml->text + start && line[-1] == '\r') {
        line--;
    }
    return g_strndup(line, xml->text + end - line);
}

/* By how much an element is indented more than the one around it. */
static char *indent_unit(const DomainXml *xml)
{
    DomainElement *first = domain_xml_first_child(xml->root);
    g_autofree char *layout = first ? layout_of(xml, first) : g_strdup("\n  ");
    const char *line = strrchr(layout, '\n');

    return g_strdup(line ? line + 1 : "");
}

/* What goes before a child of @parent. */
static char *child_layout(const DomainXml *xml, const DomainElement *parent)
{
    DomainElement *first = domain_xml_first_child(parent);
    g_autofree char *outer = NULL;
    g_autofree char *unit = NULL;

    if (first) {
        return layout_of(xml, first);
    }
    unit = indent_unit(xml);
    if (parent == xml->root) {
        return g_strconcat("\n", unit, NULL);
    }
    outer = layout_of(xml, parent);
    return *outer ? g_strconcat(outer, unit, NULL) : g_strdup("");
}

static char *lay_out(const char *layout, char **elements)
{
    GString *text = g_string_new(NULL);

    for (; *elements; elements++) {
        g_string_append(text, layout);
        g_string_append(text, *elements);
    }
    return g_string_free(text, FALSE);
}

/* Make a <name/> a <name>@content</name>. */
static void fill_empty(DomainEdit *edit, const DomainElement *element,
                       const char *content)
{
    const DomainXml *xml = edit->xml;
    const DomainSpan *span = domain_xml_span(element);
    const char *name = xml->text + span->start + 1;
    size_t len = strcspn(name, " \t\r\n/>");
    size_t start = space_start(xml, 0, span->end - 2);
    g_autofree char *outer = element == xml->root ? g_strdup("\n") :
                             layout_of(xml, element);

    add_change(edit, start, span->end,
               g_strdup_printf(">%s%s</%.*s>", content, outer, (int)len, name));
}

static void append_text(DomainEdit *edit, const DomainElement *parent,
                        char *text)
{
    const DomainSpan *span = domain_xml_span(parent);
    size_t at;

    if (span->empty) {
        fill_empty(edit, parent, text);
        g_free(text);
        return;
    }
    at = space_start(edit->xml, span->open_end, span->close_start);
    add_change(edit, at, at, text);
}

void domain_edit_append(DomainEdit *edit, const DomainElement *parent,
                        char **elements)
{
    g_autofree char *layout = child_layout(edit->xml, parent);

    append_text(edit, parent, lay_out(layout, elements));
}

void domain_edit_append_in(DomainEdit *edit, const DomainElement *parent,
                           const char *open, const char *close,
                           char **elements)
{
    g_autofree char *outer = child_layout(edit->xml, parent);
    g_autofree char *unit = indent_unit(edit->xml);
    g_autofree char *inner = *outer ? g_strconcat(outer, unit, NULL) :
                             g_strdup("");
    g_autofree char *text = lay_out(inner, elements);

    append_text(edit, parent, g_strconcat(outer, open, text, outer, close,
                                          NULL));
}

void domain_edit_prepend(DomainEdit *edit, const DomainElement *parent,
                         char **elements)
{
    const DomainSpan *span = domain_xml_span(parent);
    g_autofree char *layout = child_layout(edit->xml, parent);
    char *text = lay_out(layout, elements);

    if (span->empty) {
        fill_empty(edit, parent, text);
        g_free(text);
    } else {
        add_change(edit, span->open_end, span->open_end, text);
    }
}

void domain_edit_before(DomainEdit *edit, const DomainElement *element,
                        char **elements)
{
    size_t at = before_start(edit->xml, element);
    g_autofree char *layout = layout_of(edit->xml, element);

    add_change(edit, at, at, lay_out(layout, elements));
}

void domain_edit_set_content(DomainEdit *edit, const DomainElement *element,
                             const char *content)
{
    const DomainSpan *span = domain_xml_span(element);

    add_change(edit, span->open_end, span->close_start, g_strdup(content));
}

bool domain_edit_is_bare(const DomainEdit *edit, const DomainElement *element)
{
    const DomainElement *node;

    if (element->properties) {
        return false;
    }
    for (node = element->children; node; node = node->next) {
        if (!xmlIsBlankNode((xmlNode *)node) &&
            !g_ptr_array_find(edit->removed, node, NULL)) {
            return false;
        }
    }
    return true;
}

void domain_edit_remove(DomainEdit *edit, DomainElement *element)
{
    if (!g_ptr_array_find(edit->removed, element, NULL)) {
        g_ptr_array_add(edit->removed, element);
    }
}

void domain_edit_remove_bare(DomainEdit *edit, DomainElement *element)
{
    if (domain_edit_is_bare(edit, element)) {
        domain_edit_remove(edit, element);
    }
}

static bool is_inside(const DomainSpan *span, const DomainElement *other)
{
    const DomainSpan *outer = domain_xml_span(other);

    return outer->start < span->start && span->end <= outer->end;
}

/* The removals, each once: not those inside of others. */
static void add_removals(const DomainEdit *edit, GArray *changes)
{
    for (guint i = 0; i < edit->removed->len; i++) {
        const DomainElement *node = edit->removed->pdata[i];
        const DomainSpan *span = domain_xml_span(node);
        bool covered = false;

        for (guint j = 0; j < edit->removed->len; j++) {
            covered |= is_inside(span, edit->removed->pdata[j]);
        }
        if (!covered) {
            Change change = { before_start(edit->xml, node), span->end, NULL };

            g_array_append_val(changes, change);
        }
    }
}

static gint compare_starts(const void *a, const void *b)
{
    const Change *x = a, *y = b;

    return x->start < y->start ? -1 : x->start > y->start;
}

char *domain_edit_apply(const DomainEdit *edit)
{
    g_autoptr(GArray) changes = g_array_new(FALSE, FALSE, sizeof(Change));
    GString *text = g_string_new(NULL);
    size_t done = 0;

    /* g_array_sort() is stable: what is put in one place keeps its order. */
    if (edit->changes->len) {
        g_array_append_vals(changes, edit->changes->data, edit->changes->len);
    }
    add_removals(edit, changes);
    g_array_sort(changes, compare_starts);
    for (guint i = 0; i < changes->len; i++) {
        const Change *change = &g_array_index(changes, Change, i);

        g_assert(change->start >= done);
        g_string_append_len(text, edit->xml->text + done,
                            change->start - done);
        g_string_append(text, change->text ? change->text : "");
        done = change->end;
    }
    g_string_append_len(text, edit->xml->text + done, edit->xml->len - done);
    return g_string_free(text, FALSE);
}

char **domain_edit_elements(GPtrArray *elements)
{
    g_ptr_array_add(elements, NULL);
    return (char **)elements->pdata;
}

/* An attribute's line breaks would be read as blanks. */
char *domain_edit_escape(const char *text)
{
    g_autofree char *markup = g_markup_escape_text(text, -1);
    GString *escaped = g_string_new(NULL);

    for (const char *c = markup; *c; c++) {
        if (strchr("\t\r\n", *c)) {
            g_string_append_printf(escaped, "&#%d;", *c);
        } else {
            g_string_append_c(escaped, *c);
        }
    }
    return g_string_free(escaped, FALSE);
}
