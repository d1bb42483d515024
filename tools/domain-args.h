/*
 * The QEMU arguments in a libvirt domain's XML
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef LLCSCHED_TOOL_DOMAIN_ARGS_H
#define LLCSCHED_TOOL_DOMAIN_ARGS_H

#include "domain-xml.h"

/* An option and its value: two <qemu:arg> in a row. */
typedef struct DomainArg {
    xmlNode *name, *value;
    char *text;         /* of the value */
    char *type, *id;    /* of an -object; else NULL.  An id may be missing. */
    bool is_sandbox;
} DomainArg;

/* All -object and -sandbox of the domain, in their order. */
GArray *domain_args_read(const DomainXml *xml);

#endif
