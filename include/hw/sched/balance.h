/*
 * Keep the plan or move: hysteresis between a VM's plans
 *
 * Pure: no I/O, no clock; the loads, the plans and the time are passed in.
 * docs/devel/balance.rst states the rules and where they are from.
 *
 * One look:
 *
 *     load_history_vcpu(), load_history_llcs()      what was measured
 *     if (balance_look() == BALANCE_PLAN) {         cheap; most looks end here
 *         candidate = placement_plan() with .load = balance_load(),
 *             .closed = balance_closed(), .previous = the running plan,
 *             .demand by load_history_demand()
 *         if (balance_judge(candidate) == BALANCE_MOVE) {
 *             the candidate is the running plan now
 *         }
 *     }
 *
 * A plan that is due for another reason (first start, changed host, plug,
 * command) is not judged but told:
 *
 *     balance_configure()
 *     balance_watch()                               for balance_closed()
 *     plan = placement_plan() with .closed = balance_closed()
 *     balance_took(plan)
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef HW_SCHED_BALANCE_H
#define HW_SCHED_BALANCE_H

#include "hw/sched/load-history.h"
#include "hw/sched/placement.h"

/* A switch of LLCs needs a set that is so much less loaded, percent. */
#define BALANCE_GAIN_PERCENT 20
/* Below that utilization nothing moves, per mille (scx_lavd: 25 %). */
#define BALANCE_IDLE_PERMILLE 250
/* An LLC that the guard closed opens below that part of the thresholds. */
#define BALANCE_LEAVE_PERCENT 75
/* Time lost to others that is not worth a move, per mille. */
#define BALANCE_LOSS_PERMILLE 15
/* At most so many moves of one VM in an hour; the last of them is to safety. */
#define BALANCE_MOVES_PER_HOUR 6
/* First cool-down: so many looks, but not less than that time. */
#define BALANCE_COOLDOWN_LOOKS 3
#define BALANCE_COOLDOWN_MIN_NS 3000000000ll
/*
 * Percent: with both thresholds there the guard is off, lost time or not; above
 * it, the thresholds never close, but lost time does.
 */
#define BALANCE_GUARD_OFF 100
/* How long an LLC on which we lost time stays closed. */
#define BALANCE_WAIT_HOLD_NS 600000000000ll

typedef enum BalanceVerdict {
    BALANCE_KEEP,
    BALANCE_PLAN,     /* of balance_look(): a fresh plan may be better */
    BALANCE_MOVE,     /* of balance_judge(): the candidate is taken */
} BalanceVerdict;

/* Why the running plan was kept; each look that keeps counts one of them. */
typedef enum BalanceReason {
    BALANCE_NO_PLAN,  /* nothing runs by a plan yet */
    BALANCE_UNKNOWN,  /* the load of others is not known */
    BALANCE_IDLE,     /* below 25 % utilization */
    BALANCE_SETTLED,  /* nothing has changed since a plan was last refused */
    BALANCE_COOLDOWN, /* too soon after the last move */
    BALANCE_RATE,     /* too many moves within the hour */
    BALANCE_SAME,     /* the fresh plan is the running one */
    BALANCE_GAIN,     /* the new LLCs are not 20 % less loaded */
    BALANCE_EQUAL,    /* others are as good, but here is room as well */
    BALANCE_FULL,     /* fewer LLCs would be better, but are too full */
    BALANCE_TURN,     /* it is the turn of other VMs: half of the excess */
    BALANCE_REASON_MAX,
} BalanceReason;

typedef enum BalanceMove {
    BALANCE_MOVE_TOLD,   /* not judged: balance_took() with other masks */
    BALANCE_MOVE_ESCAPE, /* off LLCs that the guard has closed */
    BALANCE_MOVE_GATHER, /* onto fewer LLCs */
    BALANCE_MOVE_SWITCH, /* to others that are less loaded */
    BALANCE_MOVE_MAX,
} BalanceMove;

typedef enum BalanceCause {
    BALANCE_CAUSE_NONE,
    BALANCE_CAUSE_UTIL,   /* others run more than guard-util */
    BALANCE_CAUSE_TASKS,  /* others have more tasks than guard-tasks */
    BALANCE_CAUSE_WAIT,   /* our vCPUs lost time there */
    BALANCE_CAUSE_MAX,
} BalanceCause;

/* The guard at one LLC. */
typedef struct BalanceGuard {
    bool changed;         /* at the last look: tell it */
    BalanceCause cause;   /* NONE: open */
    int64_t since_ns;     /* of that state */
    int64_t hold_ns;      /* CAUSE_WAIT: closed until then */
} BalanceGuard;

/* Cumulative, except where said. */
typedef struct BalanceStats {
    uint64_t looks, plans;                 /* plans: looks that asked for one */
    uint64_t kept[BALANCE_REASON_MAX];
    uint64_t moves[BALANCE_MOVE_MAX];
    uint64_t undone;                       /* of the moves: back again */
    uint64_t guard_closed, guard_opened;   /* transitions, all LLCs */
    uint64_t misaligned_ns;                /* see balance_note_masks() */
    int64_t lost_ns;                        /* now: 1 s starts an escape */
    int64_t cooldown_ns, cooldown_until_ns; /* now */
    unsigned moves_last_hour;              /* now */
    BalanceReason reason;                  /* of the last look that kept */
    BalanceMove last_move;
    int64_t last_move_ns;                  /* 0: none */
} BalanceStats;

typedef struct Balance Balance;

Balance *balance_new(uint32_t seed, int64_t interval_ns);
void balance_free(Balance *balance); /* NULL is allowed */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Balance, balance_free)

void balance_set_interval(Balance *balance, int64_t interval_ns);

/*
 * Where and for whom: host (referenced), guest (copied), candidates, guard,
 * prefer and width of @in.  Call it before the first plan, and again whenever
 * one of them, or the set of present vCPUs, has changed; then balance_took().
 * Guards are kept if the host is the same.
 */
void balance_configure(Balance *balance, const PlacementInput *in);

/* @plan runs now, without having been judged.  Starts a cool-down. */
void balance_took(Balance *balance, const Plan *plan, int64_t now_ns);

/*
 * Look at what was measured last: KEEP, or PLAN when a fresh plan could be
 * taken now.  Updates the guard.  Costs no plan and no walk over CPUs.
 */
BalanceVerdict balance_look(Balance *balance, const LoadHistory *history,
                            int64_t now_ns);

/*
 * The guard alone, for a look at which nothing is judged: a plan is due anyway.
 * It counts as no look.
 */
void balance_watch(Balance *balance, const LoadHistory *history,
                   int64_t now_ns);

/*
 * Judge @candidate, planned as balance_look() asked: KEEP, or MOVE; then it is
 * taken as the running plan, and the cool-down starts.
 */
BalanceVerdict balance_judge(Balance *balance, const Plan *candidate,
                             int64_t now_ns);

/* What to plan with; valid until the next look. */
const HostLoad *balance_load(const Balance *balance);
const bool *balance_closed(const Balance *balance);

/* One per host LLC. */
const BalanceGuard *balance_guards(const Balance *balance);

/*
 * For placement=off, or masks that others set: what vCPU @vcpu ran since its
 * last sample counts as misaligned by the part of @mask that is outside of the
 * plan's mask.
 */
void balance_note_mask(Balance *balance, const Plan *plan, int vcpu,
                       const HostCpuSet *mask, uint64_t run_ns);

const BalanceStats *balance_stats(const Balance *balance);

/* Stable lower-case names; never NULL for valid values. */
const char *balance_reason_name(BalanceReason reason);
const char *balance_move_name(BalanceMove move);
const char *balance_cause_name(BalanceCause cause);

#endif
