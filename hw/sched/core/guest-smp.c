/*
 * A guest's topology from the text of QEMU's -smp option
 *
 * The rules are those of QEMU's machine_parse_smp_config()
 * (hw/core/machine-smp.c) for an x86 machine type since 6.2: what is left
 * out goes to cores before sockets before threads; dies and modules are
 * never computed.  Clusters are let through, for guests of other targets.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <errno.h>
#include <string.h>
#include "hw/sched/guest-topology.h"

typedef enum SmpParam {
    SMP_CPUS, SMP_DRAWERS, SMP_BOOKS, SMP_SOCKETS, SMP_DIES, SMP_CLUSTERS,
    SMP_MODULES, SMP_CORES, SMP_THREADS, SMP_MAXCPUS, SMP_PARAMS,
} SmpParam;

static const char *const smp_names[SMP_PARAMS] = {
    "cpus", "drawers", "books", "sockets", "dies", "clusters", "modules",
    "cores", "threads", "maxcpus",
};

/* 0: left out.  Every value is at most GUEST_VCPU_MAX, see parse_value(). */
typedef struct Smp {
    uint64_t value[SMP_PARAMS];
} Smp;

static bool smp_error(GError **err, const char *format, ...)
    G_GNUC_PRINTF(2, 3);

static bool smp_error(GError **err, const char *format, ...)
{
    g_autofree char *text = NULL;
    va_list args;

    va_start(args, format);
    text = g_strdup_vprintf(format, args);
    va_end(args);
    g_set_error(err, GUEST_TOPOLOGY_ERROR, 0, "smp: %s", text);
    return false;
}

static int find_param(const char *name)
{
    int i;

    for (i = 0; i < SMP_PARAMS; i++) {
        if (g_str_equal(name, smp_names[i])) {
            return i;
        }
    }
    return -1;
}

/*
 * QEMU takes decimal, octal and hexadecimal numbers.  A level above the most
 * vCPUs of any machine can only end in an error, so it is refused here, which
 * also keeps the products below within 64 bits (checked step by step).
 */
static bool parse_value(Smp *smp, int param, const char *text, GError **err)
{
    char *end = NULL;
    guint64 value;

    errno = 0;
    value = g_ascii_strtoull(text, &end, 0);
    if (!g_ascii_isdigit(text[0]) || *end || errno) {
        return smp_error(err, "%s='%s' is not a number; give 1 to %d",
                         smp_names[param], text, GUEST_VCPU_MAX);
    }
    if (value < 1 || value > GUEST_VCPU_MAX) {
        return smp_error(err, "%s=%s is out of range; give 1 to %d",
                         smp_names[param], text, GUEST_VCPU_MAX);
    }
    smp->value[param] = value;
    return true;
}

static bool parse_item(Smp *smp, const char *item, bool first, GError **err)
{
    const char *equals = strchr(item, '=');
    g_autofree char *name = NULL;
    int param;

    if (!equals) {
        if (!first) {
            return smp_error(err, "'%s' has no value; write name=number", item);
        }
        return parse_value(smp, SMP_CPUS, item, err);
    }
    name = g_strndup(item, equals - item);
    param = find_param(name);
    if (param < 0) {
        return smp_error(err, "'%s' is not a parameter; use cpus, sockets, "
                         "dies, clusters, modules, cores, threads or maxcpus",
                         name);
    }
    return parse_value(smp, param, equals + 1, err);
}

static bool parse_items(Smp *smp, const char *text, GError **err)
{
    g_auto(GStrv) items = g_strsplit(text, ",", -1);
    int i;

    for (i = 0; items[i]; i++) {
        bool trailing_comma = i > 0 && !items[i][0] && !items[i + 1];

        if (!trailing_comma && !parse_item(smp, items[i], i == 0, err)) {
            return false;
        }
    }
    return true;
}

/* These exist on s390x alone: 1 is allowed everywhere. */
static bool check_supported(const Smp *smp, GError **err)
{
    static const SmpParam params[] = { SMP_DRAWERS, SMP_BOOKS };
    gsize i;

    for (i = 0; i < G_N_ELEMENTS(params); i++) {
        if (smp->value[params[i]] > 1) {
            return smp_error(err, "%s=%" G_GUINT64_FORMAT " is not supported "
                             "by x86 machines; leave it out",
                             smp_names[params[i]], smp->value[params[i]]);
        }
    }
    return true;
}

/* The product of all levels that are known, saturated far above any limit. */
static uint64_t known_product(const Smp *smp)
{
    uint64_t product = 1;
    int i;

    for (i = SMP_DRAWERS; i <= SMP_THREADS; i++) {
        if (smp->value[i]) {
            product = MIN(product * smp->value[i], (uint64_t)1 << 40);
        }
    }
    return product;
}

static void default_to_one(Smp *smp, SmpParam param)
{
    if (!smp->value[param]) {
        smp->value[param] = 1;
    }
}

/* Fill what is left out.  A level may become 0: the product check finds it. */
static void complete(Smp *smp)
{
    uint64_t *v = smp->value;

    default_to_one(smp, SMP_DRAWERS);
    default_to_one(smp, SMP_BOOKS);
    default_to_one(smp, SMP_DIES);
    default_to_one(smp, SMP_CLUSTERS);
    default_to_one(smp, SMP_MODULES);
    if (!v[SMP_CPUS] && !v[SMP_MAXCPUS]) {
        default_to_one(smp, SMP_SOCKETS);
        default_to_one(smp, SMP_CORES);
        default_to_one(smp, SMP_THREADS);
        v[SMP_MAXCPUS] = known_product(smp);
    } else {
        if (!v[SMP_MAXCPUS]) {
            v[SMP_MAXCPUS] = v[SMP_CPUS];
        }
        if (!v[SMP_CORES]) {
            default_to_one(smp, SMP_SOCKETS);
            default_to_one(smp, SMP_THREADS);
            v[SMP_CORES] = v[SMP_MAXCPUS] / known_product(smp);
        } else if (!v[SMP_SOCKETS]) {
            default_to_one(smp, SMP_THREADS);
            v[SMP_SOCKETS] = v[SMP_MAXCPUS] / known_product(smp);
        } else if (!v[SMP_THREADS]) {
            v[SMP_THREADS] = v[SMP_MAXCPUS] / known_product(smp);
        }
    }
    if (!v[SMP_CPUS]) {
        v[SMP_CPUS] = v[SMP_MAXCPUS];
    }
}

static char *levels_text(const Smp *smp)
{
    GString *text = g_string_new(NULL);
    int i;

    for (i = SMP_SOCKETS; i <= SMP_THREADS; i++) {
        bool always = i == SMP_SOCKETS || i == SMP_CORES || i == SMP_THREADS;

        if (always || smp->value[i] > 1) {
            g_string_append_printf(text, "%s%s (%" G_GUINT64_FORMAT ")",
                                   text->len ? " * " : "", smp_names[i],
                                   smp->value[i]);
        }
    }
    return g_string_free(text, FALSE);
}

static bool check_complete(const Smp *smp, GError **err)
{
    const uint64_t *v = smp->value;
    bool zero = !v[SMP_SOCKETS] || !v[SMP_CORES] || !v[SMP_THREADS];
    g_autofree char *levels = levels_text(smp);

    if (zero || known_product(smp) != v[SMP_MAXCPUS]) {
        return smp_error(err, "the product of the levels must be maxcpus: "
                         "%s is not %" G_GUINT64_FORMAT "; change one of them "
                         "or leave one out", levels, v[SMP_MAXCPUS]);
    }
    if (v[SMP_MAXCPUS] > GUEST_VCPU_MAX) {
        return smp_error(err, "maxcpus=%" G_GUINT64_FORMAT " is out of range; "
                         "give 1 to %d", v[SMP_MAXCPUS], GUEST_VCPU_MAX);
    }
    if (v[SMP_CPUS] > v[SMP_MAXCPUS]) {
        return smp_error(err, "cpus=%" G_GUINT64_FORMAT " is above maxcpus=%"
                         G_GUINT64_FORMAT " (%s); lower cpus or raise maxcpus",
                         v[SMP_CPUS], v[SMP_MAXCPUS], levels);
    }
    return true;
}

/* x86 counts threads fastest, then cores, modules, clusters, dies, sockets. */
static GuestVcpuPlace place_of(const Smp *smp, int index)
{
    GuestVcpuPlace place = { .node = -1 };

    place.thread = index % (int)smp->value[SMP_THREADS];
    index /= (int)smp->value[SMP_THREADS];
    place.core = index % (int)smp->value[SMP_CORES];
    index /= (int)smp->value[SMP_CORES];
    place.module = index % (int)smp->value[SMP_MODULES];
    index /= (int)smp->value[SMP_MODULES];
    place.cluster = index % (int)smp->value[SMP_CLUSTERS];
    index /= (int)smp->value[SMP_CLUSTERS];
    place.die = index % (int)smp->value[SMP_DIES];
    place.socket = index / (int)smp->value[SMP_DIES];
    return place;
}

GuestTopology *guest_topology_from_smp(const char *smp_text,
                                       GuestCacheScope scope, GError **err)
{
    g_autofree GuestVcpuPlace *places = NULL;
    GuestTopology *guest;
    Smp smp = { { 0 } };
    int n_vcpus, i;

    if (!parse_items(&smp, smp_text, err) || !check_supported(&smp, err)) {
        return NULL;
    }
    complete(&smp);
    if (!check_complete(&smp, err)) {
        return NULL;
    }
    n_vcpus = smp.value[SMP_MAXCPUS];
    places = g_new(GuestVcpuPlace, n_vcpus);
    for (i = 0; i < n_vcpus; i++) {
        places[i] = place_of(&smp, i);
    }
    guest = guest_topology_new(places, n_vcpus, scope, NULL, 0);
    for (i = 0; i < (int)smp.value[SMP_CPUS]; i++) {
        guest->vcpus[i].present = true;
    }
    return guest;
}
