/*
 * What of a host bears on trust: SMT, sched_ext, and who else may meddle
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "hw/sched/host-trust.h"

#include "host-file.h"
#include "host-sysfs.h"

/* The first PID namespace has this inode (PROC_PID_INIT_INO), always. */
#define FIRST_PIDNS "pid:[4026531836]"

/* NULL if it cannot be read; the caller frees it. */
static char *host_trust_read(const char *root, const char *path)
{
    g_autofree char *full = g_strconcat(root, path, NULL);
    g_autofree char *text = g_malloc(HOST_FILE_MAX + 1);

    return host_file_read(AT_FDCWD, full, text) ? NULL
                                                : g_steal_pointer(&text);
}

HostSmt host_trust_smt(const char *root)
{
    g_autofree char *text = host_trust_read(root, CPU_DIR "/smt/active");

    if (g_strcmp0(text, "1") == 0) {
        return HOST_SMT_ON;
    }
    return g_strcmp0(text, "0") == 0 ? HOST_SMT_OFF : HOST_SMT_UNKNOWN;
}

bool host_trust_sched_ext(const char *root)
{
    g_autofree char *text = host_trust_read(root,
                                            "/sys/kernel/sched_ext/state");

    return text && (g_str_equal(text, "enabled") ||
                    g_str_equal(text, "enabling"));
}

/* "core_forceidle_sum   :   12.345678": milliseconds, and the ns of one. */
static bool host_trust_parse_ms(const char *text, uint64_t *ret_ns)
{
    uint64_t ms;
    char *end;

    text = strchr(text, ':');
    if (!text) {
        return false;
    }
    errno = 0;
    ms = g_ascii_strtoull(text + 1, &end, 10);
    if (errno || end == text + 1 || *end != '.' || ms > UINT64_MAX / 2000000 ||
        strspn(end + 1, "0123456789") != 6) {
        return false;
    }
    *ret_ns = ms * 1000000 + g_ascii_strtoull(end + 1, NULL, 10);
    return true;
}

bool host_trust_forced_idle(const char *root, int tid, uint64_t *ret_ns)
{
    g_autofree char *path = g_strdup_printf("/proc/self/task/%d/sched", tid);
    g_autofree char *text = host_trust_read(root, path);
    const char *line = text ? strstr(text, "\ncore_forceidle_sum ") : NULL;

    return line && host_trust_parse_ms(line, ret_ns);
}

/* libvirt's profiles have a UUID in their name; others are shared by VMs. */
static bool host_trust_apparmor(const char *label)
{
    return g_str_has_prefix(label, "libvirt-") &&
           g_str_has_suffix(label, " (enforce)");
}

/*
 * user:role:type:s0:c1,c2: a pair of categories tells VMs of one type apart; a
 * range as c0.c1023 is one that may read them all.
 */
static bool host_trust_selinux(const char *root, const char *label)
{
    g_autofree char *enforce = host_trust_read(root,
                                               "/sys/fs/selinux/enforce");
    g_auto(GStrv) fields = g_strsplit(label, ":", 5);

    return g_strcmp0(enforce, "1") == 0 && g_strv_length(fields) == 5 &&
           strchr(fields[4], ',') && !strchr(fields[4], '.');
}

HostPeers host_trust_peers(const char *root, bool privileged)
{
    g_autofree char *label = host_trust_read(root, "/proc/self/attr/current");
    g_autofree char *path = g_strconcat(root, "/proc/self/ns/pid", NULL);
    g_autofree char *pidns = g_file_read_link(path, NULL);

    if (label && (host_trust_apparmor(label) ||
                  host_trust_selinux(root, label))) {
        return HOST_PEERS_LSM;
    }
    if (pidns && !g_str_equal(pidns, FIRST_PIDNS)) {
        return HOST_PEERS_PIDNS;
    }
    return privileged ? HOST_PEERS_NONE : HOST_PEERS_UID;
}
