/*
 * A guest that AppArmor confines sees the host's caches by our rules alone
 *
 * Under a kernel that has AppArmor, which enforces.  What libvirt lets every
 * guest read of the host is as in its abstraction libvirt-qemu.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <errno.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "lab-host.h"
#include "lab-vm.h"

#define SECURITY "/sys/kernel/security"
#define BASE "/tmp/apparmor"
#define WRAPPER BASE "/qemu"
#define PROFILE_VARIABLE "LLCSCHED_LAB_PROFILE"

/* The lab is a chroot, whose paths are to be taken as they are in there. */
#define PROFILES \
    "abi <abi/3.0>,\n" \
    "include <tunables/global>\n" \
    "profile lab-plain flags=(attach_disconnected,chroot_relative) {\n" \
    "%s}\n" \
    "profile lab-llcsched flags=(attach_disconnected,chroot_relative) {\n" \
    "%s  include <abstractions/llcsched>\n" \
    "}\n"

#define RULES \
    "  include <abstractions/base>\n" \
    "  capability,\n" \
    "  network,\n" \
    "  unix,\n" \
    "  signal,\n" \
    "  /dev/kvm rw,\n" \
    "  %s rmix,\n" \
    "  %s r,\n" \
    "  /{usr/,}bin/{dash,sh} rmix,\n" \
    "  /tmp/{,**} rwk,\n" \
    "  @{PROC}/[0-9]*/status r,\n" \
    "  owner @{PROC}/@{pid}/task/@{tid}/comm rw,\n" \
    "  @{PROC}/@{pid}/{,task/@{tid}/}attr/{,apparmor/}exec w,\n" \
    "  /sys/devices/system/cpu/ r,\n" \
    "  /sys/devices/system/node/ r,\n" \
    "  /sys/devices/system/node/node[0-9]*/meminfo r,\n"

static LabHost host;
static const char *missing;     /* why there is no test; NULL: there is one */

static void run(const char *command)
{
    g_autoptr(GError) err = NULL;
    g_autofree char *said = NULL;
    int status;

    g_spawn_command_line_sync(command, NULL, &said, &status, &err);
    g_assert_no_error(err);
    if (!g_spawn_check_wait_status(status, &err)) {
        g_error("%s: %s: %s", command, err->message, said);
    }
}

static void put(const char *path, const char *text)
{
    g_autoptr(GError) err = NULL;

    g_file_set_contents(path, text, -1, &err);
    g_assert_no_error(err);
}

/* A QEMU that confines itself, as libvirt does it between fork and exec. */
static void make_wrapper(const char *qemu)
{
    g_autofree char *text = g_strdup_printf(
        "#!/bin/sh\n"
        "[ -z \"$" PROFILE_VARIABLE "\" ] ||\n"
        "    echo \"exec $" PROFILE_VARIABLE "\" > /proc/self/attr/exec ||\n"
        "    exit 1\n"
        "exec %s \"$@\"\n", qemu);

    put(WRAPPER, text);
    g_assert_cmpint(chmod(WRAPPER, 0755), ==, 0);
}

static void load_profiles(const char *qemu)
{
    const char *source = g_getenv("LLCSCHED_SOURCE_ROOT");
    g_autofree char *rules = g_strdup_printf(RULES, qemu,
                                             g_getenv("LLCSCHED_GUEST"));
    g_autofree char *profiles = g_strdup_printf(PROFILES, rules, rules);
    g_autofree char *copy = g_strdup_printf(
        "cp %s/contrib/apparmor/libvirt-qemu " BASE "/abstractions/llcsched",
        source);

    run(copy);
    put(BASE "/profiles", profiles);
    run("apparmor_parser --replace --skip-cache --base " BASE " " BASE
        "/profiles");
}

/* Called before QEMU's path is taken. */
static void set_up(void)
{
    g_autofree char *modules = NULL;
    g_autofree char *qemu = g_strdup(g_getenv("LLCSCHED_QEMU"));

    if (!g_getenv("LAB_HOST")) {
        missing = "not in a lab host";
    } else if (mount("securityfs", SECURITY, "securityfs", 0, NULL) &&
               errno != EBUSY) {
        missing = "this kernel has no security modules";
    } else if (!g_file_get_contents(SECURITY "/lsm", &modules, NULL, NULL) ||
               !strstr(modules, "apparmor")) {
        missing = "this kernel has no AppArmor";
    } else if (!g_file_test("/etc/apparmor.d/abi", G_FILE_TEST_IS_DIR)) {
        missing = "AppArmor's rules are not installed";
    }
    if (missing) {
        return;
    }
    run("cp -r /etc/apparmor.d " BASE);
    load_profiles(qemu);
    make_wrapper(qemu);
    g_setenv("LLCSCHED_QEMU", WRAPPER, TRUE);
}

/* How many LLCs a confined guest sees; and its warnings, as one text. */
static int llcs_seen(const char *profile, char **ret_warnings)
{
    g_autoptr(GString) text = g_string_new(NULL);
    g_autoptr(JsonNode) answer = NULL;
    g_autoptr(Vm) vm = NULL;
    g_autofree char *label = NULL;
    g_autofree char *path = NULL;
    JsonArray *warnings;

    g_setenv(PROFILE_VARIABLE, profile, TRUE);
    vm = lab_vm_start("4,sockets=2,cores=2", "", "");
    g_unsetenv(PROFILE_VARIABLE);
    vm_wait_up(vm, 4);
    path = g_strdup_printf("/proc/%d/attr/current", (int)vm_pid(vm));
    g_assert_true(g_file_get_contents(path, &label, NULL, NULL));
    g_assert_true(g_str_has_prefix(label, profile));
    g_assert_nonnull(strstr(label, "(enforce)"));
    sched_wait_looks(vm, 3);
    answer = sched_query(vm);
    warnings = json_object_get_array_member(json_node_get_object(answer),
                                            "warnings");
    for (guint i = 0; i < json_array_get_length(warnings); i++) {
        g_string_append_printf(text, "%s\n", json_array_get_string_element(
                                                 warnings, i));
    }
    *ret_warnings = g_strdup(text->str);
    return json_array_get_length(json_object_get_array_member(
        json_node_get_object(answer), "host-llcs"));
}

static void test_without_rules(void)
{
    g_autofree char *warnings = NULL;

    if (missing) {
        g_test_skip(missing);
        return;
    }
    g_assert_cmpint(llcs_seen("lab-plain", &warnings), ==, 1);
    g_assert_nonnull(strstr(warnings, "Permission denied"));
}

static void test_with_rules(void)
{
    g_autofree char *warnings = NULL;

    if (missing) {
        g_test_skip(missing);
        return;
    }
    g_assert_cmpint(llcs_seen("lab-llcsched", &warnings), ==, host.n_llcs);
    g_assert_cmpstr(warnings, ==, "");
}

int main(int argc, char **argv)
{
    int ret;

    set_up();
    lab_vm_test_init(&argc, &argv);
    lab_host_init(&host);
    g_test_add_func("/apparmor/without-our-rules-caches-are-hidden",
                    test_without_rules);
    g_test_add_func("/apparmor/with-our-rules-a-guest-sees-all",
                    test_with_rules);
    ret = g_test_run();
    lab_host_clear(&host);
    return ret;
}
