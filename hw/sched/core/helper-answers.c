/*
 * What the helper answers: the bodies of its messages
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <string.h>

#include "helper-protocol-int.h"

bool helper_cpus_parse(const char *name, const char *text,
                       HostCpuSet *ret_set, GError **err)
{
    if (host_cpuset_parse_list(text, ret_set)) {
        return true;
    }
    g_set_error(err, HELPER_PROTOCOL_ERROR, HELPER_PROTOCOL_ERROR_RANGE,
                "%s: not a list of CPUs below %d", name, HOST_CPU_MAX);
    return false;
}

GVariant *helper_welcome_body(const HostCpuSet *allowed)
{
    g_autofree char *list = host_cpuset_to_list(allowed);

    return g_variant_new("(s)", list);
}

bool helper_welcome_parse(const HelperMessage *message,
                          HostCpuSet *ret_allowed, GError **err)
{
    const char *list;

    g_assert(message->kind == HELPER_WELCOME);
    g_variant_get(message->body, "(&s)", &list);
    return helper_cpus_parse("CPUs that may be used", list, ret_allowed, err);
}

GVariant *helper_statuses_body(const GArray *statuses)
{
    return g_variant_new("(@ay)",
                         g_variant_new_fixed_array(G_VARIANT_TYPE_BYTE,
                                                   statuses->data,
                                                   statuses->len, 1));
}

static bool status_valid(uint8_t status, GError **err)
{
    return helper_in_range("status", status, 0, HELPER_STATUS_MAX - 1, err);
}

GArray *helper_statuses_parse(const HelperMessage *message, GError **err)
{
    g_autoptr(GVariant) value = NULL;
    const uint8_t *bytes;
    GArray *statuses;
    gsize n;

    g_assert(message->kind == HELPER_STATUSES);
    g_variant_get(message->body, "(@ay)", &value);
    bytes = g_variant_get_fixed_array(value, &n, 1);
    if (!helper_in_range("number of threads", n, 1, HELPER_THREADS_MAX, err)) {
        return NULL;
    }
    for (gsize i = 0; i < n; i++) {
        if (!status_valid(bytes[i], err)) {
            return NULL;
        }
    }
    statuses = g_array_new(FALSE, FALSE, 1);
    return g_array_append_vals(statuses, bytes, n);
}

GVariant *helper_loads_body(const HelperLoads *loads)
{
    GVariantBuilder builder;

    g_variant_builder_init(&builder, G_VARIANT_TYPE("a(uqqq)"));
    for (guint i = 0; i < loads->llcs->len; i++) {
        const HelperLlcLoad *llc = &g_array_index(loads->llcs, HelperLlcLoad,
                                                  i);

        g_variant_builder_add(&builder, "(uqqq)", llc->first_cpu, llc->busy,
                              llc->waiting, llc->claimed);
    }
    return g_variant_new("(tua(uqqq))", loads->view, loads->age_ms, &builder);
}

static GArray *llc_loads_parse(GVariant *list, GError **err)
{
    g_autoptr(GArray) llcs = g_array_new(FALSE, FALSE, sizeof(HelperLlcLoad));
    gsize n = g_variant_n_children(list);
    uint64_t least = 0;

    if (!helper_in_range("number of LLCs", n, 0, HELPER_LLCS_MAX, err)) {
        return NULL;
    }
    for (gsize i = 0; i < n; i++) {
        HelperLlcLoad llc;

        g_variant_get_child(list, i, "(uqqq)", &llc.first_cpu, &llc.busy,
                            &llc.waiting, &llc.claimed);
        if (!helper_in_range("first CPU of an LLC", llc.first_cpu, least,
                             HOST_CPU_MAX - 1, err) ||
            !helper_in_range("busy", llc.busy, 0, 1000, err)) {
            return NULL;
        }
        least = llc.first_cpu + 1;
        g_array_append_val(llcs, llc);
    }
    return g_steal_pointer(&llcs);
}

bool helper_loads_parse(const HelperMessage *message, HelperLoads *ret_loads,
                        GError **err)
{
    g_autoptr(GVariant) list = NULL;
    HelperLoads loads;

    g_assert(message->kind == HELPER_LOADS);
    g_variant_get(message->body, "(tu@a(uqqq))", &loads.view, &loads.age_ms,
                  &list);
    loads.llcs = llc_loads_parse(list, err);
    if (!loads.llcs) {
        return false;
    }
    *ret_loads = loads;
    return true;
}

GVariant *helper_claimed_body(const HelperClaimed *claimed)
{
    return g_variant_new("(ty)", claimed->view, claimed->status);
}

bool helper_claimed_parse(const HelperMessage *message,
                          HelperClaimed *ret_claimed, GError **err)
{
    uint64_t view;
    uint8_t status;

    g_assert(message->kind == HELPER_CLAIMED);
    g_variant_get(message->body, "(ty)", &view, &status);
    if (!status_valid(status, err)) {
        return false;
    }
    *ret_claimed = (HelperClaimed) { view, status };
    return true;
}

GVariant *helper_refusal_body(HelperStatus status, const char *text)
{
    g_autofree char *valid = g_utf8_make_valid(text, -1);
    g_autofree char *cut = g_utf8_substring(valid, 0,
                                            MIN(g_utf8_strlen(valid, -1),
                                                HELPER_TEXT_MAX / 4));
    /* Mostly ASCII: only what could be too long in bytes is cut. */
    bool whole = strlen(valid) <= HELPER_TEXT_MAX;

    return g_variant_new("(ys)", status, whole ? valid : cut);
}

char *helper_refusal_parse(const HelperMessage *message,
                           HelperStatus *ret_status, GError **err)
{
    const char *text;
    uint8_t status;

    g_assert(message->kind == HELPER_REFUSAL);
    g_variant_get(message->body, "(y&s)", &status, &text);
    if (!status_valid(status, err) ||
        !helper_in_range("length of a refusal", strlen(text), 0,
                         HELPER_TEXT_MAX, err)) {
        return NULL;
    }
    *ret_status = status;
    return g_strdup(text);
}
