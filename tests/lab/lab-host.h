/*
 * The lab host that a test program runs in
 *
 * Read from /sys by a few lines of its own, so that libllcsched is not
 * compared with itself.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TESTS_LAB_LAB_HOST_H
#define TESTS_LAB_LAB_HOST_H

#include <glib.h>
#include <stdbool.h>

/*
 * As kernel CPU lists, in the order of their lowest CPU; the arrays of lists
 * end with NULL.
 */
typedef struct LabHost {
    char *online;
    char **llcs;        /* the last-level caches, else the packages */
    char **cores;
    char **nodes;
    int n_cpus, n_llcs, n_cores, n_nodes;
    int llc_cores, llc_cpus;    /* of one LLC: all are alike */
    int threads;                /* of one core */
} LabHost;

/* Fails the program where the host is not what its .conf file says. */
void lab_host_init(LabHost *host);
void lab_host_clear(LabHost *host);

/* The index in @lists of the one that holds all of @cpus, or -1. */
int lab_list_of(char *const *lists, const char *cpus);

/* Is every CPU of @cpus in @of? */
bool lab_list_within(const char *cpus, const char *of);

/* Is there a core of which both have a CPU? */
bool lab_cores_meet(const LabHost *host, const char *one, const char *other);

/* Write to a file of the kernel's; fails the program if that fails. */
void lab_write(const char *path, const char *text);

/* Take a CPU offline or back; fails the program if the kernel refuses. */
void lab_cpu_set_online(int cpu, bool online);
void lab_cpus_set_online(const char *cpus, bool online);

/* The last sibling of each core, on and off. */
void lab_smt_set(const LabHost *host, bool on);

/*
 * cgroup v2, below its root.  A test program is in the root, and the QEMUs
 * that it starts are where it is then.
 */
void lab_cgroup_make(const char *name, const char *cpus);
void lab_cgroup_set_cpus(const char *name, const char *cpus);
void lab_cgroup_enter(const char *name, int pid); /* "": the root */
void lab_cgroup_remove(const char *name); /* its processes have ended */

#endif
