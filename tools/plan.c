/*
 * qemu-llcsched plan: where the vCPUs of VMs would run, without running any
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <string.h>

#include "hw/sched/placement-seed.h"
#include "plan.h"

/* More VMs than that make a text that nobody reads. */
#define PLAN_VMS_MAX 1024

static const char description[] =
    "Each --smp is one VM.  They are planned in the order given, and each "
    "counts in\nfull as load of others for those after it.  All online CPUs "
    "are taken to be\nallowed, and LLCs to be idle but for --load.\n\n"
    "--cache is core, module, cluster, die (default) or socket.  The guard "
    "closes at\n25 percent (--guard-util) and 33 percent (--guard-tasks), 100 "
    "is never.  --cpus is\nthe only way to use isolated CPUs.";

typedef struct PlanOptions {
    ToolHost where;
    char *placement, *prefer, *cache, *cpus;
    char *guard_util, *guard_tasks;
    char **load, **smp, **uuid;
    gboolean json;

    /* What the texts above mean. */
    PlacementWidth width;
    PlacementPrefer preference;
    GuestCacheScope scope;
    HostCpuSet cpu_set;
    uint64_t util_percent, tasks_percent;
} PlanOptions;

static void options_clear(PlanOptions *o)
{
    tool_host_clear(&o->where);
    g_free(o->placement);
    g_free(o->prefer);
    g_free(o->cache);
    g_free(o->cpus);
    g_free(o->guard_util);
    g_free(o->guard_tasks);
    g_strfreev(o->load);
    g_strfreev(o->smp);
    g_strfreev(o->uuid);
}

/* Names are in the order of their enumeration. 0, or the status. */
static int parse_choice(const ToolCommand *command, const char *option,
                        const char *text, const char *const *names,
                        int *ret_value)
{
    g_autofree char *all = NULL;

    if (!text) {
        return TOOL_OK;
    }
    for (int i = 0; names[i]; i++) {
        if (!strcmp(text, names[i])) {
            *ret_value = i;
            return TOOL_OK;
        }
    }
    all = g_strjoinv(", ", (char **)names);
    return tool_usage_error(command, "%s '%s': choose one of %s", option, text,
                            all);
}

static int parse_choices(const ToolCommand *command, PlanOptions *o)
{
    static const char *const widths[] = { "llc", "core", "cpu", NULL };
    static const char *const preferences[] = {
        "auto", "cache", "capacity", NULL
    };
    static const char *const scopes[] = {
        "core", "module", "cluster", "die", "socket", NULL
    };
    int width = PLACEMENT_WIDTH_LLC, preference = PLACEMENT_PREFER_AUTO;
    int scope = GUEST_CACHE_DIE;
    int status;

    status = parse_choice(command, "--placement", o->placement, widths, &width);
    if (!status) {
        status = parse_choice(command, "--prefer", o->prefer, preferences,
                              &preference);
    }
    if (!status) {
        status = parse_choice(command, "--cache", o->cache, scopes, &scope);
    }
    o->width = width;
    o->preference = preference;
    o->scope = scope;
    return status;
}

static int parse_percent(const ToolCommand *command, const char *option,
                         const char *text, uint64_t *value)
{
    if (text && !tool_parse_number(text, 1, 100, value)) {
        return tool_usage_error(command, "%s '%s': give a percentage from 1 "
                                "to 100 (100: never closed)", option, text);
    }
    return TOOL_OK;
}

static int parse_cpus(const ToolCommand *command, PlanOptions *o)
{
    if (o->cpus && (!host_cpuset_parse_list(o->cpus, &o->cpu_set) ||
                    host_cpuset_empty(&o->cpu_set))) {
        return tool_usage_error(command, "--cpus '%s': give a list of CPUs "
                                "below %d, such as 0-3,8", o->cpus,
                                HOST_CPU_MAX);
    }
    return TOOL_OK;
}

static int check_vms(const ToolCommand *command, const PlanOptions *o)
{
    guint n_smp = o->smp ? g_strv_length(o->smp) : 0;
    guint n_uuid = o->uuid ? g_strv_length(o->uuid) : 0;

    if (!n_smp) {
        return tool_usage_error(command, "--smp is missing: give one for each "
                                "VM, such as --smp 8,sockets=1,cores=4,"
                                "threads=2");
    }
    if (n_smp > PLAN_VMS_MAX) {
        return tool_usage_error(command, "--smp is given %u times; %d VMs are "
                                "the most", n_smp, PLAN_VMS_MAX);
    }
    if (n_uuid > n_smp) {
        return tool_usage_error(command, "--uuid is given %u times for %u "
                                "--smp; give one for each VM at most", n_uuid,
                                n_smp);
    }
    for (guint i = 0; i < n_uuid; i++) {
        if (!g_uuid_string_is_valid(o->uuid[i])) {
            return tool_usage_error(command, "--uuid '%s': give a UUID such "
                                    "as the one that uuidgen prints",
                                    o->uuid[i]);
        }
    }
    return TOOL_OK;
}

static int check_options(const ToolCommand *command, PlanOptions *o)
{
    int status = parse_choices(command, o);

    o->util_percent = PLACEMENT_GUARD_UTIL_DEFAULT;
    o->tasks_percent = PLACEMENT_GUARD_TASKS_DEFAULT;
    if (!status) {
        status = parse_percent(command, "--guard-util", o->guard_util,
                               &o->util_percent);
    }
    if (!status) {
        status = parse_percent(command, "--guard-tasks", o->guard_tasks,
                               &o->tasks_percent);
    }
    if (!status) {
        status = parse_cpus(command, o);
    }
    return status ? status : check_vms(command, o);
}

/* "LLC=PERCENT" or "LLC=PERCENT%" into @load. */
static int parse_load_item(const ToolCommand *command, const char *item,
                           HostLoad *load)
{
    g_auto(GStrv) parts = g_strsplit(item, "=", 2);
    uint64_t llc, percent;

    if (g_strv_length(parts) == 2 && g_str_has_suffix(parts[1], "%")) {
        parts[1][strlen(parts[1]) - 1] = '\0';
    }
    if (g_strv_length(parts) != 2 ||
        !tool_parse_number(parts[0], 0, UINT32_MAX, &llc) ||
        !tool_parse_number(parts[1], 0, 100, &percent)) {
        return tool_usage_error(command, "--load '%s': give LLC=PERCENT, such "
                                "as 0=30%%,2=100%%", item);
    }
    if (llc >= load->n_llcs) {
        return tool_usage_error(command, "--load '%s': this host has LLCs 0 "
                                "to %d", item, load->n_llcs - 1);
    }
    load->llcs[llc].others_util = percent * 10;
    load->llcs[llc].others_tasks = percent * 10;
    return TOOL_OK;
}

static int parse_load(const ToolCommand *command, char **texts,
                      HostLoad *load)
{
    int status = TOOL_OK;

    /* As if measured: the guard looks at nothing that nobody could see. */
    load->source = HOST_LOAD_SCHEDSTAT;
    load->window_ns = 1000000000;
    for (; texts && *texts && !status; texts++) {
        g_auto(GStrv) items = g_strsplit(*texts, ",", 0);

        if (!items[0]) {
            return parse_load_item(command, *texts, load);
        }
        for (char **item = items; *item && !status; item++) {
            status = parse_load_item(command, *item, load);
        }
    }
    return status;
}

static void vm_free(void *data)
{
    PlanVm *vm = data;

    placement_plan_free(vm->plan);
    host_load_free(vm->load);
    guest_topology_free(vm->guest);
    g_free(vm->smp);
    g_free(vm);
}

static void run_clear(PlanRun *run)
{
    g_clear_pointer(&run->vms, g_ptr_array_unref);
    host_load_free(run->given);
    g_free(run->vcpus);
    host_topology_unref(run->host);
}

/* The load given, and every vCPU planned so far at work all the time. */
static HostLoad *load_now(const PlanRun *run)
{
    HostLoad *load = host_load_new_idle(run->host);

    load->source = run->given->source;
    load->window_ns = run->given->window_ns;
    for (int i = 0; i < load->n_llcs; i++) {
        int cpus = MAX(host_cpuset_count(&run->host->llcs[i].cpus), 1);
        double tasks = run->given->llcs[i].others_tasks +
                       1000 * run->vcpus[i] / cpus + 0.5;

        load->llcs[i].others_tasks = MIN(tasks, HOST_LOAD_TASKS_MAX);
        load->llcs[i].others_util = MIN(tasks, 1000);
    }
    return load;
}

static void count_vcpus(PlanRun *run, const Plan *plan)
{
    for (int v = 0; v < plan->n_vcpus; v++) {
        const HostCpuSet *mask = &plan->vcpus[v].mask;
        int all = host_cpuset_count(mask);

        for (int i = 0; all && i < run->host->n_llcs; i++) {
            int here = host_cpuset_count_and(mask, &run->host->llcs[i].cpus);

            run->vcpus[i] += (double)here / all;
        }
    }
}

/* VMs without a UUID get one that only their place in the row decides. */
static uint32_t vm_seed(const PlanOptions *o, guint index)
{
    const uint8_t uuid[16] = { [14] = index >> 8, [15] = index };

    return o->uuid && index < g_strv_length(o->uuid) ?
           tool_uuid_seed(o->uuid[index]) : placement_seed(uuid);
}

static int plan_vm(const ToolCommand *command, const PlanOptions *o,
                   PlanRun *run, guint index)
{
    g_autoptr(GError) err = NULL;
    GuestTopology *guest = guest_topology_from_smp(o->smp[index], o->scope,
                                                   &err);
    PlanVm *vm;

    if (!guest) {
        const char *why = err->message;

        why += g_str_has_prefix(why, "smp: ") ? strlen("smp: ") : 0;
        return tool_usage_error(command, "--smp '%s': %s", o->smp[index], why);
    }
    vm = g_new0(PlanVm, 1);
    vm->smp = g_strdup(o->smp[index]);
    vm->guest = guest;
    vm->load = load_now(run);
    vm->in = (PlacementInput) {
        .host = run->host,
        .guest = vm->guest,
        .load = vm->load,
        .candidates = &run->candidates,
        .uses_isolated = run->uses_isolated,
        .width = o->width,
        .prefer = o->preference,
        .guard_util = o->util_percent,
        .guard_tasks = o->tasks_percent,
        .seed = vm_seed(o, index),
    };
    vm->plan = placement_plan(&vm->in);
    count_vcpus(run, vm->plan);
    g_ptr_array_add(run->vms, vm);
    return TOOL_OK;
}

static int run_init(const ToolCommand *command, const PlanOptions *o,
                    PlanRun *run)
{
    g_autoptr(GError) err = NULL;
    int status;

    run->vms = g_ptr_array_new_with_free_func(vm_free);
    run->host = tool_read_host(command, &o->where, &status);
    if (!run->host) {
        return status;
    }
    run->vcpus = g_new0(double, run->host->n_llcs);
    run->given = host_load_new_idle(run->host);
    if (!placement_candidates(run->host, &run->host->online,
                              o->cpus ? &o->cpu_set : NULL, &run->candidates,
                              &run->uses_isolated, &err)) {
        return tool_failed(command, err);
    }
    return parse_load(command, o->load, run->given);
}

static int print_run(const ToolCommand *command, const PlanRun *run, bool json)
{
    g_autofree char *text = NULL;

    if (json) {
        g_autoptr(JsonBuilder) builder = json_builder_new();

        plan_run_json(run, builder);
        return tool_print_json(command, builder);
    }
    text = plan_run_text(run);
    return tool_print(command, text);
}

static int dry_run(const ToolCommand *command, PlanOptions *o)
{
    PlanRun run = { 0 };
    int status = check_options(command, o);

    if (!status) {
        status = run_init(command, o, &run);
    }
    for (guint i = 0; !status && o->smp[i]; i++) {
        status = plan_vm(command, o, &run, i);
    }
    if (!status) {
        status = print_run(command, &run, o->json);
    }
    run_clear(&run);
    return status;
}

int tool_plan(const ToolCommand *command, int argc, char **argv)
{
    PlanOptions o = { 0 };
    int status;
    const GOptionEntry entries[] = {
        TOOL_ROOT_ENTRY(&o.where.root),
        TOOL_HOST_ENTRY(&o.where.description),
        { "smp", 0, 0, G_OPTION_ARG_STRING_ARRAY, &o.smp,
          "A VM, as with QEMU's -smp; may be repeated", "SMP" },
        { "uuid", 0, 0, G_OPTION_ARG_STRING_ARRAY, &o.uuid,
          "The UUID of the first, second, ... VM", "UUID" },
        { "cache", 0, 0, G_OPTION_ARG_STRING, &o.cache,
          "Share an L3 in the guest by core, module, ...; see below",
          "SCOPE" },
        { "placement", 0, 0, G_OPTION_ARG_STRING, &o.placement,
          "Width of the masks: llc (default), core or cpu", "WIDTH" },
        { "prefer", 0, 0, G_OPTION_ARG_STRING, &o.prefer,
          "auto (default), cache or capacity where unequal", "WHAT" },
        { "cpus", 0, 0, G_OPTION_ARG_STRING, &o.cpus,
          "Never use other host CPUs", "LIST" },
        { "guard-util", 0, 0, G_OPTION_ARG_STRING, &o.guard_util,
          "Close an LLC that others use by more than N percent", "N" },
        { "guard-tasks", 0, 0, G_OPTION_ARG_STRING, &o.guard_tasks,
          "Close an LLC whose CPUs others' tasks fill by more", "N" },
        { "load", 0, 0, G_OPTION_ARG_STRING_ARRAY, &o.load,
          "What others use of LLCs, such as 0=30%,2=100%", "LLC=PERCENT,..." },
        { "json", 0, 0, G_OPTION_ARG_NONE, &o.json,
          "Write JSON, for programs", NULL },
        { NULL }
    };

    if (tool_parse_options(command, entries, description, argc, argv,
                           &status)) {
        status = dry_run(command, &o);
    }
    options_clear(&o);
    return status;
}
