/*
 * LLC-aware vCPU scheduler: keeping track of vCPU threads
 *
 * A vCPU is listed when its device is realized.  What needs its thread is done
 * in the thread, by queued work, which runs before it first enters the guest;
 * the thread takes its id back when it ends.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qemu/main-loop.h"
#include "qobject/qdict.h"
#include "llcsched-balance.h"
#include "llcsched-internal.h"
#include "llcsched-look.h"
#include "llcsched-threads.h"
#include "llcsched-throttle.h"
#include "llcsched-vcpu.h"
#include "trace.h"

/* In the vCPU thread, which holds no lock any more. */
static void llcsched_vcpu_thread_exit(Notifier *notifier, void *data)
{
    LlcschedVcpu *vcpu = container_of(notifier, LlcschedVcpu, thread_exit);

    QEMU_LOCK_GUARD(&vcpu->sched->lock);
    trace_llcsched_vcpu_gone(vcpu->index, vcpu->thread.id);
    llcsched_throttle_leave(vcpu);
    llcsched_turns_leave(vcpu);
    vcpu->thread.id = 0;
}

/* In the vCPU thread, BQL held. */
static void llcsched_vcpu_thread_start(CPUState *cpu, run_on_cpu_data data)
{
    LlcschedVcpu *vcpu = data.host_ptr;

    vcpu->thread_exit.notify = llcsched_vcpu_thread_exit;
    qemu_thread_atexit_add(&vcpu->thread_exit);
    WITH_QEMU_LOCK_GUARD(&vcpu->sched->lock) {
        pthread_getcpuclockid(pthread_self(), &vcpu->clock);
        vcpu->thread.id = qemu_get_thread_id();
        llcsched_mask_disinherit(vcpu->sched, &vcpu->thread);
        llcsched_throttle_join(vcpu);
        llcsched_trust_enter(vcpu);
    }
    llcsched_trust_tell(vcpu->sched);
    trace_llcsched_vcpu_thread(vcpu->index, vcpu->thread.id);
}

/* In the vCPU thread, BQL held: exit notifiers are the thread's own. */
static void llcsched_vcpu_thread_forget(CPUState *cpu, run_on_cpu_data data)
{
    LlcschedVcpu *vcpu = data.host_ptr;

    if (vcpu->thread.id) {
        qemu_thread_atexit_remove(&vcpu->thread_exit);
        QEMU_LOCK_GUARD(&vcpu->sched->lock);
        llcsched_trust_forget(vcpu);
    }
}

static void llcsched_vcpu_place(CPUState *cpu, run_on_cpu_data data)
{
    LlcschedVcpu *vcpu = data.host_ptr;

    llcsched_look(vcpu->sched, LLCSCHED_WHY_VCPU, NULL);
    llcsched_look_soon(vcpu->sched);
    llcsched_trust_look(vcpu->sched);
    llcsched_throttle_look(vcpu->sched);
}

static void llcsched_vcpu_settled(CPUState *cpu, run_on_cpu_data data)
{
    /* Work runs in order: what was queued before has been done. */
}

static LlcschedVcpu *llcsched_vcpu_find(Llcsched *s, CPUState *cpu)
{
    LlcschedVcpu *vcpu;

    QTAILQ_FOREACH(vcpu, &s->vcpus, next) {
        if (vcpu->cpu == cpu) {
            return vcpu;
        }
    }
    return NULL;
}

static void llcsched_vcpu_add(Llcsched *s, CPUState *cpu)
{
    LlcschedVcpu *vcpu;

    if (llcsched_vcpu_find(s, cpu)) {
        return;
    }
    vcpu = g_new0(LlcschedVcpu, 1);
    vcpu->sched = s;
    vcpu->cpu = cpu;
    vcpu->index = cpu->cpu_index;
    vcpu->host_llc = -1;
    vcpu->steal_state = LLCSCHED_STEAL_STATE_WAITING;
    WITH_QEMU_LOCK_GUARD(&s->lock) {
        QTAILQ_INSERT_TAIL(&s->vcpus, vcpu, next);
        s->plan_due = true;
    }
    async_run_on_cpu(cpu, llcsched_vcpu_thread_start,
                     RUN_ON_CPU_HOST_PTR(vcpu));
}

static void llcsched_vcpu_remove(Llcsched *s, LlcschedVcpu *vcpu)
{
    WITH_QEMU_LOCK_GUARD(&s->lock) {
        llcsched_throttle_leave(vcpu);
        QTAILQ_REMOVE(&s->vcpus, vcpu, next);
        llcsched_balance_forget_vcpu(s, vcpu);
        s->plan_due = true;
    }
    g_free(vcpu);
}

/*
 * Called for every device that is to be created.  Hides none, but a vCPU that
 * could not be isolated is refused here: when it is realized it is too late.
 */
static bool llcsched_device_veto(DeviceListener *listener, const QDict *opts,
                                 bool from_json, Error **errp)
{
    Llcsched *s = container_of(listener, Llcsched, listener);
    const char *driver = qdict_get_try_str(opts, "driver");
    ObjectClass *klass = driver ? object_class_by_name(driver) : NULL;

    if (klass && object_class_dynamic_cast(klass, TYPE_CPU)) {
        llcsched_trust_admits(s, errp);
    }
    return false;
}

static void llcsched_device_realize(DeviceListener *listener, DeviceState *dev)
{
    Llcsched *s = container_of(listener, Llcsched, listener);
    CPUState *cpu = (CPUState *)object_dynamic_cast(OBJECT(dev), TYPE_CPU);

    llcsched_threads_changed(s);
    if (!cpu) {
        return;
    }
    llcsched_vcpu_add(s, cpu);
    if (runstate_is_running() && s->machine_ready) {
        async_run_on_cpu(cpu, llcsched_vcpu_place,
                         RUN_ON_CPU_HOST_PTR(llcsched_vcpu_find(s, cpu)));
    }
}

/* The thread has been joined, and cpu_index is already taken back. */
static void llcsched_device_unrealize(DeviceListener *listener,
                                      DeviceState *dev)
{
    Llcsched *s = container_of(listener, Llcsched, listener);
    CPUState *cpu = (CPUState *)object_dynamic_cast(OBJECT(dev), TYPE_CPU);
    LlcschedVcpu *vcpu = cpu ? llcsched_vcpu_find(s, cpu) : NULL;

    llcsched_threads_changed(s);
    if (!vcpu) {
        return;
    }
    llcsched_vcpu_remove(s, vcpu);
    if (runstate_is_running()) {
        llcsched_look(s, LLCSCHED_WHY_VCPU, NULL);
    }
}

void llcsched_vcpus_attach(Llcsched *s)
{
    CPUState *cpu;

    s->listener.realize = llcsched_device_realize;
    s->listener.unrealize = llcsched_device_unrealize;
    s->listener.hide_device = llcsched_device_veto;
    device_listener_register(&s->listener);
    CPU_FOREACH(cpu) {
        llcsched_vcpu_add(s, cpu);
    }
}

void llcsched_vcpus_settle(Llcsched *s)
{
    LlcschedVcpu *vcpu;

    QTAILQ_FOREACH(vcpu, &s->vcpus, next) {
        if (!vcpu->thread.id) {
            run_on_cpu(vcpu->cpu, llcsched_vcpu_settled, RUN_ON_CPU_NULL);
        }
    }
}

void llcsched_vcpus_detach(Llcsched *s)
{
    LlcschedVcpu *vcpu, *next;

    device_listener_unregister(&s->listener);
    QTAILQ_FOREACH_SAFE(vcpu, &s->vcpus, next, next) {
        run_on_cpu(vcpu->cpu, llcsched_vcpu_thread_forget,
                   RUN_ON_CPU_HOST_PTR(vcpu));
        llcsched_vcpu_remove(s, vcpu);
    }
}
