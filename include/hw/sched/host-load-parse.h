/*
 * The texts of /proc/stat, /proc/schedstat and a thread's schedstat file
 *
 * Pure: the bytes are handed in, in pieces of any size.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef HW_SCHED_HOST_LOAD_PARSE_H
#define HW_SCHED_HOST_LOAD_PARSE_H

#include "hw/sched/host-load.h"

/*
 * The numbers that are used stand within the first ten fields of a row; ten
 * numbers of 20 digits fit.  What follows in a longer line (the interrupt
 * counters, the domain masks) is dropped unread.
 */
#define HOST_LOAD_LINE_MAX 256

/*
 * Versions of /proc/schedstat whose CPU rows mean the same: field 7 is the
 * time run and field 8 the time waited, both in ns (Linux,
 * Documentation/scheduler/sched-stats.rst: 16 and 17 changed the domain rows
 * alone).
 */
#define HOST_LOAD_SCHEDSTAT_VERSION_MIN 15
#define HOST_LOAD_SCHEDSTAT_VERSION_MAX 17

typedef struct HostLoadParser {
    HostLoadSource format;   /* HOST_LOAD_STAT or HOST_LOAD_SCHEDSTAT */
    HostCpuTimes *cpus;      /* the caller's, n_cpus entries */
    int n_cpus;
    bool want_run;           /* schedstat: take the run time as well */
    uint64_t ns_per_tick;    /* stat: 1 s / USER_HZ */
    uint64_t version;        /* schedstat: as read, 0: none yet */
    bool done;               /* nothing that follows can matter */
    int n_rows;              /* CPUs with a row that could be read */
    HostCpuSet seen;
    unsigned line_len;
    char line[HOST_LOAD_LINE_MAX];
} HostLoadParser;

/* @cpus must outlive the parser, which only writes rows that it could read. */
void host_load_parser_init(HostLoadParser *parser, HostLoadSource format,
                           HostCpuTimes *cpus, int n_cpus, bool want_run,
                           uint64_t ns_per_tick);

/*
 * Take the next piece of the text.  False: no more is needed.  A line that is
 * cut off by the end of the file is never used: a number in it may be cut.
 */
bool host_load_parser_feed(HostLoadParser *parser, const char *data,
                           size_t len);

/* The file was of a known format and had at least one CPU row. */
bool host_load_parser_ok(const HostLoadParser *parser);

/*
 * The text of /proc/self/task/TID/schedstat: "RUN_NS WAIT_NS SLICES\n".
 * False, with @ret_times untouched, on anything else.
 */
bool host_load_parse_thread(const char *text, size_t len,
                            ThreadTimes *ret_times);

#endif
