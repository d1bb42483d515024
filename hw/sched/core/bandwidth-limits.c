/*
 * CPU bandwidth: which limits may stand together, and which is the smallest
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <inttypes.h>
#include <string.h>

#include "bandwidth-internal.h"

#define NS_PER_US 1000
#define QUOTA_US_MIN ((int64_t)(BANDWIDTH_QUOTA_NS_MIN / NS_PER_US))
#define QUOTA_US_MAX ((int64_t)(BANDWIDTH_QUOTA_NS_MAX / NS_PER_US))
#define PERIOD_US_MIN ((int64_t)(BANDWIDTH_PERIOD_NS_MIN / NS_PER_US))
#define PERIOD_US_MAX ((int64_t)(BANDWIDTH_PERIOD_NS_MAX / NS_PER_US))

GQuark bandwidth_error_quark(void)
{
    return g_quark_from_static_string("bandwidth-error");
}

static bool fail(GError **err, const char *property, int64_t value,
                 const char *format, ...) G_GNUC_PRINTF(4, 5);

/* "PROPERTY VALUE: what is wrong and what would be right" */
static bool fail(GError **err, const char *property, int64_t value,
                 const char *format, ...)
{
    g_autofree char *why = NULL;
    va_list args;

    va_start(args, format);
    why = g_strdup_vprintf(format, args);
    va_end(args);
    g_set_error(err, BANDWIDTH_ERROR, 0, "%s %" PRId64 ": %s", property,
                value, why);
    return false;
}

static bool quota_check(int64_t quota_us, GError **err)
{
    if (quota_us < 0) {
        return fail(err, "quota-us", quota_us, "cannot be negative; 0 is "
                    "unlimited, else from %" PRId64 " to %" PRId64,
                    QUOTA_US_MIN, QUOTA_US_MAX);
    }
    if (quota_us && (quota_us < QUOTA_US_MIN || quota_us > QUOTA_US_MAX)) {
        return fail(err, "quota-us", quota_us, "must be from %" PRId64
                    " to %" PRId64 ", or 0 for unlimited",
                    QUOTA_US_MIN, QUOTA_US_MAX);
    }
    return true;
}

static bool burst_check(int64_t burst_us, int64_t quota_us, GError **err)
{
    int64_t max = quota_us * BANDWIDTH_BURST_QUOTAS_MAX;

    if (burst_us < 0) {
        return fail(err, "burst-us", burst_us, "cannot be negative; 0 is "
                    "no burst");
    }
    if (burst_us && !quota_us) {
        return fail(err, "burst-us", burst_us, "needs a quota-us: with 0, "
                    "unlimited, there is nothing to carry over");
    }
    if (burst_us > max) {
        return fail(err, "burst-us", burst_us, "must be from 0 to %" PRId64
                    ", %d times the quota-us %" PRId64, max,
                    BANDWIDTH_BURST_QUOTAS_MAX, quota_us);
    }
    return true;
}

bool bandwidth_limits_from_us(int64_t quota_us, int64_t period_us,
                              int64_t burst_us, BandwidthLimits *ret_limits,
                              GError **err)
{
    if (!quota_check(quota_us, err)) {
        return false;
    }
    if (period_us < PERIOD_US_MIN || period_us > PERIOD_US_MAX) {
        return fail(err, "period-us", period_us, "must be from %" PRId64
                    " to %" PRId64, PERIOD_US_MIN, PERIOD_US_MAX);
    }
    if (!burst_check(burst_us, quota_us, err)) {
        return false;
    }
    *ret_limits = (BandwidthLimits) {
        .quota_ns = quota_us * NS_PER_US,
        .period_ns = period_us * NS_PER_US,
        .burst_ns = burst_us * NS_PER_US,
    };
    return true;
}

bool bandwidth_limits_valid(const BandwidthLimits *limits)
{
    if (limits->period_ns < BANDWIDTH_PERIOD_NS_MIN ||
        limits->period_ns > BANDWIDTH_PERIOD_NS_MAX) {
        return false;
    }
    if (!limits->quota_ns) {
        return !limits->burst_ns;
    }
    return limits->quota_ns >= BANDWIDTH_QUOTA_NS_MIN &&
           limits->quota_ns <= BANDWIDTH_QUOTA_NS_MAX &&
           limits->burst_ns <= limits->quota_ns * BANDWIDTH_BURST_QUOTAS_MAX;
}

/*
 * Whether @a gives less CPU time per time than @b, exactly: the whole CPUs
 * first, then the rests, which are below a period (30 bits) each.
 */
static bool is_smaller(const BandwidthLimits *a, const BandwidthLimits *b)
{
    uint64_t whole_a = a->quota_ns / a->period_ns;
    uint64_t whole_b = b->quota_ns / b->period_ns;

    if (whole_a != whole_b) {
        return whole_a < whole_b;
    }
    return a->quota_ns % a->period_ns * b->period_ns <
           b->quota_ns % b->period_ns * a->period_ns;
}

const BandwidthGroup *
bandwidth_group_effective(const BandwidthGroup *group,
                          BandwidthLimits *ret_limits)
{
    const BandwidthGroup *smallest = NULL;

    for (; group; group = group->parent) {
        if (group->limits.quota_ns &&
            (!smallest || is_smaller(&group->limits, &smallest->limits))) {
            smallest = group;
        }
    }
    *ret_limits = smallest ? smallest->limits : (BandwidthLimits) { 0 };
    return smallest;
}
