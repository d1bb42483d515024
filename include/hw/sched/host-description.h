/*
 * A host in one small text file: for tests, dry runs and bug reports
 *
 * The format is documented in tests/hosts/README.md.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef HW_SCHED_HOST_DESCRIPTION_H
#define HW_SCHED_HOST_DESCRIPTION_H

#include "hw/sched/host-topology.h"

typedef struct HostDescription HostDescription;

/*
 * Parse a description.  NULL and @err (line number, what was expected) on
 * anything that is not one.
 */
HostDescription *host_description_parse(const char *text, gsize len,
                                        GError **err);
void host_description_free(HostDescription *desc); /* NULL is allowed */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(HostDescription, host_description_free)

/*
 * Write the sysfs tree of @desc below @dir, which must exist and be empty:
 * @dir/sys/devices/system/cpu/... as Linux lays it out, `_list` files and
 * masks both (or masks alone where the description says so).
 */
bool host_description_build(const HostDescription *desc, const char *dir,
                            GError **err);

/*
 * The description of a running host (or of the tree below @root): only CPU
 * numbers, caches, nodes and capacities; nothing that names the machine.
 * The caller frees the text.
 */
char *host_description_capture(const char *root, GError **err);

/*
 * Read a host from @path: a folder (a root with sys/ in it) or a description
 * file, which is built into a temporary tree (in $TMPDIR, else in memory in
 * /dev/shm, else in the system's folder), read back and removed.
 */
HostTopology *host_description_load_host(const char *path, GError **err);

#define HOST_DESCRIPTION_ERROR host_description_error_quark()
GQuark host_description_error_quark(void);

#endif
