/*
 * Tests that a mask goes to the thread that was proven, whatever happens when
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <errno.h>
#include <string.h>

#include "../../helper/mask.h"
#include "../../helper/proc-text.h"

#define TID 100
#define MAKER 7

/* What the thread's number stands for, and when that changes. */
typedef struct FakeKernel {
    int steps;               /* calls so far */
    int change_at;           /* the call before which the owner ends */
    bool reused;             /* the number then is another's */
    HostCpuSet mask;         /* of who has the number now */
    HostCpuSet other;        /* what the other one came with */
    int set_error;
    int n_set;
} FakeKernel;

static FakeKernel fake;

static HostCpuSet set_of(const char *list)
{
    HostCpuSet set;

    g_assert_true(host_cpuset_parse_list(list, &set));
    return set;
}

static bool changed(void)
{
    return fake.steps >= fake.change_at;
}

static void step(void)
{
    bool before = changed();

    fake.steps++;
    if (!before && changed()) {
        fake.mask = fake.other;
    }
}

static int fake_get(pid_t tid, HostCpuSet *ret_mask)
{
    step();
    if (tid == MAKER) {
        *ret_mask = fake.other;
        return 0;
    }
    if (changed() && !fake.reused) {
        return -ESRCH;
    }
    *ret_mask = fake.mask;
    return 0;
}

static int fake_set(pid_t tid, uid_t uid, const HostCpuSet *mask)
{
    step();
    g_assert_cmpint(tid, ==, TID);
    if (changed() && !fake.reused) {
        return -ESRCH;
    }
    if (fake.set_error) {
        return fake.set_error;
    }
    fake.n_set++;
    fake.mask = *mask;
    return 0;
}

static bool fake_same(const ProcessThread *thread)
{
    step();
    return !changed();
}

static pid_t fake_maker(pid_t tid)
{
    step();
    return fake.reused ? MAKER : 0;
}

static const MaskKernel kernel = { fake_get, fake_set, fake_same, fake_maker };

static HelperStatus try(int change_at, bool reused, int set_error,
                        char **ret_note)
{
    const ProcessThread thread = { .tid = TID, .uid = 1 };
    const HostCpuSet mask = set_of("0-3,9"), allowed = set_of("0-7");

    fake = (FakeKernel) {
        .change_at = change_at, .reused = reused, .set_error = set_error,
        .mask = set_of("0-7"), .other = set_of("5-6"),
    };
    return mask_set(&kernel, &thread, &mask, &allowed, ret_note);
}

static void test_cut_to_what_is_allowed(void)
{
    const ProcessThread thread = { .tid = TID };
    const HostCpuSet wanted = set_of("0-3"), allowed = set_of("8");
    g_autofree char *note = NULL;

    g_assert_cmpint(try(1000, false, 0, &note), ==, HELPER_OK);
    g_assert_null(note);
    g_assert_true(host_cpuset_equal(&fake.mask, &(HostCpuSet) { { 0xf } }));
    fake.n_set = 0;
    g_assert_cmpint(mask_set(&kernel, &thread, &wanted, &allowed, &note), ==,
                    HELPER_NOTHING_ALLOWED);
    g_assert_cmpint(fake.n_set, ==, 0);
}

/* It ends before every single call, and somebody else has the number. */
static void test_foreign_mask_comes_back(void)
{
    bool put_back = false;

    for (int at = 1; at < 10; at++) {
        g_autofree char *note = NULL;
        HelperStatus status = try(at, true, 0, &note);

        if (at <= fake.steps) {
            g_assert_cmpint(status, ==, HELPER_CHANGED_HANDS);
            g_assert_true(host_cpuset_equal(&fake.mask, &fake.other));
            put_back |= fake.n_set == 2;
            /* Told whenever the other one may have had it. */
            g_assert_true(!fake.n_set || note);
        } else {
            g_assert_cmpint(status, ==, HELPER_OK);
            g_assert_null(note);
        }
    }
    g_assert_true(put_back);
}

static void test_nobody_else_has_it(void)
{
    for (int at = 1; at <= 3; at++) {
        g_autofree char *note = NULL;

        g_assert_cmpint(try(at, false, 0, &note), ==, HELPER_CHANGED_HANDS);
        g_assert_null(note);
    }
}

static void test_errors_are_told(void)
{
    g_autofree char *note = NULL;

    g_assert_cmpint(try(1000, false, -EPERM, &note), ==, HELPER_DENIED);
    g_assert_cmpint(try(1000, false, -EINVAL, &note), ==,
                    HELPER_NOTHING_ALLOWED);
    /* Refused for the other one: it never had it. */
    g_assert_cmpint(try(3, true, -EPERM, &note), ==, HELPER_CHANGED_HANDS);
    g_assert_null(note);
}

static const struct {
    const char *name, *text;
    ProcIds ids;             /* depth 0: refused */
} texts[] = {
    { "plain", "Name:\tx\nTgid:\t5\nPPid:\t1\nNSpid:\t6\n", { 1, 6, 5, 1 } },
    { "nested", "Name:\tx\nTgid:\t5\nPPid:\t1\nNSpid:\t6\t3\t2\n",
      { 3, 2, 5, 1 } },
    { "name-that-lies", "Name:\tNSpid:\t9\nTgid:\t5\nPPid:\t1\nNSpid:\t6\n",
      { 1, 6, 5, 1 } },
    { "orphan", "Name:\tx\nTgid:\t5\nPPid:\t0\nNSpid:\t6\n", { 1, 6, 5, 0 } },
    { "no-level", "Name:\tx\nTgid:\t5\nPPid:\t1\n" },
    { "cut", "Name:\tx\nTgid:\t5\nPPid:\t1\nNSpid:\t6\t" },
    { "letters", "Name:\tx\nTgid:\t5\nPPid:\t1\nNSpid:\t6\tx\n" },
    { "too-large", "Name:\tx\nTgid:\t5\nPPid:\t1\nNSpid:\t4294967296\n" },
    { "empty", "" },
};

static void test_text(gconstpointer data)
{
    int i = GPOINTER_TO_INT(data);
    ProcIds ids = { };

    g_assert_true(proc_text_ids(texts[i].text, &ids) == !!texts[i].ids.depth);
    g_assert_cmpmem(&ids, sizeof(ids), &texts[i].ids, sizeof(ids));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/helper-mask/cut-to-what-is-allowed",
                    test_cut_to_what_is_allowed);
    g_test_add_func("/helper-mask/a-foreign-mask-comes-back",
                    test_foreign_mask_comes_back);
    g_test_add_func("/helper-mask/a-number-that-is-nobodys",
                    test_nobody_else_has_it);
    g_test_add_func("/helper-mask/errors-are-told", test_errors_are_told);
    for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
        g_autofree char *path = g_strdup_printf("/helper-proc-text/%s",
                                                texts[i].name);

        g_test_add_data_func(path, GINT_TO_POINTER(i), test_text);
    }
    return g_test_run();
}
