/*
 * What the object costs a running guest
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "bench-guest.h"

void bench_let_run(int ms)
{
    g_usleep(ms * 1000);
}

void bench_object_add(GuestVm *guest)
{
    vm_do(guest->vm, "object-add",
          "{'qom-type': 'llcsched', 'id': 'sched0'}");
}

void bench_object_del(GuestVm *guest)
{
    vm_do(guest->vm, "object-del", "{'id': 'sched0'}");
}

int main(int argc, char **argv)
{
    Bench bench;

    bench_init(&bench, &argc, &argv);
    vm_test_init(&argc, &argv);
    bench_come_first();
    bench_idle(&bench);
    bench_speed(&bench);
    bench_clear(&bench);
    return 0;
}
