/*
 * What the helper gives up before it talks to anybody
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef HELPER_CONFINE_H
#define HELPER_CONFINE_H

#include <glib.h>
#include <stdbool.h>

/*
 * Keep two capabilities, CAP_SETUID and CAP_SYS_NICE, as far as they are
 * there, and no way to get more.
 */
bool confine_capabilities(GError **err);

/*
 * From now on, system calls beyond those that serving takes fail with EPERM:
 * no file is written or made, no program run, no process or socket made, no
 * other process touched but by sched_setaffinity().
 */
bool confine_system_calls(GError **err);

#endif
