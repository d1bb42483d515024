/*
 * Which thread ran on which CPU, and when: the kernel's own record
 *
 * A perf event of no count on each CPU writes a record for every context
 * switch into a ring that is read when all is over: nobody runs meanwhile who
 * would not run anyway.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "switches.h"
#include "bench.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A power of two; some 50000 switches of a CPU. */
#define RING_BYTES (2 * 1024 * 1024)

typedef struct SwitchRing {
    int cpu, fd;
    struct perf_event_mmap_page *page;
} SwitchRing;

struct Switches {
    GArray *rings;          /* of SwitchRing */
    int64_t from_ns;
};

/* What the kernel writes with the sample_type below. */
typedef struct SwitchRecord {
    struct perf_event_header header;
    uint32_t other_pid, other_tid;
    uint32_t pid, tid;
    uint64_t time_ns;
    uint32_t cpu, reserved;
} SwitchRecord;

static size_t page_bytes(void)
{
    return getauxval(AT_PAGESZ);
}

static SwitchRing open_ring(int cpu)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE, .size = sizeof(attr),
        .config = PERF_COUNT_SW_DUMMY,
        .sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU,
        .sample_id_all = 1, .context_switch = 1,
        .use_clockid = 1, .clockid = CLOCK_MONOTONIC,
    };
    SwitchRing ring = { .cpu = cpu };

    ring.fd = syscall(SYS_perf_event_open, &attr, -1, cpu, -1,
                      PERF_FLAG_FD_CLOEXEC);
    if (ring.fd < 0) {
        bench_fail("the switches of CPU %d (perf_event_open): %s", cpu,
                   g_strerror(errno));
    }
    ring.page = mmap(NULL, page_bytes() + RING_BYTES, PROT_READ | PROT_WRITE,
                     MAP_SHARED, ring.fd, 0);
    if (ring.page == MAP_FAILED) {
        bench_fail("memory for the switches of CPU %d: %s", cpu,
                   g_strerror(errno));
    }
    return ring;
}

/* In a thread of its own, whose mask is nobody else's. */
static gpointer visit_all(gpointer data)
{
    const Switches *switches = data;
    cpu_set_t one;

    for (guint i = 0; i < switches->rings->len; i++) {
        CPU_ZERO(&one);
        CPU_SET(g_array_index(switches->rings, SwitchRing, i).cpu, &one);
        if (sched_setaffinity(0, sizeof(one), &one) < 0) {
            bench_fail("sched_setaffinity: %s", g_strerror(errno));
        }
    }
    return NULL;
}

/* To have run on each CPU is to have switched there. */
static void visit(Switches *switches)
{
    g_thread_join(g_thread_new("visit", visit_all, switches));
}

Switches *switches_start(const HostCpuSet *cpus)
{
    Switches *switches = g_new(Switches, 1);

    switches->rings = g_array_new(false, false, sizeof(SwitchRing));
    HOST_CPUSET_FOREACH(cpu, cpus) {
        SwitchRing ring = open_ring(cpu);

        g_array_append_val(switches->rings, ring);
    }
    visit(switches);
    switches->from_ns = bench_now_ns();
    return switches;
}

static void copy_out(const SwitchRing *ring, uint64_t at, void *to,
                     size_t bytes)
{
    const char *data = (const char *)ring->page + page_bytes();
    size_t offset = at % RING_BYTES;
    size_t first = MIN(bytes, RING_BYTES - offset);

    memcpy(to, data + offset, first);
    memcpy((char *)to + first, data, bytes - first);
}

static void add_stretch(GArray *stretches, Stretch stretch, int64_t from_ns,
                        int64_t to_ns)
{
    stretch.from_ns = MAX(stretch.from_ns, from_ns);
    if (stretch.to_ns > to_ns) {
        stretch.to_ns = to_ns;
        stretch.preempted = false;
    }
    if (stretch.tid && stretch.from_ns < stretch.to_ns) {
        g_array_append_val(stretches, stretch);
    }
}

/* The visits have made sure that the first and the last record are ours. */
static void read_ring(const SwitchRing *ring, GArray *stretches,
                      int64_t from_ns, int64_t to_ns)
{
    uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
    Stretch now = { .cpu = ring->cpu };
    SwitchRecord record;

    for (uint64_t at = 0; at < head; at += record.header.size) {
        copy_out(ring, at, &record, sizeof(record.header));
        if (record.header.type == PERF_RECORD_LOST) {
            bench_fail("CPU %d switched more often than can be kept",
                       ring->cpu);
        }
        if (record.header.type != PERF_RECORD_SWITCH_CPU_WIDE) {
            continue;
        }
        copy_out(ring, at, &record, sizeof(record));
        if (record.header.misc & PERF_RECORD_MISC_SWITCH_OUT) {
            now.to_ns = record.time_ns;
            now.preempted = record.header.misc &
                            PERF_RECORD_MISC_SWITCH_OUT_PREEMPT;
            add_stretch(stretches, now, from_ns, to_ns);
            now.tid = 0;
        } else {
            now.tid = record.tid;
            now.from_ns = record.time_ns;
        }
    }
}

GArray *switches_stop(Switches *switches, int64_t *ret_from_ns,
                      int64_t *ret_to_ns)
{
    GArray *stretches = g_array_new(false, false, sizeof(Stretch));
    int64_t to_ns = bench_now_ns();

    visit(switches);
    for (guint i = 0; i < switches->rings->len; i++) {
        SwitchRing *ring = &g_array_index(switches->rings, SwitchRing, i);

        if (ioctl(ring->fd, PERF_EVENT_IOC_DISABLE, 0) < 0) {
            bench_fail("PERF_EVENT_IOC_DISABLE: %s", g_strerror(errno));
        }
        read_ring(ring, stretches, switches->from_ns, to_ns);
        munmap(ring->page, page_bytes() + RING_BYTES);
        close(ring->fd);
    }
    *ret_from_ns = switches->from_ns;
    *ret_to_ns = to_ns;
    g_array_unref(switches->rings);
    g_free(switches);
    return stretches;
}
