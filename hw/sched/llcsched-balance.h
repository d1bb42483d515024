/*
 * LLC-aware vCPU scheduler: when the plan follows the load
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef HW_SCHED_LLCSCHED_BALANCE_H
#define HW_SCHED_LLCSCHED_BALANCE_H

#include "llcsched-plan.h"

/* An LLC that the guard closed or opened: to be told as an event. */
typedef struct LlcschedGuardNews {
    int llc;
    char *cpus;
    LlcschedGuardCause cause;   /* none: it opened */
    double util, tasks;         /* percent, on average */
} LlcschedGuardNews;

/* The view is there; then the guest as well; and the end.  BQL held. */
void llcsched_balance_init(Llcsched *s);
void llcsched_balance_start(Llcsched *s);
void llcsched_balance_fini(Llcsched *s);

/* All that follows: lock held. */

/* The host has other LLCs; the options changed; the VM stops. */
void llcsched_balance_host_changed(Llcsched *s);
void llcsched_balance_set_options(Llcsched *s);
void llcsched_balance_pause(Llcsched *s);

/* The vCPU goes: what it did says nothing of the next with its number. */
void llcsched_balance_forget_vcpu(Llcsched *s, const LlcschedVcpu *vcpu);

/*
 * A plan that is due whatever the load is.  From here on it is the running
 * one for what follows.
 */
LlcschedPlanned *llcsched_balance_tell(Llcsched *s);

/*
 * Look at the load: a better plan that is to be the running one now, or NULL.
 * There is a running one.  @ret_kind: what kind of move that is.
 */
LlcschedPlanned *llcsched_balance_ask(Llcsched *s, LlcschedMoveKind *ret_kind);

/* What would be planned for @view now, on the side; @load as measured. */
LlcschedPlanned *llcsched_balance_dry_run(Llcsched *s,
                                          const LlcschedView *view,
                                          const HostLoad *load);

/* What the guard did since it was asked last: LlcschedGuardNews, or NULL. */
GPtrArray *llcsched_balance_news(Llcsched *s);

/* The vCPU ran since its last sample: outside of the plan, if so, counts. */
void llcsched_balance_note_run(Llcsched *s, const LlcschedVcpu *vcpu,
                               const ThreadTimes *now);

/* llcsched-balance-report.c */

LlcschedBalanceInfo *llcsched_balance_info(const Llcsched *s);

/* What is known of the load of a vCPU; NULL: nothing. */
LlcschedVcpuLoad *llcsched_balance_vcpu(const Llcsched *s,
                                        const LlcschedVcpu *vcpu);

/* Set the guard's members, and the averages. */
void llcsched_balance_fill_llc(LlcschedHostLlc *info, const Llcsched *s,
                               int llc);

#endif
