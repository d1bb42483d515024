/*
 * What a plan's LLCs have to carry: others by the averages, and the VM itself
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <math.h>
#include "balance-internal.h"

/*
 * Two threads on one core each run at 0.6 to 0.7 of what one alone does: the
 * kernel reckons with a gain of 15 % by SMT (its former smt_gain of 1178 of
 * 1024), vendors' claims go to 30 %.
 */
#define SMT_LOSS_PERMILLE 350

/* Steps of load that are alike, per mille, and what leaves a step. */
#define STEP 100
#define STEP_SLACK 50

static int find_set(const BalanceSets *sets, const VcpuPlan *vplan)
{
    int i;

    for (i = 0; i < sets->n_sets; i++) {
        const BalanceSet *set = &sets->sets[i];

        if (set->n_llcs == vplan->n_llcs &&
            set->first_llc == vplan->host_llc &&
            (!set->part || host_cpuset_equal(&set->mask, &vplan->mask))) {
            return i;
        }
    }
    return -1;
}

static void fill_set(const Balance *balance, const VcpuPlan *vplan,
                     BalanceSet *set)
{
    int l;

    set->first_llc = vplan->host_llc;
    set->n_llcs = vplan->n_llcs;
    if (vplan->n_llcs == 1) {
        set->cpus = balance->llcs[vplan->host_llc].cpus;
        set->cores = balance->llcs[vplan->host_llc].cores;
        return;
    }
    set->mask = vplan->mask;
    set->part = g_new0(unsigned, balance->host->n_llcs);
    for (l = 0; l < balance->host->n_llcs; l++) {
        set->part[l] = host_cpuset_count_and(&vplan->mask,
                                             &balance->host->llcs[l].cpus);
        if (set->part[l]) {
            set->cpus += set->part[l];
            set->cores += balance->llcs[l].cores;
        }
    }
}

/* Groups have few sets, so that finding one is cheap; vCPUs may be many. */
BalanceSets *balance_sets_new(const Balance *balance, const Plan *plan)
{
    BalanceSets *sets = g_new0(BalanceSets, 1);
    int v;

    g_assert(plan->n_vcpus == balance->n_vcpus);
    g_assert(plan->n_llcs == balance->host->n_llcs);
    sets->n_vcpus = plan->n_vcpus;
    sets->forced = plan->width_forced;
    sets->set_of = g_new(int, MAX(plan->n_vcpus, 1));
    sets->ours = g_new0(bool, MAX(plan->n_vcpus, 1));
    sets->sets = g_new0(BalanceSet, MAX(plan->n_vcpus, 1));
    for (v = 0; v < plan->n_vcpus; v++) {
        const VcpuPlan *vplan = &plan->vcpus[v];

        sets->set_of[v] = -1;
        if (vplan->reason == PLACEMENT_ABSENT) {
            continue;
        }
        sets->ours[v] = vplan->reason != PLACEMENT_FOREIGN;
        sets->guarded |= vplan->reason == PLACEMENT_GUARDED;
        sets->set_of[v] = find_set(sets, vplan);
        if (sets->set_of[v] < 0) {
            sets->set_of[v] = sets->n_sets++;
            fill_set(balance, vplan, &sets->sets[sets->set_of[v]]);
        }
    }
    return sets;
}

void balance_sets_free(BalanceSets *sets)
{
    int i;

    if (sets) {
        for (i = 0; i < sets->n_sets; i++) {
            g_free(sets->sets[i].part);
        }
        g_free(sets->sets);
        g_free(sets->set_of);
        g_free(sets->ours);
        g_free(sets);
    }
}

bool balance_set_uses(const BalanceSet *set, int llc)
{
    return set->part ? set->part[llc] > 0 : set->first_llc == llc;
}

/* Whether the vCPU may run on the same LLCs by both. */
bool balance_sets_same(const BalanceSets *a, const BalanceSets *b, int vcpu)
{
    const BalanceSet *sa, *sb;

    if (a->set_of[vcpu] < 0 || b->set_of[vcpu] < 0) {
        return a->set_of[vcpu] == b->set_of[vcpu];
    }
    sa = &a->sets[a->set_of[vcpu]];
    sb = &b->sets[b->set_of[vcpu]];
    return sa->n_llcs == sb->n_llcs && sa->first_llc == sb->first_llc &&
           (!sa->part || host_cpuset_equal(&sa->mask, &sb->mask));
}

/*
 * What others run and wait on @llc: where we are, only what was there on
 * average and is still there; where we might go, whichever is more.  So an
 * average that lags never moves us twice for one cause.
 */
double balance_others(const Balance *balance, int llc, bool high)
{
    const double *others = balance->llcs[llc].others;

    return high ? MAX(others[LOAD_FAST], others[LOAD_LAST])
                : MIN(others[LOAD_FAST], others[LOAD_LAST]);
}

/* Our own demand per LLC: in CPUs, and in cores, where siblings count once. */
typedef struct OwnLoad {
    double *cpu, *core;
    double *variance;  /* of the number of CPUs that are asked for */
} OwnLoad;

static void add_own(const Balance *balance, const BalanceSet *set,
                    double *own, double demand)
{
    int l;

    if (!set->part) {
        own[set->first_llc] += demand;
        return;
    }
    for (l = 0; l < balance->host->n_llcs; l++) {
        own[l] += demand * set->part[l] / set->cpus;
    }
}

static void own_init(const Balance *balance, const BalanceSets *sets,
                     OwnLoad *own)
{
    g_autofree unsigned *busiest = g_new0(unsigned,
                                          MAX(balance->n_guest_cores, 1));
    g_autofree double *on_set = g_new0(double, MAX(sets->n_sets, 1));
    g_autofree double *cores_on_set = g_new0(double, MAX(sets->n_sets, 1));
    g_autofree double *varies = g_new0(double, MAX(sets->n_sets, 1));
    int v, i;

    own->cpu = g_new0(double, balance->host->n_llcs);
    own->core = g_new0(double, balance->host->n_llcs);
    own->variance = g_new0(double, balance->host->n_llcs);
    for (v = 0; v < sets->n_vcpus; v++) {
        unsigned demand = balance->demand[v];
        unsigned *most = &busiest[balance->core_of[v]];

        if (sets->set_of[v] < 0) {
            continue;
        }
        on_set[sets->set_of[v]] += demand;
        varies[sets->set_of[v]] += demand * (1000 - MIN(demand, 1000)) / 1000.0;
        if (demand > *most) {
            cores_on_set[sets->set_of[v]] += demand - *most;
            *most = demand;
        }
    }
    for (i = 0; i < sets->n_sets; i++) {
        add_own(balance, &sets->sets[i], own->cpu, on_set[i]);
        add_own(balance, &sets->sets[i], own->core, cores_on_set[i]);
        add_own(balance, &sets->sets[i], own->variance, varies[i]);
    }
}

static void own_clear(OwnLoad *own)
{
    g_free(own->cpu);
    g_free(own->core);
    g_free(own->variance);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(OwnLoad, own_clear)

/* Sums over the LLCs of a set, per mille of a CPU or core. */
typedef struct SetSums {
    double others, own, own_cores, cpus, cores;
    double variance;     /* in units of tasks and milli-tasks */
} SetSums;

static SetSums sum_set(const Balance *balance, const BalanceSet *set,
                       const OwnLoad *own, bool high)
{
    SetSums sums = { 0 };
    int first = set->part ? 0 : set->first_llc;
    int last = set->part ? balance->host->n_llcs - 1 : set->first_llc;
    int l;

    for (l = first; l <= last; l++) {
        const BalanceLlc *llc = &balance->llcs[l];

        if (balance_set_uses(set, l)) {
            sums.others += balance_others(balance, l, high) * llc->cpus;
            sums.own += own->cpu[l];
            sums.own_cores += own->core[l];
            sums.variance += own->variance[l];
            sums.cpus += llc->cpus * 1000.0;
            sums.cores += llc->cores * 1000.0;
        }
    }
    return sums;
}

static double load_of(const SetSums *sums)
{
    return sums->cpus > 0 ? 1000 * (sums->others + sums->own) / sums->cpus : 0;
}

/*
 * By how much a load of @mean is above @limit on average, if it varies by our
 * own vCPUs' coming and going (a normal distribution): 12 vCPUs that each run
 * half of the time are often more than 6.  How others vary is not known; they
 * count with their mean.
 */
static double mean_above(double mean, double variance, double limit)
{
    double sigma = sqrt(variance * 1000), z;

    if (sigma < 1) {
        return MAX(mean - limit, 0);
    }
    z = (mean - limit) / sigma;
    return sigma * exp(-z * z / 2) / sqrt(2 * G_PI) +
           (mean - limit) * erfc(-z / G_SQRT2) / 2;
}

/* Lost to siblings of others that share a core with one of ours, per mille. */
static double sibling_loss_of(const SetSums *sums)
{
    double shared;

    if (sums->cpus <= sums->cores || sums->own_cores <= 0) {
        return 0;
    }
    shared = mean_above(sums->others + sums->own_cores, sums->variance,
                        sums->cores);
    shared = MIN(shared, MIN(sums->others, sums->own_cores));
    return SMT_LOSS_PERMILLE * shared / sums->own_cores;
}

/* That, and to tasks that wait for a CPU, as the kernel shares alike. */
static double loss_of(const SetSums *sums)
{
    double tasks = sums->others + sums->own;
    double above = mean_above(tasks, sums->variance, sums->cpus);

    return MIN(1000, sibling_loss_of(sums) +
                     (tasks > 0 ? 1000 * above / tasks : 0));
}

/* The mean of @of over our vCPUs, each weighted by its demand. */
static double mean_over_vcpus(const Balance *balance, const BalanceSets *sets,
                              bool high, double (*of)(const SetSums *sums))
{
    g_autofree double *value = g_new0(double, MAX(sets->n_sets, 1));
    g_auto(OwnLoad) own = { 0 };
    double sum = 0, weight = 0;
    int i, v;

    own_init(balance, sets, &own);
    for (i = 0; i < sets->n_sets; i++) {
        SetSums sums = sum_set(balance, &sets->sets[i], &own, high);

        value[i] = of(&sums);
    }
    for (v = 0; v < sets->n_vcpus; v++) {
        if (sets->ours[v]) {
            double demand = MAX(balance->demand[v], 1);

            sum += value[sets->set_of[v]] * demand;
            weight += demand;
        }
    }
    return weight > 0 ? sum / weight : 0;
}

double balance_set_load(const Balance *balance, const BalanceSets *sets,
                        bool high)
{
    return mean_over_vcpus(balance, sets, high, load_of);
}

double balance_set_loss(const Balance *balance, const BalanceSets *sets,
                        bool high)
{
    return mean_over_vcpus(balance, sets, high, loss_of);
}

/* Waits are measured where they can be; sharing a core shows nowhere. */
double balance_loss_here(const Balance *balance)
{
    double share;

    if (!balance->waits_known || balance->run_wait <= 0) {
        return balance_set_loss(balance, balance->running, false);
    }
    share = mean_over_vcpus(balance, balance->running, false,
                            sibling_loss_of);
    return MIN(1000, share + 1000 * balance->wait / balance->run_wait);
}

/* Of all candidates: what a kernel that knows of no LLC would even out. */
double balance_mean_load(const Balance *balance)
{
    double tasks = 0, cpus = 0;
    int l, v;

    for (l = 0; l < balance->host->n_llcs; l++) {
        tasks += balance->llcs[l].others[LOAD_FAST] * balance->llcs[l].cpus;
        cpus += balance->llcs[l].cpus;
    }
    for (v = 0; balance->running && v < balance->n_vcpus; v++) {
        if (balance->running->set_of[v] >= 0) {
            tasks += balance->demand[v];
        }
    }
    return cpus > 0 ? tasks / cpus : 0;
}

/* What the LLC would have to receive to come up to @mean. */
static double lacks(const Balance *balance, const OwnLoad *own, int llc,
                    double mean)
{
    double has = balance_others(balance, llc, true) * balance->llcs[llc].cpus +
                 own->cpu[llc];

    return MAX(mean * balance->llcs[llc].cpus - has, 0);
}

static bool is_new(const BalanceSets *from, const BalanceSets *to, int llc)
{
    bool was = false, will = false;
    int i;

    for (i = 0; i < from->n_sets; i++) {
        was |= balance_set_uses(&from->sets[i], llc);
    }
    for (i = 0; i < to->n_sets; i++) {
        will |= balance_set_uses(&to->sets[i], llc);
    }
    return will && !was;
}

/*
 * Of all that is to be evened out, the part that the LLCs which @sets newly
 * uses should get; those that look as good to placement get the other VMs.
 * All of it if none is new.
 */
double balance_part_wanted(const Balance *balance, const BalanceSets *sets)
{
    double mean = balance_mean_load(balance), all = 0, part = 0;
    g_auto(OwnLoad) own = { 0 };
    double least = G_MAXDOUBLE;
    int l;

    own_init(balance, balance->running, &own);
    for (l = 0; l < balance->host->n_llcs; l++) {
        if (is_new(balance->running, sets, l)) {
            least = MIN(least, lacks(balance, &own, l, mean));
        }
    }
    for (l = 0; l < balance->host->n_llcs; l++) {
        double lack = lacks(balance, &own, l, mean);

        all += lack;
        part += lack >= least ? lack : 0;
    }
    return all > 0 && least < G_MAXDOUBLE ? part / all : 1;
}

/* LLCs per vCPU of ours; 1: all are aligned. */
double balance_spread(const Balance *balance, const BalanceSets *sets)
{
    double sum = 0, weight = 0;
    int v;

    for (v = 0; v < sets->n_vcpus; v++) {
        if (sets->ours[v]) {
            sum += sets->sets[sets->set_of[v]].n_llcs;
            weight++;
        }
    }
    return weight > 0 ? sum / weight : 1;
}

/* Follow @value in steps; true if it left the one where it was. */
bool balance_step(int *step, double value)
{
    if (value >= *step * STEP - STEP_SLACK &&
        value <= (*step + 1) * STEP + STEP_SLACK) {
        return false;
    }
    *step = value / STEP;
    return true;
}
