/*
 * KVM's steal clock: its register and its record, whatever the guest wrote
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <glib.h>
#include <string.h>

#include "hw/sched/steal-clock.h"

static void test_enabled(void)
{
    uint64_t address = 1;

    g_assert_true(steal_clock_address(0x40041, &address));
    g_assert_cmphex(address, ==, 0x40040);
    g_assert_true(steal_clock_address(1, &address));
    g_assert_cmphex(address, ==, 0);
    g_assert_true(steal_clock_address(UINT64_MAX << 6 | 1, &address));
    g_assert_cmphex(address, ==, UINT64_MAX << 6);
}

static void test_not_enabled(void)
{
    uint64_t address = 42;

    g_assert_false(steal_clock_address(0, &address));
    g_assert_false(steal_clock_address(0x40040, &address));
    g_assert_cmphex(address, ==, 42);
}

static void test_reserved_bits(void)
{
    uint64_t address = 42;

    for (int bit = 1; bit <= 5; bit++) {
        g_assert_false(steal_clock_address(0x40041 | 1ull << bit, &address));
    }
    g_assert_cmphex(address, ==, 42);
}

/* So a record never straddles a page, or the end of memory. */
static void test_aligned(void)
{
    for (int i = 0; i < 10000; i++) {
        uint64_t msr = (uint64_t)g_test_rand_int() << 32 | g_test_rand_int();
        uint64_t address;

        if (steal_clock_address(msr, &address)) {
            g_assert_cmphex(address % sizeof(StealRecord), ==, 0);
        }
    }
}

/* Whatever was there: time is added, the version is even and another. */
static void test_adds(void)
{
    for (int i = 0; i < 10000; i++) {
        StealRecord record, before;
        uint64_t ns = g_test_rand_int();

        for (guint b = 0; b < sizeof(record); b++) {
            ((uint8_t *)&record)[b] = g_test_rand_int();
        }
        before = record;
        steal_record_add(&record, ns);
        g_assert_cmpuint(record.steal_ns, ==, before.steal_ns + ns);
        g_assert_cmpuint(record.version % 2, ==, 0);
        g_assert_cmpuint(record.version, !=, before.version);
        g_assert_cmpmem(&record.flags, sizeof(record) - 12, &before.flags,
                        sizeof(record) - 12);
    }
}

static void test_wraps(void)
{
    StealRecord record = { .version = UINT32_MAX, .steal_ns = UINT64_MAX };

    steal_record_add(&record, 3);
    g_assert_cmpuint(record.version, ==, 2);
    g_assert_cmpuint(record.steal_ns, ==, 2);
    record.version = UINT32_MAX - 1;
    steal_record_add(&record, 1);
    g_assert_cmpuint(record.version, ==, 0);
}

/* --- A guest reads while we write --- */

#define ADDITIONS 1000000
#define STEP ((1ull << 32) + 1)     /* both halves of the time move */

/* The version and the time that go together; as Linux's guest does. */
static uint64_t read_record(const StealRecord *record, uint32_t *ret_version)
{
    uint32_t version;
    uint64_t ns;

    do {
        version = __atomic_load_n(&record->version, __ATOMIC_ACQUIRE);
        ns = __atomic_load_n(&record->steal_ns, __ATOMIC_RELAXED);
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
    } while (version & 1 ||
             version != __atomic_load_n(&record->version, __ATOMIC_RELAXED));
    *ret_version = version;
    return ns;
}

static gpointer read_all(gpointer opaque)
{
    const StealRecord *record = opaque;
    uint32_t version;

    do {
        uint64_t ns = read_record(record, &version);

        g_assert_cmpuint(ns, ==, version / 2 * STEP);
    } while (version / 2 < ADDITIONS);
    return NULL;
}

static void test_reader_sees_whole_updates(void)
{
    StealRecord record = { 0 };
    GThread *reader = g_thread_new("reader", read_all, &record);

    for (int i = 0; i < ADDITIONS; i++) {
        steal_record_add(&record, STEP);
    }
    g_thread_join(reader);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/steal-clock/register/enabled", test_enabled);
    g_test_add_func("/steal-clock/register/not-enabled", test_not_enabled);
    g_test_add_func("/steal-clock/register/reserved-bits-are-refused",
                    test_reserved_bits);
    g_test_add_func("/steal-clock/register/records-are-aligned", test_aligned);
    g_test_add_func("/steal-clock/record/adds-whatever-was-there", test_adds);
    g_test_add_func("/steal-clock/record/wraps", test_wraps);
    g_test_add_func("/steal-clock/record/reader-sees-whole-updates",
                    test_reader_sees_whole_updates);
    return g_test_run();
}
