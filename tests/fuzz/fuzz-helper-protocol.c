/*
 * Fuzzes the messages of the helper's protocol
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <stdlib.h>
#include <string.h>
#include "hw/sched/helper-protocol.h"
#include "fuzz.h"

static void check(bool ok)
{
    if (!ok) {
        abort();
    }
}

/* A result or a reason, never both or neither; the body made of it again. */
static GVariant *remake_request(const HelperMessage *message, GError **err)
{
    GVariant *body = NULL;
    GArray *array = NULL;
    HelperClaim claim;
    HelperJoin join;

    switch (message->kind) {
    case HELPER_JOIN:
        return helper_join_parse(message, &join, err) ?
               helper_join_body(&join) : NULL;
    case HELPER_THREADS:
        array = helper_threads_parse(message, err);
        body = array ? helper_threads_body(array) : NULL;
        break;
    case HELPER_AFFINITY:
        array = helper_affinity_parse(message, err);
        body = array ? helper_affinity_body(array) : NULL;
        break;
    case HELPER_CLAIM:
        if (helper_claim_parse(message, &claim, err)) {
            body = helper_claim_body(&claim);
            array = claim.parts;
        }
        break;
    default: /* TOPOLOGY and LOAD say nothing more */
        return g_variant_new_tuple(NULL, 0);
    }
    g_clear_pointer(&array, g_array_unref);
    return body;
}

static GVariant *remake_host(const HelperMessage *message, GError **err)
{
    g_autoptr(HostTopology) host = helper_host_parse(message, err);

    return host ? helper_host_body(host, err) : NULL;
}

static GVariant *remake_loads(const HelperMessage *message, GError **err)
{
    HelperLoads loads;
    GVariant *body;

    if (!helper_loads_parse(message, &loads, err)) {
        return NULL;
    }
    body = helper_loads_body(&loads);
    g_array_unref(loads.llcs);
    return body;
}

static GVariant *remake_refusal(const HelperMessage *message, GError **err)
{
    HelperStatus status;
    g_autofree char *text = helper_refusal_parse(message, &status, err);

    return text ? helper_refusal_body(status, text) : NULL;
}

static GVariant *remake_answer(const HelperMessage *message, GError **err)
{
    g_autoptr(GArray) statuses = NULL;
    HelperHello hello;
    HelperClaimed claimed;
    HostCpuSet allowed;

    switch (message->kind) {
    case HELPER_HELLO:
        return helper_hello_parse(message, &hello, err) ?
               helper_hello_body(&hello) : NULL;
    case HELPER_WELCOME:
        return helper_welcome_parse(message, &allowed, err) ?
               helper_welcome_body(&allowed) : NULL;
    case HELPER_STATUSES:
        statuses = helper_statuses_parse(message, err);
        return statuses ? helper_statuses_body(statuses) : NULL;
    case HELPER_HOST:
        return remake_host(message, err);
    case HELPER_LOADS:
        return remake_loads(message, err);
    case HELPER_CLAIMED:
        return helper_claimed_parse(message, &claimed, err) ?
               helper_claimed_body(&claimed) : NULL;
    default:
        return remake_refusal(message, err);
    }
}

/* What is understood can be said again, and is understood the same. */
static void check_again(const HelperMessage *message, GVariant *body)
{
    g_auto(HelperMessage) again = { };
    g_autoptr(GBytes) packet = helper_message_encode(message->kind,
                                                     message->serial, body);
    gsize len;
    const void *data = g_bytes_get_data(packet, &len);

    check(helper_message_decode(data, len, HELPER_ANSWER_MAX, &again, NULL));
    check(again.kind == message->kind && again.serial == message->serial);
    /* Lists of CPUs have many forms, and only one when printed. */
    if (message->kind != HELPER_WELCOME && message->kind != HELPER_HOST) {
        check(g_variant_equal(again.body, message->body));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_auto(HelperMessage) message = { };
    g_autoptr(GError) err = NULL;
    GVariant *body;

    if (!helper_message_decode(data, size, HELPER_ANSWER_MAX, &message,
                               &err)) {
        check(err && !message.body);
        return 0;
    }
    check(!err);
    body = message.kind < HELPER_HELLO ? remake_request(&message, &err)
                                       : remake_answer(&message, &err);
    check(!body == !!err);
    if (body) {
        check_again(&message, body);
    }
    return 0;
}
