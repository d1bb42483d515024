/*
 * The text form of a host: parser
 *
 * One key a line; what a line may hold is in tests/hosts/README.md.  Strict:
 * a description is written by hand, so what is not understood is a mistake.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <string.h>
#include "host-description-parse.h"

/* A host of HOST_CPU_MAX CPUs, each line apart, stays well below these. */
#define TEXT_MAX (4 * 1024 * 1024)
#define LINES_MAX 100000
#define WORDS_MAX (HOST_NODE_MAX + 16)

GQuark host_description_error_quark(void)
{
    return g_quark_from_static_string("host-description-error-quark");
}

/* The words of @text up to its comment; empty ones are left out. */
static void split_line(Parser *p, char *text)
{
    char **words;

    text[strcspn(text, "#\r")] = '\0';
    words = g_strsplit_set(text, " \t", WORDS_MAX);
    p->words = g_new0(char *, g_strv_length(words) + 1);
    p->n_words = 0;
    for (char **word = words; *word; word++) {
        if (**word) {
            p->words[p->n_words++] = *word;
        } else {
            g_free(*word);
        }
    }
    g_free(words);
}

static int compare_nodes(const void *a, const void *b)
{
    return ((const DescribedNode *)a)->id - ((const DescribedNode *)b)->id;
}

/* What can only be said of the whole text. */
static bool check_whole(Parser *p)
{
    HostDescription *desc = p->desc;

    p->line = MAX(p->line, 1);
    if (!p->seen_cpus) {
        g_set_error(p->err, HOST_DESCRIPTION_ERROR,
                    HOST_DESCRIPTION_ERROR_SYNTAX,
                    "line %d: there is no 'cpus' line", p->line);
        return false;
    }
    for (guint i = 0; i < desc->nodes->len; i++) {
        DescribedNode *node = &g_array_index(desc->nodes, DescribedNode, i);

        if (node->distances && node->n_distances != desc->nodes->len) {
            g_set_error(p->err, HOST_DESCRIPTION_ERROR,
                        HOST_DESCRIPTION_ERROR_SYNTAX,
                        "line %d: %d distances for %u nodes",
                        node->distance_line, node->n_distances,
                        desc->nodes->len);
            return false;
        }
    }
    g_array_sort(desc->nodes, compare_nodes);
    return true;
}

static bool parse_text(Parser *p, const char *text, gsize len)
{
    g_autofree char *copy = g_strndup(text, len);
    g_auto(GStrv) lines = NULL;

    if (len > TEXT_MAX || strlen(copy) != len) {
        g_set_error(p->err, HOST_DESCRIPTION_ERROR,
                    HOST_DESCRIPTION_ERROR_SYNTAX,
                    "longer than %d bytes, or not a text", TEXT_MAX);
        return false;
    }
    lines = g_strsplit(copy, "\n", LINES_MAX + 1);
    if (g_strv_length(lines) > LINES_MAX) {
        g_set_error(p->err, HOST_DESCRIPTION_ERROR,
                    HOST_DESCRIPTION_ERROR_SYNTAX,
                    "more than %d lines", LINES_MAX);
        return false;
    }
    for (char **line = lines; *line; line++) {
        bool good = true;

        p->line++;
        split_line(p, *line);
        if (p->n_words) {
            int n = p->n_words;

            good = description_parse_line(p);
            p->n_words = n;
        }
        g_strfreev(p->words);
        p->words = NULL;
        if (!good) {
            return false;
        }
    }
    return check_whole(p);
}

HostDescription *host_description_parse(const char *text, gsize len,
                                        GError **err)
{
    g_autofree Parser *p = g_new0(Parser, 1);
    g_autoptr(HostDescription) desc = g_new0(HostDescription, 1);
    bool good;

    desc->caches = g_array_new(FALSE, TRUE, sizeof(DescribedCache));
    desc->cores = g_array_new(FALSE, TRUE, sizeof(HostCpuSet));
    desc->packages = g_array_new(FALSE, TRUE, sizeof(DescribedPackage));
    desc->nodes = g_array_new(FALSE, TRUE, sizeof(DescribedNode));
    desc->offline_nodes = g_array_new(FALSE, TRUE, sizeof(DescribedPackage));
    p->desc = desc;
    p->err = err;
    good = parse_text(p, text, len);
    for (int i = 0; i < CACHE_SLOTS; i++) {
        g_free(p->in_cache[i]);
    }
    return good ? g_steal_pointer(&desc) : NULL;
}

void host_description_free(HostDescription *desc)
{
    if (!desc) {
        return;
    }
    for (guint i = 0; i < desc->nodes->len; i++) {
        g_free(g_array_index(desc->nodes, DescribedNode, i).distances);
    }
    g_array_unref(desc->nodes);
    g_array_unref(desc->offline_nodes);
    g_array_unref(desc->packages);
    g_array_unref(desc->cores);
    g_array_unref(desc->caches);
    g_free(desc->capacities);
    g_free(desc);
}
