/*
 * LLC-aware vCPU scheduler: the object and its life
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/error-report.h"
#include "qemu/main-loop.h"
#include "qemu/module.h"
#include "qemu/uuid.h"
#include "qom/object_interfaces.h"
#include "hw/boards.h"
#include "hw/sched/host-affinity.h"
#include "hw/sched/host-slice.h"
#include "hw/sched/placement-seed.h"
#include "system/cpu-timers.h"
#include "system/kvm.h"
#include "system/qtest.h"
#include "system/replay.h"
#include "system/system.h"
#include "llcsched-apply.h"
#include "llcsched-balance.h"
#include "llcsched-guest.h"
#include "llcsched-internal.h"
#include "llcsched-look.h"
#include "llcsched-threads.h"
#include "llcsched-throttle.h"
#include "llcsched-vcpu.h"
#include "trace.h"

/* A first placement is looked at again when the load is known: soon. */
#define LLCSCHED_SETTLE_NS (150 * SCALE_MS)

/*
 * libvirt resets the mask of a vCPU when it has plugged it: a few ms later, or
 * as late as a busy host makes it.  Each further look waits twice as long.
 */
#define LLCSCHED_SOON_NS (10 * SCALE_MS)
#define LLCSCHED_SOON_MAX_NS (2000 * (int64_t)SCALE_MS)

/* Each cause is kept once; more than these are a symptom of one. */
#define LLCSCHED_WARNINGS_MAX 16

Llcsched *llcsched_find(void)
{
    Object *obj = object_resolve_path_type("", TYPE_LLCSCHED, NULL);

    return obj ? LLCSCHED(obj) : NULL;
}

void llcsched_warn(Llcsched *s, const char *fmt, ...)
{
    g_autofree char *text = NULL;
    va_list ap;

    va_start(ap, fmt);
    text = g_strdup_vprintf(fmt, ap);
    va_end(ap);
    if (g_ptr_array_find_with_equal_func(s->warnings, text, g_str_equal,
                                         NULL)) {
        return;
    }
    if (s->warnings->len == LLCSCHED_WARNINGS_MAX) {
        g_ptr_array_remove_index(s->warnings, 0);
    }
    trace_llcsched_warning(s->id, text);
    warn_report("llcsched %s: %s", s->id, text);
    g_ptr_array_add(s->warnings, g_steal_pointer(&text));
}

void llcsched_warn_notes(Llcsched *s, const HostTopology *host)
{
    for (guint i = 0; i < host->notes->len; i++) {
        llcsched_warn(s, "%s", (char *)g_ptr_array_index(host->notes, i));
    }
}

/* Looks */

int64_t llcsched_now_ns(void)
{
    return qtest_enabled() ? qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL)
                           : get_clock();
}

/* How long until the next look; 0: there is none.  Lock not held. */
static int64_t llcsched_next_look_in_ns(Llcsched *s)
{
    int64_t interval = 0, soon;

    QEMU_LOCK_GUARD(&s->lock);
    if (s->settling) {
        return LLCSCHED_SETTLE_NS;
    }
    if (s->config.dynamic) {
        interval = s->config.interval_ms * (int64_t)SCALE_MS;
    }
    soon = s->soon_ns;
    if (!soon || (interval && soon >= interval)) {
        s->soon_ns = 0;
        return interval;
    }
    s->soon_ns = soon < LLCSCHED_SOON_MAX_NS ? 2 * soon : 0;
    return soon;
}

void llcsched_arm(Llcsched *s)
{
    int64_t in_ns = llcsched_next_look_in_ns(s);

    if (in_ns) {
        timer_mod(s->timer, llcsched_now_ns() + in_ns);
    } else {
        timer_del(s->timer);
    }
}

void llcsched_look_soon(Llcsched *s)
{
    if (!qatomic_read(&s->running)) {
        return;
    }
    WITH_QEMU_LOCK_GUARD(&s->lock) {
        s->soon_ns = LLCSCHED_SOON_NS;
    }
    llcsched_arm(s);
}

QEMUTimer *llcsched_timer_new(Llcsched *s, QEMUTimerCB *cb)
{
    return s->thread ? aio_timer_new(iothread_get_aio_context(s->thread),
                                     QEMU_CLOCK_REALTIME, SCALE_NS, cb, s)
                     : timer_new_ns(QEMU_CLOCK_VIRTUAL, cb, s);
}

/* In the scheduler thread; under qtest in the main loop. */
static void llcsched_timer(void *opaque)
{
    Llcsched *s = opaque;

    llcsched_look(s, LLCSCHED_WHY_INTERVAL, NULL);
    if (qatomic_read(&s->running)) {
        llcsched_arm(s);
    }
}

static void llcsched_start(Llcsched *s)
{
    llcsched_vcpus_settle(s);
    llcsched_trust_look(s); /* what comes first is not from outside */
    s->started = true;
    llcsched_look(s, LLCSCHED_WHY_START, NULL);
    llcsched_throttle_resume(s);
    llcsched_turns_resume(s);
    qatomic_set(&s->running, true);
    llcsched_arm(s);
    llcsched_trust_arm(s);
    llcsched_throttle_look(s);
}

/* Before vCPUs resume, and after whoever had the VM stopped set masks. */
static void llcsched_vm_state_change(void *opaque, bool running, RunState state)
{
    Llcsched *s = opaque;

    if (!running) {
        llcsched_throttle_pause(s);
        llcsched_turns_pause(s);
        qatomic_set(&s->running, false);
        timer_del(s->timer);
        timer_del(s->trust.timer);
        QEMU_LOCK_GUARD(&s->lock);
        llcsched_balance_pause(s);
    } else if (s->machine_ready) {
        llcsched_start(s);
    }
}

static void llcsched_machine_done(Notifier *notifier, void *data)
{
    Llcsched *s = container_of(notifier, Llcsched, machine_done);

    s->guest = llcsched_guest_topology(current_machine);
    llcsched_balance_start(s);
    s->machine_ready = true;
    if (runstate_is_running()) {
        llcsched_start(s);
    }
}

/*
 * The thread that looks.  It polls nothing: a look a second is no reason to
 * spin.  Short slices let it run soon beside spinning vCPUs; without them its
 * looks are late, and are counted so.  Under qtest the test's clock turns looks
 * in the main loop.
 */
static bool llcsched_start_thread(Llcsched *s, Error **errp)
{
    int ret;

    if (qtest_enabled()) {
        s->timer = llcsched_timer_new(s, llcsched_timer);
        return true;
    }
    /* "IO llcsched" in ps: a longer name would not fit Linux' 15 characters */
    s->thread = iothread_create("llcsched", errp);
    if (!s->thread) {
        return false;
    }
    object_property_set_int(OBJECT(s->thread), "poll-max-ns", 0, &error_abort);
    ret = host_slice_set(s->thread->thread_id, HOST_SLICE_NS_MIN);
    trace_llcsched_slice(s->id, s->thread->thread_id, ret);
    s->timer = llcsched_timer_new(s, llcsched_timer);
    return true;
}

/* Life */

static bool llcsched_accel_has_threads(Error **errp)
{
    Object *accel = OBJECT(current_machine->accelerator);
    g_autofree char *thread = NULL;

    if (replay_mode != REPLAY_MODE_NONE) {
        error_setg(errp, "llcsched cannot be used with record/replay, which "
                   "runs all vCPUs in one thread: leave out one of them");
        return false;
    }
    if (icount_enabled()) {
        error_setg(errp, "llcsched cannot be used with -icount, which runs "
                   "all vCPUs in one thread: leave out one of them");
        return false;
    }
    if (kvm_enabled() || qtest_enabled()) {
        return true;
    }
    if (object_dynamic_cast(accel, ACCEL_CLASS_NAME("tcg"))) {
        thread = object_property_get_str(accel, "thread", &error_abort);
        if (g_str_equal(thread, "multi")) {
            return true;
        }
        error_setg(errp, "llcsched needs a thread for each vCPU: use "
                   "-accel tcg,thread=multi or -accel kvm");
        return false;
    }
    error_setg(errp, "llcsched supports the accelerators kvm and tcg: choose "
               "one by -accel");
    return false;
}

static bool llcsched_can_exist(Error **errp)
{
    MachineClass *mc = MACHINE_GET_CLASS(current_machine);
    bool ambiguous = false;

    object_resolve_path_type("", TYPE_LLCSCHED, &ambiguous);
    if (ambiguous) {
        error_setg(errp, "there is an llcsched object already, a VM can have "
                   "one: change its properties, or delete it first");
        return false;
    }
    if (!mc->possible_cpu_arch_ids) {
        error_setg(errp, "machine '%s' does not describe its vCPUs: choose "
                   "one that does by -machine, as q35", mc->name);
        return false;
    }
    return llcsched_accel_has_threads(errp);
}

/*
 * VMs started together must not all choose the same of several equal LLCs, and
 * a VM should choose the same again: its UUID where it has one.
 */
static uint32_t llcsched_seed(void)
{
    if (qemu_uuid_set) {
        return placement_seed(qemu_uuid.data);
    }
    return qtest_enabled() ? 0 : getpid();
}

/*
 * A host that cannot be read, or has no CPU for us, must not cost the user the
 * guest: it is an error only if what the user asked for is the reason.
 */
static bool llcsched_first_view(Llcsched *s, Error **errp)
{
    bool asked = s->config.has_cpus || *s->sysfs_root;

    s->view = llcsched_view_read(s, &s->config, NULL, asked, errp);
    if (!s->view) {
        return false;
    }
    s->load = host_load_new_idle(s->view->host);
    if (s->view->error) {
        llcsched_warn(s, "%s", s->view->error);
    }
    llcsched_warn_notes(s, s->view->host);
    return true;
}

static void llcsched_complete(UserCreatable *uc, Error **errp)
{
    Llcsched *s = LLCSCHED(uc);
    int ret;

    if (!llcsched_can_exist(errp)) {
        return;
    }
    s->id = g_strdup(object_get_canonical_path_component(OBJECT(uc)));
    s->ops = qtest_enabled() ? &llcsched_qtest_ops : &llcsched_kernel_ops;
    s->seed = llcsched_seed();
    ret = host_affinity_limit(&s->limit);
    if (ret) {
        error_setg_errno(errp, -ret, "the CPU mask of QEMU's main thread "
                         "cannot be read");
        return;
    }
    if (!llcsched_first_view(s, errp) || !llcsched_start_thread(s, errp)) {
        return;
    }
    llcsched_balance_init(s);
    if (!llcsched_trust_init(s, errp) || !llcsched_turns_init(s, errp)) {
        return;
    }
    if (!llcsched_throttle_init(s, errp)) {
        return;
    }
    llcsched_threads_init(s);
    if (!runstate_is_running()) {
        s->sample = host_load_sample(s->sysfs_root, s->view->host->n_cpus,
                                     llcsched_now_ns(), NULL);
    }
    s->completed = true;
    llcsched_vcpus_attach(s);
    s->vmstate = qemu_add_vm_change_state_handler(llcsched_vm_state_change, s);
    s->machine_done.notify = llcsched_machine_done;
    qemu_add_machine_init_done_notifier(&s->machine_done);
}

/* Undo llcsched_complete(): no look is under way after this. */
static void llcsched_stop(Llcsched *s)
{
    qemu_remove_machine_init_done_notifier(&s->machine_done);
    qemu_del_vm_change_state_handler(s->vmstate);
    qatomic_set(&s->running, false);
    timer_del(s->timer);
    timer_del(s->trust.timer);
    if (s->thread) {
        iothread_stop(s->thread);
    }
    llcsched_turns_stop(s);
    WITH_QEMU_LOCK_GUARD(&s->lock) {
        llcsched_restore_masks(s);
    }
    llcsched_vcpus_detach(s);
}

static bool llcsched_can_be_deleted(UserCreatable *uc)
{
    return QTAILQ_EMPTY(&LLCSCHED(uc)->groups);
}

static void llcsched_init(Object *obj)
{
    Llcsched *s = LLCSCHED(obj);

    qemu_mutex_init(&s->look_lock);
    qemu_mutex_init(&s->lock);
    QTAILQ_INIT(&s->vcpus);
    QTAILQ_INIT(&s->groups);
    s->sysfs_root = g_strdup("");
    s->warnings = g_ptr_array_new_with_free_func(g_free);
    llcsched_config_default(&s->config);
}

static void llcsched_finalize(Object *obj)
{
    Llcsched *s = LLCSCHED(obj);

    if (s->completed) {
        llcsched_stop(s);
    }
    timer_free(s->timer);
    llcsched_trust_fini(s);
    llcsched_turns_fini(s);
    llcsched_throttle_fini(s);
    if (s->thread) {
        iothread_destroy(s->thread);
    }
    llcsched_threads_fini(s);
    llcsched_quota_fini(s);
    llcsched_planned_free(s->planned);
    llcsched_balance_fini(s);
    host_load_free(s->load);
    host_load_sample_free(s->sample);
    llcsched_view_free(s->view);
    guest_topology_free(s->guest);
    g_ptr_array_unref(s->warnings);
    llcsched_config_clear(&s->config);
    g_free(s->sysfs_root);
    g_free(s->id);
    qemu_mutex_destroy(&s->lock);
    qemu_mutex_destroy(&s->look_lock);
}

static void llcsched_class_init(ObjectClass *klass, void *data)
{
    UserCreatableClass *ucc = USER_CREATABLE_CLASS(klass);

    ucc->complete = llcsched_complete;
    ucc->can_be_deleted = llcsched_can_be_deleted;
    llcsched_add_options(klass);
}

static const TypeInfo llcsched_info = {
    .name = TYPE_LLCSCHED,
    .parent = TYPE_OBJECT,
    .instance_size = sizeof(Llcsched),
    .instance_init = llcsched_init,
    .instance_finalize = llcsched_finalize,
    .class_init = llcsched_class_init,
    .interfaces = (InterfaceInfo[]) {
        { TYPE_USER_CREATABLE },
        { }
    },
};

static void llcsched_register_types(void)
{
    type_register_static(&llcsched_info);
}
type_init(llcsched_register_types);
