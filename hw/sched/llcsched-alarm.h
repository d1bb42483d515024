/*
 * LLC-aware vCPU scheduler: a clock that rings in one thread's event loop
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef HW_SCHED_LLCSCHED_ALARM_H
#define HW_SCHED_LLCSCHED_ALARM_H

#include "block/aio.h"
#include "qemu/timer.h"

/*
 * Unlike a QEMUTimer, it may be set from another thread without waking the one
 * in which it rings: that would wake up twice for each look, and while it goes
 * back to sleep, vCPUs that begin to spin take its CPU for a tick or more.
 */
typedef struct LlcschedAlarm {
    AioContext *ctx;
    int fd;
    QEMUTimer *timer;           /* under qtest, instead of @fd */
    bool armed;                 /* or rang since */
    void (*ring)(void *opaque);
    void *opaque;
} LlcschedAlarm;

/*
 * Have @ring called in @ctx; NULL: in the main loop, by the virtual clock.
 * Zeroed memory may be cleared, set or not.
 */
bool llcsched_alarm_init(LlcschedAlarm *alarm, AioContext *ctx,
                         void (*ring)(void *opaque), void *opaque,
                         Error **errp);
void llcsched_alarm_clear(LlcschedAlarm *alarm);

/*
 * Ring once at @at_ns of llcsched_now_ns(), instead of when it was to before.
 * INT64_MAX: do not.  From any thread, but the caller sees that only one does.
 */
void llcsched_alarm_set(LlcschedAlarm *alarm, int64_t at_ns);

#endif
