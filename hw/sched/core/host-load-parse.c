/*
 * The texts of /proc/stat, /proc/schedstat and a thread's schedstat file
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <string.h>

#include "hw/sched/host-load-parse.h"

/* Columns of a row of /proc/stat, after its name (proc(5)). */
enum {
    STAT_USER,       /* the time in guests is part of it */
    STAT_NICE,       /* so is that of niced guests of this one */
    STAT_SYSTEM,
    STAT_IDLE,
    STAT_IOWAIT,
    STAT_IRQ,
    STAT_SOFTIRQ,
    STAT_COLUMNS,    /* steal follows: nothing ran here in that time */
};

/* Columns of a row of /proc/schedstat, after its name. */
enum {
    SCHEDSTAT_RUN = 6,
    SCHEDSTAT_WAIT = 7,
    SCHEDSTAT_COLUMNS = 8,
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/*
 * One unsigned decimal number at *@pos.  Advances behind it.  A number that
 * does not fit in 64 bits is not one.
 */
static bool parse_number(const char **pos, uint64_t *ret_value)
{
    const char *p = *pos;
    uint64_t value = 0;

    if (!g_ascii_isdigit(*p)) {
        return false;
    }
    for (; g_ascii_isdigit(*p); p++) {
        unsigned digit = *p - '0';

        if (value > (UINT64_MAX - digit) / 10) {
            return false;
        }
        value = value * 10 + digit;
    }
    *pos = p;
    *ret_value = value;
    return true;
}

/* @n numbers, each with blanks before it and a blank or the end behind it. */
static bool parse_columns(const char *pos, uint64_t *ret_values, int n)
{
    for (int i = 0; i < n; i++) {
        if (!is_blank(*pos)) {
            return false;
        }
        while (is_blank(*pos)) {
            pos++;
        }
        if (!parse_number(&pos, &ret_values[i])) {
            return false;
        }
    }
    return *pos == '\0' || is_blank(*pos);
}

/* "cpuN ...": the CPU, with *@pos behind the number; -1: another row. */
static int parse_cpu_name(const char **pos)
{
    const char *p = *pos;
    uint64_t cpu;

    if (strncmp(p, "cpu", 3)) {
        return -1;
    }
    p += 3;
    if (!parse_number(&p, &cpu) || cpu >= HOST_CPU_MAX) {
        return -1;
    }
    *pos = p;
    return cpu;
}

static uint64_t add_saturated(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static uint64_t ticks_to_ns(const HostLoadParser *parser, uint64_t ticks)
{
    return ticks > UINT64_MAX / parser->ns_per_tick ?
           UINT64_MAX : ticks * parser->ns_per_tick;
}

static bool parse_stat_row(HostLoadParser *parser, const char *pos, int cpu)
{
    static const int busy[] = {
        STAT_USER, STAT_NICE, STAT_SYSTEM, STAT_IRQ, STAT_SOFTIRQ,
    };
    uint64_t column[STAT_COLUMNS], ticks = 0;

    if (!parse_columns(pos, column, STAT_COLUMNS)) {
        return false;
    }
    for (size_t i = 0; i < G_N_ELEMENTS(busy); i++) {
        ticks = add_saturated(ticks, column[busy[i]]);
    }
    parser->cpus[cpu].run_ns = ticks_to_ns(parser, ticks);
    return true;
}

static bool parse_schedstat_row(HostLoadParser *parser, const char *pos,
                                int cpu)
{
    uint64_t column[SCHEDSTAT_COLUMNS];

    if (!parse_columns(pos, column, SCHEDSTAT_COLUMNS)) {
        return false;
    }
    parser->cpus[cpu].wait_ns = column[SCHEDSTAT_WAIT];
    if (parser->want_run) {
        parser->cpus[cpu].run_ns = column[SCHEDSTAT_RUN];
    }
    return true;
}

/* The first row of a CPU counts; one beyond n_cpus does not. */
static void parse_cpu_row(HostLoadParser *parser)
{
    const char *pos = parser->line;
    int cpu = parse_cpu_name(&pos);
    bool ok;

    if (cpu < 0 || cpu >= parser->n_cpus ||
        host_cpuset_has(&parser->seen, cpu)) {
        return;
    }
    ok = parser->format == HOST_LOAD_STAT ?
         parse_stat_row(parser, pos, cpu) :
         parse_schedstat_row(parser, pos, cpu);
    if (ok) {
        host_cpuset_add(&parser->seen, cpu);
        parser->n_rows++;
    }
}

static void parse_version(HostLoadParser *parser)
{
    uint64_t version;

    if (!strncmp(parser->line, "version", 7) &&
        parse_columns(parser->line + 7, &version, 1)) {
        parser->version = version;
    }
    /* Rows of an unknown layout must not be guessed at. */
    parser->done = parser->version < HOST_LOAD_SCHEDSTAT_VERSION_MIN ||
                   parser->version > HOST_LOAD_SCHEDSTAT_VERSION_MAX;
}

static void parse_line(HostLoadParser *parser)
{
    if (parser->format == HOST_LOAD_SCHEDSTAT && !parser->version) {
        parse_version(parser);
    } else if (!strncmp(parser->line, "cpu", 3)) {
        parse_cpu_row(parser);
    } else if (parser->format == HOST_LOAD_STAT) {
        /* The CPU rows come first and in one piece: spare the rest. */
        parser->done = parser->n_rows > 0;
    }
}

void host_load_parser_init(HostLoadParser *parser, HostLoadSource format,
                           HostCpuTimes *cpus, int n_cpus, bool want_run,
                           uint64_t ns_per_tick)
{
    g_assert(format == HOST_LOAD_STAT || format == HOST_LOAD_SCHEDSTAT);
    g_assert(ns_per_tick > 0);
    memset(parser, 0, sizeof(*parser));
    parser->format = format;
    parser->cpus = cpus;
    parser->n_cpus = n_cpus;
    parser->want_run = want_run;
    parser->ns_per_tick = ns_per_tick;
}

bool host_load_parser_feed(HostLoadParser *parser, const char *data,
                           size_t len)
{
    const char *end = data + len;

    while (!parser->done && data < end) {
        const char *newline = memchr(data, '\n', end - data);
        size_t piece = (newline ? newline : end) - data;
        size_t room = sizeof(parser->line) - 1 - parser->line_len;

        memcpy(parser->line + parser->line_len, data, MIN(piece, room));
        parser->line_len += MIN(piece, room);
        data += piece;
        if (newline) {
            parser->line[parser->line_len] = '\0';
            parse_line(parser);
            parser->line_len = 0;
            data++;
        }
    }
    return !parser->done;
}

bool host_load_parser_ok(const HostLoadParser *parser)
{
    return parser->n_rows > 0;
}

bool host_load_parse_thread(const char *text, size_t len,
                            ThreadTimes *ret_times)
{
    char line[HOST_LOAD_LINE_MAX];
    const char *newline = memchr(text, '\n', len);
    uint64_t column[3];

    if (!newline || newline - text > sizeof(line) - 2) {
        return false;
    }
    /* parse_columns() wants a blank before each number. */
    line[0] = ' ';
    memcpy(line + 1, text, newline - text);
    line[1 + (newline - text)] = '\0';
    if (!parse_columns(line, column, 3)) {
        return false;
    }
    *ret_times = (ThreadTimes) {
        .run_ns = column[0],
        .wait_ns = column[1],
        .slices = column[2],
        .waits_known = true,
    };
    return true;
}
