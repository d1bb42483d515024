/*
 * Reads the CPU folders of /sys
 *
 * How much is read of each CPU: its SMT siblings, its package, its capacity,
 * the level of each of its caches, and the CPU set of the highest.  That every
 * CPU is asked, also one that a sibling's set already names, costs some ten
 * small reads and shows trees that contradict themselves; the size of a cache
 * is read once per CPU set.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "host-file.h"
#include "host-sysfs.h"

/* Different things that can be noted about one host; more are summed up. */
#define NOTES_MAX 64

void host_sysfs_note(HostSysfs *sysfs, const char *topic, int err,
                     const char *format, ...)
{
    SysfsNote note = { .topic = topic, .err = err };
    va_list args;

    for (guint i = 0; i < sysfs->notes->len; i++) {
        SysfsNote *old = &g_array_index(sysfs->notes, SysfsNote, i);

        if (old->err == err && !strcmp(old->topic, topic)) {
            old->more++;
            return;
        }
    }
    if (sysfs->notes->len == NOTES_MAX) {
        return;
    }
    va_start(args, format);
    note.text = g_strdup_vprintf(format, args);
    va_end(args);
    g_array_append_val(sysfs->notes, note);
}

GPtrArray *host_sysfs_take_notes(HostSysfs *sysfs)
{
    GPtrArray *texts = g_ptr_array_new_with_free_func(g_free);

    for (guint i = 0; i < sysfs->notes->len; i++) {
        SysfsNote *note = &g_array_index(sysfs->notes, SysfsNote, i);

        if (note->more) {
            g_ptr_array_add(texts, g_strdup_printf("%s (and %d more like it)",
                                                   note->text, note->more));
        } else {
            g_ptr_array_add(texts, g_strdup(note->text));
        }
    }
    return texts;
}

/* A file of a CPU; one that need not exist is no news when it does not. */
static void note_cpu_file(HostSysfs *sysfs, int cpu, const char *file, int err)
{
    host_sysfs_note(sysfs, file, err, "cpu%d/%s: %s", cpu, file,
                    host_file_strerror(err));
}

/* The interned set of the text in sysfs->buf. */
static int intern(HostSysfs *sysfs, bool mask, SysfsSet **ret_set)
{
    g_autofree char *key = g_strconcat(mask ? "m" : "l", sysfs->buf, NULL);
    SysfsSet *set = g_hash_table_lookup(sysfs->sets, key);
    HostCpuSet cpus;

    if (!set) {
        if (!(mask ? host_cpuset_parse_mask(sysfs->buf, &cpus)
                   : host_cpuset_parse_list(sysfs->buf, &cpus))) {
            return -EBADMSG;
        }
        set = g_new0(SysfsSet, 1);
        set->cpus = cpus;
        g_hash_table_insert(sysfs->sets, g_steal_pointer(&key), set);
    }
    *ret_set = set;
    return 0;
}

/*
 * The set in the first usable file of @names, whose names end in "list" or are
 * those of masks.  A set without the CPU that it is about is not usable.  The
 * error is that of the last file that is there, else -ENOENT.
 */
static int read_set(HostSysfs *sysfs, int dir, int cpu,
                    const char *const *names, SysfsSet **ret_set)
{
    int err = -ENOENT;

    for (; *names; names++) {
        SysfsSet *set = NULL;
        int this_err = host_file_read(dir, *names, sysfs->buf);

        if (!this_err) {
            this_err = intern(sysfs, !g_str_has_suffix(*names, "list"), &set);
        }
        if (!this_err && !host_cpuset_has(&set->cpus, cpu)) {
            this_err = -EBADMSG;
        }
        if (!this_err) {
            *ret_set = set;
            return 0;
        }
        if (this_err != -ENOENT) {
            err = this_err;
        }
    }
    return err;
}

static int read_int(HostSysfs *sysfs, int dir, const char *name, int64_t min,
                    int64_t max, int64_t *ret_value)
{
    int err = host_file_read(dir, name, sysfs->buf);

    if (!err && !host_file_parse_int(sysfs->buf, min, max, ret_value)) {
        err = -EBADMSG;
    }
    return err;
}

static void read_core(HostSysfs *sysfs, int dir, int cpu)
{
    /* The same under its old name, in every kernel, and its new one (5.3). */
    static const char *const names[] = {
        "topology/thread_siblings_list", "topology/core_cpus_list",
        "topology/thread_siblings", "topology/core_cpus", NULL,
    };
    SysfsSet *set = NULL;
    int err = read_set(sysfs, dir, cpu, names, &set);

    if (err) {
        note_cpu_file(sysfs, cpu, names[0], err);
    }
    sysfs->cpus[cpu].core = set;
}

static void read_package(HostSysfs *sysfs, int dir, int cpu)
{
    static const char *const names[] = {
        "topology/package_cpus_list", "topology/core_siblings_list",
        "topology/package_cpus", "topology/core_siblings", NULL,
    };
    static const char *id_name = "topology/physical_package_id";
    SysfsSet *set = NULL;
    int64_t id = -1;
    int err = read_int(sysfs, dir, id_name, -1, INT32_MAX, &id);

    if (err) {
        note_cpu_file(sysfs, cpu, id_name, err);
    }
    /* Some POWER hosts have -1 everywhere. */
    if (id == -1) {
        read_set(sysfs, dir, cpu, names, &set);
    }
    sysfs->cpus[cpu].package = id;
    sysfs->cpus[cpu].package_cpus = set;
}

static void read_capacity(HostSysfs *sysfs, int dir, int cpu)
{
    int64_t capacity = 0;
    int err = read_int(sysfs, dir, "cpu_capacity", 1, HOST_CAPACITY_MAX,
                       &capacity);

    /* Only Arm, RISC-V and recent hybrid x86 hosts have it. */
    if (err && err != -ENOENT) {
        note_cpu_file(sysfs, cpu, "cpu_capacity", err);
    }
    sysfs->cpus[cpu].capacity = capacity;
}

/* The size of the cache with this set, read once however many CPUs share it. */
static void read_cache_size(HostSysfs *sysfs, int dir, int cpu, int index,
                            int level, SysfsSet *set)
{
    char name[64];
    int err;

    if (set->sized & 1u << level) {
        return;
    }
    snprintf(name, sizeof(name), "cache/index%d/size", index);
    err = host_file_read(dir, name, sysfs->buf);
    if (!err && !host_file_parse_size(sysfs->buf, &set->bytes[level])) {
        err = -EBADMSG;
    }
    if (err) {
        host_sysfs_note(sysfs, "size", err, "cpu%d/%s: %s", cpu, name,
                        host_file_strerror(err));
    } else {
        set->sized |= 1u << level;
    }
}

/* The level of a cache that holds data; 0 (noted) where it cannot be told. */
static int read_cache_level(HostSysfs *sysfs, int dir, int cpu, int index)
{
    char name[64];
    int64_t level = 0;
    int err;

    snprintf(name, sizeof(name), "cache/index%d/level", index);
    err = read_int(sysfs, dir, name, 1, HOST_SYSFS_LEVEL_MAX, &level);
    if (err) {
        host_sysfs_note(sysfs, "level", err, "cpu%d/%s: %s", cpu, name,
                        host_file_strerror(err));
    }
    return level;
}

static bool cache_holds_data(HostSysfs *sysfs, int dir, int cpu, int index)
{
    char name[64];
    int err;

    snprintf(name, sizeof(name), "cache/index%d/type", index);
    err = host_file_read(dir, name, sysfs->buf);
    if (!err) {
        if (!strcmp(sysfs->buf, "Unified") || !strcmp(sysfs->buf, "Data")) {
            return true;
        }
        if (!strcmp(sysfs->buf, "Instruction")) {
            return false;
        }
        err = -EBADMSG;
    }
    host_sysfs_note(sysfs, "type", err, "cpu%d/%s: %s", cpu, name,
                    host_file_strerror(err));
    return false;
}

static void read_cache(HostSysfs *sysfs, int dir, int cpu, int index, int level)
{
    char list[64], mask[64];
    const char *names[] = { list, mask, NULL };
    SysfsCpu *c = &sysfs->cpus[cpu];
    SysfsSet *set = NULL;
    int err, i;

    snprintf(list, sizeof(list), "cache/index%d/shared_cpu_list", index);
    snprintf(mask, sizeof(mask), "cache/index%d/shared_cpu_map", index);
    err = read_set(sysfs, dir, cpu, names, &set);
    if (err) {
        host_sysfs_note(sysfs, "shared", err, "cpu%d/%s: %s", cpu, list,
                        host_file_strerror(err));
        return;
    }
    read_cache_size(sysfs, dir, cpu, index, level, set);
    if (c->n_caches == HOST_SYSFS_CACHES_MAX) {
        return;
    }
    for (i = c->n_caches++; i > 0 && c->caches[i - 1].level < level; i--) {
        c->caches[i] = c->caches[i - 1];
    }
    c->caches[i] = (SysfsCache) { .level = level, .set = set };
}

static void read_caches(HostSysfs *sysfs, int dir, int cpu)
{
    const SysfsCpu *c = &sysfs->cpus[cpu];
    HostCpuSet indexes;
    int err = host_file_list_numbered(dir, "cache", "index", &indexes);

    if (err) {
        note_cpu_file(sysfs, cpu, "cache", err);
        return;
    }
    /* Downwards: Linux numbers them from the CPU outwards. */
    for (int index = 31; index >= 0; index--) {
        int level;

        if (!host_cpuset_has(&indexes, index)) {
            continue;
        }
        level = read_cache_level(sysfs, dir, cpu, index);
        /* Below a level 3 nothing can become the LLC. */
        if (!level || (c->n_caches && c->caches[0].level >= 3 &&
                       level <= c->caches[0].level)) {
            continue;
        }
        if (cache_holds_data(sysfs, dir, cpu, index)) {
            read_cache(sysfs, dir, cpu, index, level);
        }
    }
}

static void read_cpu(HostSysfs *sysfs, int cpus_dir, int cpu)
{
    char name[16];
    int dir;

    sysfs->cpus[cpu].package = -1;
    snprintf(name, sizeof(name), "cpu%d", cpu);
    dir = host_file_open_dir_at(cpus_dir, name);
    if (dir < 0) {
        host_sysfs_note(sysfs, "cpu", dir, "%s: %s", name,
                        host_file_strerror(dir));
        return;
    }
    read_core(sysfs, dir, cpu);
    read_package(sysfs, dir, cpu);
    read_capacity(sysfs, dir, cpu);
    read_caches(sysfs, dir, cpu);
    close(dir);
}

int host_sysfs_list(HostSysfs *sysfs, int dir, const char *name,
                    HostCpuSet *ret_set)
{
    int err = host_file_read(dir, name, sysfs->buf);

    if (!err && !host_cpuset_parse_list(sysfs->buf, ret_set)) {
        err = -EBADMSG;
    }
    return err;
}

/*
 * Without cpu/online (kernels before 2.6.26, partial copies): the CPUs that
 * have a folder, except where its file `online` is 0.
 */
static void online_from_folders(HostSysfs *sysfs, int dir)
{
    HostCpuSet folders = { };

    host_file_list_numbered(dir, ".", "cpu", &folders);
    sysfs->online = folders;
    HOST_CPUSET_FOREACH(cpu, &folders) {
        char name[32];
        int64_t online;

        snprintf(name, sizeof(name), "cpu%d/online", cpu);
        if (!read_int(sysfs, dir, name, 0, 1, &online) && !online) {
            host_cpuset_remove(&sysfs->online, cpu);
        }
    }
}

static void read_possible(HostSysfs *sysfs, int dir)
{
    int fail = host_sysfs_list(sysfs, dir, "possible", &sysfs->possible);
    bool lacks = !fail && !host_cpuset_subset(&sysfs->online,
                                              &sysfs->possible);

    if (fail || lacks) {
        host_sysfs_note(sysfs, "possible", fail, "cpu/possible: %s; the CPU "
                        "folders are taken instead",
                        lacks ? "lacks CPUs that are online"
                              : host_file_strerror(fail));
        host_file_list_numbered(dir, ".", "cpu", &sysfs->possible);
    }
    host_cpuset_or(&sysfs->possible, &sysfs->online);
}

static bool read_online(HostSysfs *sysfs, int dir, const char *root,
                        GError **err)
{
    int fail = host_sysfs_list(sysfs, dir, "online", &sysfs->online);

    if (fail) {
        host_sysfs_note(sysfs, "online", fail, "cpu/online: %s; the CPU "
                        "folders are taken instead", host_file_strerror(fail));
        online_from_folders(sysfs, dir);
    }
    if (host_cpuset_empty(&sysfs->online)) {
        bool denied = fail == -EACCES || fail == -EPERM;

        g_set_error(err, HOST_TOPOLOGY_ERROR,
                    denied ? HOST_TOPOLOGY_ERROR_DENIED :
                    fail == -ENOENT ? HOST_TOPOLOGY_ERROR_MISSING :
                    HOST_TOPOLOGY_ERROR_MALFORMED,
                    "no CPU to use: %s" CPU_DIR "/online: %s%s", root,
                    fail ? host_file_strerror(fail) : "names no CPU",
                    denied ? "; allow this process to read it" : "");
        return false;
    }
    read_possible(sysfs, dir);
    return true;
}

/* An optional list: absent is the same as empty. */
static void add_list(HostSysfs *sysfs, int dir, const char *name,
                     HostCpuSet *set)
{
    HostCpuSet cpus;
    int err = host_sysfs_list(sysfs, dir, name, &cpus);

    /* What some kernels print for a mask that was never allocated. */
    if (err == -EBADMSG && strstr(sysfs->buf, "(null)")) {
        return;
    }
    if (!err) {
        host_cpuset_or(set, &cpus);
    } else if (err != -ENOENT) {
        host_sysfs_note(sysfs, name, err, "%s: %s", name,
                        host_file_strerror(err));
    }
}

static void read_isolated(HostSysfs *sysfs, int dir, const char *root)
{
    int cgroup = host_file_open_dir(root, "/sys/fs/cgroup");

    add_list(sysfs, dir, "isolated", &sysfs->isolated);
    add_list(sysfs, dir, "nohz_full", &sysfs->isolated);
    if (cgroup >= 0) {
        /* The root of the cgroup v2 tree sums up all isolated partitions. */
        add_list(sysfs, cgroup, "cpuset.cpus.isolated", &sysfs->isolated);
        close(cgroup);
    }
    host_cpuset_and(&sysfs->isolated, &sysfs->possible);
}

/* The event sources of hybrid x86 hosts name the CPUs of each kind. */
static void read_kinds(HostSysfs *sysfs, const char *root)
{
    int dir = host_file_open_dir(root, "/sys/devices");

    if (dir < 0) {
        return;
    }
    add_list(sysfs, dir, "cpu_core/cpus", &sysfs->performance);
    add_list(sysfs, dir, "cpu_atom/cpus", &sysfs->efficiency);
    add_list(sysfs, dir, "cpu_lowpower/cpus", &sysfs->efficiency);
    close(dir);
}

HostSysfs *host_sysfs_read(const char *root, GError **err)
{
    g_autoptr(HostSysfs) sysfs = g_new0(HostSysfs, 1);
    int dir = host_file_open_dir(root, CPU_DIR);

    sysfs->sets = g_hash_table_new_full(g_str_hash, g_str_equal, g_free,
                                        g_free);
    sysfs->notes = g_array_new(FALSE, TRUE, sizeof(SysfsNote));
    sysfs->buf = g_malloc(HOST_FILE_MAX + 1);
    if (dir < 0) {
        g_set_error(err, HOST_TOPOLOGY_ERROR,
                    dir == -EACCES || dir == -EPERM ?
                    HOST_TOPOLOGY_ERROR_DENIED : HOST_TOPOLOGY_ERROR_MISSING,
                    "no CPU to use: %s" CPU_DIR ": %s", root,
                    host_file_strerror(dir));
        return NULL;
    }
    if (!read_online(sysfs, dir, root, err)) {
        close(dir);
        return NULL;
    }
    HOST_CPUSET_FOREACH(cpu, &sysfs->possible) {
        sysfs->n_cpus = cpu + 1;
    }
    sysfs->cpus = g_new0(SysfsCpu, sysfs->n_cpus);
    HOST_CPUSET_FOREACH(cpu, &sysfs->online) {
        read_cpu(sysfs, dir, cpu);
    }
    read_isolated(sysfs, dir, root);
    close(dir);
    read_kinds(sysfs, root);
    host_sysfs_read_nodes(sysfs, root);
    return g_steal_pointer(&sysfs);
}

void host_sysfs_free(HostSysfs *sysfs)
{
    if (!sysfs) {
        return;
    }
    for (int i = 0; i < sysfs->n_nodes; i++) {
        g_free(sysfs->nodes[i].distances);
    }
    for (guint i = 0; sysfs->notes && i < sysfs->notes->len; i++) {
        g_free(g_array_index(sysfs->notes, SysfsNote, i).text);
    }
    g_clear_pointer(&sysfs->notes, g_array_unref);
    g_clear_pointer(&sysfs->sets, g_hash_table_unref);
    g_free(sysfs->nodes);
    g_free(sysfs->cpus);
    g_free(sysfs->buf);
    g_free(sysfs);
}
