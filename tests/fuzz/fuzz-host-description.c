/*
 * Fuzzes the parser of host descriptions
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <stdlib.h>
#include "hw/sched/host-description.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autoptr(GError) err = NULL;
    g_autoptr(HostDescription) desc = NULL;

    desc = host_description_parse((const char *)data, size, &err);
    /* A host or a reason, never both or neither. */
    if (!desc == !err) {
        abort();
    }
    return 0;
}
