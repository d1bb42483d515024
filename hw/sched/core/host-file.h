/*
 * The one reader of /sys and of trees that look like it
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef HW_SCHED_CORE_HOST_FILE_H
#define HW_SCHED_CORE_HOST_FILE_H

#include "hw/sched/host-cpuset.h"

/*
 * The longest text taken.  The longest that a kernel prints is the list of
 * every second one of HOST_CPU_MAX CPUs, some 20 KB.
 */
#define HOST_FILE_MAX (64 * 1024)

/* The most entries of a folder that are looked at: CPUs, nodes and the rest. */
#define HOST_FILE_DIR_MAX (4 * HOST_CPU_MAX)

/* Open the folder @root@path.  A descriptor, or a negative errno. */
int host_file_open_dir(const char *root, const char *path);

/* The same below @dir. */
int host_file_open_dir_at(int dir, const char *path);

/*
 * Read all of @path below @dir into @buf (HOST_FILE_MAX + 1 bytes), without
 * the white space and NULs at its end, NUL-terminated.  0 or a negative errno,
 * among them -EFBIG (longer than HOST_FILE_MAX) and -EILSEQ (NUL in the text).
 * Never blocks, also where a FIFO lies in the file's place.
 */
int host_file_read(int dir, const char *path, char *buf);

/* What a negative errno of these functions means, for a note. */
const char *host_file_strerror(int err);

/*
 * Parse a whole text as a decimal number in [@min, @max].  False and
 * @ret_value untouched otherwise.
 */
bool host_file_parse_int(const char *text, int64_t min, int64_t max,
                         int64_t *ret_value);

/* Parse a size such as "8192K" or "32M" into bytes; at most 2^50. */
bool host_file_parse_size(const char *text, uint64_t *ret_bytes);

/*
 * The numbers N below HOST_CPU_MAX for which @path below @dir has an entry
 * @prefix followed by N, into @ret_numbers.  0 or a negative errno.
 */
int host_file_list_numbered(int dir, const char *path, const char *prefix,
                            HostCpuSet *ret_numbers);

#endif
