/*
 * llcsched in a libvirt domain's XML: put it in, take it out
 *
 * What is ours is known by its content, since libvirt drops comments: objects
 * by their id, the sandbox by its text.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <string.h>

#include "domain-args.h"
#include "domain-edit.h"
#include "domain-emulator.h"
#include "domain-llcsched.h"

#define SANDBOX_CAPABILITY "seccomp-sandbox"

static bool is_object(const DomainArg *arg, const char *type)
{
    return !g_strcmp0(arg->type, type);
}

static bool is_ours(const DomainArg *arg, const char *id)
{
    g_autofree char *group = g_strconcat(id, DOMAIN_LLCSCHED_GROUP_SUFFIX,
                                         NULL);

    return (is_object(arg, "llcsched") && !g_strcmp0(arg->id, id)) ||
           (is_object(arg, "llcsched-group") && !g_strcmp0(arg->id, group));
}

static bool is_our_sandbox(const DomainArg *arg)
{
    return arg->is_sandbox && !strcmp(arg->text, DOMAIN_LLCSCHED_SANDBOX);
}

/* The first -object of @type that is not ours, or NULL. */
static const DomainArg *find_foreign(const GArray *args, const char *type,
                                     const char *id)
{
    for (guint i = 0; i < args->len; i++) {
        const DomainArg *arg = &g_array_index(args, DomainArg, i);

        if (is_object(arg, type) && !is_ours(arg, id)) {
            return arg;
        }
    }
    return NULL;
}

static xmlNode *find_capability(const DomainXml *xml)
{
    xmlNode *list = NULL;

    while ((list = domain_xml_qemu_child(xml->root, "capabilities", list))) {
        xmlNode *del = NULL;

        while ((del = domain_xml_qemu_child(list, "del", del))) {
            g_autofree char *name = domain_xml_attribute(del, "capability");

            if (!g_strcmp0(name, SANDBOX_CAPABILITY)) {
                return del;
            }
        }
    }
    return NULL;
}

/*
 * The last <qemu:@name>, whose arguments come last as well.  Empty ones do not
 * count: they would go with what is put into them.
 */
static xmlNode *last_of(const DomainXml *xml, const DomainEdit *edit,
                        const char *name)
{
    xmlNode *last = NULL, *node = NULL;

    while ((node = domain_xml_qemu_child(xml->root, name, node))) {
        last = domain_edit_is_bare(edit, node) ? last : node;
    }
    return last;
}

/* Make room for a <qemu:@name> that is not empty. */
static void remove_empty(const DomainXml *xml, DomainEdit *edit,
                         const char *name)
{
    xmlNode *node = NULL;

    while ((node = domain_xml_qemu_child(xml->root, name, node))) {
        domain_edit_remove_bare(edit, node);
    }
}

/* Take out what is ours of the arguments. True: something was. */
static bool remove_args(const DomainXml *xml, DomainEdit *edit,
                        const GArray *args, const char *id)
{
    bool found = false, sandbox = false;
    xmlNode *capability;

    for (guint i = 0; i < args->len; i++) {
        const DomainArg *arg = &g_array_index(args, DomainArg, i);

        if (is_ours(arg, id) || is_our_sandbox(arg)) {
            domain_edit_remove(edit, arg->name);
            domain_edit_remove(edit, arg->value);
            found = true;
            sandbox |= arg->is_sandbox;
        }
    }
    capability = sandbox ? find_capability(xml) : NULL;
    if (capability) {
        domain_edit_remove(edit, capability);
        domain_edit_remove_bare(edit, capability->parent);
    }
    if (found) {
        remove_empty(xml, edit, "commandline");
    }
    return found;
}

/* The text without what is ours. */
static char *without(const DomainXml *xml, const GArray *args, const char *id,
                     bool *ret_found)
{
    g_autoptr(DomainEdit) edit = domain_edit_new(xml);

    *ret_found = remove_args(xml, edit, args, id);
    domain_emulator_restore(xml, edit);
    return domain_edit_apply(edit);
}

char *domain_llcsched_remove(const DomainXml *xml, const char *id,
                             GError **err)
{
    g_autoptr(GArray) args = domain_args_read(xml);
    const DomainArg *other = find_foreign(args, "llcsched", id);
    const DomainArg *group = find_foreign(args, "llcsched-group", id);
    g_autoptr(DomainXml) result = NULL;
    g_autofree char *text = NULL;
    bool found;

    text = without(xml, args, id, &found);
    if (!found && other) {
        domain_xml_fail(err, "the domain has no llcsched object '%s', but one "
                        "with id '%.60s' that this program did not add: name "
                        "it with --id", id, other->id ? other->id : "");
        return NULL;
    }
    if (found && group) {
        domain_xml_fail(err, "the domain has an llcsched-group '%.60s' that "
                        "this program did not add and that needs the llcsched "
                        "object: take it out first, by hand", group->id ?
                        group->id : "");
        return NULL;
    }
    /* The emulator that was kept may not be what was put there. */
    result = domain_xml_parse(text, strlen(text), err);
    if (!result) {
        g_prefix_error(err, "<metadata> has an emulator that cannot be given "
                       "back: ");
        return NULL;
    }
    return g_steal_pointer(&text);
}

static bool check_objects(const GArray *args, const DomainLlcsched *what,
                          GError **err)
{
    const DomainArg *other = find_foreign(args, "llcsched", what->id);
    const DomainArg *group = find_foreign(args, "llcsched-group", what->id);

    if (other) {
        domain_xml_fail(err, "the domain has an llcsched object '%.60s' that "
                        "this program did not add: name it with --id to "
                        "replace it, or change it by hand", other->id ?
                        other->id : "");
        return false;
    }
    if (group && what->group && what->group_last_vcpu < 0) {
        domain_xml_fail(err, "the domain has an llcsched-group '%.60s' that "
                        "this program did not add, and a vCPU can be in one "
                        "group: name those of the new one with --vcpus",
                        group->id ? group->id : "");
        return false;
    }
    return true;
}

/*
 * Whether there is something to do so that masks are allowed: not where the
 * domain has no sandbox, or one of its own that allows them.
 */
static bool check_sandbox(const DomainXml *xml, const GArray *args,
                          bool *ret_needed, GError **err)
{
    bool capability = find_capability(xml);

    *ret_needed = !capability;
    for (guint i = 0; i < args->len; i++) {
        const DomainArg *arg = &g_array_index(args, DomainArg, i);

        if (arg->is_sandbox && (!capability ||
                                strstr(arg->text, "resourcecontrol=deny"))) {
            domain_xml_fail(err, "--allow-affinity: the domain has a -sandbox "
                            "of its own, '%.120s': take it out, or give it "
                            "resourcecontrol=allow and delete libvirt's own by "
                            "<qemu:del capability='" SANDBOX_CAPABILITY "'/>",
                            arg->text);
            return false;
        }
    }
    return true;
}

static void add_arg(GPtrArray *elements, const char *prefix, const char *name,
                    const char *value)
{
    const char *const words[] = { name, value };

    for (int i = 0; i < G_N_ELEMENTS(words); i++) {
        g_autofree char *escaped = domain_edit_escape(words[i]);

        g_ptr_array_add(elements, g_strdup_printf("<%sarg value='%s'/>",
                                                  prefix, escaped));
    }
}

/* "PREFIX:" or "" of a namespace; the caller frees it. */
static char *prefix_of(const xmlNs *ns)
{
    return ns->prefix ? g_strconcat((const char *)ns->prefix, ":", NULL) :
           g_strdup("");
}

/* The namespace of libvirt's QEMU extensions where the domain declares it. */
static const xmlNs *declared(const DomainXml *xml)
{
    return xmlSearchNsByHref(xml->doc, xml->root,
                             BAD_CAST DOMAIN_QEMU_NAMESPACE);
}

/* What goes before the names of elements in <qemu:@name>. */
static char *prefix_in(const DomainXml *xml, const DomainEdit *edit,
                       const char *name)
{
    const xmlNode *list = last_of(xml, edit, name);
    const xmlNs *ns = list ? list->ns : declared(xml);

    return ns ? prefix_of(ns) : g_strdup("qemu:");
}

/*
 * Put elements into <qemu:@name>, which is created if it is not there: with
 * its namespace, where the domain does not declare that.
 */
static void add_to(const DomainXml *xml, DomainEdit *edit, const char *name,
                   GPtrArray *elements)
{
    const xmlNode *list = last_of(xml, edit, name);
    g_autofree char *prefix = prefix_in(xml, edit, name);
    g_autofree char *open = NULL;
    g_autofree char *close = NULL;

    if (list) {
        domain_edit_append(edit, list, domain_edit_elements(elements));
        return;
    }
    remove_empty(xml, edit, name);
    open = g_strdup_printf("<%s%s%s>", prefix, name, declared(xml) ? "" :
                           " xmlns:qemu='" DOMAIN_QEMU_NAMESPACE "'");
    close = g_strdup_printf("</%s%s>", prefix, name);
    domain_edit_append_in(edit, xml->root, open, close,
                          domain_edit_elements(elements));
}

/* The text behind -object of the group; NULL and @err: of other vCPUs. */
static char *group_text(const DomainXml *xml, const DomainLlcsched *what,
                        GError **err)
{
    int vcpus = domain_xml_vcpus(xml, err);
    GString *text;

    if (!vcpus) {
        return NULL;
    }
    if (what->group_last_vcpu >= vcpus) {
        domain_xml_fail(err, "--vcpus names vCPU %d, those of the domain are 0 "
                        "to %d", what->group_last_vcpu, vcpus - 1);
        return NULL;
    }
    text = g_string_new("llcsched-group,id=");
    g_string_append_printf(text, "%s" DOMAIN_LLCSCHED_GROUP_SUFFIX, what->id);
    if (what->group_last_vcpu < 0) {
        g_string_append(text, ",vcpus=0");
        if (vcpus > 1) {
            g_string_append_printf(text, "-%d", vcpus - 1);
        }
    }
    g_string_append(text, what->group);
    return g_string_free(text, FALSE);
}

/* Parents come first: the object before groups that are there. */
static void add_object(const DomainXml *xml, DomainEdit *edit,
                       const DomainArg *group, const DomainLlcsched *what,
                       GPtrArray *last)
{
    g_autoptr(GPtrArray) first = g_ptr_array_new_with_free_func(g_free);
    g_autofree char *prefix = group ? prefix_of(group->name->ns) :
                              prefix_in(xml, edit, "commandline");
    g_autofree char *text = g_strdup_printf("llcsched,id=%s%s", what->id,
                                            what->object);

    add_arg(group ? first : last, prefix, "-object", text);
    if (group) {
        domain_edit_before(edit, group->name, domain_edit_elements(first));
    }
}

static bool add_args(const DomainXml *xml, DomainEdit *edit,
                     const GArray *args, const DomainLlcsched *what,
                     bool sandbox, GError **err)
{
    g_autoptr(GPtrArray) last = g_ptr_array_new_with_free_func(g_free);
    g_autofree char *prefix = prefix_in(xml, edit, "commandline");

    add_object(xml, edit, find_foreign(args, "llcsched-group", what->id), what,
               last);
    if (what->group) {
        g_autofree char *text = group_text(xml, what, err);

        if (!text) {
            return false;
        }
        add_arg(last, prefix, "-object", text);
    }
    if (sandbox) {
        add_arg(last, prefix, "-sandbox", DOMAIN_LLCSCHED_SANDBOX);
    }
    if (last->len) {
        add_to(xml, edit, "commandline", last);
    }
    return true;
}

static void add_capability(const DomainXml *xml, DomainEdit *edit)
{
    g_autoptr(GPtrArray) elements = g_ptr_array_new_with_free_func(g_free);
    g_autofree char *prefix = prefix_in(xml, edit, "capabilities");

    g_ptr_array_add(elements, g_strdup_printf(
        "<%sdel capability='" SANDBOX_CAPABILITY "'/>", prefix));
    add_to(xml, edit, "capabilities", elements);
}

/* @xml has nothing of ours. */
static char *add(const DomainXml *xml, const DomainLlcsched *what,
                 GError **err)
{
    g_autoptr(DomainEdit) edit = domain_edit_new(xml);
    g_autoptr(GArray) args = domain_args_read(xml);
    bool sandbox = false;

    if (!check_objects(args, what, err) ||
        (what->allow_affinity && !check_sandbox(xml, args, &sandbox, err)) ||
        (what->emulator &&
         !domain_emulator_set(xml, edit, what->emulator, err)) ||
        !add_args(xml, edit, args, what, sandbox, err)) {
        return NULL;
    }
    if (sandbox) {
        add_capability(xml, edit);
    }
    return domain_edit_apply(edit);
}

char *domain_llcsched_add(const DomainXml *xml, const DomainLlcsched *what,
                          GError **err)
{
    g_autoptr(GArray) args = domain_args_read(xml);
    g_autoptr(DomainXml) bare = NULL;
    g_autoptr(DomainXml) result = NULL;
    g_autofree char *text = NULL;
    g_autofree char *with = NULL;
    bool found;

    text = without(xml, args, what->id, &found);
    bare = domain_xml_parse(text, strlen(text), err);
    if (!bare) {
        return NULL;
    }
    with = add(bare, what, err);
    /* What leaves here is a domain, whatever this file got wrong. */
    result = with ? domain_xml_parse(with, strlen(with), err) : NULL;
    return result ? g_steal_pointer(&with) : NULL;
}
