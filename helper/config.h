/*
 * What the administrator allows: the helper's configuration file
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef HELPER_CONFIG_H
#define HELPER_CONFIG_H

#include "hw/sched/host-cpuset.h"

#include "budget.h"

#define HELPER_CONFIG_PATH "/etc/qemu/llcsched-helper.conf"

/* A file that is longer is none of ours. */
#define HELPER_CONFIG_MAX (64 * 1024)

typedef struct HelperConfig {
    HostCpuSet cpus;         /* CPUs that masks may name; all unless set */
    unsigned connections;    /* of all processes together */
    unsigned connections_per_user; /* of one uid */
    unsigned threads;        /* of one process that are known as its own */
    BudgetRules budget;      /* of one process */
    bool load;               /* tell the load of LLCs */
} HelperConfig;

void helper_config_init(HelperConfig *config);

/*
 * Parse a file's text over the defaults.  False and @err (group, key, value
 * and range) with @ret_config untouched on a key or a value that is not known.
 */
bool helper_config_parse(const char *text, gsize len, HelperConfig *ret_config,
                         GError **err);

/* The same from the file @path.  A file that is not there is an error. */
bool helper_config_load(const char *path, HelperConfig *ret_config,
                        GError **err);

#define HELPER_CONFIG_ERROR helper_config_error_quark()
GQuark helper_config_error_quark(void);

#endif
