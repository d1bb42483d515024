/*
 * LLC-aware vCPU scheduler: the options of the object
 *
 * Each is validated alone, then all are swapped in as one.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/qapi-builtin-visit.h"
#include "qapi/visitor.h"
#include "llcsched-apply.h"
#include "llcsched-balance.h"
#include "llcsched-internal.h"
#include "llcsched-look.h"

#define LLCSCHED_INTERVAL_MS_DEFAULT 1000
#define LLCSCHED_INTERVAL_MS_MIN 100
#define LLCSCHED_INTERVAL_MS_MAX 60000

void llcsched_config_default(LlcschedConfig *config)
{
    *config = (LlcschedConfig) {
        .placement = LLCSCHED_PLACEMENT_LLC,
        .prefer = LLCSCHED_PREFER_AUTO,
        .emulator = LLCSCHED_EMULATOR_NEAR,
        .dynamic = true,
        .interval_ms = LLCSCHED_INTERVAL_MS_DEFAULT,
        .guard_util = PLACEMENT_GUARD_UTIL_DEFAULT,
        .guard_tasks = PLACEMENT_GUARD_TASKS_DEFAULT,
        .slice_us = TRUST_SLICE_NS_DEFAULT / SCALE_US,
        .steal_time = true,
    };
}

static void llcsched_config_copy(LlcschedConfig *dst, const LlcschedConfig *src)
{
    *dst = *src;
    if (src->usage) {
        g_array_ref(src->usage);
    }
}

void llcsched_config_clear(LlcschedConfig *config)
{
    if (config->usage) {
        g_array_unref(config->usage);
        config->usage = NULL;
    }
}

/* Whoever changes other options is not to blame for CPUs that went away. */
static bool llcsched_names_other_cpus(const Llcsched *s,
                                      const LlcschedConfig *config)
{
    return config->has_cpus && !(s->config.has_cpus &&
                                 host_cpuset_equal(&s->config.cpus,
                                                   &config->cpus));
}

/*
 * Swap in new options that are each valid: check them against the host, then
 * change all at once and plan again.  Before the object is complete they are
 * only kept.
 */
static bool llcsched_set_config(Llcsched *s, LlcschedConfig *config,
                                Error **errp)
{
    g_autoptr(LlcschedView) view = NULL;

    if (s->completed) {
        QEMU_LOCK_GUARD(&s->look_lock);
        view = llcsched_view_read(s, config, s->view,
                                  llcsched_names_other_cpus(s, config), errp);
        if (!view) {
            return false;
        }
        QEMU_LOCK_GUARD(&s->lock);
        if (config->placement == LLCSCHED_PLACEMENT_OFF) {
            llcsched_restore_masks(s);
        }
        llcsched_take_view(s, g_steal_pointer(&view));
        s->plan_due = true;
        llcsched_config_clear(&s->config);
        llcsched_config_copy(&s->config, config);
        llcsched_balance_set_options(s);
    } else {
        llcsched_config_clear(&s->config);
        llcsched_config_copy(&s->config, config);
    }
    if (s->started) {
        llcsched_look(s, LLCSCHED_WHY_PROPERTY, NULL);
    }
    if (s->running) {
        llcsched_arm(s);
    }
    return true;
}

/* Options that are words of an enumeration, or booleans. */
typedef struct LlcschedChoice {
    const char *name;
    const char *type;
    const QEnumLookup *words;   /* NULL: a bool */
    ptrdiff_t offset;           /* in LlcschedConfig */
    bool fixed;                 /* once the object is complete */
} LlcschedChoice;

static const LlcschedChoice llcsched_choices[] = {
    { "placement", "LlcschedPlacement", &LlcschedPlacement_lookup,
      offsetof(LlcschedConfig, placement) },
    { "prefer", "LlcschedPrefer", &LlcschedPrefer_lookup,
      offsetof(LlcschedConfig, prefer) },
    { "emulator", "LlcschedEmulator", &LlcschedEmulator_lookup,
      offsetof(LlcschedConfig, emulator) },
    { "dynamic", "bool", NULL, offsetof(LlcschedConfig, dynamic) },
    { "steal-time", "bool", NULL, offsetof(LlcschedConfig, steal_time) },
    { "trust", "LlcschedTrust", &LlcschedTrust_lookup,
      offsetof(LlcschedConfig, trust), true },
    { "trust-backend", "LlcschedTrustBackend", &LlcschedTrustBackend_lookup,
      offsetof(LlcschedConfig, trust_backend), true },
};

static bool llcsched_visit_choice(Visitor *v, const LlcschedChoice *choice,
                                  LlcschedConfig *config, Error **errp)
{
    void *field = (void *)config + choice->offset;

    if (choice->words) {
        return visit_type_enum(v, choice->name, field, choice->words, errp);
    }
    return visit_type_bool(v, choice->name, field, errp);
}

static void llcsched_get_choice(Object *obj, Visitor *v, const char *name,
                                void *opaque, Error **errp)
{
    llcsched_visit_choice(v, opaque, &LLCSCHED(obj)->config, errp);
}

static bool llcsched_is_fixed(Llcsched *s, const char *name, Error **errp)
{
    if (s->completed) {
        error_setg(errp, "property '%s' cannot be changed: give it when the "
                   "object is created", name);
    }
    return s->completed;
}

static void llcsched_set_choice(Object *obj, Visitor *v, const char *name,
                                void *opaque, Error **errp)
{
    const LlcschedChoice *choice = opaque;
    g_auto(LlcschedConfig) config = { };

    if (choice->fixed && llcsched_is_fixed(LLCSCHED(obj), name, errp)) {
        return;
    }
    llcsched_config_copy(&config, &LLCSCHED(obj)->config);
    if (llcsched_visit_choice(v, opaque, &config, errp)) {
        llcsched_set_config(LLCSCHED(obj), &config, errp);
    }
}

/* Options that are numbers in a range. */
typedef struct LlcschedNumber {
    const char *name;
    const char *unit;
    ptrdiff_t offset;           /* in LlcschedConfig */
    uint32_t min, max;
} LlcschedNumber;

static const LlcschedNumber llcsched_numbers[] = {
    { "interval", "ms", offsetof(LlcschedConfig, interval_ms),
      LLCSCHED_INTERVAL_MS_MIN, LLCSCHED_INTERVAL_MS_MAX },
    { "guard-util", "percent", offsetof(LlcschedConfig, guard_util), 1, 100 },
    { "guard-tasks", "percent", offsetof(LlcschedConfig, guard_tasks), 1, 100 },
    { "slice-us", "us", offsetof(LlcschedConfig, slice_us),
      TRUST_SLICE_NS_MIN / SCALE_US, TRUST_SLICE_NS_MAX / SCALE_US },
};

static void llcsched_get_number(Object *obj, Visitor *v, const char *name,
                                void *opaque, Error **errp)
{
    const LlcschedNumber *number = opaque;
    uint32_t *field = (void *)&LLCSCHED(obj)->config + number->offset;

    visit_type_uint32(v, name, field, errp);
}

static void llcsched_set_number(Object *obj, Visitor *v, const char *name,
                                void *opaque, Error **errp)
{
    const LlcschedNumber *number = opaque;
    g_auto(LlcschedConfig) config = { };
    int64_t value;

    if (!visit_type_int64(v, name, &value, errp)) {
        return;
    }
    if (value < number->min || value > number->max) {
        error_setg(errp, "property '%s' is %" PRId64 " %s, must be %" PRIu32
                   " to %" PRIu32, name, value, number->unit, number->min,
                   number->max);
        return;
    }
    llcsched_config_copy(&config, &LLCSCHED(obj)->config);
    *(uint32_t *)((void *)&config + number->offset) = value;
    llcsched_set_config(LLCSCHED(obj), &config, errp);
}

static void llcsched_get_cpus(Object *obj, Visitor *v, const char *name,
                              void *opaque, Error **errp)
{
    Llcsched *s = LLCSCHED(obj);
    uint16List *list = NULL, **tail = &list;

    if (s->config.has_cpus) {
        HOST_CPUSET_FOREACH(cpu, &s->config.cpus) {
            QAPI_LIST_APPEND(tail, cpu);
        }
    }
    visit_type_uint16List(v, name, &list, errp);
    qapi_free_uint16List(list);
}

static bool llcsched_cpus_from_list(const uint16List *list, HostCpuSet *set,
                                    Error **errp)
{
    if (!list) {
        error_setg(errp, "property 'cpus' is empty, name at least one host "
                   "CPU or leave it out");
        return false;
    }
    for (; list; list = list->next) {
        if (list->value >= HOST_CPU_MAX) {
            error_setg(errp, "property 'cpus' has %u, host CPUs are 0 to %d",
                       list->value, HOST_CPU_MAX - 1);
            return false;
        }
        if (host_cpuset_has(set, list->value)) {
            error_setg(errp, "property 'cpus' names host CPU %u twice",
                       list->value);
            return false;
        }
        host_cpuset_add(set, list->value);
    }
    return true;
}

static void llcsched_set_cpus(Object *obj, Visitor *v, const char *name,
                              void *opaque, Error **errp)
{
    g_auto(LlcschedConfig) config = { };
    HostCpuSet set = { };
    uint16List *list = NULL;

    if (!visit_type_uint16List(v, name, &list, errp)) {
        return;
    }
    if (llcsched_cpus_from_list(list, &set, errp)) {
        llcsched_config_copy(&config, &LLCSCHED(obj)->config);
        config.has_cpus = true;
        config.cpus = set;
        llcsched_set_config(LLCSCHED(obj), &config, errp);
    }
    qapi_free_uint16List(list);
}

static void llcsched_get_usage(Object *obj, Visitor *v, const char *name,
                               void *opaque, Error **errp)
{
    const GArray *usage = LLCSCHED(obj)->config.usage;
    uint32List *list = NULL, **tail = &list;

    for (guint i = 0; usage && i < usage->len; i++) {
        QAPI_LIST_APPEND(tail, g_array_index(usage, uint32_t, i));
    }
    visit_type_uint32List(v, name, &list, errp);
    qapi_free_uint32List(list);
}

static bool llcsched_usage_from_list(const uint32List *list, GArray *usage,
                                     Error **errp)
{
    for (; list; list = list->next) {
        if (list->value > 100) {
            error_setg(errp, "property 'x-vcpu-usage' has %" PRIu32
                       " percent, must be 0 to 100", list->value);
            return false;
        }
        if (usage->len == GUEST_VCPU_MAX) {
            error_setg(errp, "property 'x-vcpu-usage' has more numbers than "
                       "%d, name one for each vCPU", GUEST_VCPU_MAX);
            return false;
        }
        g_array_append_val(usage, list->value);
    }
    return true;
}

static void llcsched_set_usage(Object *obj, Visitor *v, const char *name,
                               void *opaque, Error **errp)
{
    g_autoptr(GArray) usage = g_array_new(false, false, sizeof(uint32_t));
    g_auto(LlcschedConfig) config = { };
    uint32List *list = NULL;

    if (!visit_type_uint32List(v, name, &list, errp)) {
        return;
    }
    if (llcsched_usage_from_list(list, usage, errp)) {
        llcsched_config_copy(&config, &LLCSCHED(obj)->config);
        llcsched_config_clear(&config);
        config.usage = g_steal_pointer(&usage);
        llcsched_set_config(LLCSCHED(obj), &config, errp);
    }
    qapi_free_uint32List(list);
}

static char *llcsched_get_sysfs_root(Object *obj, Error **errp)
{
    return g_strdup(LLCSCHED(obj)->sysfs_root);
}

static void llcsched_set_sysfs_root(Object *obj, const char *value,
                                    Error **errp)
{
    Llcsched *s = LLCSCHED(obj);

    if (!llcsched_is_fixed(s, "x-sysfs-root", errp)) {
        g_free(s->sysfs_root);
        s->sysfs_root = g_strdup(value);
    }
}

static void llcsched_set_cookie(Object *obj, const char *value, Error **errp)
{
    Llcsched *s = LLCSCHED(obj);

    if (!llcsched_is_fixed(s, "cookie", errp)) {
        llcsched_trust_take_cookie(&s->trust.cookie, value, errp);
    }
}

void llcsched_add_options(ObjectClass *klass)
{
    for (int i = 0; i < ARRAY_SIZE(llcsched_choices); i++) {
        object_class_property_add(klass, llcsched_choices[i].name,
                                  llcsched_choices[i].type,
                                  llcsched_get_choice, llcsched_set_choice,
                                  NULL, (void *)&llcsched_choices[i]);
    }
    for (int i = 0; i < ARRAY_SIZE(llcsched_numbers); i++) {
        object_class_property_add(klass, llcsched_numbers[i].name, "int",
                                  llcsched_get_number, llcsched_set_number,
                                  NULL, (void *)&llcsched_numbers[i]);
    }
    object_class_property_add(klass, "cpus", "int", llcsched_get_cpus,
                              llcsched_set_cpus, NULL, NULL);
    object_class_property_add(klass, "x-vcpu-usage", "int",
                              llcsched_get_usage, llcsched_set_usage,
                              NULL, NULL);
    object_class_property_add_str(klass, "x-sysfs-root",
                                  llcsched_get_sysfs_root,
                                  llcsched_set_sysfs_root);
    /* no getter: cookies are compared and told to nobody */
    object_class_property_add_str(klass, "cookie", NULL, llcsched_set_cookie);
}
