/*
 * Where the VM's threads that are not vCPUs should run, and why
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "hw/sched/emulator-placement.h"

/* What of the host the vCPUs have, and what of it is for this thread. */
typedef struct EmulatorView {
    HostCpuSet usable;       /* candidates that are not isolated */
    HostCpuSet vcpu_cpus;    /* masks of all present vCPUs */
    HostCpuSet served_cpus;  /* masks of those that the thread serves */
    int served;
} EmulatorView;

static void emulator_view_init(EmulatorView *view, const EmulatorInput *in,
                               const HostCpuSet *serves)
{
    *view = (EmulatorView) { .usable = in->plan->candidates };
    host_cpuset_andnot(&view->usable, &in->host->isolated);
    for (int i = 0; i < in->guest->n_vcpus; i++) {
        const HostCpuSet *mask = &in->plan->vcpus[i].mask;

        if (!in->guest->vcpus[i].present) {
            continue;
        }
        host_cpuset_or(&view->vcpu_cpus, mask);
        if (!serves || host_cpuset_has(serves, i)) {
            host_cpuset_or(&view->served_cpus, mask);
            view->served++;
        }
    }
}

/* The usable CPUs of the LLCs that @cpus touches. */
static HostCpuSet emulator_llcs_of(const EmulatorInput *in,
                                   const EmulatorView *view,
                                   const HostCpuSet *cpus)
{
    HostCpuSet all = { { 0 } };

    for (int i = 0; i < in->host->n_llcs; i++) {
        const HostCpuSet *llc = &in->host->llcs[i].cpus;

        if (host_cpuset_intersects(llc, cpus)) {
            host_cpuset_or(&all, llc);
        }
    }
    host_cpuset_and(&all, &view->usable);
    return all;
}

/* The usable CPUs of the nodes of these LLCs. */
static HostCpuSet emulator_nodes_of(const EmulatorInput *in,
                                    const EmulatorView *view,
                                    const HostCpuSet *cpus)
{
    HostCpuSet all = emulator_llcs_of(in, view, cpus);

    for (int i = 0; i < in->host->n_nodes; i++) {
        const HostCpuSet *node = &in->host->nodes[i].cpus;

        if (host_cpuset_intersects(node, cpus)) {
            host_cpuset_or(&all, node);
        }
    }
    host_cpuset_and(&all, &view->usable);
    return all;
}

/* vCPUs, served or not, that may use some of @cpus. */
static int emulator_vcpus_on(const EmulatorInput *in, const HostCpuSet *cpus)
{
    int n = 0;

    for (int i = 0; i < in->guest->n_vcpus; i++) {
        n += in->guest->vcpus[i].present &&
             host_cpuset_intersects(&in->plan->vcpus[i].mask, cpus);
    }
    return n;
}

static bool emulator_take(EmulatorPlan *ret_plan, const HostCpuSet *mask,
                          EmulatorReason reason)
{
    if (host_cpuset_empty(mask)) {
        return false;
    }
    *ret_plan = (EmulatorPlan) { .mask = *mask, .reason = reason };
    return true;
}

/*
 * In an LLC where every CPU has a vCPU, this thread would take turns with one
 * while CPUs next door may be idle.  So there the kernel chooses, in the node:
 * as it would without us, but near the memory.
 */
static bool emulator_near_shared(const EmulatorInput *in,
                                 const EmulatorView *view,
                                 EmulatorPlan *ret_plan)
{
    HostCpuSet mask = emulator_llcs_of(in, view, &view->served_cpus);

    if (emulator_vcpus_on(in, &mask) < host_cpuset_count(&mask)) {
        return emulator_take(ret_plan, &mask, EMULATOR_NEAR_LLC);
    }
    mask = emulator_nodes_of(in, view, &view->served_cpus);
    return emulator_take(ret_plan, &mask, EMULATOR_LLC_FULL);
}

/* Each vCPU has a CPU or a core of its own, which is its alone. */
static bool emulator_near_owned(const EmulatorInput *in,
                                const EmulatorView *view,
                                EmulatorPlan *ret_plan)
{
    HostCpuSet llcs = emulator_llcs_of(in, view, &view->served_cpus);
    HostCpuSet beside = llcs;
    HostCpuSet nodes = emulator_nodes_of(in, view, &view->served_cpus);

    host_cpuset_andnot(&beside, &view->vcpu_cpus);
    host_cpuset_andnot(&nodes, &view->vcpu_cpus);
    return emulator_take(ret_plan, &beside, EMULATOR_BESIDE_VCPUS) ||
           emulator_take(ret_plan, &nodes, EMULATOR_LLC_FULL) ||
           emulator_take(ret_plan, &llcs, EMULATOR_NEAR_LLC);
}

static bool emulator_other(const EmulatorInput *in, const EmulatorView *view,
                           EmulatorPlan *ret_plan)
{
    HostCpuSet taken = emulator_llcs_of(in, view, &view->vcpu_cpus);
    HostCpuSet llcs = view->usable;
    HostCpuSet cpus = view->usable;

    host_cpuset_andnot(&llcs, &taken);
    host_cpuset_andnot(&cpus, &view->vcpu_cpus);
    return emulator_take(ret_plan, &llcs, EMULATOR_OTHER_LLC) ||
           emulator_take(ret_plan, &cpus, EMULATOR_OTHER_CPUS);
}

static EmulatorReason emulator_why_left(const EmulatorInput *in,
                                        const EmulatorView *view)
{
    if (in->mode == EMULATOR_OFF) {
        return EMULATOR_LEFT_OFF;
    }
    if (!view->served) {
        return EMULATOR_NO_VCPUS;
    }
    return host_cpuset_empty(&view->usable) ? EMULATOR_NO_CPUS
                                            : EMULATOR_NOWHERE_ELSE;
}

void emulator_placement(const EmulatorInput *in, const HostCpuSet *serves,
                        EmulatorPlan *ret_plan)
{
    EmulatorView view;
    bool placed = false;

    g_assert(in->plan->n_vcpus == in->guest->n_vcpus &&
             in->plan->n_llcs == in->host->n_llcs);
    emulator_view_init(&view, in, serves);
    if (in->mode == EMULATOR_OTHER && view.served) {
        placed = emulator_other(in, &view, ret_plan);
    } else if (in->mode == EMULATOR_NEAR && view.served) {
        placed = in->plan->width == PLACEMENT_WIDTH_LLC
                 ? emulator_near_shared(in, &view, ret_plan)
                 : emulator_near_owned(in, &view, ret_plan);
    }
    if (!placed) {
        *ret_plan = (EmulatorPlan) {
            .reason = emulator_why_left(in, &view),
        };
    }
}

static const char *const emulator_reason_names[EMULATOR_REASON_MAX] = {
    [EMULATOR_LEFT_OFF] = "off",
    [EMULATOR_NO_VCPUS] = "no-vcpus",
    [EMULATOR_NO_CPUS] = "no-cpus",
    [EMULATOR_NOWHERE_ELSE] = "nowhere-else",
    [EMULATOR_NEAR_LLC] = "near-llc",
    [EMULATOR_BESIDE_VCPUS] = "beside-vcpus",
    [EMULATOR_LLC_FULL] = "llc-full",
    [EMULATOR_OTHER_LLC] = "other-llc",
    [EMULATOR_OTHER_CPUS] = "other-cpus",
};

const char *emulator_reason_name(EmulatorReason reason)
{
    return emulator_reason_names[reason];
}

/* "LLC 0", "4 LLCs" */
static char *emulator_llcs_text(const EmulatorInput *in,
                                const HostCpuSet *cpus)
{
    int n = 0, first = -1;

    for (int i = 0; i < in->host->n_llcs; i++) {
        if (host_cpuset_intersects(&in->host->llcs[i].cpus, cpus)) {
            first = n++ ? first : i;
        }
    }
    return n == 1 ? g_strdup_printf("LLC %d", first)
                  : g_strdup_printf("%d LLCs", n);
}

char *emulator_explain(const EmulatorInput *in, const EmulatorPlan *plan)
{
    g_autofree char *llcs = emulator_llcs_text(in, &plan->mask);

    switch (plan->reason) {
    case EMULATOR_NO_VCPUS:
        return g_strdup("no vCPU that they serve is there");
    case EMULATOR_NO_CPUS:
        return g_strdup("every usable CPU is isolated: left as they are");
    case EMULATOR_NOWHERE_ELSE:
        return g_strdup("the vCPUs may use every CPU: left as they are");
    case EMULATOR_NEAR_LLC:
        return g_strdup_printf("near the vCPUs: %s", llcs);
    case EMULATOR_BESIDE_VCPUS:
        return g_strdup_printf("beside the vCPUs: %s, CPUs of none", llcs);
    case EMULATOR_LLC_FULL:
        return g_strdup_printf("vCPUs fill their LLCs: near them, on %s",
                               llcs);
    case EMULATOR_OTHER_LLC:
        return g_strdup_printf("off the vCPUs' LLCs: %s", llcs);
    case EMULATOR_OTHER_CPUS:
        return g_strdup_printf("vCPUs on every LLC: CPUs of no vCPU, %s",
                               llcs);
    default:
        return g_strdup("emulator=off: left as they are");
    }
}
