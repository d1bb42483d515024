/*
 * qemu-llcsched sim: placement policies side by side on a simulated host
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <string.h>

#include "hw/sched/placement.h"
#include "sim-case.h"
#include "tool.h"

#define SECOND_NS 1000000000ll

/* A day of a host; more is most likely a slip. */
#define SECONDS_MAX 86400
#define SEEDS_MAX 10000

/* A record of the largest size has 16 million rows. */
#define LOAD_BYTES_MAX (512u << 20)

typedef struct Options {
    ToolHost host;
    char **cases, **policies;
    char *load;
    int load_percent, seeds, first_seed, seconds, warm, guard_util,
        guard_tasks;
} Options;

typedef struct Run {
    const ToolCommand *command;
    const Options *options;
    HostTopology *host;
    SimTrace *trace;
    char *label;              /* of the host */
} Run;

static char *description(void)
{
    GString *text = g_string_new("Cases (with what the number is, and what it "
                                 "is when left out):\n");

    for (int i = 0; i < sim_n_cases; i++) {
        const SimCase *c = &sim_cases[i];

        g_string_append_printf(text, "  %-13s %s [%s, %d]\n", c->name,
                               c->summary, c->unit, c->usual);
    }
    g_string_append(text, "\nPolicies:\n");
    for (int i = 0; i < sim_n_policies; i++) {
        g_string_append_printf(text, "  %-13s %s\n", sim_policies[i]->name,
                               sim_policies[i]->summary);
    }
    g_string_append(text, "\nPrints CSV: a row for each case and policy, means "
                    "and standard deviations over\nthe seeds.  The same "
                    "arguments give the same bytes.");
    return g_string_free(text, FALSE);
}

static bool parse_case(const ToolCommand *command, const char *text,
                       const SimCase **ret_case, int *ret_n, int *ret_status)
{
    const char *equals = strchr(text, '=');
    const SimCase *c = sim_case_by_name(text, equals ? equals - text
                                                     : strlen(text));
    uint64_t n;

    if (!c) {
        *ret_status = tool_usage_error(command, "--case '%s': there is no such "
                                       "case; see " TOOL_NAME " sim --help",
                                       text);
        return false;
    }
    n = c->usual;
    if (equals && !tool_parse_number(equals + 1, c->min, c->max, &n)) {
        *ret_status = tool_usage_error(command, "--case '%s': the number of %s "
                                       "is %d to %d", text, c->unit, c->min,
                                       c->max);
        return false;
    }
    *ret_case = c;
    *ret_n = n;
    return true;
}

static int check_number(const ToolCommand *command, const char *option,
                        int value, int min, int max)
{
    if (value < min || value > max) {
        return tool_usage_error(command, "%s %d: give %d to %d", option, value,
                                min, max);
    }
    return TOOL_OK;
}

static int check_options(const ToolCommand *command, const Options *o)
{
    const struct {
        const char *option;
        int value, min, max;
    } numbers[] = {
        { "--seeds", o->seeds, 1, SEEDS_MAX },
        { "--first-seed", o->first_seed, 0, G_MAXINT - SEEDS_MAX },
        { "--seconds", o->seconds, 1, SECONDS_MAX },
        { "--warm", o->warm, 0, SECONDS_MAX },
        { "--guard-util", o->guard_util, 1, 100 },
        { "--guard-tasks", o->guard_tasks, 1, 1000 },
        { "--load-percent", o->load_percent, 1, 1000 },
    };
    int status = tool_check_path(command, "--load", o->load);

    for (size_t i = 0; !status && i < G_N_ELEMENTS(numbers); i++) {
        status = check_number(command, numbers[i].option, numbers[i].value,
                              numbers[i].min, numbers[i].max);
    }
    for (char **name = o->policies; !status && name && *name; name++) {
        if (!sim_policy_by_name(*name)) {
            status = tool_usage_error(command, "--policy '%s': there is no "
                                      "such policy; see " TOOL_NAME
                                      " sim --help", *name);
        }
    }
    for (char **name = o->cases; !status && name && *name; name++) {
        const SimCase *c;
        int n;

        parse_case(command, *name, &c, &n, &status);
    }
    return status;
}

/* More tasks than the kernel can number are no host. */
static bool fits(const Sim *sim)
{
    return sim->n_tasks <= 1 << 20;
}

/* One policy on one case, every seed; @c NULL: the recorded load. */
static int run_policy(const Run *run, const SimCase *c, int n,
                      const SimPolicy *policy, GString *text)
{
    const Options *o = run->options;
    SimResult result = { 0 };

    for (int i = 0; i < o->seeds; i++) {
        g_autoptr(Sim) sim = sim_new(run->host, o->first_seed + i);

        sim->guard_util = o->guard_util;
        sim->guard_tasks = o->guard_tasks;
        if (c) {
            c->add(sim, n);
        } else {
            sim_add_recorded(sim, run->trace, n);
        }
        if (!fits(sim)) {
            return tool_usage_error(run->command, "case '%s=%d' has more than "
                                    "1048576 vCPUs here; give a smaller number",
                                    c ? c->name : "recorded", n);
        }
        sim_run(sim, policy, o->warm * SECOND_NS,
                (o->warm + o->seconds) * SECOND_NS);
        sim_result_add(&result, sim, o->seconds);
    }
    g_string_append_printf(text, "%s%s=%d,%s,", run->label,
                           c ? c->name : "recorded", n, policy->name);
    sim_result_print(&result, text);
    g_string_append_c(text, '\n');
    return TOOL_OK;
}

static bool wanted(char **names, const SimPolicy *policy)
{
    return !names || g_strv_contains((const char *const *)names, policy->name);
}

/* Each row as soon as it is known: a long run shows how far it is. */
static int run_case(const Run *run, const SimCase *c, int n)
{
    int status = TOOL_OK;

    for (int p = 0; !status && p < sim_n_policies; p++) {
        g_autoptr(GString) text = g_string_new(NULL);

        if (!wanted(run->options->policies, sim_policies[p])) {
            continue;
        }
        status = run_policy(run, c, n, sim_policies[p], text);
        if (!status) {
            status = tool_print_part(run->command, text->str);
        }
    }
    return status;
}

static int run_all(const Run *run)
{
    const Options *o = run->options;
    g_autofree char *header = g_strdup_printf("case,policy,%s\n",
                                              sim_result_header());
    int status = tool_print_part(run->command, header);

    if (!status && run->trace) {
        status = run_case(run, NULL, o->load_percent);
    }
    for (char **name = o->cases; !status && name && *name; name++) {
        const SimCase *c;
        int n;

        if (parse_case(run->command, *name, &c, &n, &status)) {
            status = run_case(run, c, n);
        }
    }
    for (int i = 0; !status && !o->cases && !run->trace && i < sim_n_cases;
         i++) {
        status = run_case(run, &sim_cases[i], sim_cases[i].usual);
    }
    return status ? status : tool_print(run->command, "");
}

static int read_load(Run *run)
{
    g_autoptr(GError) err = NULL;
    g_autofree char *text = NULL;
    gsize len;

    if (!run->options->load) {
        return TOOL_OK;
    }
    if (!g_file_get_contents(run->options->load, &text, &len, &err)) {
        return tool_failed(run->command, err);
    }
    if (len > LOAD_BYTES_MAX) {
        g_set_error(&err, SIM_TRACE_ERROR, 0, "it has more than %u bytes",
                    LOAD_BYTES_MAX);
    } else {
        run->trace = sim_trace_parse(text, len, &err);
    }
    if (!run->trace) {
        g_prefix_error(&err, "--load '%s': ", run->options->load);
        return tool_failed(run->command, err);
    }
    return TOOL_OK;
}

/* "epyc-7763-2s/" for tests/hosts/epyc-7763-2s.host; "" for this host. */
static char *host_label(const ToolHost *host)
{
    g_autofree char *name = host->description ?
                            g_path_get_basename(host->description) : NULL;

    if (!name) {
        return g_strdup("");
    }
    if (g_str_has_suffix(name, ".host")) {
        name[strlen(name) - strlen(".host")] = 0;
    }
    return g_strdup_printf("%s/", name);
}

static int simulate(const ToolCommand *command, const Options *options)
{
    Run run = { .command = command, .options = options };
    int status = check_options(command, options);

    if (!status) {
        run.host = tool_read_host(command, &options->host, &status);
    }
    if (!status) {
        status = read_load(&run);
    }
    if (!status) {
        run.label = host_label(&options->host);
        status = run_all(&run);
    }
    g_free(run.label);
    sim_trace_free(run.trace);
    host_topology_unref(run.host);
    return status;
}

int tool_sim(const ToolCommand *command, int argc, char **argv)
{
    Options o = {
        .seeds = 1, .first_seed = 1, .seconds = 10, .warm = 20,
        .load_percent = 100,
        .guard_util = PLACEMENT_GUARD_UTIL_DEFAULT,
        .guard_tasks = PLACEMENT_GUARD_TASKS_DEFAULT,
    };
    g_autofree char *text = description();
    const GOptionEntry entries[] = {
        TOOL_ROOT_ENTRY(&o.host.root), TOOL_HOST_ENTRY(&o.host.description),
        { "case", 'c', 0, G_OPTION_ARG_STRING_ARRAY, &o.cases,
          "Simulate that case (may be repeated; else all)", "NAME[=N]" },
        { "policy", 'p', 0, G_OPTION_ARG_STRING_ARRAY, &o.policies,
          "With that policy (may be repeated; else all)", "NAME" },
        { "load", 0, 0, G_OPTION_ARG_FILENAME, &o.load,
          "Simulate VMs that do what record wrote to FILE", "FILE" },
        { "load-percent", 0, 0, G_OPTION_ARG_INT, &o.load_percent,
          "As many that their vCPUs are N % of the cores (100)", "N" },
        { "seeds", 's', 0, G_OPTION_ARG_INT, &o.seeds,
          "Run each case N times (1)", "N" },
        { "first-seed", 0, 0, G_OPTION_ARG_INT, &o.first_seed,
          "The first seed; the others follow (1)", "N" },
        { "seconds", 't', 0, G_OPTION_ARG_INT, &o.seconds,
          "Measure for N simulated seconds (10)", "N" },
        { "warm", 0, 0, G_OPTION_ARG_INT, &o.warm,
          "After N that are not measured (20)", "N" },
        { "guard-util", 0, 0, G_OPTION_ARG_INT, &o.guard_util,
          "llcsched's guard-util, percent", "N" },
        { "guard-tasks", 0, 0, G_OPTION_ARG_INT, &o.guard_tasks,
          "llcsched's guard-tasks, percent", "N" },
        { NULL }
    };
    int status;

    if (tool_parse_options(command, entries, text, argc, argv, &status)) {
        status = simulate(command, &o);
    }
    tool_host_clear(&o.host);
    g_strfreev(o.cases);
    g_strfreev(o.policies);
    g_free(o.load);
    return status;
}
