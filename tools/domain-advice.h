/*
 * What of a domain's XML would suit a host, and why
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef LLCSCHED_TOOL_DOMAIN_ADVICE_H
#define LLCSCHED_TOOL_DOMAIN_ADVICE_H

#include "domain-xml.h"
#include "hw/sched/host-topology.h"

/* A list for people; the caller frees it. NULL and @err: there is none. */
char *domain_advice(const DomainXml *xml, const HostTopology *host,
                    GError **err);

#endif
