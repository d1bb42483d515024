/*
 * LLC-aware vCPU scheduler: a clock that rings in one thread's event loop
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include <sys/timerfd.h>
#include "qapi/error.h"
#include "llcsched-alarm.h"

/* Set anew since it rang, there is nothing to read: it will ring again. */
static void llcsched_alarm_read(void *opaque)
{
    LlcschedAlarm *alarm = opaque;
    uint64_t times;

    if (read(alarm->fd, &times, sizeof(times)) == sizeof(times)) {
        alarm->ring(alarm->opaque);
    }
}

bool llcsched_alarm_init(LlcschedAlarm *alarm, AioContext *ctx,
                         void (*ring)(void *opaque), void *opaque,
                         Error **errp)
{
    int fd;

    if (!ctx) {
        *alarm = (LlcschedAlarm) {
            .timer = timer_new_ns(QEMU_CLOCK_VIRTUAL, ring, opaque),
        };
        return true;
    }
    /* the clock of get_clock(), and so of llcsched_now_ns() */
    fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (fd < 0) {
        error_setg_errno(errp, errno, "llcsched needs timers (timerfd)");
        return false;
    }
    *alarm = (LlcschedAlarm) {
        .ctx = ctx, .fd = fd, .ring = ring, .opaque = opaque,
    };
    aio_set_fd_handler(ctx, fd, llcsched_alarm_read, NULL, NULL, NULL, alarm);
    return true;
}

void llcsched_alarm_clear(LlcschedAlarm *alarm)
{
    timer_free(alarm->timer);
    if (alarm->ctx) {
        aio_set_fd_handler(alarm->ctx, alarm->fd, NULL, NULL, NULL, NULL, NULL);
        close(alarm->fd);
    }
    *alarm = (LlcschedAlarm) { 0 };
}

static void llcsched_alarm_set_fd(LlcschedAlarm *alarm, int64_t at_ns)
{
    struct itimerspec when = { .it_value = {
        .tv_sec = at_ns / NANOSECONDS_PER_SECOND,
        .tv_nsec = at_ns % NANOSECONDS_PER_SECOND,
    } };
    int ret;

    /* the file is ours and the time is valid: there is no way to fail */
    ret = timerfd_settime(alarm->fd, TFD_TIMER_ABSTIME, &when, NULL);
    assert(ret == 0);
}

void llcsched_alarm_set(LlcschedAlarm *alarm, int64_t at_ns)
{
    bool armed = at_ns != INT64_MAX;

    if (!armed && !alarm->armed) {
        return;
    }
    alarm->armed = armed;
    if (alarm->ctx) {
        llcsched_alarm_set_fd(alarm, armed ? MAX(at_ns, 1) : 0);
    } else if (armed) {
        timer_mod(alarm->timer, at_ns);
    } else {
        timer_del(alarm->timer);
    }
}
