/*
 * qemu-llcsched plan: the answer as text and as JSON
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <string.h>

#include "plan.h"

/* The LLCs that a mask touches, as a list of their numbers. */
static char *llcs_of(const HostTopology *host, const HostCpuSet *mask)
{
    HostCpuSet llcs = { 0 };

    for (int i = 0; i < host->n_llcs; i++) {
        if (host_cpuset_intersects(mask, &host->llcs[i].cpus)) {
            host_cpuset_add(&llcs, i);
        }
    }
    return host_cpuset_to_list(&llcs);
}

/* Widths of the columns that a VM needs. */
typedef struct Widths {
    int host_llc, mask;
} Widths;

static void append_vcpu(GString *text, const PlanVm *vm, int v,
                        const char *host_llcs, const char *mask,
                        const Widths *widths)
{
    const GuestVcpu *vcpu = &vm->guest->vcpus[v];
    g_autofree char *guest = g_strdup_printf("%d/%d", vcpu->llc, vcpu->core);
    g_autofree char *why = placement_explain(&vm->in, vm->plan, v);

    g_string_append_printf(text, "%4d  %-14s  %-*s  %-*s  %s\n", v, guest,
                           widths->host_llc, *host_llcs ? host_llcs : "-",
                           widths->mask, *mask ? mask : "-", why);
}

static void append_vm(GString *text, const PlanVm *vm, guint index)
{
    g_auto(GStrv) llcs = g_new0(char *, vm->plan->n_vcpus + 1);
    g_auto(GStrv) masks = g_new0(char *, vm->plan->n_vcpus + 1);
    g_autofree char *summary = placement_summary(&vm->in, vm->plan);
    Widths widths = { strlen("host LLC"), strlen("CPUs") };

    g_string_append_printf(text, "VM %u (-smp %s): %s\n", index, vm->smp,
                           summary);
    for (int v = 0; v < vm->plan->n_vcpus; v++) {
        llcs[v] = llcs_of(vm->in.host, &vm->plan->vcpus[v].mask);
        masks[v] = host_cpuset_to_list(&vm->plan->vcpus[v].mask);
        widths.host_llc = MAX(widths.host_llc, strlen(llcs[v]));
        widths.mask = MAX(widths.mask, strlen(masks[v]));
    }
    g_string_append_printf(text, "vCPU  guest LLC/core  %-*s  %-*s  why\n",
                           widths.host_llc, "host LLC", widths.mask, "CPUs");
    for (int v = 0; v < vm->plan->n_vcpus; v++) {
        append_vcpu(text, vm, v, llcs[v], masks[v], &widths);
    }
    g_string_append_c(text, '\n');
}

/* What is given by --load and what the VMs add, percent of the LLC's CPUs. */
static double used_percent(const PlanRun *run, int llc)
{
    int cpus = MAX(host_cpuset_count(&run->host->llcs[llc].cpus), 1);

    return run->given->llcs[llc].others_util / 10.0 +
           100 * run->vcpus[llc] / cpus;
}

char *plan_run_text(const PlanRun *run)
{
    GString *text = g_string_new(NULL);

    for (guint i = 0; i < run->vms->len; i++) {
        append_vm(text, run->vms->pdata[i], i);
    }
    g_string_append(text, " LLC  node  given  vCPUs   used  CPUs\n");
    for (int i = 0; i < run->host->n_llcs; i++) {
        const HostLlc *llc = &run->host->llcs[i];
        g_autofree char *list = host_cpuset_to_list(&llc->cpus);

        g_string_append_printf(text, "%4d  %4d  %4u%%  %5.4g  %4.0f%%  ", i,
                               tool_node_id(run->host, llc->node),
                               run->given->llcs[i].others_util / 10,
                               run->vcpus[i], used_percent(run, i));
        tool_append_list(text, 34, list);
        g_string_append_c(text, '\n');
    }
    return g_string_free(text, FALSE);
}

static void json_vcpus(JsonBuilder *json, const PlanVm *vm)
{
    tool_json_list(json, "vcpus");
    for (int v = 0; v < vm->plan->n_vcpus; v++) {
        const VcpuPlan *plan = &vm->plan->vcpus[v];
        const GuestVcpu *guest = &vm->guest->vcpus[v];
        g_autofree char *why = placement_explain(&vm->in, vm->plan, v);
        g_autofree char *llcs = llcs_of(vm->in.host, &plan->mask);

        json_builder_begin_object(json);
        tool_json_int(json, "vcpu", v);
        tool_json_bool(json, "present", guest->present);
        tool_json_int(json, "guest_llc", guest->llc);
        tool_json_int(json, "guest_core", guest->core);
        tool_json_cpus(json, "cpus", &plan->mask);
        tool_json_string(json, "host_llcs", llcs);
        tool_json_string(json, "reason", placement_reason_name(plan->reason));
        tool_json_string(json, "why", why);
        tool_json_bool(json, "llc_aligned", plan->llc_aligned);
        tool_json_bool(json, "smt_aligned", plan->smt_aligned);
        json_builder_end_object(json);
    }
    json_builder_end_array(json);
}

static void json_vm(JsonBuilder *json, const PlanVm *vm)
{
    g_autofree char *summary = placement_summary(&vm->in, vm->plan);

    json_builder_begin_object(json);
    tool_json_string(json, "smp", vm->smp);
    tool_json_string(json, "summary", summary);
    tool_json_string(json, "verdict",
                     placement_verdict_name(vm->plan->verdict));
    tool_json_string(json, "placement", placement_width_name(vm->plan->width));
    tool_json_bool(json, "placement_forced", vm->plan->width_forced);
    json_vcpus(json, vm);
    json_builder_end_object(json);
}

static void json_llcs(JsonBuilder *json, const PlanRun *run)
{
    tool_json_list(json, "llcs");
    for (int i = 0; i < run->host->n_llcs; i++) {
        const HostLlc *llc = &run->host->llcs[i];

        json_builder_begin_object(json);
        tool_json_int(json, "id", i);
        tool_json_cpus(json, "cpus", &llc->cpus);
        tool_json_int(json, "node", tool_node_id(run->host, llc->node));
        tool_json_int(json, "given_percent",
                      run->given->llcs[i].others_util / 10);
        json_builder_set_member_name(json, "vcpus");
        json_builder_add_double_value(json, run->vcpus[i]);
        json_builder_set_member_name(json, "used_percent");
        json_builder_add_double_value(json, used_percent(run, i));
        json_builder_end_object(json);
    }
    json_builder_end_array(json);
}

void plan_run_json(const PlanRun *run, JsonBuilder *json)
{
    json_builder_begin_object(json);
    tool_json_cpus(json, "candidates", &run->candidates);
    tool_json_bool(json, "uses_isolated", run->uses_isolated);
    tool_json_list(json, "vms");
    for (guint i = 0; i < run->vms->len; i++) {
        json_vm(json, run->vms->pdata[i]);
    }
    json_builder_end_array(json);
    json_llcs(json, run);
    json_builder_end_object(json);
}
