/*
 * Cookies that take turns: what the guest sees of it, and what the query says
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "vm-turns.h"

static guint64 sum_line(Vm *vm, char letter, const char *start)
{
    g_autofree char *text = NULL;
    g_auto(GStrv) words = NULL;
    guint64 sum = 0;

    vm_send(vm, letter);
    text = vm_wait_line(vm, start);
    words = g_strsplit(text, " ", -1);
    for (char **word = words; *word; word++) {
        sum += g_ascii_strtoull(*word, NULL, 10);
    }
    return sum;
}

TurnsSight turns_sight(Vm *vm)
{
    TurnsSight sight;

    sight.looks = sum_line(vm, 'k', "looks ");
    sight.meets = sum_line(vm, 'v', "meets ");
    return sight;
}

typedef struct SightWait {
    TurnsSight wanted, now;
} SightWait;

static bool has_seen(Vm *vm, void *opaque)
{
    SightWait *wait = opaque;

    wait->now = turns_sight(vm);
    return wait->now.looks >= wait->wanted.looks &&
           wait->now.meets >= wait->wanted.meets;
}

guint64 turns_meets_after(Vm *vm, guint64 looks)
{
    SightWait wait = { .wanted.looks = looks };

    vm_wait(vm, has_seen, &wait, "the guest to look");
    g_test_message("%" G_GUINT64_FORMAT " looks, %" G_GUINT64_FORMAT
                   " meetings", wait.now.looks, wait.now.meets);
    return wait.now.meets;
}

void turns_wait_meets(Vm *vm, guint64 meets)
{
    SightWait wait = { .wanted.meets = meets };

    vm_wait(vm, has_seen, &wait, "partners to meet");
}

JsonNode *turns_query(Vm *vm, JsonArray **ret_turns)
{
    JsonNode *info = sched_query(vm);
    JsonObject *trust = json_object_get_object_member(
        json_node_get_object(info), "trust");

    *ret_turns = json_object_get_array_member(trust, "cookie-turns");
    return info;
}

gint64 turns_int(Vm *vm, gint64 cookie, const char *member)
{
    JsonArray *turns;
    g_autoptr(JsonNode) info = turns_query(vm, &turns);

    for (guint i = 0; i < json_array_get_length(turns); i++) {
        JsonObject *one = json_array_get_object_element(turns, i);

        if (json_object_get_int_member(one, "cookie") == cookie) {
            return json_object_get_int_member(one, member);
        }
    }
    vm_fail(vm, "cookie %" G_GINT64_FORMAT " takes no turns", cookie);
}

gint64 turns_sum(Vm *vm, const char *member)
{
    JsonArray *turns;
    g_autoptr(JsonNode) info = turns_query(vm, &turns);
    gint64 sum = 0;

    for (guint i = 0; i < json_array_get_length(turns); i++) {
        sum += json_object_get_int_member(
            json_array_get_object_element(turns, i), member);
    }
    return sum;
}
