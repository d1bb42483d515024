/*
 * LLC-aware vCPU scheduler: the names of what its files share
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef HW_SCHED_LLCSCHED_TYPES_H
#define HW_SCHED_LLCSCHED_TYPES_H

#include "qom/object.h"
#include "qapi/qapi-types-llcsched.h"

#define TYPE_LLCSCHED "llcsched"
OBJECT_DECLARE_SIMPLE_TYPE(Llcsched, LLCSCHED)

#define TYPE_LLCSCHED_GROUP "llcsched-group"
OBJECT_DECLARE_SIMPLE_TYPE(LlcschedGroup, LLCSCHED_GROUP)

typedef struct LlcschedHolder LlcschedHolder;
typedef struct LlcschedThread LlcschedThread;
typedef struct LlcschedVcpu LlcschedVcpu;

#endif
