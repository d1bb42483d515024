/*
 * The plan in words
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "hw/sched/placement.h"

static const char *const reason_names[PLACEMENT_REASON_MAX] = {
    [PLACEMENT_ABSENT] = "absent",
    [PLACEMENT_FITS] = "fits",
    [PLACEMENT_ONLY_LLC] = "only-llc",
    [PLACEMENT_FOLDED] = "folded",
    [PLACEMENT_SPLIT_NODE] = "split-node",
    [PLACEMENT_SPLIT_NODES] = "split-nodes",
    [PLACEMENT_GUARDED] = "guarded",
    [PLACEMENT_FOREIGN] = "foreign",
};

static const char *const verdict_names[PLACEMENT_VERDICT_MAX] = {
    [PLACEMENT_VERDICT_MATCHED] = "matched",
    [PLACEMENT_VERDICT_SINGLE] = "single",
    [PLACEMENT_VERDICT_FOLDED] = "folded",
    [PLACEMENT_VERDICT_SPLIT] = "split",
    [PLACEMENT_VERDICT_GUARDED] = "guarded",
    [PLACEMENT_VERDICT_OVERCOMMITTED] = "overcommitted",
    [PLACEMENT_VERDICT_FOREIGN] = "foreign",
};

const char *placement_reason_name(PlacementReason reason)
{
    return reason_names[reason];
}

const char *placement_verdict_name(PlacementVerdict verdict)
{
    return verdict_names[verdict];
}

const char *placement_width_name(PlacementWidth width)
{
    static const char *const names[] = {
        [PLACEMENT_WIDTH_LLC] = "llc",
        [PLACEMENT_WIDTH_CORE] = "core",
        [PLACEMENT_WIDTH_CPU] = "cpu",
    };

    return names[width];
}

/* What is present of the guest LLC of a vCPU, as text counts it. */
typedef struct GroupSize {
    int vcpus, cores;
} GroupSize;

static GroupSize group_size(const GuestTopology *guest, int llc)
{
    g_autofree bool *seen = g_new0(bool, guest->n_cores + 1);
    GroupSize size = { 0 };
    int v;

    for (v = 0; v < guest->n_vcpus; v++) {
        if (guest->vcpus[v].present && guest->vcpus[v].llc == llc) {
            size.vcpus++;
            size.cores += !seen[guest->vcpus[v].core];
            seen[guest->vcpus[v].core] = true;
        }
    }
    return size;
}

static const char *plural(int n)
{
    return n == 1 ? "" : "s";
}

/* "guest LLC 1 (8 cores)", with its threads where it has some. */
static char *group_text(const GuestTopology *guest, int llc)
{
    GroupSize size = group_size(guest, llc);
    g_autofree char *threads = size.vcpus == size.cores ? g_strdup("") :
        g_strdup_printf(", %d threads", size.vcpus);

    return g_strdup_printf("guest LLC %d (%d core%s%s)", llc, size.cores,
                           plural(size.cores), threads);
}

static int node_id(const HostTopology *host, int node)
{
    return node >= 0 && node < host->n_nodes ? host->nodes[node].id : 0;
}

/* "LLC 3 (8 cores, node 0)": its candidates, as the plan could use them. */
static char *llc_text(const PlacementInput *in, const Plan *plan, int llc)
{
    int cores = plan->llcs[llc].candidate_cores;

    return g_strdup_printf("LLC %d (%d core%s, node %d)", llc, cores,
                           plural(cores),
                           node_id(in->host, in->host->llcs[llc].node));
}

/*
 * The LLCs of @vcpu's group, as a list of numbers; how many and their cores.
 * With narrow masks they are those of all vCPUs of the group together.
 */
static char *set_text(const PlacementInput *in, const Plan *plan, int vcpu,
                      int *ret_n, int *ret_cores)
{
    HostCpuSet mask = { { 0 } }, numbers = { { 0 } };
    int v, l;

    *ret_n = *ret_cores = 0;
    for (v = 0; v < plan->n_vcpus; v++) {
        if (in->guest->vcpus[v].llc == in->guest->vcpus[vcpu].llc &&
            plan->vcpus[v].reason == plan->vcpus[vcpu].reason) {
            host_cpuset_or(&mask, &plan->vcpus[v].mask);
        }
    }
    for (l = 0; l < plan->n_llcs; l++) {
        if (host_cpuset_intersects(&mask, &in->host->llcs[l].cpus)) {
            host_cpuset_add(&numbers, l);
            *ret_cores += plan->llcs[l].candidate_cores;
            ++*ret_n;
        }
    }
    return host_cpuset_to_list(&numbers);
}

static char *explain_split(const PlacementInput *in, const Plan *plan,
                           int vcpu, const char *group)
{
    bool one_node = plan->vcpus[vcpu].reason == PLACEMENT_SPLIT_NODE;
    int llc = plan->vcpus[vcpu].host_llc;
    g_autofree char *list = NULL;
    g_autofree char *where = NULL;
    int n, cores;

    list = set_text(in, plan, vcpu, &n, &cores);
    where = one_node ? g_strdup_printf("of node %d",
                           node_id(in->host, in->host->llcs[llc].node)) :
                       g_strdup("of several nodes, the nearest");
    return g_strdup_printf("no free LLC takes %s: on %d LLC%s %s: %s "
                           "(%d cores)", group, n, plural(n), where, list,
                           cores);
}

static char *explain_folded(const PlacementInput *in, const Plan *plan,
                            int vcpu, const char *group)
{
    int llc = plan->vcpus[vcpu].host_llc;
    g_autofree char *list = NULL;
    g_autofree char *one = NULL;
    int n, cores;

    list = set_text(in, plan, vcpu, &n, &cores);
    if (n > 1) {
        return g_strdup_printf("%s shares LLCs %s (%d cores) with other guest "
                               "LLCs: too few for each to have its own",
                               group, list, cores);
    }
    one = llc_text(in, plan, llc);
    return g_strdup_printf("%s shares %s with other guest LLCs, %u.%u cores "
                           "in all: too few LLCs for each to have its own",
                           group, one, plan->llcs[llc].demand / 1000,
                           plan->llcs[llc].demand % 1000 / 100);
}

static char *explain_guarded(const PlacementInput *in, const Plan *plan,
                             const char *group)
{
    int cpus = host_cpuset_count(&plan->candidates);
    int l, closed = 0, all = 0;

    for (l = 0; l < plan->n_llcs; l++) {
        all += plan->llcs[l].candidate_cpus > 0;
        closed += plan->llcs[l].guarded;
    }
    if (closed < all) {
        return g_strdup_printf("%d of %d LLCs are crowded by others (above "
                               "%u %% use or %u %% tasks) and the rest cannot "
                               "take %s: all %d CPUs", closed, all,
                               in->guard_util, in->guard_tasks, group, cpus);
    }
    return g_strdup_printf("no LLC below %u %% use and %u %% tasks of others: "
                           "all %d CPUs", in->guard_util, in->guard_tasks,
                           cpus);
}

/* What the width adds: the core, and whether siblings are siblings there. */
static char *width_text(const PlacementInput *in, const Plan *plan, int vcpu)
{
    const VcpuPlan *p = &plan->vcpus[vcpu];
    g_autofree char *list = NULL;

    if (p->host_core < 0) {
        return g_strdup("");
    }
    list = host_cpuset_to_list(&p->mask);
    return g_strdup_printf("; %s %s%s%s",
                           plan->width == PLACEMENT_WIDTH_CPU ? "CPU" :
                                                                "core of CPUs",
                           list,
                           p->smt_aligned ? "" : ", apart from its sibling",
                           plan->width_forced ? " (one CPU each: isolated)" :
                                                "");
}

/* With more asked for than there is, a group's own LLC can be too small. */
static char *explain_fits(const PlacementInput *in, const Plan *plan, int vcpu,
                          const char *group)
{
    int llc = plan->vcpus[vcpu].host_llc;
    g_autofree char *text = llc_text(in, plan, llc);

    if (plan->llcs[llc].demand > plan->llcs[llc].candidate_cores * 1000) {
        return g_strdup_printf("%s has %s to itself: too small, but nothing "
                               "larger is left", group, text);
    }
    return g_strdup_printf("%s fits %s", group, text);
}

static char *explain_where(const PlacementInput *in, const Plan *plan,
                           int vcpu)
{
    const VcpuPlan *p = &plan->vcpus[vcpu];
    g_autofree char *group = group_text(in->guest,
                                        in->guest->vcpus[vcpu].llc);
    g_autofree char *text = NULL;

    switch (p->reason) {
    case PLACEMENT_ABSENT:
        return g_strdup("not plugged");
    case PLACEMENT_FITS:
        return explain_fits(in, plan, vcpu, group);
    case PLACEMENT_ONLY_LLC:
        text = llc_text(in, plan, p->host_llc);
        return g_strdup_printf("%s is the only one to choose from", text);
    case PLACEMENT_FOLDED:
        return explain_folded(in, plan, vcpu, group);
    case PLACEMENT_SPLIT_NODE:
    case PLACEMENT_SPLIT_NODES:
        return explain_split(in, plan, vcpu, group);
    case PLACEMENT_GUARDED:
        return explain_guarded(in, plan, group);
    case PLACEMENT_FOREIGN:
        text = host_cpuset_to_list(&p->mask);
        return g_strdup_printf("mask %s was set from outside: kept", text);
    case PLACEMENT_REASON_MAX:
        break;
    }
    g_assert_not_reached();
}

char *placement_explain(const PlacementInput *in, const Plan *plan, int vcpu)
{
    g_autofree char *where = explain_where(in, plan, vcpu);
    g_autofree char *width = width_text(in, plan, vcpu);

    return g_strconcat(where, width, NULL);
}

/* At most 78 columns for any numbers within the limits of this project. */
char *placement_summary(const PlacementInput *in, const Plan *plan)
{
    int vcpus = 0, llcs = 0, guarded = 0, foreign = 0, i;
    g_autoptr(GString) text = g_string_new(NULL);

    for (i = 0; i < plan->n_vcpus; i++) {
        vcpus += plan->vcpus[i].reason != PLACEMENT_ABSENT;
        foreign += plan->vcpus[i].reason == PLACEMENT_FOREIGN;
    }
    for (i = 0; i < plan->n_llcs; i++) {
        llcs += plan->llcs[i].vcpus > 0;
        guarded += plan->llcs[i].guarded;
    }
    g_string_printf(text, "%d vCPU%s on %d LLC%s: %s", vcpus, plural(vcpus),
                    llcs, plural(llcs), placement_verdict_name(plan->verdict));
    if (guarded) {
        g_string_append_printf(text, ", %d guarded", guarded);
    }
    if (foreign) {
        g_string_append_printf(text, ", %d set by others", foreign);
    }
    return g_strdup(text->str);
}
