/*
 * LLC-aware vCPU scheduler: masks are set as planned, and given back
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef HW_SCHED_LLCSCHED_APPLY_H
#define HW_SCHED_LLCSCHED_APPLY_H

#include "llcsched-types.h"

/* How many masks of vCPUs changed.  What failed before only with @retry. */
int llcsched_apply(Llcsched *s, bool retry);

/* Remember where the memory is, once.  Lock held. */
void llcsched_note_memory(Llcsched *s);

/* Set, or give back, masks that had to wait.  Lock held. */
void llcsched_move_masks(Llcsched *s);

/* Give every mask that is ours back as it was found.  Lock held. */
void llcsched_restore_masks(Llcsched *s);

#endif
