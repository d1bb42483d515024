/*
 * What of a domain's XML would suit a host, and why
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <inttypes.h>
#include <string.h>

#include "domain-advice.h"
#include "domain-shape.h"
#include "hw/sched/placement.h"
#include "tool.h"

/* What the domain says now, and what it should say. */
typedef struct Advice {
    const DomainXml *xml;
    const HostTopology *host;
    ShapeHost *usable;
    int vcpus;
    bool x86;
    char *smp;              /* of now, as QEMU would get it */
    uint32_t seed;
    uint64_t memory_kib;    /* 0: not known */
    GuestShape shape;
    Plan *plan;             /* of the shape */
    GString *text;
} Advice;

static void advice_clear(Advice *a)
{
    shape_host_free(a->usable);
    g_free(a->smp);
    placement_plan_free(a->plan);
    g_string_free(a->text, TRUE);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Advice, advice_clear)

static xmlNode *find(const Advice *a, const char *parent, const char *name)
{
    return domain_xml_child(domain_xml_child(a->xml->root, parent, NULL), name,
                            NULL);
}

/* An attribute that is a number; @unset if it is not there or is none. */
static int number(const xmlNode *element, const char *name, int unset)
{
    g_autofree char *text = element ? domain_xml_attribute(element, name) :
                            NULL;
    uint64_t value;

    return text && tool_parse_number(text, 1, 4096, &value) ? (int)value :
           unset;
}

/* libvirt's rule: without <topology> each vCPU is a socket. */
static char *smp_of(const Advice *a)
{
    const xmlNode *topology = find(a, "cpu", "topology");

    return g_strdup_printf("%d,sockets=%d,dies=%d,clusters=%d,cores=%d,"
                           "threads=%d", a->vcpus,
                           number(topology, "sockets", topology ? 1 : a->vcpus),
                           number(topology, "dies", 1),
                           number(topology, "clusters", 1),
                           number(topology, "cores", 1),
                           number(topology, "threads", 1));
}

static uint64_t unit_bytes(const char *unit)
{
    static const struct {
        const char *name;
        uint64_t bytes;
    } units[] = {
        { "b", 1 }, { "bytes", 1 }, { "KB", 1000 }, { "k", 1ull << 10 },
        { "KiB", 1ull << 10 }, { "MB", 1000000 }, { "M", 1ull << 20 },
        { "MiB", 1ull << 20 }, { "GB", 1000000000 }, { "G", 1ull << 30 },
        { "GiB", 1ull << 30 }, { "TB", 1000000000000 }, { "T", 1ull << 40 },
        { "TiB", 1ull << 40 },
    };

    for (int i = 0; i < G_N_ELEMENTS(units); i++) {
        if (!g_ascii_strcasecmp(unit, units[i].name)) {
            return units[i].bytes;
        }
    }
    return 0;
}

static uint64_t memory_kib(const DomainXml *xml)
{
    const xmlNode *memory = domain_xml_child(xml->root, "memory", NULL);
    g_autofree char *unit = memory ? domain_xml_attribute(memory, "unit") :
                            NULL;
    g_autofree char *text = memory ? domain_xml_content(memory) : NULL;
    uint64_t bytes = unit_bytes(unit ? unit : "KiB");
    uint64_t value;

    if (!text || !bytes ||
        !tool_parse_number(text, 1, UINT64_MAX / bytes, &value)) {
        return 0;
    }
    return value * bytes >> 10;
}

static bool is_x86(const DomainXml *xml)
{
    const xmlNode *os = domain_xml_child(xml->root, "os", NULL);
    const xmlNode *type = domain_xml_child(os, "type", NULL);
    g_autofree char *arch = type ? domain_xml_attribute(type, "arch") : NULL;

    return !arch || !strcmp(arch, "x86_64") || !strcmp(arch, "i686");
}

/* The plan for @smp on the host if that is idle; its summary to @ret_line. */
static Plan *plan_of(const Advice *a, const char *smp, char **ret_line,
                     GError **err)
{
    g_autoptr(GuestTopology) guest = guest_topology_from_smp(
        smp, GUEST_CACHE_DIE, err);
    PlacementInput in = {
        .host = a->host,
        .guest = guest,
        .candidates = &a->usable->cpus,
        .guard_util = 100,
        .guard_tasks = 100,
        .seed = a->seed,
    };
    Plan *plan = guest ? placement_plan(&in) : NULL;

    if (plan) {
        *ret_line = placement_summary(&in, plan);
    } else {
        g_prefix_error(err, "the domain's vCPUs and its <topology> do not go "
                       "together: ");
    }
    return plan;
}

static char *shape_smp(const GuestShape *shape)
{
    return g_strdup_printf("%d,sockets=%d,dies=%d,cores=%d,threads=%d",
                           shape->vcpus, shape->sockets, shape->dies,
                           shape->cores, shape->threads);
}

static const char *plural(int count)
{
    return count == 1 ? "" : "s";
}

/* A line of XML, where it belongs, and why. */
static void say(Advice *a, const char *where, const char *line,
                const char *format, ...) G_GNUC_PRINTF(4, 5);

static void say(Advice *a, const char *where, const char *line,
                const char *format, ...)
{
    va_list args;

    g_string_append_printf(a->text, "\nin <%s>: %s\n  ", where, line);
    va_start(args, format);
    g_string_append_vprintf(a->text, format, args);
    va_end(args);
    g_string_append_c(a->text, '\n');
}

static void advise_vcpus(Advice *a)
{
    g_autofree char *line = g_strdup_printf("<vcpu>%d</vcpu>",
                                            a->shape.vcpus);
    int cpus = host_cpuset_count(&a->usable->cpus);

    if (a->shape.vcpus == a->vcpus) {
        say(a, "domain", line, "as it is: they make whole cores, in equal "
            "parts that each fit an LLC");
    } else if (a->vcpus > cpus) {
        say(a, "domain", line, "not %d: the host has %d usable CPU%s, and more "
            "vCPUs than that only wait for each other", a->vcpus, cpus,
            plural(cpus));
    } else if (a->vcpus % a->usable->threads) {
        say(a, "domain", line, "not %d: the host's cores have %d threads, and "
            "part of a core cannot be had alone", a->vcpus,
            a->usable->threads);
    } else {
        say(a, "domain", line, "not %d: those cannot be shared out in equal "
            "parts that each fit an LLC (%d cores at most)", a->vcpus,
            a->usable->largest);
    }
}

/* Whether <topology> says what @shape does. */
static bool has_shape(const Advice *a)
{
    const xmlNode *topology = find(a, "cpu", "topology");
    const GuestShape *shape = &a->shape;

    return topology && a->vcpus == shape->vcpus &&
           number(topology, "sockets", 1) == shape->sockets &&
           number(topology, "dies", 1) == shape->dies &&
           number(topology, "clusters", 1) == 1 &&
           number(topology, "cores", 1) == shape->cores &&
           number(topology, "threads", 1) == shape->threads;
}

static char *why_threads(const Advice *a)
{
    if (a->usable->unequal) {
        return g_strdup("no threads, since the host's cores have unequal "
                        "numbers of them");
    }
    if (a->shape.threads == 1) {
        return g_strdup(a->usable->threads == 1 ?
                        "no threads, since the host's cores have none" :
                        "one thread, since there is one vCPU");
    }
    return g_strdup_printf("%d threads, as the host's cores have",
                           a->shape.threads);
}

static void advise_topology(Advice *a)
{
    const GuestShape *shape = &a->shape;
    int groups = shape->sockets * shape->dies;
    g_autofree char *dies = a->x86 ? g_strdup_printf(" dies='%d'",
                                                     shape->dies) :
                            g_strdup("");
    g_autofree char *line = g_strdup_printf(
        "<topology sockets='%d'%s cores='%d' threads='%d'/>", shape->sockets,
        dies, shape->cores, shape->threads);
    g_autofree char *threads = why_threads(a);
    const char *kept = has_shape(a) ? "as it is: " : "";

    if (groups == 1) {
        say(a, "cpu", line, "%sone group of %d core%s that share an L3, and an "
            "LLC here has %d; %s", kept, shape->cores, plural(shape->cores),
            a->usable->largest, threads);
    } else {
        say(a, "cpu", line, "%s%d cores do not fit an LLC (%d here%s): %d "
            "groups of %d that each share an L3 do; %s", kept,
            shape->cores * groups, a->usable->largest,
            shape->nodes > 1 ? ", and a node is too small" : "", groups,
            shape->cores, threads);
    }
}

static void advise_cache(Advice *a)
{
    const xmlNode *cache = find(a, "cpu", "cache");
    g_autofree char *mode = cache ? domain_xml_attribute(cache, "mode") : NULL;
    g_autofree char *level = cache ? domain_xml_attribute(cache, "level") :
                             NULL;
    bool same = !g_strcmp0(mode, "emulate") && !g_strcmp0(level, "3");

    if (a->x86) {
        say(a, "cpu", "<cache level='3' mode='emulate'/>", "%sthe guest sees "
            "an L3 for each die, which is what llcsched places as one; "
            "passthrough would show the host's own, of another width",
            same ? "as it is: " : "");
    }
}

/* The kernel's number of the node that the plan gives a vCPU; -1: none. */
static int node_of(const Advice *a, int vcpu)
{
    int llc = a->plan->vcpus[vcpu].host_llc;

    return llc < 0 ? -1 : tool_node_id(a->host, a->host->llcs[llc].node);
}

static uint64_t node_kib(const Advice *a, int id)
{
    int node = host_topology_node_by_id(a->host, id);

    return node < 0 ? 0 : a->host->nodes[node].mem_bytes >> 10;
}

/* False: it was said that a node has less memory than it should give. */
static bool memory_fits(Advice *a, int node, uint64_t kib)
{
    uint64_t has = node_kib(a, node);

    if (kib > has) {
        say(a, "domain", "no <numatune>", "%" PRIu64 " MiB of the domain's "
            "memory would be in node %d with its vCPUs, which has %" PRIu64
            " MiB", kib >> 10, node, has >> 10);
    }
    return kib <= has;
}

static void advise_one_node(Advice *a)
{
    const xmlNode *memory = find(a, "numatune", "memory");
    int node = node_of(a, 0);
    g_autofree char *want = g_strdup_printf("%d", node);
    g_autofree char *line = g_strdup_printf("<memory mode='strict' "
                                            "nodeset='%s'/>", want);
    g_autofree char *mode = memory ? domain_xml_attribute(memory, "mode") :
                            NULL;
    g_autofree char *has = memory ? domain_xml_attribute(memory, "nodeset") :
                           NULL;
    bool same = !g_strcmp0(mode, "strict") && !g_strcmp0(has, want);

    if (memory_fits(a, node, a->memory_kib)) {
        say(a, "numatune", line, "%sthe vCPUs fit into one node; with its "
            "memory in node %d llcsched keeps them there (another node does "
            "as well, if it has more free)", same ? "as it is: " : "", node);
    }
}

/* One cell of the guest for each node of the host. */
static void advise_nodes(Advice *a)
{
    int count = a->shape.nodes, vcpus = a->shape.vcpus / count;
    g_autoptr(GString) cells = g_string_new("<numa>");
    g_autoptr(GString) memory = g_string_new(NULL);
    g_autoptr(GString) all = g_string_new(NULL);
    g_autofree char *numatune = NULL;

    for (int i = 0; i < count; i++) {
        const ShapeNode *node = a->usable->nodes->pdata[i];
        uint64_t kib = a->memory_kib / count +
                       (i ? 0 : a->memory_kib % count);

        if (!memory_fits(a, node->id, kib)) {
            return;
        }
        g_string_append_printf(cells, "\n  <cell id='%d' cpus='%d-%d' "
                               "memory='%" PRIu64 "' unit='KiB'/>", i,
                               i * vcpus, (i + 1) * vcpus - 1, kib);
        g_string_append_printf(memory, "\n  <memnode cellid='%d' mode='strict' "
                               "nodeset='%d'/>", i, node->id);
        g_string_append_printf(all, "%s%d", i ? "," : "", node->id);
    }
    g_string_append(cells, "\n</numa>");
    numatune = g_strdup_printf("<numatune>\n  <memory mode='strict' "
                               "nodeset='%s'/>%s\n</numatune>", all->str,
                               memory->str);
    say(a, "cpu", cells->str, "the vCPUs need %d nodes of the host: the guest "
        "is to know which of them share one", count);
    say(a, "domain", numatune, "the memory of each cell is where its vCPUs "
        "are, and llcsched keeps them there");
}

static void advise_numatune(Advice *a)
{
    if (a->usable->nodes->len < 2) {
        say(a, "domain", "no <numatune>", "the host has one node with CPUs");
    } else if (!a->memory_kib) {
        say(a, "domain", "no <numatune>", "the domain does not say how much "
            "memory it has");
    } else if (a->shape.nodes > 1) {
        advise_nodes(a);
    } else {
        advise_one_node(a);
    }
}

static void advise_cputune(Advice *a)
{
    const xmlNode *cputune = domain_xml_child(a->xml->root, "cputune", NULL);

    if (domain_xml_child(cputune, "vcpupin", NULL)) {
        say(a, "cputune", "no <vcpupin>", "a vCPU that is pinned stays there: "
            "llcsched reports it and leaves it alone");
    }
}

static bool advice_read(Advice *a, const DomainXml *xml,
                        const HostTopology *host, GError **err)
{
    const xmlNode *uuid = domain_xml_child(xml->root, "uuid", NULL);
    g_autofree char *id = uuid ? domain_xml_content(uuid) : g_strdup("");

    a->xml = xml;
    a->host = host;
    a->vcpus = domain_xml_vcpus(xml, err);
    a->usable = a->vcpus ? shape_host_new(host, err) : NULL;
    if (!a->usable) {
        return false;
    }
    a->x86 = is_x86(xml);
    a->smp = smp_of(a);
    a->seed = g_uuid_string_is_valid(id) ? tool_uuid_seed(id) : 0;
    a->memory_kib = memory_kib(xml);
    a->shape = shape_nearest(a->usable, a->vcpus, a->x86);
    return true;
}

char *domain_advice(const DomainXml *xml, const HostTopology *host,
                    GError **err)
{
    g_auto(Advice) a = { .text = g_string_new(NULL) };
    g_autoptr(Plan) now = NULL;
    g_autofree char *now_line = NULL;
    g_autofree char *then_line = NULL;
    g_autofree char *smp = NULL;

    if (!advice_read(&a, xml, host, err)) {
        return NULL;
    }
    now = plan_of(&a, a.smp, &now_line, err);
    smp = shape_smp(&a.shape);
    a.plan = now ? plan_of(&a, smp, &then_line, err) : NULL;
    if (!a.plan) {
        return NULL;
    }
    g_string_append_printf(a.text, "now:        %s\nas advised: %s\n",
                           now_line, then_line);
    advise_vcpus(&a);
    advise_topology(&a);
    advise_cache(&a);
    advise_numatune(&a);
    advise_cputune(&a);
    return g_strdup(a.text->str);
}
