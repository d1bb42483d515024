/*
 * A set of host CPUs: set operations and the kernel's two text formats
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "hw/sched/host-cpuset.h"

#define N_WORDS (HOST_CPU_MAX / 64)

int host_cpuset_next(const HostCpuSet *set, int from)
{
    uint64_t word;
    int i;

    if (from < 0) {
        from = 0;
    }
    if (from >= HOST_CPU_MAX) {
        return -1;
    }
    i = from / 64;
    word = set->words[i] & (~0ull << (from % 64));
    while (!word) {
        if (++i == N_WORDS) {
            return -1;
        }
        word = set->words[i];
    }
    return i * 64 + __builtin_ctzll(word);
}

int host_cpuset_count(const HostCpuSet *set)
{
    int n = 0;

    for (int i = 0; i < N_WORDS; i++) {
        n += __builtin_popcountll(set->words[i]);
    }
    return n;
}

bool host_cpuset_empty(const HostCpuSet *set)
{
    return host_cpuset_next(set, 0) < 0;
}

bool host_cpuset_equal(const HostCpuSet *a, const HostCpuSet *b)
{
    for (int i = 0; i < N_WORDS; i++) {
        if (a->words[i] != b->words[i]) {
            return false;
        }
    }
    return true;
}

bool host_cpuset_subset(const HostCpuSet *sub, const HostCpuSet *super)
{
    for (int i = 0; i < N_WORDS; i++) {
        if (sub->words[i] & ~super->words[i]) {
            return false;
        }
    }
    return true;
}

bool host_cpuset_intersects(const HostCpuSet *a, const HostCpuSet *b)
{
    for (int i = 0; i < N_WORDS; i++) {
        if (a->words[i] & b->words[i]) {
            return true;
        }
    }
    return false;
}

void host_cpuset_and(HostCpuSet *dst, const HostCpuSet *src)
{
    for (int i = 0; i < N_WORDS; i++) {
        dst->words[i] &= src->words[i];
    }
}

void host_cpuset_or(HostCpuSet *dst, const HostCpuSet *src)
{
    for (int i = 0; i < N_WORDS; i++) {
        dst->words[i] |= src->words[i];
    }
}

void host_cpuset_andnot(HostCpuSet *dst, const HostCpuSet *src)
{
    for (int i = 0; i < N_WORDS; i++) {
        dst->words[i] &= ~src->words[i];
    }
}

int host_cpuset_count_and(const HostCpuSet *a, const HostCpuSet *b)
{
    int n = 0;

    for (int i = 0; i < N_WORDS; i++) {
        n += __builtin_popcountll(a->words[i] & b->words[i]);
    }
    return n;
}

guint host_cpuset_hash(const HostCpuSet *set)
{
    /*
     * A multiplication moves differences upwards only, the shift brings them
     * back down; zero words count by position, so that 64 is not 0.
     */
    uint64_t hash = 0xcbf29ce484222325ull;

    for (int i = 0; i < N_WORDS; i++) {
        hash = (hash ^ set->words[i]) * 0x9e3779b97f4a7c15ull;
        hash ^= hash >> 32;
    }
    return hash;
}

static const char *skip_blanks(const char *p)
{
    while (g_ascii_isspace(*p)) {
        p++;
    }
    return p;
}

/* A decimal number below HOST_CPU_MAX + 1: no sign, no overflow. */
static bool parse_number(const char **p, int *ret_value)
{
    const char *q = *p;
    int value = 0;

    if (!g_ascii_isdigit(*q)) {
        return false;
    }
    for (; g_ascii_isdigit(*q); q++) {
        value = value * 10 + (*q - '0');
        if (value > HOST_CPU_MAX) {
            return false;
        }
    }
    *p = q;
    *ret_value = value;
    return true;
}

/* One item of a list: "A", "A-B" or "A-B:USED/SIZE". */
static bool parse_item(const char **p, HostCpuSet *set)
{
    int first, last, used = 1, size = 1;

    if (!parse_number(p, &first)) {
        return false;
    }
    last = first;
    if (**p == '-') {
        (*p)++;
        if (!parse_number(p, &last)) {
            return false;
        }
        if (**p == ':') {
            (*p)++;
            if (!parse_number(p, &used) || **p != '/') {
                return false;
            }
            (*p)++;
            if (!parse_number(p, &size)) {
                return false;
            }
        }
    }
    /* The same limits as the kernel's bitmap_parselist(). */
    if (first > last || last >= HOST_CPU_MAX || size == 0 || used > size) {
        return false;
    }
    for (int cpu = first; cpu <= last; cpu++) {
        if ((cpu - first) % size < used) {
            host_cpuset_add(set, cpu);
        }
    }
    return true;
}

bool host_cpuset_parse_list(const char *text, HostCpuSet *ret_set)
{
    HostCpuSet set = { };
    const char *p = skip_blanks(text);

    while (*p) {
        if (!parse_item(&p, &set)) {
            return false;
        }
        if (*p == ',') {
            p++;
            continue;
        }
        p = skip_blanks(p);
        if (*p) {
            return false;
        }
    }
    /* "0," is not a list: a cut-off file must not pass for a shorter one. */
    if (p > text && p[-1] == ',') {
        return false;
    }
    *ret_set = set;
    return true;
}

bool host_cpuset_parse_mask(const char *text, HostCpuSet *ret_set)
{
    HostCpuSet set = { };
    const char *p = skip_blanks(text);
    int word = 0;

    for (const char *q = p; *q; q++) {
        word += *q == ',';
        /* Nothing that the kernel prints has more; keeps the count sane. */
        if (word > HOST_CPU_MAX) {
            return false;
        }
    }
    for (;; word--) {
        uint64_t value = 0;
        int digits = 0;

        for (; g_ascii_isxdigit(*p); p++, digits++) {
            if (digits == 8) {
                return false;
            }
            value = value << 4 | g_ascii_xdigit_value(*p);
        }
        if (!digits || (value && word >= N_WORDS * 2)) {
            return false;
        }
        if (value) {
            set.words[word / 2] |= value << (word % 2 * 32);
        }
        if (*p != ',') {
            break;
        }
        p++;
    }
    if (*skip_blanks(p)) {
        return false;
    }
    *ret_set = set;
    return true;
}

char *host_cpuset_to_list(const HostCpuSet *set)
{
    GString *out = g_string_new(NULL);
    int first = host_cpuset_next(set, 0);

    while (first >= 0) {
        int last = first;

        while (host_cpuset_has(set, last + 1)) {
            last++;
        }
        if (out->len) {
            g_string_append_c(out, ',');
        }
        g_string_append_printf(out, last > first ? "%d-%d" : "%d",
                               first, last);
        first = host_cpuset_next(set, last + 1);
    }
    return g_string_free(out, FALSE);
}

char *host_cpuset_to_mask(const HostCpuSet *set, int n_cpus)
{
    GString *out = g_string_new(NULL);
    int bits = CLAMP(n_cpus, 1, HOST_CPU_MAX);
    int words = (bits + 31) / 32;

    for (int i = words - 1; i >= 0; i--) {
        unsigned value = set->words[i / 2] >> (i % 2 * 32) & 0xffffffffu;
        /* As the kernel does, the highest word has only the digits needed. */
        int width = i == words - 1 ? ((bits - 1) % 32) / 4 + 1 : 8;

        g_string_append_printf(out, "%0*x%s", width, value, i ? "," : "");
    }
    return g_string_free(out, FALSE);
}
