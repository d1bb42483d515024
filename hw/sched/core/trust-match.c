/*
 * A first core for each cookie: in its LLCs, so long as there is a way
 *
 * Cookies are matched with LLCs, each of which takes as many as it has free
 * cores: one that is full makes room by moving a cookie that has a choice
 * (augmenting paths).  So a cookie leaves its LLCs only where nothing else
 * keeps all apart.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <string.h>
#include "trust-refine.h"

/* How an LLC suits a cookie: one that it is in already is left for no other. */
typedef enum Rank {
    RANK_NONE,              /* not of the plan */
    RANK_ALLOWED,
    RANK_PLACED,            /* the plan's narrow masks put it there */
    RANK_WAS,               /* it was there before */
} Rank;

typedef struct Match {
    TrustRefine *r;
    int n_llcs;
    int *room;              /* per LLC: free cores that are not taken */
    unsigned char *rank;    /* n_tenants x n_llcs, see Rank */
    bool *seen;             /* per LLC, in this search */
} Match;

static void raise_rank(Match *m, int tenant, int core, Rank rank)
{
    int llc = m->r->in->host->cores[core].llc;
    unsigned char *now = &m->rank[tenant * m->n_llcs + llc];

    *now = MAX(*now, rank);
}

static void match_init(Match *m, TrustRefine *r)
{
    const HostTopology *host = r->in->host;
    int i;

    m->r = r;
    m->n_llcs = host->n_llcs;
    m->room = g_new0(int, MAX(m->n_llcs, 1));
    m->seen = g_new0(bool, MAX(m->n_llcs, 1));
    m->rank = g_new0(unsigned char, MAX(m->n_llcs, 1) * MAX(r->n_tenants, 1));
    HOST_CPUSET_FOREACH(core, &r->usable) {
        m->room[host->cores[core].llc] += r->foreign[core] == TRUST_NOBODY;
    }
    for (i = 0; i < r->n_claims; i++) {
        const TrustClaim *claim = &r->claims[i];

        HOST_CPUSET_FOREACH(core, &claim->allowed) {
            raise_rank(m, claim->tenant, core,
                       host_cpuset_has(&claim->before, core) ? RANK_WAS :
                       host_cpuset_has(&claim->placed, core) ? RANK_PLACED :
                                                                RANK_ALLOWED);
        }
    }
}

static void match_clear(Match *m)
{
    g_free(m->room);
    g_free(m->rank);
    g_free(m->seen);
}

/* The best LLC for @t of those not tried, with most room of equals; or -1. */
static int next_llc(const Match *m, int t)
{
    const unsigned char *rank = &m->rank[t * m->n_llcs];
    int l, best = -1;

    for (l = 0; l < m->n_llcs; l++) {
        if (rank[l] == RANK_NONE || m->seen[l]) {
            continue;
        }
        if (best < 0 || rank[l] > rank[best] ||
            (rank[l] == rank[best] && m->room[l] > m->room[best])) {
            best = l;
        }
    }
    return best;
}

/* Find room for @t, moving others if need be. */
static bool augment(Match *m, int t)
{
    TrustRefine *r = m->r;
    int l, o;

    while ((l = next_llc(m, t)) >= 0) {
        m->seen[l] = true;
        if (m->room[l] > 0) {
            m->room[l]--;
            r->tenants[t].llc = l;
            return true;
        }
        for (o = 0; o < r->n_tenants; o++) {
            if (r->tenants[o].llc == l && augment(m, o)) {
                r->tenants[t].llc = l;
                return true;
            }
        }
    }
    return false;
}

/*
 * Cookies of most demand first: a match is never undone, so if cores are too
 * few it is these that are alone.
 */
void trust_match(TrustRefine *r)
{
    Match m;
    int i;

    match_init(&m, r);
    for (i = 0; i < r->n_tenants; i++) {
        if (r->tenants[r->order[i]].ours) {
            memset(m.seen, 0, m.n_llcs * sizeof(bool));
            augment(&m, r->order[i]);
        }
    }
    match_clear(&m);
}
