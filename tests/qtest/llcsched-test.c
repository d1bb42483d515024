/*
 * QTest testcase for llcsched
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "libqtest.h"
#include "qobject/qdict.h"
#include "qobject/qlist.h"

static void test_query_is_empty_without_an_object(void)
{
    QTestState *qts = qtest_init("-machine pc");
    QDict *reply = qtest_qmp(qts, "{ 'execute': 'query-llcsched' }");

    g_assert_true(qlist_empty(qdict_get_qlist(reply, "return")));
    qobject_unref(reply);
    qtest_quit(qts);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/llcsched/query-is-empty-without-an-object",
                   test_query_is_empty_without_an_object);
    return g_test_run();
}
