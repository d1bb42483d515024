/*
 * What goes wrong in a lab host, on purpose: tests/lab/test-lab runs these to
 * see that each is told as such and none counted as a pass
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <fcntl.h>
#include <glib.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* In one write, as these files want it. */
static void write_text(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);

    g_assert_cmpint(fd, >=, 0);
    g_assert_cmpint(write(fd, text, strlen(text)), ==, strlen(text));
    close(fd);
}

static void test_passes(void)
{
}

static void test_fails(void)
{
    g_test_fail();
}

static void test_crashes(void)
{
    abort();
}

static void test_ends_early(void)
{
    _exit(0);
}

static void test_hangs(void)
{
    for (;;) {
        pause();
    }
}

static void test_panics(void)
{
    write_text("/proc/sysrq-trigger", "c");
}

/* As a kernel says it that finds a CPU stuck. */
static void test_locks_up(void)
{
    write_text("/dev/kmsg", "<0>watchdog: BUG: soft lockup - CPU#3 stuck "
               "for 60s! [made up by a test]\n");
    test_hangs();
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/passes", test_passes);
    g_test_add_func("/fails", test_fails);
    g_test_add_func("/crashes", test_crashes);
    g_test_add_func("/ends-early", test_ends_early);
    g_test_add_func("/hangs", test_hangs);
    g_test_add_func("/panics", test_panics);
    g_test_add_func("/locks-up", test_locks_up);
    return g_test_run();
}
