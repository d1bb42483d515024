/*
 * Tests of core scheduling cookies, with a kernel that fails as it is told
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <errno.h>
#include <string.h>
#include <linux/prctl.h>

#include "hw/sched/core-cookie.h"

#define HOLDER 42

/* One calling thread and one holder.  @fail is by verb. */
static struct {
    int fail[PR_SCHED_CORE_MAX];
    bool ignores;               /* success, and nothing is changed */
    uint64_t caller, holder;
    int calls[PR_SCHED_CORE_MAX];
} kernel;

static int kernel_call(unsigned long cmd, int tid, uint64_t *ret_hash)
{
    if (cmd >= PR_SCHED_CORE_MAX) {
        g_assert_not_reached();
    }
    kernel.calls[cmd]++;
    if (kernel.fail[cmd]) {
        return -kernel.fail[cmd];
    }
    switch (cmd) {
    case PR_SCHED_CORE_GET:
        *ret_hash = tid == HOLDER ? kernel.holder : kernel.caller;
        break;
    case PR_SCHED_CORE_CREATE:
        kernel.caller = kernel.ignores ? kernel.caller : 0x111;
        break;
    case PR_SCHED_CORE_SHARE_FROM:
        g_assert_cmpint(tid, ==, HOLDER);
        kernel.caller = kernel.ignores ? kernel.caller : kernel.holder;
        break;
    default:
        g_assert_not_reached();
    }
    return 0;
}

static void kernel_reset(void)
{
    memset(&kernel, 0, sizeof(kernel));
}

static const struct {
    int err;
    CoreCookieVerdict verdict;
    const char *words;          /* of the explanation */
} meanings[] = {
    { 0, CORE_COOKIE_OK, "read back" },
    { ENODEV, CORE_COOKIE_NOT_NEEDED, "siblings" },
    { EINVAL, CORE_COOKIE_UNSUPPORTED, "trust=best-effort" },
    { EINVAL, CORE_COOKIE_UNSUPPORTED, "CONFIG_SCHED_CORE" },
    { EINVAL, CORE_COOKIE_UNSUPPORTED, "smt/control" },
    { ESRCH, CORE_COOKIE_GONE, "PID namespace" },
    { EPERM, CORE_COOKIE_DENIED, "seccomp" },
    { ENOMEM, CORE_COOKIE_NO_MEMORY, "memory" },
    { EFAULT, CORE_COOKIE_FAILED, "PR_SCHED_CORE" },
    { EIO, CORE_COOKIE_FAILED, "PR_SCHED_CORE" },
};

static void test_meanings(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(meanings); i++) {
        CoreCookieVerdict verdict = core_cookie_verdict(-meanings[i].err);

        g_assert_cmpint(verdict, ==, meanings[i].verdict);
        g_assert_nonnull(strstr(core_cookie_explain(verdict),
                                meanings[i].words));
    }
    g_assert_nonnull(strstr(core_cookie_explain(CORE_COOKIE_UNPROVEN),
                            "reads back"));
}

/* Every errno, at every verb, is told as it is; nothing is made up. */
static void test_every_errno_of_every_verb(void)
{
    for (size_t i = 1; i < G_N_ELEMENTS(meanings); i++) {
        int err = meanings[i].err;
        CoreCookie got;

        kernel_reset();
        kernel.caller = kernel.holder = 0x77;
        kernel.fail[PR_SCHED_CORE_GET] = err;
        got = core_cookie_get(kernel_call, HOLDER);
        g_assert_cmpint(got.verdict, ==, meanings[i].verdict);
        g_assert_cmpint(got.err, ==, -err);
        g_assert_cmphex(got.hash, ==, 0);
        /* what is set but cannot be read back is not proven */
        got = core_cookie_create(kernel_call);
        g_assert_cmpint(got.verdict, ==, meanings[i].verdict);
        got = core_cookie_join(kernel_call, HOLDER, 0x77);
        g_assert_cmpint(got.verdict, ==, meanings[i].verdict);

        kernel_reset();
        kernel.fail[PR_SCHED_CORE_CREATE] = err;
        kernel.fail[PR_SCHED_CORE_SHARE_FROM] = err;
        got = core_cookie_create(kernel_call);
        g_assert_cmpint(got.verdict, ==, meanings[i].verdict);
        g_assert_cmpint(got.err, ==, -err);
        got = core_cookie_join(kernel_call, HOLDER, 0x77);
        g_assert_cmpint(got.verdict, ==, meanings[i].verdict);
        got = core_cookie_copy(kernel_call, HOLDER);
        g_assert_cmpint(got.verdict, ==, meanings[i].verdict);
        g_assert_cmpint(kernel.calls[PR_SCHED_CORE_GET], ==, 0);
    }
}

static void test_create_is_read_back(void)
{
    CoreCookie got;

    kernel_reset();
    got = core_cookie_create(kernel_call);
    g_assert_cmpint(got.verdict, ==, CORE_COOKIE_OK);
    g_assert_cmphex(got.hash, ==, 0x111);
    g_assert_cmpint(kernel.calls[PR_SCHED_CORE_GET], ==, 1);

    kernel_reset();
    kernel.ignores = true;
    got = core_cookie_create(kernel_call);
    g_assert_cmpint(got.verdict, ==, CORE_COOKIE_UNPROVEN);
    g_assert_cmpint(got.err, ==, 0);
}

static void test_join_is_read_back(void)
{
    CoreCookie got;

    kernel_reset();
    kernel.holder = 0x222;
    got = core_cookie_join(kernel_call, HOLDER, 0x222);
    g_assert_cmpint(got.verdict, ==, CORE_COOKIE_OK);
    g_assert_cmphex(kernel.caller, ==, 0x222);
    g_assert_cmphex(got.hash, ==, 0x222);
}

/* Sharing with a thread without a cookie succeeds, and takes ours away. */
static void test_join_of_nothing_is_no_join(void)
{
    CoreCookie got;

    kernel_reset();
    kernel.caller = 0x222;
    got = core_cookie_join(kernel_call, HOLDER, 0x222);
    g_assert_cmpint(got.verdict, ==, CORE_COOKIE_UNPROVEN);
    g_assert_cmphex(kernel.caller, ==, 0);

    /* not even if that is what was expected */
    got = core_cookie_join(kernel_call, HOLDER, 0);
    g_assert_cmpint(got.verdict, ==, CORE_COOKIE_UNPROVEN);
}

static void test_join_of_another_is_no_join(void)
{
    CoreCookie got;

    kernel_reset();
    kernel.holder = 0x333;
    got = core_cookie_join(kernel_call, HOLDER, 0x222);
    g_assert_cmpint(got.verdict, ==, CORE_COOKIE_UNPROVEN);
    g_assert_cmphex(got.hash, ==, 0x333);

    kernel_reset();
    kernel.holder = 0x222;
    kernel.ignores = true;
    got = core_cookie_join(kernel_call, HOLDER, 0x222);
    g_assert_cmpint(got.verdict, ==, CORE_COOKIE_UNPROVEN);
}

static void test_copy_takes_what_there_is(void)
{
    CoreCookie got;

    kernel_reset();
    kernel.caller = 0x222;
    got = core_cookie_copy(kernel_call, HOLDER);
    g_assert_cmpint(got.verdict, ==, CORE_COOKIE_OK);
    g_assert_cmphex(got.hash, ==, 0);
    g_assert_cmphex(kernel.caller, ==, 0);
}

static void test_names(void)
{
    g_autofree char *longest = g_strnfill(CORE_COOKIE_NAME_MAX, 'x');
    g_autofree char *longer = g_strnfill(CORE_COOKIE_NAME_MAX + 1, 'x');

    g_assert_true(core_cookie_name_valid("a"));
    g_assert_true(core_cookie_name_valid("tenant 7 (blue)~"));
    g_assert_true(core_cookie_name_valid(longest));
    g_assert_false(core_cookie_name_valid(longer));
    g_assert_false(core_cookie_name_valid(""));
    g_assert_false(core_cookie_name_valid("tab\there"));
    g_assert_false(core_cookie_name_valid("line\n"));
    g_assert_false(core_cookie_name_valid("gr\xc3\xbcn"));
    g_assert_false(core_cookie_name_valid("\x7f"));
}

/* Whatever this machine's kernel has, one of three answers is right. */
static void test_the_running_kernel_answers(void)
{
    CoreCookie got = core_cookie_get(core_cookie_prctl, 0);

    g_test_message("PR_SCHED_CORE_GET here: errno %d", -got.err);
    g_assert_true(got.verdict == CORE_COOKIE_OK ||
                  got.verdict == CORE_COOKIE_NOT_NEEDED ||
                  got.verdict == CORE_COOKIE_UNSUPPORTED ||
                  got.verdict == CORE_COOKIE_DENIED);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/core-cookie/what-each-errno-means", test_meanings);
    g_test_add_func("/core-cookie/every-errno-of-every-verb-is-told",
                    test_every_errno_of_every_verb);
    g_test_add_func("/core-cookie/a-new-cookie-is-read-back",
                    test_create_is_read_back);
    g_test_add_func("/core-cookie/a-join-is-read-back",
                    test_join_is_read_back);
    g_test_add_func("/core-cookie/joining-no-cookie-is-no-success",
                    test_join_of_nothing_is_no_join);
    g_test_add_func("/core-cookie/joining-another-cookie-is-no-success",
                    test_join_of_another_is_no_join);
    g_test_add_func("/core-cookie/a-copy-takes-what-there-is",
                    test_copy_takes_what_there_is);
    g_test_add_func("/core-cookie/names-are-short-and-printable", test_names);
    g_test_add_func("/core-cookie/the-running-kernel-answers",
                    test_the_running_kernel_answers);
    return g_test_run();
}
