/*
 * vCPUs that take turns, their gates, exits and loads, simulated and judged
 *
 * Knows nothing of virtual time, queues or union-find: who meets whom is found
 * by trying all pairs until nothing changes, and a wait is what passes while
 * no vCPU of the cookie is in the guest.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "trust-sim.h"

Sim *sim_new(uint64_t slice_ns, guint32 seed)
{
    Sim *sim = g_new0(Sim, 1);
    int c;

    sim->turns = trust_turns_new(SIM_CORES_MAX, slice_ns);
    sim->slice_ns = slice_ns;
    sim->rand = g_rand_new_with_seed(seed);
    sim->exit_min_ns = sim->exit_max_ns = 100 * SIM_US;
    for (c = 0; c < SIM_COOKIES_MAX; c++) {
        sim->cookies[c].weight = TRUST_WEIGHT_DEFAULT;
        sim->cookies[c].out_since = -1;
    }
    return sim;
}

void sim_free(Sim *sim)
{
    trust_turns_free(sim->turns);
    g_rand_free(sim->rand);
    g_free(sim);
}

static int64_t between(Sim *sim, int64_t min, int64_t max)
{
    return min + (int64_t)(g_rand_double(sim->rand) * (max - min));
}

/* --- who meets whom, the slow way --- */

static bool pair_meets(const Sim *sim, unsigned a, unsigned b)
{
    int i, j;

    for (i = 0; i < SIM_VCPUS_MAX; i++) {
        for (j = 0; j < SIM_VCPUS_MAX; j++) {
            const SimVcpu *v = &sim->vcpus[i], *w = &sim->vcpus[j];

            if (v->present && w->present && v->cookie == a &&
                w->cookie == b && host_cpuset_intersects(&v->cores,
                                                         &w->cores)) {
                return true;
            }
        }
    }
    return false;
}

/* The cookies of the domain of @cookie, as bits. */
static unsigned domain_of(const Sim *sim, unsigned cookie)
{
    unsigned domain = 1u << cookie, before, a, b;

    do {
        before = domain;
        for (a = 0; a < SIM_COOKIES_MAX; a++) {
            for (b = 0; b < SIM_COOKIES_MAX; b++) {
                if (domain >> a & 1 && pair_meets(sim, a, b)) {
                    domain |= 1u << b;
                }
            }
        }
    } while (domain != before);
    return domain;
}

/* Not wholly out of quota. */
static bool contends(const Sim *sim, unsigned cookie)
{
    int i;

    for (i = 0; i < SIM_VCPUS_MAX; i++) {
        if (sim->vcpus[i].present && sim->vcpus[i].cookie == cookie &&
            !sim->vcpus[i].dry) {
            return true;
        }
    }
    return false;
}

int64_t sim_slice(const Sim *sim, unsigned cookie)
{
    unsigned domain = domain_of(sim, cookie), c, n = 0;
    double sum = 0, least = 1e9, unit;

    for (c = 0; c < SIM_COOKIES_MAX; c++) {
        if (domain >> c & 1 && contends(sim, c)) {
            n++;
            sum += sim->cookies[c].weight;
            least = MIN(least, sim->cookies[c].weight);
        }
    }
    unit = MAX(sim->slice_ns * n / sum, TRUST_SLICE_NS_MIN / least);
    return contends(sim, cookie) ? unit * sim->cookies[cookie].weight : 0;
}

static int64_t slices_of_others(const Sim *sim, unsigned cookie)
{
    unsigned domain = domain_of(sim, cookie), c;
    int64_t sum = 0;

    for (c = 0; c < SIM_COOKIES_MAX; c++) {
        sum += domain >> c & 1 && c != cookie ? sim_slice(sim, c) : 0;
    }
    return sum;
}

/* --- waits --- */

static bool is_in(const Sim *sim, unsigned cookie)
{
    int i;

    for (i = 0; i < SIM_VCPUS_MAX; i++) {
        if (sim->vcpus[i].present && sim->vcpus[i].in_guest &&
            sim->vcpus[i].cookie == cookie) {
            return true;
        }
    }
    return false;
}

static void watch_waits(Sim *sim)
{
    unsigned c;

    for (c = 0; c < SIM_COOKIES_MAX; c++) {
        SimCookie *cookie = &sim->cookies[c];

        if (!contends(sim, c)) {
            cookie->out_since = -1;
        } else if (cookie->out_since < 0 && !is_in(sim, c)) {
            cookie->out_since = sim->now;
            cookie->round_ns = slices_of_others(sim, c);
        }
    }
}

void sim_forget_waits(Sim *sim)
{
    unsigned c;

    watch_waits(sim);
    for (c = 0; c < SIM_COOKIES_MAX; c++) {
        SimCookie *cookie = &sim->cookies[c];

        if (cookie->out_since >= 0) {
            cookie->out_since = sim->now;
            cookie->round_ns = MAX(cookie->round_ns, slices_of_others(sim, c));
        }
    }
}

static void end_wait(Sim *sim, unsigned c)
{
    SimCookie *cookie = &sim->cookies[c];
    int64_t wait;

    if (cookie->out_since >= 0) {
        wait = sim->now - cookie->out_since;
        cookie->longest_wait_ns = MAX(cookie->longest_wait_ns, wait);
        cookie->longest_over_ns = MAX(cookie->longest_over_ns,
                                      wait - cookie->round_ns);
        cookie->out_since = -1;
        cookie->starts++;
    }
}

/* --- gates --- */

static void check_open(const Sim *sim, int vcpu)
{
    unsigned domain = domain_of(sim, sim->vcpus[vcpu].cookie), c;

    g_assert_false(sim->vcpus[vcpu].in_guest);
    for (c = 0; c < SIM_COOKIES_MAX; c++) {
        if (domain >> c & 1 && c != sim->vcpus[vcpu].cookie) {
            g_assert_false(is_in(sim, c));
        }
    }
}

static void carry_out(Sim *sim, const TrustOrder *order)
{
    SimVcpu *v = &sim->vcpus[order->vcpu];

    g_assert_true(v->present);
    g_assert_true(v->open != order->open);
    v->open = order->open;
    v->ticket = order->ticket;
    if (order->open) {
        check_open(sim, order->vcpu);
        end_wait(sim, v->cookie);
        v->in_guest = true;
    } else {
        v->out_at = sim->now + between(sim, sim->exit_min_ns,
                                       sim->exit_max_ns);
    }
}

static void step(Sim *sim)
{
    const TrustOrder *orders;
    unsigned n, i;
    int64_t at;

    sim->steps++;
    orders = trust_turns_step(sim->turns, sim->now, &n);
    for (i = 0; i < n; i++) {
        carry_out(sim, &orders[i]);
    }
    watch_waits(sim);
    at = trust_turns_next_look(sim->turns, sim->now);
    sim->look_at = at == INT64_MAX ? at :
                   MAX(at, sim->now) + between(sim, 0, sim->late_max_ns);
}

static void look(Sim *sim)
{
    int i;

    for (i = 0; i < SIM_VCPUS_MAX; i++) {
        SimVcpu *v = &sim->vcpus[i];

        if (v->present && trust_turns_watched(sim->turns, i)) {
            trust_turns_blocking(sim->turns, i,
                                 v->in_guest && v->wakes_at >= 0, sim->now);
        }
    }
    step(sim);
}

/* --- time --- */

static int64_t about(Sim *sim, int64_t ns)
{
    return ns ? between(sim, ns * 3 / 4, ns * 5 / 4) + 1 : INT64_MAX;
}

static bool runs(const Sim *sim, const SimVcpu *v)
{
    return v->present && v->in_guest && v->wakes_at < 0 && !v->dry &&
           !sim->paused;
}

static int64_t next_event(const Sim *sim, int64_t end)
{
    int64_t at = MIN(end, sim->look_at);
    int i;

    for (i = 0; i < SIM_VCPUS_MAX; i++) {
        const SimVcpu *v = &sim->vcpus[i];

        if (!v->present) {
            continue;
        }
        if (v->out_at >= 0) {
            at = MIN(at, v->out_at);
        }
        if (v->wakes_at >= 0) {
            at = MIN(at, v->wakes_at);
        } else if (runs(sim, v) && v->left_ns != INT64_MAX) {
            at = MIN(at, sim->now + v->left_ns);
        }
    }
    return MAX(at, sim->now);
}

static void pass(Sim *sim, int64_t ns)
{
    unsigned c;
    int i;

    for (c = 0; c < SIM_COOKIES_MAX; c++) {
        bool ran = false;

        for (i = 0; i < SIM_VCPUS_MAX; i++) {
            SimVcpu *v = &sim->vcpus[i];

            if (v->cookie == c && runs(sim, v)) {
                ran = true;
                v->left_ns -= v->left_ns == INT64_MAX ? 0 : ns;
            }
        }
        sim->cookies[c].held_ns += is_in(sim, c) ? ns : 0;
        sim->cookies[c].ran_ns += ran ? ns : 0;
    }
    sim->now += ns;
}

/* The others of a cookie that blocks together do as the first that sleeps. */
static void sleep_and_wake(Sim *sim, SimVcpu *v)
{
    int i;

    if (v->wakes_at >= 0 && v->wakes_at <= sim->now) {
        v->wakes_at = -1;
        v->left_ns = about(sim, v->load.run_ns);
        return;
    }
    if (v->wakes_at >= 0 || v->left_ns > 0) {
        return;
    }
    if (!v->load.sleep_ns) {
        v->left_ns = INT64_MAX;
        return;
    }
    v->wakes_at = sim->now + about(sim, v->load.sleep_ns);
    for (i = 0; sim->cookies[v->cookie].together && i < SIM_VCPUS_MAX; i++) {
        if (sim->vcpus[i].present && sim->vcpus[i].cookie == v->cookie) {
            sim->vcpus[i].wakes_at = v->wakes_at;
        }
    }
}

static void prove(Sim *sim, int vcpu)
{
    SimVcpu *v = &sim->vcpus[vcpu];

    v->in_guest = false;
    v->out_at = -1;
    g_assert_false(trust_turns_out(sim->turns, vcpu, v->ticket + 1, sim->now));
    if (trust_turns_out(sim->turns, vcpu, v->ticket, sim->now)) {
        watch_waits(sim);
        step(sim);
    }
}

void sim_run(Sim *sim, int64_t ns)
{
    int64_t end = sim->now + ns;
    int i;

    step(sim);
    while (sim->now < end) {
        pass(sim, next_event(sim, end) - sim->now);
        for (i = 0; i < SIM_VCPUS_MAX; i++) {
            SimVcpu *v = &sim->vcpus[i];

            if (v->present) {
                sleep_and_wake(sim, v);
            }
            if (v->present && v->out_at >= 0 && v->out_at <= sim->now) {
                prove(sim, i);
            }
        }
        if (sim->look_at <= sim->now) {
            look(sim);
        }
    }
}

/* --- changes --- */

static HostCpuSet parse(const char *cores)
{
    HostCpuSet set;

    g_assert_true(host_cpuset_parse_list(cores, &set));
    return set;
}

void sim_weight(Sim *sim, unsigned cookie, unsigned weight)
{
    sim->cookies[cookie].weight = weight;
    trust_turns_set_weight(sim->turns, cookie, weight);
}

void sim_add(Sim *sim, int vcpu, unsigned cookie, const char *cores,
             SimLoad load, bool in_guest)
{
    sim->vcpus[vcpu] = (SimVcpu) {
        .present = true, .cookie = cookie, .cores = parse(cores),
        .load = load, .in_guest = in_guest, .open = in_guest,
        .out_at = -1, .wakes_at = -1, .left_ns = about(sim, load.run_ns),
    };
    trust_turns_add(sim->turns, vcpu, cookie, &sim->vcpus[vcpu].cores,
                    in_guest, sim->now);
}

void sim_remove(Sim *sim, int vcpu)
{
    sim->vcpus[vcpu] = (SimVcpu) { .present = false };
    trust_turns_remove(sim->turns, vcpu, sim->now);
}

bool sim_set_cores(Sim *sim, int vcpu, const char *cores)
{
    sim->vcpus[vcpu].cores = parse(cores);
    return trust_turns_set_cores(sim->turns, vcpu, &sim->vcpus[vcpu].cores,
                                 sim->now);
}

void sim_set_dry(Sim *sim, int vcpu, bool dry)
{
    sim->vcpus[vcpu].dry = dry;
    trust_turns_dry(sim->turns, vcpu, dry, sim->now);
}

void sim_pause(Sim *sim, bool pause)
{
    sim->paused = pause;
    if (pause) {
        trust_turns_pause(sim->turns, sim->now);
    } else {
        trust_turns_resume(sim->turns, sim->now);
    }
}

double sim_share(const Sim *sim, unsigned cookie)
{
    double sum = 0;
    unsigned c;

    for (c = 0; c < SIM_COOKIES_MAX; c++) {
        sum += sim->cookies[c].held_ns;
    }
    return sim->cookies[cookie].held_ns / MAX(sum, 1);
}

void sim_clear_shares(Sim *sim)
{
    unsigned c;

    for (c = 0; c < SIM_COOKIES_MAX; c++) {
        SimCookie *cookie = &sim->cookies[c];

        cookie->held_ns = cookie->ran_ns = 0;
        cookie->starts = 0;
        cookie->longest_wait_ns = cookie->longest_over_ns = 0;
    }
}
