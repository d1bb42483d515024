/*
 * The emulator of a libvirt domain: set it, and give back what was there
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef LLCSCHED_TOOL_DOMAIN_EMULATOR_H
#define LLCSCHED_TOOL_DOMAIN_EMULATOR_H

#include "domain-edit.h"

/* Let the domain run @path.  False and @err: it has no place for that. */
bool domain_emulator_set(const DomainXml *xml, DomainEdit *edit,
                         const char *path, GError **err);

/* Undo that, unless somebody else has changed the emulator since. */
void domain_emulator_restore(const DomainXml *xml, DomainEdit *edit);

#endif
