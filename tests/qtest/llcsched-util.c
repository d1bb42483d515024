/*
 * What the tests of llcsched ask of QEMU
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "libqtest.h"
#include "llcsched-util.h"
#include "qapi/error.h"
#include "qobject/qjson.h"
#include "qobject/qlist.h"

void fail(const char *fmt, ...)
{
    g_autofree char *text = NULL;
    va_list ap;

    va_start(ap, fmt);
    text = g_strdup_vprintf(fmt, ap);
    va_end(ap);
    g_printerr("%s\n", text);
    abort();
}

QTestState *start(const LlcschedTree *tree, const char *args,
                         const char *options)
{
    return qtest_initf("-nodefaults %s -object llcsched,id=sched0,"
                       "x-sysfs-root=%s%s", args, tree->path, options);
}

QTestState *start_without_object(const char *args)
{
    return qtest_initf("-nodefaults %s", args);
}

QDict *query_one(QTestState *qts, const char *command)
{
    QDict *reply = qtest_qmp(qts, "{ 'execute': %s }", command);
    QList *list = qdict_get_qlist(reply, "return");
    QDict *one = NULL;

    g_assert_nonnull(list);
    g_assert_cmpint(qlist_size(list), <=, 1);
    if (!qlist_empty(list)) {
        one = qobject_to(QDict, qlist_peek(list));
        qobject_ref(one);
    }
    qobject_unref(reply);
    return one;
}

QDict *query(QTestState *qts)
{
    return query_one(qts, "query-llcsched");
}

int64_t query_int(QTestState *qts, const char *field)
{
    QDict *info = query(qts);
    int64_t value = qdict_get_int(info, field);

    qobject_unref(info);
    return value;
}

void assert_field(QTestState *qts, const char *field, const char *text)
{
    QDict *info = query(qts);

    g_assert_cmpstr(qdict_get_try_str(info, field), ==, text);
    qobject_unref(info);
}

const QDict *nth(const QDict *info, const char *list, int n)
{
    const QListEntry *entry = qlist_first(qdict_get_qlist(info, list));

    while (n-- > 0) {
        entry = qlist_next(entry);
    }
    return qobject_to(QDict, qlist_entry_obj(entry));
}

void assert_error(QDict *reply, const char *words)
{
    g_auto(GStrv) word = g_strsplit(words, "|", 0);
    const char *desc;

    if (!qdict_haskey(reply, "error")) {
        fail("no error, but one with '%s' was expected", words);
    }
    desc = qdict_get_str(qdict_get_qdict(reply, "error"), "desc");
    for (int i = 0; word[i]; i++) {
        if (!strstr(desc, word[i])) {
            fail("'%s' is not in '%s'", word[i], desc);
        }
    }
    qobject_unref(reply);
}

void assert_success(QDict *reply)
{
    if (!qdict_haskey(reply, "return")) {
        fail("%s", qdict_get_str(qdict_get_qdict(reply, "error"), "desc"));
    }
    qobject_unref(reply);
}

QDict *object_add(QTestState *qts, const char *root, const char *name,
                         const char *json)
{
    QDict *args = qdict_new();

    qdict_put_str(args, "qom-type", "llcsched");
    qdict_put_str(args, "id", "sched0");
    qdict_put_str(args, "x-sysfs-root", root);
    if (name) {
        qdict_put_obj(args, name, qobject_from_json(json, &error_abort));
    }
    return qtest_qmp(qts, "{ 'execute': 'object-add', 'arguments': %p }",
                     args);
}

void object_del(QTestState *qts)
{
    qtest_qmp_assert_success(qts, "{ 'execute': 'object-del',"
                             "  'arguments': { 'id': 'sched0' } }");
}

QDict *qom_set(QTestState *qts, const char *name, const char *json)
{
    return qtest_qmp(qts, "{ 'execute': 'qom-set', 'arguments': {"
                     "  'path': '/objects/sched0', 'property': %s,"
                     "  'value': %p } }",
                     name, qobject_from_json(json, &error_abort));
}

void replan(QTestState *qts)
{
    qtest_qmp_assert_success(qts, "{ 'execute': 'llcsched-replan' }");
}

void run_command(QTestState *qts, const char *command)
{
    qtest_qmp_assert_success(qts, "{ 'execute': %s }", command);
}

/* CPUs in a kernel list. */
static int list_size(const char *list)
{
    g_auto(GStrv) ranges = g_strsplit(list, ",", 0);
    int n = 0;

    for (int i = 0; ranges[i]; i++) {
        int first, last;
        int got = sscanf(ranges[i], "%d-%d", &first, &last);

        g_assert_cmpint(got, >=, 1);
        n += got == 2 ? last - first + 1 : 1;
    }
    return n;
}

char *letters_of(const QDict *info, const char *mask_field)
{
    g_autoptr(GPtrArray) seen = g_ptr_array_new();
    GString *letters = g_string_new(NULL);
    const QListEntry *entry;

    QLIST_FOREACH_ENTRY(qdict_get_qlist(info, "vcpus"), entry) {
        const QDict *vcpu = qobject_to(QDict, qlist_entry_obj(entry));
        const char *mask = qdict_get_str(vcpu, mask_field);
        guint index;

        if (!g_ptr_array_find_with_equal_func(seen, mask, g_str_equal,
                                              &index)) {
            index = seen->len;
            g_ptr_array_add(seen, (void *)mask);
        }
        g_string_append_c(letters, 'A' + index);
    }
    return g_string_free(letters, false);
}

void assert_placed(QTestState *qts, const char *verdict,
                          const char *letters, int width)
{
    QDict *info = query(qts);
    g_autofree char *found = letters_of(info, "mask");
    const QListEntry *entry;

    g_assert_cmpstr(found, ==, letters);
    g_assert_cmpstr(qdict_get_str(info, "verdict"), ==, verdict);
    g_assert_cmpstr(qdict_get_str(info, "status"), ==, "placed");
    QLIST_FOREACH_ENTRY(qdict_get_qlist(info, "vcpus"), entry) {
        const QDict *vcpu = qobject_to(QDict, qlist_entry_obj(entry));
        const char *mask = qdict_get_str(vcpu, "mask");

        g_assert_cmpint(list_size(mask), ==, width);
        g_assert_cmpstr(mask, ==, qdict_get_str(vcpu, "planned-mask"));
        g_assert_cmpstr(qdict_get_str(vcpu, "mask-state"), ==, "ours");
        g_assert_cmpint(qdict_get_int(vcpu, "thread-id"), >, 0);
    }
    qobject_unref(info);
}

void assert_mask(QTestState *qts, int vcpu, const char *mask)
{
    QDict *info = query(qts);

    g_assert_cmpstr(qdict_get_str(nth(info, "vcpus", vcpu), "mask"), ==, mask);
    qobject_unref(info);
}

/* Should QEMU start after all, `quit` ends it with status 0. */
void assert_start_refused(const char *args, const char *words)
{
    g_auto(GStrv) word = g_strsplit(words, "|", 0);
    g_autofree char *shell = g_strdup_printf(
        "echo quit | exec %s -nodefaults -display none -S -monitor stdio %s",
        g_getenv("QTEST_QEMU_BINARY"), args);
    char *argv[] = { (char *)"/bin/sh", (char *)"-c", shell, NULL };
    g_autofree char *out = NULL;
    g_autofree char *err = NULL;
    int status = 0;

    g_assert_true(g_spawn_sync(NULL, argv, NULL, 0, NULL, NULL, &out, &err,
                               &status, NULL));
    g_test_message("%s", err);
    g_assert_true(WIFEXITED(status));
    g_assert_cmpint(WEXITSTATUS(status), ==, 1);
    for (int i = 0; word[i]; i++) {
        g_assert_nonnull(strstr(err, word[i]));
    }
}

/* Groups */

/* @command for @id, with the members @json besides. */
static QDict *group_command(QTestState *qts, const char *command,
                            const char *start, const char *id,
                            const char *json)
{
    g_autofree char *text = g_strdup_printf("{ %s 'id': '%s'%s%s }", start,
                                            id, *json ? ", " : "", json);

    return qtest_qmp(qts, "{ 'execute': %s, 'arguments': %p }", command,
                     qobject_from_json(text, &error_abort));
}

QDict *group_add(QTestState *qts, const char *id, const char *json)
{
    return group_command(qts, "object-add", "'qom-type': 'llcsched-group',",
                         id, json);
}

QDict *delete_object(QTestState *qts, const char *id)
{
    return group_command(qts, "object-del", "", id, "");
}

QDict *set_limits(QTestState *qts, const char *id, const char *json)
{
    return group_command(qts, "llcsched-set-limits", "", id, json);
}

QDict *group_query(QTestState *qts, const char *id)
{
    QDict *info = query(qts);
    QDict *found = NULL;
    const QListEntry *entry;

    g_assert_nonnull(info);
    QLIST_FOREACH_ENTRY(qdict_get_qlist(info, "groups"), entry) {
        QDict *group = qobject_to(QDict, qlist_entry_obj(entry));

        if (g_str_equal(qdict_get_str(group, "id"), id)) {
            g_assert_null(found);
            found = qobject_ref(group);
        }
    }
    qobject_unref(info);
    return found;
}

int64_t group_int(QTestState *qts, const char *id, const char *field)
{
    QDict *group = group_query(qts, id);
    int64_t value = qdict_get_int(group, field);

    qobject_unref(group);
    return value;
}

bool group_bool(QTestState *qts, const char *id, const char *field)
{
    QDict *group = group_query(qts, id);
    bool value = qdict_get_bool(group, field);

    qobject_unref(group);
    return value;
}

char *group_text(QTestState *qts, const char *id, const char *field)
{
    QDict *group = group_query(qts, id);
    char *text = g_strdup(qdict_get_try_str(group, field));

    qobject_unref(group);
    return text;
}

/* Hot-plug */

void plug(QTestState *qts, int socket, int core)
{
    qtest_qmp_assert_success(qts, "{ 'execute': 'device_add', 'arguments': {"
                             "  'driver': 'qemu64-x86_64-cpu',"
                             "  'socket-id': %d, 'core-id': %d,"
                             "  'thread-id': 0 } }", socket, core);
}

/* A new vCPU is placed in its own thread: wait for it, a minute at most. */
void wait_for_vcpus(QTestState *qts, int n)
{
    int64_t end = g_get_monotonic_time() + 60 * G_USEC_PER_SEC;
    bool placed = false;

    while (!placed) {
        QDict *info = query(qts);
        const QListEntry *entry;

        placed = qlist_size(qdict_get_qlist(info, "vcpus")) == n;
        QLIST_FOREACH_ENTRY(qdict_get_qlist(info, "vcpus"), entry) {
            placed &= !strcmp(qdict_get_str(qobject_to(QDict,
                                                qlist_entry_obj(entry)),
                                            "mask-state"), "ours");
        }
        qobject_unref(info);
        g_assert_cmpint(g_get_monotonic_time(), <, end);
    }
}

void add_tests(const char *suite, const TestCase *tests, int n)
{
    for (int i = 0; i < n; i++) {
        g_autofree char *path = g_strdup_printf("/%s/%s", suite,
                                                tests[i].name);

        qtest_add_func(path, tests[i].test);
    }
}

void add_data_tests(const char *suite, const void *cases, int n, size_t size,
                    void (*test)(const void *data))
{
    for (int i = 0; i < n; i++) {
        const char *const *name = cases + i * size;
        g_autofree char *path = g_strdup_printf("/%s/%s", suite, *name);

        qtest_add_data_func(path, name, test);
    }
}
