/*
 * llcsched in a libvirt domain's XML: put it in, take it out
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef LLCSCHED_TOOL_DOMAIN_LLCSCHED_H
#define LLCSCHED_TOOL_DOMAIN_LLCSCHED_H

#include "domain-xml.h"

/* The object's id; that of its group has this behind it. */
#define DOMAIN_LLCSCHED_ID "llcsched0"
#define DOMAIN_LLCSCHED_GROUP_SUFFIX "-limit"

/* libvirt's own -sandbox, but for what masks of vCPUs need. */
#define DOMAIN_LLCSCHED_SANDBOX "on,obsolete=deny,elevateprivileges=deny," \
                                "spawn=deny,resourcecontrol=allow"

/* What to put in. */
typedef struct DomainLlcsched {
    const char *id;
    const char *object;     /* behind "llcsched,id=ID": "" or ",name=value.." */
    const char *group;      /* the same of its group; NULL: no group */
    int group_last_vcpu;    /* the highest that it names; -1: it is for all */
    bool allow_affinity;    /* let the sandbox allow masks */
    const char *emulator;   /* a path, or NULL: as it is */
} DomainLlcsched;

/*
 * Both return the new text, which the caller frees; NULL and @err (a sentence,
 * without full stop): it cannot be done.  Anything of an earlier call with the
 * same id is replaced, or taken out.
 */
char *domain_llcsched_add(const DomainXml *xml, const DomainLlcsched *what,
                          GError **err);
char *domain_llcsched_remove(const DomainXml *xml, const char *id,
                             GError **err);

#endif
