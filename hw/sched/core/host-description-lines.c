/*
 * The text form of a host: what each key of a line means
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <string.h>
#include "host-description-parse.h"
#include "host-file.h"

/* Each a kilobyte: all caches of HOST_CPU_MAX CPUs of their own. */
#define CACHES_MAX (4 * HOST_CPU_MAX)

typedef bool LineFunc(Parser *p);

static bool G_GNUC_PRINTF(2, 3) fail(Parser *p, const char *format, ...)
{
    g_autofree char *text = NULL;
    va_list args;

    va_start(args, format);
    text = g_strdup_vprintf(format, args);
    va_end(args);
    g_set_error(p->err, HOST_DESCRIPTION_ERROR, HOST_DESCRIPTION_ERROR_SYNTAX,
                "line %d: %s", p->line, text);
    return false;
}

/* A list of CPUs, all of them named by `cpus`. */
static bool take_list(Parser *p, const char *word, HostCpuSet *ret_set)
{
    HostCpuSet set;

    if (!host_cpuset_parse_list(word, &set)) {
        return fail(p, "'%.40s' is not a list of CPUs below %d such as "
                    "0-2,48-50", word, HOST_CPU_MAX);
    }
    if (!host_cpuset_subset(&set, &p->desc->possible)) {
        return fail(p, "'%.40s' has CPUs that 'cpus' does not name, or no "
                    "'cpus' line comes before", word);
    }
    *ret_set = set;
    return true;
}

static bool take_int(Parser *p, const char *what, const char *word,
                     int64_t min, int64_t max, int *ret_value)
{
    int64_t value;

    if (!host_file_parse_int(word, min, max, &value)) {
        return fail(p, "%s '%.40s' is not a number from %" G_GINT64_FORMAT
                    " to %" G_GINT64_FORMAT, what, word, min, max);
    }
    *ret_value = value;
    return true;
}

/* @set is marked used in @all; CPUs may be named once. */
static bool take_once(Parser *p, const HostCpuSet *set, HostCpuSet *all)
{
    if (host_cpuset_empty(set)) {
        return fail(p, "'%s' needs at least one CPU", p->words[0]);
    }
    if (host_cpuset_intersects(set, all)) {
        HostCpuSet both = *set;
        g_autofree char *text = NULL;

        host_cpuset_and(&both, all);
        text = host_cpuset_to_list(&both);
        return fail(p, "CPUs %.40s are in an earlier '%s' already", text,
                    p->words[0]);
    }
    host_cpuset_or(all, set);
    return true;
}

/* Take "repeat N step S" off the end of the line; without it: 1 and 0. */
static bool take_repeat(Parser *p, int *ret_n, int *ret_step)
{
    *ret_n = 1;
    *ret_step = 0;
    if (p->n_words < 5 || strcmp(p->words[p->n_words - 4], "repeat")) {
        return true;
    }
    if (strcmp(p->words[p->n_words - 2], "step")) {
        return fail(p, "expected 'repeat N step S'");
    }
    if (!take_int(p, "repeat", p->words[p->n_words - 3], 1, HOST_CPU_MAX,
                  ret_n) ||
        !take_int(p, "step", p->words[p->n_words - 1], 1, HOST_CPU_MAX - 1,
                  ret_step)) {
        return false;
    }
    p->n_words -= 4;
    return true;
}

/* @set moved up by @step CPUs. */
static bool shift(Parser *p, HostCpuSet *set, int step)
{
    HostCpuSet moved = { };

    HOST_CPUSET_FOREACH(cpu, set) {
        if (!host_cpuset_has(&p->desc->possible, cpu + step)) {
            return fail(p, "repeating reaches CPU %d, which 'cpus' does not "
                        "name", cpu + step);
        }
        host_cpuset_add(&moved, cpu + step);
    }
    *set = moved;
    return true;
}

static bool need_words(Parser *p, int n, const char *usage)
{
    return p->n_words == n || fail(p, "expected '%s'", usage);
}

static bool line_cpus(Parser *p)
{
    HostDescription *desc = p->desc;

    if (!need_words(p, 2, "cpus LIST")) {
        return false;
    }
    if (p->seen_cpus) {
        return fail(p, "a second 'cpus' line");
    }
    p->seen_cpus = true;
    if (!host_cpuset_parse_list(p->words[1], &desc->possible) ||
        host_cpuset_empty(&desc->possible)) {
        return fail(p, "'%.40s' is not a list of CPUs below %d",
                    p->words[1], HOST_CPU_MAX);
    }
    desc->online = desc->possible;
    HOST_CPUSET_FOREACH(cpu, &desc->possible) {
        desc->n_cpus = cpu + 1;
    }
    return true;
}

static bool line_online(Parser *p)
{
    if (!need_words(p, 2, "online LIST")) {
        return false;
    }
    if (p->seen_online) {
        return fail(p, "a second 'online' line");
    }
    p->seen_online = true;
    return take_list(p, p->words[1], &p->desc->online) &&
           (!host_cpuset_empty(&p->desc->online) ||
            fail(p, "no CPU is online"));
}

static bool line_isolated(Parser *p)
{
    HostCpuSet *set = !strcmp(p->words[0], "isolated") ? &p->desc->isolated :
                      !strcmp(p->words[0], "nohz-full") ?
                      &p->desc->nohz_full : &p->desc->partition;

    return need_words(p, 2, "isolated LIST") &&
           take_list(p, p->words[1], set);
}

static bool line_package(Parser *p)
{
    DescribedPackage package = { };
    int n, step;

    if (!take_repeat(p, &n, &step) ||
        !need_words(p, 3, "package ID LIST [repeat N step S]") ||
        !take_int(p, "package", p->words[1], 0, INT32_MAX - HOST_CPU_MAX,
                  &package.id) ||
        !take_list(p, p->words[2], &package.cpus)) {
        return false;
    }
    for (int i = 0; i < n; i++, package.id++) {
        if ((i && !shift(p, &package.cpus, step)) ||
            !take_once(p, &package.cpus, &p->in_package)) {
            return false;
        }
        g_array_append_val(p->desc->packages, package);
    }
    return true;
}

static bool line_core(Parser *p)
{
    HostCpuSet cpus;
    int n, step;

    if (!take_repeat(p, &n, &step) ||
        !need_words(p, 2, "core LIST [repeat N step S]") ||
        !take_list(p, p->words[1], &cpus)) {
        return false;
    }
    for (int i = 0; i < n; i++) {
        if ((i && !shift(p, &cpus, step)) ||
            !take_once(p, &cpus, &p->in_core)) {
            return false;
        }
        g_array_append_val(p->desc->cores, cpus);
    }
    return true;
}

/* "L3", "L1d", "L1i" */
static bool take_cache_name(Parser *p, const char *word, DescribedCache *cache)
{
    if (word[0] != 'L' || word[1] < '1' || word[1] > '9' ||
        (word[2] && (!strchr("di", word[2]) || word[3]))) {
        return fail(p, "'%.40s' is not a cache such as L1d, L1i, L2 or L3",
                    word);
    }
    cache->level = word[1] - '0';
    cache->type = word[2] ? word[2] : 'u';
    return true;
}

static HostCpuSet *cache_slot(Parser *p, const DescribedCache *cache)
{
    int type = cache->type == 'd' ? 0 : cache->type == 'i' ? 1 : 2;
    HostCpuSet **slot = &p->in_cache[cache->level * 3 + type];

    if (!*slot) {
        *slot = g_new0(HostCpuSet, 1);
    }
    return *slot;
}

static bool line_cache(Parser *p)
{
    DescribedCache cache = { };
    int n, step;

    if (!take_repeat(p, &n, &step) ||
        !need_words(p, 4, "cache L3 SIZE LIST [repeat N step S]") ||
        !take_cache_name(p, p->words[1], &cache)) {
        return false;
    }
    if (strcmp(p->words[2], "unknown") &&
        (!host_file_parse_size(p->words[2], &cache.bytes) ||
         cache.bytes % 1024 || !cache.bytes)) {
        return fail(p, "'%.40s' is not a size such as 512K or 32M, or "
                    "'unknown'", p->words[2]);
    }
    if (!take_list(p, p->words[3], &cache.cpus)) {
        return false;
    }
    for (int i = 0; i < n; i++) {
        if ((i && !shift(p, &cache.cpus, step)) ||
            !take_once(p, &cache.cpus, cache_slot(p, &cache))) {
            return false;
        }
        if (p->desc->caches->len == CACHES_MAX) {
            return fail(p, "more than %d caches", CACHES_MAX);
        }
        g_array_append_val(p->desc->caches, cache);
    }
    return true;
}

static DescribedNode *find_node(HostDescription *desc, int id)
{
    for (guint i = 0; i < desc->nodes->len; i++) {
        DescribedNode *node = &g_array_index(desc->nodes, DescribedNode, i);

        if (node->id == id) {
            return node;
        }
    }
    return NULL;
}

/* "cpus LIST" and "mem SIZE", each at most once, in either order. */
static bool take_node_words(Parser *p, DescribedNode *node)
{
    bool seen_cpus = false, seen_mem = false;

    for (int i = 2; i < p->n_words; i += 2) {
        const char *word = p->words[i];
        const char *value = i + 1 < p->n_words ? p->words[i + 1] : "";

        if (!strcmp(word, "cpus") && !seen_cpus) {
            seen_cpus = true;
            if (!take_list(p, value, &node->cpus)) {
                return false;
            }
        } else if (!strcmp(word, "mem") && !seen_mem) {
            seen_mem = true;
            node->has_memory = true;
            if (strcmp(value, "unknown") &&
                (!host_file_parse_size(value, &node->mem_bytes) ||
                 node->mem_bytes % 1024 || !node->mem_bytes)) {
                return fail(p, "'%.40s' is not a size such as 16G, or "
                            "'unknown'", value);
            }
        } else {
            return fail(p, "expected 'node ID [cpus LIST] [mem SIZE] "
                        "[repeat N step S]'");
        }
    }
    return true;
}

static bool line_node(Parser *p)
{
    DescribedNode node = { };
    int n, step;

    if (!take_repeat(p, &n, &step)) {
        return false;
    }
    if (p->n_words < 2) {
        return fail(p, "expected 'node ID [cpus LIST] [mem SIZE]'");
    }
    if (!take_int(p, "node", p->words[1], 0, HOST_NODE_MAX - 1, &node.id) ||
        !take_node_words(p, &node)) {
        return false;
    }
    for (int i = 0; i < n; i++, node.id++) {
        if (i && !shift(p, &node.cpus, step)) {
            return false;
        }
        /* A node without CPUs is fine: it has memory only, or nothing. */
        if (!host_cpuset_empty(&node.cpus) &&
            !take_once(p, &node.cpus, &p->in_node)) {
            return false;
        }
        if (node.id >= HOST_NODE_MAX || find_node(p->desc, node.id)) {
            return fail(p, "node %d is there already, or not below %d",
                        node.id, HOST_NODE_MAX);
        }
        g_array_append_val(p->desc->nodes, node);
    }
    return true;
}

/* A node whose memory is offline: it has no folder, its CPUs stay. */
static bool line_offline_node(Parser *p)
{
    DescribedPackage node = { };

    if (!need_words(p, 3, "offline-node ID LIST") ||
        !take_int(p, "node", p->words[1], 0, HOST_NODE_MAX - 1, &node.id) ||
        !take_list(p, p->words[2], &node.cpus) ||
        !take_once(p, &node.cpus, &p->in_node)) {
        return false;
    }
    g_array_append_val(p->desc->offline_nodes, node);
    return true;
}

static bool line_distance(Parser *p)
{
    DescribedNode *node;
    int id = -1;

    if (p->n_words < 3) {
        return fail(p, "expected 'distance NODE N...'");
    }
    if (!take_int(p, "node", p->words[1], 0, HOST_NODE_MAX - 1, &id)) {
        return false;
    }
    node = find_node(p->desc, id);
    if (!node || node->distances) {
        return fail(p, "no 'node %d' line comes before, or a second "
                    "'distance' of it", id);
    }
    node->n_distances = p->n_words - 2;
    node->distances = g_new0(unsigned, node->n_distances);
    node->distance_line = p->line;
    for (int i = 0; i < node->n_distances; i++) {
        int value = 0;

        if (!take_int(p, "distance", p->words[i + 2], 10, 65535, &value)) {
            return false;
        }
        node->distances[i] = value;
    }
    return true;
}

static bool line_capacity(Parser *p)
{
    HostDescription *desc = p->desc;
    HostCpuSet cpus;
    int capacity = 0;

    if (!need_words(p, 3, "capacity N LIST") ||
        !take_int(p, "capacity", p->words[1], 1, HOST_CAPACITY_MAX,
                  &capacity) ||
        !take_list(p, p->words[2], &cpus) ||
        !take_once(p, &cpus, &p->in_capacity)) {
        return false;
    }
    if (!desc->capacities) {
        desc->capacities = g_new(uint16_t, desc->n_cpus);
        for (int cpu = 0; cpu < desc->n_cpus; cpu++) {
            desc->capacities[cpu] = HOST_CAPACITY_MAX;
        }
    }
    HOST_CPUSET_FOREACH(cpu, &cpus) {
        desc->capacities[cpu] = capacity;
    }
    return true;
}

static bool line_kind(Parser *p)
{
    static const char *const names[KIND_COUNT] = {
        [KIND_PERFORMANCE] = "performance",
        [KIND_EFFICIENCY] = "efficiency",
        [KIND_LOW_POWER] = "low-power",
    };
    HostCpuSet cpus;

    if (!need_words(p, 3, "kind performance|efficiency|low-power LIST") ||
        !take_list(p, p->words[2], &cpus) ||
        !take_once(p, &cpus, &p->in_kind)) {
        return false;
    }
    for (int i = 0; i < KIND_COUNT; i++) {
        if (!strcmp(p->words[1], names[i])) {
            host_cpuset_or(&p->desc->kinds[i], &cpus);
            return true;
        }
    }
    return fail(p, "kind '%.40s' is not performance, efficiency or low-power",
                p->words[1]);
}

static bool line_layout(Parser *p)
{
    static const char *const names[] = {
        "masks-only", "no-cpu-lists", "no-cache-id", "only-llc",
    };

    for (int i = 1; i < p->n_words; i++) {
        size_t bit;

        for (bit = 0; bit < G_N_ELEMENTS(names); bit++) {
            if (!strcmp(p->words[i], names[bit])) {
                p->desc->layout |= 1u << bit;
                break;
            }
        }
        if (bit == G_N_ELEMENTS(names)) {
            return fail(p, "layout '%.40s' is not masks-only, no-cpu-lists, "
                        "no-cache-id or only-llc", p->words[i]);
        }
    }
    return p->n_words > 1 || fail(p, "expected 'layout NAME...'");
}

/* For readers (source) and for the test of tests/hosts (expect). */
static bool line_text(Parser *p)
{
    return true;
}

bool description_parse_line(Parser *p)
{
    static const struct {
        const char *key;
        LineFunc *func;
    } keys[] = {
        { "cpus", line_cpus }, { "online", line_online },
        { "isolated", line_isolated }, { "nohz-full", line_isolated },
        { "isolated-partition", line_isolated },
        { "package", line_package }, { "core", line_core },
        { "cache", line_cache }, { "node", line_node },
        { "offline-node", line_offline_node },
        { "distance", line_distance }, { "capacity", line_capacity },
        { "kind", line_kind }, { "layout", line_layout },
        { "source", line_text }, { "expect", line_text },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(keys); i++) {
        if (!strcmp(p->words[0], keys[i].key)) {
            return keys[i].func(p);
        }
    }
    return fail(p, "unknown key '%.40s'", p->words[0]);
}
