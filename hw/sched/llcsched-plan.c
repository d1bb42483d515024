/*
 * LLC-aware vCPU scheduler: a plan from what is known, and the words for it
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "llcsched-cores.h"
#include "llcsched-internal.h"

void llcsched_planned_free(LlcschedPlanned *planned)
{
    if (planned) {
        placement_plan_free(planned->plan);
        trust_plan_free(planned->trust);
        g_free(planned->summary);
        g_strfreev(planned->explanations);
        g_free(planned->emulator_why);
        g_free(planned);
    }
}

void llcsched_input_clear(LlcschedInput *input)
{
    g_free(input->demand);
    g_free(input->foreign);
}

static PlacementWidth llcsched_width(LlcschedPlacement placement)
{
    switch (placement) {
    case LLCSCHED_PLACEMENT_CORE:
        return PLACEMENT_WIDTH_CORE;
    case LLCSCHED_PLACEMENT_CPU:
        return PLACEMENT_WIDTH_CPU;
    default:
        return PLACEMENT_WIDTH_LLC; /* off plans what the default would do */
    }
}

/* In full, unless a test says what vCPUs use. */
static unsigned *llcsched_demand(const Llcsched *s)
{
    unsigned *demand = g_new(unsigned, s->guest->n_vcpus);

    for (int i = 0; i < s->guest->n_vcpus; i++) {
        demand[i] = s->config.usage && i < s->config.usage->len
                    ? g_array_index(s->config.usage, uint32_t, i) * 10 : 1000;
    }
    return demand;
}

void llcsched_input_init(Llcsched *s, const LlcschedView *view,
                         const HostLoad *load, LlcschedInput *input)
{
    bool same_host = host_topology_equal(view->host, s->view->host);
    LlcschedVcpu *vcpu;

    input->demand = llcsched_demand(s);
    input->foreign = g_new0(const HostCpuSet *, s->guest->n_vcpus);
    for (int i = 0; i < s->guest->n_vcpus; i++) {
        s->guest->vcpus[i].present = false;
    }
    QTAILQ_FOREACH(vcpu, &s->vcpus, next) {
        if (vcpu->index < 0 || vcpu->index >= s->guest->n_vcpus) {
            continue;
        }
        s->guest->vcpus[vcpu->index].present = true;
        if (llcsched_mask_kept_off(&vcpu->thread)) {
            input->foreign[vcpu->index] = &vcpu->thread.mask;
        }
    }
    input->in = (PlacementInput) {
        .host = view->host,
        .guest = s->guest,
        .load = load,
        .demand = input->demand,
        .foreign = input->foreign,
        .candidates = &view->candidates,
        .memory_nodes = &s->memory_nodes,
        .previous = s->planned && same_host ? s->planned->plan : NULL,
        .uses_isolated = view->uses_isolated,
        .width = llcsched_width(s->config.placement),
        .prefer = (PlacementPrefer)s->config.prefer,
        .guard_util = s->config.guard_util,
        .guard_tasks = s->config.guard_tasks,
        .seed = s->seed,
    };
}

QEMU_BUILD_BUG_ON((int)LLCSCHED_PREFER_AUTO != PLACEMENT_PREFER_AUTO);
QEMU_BUILD_BUG_ON((int)LLCSCHED_PREFER_CACHE != PLACEMENT_PREFER_CACHE);
QEMU_BUILD_BUG_ON((int)LLCSCHED_PREFER_CAPACITY != PLACEMENT_PREFER_CAPACITY);

QEMU_BUILD_BUG_ON((int)LLCSCHED_EMULATOR_OFF != EMULATOR_OFF);
QEMU_BUILD_BUG_ON((int)LLCSCHED_EMULATOR_NEAR != EMULATOR_NEAR);
QEMU_BUILD_BUG_ON((int)LLCSCHED_EMULATOR_OTHER != EMULATOR_OTHER);

/*
 * One mask for all of them: which vCPUs a queue serves only the guest knows, so
 * each is taken to serve all.  Lock held.
 */
static void llcsched_plan_emulator(const Llcsched *s, const HostTopology *host,
                                   LlcschedPlanned *planned)
{
    const EmulatorInput in = {
        .host = host,
        .guest = s->guest,
        .plan = planned->plan,
        .mode = (EmulatorMode)s->config.emulator,
    };

    emulator_placement(&in, NULL, &planned->emulator);
    planned->emulator_why = emulator_explain(&in, &planned->emulator);
}

static char *llcsched_explain(const PlacementInput *in,
                              const LlcschedPlanned *planned, int vcpu)
{
    g_autofree char *place = NULL;
    g_autofree char *cores = NULL;

    if (!in->guest->vcpus[vcpu].present) {
        return g_strdup("");
    }
    place = placement_explain(in, planned->plan, vcpu);
    cores = llcsched_cores_explain(planned->trust, planned->plan, in->host,
                                   vcpu);
    return cores ? g_strdup_printf("%s; %s", place, cores)
                 : g_steal_pointer(&place);
}

LlcschedPlanned *llcsched_plan(Llcsched *s, const LlcschedInput *input)
{
    LlcschedPlanned *planned = g_new0(LlcschedPlanned, 1);

    planned->plan = placement_plan(&input->in);
    planned->summary = placement_summary(&input->in, planned->plan);
    planned->trust = llcsched_cores_refine(s, &input->in, planned->plan);
    return planned;
}

void llcsched_plan_explain(Llcsched *s, const LlcschedInput *input,
                           LlcschedPlanned *planned)
{
    planned->explanations = g_new0(char *, s->guest->n_vcpus + 1);
    for (int i = 0; i < s->guest->n_vcpus; i++) {
        planned->explanations[i] = llcsched_explain(&input->in, planned, i);
    }
    llcsched_plan_emulator(s, input->in.host, planned);
}
