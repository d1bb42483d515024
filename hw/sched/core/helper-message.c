/*
 * The packets of the helper's protocol: their outer form and their kinds
 *
 * The outer type is "(qquay)": version, kind, serial, and the body as bytes.
 * The body's type follows from the kind, by the table below, so that no type
 * and no depth of nesting comes from the other side.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "helper-protocol-int.h"

#define FRAME_TYPE "(qquay)"

static const struct {
    HelperKind kind;
    const char *type;
} kinds[] = {
    { HELPER_JOIN, "(qay)" },
    { HELPER_THREADS, "(au)" },
    { HELPER_AFFINITY, "(a(uat))" },
    { HELPER_TOPOLOGY, "()" },
    { HELPER_LOAD, "()" },
    { HELPER_CLAIM, "(tba(uu))" },
    { HELPER_HELLO, "(qqayuuu)" },
    { HELPER_WELCOME, "(s)" },
    { HELPER_STATUSES, "(ay)" },
    { HELPER_HOST, HELPER_HOST_TYPE },
    { HELPER_LOADS, "(tua(uqqq))" },
    { HELPER_CLAIMED, "(ty)" },
    { HELPER_REFUSAL, "(ys)" },
};

GQuark helper_protocol_error_quark(void)
{
    return g_quark_from_static_string("helper-protocol-error-quark");
}

const char *helper_status_explain(HelperStatus status)
{
    static const char *const texts[HELPER_STATUS_MAX] = {
        [HELPER_OK] = "done",
        [HELPER_NOT_YOURS] = "that is no thread of the caller's process",
        [HELPER_NOTHING_ALLOWED] = "no CPU of the mask is online, in the "
            "thread's cpuset and allowed by the helper's configuration",
        [HELPER_CHANGED_HANDS] = "the thread ended meanwhile",
        [HELPER_DENIED] = "the kernel refuses; see the helper's log",
        [HELPER_TOO_MANY] = "more than the helper's limits, or the caller's "
            "threads, allow",
        [HELPER_STALE] = "others have claimed last-level caches since; look "
            "at the load again",
        [HELPER_UNKNOWN_LLC] = "the caller has no last-level cache with that "
            "first CPU; ask for the topology again",
        [HELPER_UNAVAILABLE] = "not available on this host",
        [HELPER_BAD_MESSAGE] = "against the protocol",
    };

    return status < HELPER_STATUS_MAX ? texts[status] : "an unknown status";
}

static const char *type_of(unsigned kind)
{
    for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++) {
        if (kinds[i].kind == kind) {
            return kinds[i].type;
        }
    }
    return NULL;
}

void helper_message_clear(HelperMessage *message)
{
    g_clear_pointer(&message->body, g_variant_unref);
}

GBytes *helper_message_encode(HelperKind kind, uint32_t serial, GVariant *body)
{
    g_autoptr(GVariant) inner = NULL;
    g_autoptr(GVariant) frame = NULL;

    if (!body) {
        body = g_variant_new_tuple(NULL, 0);
    }
    inner = g_variant_ref_sink(body);
    g_assert(g_variant_is_of_type(inner, G_VARIANT_TYPE(type_of(kind))));
    frame = g_variant_new("(qqu@ay)", HELPER_PROTOCOL_VERSION, kind, serial,
                          g_variant_new_fixed_array(G_VARIANT_TYPE_BYTE,
                                                    g_variant_get_data(inner),
                                                    g_variant_get_size(inner),
                                                    1));
    g_variant_ref_sink(frame);
    return g_variant_get_data_as_bytes(frame);
}

/* A value of @type in @bytes, or NULL unless its form is the normal one. */
static GVariant *value_in(const char *type, GBytes *bytes)
{
    GVariant *value = g_variant_new_from_bytes(G_VARIANT_TYPE(type), bytes,
                                               FALSE);

    g_variant_ref_sink(value);
    if (!g_variant_is_normal_form(value)) {
        g_clear_pointer(&value, g_variant_unref);
    }
    return value;
}

static bool malformed(GError **err, const char *what)
{
    g_set_error(err, HELPER_PROTOCOL_ERROR, HELPER_PROTOCOL_ERROR_MALFORMED,
                "%s: expected a message of version %d in normal form", what,
                HELPER_PROTOCOL_VERSION);
    return false;
}

bool helper_message_decode(const void *data, size_t len, size_t max,
                           HelperMessage *ret_message, GError **err)
{
    g_autoptr(GBytes) bytes = NULL;
    g_autoptr(GBytes) inner = NULL;
    g_autoptr(GVariant) frame = NULL;
    g_autoptr(GVariant) array = NULL;
    uint16_t version, kind;
    uint32_t serial;
    GVariant *body;
    const char *type;

    if (len == 0 || len > max) {
        return malformed(err, len ? "a packet that is too long"
                                  : "an empty packet");
    }
    bytes = g_bytes_new(data, len);
    frame = value_in(FRAME_TYPE, bytes);
    if (!frame) {
        return malformed(err, "a packet of another form");
    }
    g_variant_get(frame, "(qqu@ay)", &version, &kind, &serial, &array);
    if (version != HELPER_PROTOCOL_VERSION) {
        g_set_error(err, HELPER_PROTOCOL_ERROR, HELPER_PROTOCOL_ERROR_VERSION,
                    "version %u of the protocol: this side speaks version %d; "
                    "install a QEMU and a qemu-llcsched-helper that belong "
                    "together", version, HELPER_PROTOCOL_VERSION);
        return false;
    }
    type = type_of(kind);
    if (!type) {
        return malformed(err, "a message of an unknown kind");
    }
    inner = g_variant_get_data_as_bytes(array);
    body = value_in(type, inner);
    if (!body) {
        return malformed(err, "a message whose body has another form");
    }
    *ret_message = (HelperMessage) { kind, serial, body };
    return true;
}

bool helper_range_error(GError **err, const char *name, uint64_t value,
                        uint64_t min, uint64_t max)
{
    g_set_error(err, HELPER_PROTOCOL_ERROR, HELPER_PROTOCOL_ERROR_RANGE,
                "%s: %" G_GUINT64_FORMAT " is not in %" G_GUINT64_FORMAT
                "..%" G_GUINT64_FORMAT, name, value, min, max);
    return false;
}

bool helper_in_range(const char *name, uint64_t value, uint64_t min,
                     uint64_t max, GError **err)
{
    return (value >= min && value <= max) ||
           helper_range_error(err, name, value, min, max);
}
