/*
 * What a VM asks of the helper: the bodies of its messages
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <string.h>

#include "helper-protocol-int.h"

/* All CPUs of the largest host. */
#define CLAIM_AMOUNT_MAX (HOST_CPU_MAX * 1000u)

static GVariant *nonce_value(const uint8_t *nonce)
{
    return g_variant_new_fixed_array(G_VARIANT_TYPE_BYTE, nonce,
                                     HELPER_NONCE_SIZE, 1);
}

static bool nonce_parse(GVariant *value, uint8_t *ret_nonce, GError **err)
{
    gsize n;
    const uint8_t *bytes = g_variant_get_fixed_array(value, &n, 1);

    if (!helper_in_range("length of the nonce", n, HELPER_NONCE_SIZE,
                         HELPER_NONCE_SIZE, err)) {
        return false;
    }
    memcpy(ret_nonce, bytes, HELPER_NONCE_SIZE);
    return true;
}

GVariant *helper_hello_body(const HelperHello *hello)
{
    return g_variant_new("(qq@ayuuu)", hello->lowest, hello->highest,
                         nonce_value(hello->nonce), hello->rate, hello->burst,
                         hello->threads);
}

bool helper_hello_parse(const HelperMessage *message, HelperHello *ret_hello,
                        GError **err)
{
    g_autoptr(GVariant) nonce = NULL;
    HelperHello hello;

    g_assert(message->kind == HELPER_HELLO);
    g_variant_get(message->body, "(qq@ayuuu)", &hello.lowest, &hello.highest,
                  &nonce, &hello.rate, &hello.burst, &hello.threads);
    if (!helper_in_range("lowest version", hello.lowest, 1, hello.highest,
                         err) ||
        !nonce_parse(nonce, hello.nonce, err)) {
        return false;
    }
    *ret_hello = hello;
    return true;
}

GVariant *helper_join_body(const HelperJoin *join)
{
    return g_variant_new("(q@ay)", join->version, nonce_value(join->nonce));
}

bool helper_join_parse(const HelperMessage *message, HelperJoin *ret_join,
                       GError **err)
{
    g_autoptr(GVariant) nonce = NULL;
    HelperJoin join;

    g_assert(message->kind == HELPER_JOIN);
    g_variant_get(message->body, "(q@ay)", &join.version, &nonce);
    if (!helper_in_range("version", join.version, HELPER_PROTOCOL_VERSION,
                         HELPER_PROTOCOL_VERSION, err) ||
        !nonce_parse(nonce, join.nonce, err)) {
        return false;
    }
    *ret_join = join;
    return true;
}

GVariant *helper_threads_body(const GArray *tids)
{
    return g_variant_new("(@au)",
                         g_variant_new_fixed_array(G_VARIANT_TYPE_UINT32,
                                                   tids->data, tids->len,
                                                   sizeof(uint32_t)));
}

/* The kernel's PID_MAX_LIMIT is 4 million; a negative id means others. */
static bool tid_valid(uint32_t tid, GError **err)
{
    return helper_in_range("thread id", tid, 1, G_MAXINT32, err);
}

GArray *helper_threads_parse(const HelperMessage *message, GError **err)
{
    g_autoptr(GVariant) value = NULL;
    g_autoptr(GArray) tids = NULL;
    const uint32_t *ids;
    gsize n;

    g_assert(message->kind == HELPER_THREADS);
    g_variant_get(message->body, "(@au)", &value);
    ids = g_variant_get_fixed_array(value, &n, sizeof(uint32_t));
    if (!helper_in_range("number of threads", n, 1, HELPER_THREADS_MAX, err)) {
        return NULL;
    }
    tids = g_array_new(FALSE, FALSE, sizeof(uint32_t));
    g_array_append_vals(tids, ids, n);
    for (guint i = 0; i < n; i++) {
        if (!tid_valid(g_array_index(tids, uint32_t, i), err)) {
            return NULL;
        }
    }
    return g_steal_pointer(&tids);
}

/* The words of a set up to the last that is not zero. */
static GVariant *mask_value(const HostCpuSet *mask)
{
    gsize n = HOST_CPU_MAX / 64;

    while (n && !mask->words[n - 1]) {
        n--;
    }
    return g_variant_new_fixed_array(G_VARIANT_TYPE_UINT64, mask->words, n,
                                     sizeof(uint64_t));
}

static bool mask_parse(GVariant *value, HostCpuSet *ret_mask, GError **err)
{
    HostCpuSet mask = { };
    gsize n;
    const uint64_t *words = g_variant_get_fixed_array(value, &n,
                                                      sizeof(uint64_t));

    if (!helper_in_range("words of a mask", n, 1, HOST_CPU_MAX / 64, err)) {
        return false;
    }
    memcpy(mask.words, words, n * sizeof(uint64_t));
    /* One mask, one form: it ends with its last CPU. */
    if (!mask.words[n - 1]) {
        return helper_range_error(err, "last word of a mask", 0, 1,
                                  G_MAXUINT64);
    }
    *ret_mask = mask;
    return true;
}

GVariant *helper_affinity_body(const GArray *threads)
{
    GVariantBuilder builder;

    g_variant_builder_init(&builder, G_VARIANT_TYPE("a(uat)"));
    for (guint i = 0; i < threads->len; i++) {
        const HelperThreadMask *thread =
            &g_array_index(threads, HelperThreadMask, i);

        g_variant_builder_add(&builder, "(u@at)", thread->tid,
                              mask_value(&thread->mask));
    }
    return g_variant_new("(a(uat))", &builder);
}

static bool thread_mask_parse(GVariant *value, HelperThreadMask *ret_thread,
                              GError **err)
{
    g_autoptr(GVariant) words = NULL;

    g_variant_get(value, "(u@at)", &ret_thread->tid, &words);
    return tid_valid(ret_thread->tid, err) &&
           mask_parse(words, &ret_thread->mask, err);
}

GArray *helper_affinity_parse(const HelperMessage *message, GError **err)
{
    g_autoptr(GVariant) list = NULL;
    g_autoptr(GArray) threads = NULL;
    gsize n;

    g_assert(message->kind == HELPER_AFFINITY);
    g_variant_get(message->body, "(@a(uat))", &list);
    n = g_variant_n_children(list);
    if (!helper_in_range("number of threads", n, 1, HELPER_THREADS_MAX, err)) {
        return NULL;
    }
    threads = g_array_sized_new(FALSE, FALSE, sizeof(HelperThreadMask), n);
    for (gsize i = 0; i < n; i++) {
        g_autoptr(GVariant) child = g_variant_get_child_value(list, i);
        HelperThreadMask thread;

        if (!thread_mask_parse(child, &thread, err)) {
            return NULL;
        }
        g_array_append_val(threads, thread);
    }
    return g_steal_pointer(&threads);
}

GVariant *helper_claim_body(const HelperClaim *claim)
{
    GVariantBuilder builder;

    g_variant_builder_init(&builder, G_VARIANT_TYPE("a(uu)"));
    for (guint i = 0; i < claim->parts->len; i++) {
        const HelperClaimPart *part =
            &g_array_index(claim->parts, HelperClaimPart, i);

        g_variant_builder_add(&builder, "(uu)", part->first_cpu, part->amount);
    }
    return g_variant_new("(tba(uu))", claim->view, claim->force, &builder);
}

static GArray *claim_parts_parse(GVariant *list, GError **err)
{
    g_autoptr(GArray) parts = g_array_new(FALSE, FALSE,
                                          sizeof(HelperClaimPart));
    gsize n = g_variant_n_children(list);
    uint64_t least = 0;

    if (!helper_in_range("number of LLCs", n, 0, HELPER_LLCS_MAX, err)) {
        return NULL;
    }
    for (gsize i = 0; i < n; i++) {
        HelperClaimPart part;

        g_variant_get_child(list, i, "(uu)", &part.first_cpu, &part.amount);
        if (!helper_in_range("first CPU of an LLC", part.first_cpu, least,
                             HOST_CPU_MAX - 1, err) ||
            !helper_in_range("claim", part.amount, 1, CLAIM_AMOUNT_MAX, err)) {
            return NULL;
        }
        least = part.first_cpu + 1;
        g_array_append_val(parts, part);
    }
    return g_steal_pointer(&parts);
}

bool helper_claim_parse(const HelperMessage *message, HelperClaim *ret_claim,
                        GError **err)
{
    g_autoptr(GVariant) list = NULL;
    HelperClaim claim;
    gboolean force;

    g_assert(message->kind == HELPER_CLAIM);
    g_variant_get(message->body, "(tb@a(uu))", &claim.view, &force, &list);
    claim.force = force;
    claim.parts = claim_parts_parse(list, err);
    if (!claim.parts) {
        return false;
    }
    *ret_claim = claim;
    return true;
}
