/*
 * Plans follow the load of real neighbors, and stay when it stays
 *
 * Which LLC a vCPU may use is what the kernel's /proc says, not the query.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "lab-crowd.h"
#include "lab-vm.h"

#include <string.h>

/*
 * What starting QEMU takes on so small a host is below that.  Tasks wait for
 * seconds where CPUs are emulated, whoever they are.
 */
#define GUARD ",guard-util=60,guard-tasks=100"

/* Looks at each second: half a minute, or ten with `make soak`. */
#define CONSTANT_LOOKS 30
#define CONSTANT_LOOKS_SOAK 600
#define LOOKS_PER_MESSAGE 30

static LabHost host;

static Vm *start_spinning(const char *object, const char *args)
{
    Vm *vm = lab_vm_start("2,sockets=1,cores=2", object, args);

    vm_wait_up(vm, 2);
    vm_send(vm, 's');
    vm_wait_all_move(vm, 2);
    sched_wait_looks(vm, 5);
    return vm;
}

/* One vCPU has moved, the other is about to. */
#define UNDER_WAY (-2)

/* The host LLC of both vCPUs' masks by /proc; -1: several. */
static int real_llc(Vm *vm)
{
    g_autofree char *first = sched_real_mask(vm, 0);
    g_autofree char *second = sched_real_mask(vm, 1);

    return strcmp(first, second) ? UNDER_WAY : lab_list_of(host.llcs, first);
}

/* The sum of the counts of @kinds, a list that ends with NULL. */
static gint64 count_moves(Vm *vm, const char *const *kinds)
{
    g_autoptr(JsonNode) info = sched_query(vm);
    JsonObject *balance = json_object_get_object_member(
        json_node_get_object(info), "balance");
    JsonArray *moves = json_object_get_array_member(balance, "moves");
    gint64 sum = 0;

    for (guint i = 0; i < json_array_get_length(moves); i++) {
        JsonObject *row = json_array_get_object_element(moves, i);

        if (g_strv_contains(kinds,
                            json_object_get_string_member(row, "kind"))) {
            sum += json_object_get_int_member(row, "count");
        }
    }
    return sum;
}

static gint64 moves_for_load(Vm *vm)
{
    static const char *const kinds[] = { "escape", "gather", "switch", NULL };

    return count_moves(vm, kinds);
}

typedef struct LlcState {
    int llc;
    bool guarded;
} LlcState;

static bool llc_state_is(Vm *vm, void *opaque)
{
    const LlcState *wanted = opaque;
    g_autoptr(JsonNode) info = sched_query(vm);
    JsonArray *llcs = json_object_get_array_member(json_node_get_object(info),
                                                   "host-llcs");
    JsonObject *llc = json_array_get_object_element(llcs, wanted->llc);

    return json_object_get_boolean_member(llc, "guarded") == wanted->guarded;
}

/* @opaque: a pointer to the LLC where it was; then to where it is. */
static bool has_left(Vm *vm, void *opaque)
{
    int *was = opaque;
    int llc = real_llc(vm);

    if (llc == UNDER_WAY || llc == *was) {
        return false;
    }
    *was = llc;
    return true;
}

/* A neighbor comes to the VM's LLC and goes again: where does the VM go? */
static int leave(Vm *vm, int from)
{
    GArray *crowd = lab_crowd_start(&host, host.llcs[from]);
    int llc = from;

    vm_wait(vm, has_left, &llc, "the VM to leave");
    vm_wait_all_move(vm, 2);
    lab_crowd_end(crowd);
    return llc;
}

/* @ret_llc: a pointer to an int. */
static bool is_on_one(Vm *vm, void *ret_llc)
{
    *(int *)ret_llc = real_llc(vm);
    return *(int *)ret_llc >= 0;
}

/*
 * It comes wherever the VM is, and goes: the VM evades, to everywhere where no
 * LLC is open, and six times at most.
 */
static void test_neighbor(void)
{
    g_autoptr(Vm) vm = start_spinning(GUARD, "");
    int llc;

    vm_wait(vm, is_on_one, &llc, "the VM to be on one LLC");
    for (int i = 0; i < 2 && llc >= 0; i++) {
        int to = leave(vm, llc);

        g_test_message("from LLC %d to %d", llc, to);
        g_assert_cmpint(to, !=, llc);
        llc = to;
    }
    g_assert_cmpint(moves_for_load(vm), >=, 1);
    g_assert_cmpint(moves_for_load(vm), <=, 6);
    sched_assert_placed(vm, 2);
    vm_wait_all_move(vm, 2);
}

/* With placement=off, the kernel's masks stay and the moves are counted. */
static void test_off(void)
{
    static const char *const escape[] = { "escape", NULL };
    g_autoptr(Vm) vm = start_spinning(GUARD ",placement=off", "");
    g_autofree char *list = g_strdup(host.llcs[0]);
    GArray *crowd = lab_crowd_start(&host, list);
    LlcState closed = { .llc = 0, .guarded = true };

    vm_wait(vm, llc_state_is, &closed, "the LLC to close");
    sched_wait_looks(vm, 40);
    sched_assert_real_masks(vm, 2, host.online);
    g_test_message("%" G_GINT64_FORMAT " escapes would have been",
                   count_moves(vm, escape));
    lab_crowd_end(crowd);
}

static bool are_apart(Vm *vm, void *opaque)
{
    g_autofree char *first = sched_real_mask(vm, 0);
    g_autofree char *second = sched_real_mask(opaque, 0);

    return strcmp(first, second) != 0;
}

/*
 * Two VMs that cannot know of each other when they start, and with the same
 * UUID, choose the same LLC, and fill it twice: one of them leaves.
 */
static void test_together(void)
{
    g_autofree char *smp = g_strdup_printf(
        "%d,sockets=1,cores=%d,threads=%d", host.llc_cpus, host.llc_cores,
        host.threads);
    const char *args = "-S -uuid 2f0c7d5a-6a0e-4d1b-9c53-000000000001";
    g_autoptr(Vm) first = lab_vm_start(smp, GUARD, args);
    g_autoptr(Vm) second = lab_vm_start(smp, GUARD, args);

    vm_do(first, "cont", NULL);
    vm_do(second, "cont", NULL);
    vm_wait_up(first, host.llc_cpus);
    vm_wait_up(second, host.llc_cpus);
    vm_send(first, 's');
    vm_send(second, 's');
    vm_wait(first, are_apart, second, "the VMs to part");
    vm_wait_all_move(first, host.llc_cpus);
    vm_wait_all_move(second, host.llc_cpus);
    g_test_message("moves for the load: %" G_GINT64_FORMAT ", %"
                   G_GINT64_FORMAT, moves_for_load(first),
                   moves_for_load(second));
}

static void test_constant(void)
{
    int looks = g_getenv("LLCSCHED_SOAK") ? CONSTANT_LOOKS_SOAK
                                          : CONSTANT_LOOKS;
    g_autoptr(Vm) vm = start_spinning(GUARD ",interval=1000", "");
    gint64 before;
    int llc;

    sched_wait_looks(vm, 10); /* what starting it took has passed by then */
    vm_wait(vm, is_on_one, &llc, "the VM to be on one LLC");
    before = moves_for_load(vm);
    for (int i = 0; i < looks; i += LOOKS_PER_MESSAGE) {
        sched_wait_looks(vm, LOOKS_PER_MESSAGE);
        g_test_message("%d looks", i + LOOKS_PER_MESSAGE);
    }
    g_assert_cmpint(moves_for_load(vm), ==, before);
    vm_wait_all_move(vm, 2);
}

int main(int argc, char **argv)
{
    int ret;

    lab_vm_test_init(&argc, &argv);
    lab_host_init(&host);
    g_test_add_func("/balance/neighbor-that-comes-and-goes-is-evaded",
                    test_neighbor);
    g_test_add_func("/balance/placement-off-changes-no-mask", test_off);
    g_test_add_func("/balance/vms-that-start-together-part", test_together);
    g_test_add_func("/balance/constant-load-moves-nothing", test_constant);
    ret = g_test_run();
    lab_host_clear(&host);
    return ret;
}
