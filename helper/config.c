/*
 * What the administrator allows: the helper's configuration file
 *
 * A key file as GLib reads it, with one group.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <string.h>
#include <sys/stat.h>

#include "config.h"

#define GROUP "helper"

/*
 * Numbers, and why they end where they do.  Connections take three descriptors
 * each, and the kernel's own limit of a process is 1048576 by default.  Below a
 * rate of 10 a large VM's start takes minutes.  A burst must pay for the
 * threads of one request.
 */
static const struct {
    const char *key;
    size_t offset;
    unsigned min, max;
} numbers[] = {
    { "connections", offsetof(HelperConfig, connections), 1, 65536 },
    { "connections-per-user",
      offsetof(HelperConfig, connections_per_user), 1, 65536 },
    { "threads", offsetof(HelperConfig, threads), 1, 16384 },
    { "rate", offsetof(HelperConfig, budget.rate), 10, 100000 },
    { "burst", offsetof(HelperConfig, budget.burst), 300, 1000000 },
};

GQuark helper_config_error_quark(void)
{
    return g_quark_from_static_string("helper-config-error-quark");
}

void helper_config_init(HelperConfig *config)
{
    *config = (HelperConfig) {
        .connections = 1024,
        .connections_per_user = 1000,
        /* QEMU's largest guest, and its other threads */
        .threads = 4352,
        .budget = { .rate = 200, .burst = 5000 },
        .load = true,
    };
    memset(config->cpus.words, 0xff, sizeof(config->cpus.words));
}

static bool config_error(GError **err, const char *key, const char *value,
                         const char *expected)
{
    g_set_error(err, HELPER_CONFIG_ERROR, 0, "[" GROUP "] %s=%s: expected %s",
                key, value, expected);
    return false;
}

static bool set_number(HelperConfig *config, int i, const char *value,
                       GError **err)
{
    unsigned *field = (unsigned *)((char *)config + numbers[i].offset);
    g_autofree char *range = g_strdup_printf("a number from %u to %u",
                                             numbers[i].min, numbers[i].max);
    guint64 number;

    if (!g_ascii_string_to_unsigned(value, 10, numbers[i].min, numbers[i].max,
                                    &number, NULL)) {
        return config_error(err, numbers[i].key, value, range);
    }
    *field = number;
    return true;
}

static bool set_cpus(HelperConfig *config, const char *value, GError **err)
{
    HostCpuSet cpus;

    if (!host_cpuset_parse_list(value, &cpus) || host_cpuset_empty(&cpus)) {
        return config_error(err, "cpus", value,
                            "a list of CPUs such as 0-7,16");
    }
    config->cpus = cpus;
    return true;
}

static bool set_load(HelperConfig *config, const char *value, GError **err)
{
    config->load = g_str_equal(value, "yes");
    return config->load || g_str_equal(value, "no") ||
           config_error(err, "load", value, "yes or no");
}

static bool set_key(HelperConfig *config, const char *key, const char *value,
                    GError **err)
{
    for (size_t i = 0; i < G_N_ELEMENTS(numbers); i++) {
        if (g_str_equal(key, numbers[i].key)) {
            return set_number(config, i, value, err);
        }
    }
    if (g_str_equal(key, "cpus")) {
        return set_cpus(config, value, err);
    }
    if (g_str_equal(key, "load")) {
        return set_load(config, value, err);
    }
    g_set_error(err, HELPER_CONFIG_ERROR, 0, "[" GROUP "] %s: not a key; the "
                "keys are cpus, connections, connections-per-user, threads, "
                "rate, burst, load", key);
    return false;
}

static bool check_groups(GKeyFile *file, GError **err)
{
    g_auto(GStrv) groups = g_key_file_get_groups(file, NULL);

    for (char **group = groups; *group; group++) {
        if (!g_str_equal(*group, GROUP)) {
            g_set_error(err, HELPER_CONFIG_ERROR, 0, "[%s]: not a group; the "
                        "only one is [" GROUP "]", *group);
            return false;
        }
    }
    return true;
}

bool helper_config_parse(const char *text, gsize len, HelperConfig *ret_config,
                         GError **err)
{
    g_autoptr(GKeyFile) file = g_key_file_new();
    g_auto(GStrv) keys = NULL;
    HelperConfig config;

    helper_config_init(&config);
    /* GLib takes an empty file for a mistake; here it is the defaults. */
    if (len && !g_key_file_load_from_data(file, text, len, G_KEY_FILE_NONE,
                                          err)) {
        return false;
    }
    if (!check_groups(file, err)) {
        return false;
    }
    keys = g_key_file_get_keys(file, GROUP, NULL, NULL);
    for (char **key = keys; key && *key; key++) {
        g_autofree char *value = g_key_file_get_value(file, GROUP, *key, err);

        if (!value || !set_key(&config, *key, value, err)) {
            return false;
        }
    }
    *ret_config = config;
    return true;
}

bool helper_config_load(const char *path, HelperConfig *ret_config,
                        GError **err)
{
    g_autofree char *text = NULL;
    struct stat st;
    gsize len;

    if (stat(path, &st) == 0 &&
        (!S_ISREG(st.st_mode) || st.st_size > HELPER_CONFIG_MAX)) {
        g_set_error(err, HELPER_CONFIG_ERROR, 0, "%s: expected a file of at "
                    "most %d bytes", path, HELPER_CONFIG_MAX);
        return false;
    }
    if (!g_file_get_contents(path, &text, &len, err)) {
        return false;
    }
    if (!helper_config_parse(text, len, ret_config, err)) {
        g_prefix_error(err, "%s: ", path);
        return false;
    }
    return true;
}
