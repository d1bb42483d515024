/*
 * LLC-aware vCPU scheduler: groups of vCPUs with a limit of CPU time
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/qapi-builtin-visit.h"
#include "qapi/qapi-commands-llcsched.h"
#include "qapi/visitor.h"
#include "qemu/module.h"
#include "qom/object_interfaces.h"
#include "hw/boards.h"
#include "llcsched-cores.h"
#include "llcsched-internal.h"
#include "llcsched-throttle.h"

#define LLCSCHED_PERIOD_US_DEFAULT 10000

/* Check three numbers together and, once complete, change them as one. */
static bool llcsched_group_set_limits(LlcschedGroup *group,
                                      const LlcschedLimitsUs *us, Error **errp)
{
    g_autoptr(GError) err = NULL;
    BandwidthLimits limits;

    if (!bandwidth_limits_from_us(us->quota, us->period, us->burst, &limits,
                                  &err)) {
        error_setg(errp, "%s", err->message);
        return false;
    }
    group->limits = *us;
    llcsched_throttle_set_limits(group, &limits);
    return true;
}

static const struct {
    const char *name;
    ptrdiff_t offset;           /* in LlcschedLimitsUs */
} llcsched_group_limits[] = {
    { "quota-us", offsetof(LlcschedLimitsUs, quota) },
    { "period-us", offsetof(LlcschedLimitsUs, period) },
    { "burst-us", offsetof(LlcschedLimitsUs, burst) },
};

static void llcsched_group_get_limit(Object *obj, Visitor *v, const char *name,
                                     void *opaque, Error **errp)
{
    ptrdiff_t offset = *(ptrdiff_t *)opaque;

    visit_type_int64(v, name, (void *)&LLCSCHED_GROUP(obj)->limits + offset,
                     errp);
}

static void llcsched_group_set_limit(Object *obj, Visitor *v, const char *name,
                                     void *opaque, Error **errp)
{
    LlcschedGroup *group = LLCSCHED_GROUP(obj);
    LlcschedLimitsUs us = group->limits;
    ptrdiff_t offset = *(ptrdiff_t *)opaque;

    if (!visit_type_int64(v, name, (void *)&us + offset, errp)) {
        return;
    }
    if (group->sched) {
        llcsched_group_set_limits(group, &us, errp);
    } else {
        group->limits = us; /* checked together when the object is complete */
    }
}

static bool llcsched_group_is_fixed(LlcschedGroup *group, const char *name,
                                    Error **errp)
{
    if (group->sched) {
        error_setg(errp, "property '%s' of a group cannot be changed: delete "
                   "the group and create another", name);
    }
    return group->sched;
}

static char *llcsched_group_get_parent(Object *obj, Error **errp)
{
    return g_strdup(LLCSCHED_GROUP(obj)->parent_id);
}

static void llcsched_group_set_parent(Object *obj, const char *value,
                                      Error **errp)
{
    LlcschedGroup *group = LLCSCHED_GROUP(obj);

    if (!llcsched_group_is_fixed(group, "parent", errp)) {
        g_free(group->parent_id);
        group->parent_id = g_strdup(value);
    }
}

static void llcsched_group_set_cookie(Object *obj, const char *value,
                                      Error **errp)
{
    LlcschedGroup *group = LLCSCHED_GROUP(obj);

    if (!llcsched_group_is_fixed(group, "cookie", errp)) {
        llcsched_trust_take_cookie(&group->cookie, value, errp);
    }
}

static void llcsched_group_get_weight(Object *obj, Visitor *v,
                                      const char *name, void *opaque,
                                      Error **errp)
{
    LlcschedGroup *group = LLCSCHED_GROUP(obj);
    uint32_t weight = group->weight ? group->weight : TRUST_WEIGHT_DEFAULT;

    visit_type_uint32(v, name, &weight, errp);
}

static void llcsched_group_set_weight(Object *obj, Visitor *v,
                                      const char *name, void *opaque,
                                      Error **errp)
{
    LlcschedGroup *group = LLCSCHED_GROUP(obj);
    int64_t value;

    if (!visit_type_int64(v, name, &value, errp)) {
        return;
    }
    if (value < TRUST_WEIGHT_MIN || value > TRUST_WEIGHT_MAX) {
        error_setg(errp, "property 'weight' is %" PRId64 ", must be %d to %d",
                   value, TRUST_WEIGHT_MIN, TRUST_WEIGHT_MAX);
        return;
    }
    group->weight = value;
    if (group->sched) {
        QEMU_LOCK_GUARD(&group->sched->lock);
        llcsched_turns_look(group->sched);
    }
}

static void llcsched_group_get_vcpus(Object *obj, Visitor *v, const char *name,
                                     void *opaque, Error **errp)
{
    uint16List *list = NULL, **tail = &list;

    HOST_CPUSET_FOREACH(vcpu, &LLCSCHED_GROUP(obj)->vcpus) {
        QAPI_LIST_APPEND(tail, vcpu);
    }
    visit_type_uint16List(v, name, &list, errp);
    qapi_free_uint16List(list);
}

static bool llcsched_group_vcpus_from_list(const uint16List *list,
                                           HostCpuSet *set, Error **errp)
{
    unsigned max = MIN(current_machine->smp.max_cpus, HOST_CPU_MAX);

    if (!list) {
        error_setg(errp, "property 'vcpus' is empty, name at least one vCPU "
                   "or leave it out");
        return false;
    }
    for (; list; list = list->next) {
        if (list->value >= max) {
            error_setg(errp, "property 'vcpus' has %u, this machine's vCPUs "
                       "are 0 to %u", list->value, max - 1);
            return false;
        }
        if (host_cpuset_has(set, list->value)) {
            error_setg(errp, "property 'vcpus' names vCPU %u twice",
                       list->value);
            return false;
        }
        host_cpuset_add(set, list->value);
    }
    return true;
}

static void llcsched_group_set_vcpus(Object *obj, Visitor *v, const char *name,
                                     void *opaque, Error **errp)
{
    LlcschedGroup *group = LLCSCHED_GROUP(obj);
    HostCpuSet set = { };
    uint16List *list = NULL;

    if (llcsched_group_is_fixed(group, name, errp) ||
        !visit_type_uint16List(v, name, &list, errp)) {
        return;
    }
    if (llcsched_group_vcpus_from_list(list, &set, errp)) {
        group->vcpus = set;
        group->has_vcpus = true;
    }
    qapi_free_uint16List(list);
}

/* The parent must exist: so there can be no cycle. */
static bool llcsched_group_find_parent(LlcschedGroup *group, Llcsched *s,
                                       Error **errp)
{
    Object *obj;

    if (!group->parent_id || g_str_equal(group->parent_id, s->id)) {
        return true;
    }
    obj = object_resolve_path_component(object_get_objects_root(),
                                        group->parent_id);
    if (!obj || obj == OBJECT(group)) {
        error_setg(errp, "property 'parent' is '%s', which does not exist: "
                   "create parents before their children", group->parent_id);
        return false;
    }
    group->parent = (LlcschedGroup *)object_dynamic_cast(obj,
                                                         TYPE_LLCSCHED_GROUP);
    if (!group->parent) {
        error_setg(errp, "property 'parent' is '%s', which is a %s: name an "
                   "llcsched-group or the llcsched object", group->parent_id,
                   object_get_typename(obj));
        return false;
    }
    if (group->parent->has_vcpus) {
        error_setg(errp, "property 'parent' is '%s', which has vCPUs of its "
                   "own: only groups without vCPUs can have children",
                   group->parent_id);
        return false;
    }
    return true;
}

static bool llcsched_group_vcpus_are_free(LlcschedGroup *group, Llcsched *s,
                                          Error **errp)
{
    LlcschedGroup *other;

    QTAILQ_FOREACH(other, &s->groups, next) {
        HostCpuSet both = other->vcpus;

        host_cpuset_and(&both, &group->vcpus);
        if (!host_cpuset_empty(&both)) {
            error_setg(errp, "property 'vcpus' has %d, which is in group '%s' "
                       "already: a vCPU can be in one group",
                       host_cpuset_next(&both, 0), other->id);
            return false;
        }
    }
    return true;
}

static void llcsched_group_complete(UserCreatable *uc, Error **errp)
{
    LlcschedGroup *group = LLCSCHED_GROUP(uc);
    Llcsched *s = llcsched_find();
    g_autoptr(GError) err = NULL;
    BandwidthLimits limits;

    if (!s) {
        error_setg(errp, "there is no llcsched object: create one before its "
                   "groups");
        return;
    }
    if (!bandwidth_limits_from_us(group->limits.quota, group->limits.period,
                                  group->limits.burst, &limits, &err)) {
        error_setg(errp, "%s", err->message);
        return;
    }
    if (!llcsched_group_find_parent(group, s, errp) ||
        !llcsched_group_vcpus_are_free(group, s, errp)) {
        return;
    }
    if (group->cookie &&
        !llcsched_trust_prepare(s, group->cookie, &group->holder, errp)) {
        return;
    }
    group->id = g_strdup(object_get_canonical_path_component(OBJECT(uc)));
    group->sched = s;
    if (!llcsched_throttle_add(group, &limits, errp)) {
        group->sched = NULL;
        return;
    }
    /* At exit objects go in any order: what we need goes after us. */
    object_ref(OBJECT(s));
    if (group->parent) {
        object_ref(OBJECT(group->parent));
    }
    if (group->cookie) {
        llcsched_cookies_changed(s);
    }
}

static bool llcsched_group_can_be_deleted(UserCreatable *uc)
{
    return LLCSCHED_GROUP(uc)->children == 0;
}

static void llcsched_group_init(Object *obj)
{
    LLCSCHED_GROUP(obj)->limits.period = LLCSCHED_PERIOD_US_DEFAULT;
}

static void llcsched_group_finalize(Object *obj)
{
    LlcschedGroup *group = LLCSCHED_GROUP(obj);

    if (group->sched) {
        llcsched_throttle_remove(group);
        if (group->cookie) {
            llcsched_cookies_changed(group->sched);
        }
        if (group->parent) {
            object_unref(OBJECT(group->parent));
        }
        object_unref(OBJECT(group->sched));
    }
    g_free(group->parent_id);
    g_free(group->cookie);
    g_free(group->id);
}

static void llcsched_group_class_init(ObjectClass *klass, void *data)
{
    UserCreatableClass *ucc = USER_CREATABLE_CLASS(klass);

    ucc->complete = llcsched_group_complete;
    ucc->can_be_deleted = llcsched_group_can_be_deleted;
    object_class_property_add_str(klass, "parent", llcsched_group_get_parent,
                                  llcsched_group_set_parent);
    object_class_property_add(klass, "vcpus", "int", llcsched_group_get_vcpus,
                              llcsched_group_set_vcpus, NULL, NULL);
    object_class_property_add_str(klass, "cookie", NULL,
                                  llcsched_group_set_cookie);
    object_class_property_add(klass, "weight", "int", llcsched_group_get_weight,
                              llcsched_group_set_weight, NULL, NULL);
    for (int i = 0; i < ARRAY_SIZE(llcsched_group_limits); i++) {
        object_class_property_add(klass, llcsched_group_limits[i].name, "int",
                                  llcsched_group_get_limit,
                                  llcsched_group_set_limit, NULL,
                                  (void *)&llcsched_group_limits[i].offset);
    }
}

static const TypeInfo llcsched_group_info = {
    .name = TYPE_LLCSCHED_GROUP,
    .parent = TYPE_OBJECT,
    .instance_size = sizeof(LlcschedGroup),
    .instance_init = llcsched_group_init,
    .instance_finalize = llcsched_group_finalize,
    .class_init = llcsched_group_class_init,
    .interfaces = (InterfaceInfo[]) {
        { TYPE_USER_CREATABLE },
        { }
    },
};

static void llcsched_group_register_types(void)
{
    type_register_static(&llcsched_group_info);
}
type_init(llcsched_group_register_types);

void qmp_llcsched_set_limits(const char *id, bool has_quota_us,
                             int64_t quota_us, bool has_period_us,
                             int64_t period_us, bool has_burst_us,
                             int64_t burst_us, Error **errp)
{
    Object *obj = object_resolve_path_component(object_get_objects_root(), id);
    LlcschedGroup *group;
    LlcschedLimitsUs us;

    if (!obj || !object_dynamic_cast(obj, TYPE_LLCSCHED_GROUP)) {
        error_setg(errp, "there is no llcsched-group '%s'", id);
        return;
    }
    group = LLCSCHED_GROUP(obj);
    us = group->limits;
    us.quota = has_quota_us ? quota_us : us.quota;
    us.period = has_period_us ? period_us : us.period;
    us.burst = has_burst_us ? burst_us : us.burst;
    llcsched_group_set_limits(group, &us, errp);
}
