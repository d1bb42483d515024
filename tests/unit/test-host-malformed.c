/*
 * Tests that no tree, however broken, does harm to the topology reader
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "host-tree.h"

/* Everything that the reader looks at is there once. */
static const char small[] =
    "cpus 0-9\n"
    "online 0-7\n"
    "isolated 1\n"
    "nohz-full 2\n"
    "isolated-partition 3\n"
    "package 0 0-3 repeat 2 step 4\n"
    "core 0-1 repeat 4 step 2\n"
    "cache L1d 32K 0-1 repeat 4 step 2\n"
    "cache L1i 32K 0-1 repeat 4 step 2\n"
    "cache L2 1M 0-1 repeat 4 step 2\n"
    "cache L3 8M 0-3 repeat 2 step 4\n"
    "node 0 cpus 0-3 mem 1G\n"
    "node 1 cpus 4-7 mem 1G\n"
    "distance 0 10 20\n"
    "distance 1 20 10\n"
    "capacity 1024 0-3\n"
    "capacity 512 4-7\n"
    "kind performance 0-3\n"
    "kind efficiency 4-6\n"
    "kind low-power 7\n";

/* What lies in a file's place. */
typedef enum Damage {
    ABSENT, DIRECTORY, FIFO, LOOP, IO_ERROR, TEN_MB_LINE, TRUNCATED, BYTES,
} Damage;

static const struct {
    const char *name;
    Damage damage;
    const char *bytes;
    int len;                 /* -1: a string */
    bool unreadable;         /* there is no way to make sense of it */
} damages[] = {
    { "absent", ABSENT, .unreadable = true },
    { "directory", DIRECTORY, .unreadable = true },
    { "fifo", FIFO, .unreadable = true },
    { "symlink-loop", LOOP, .unreadable = true },
    { "io-error", IO_ERROR, .unreadable = true },
    { "10-mb-line", TEN_MB_LINE, .unreadable = true },
    { "truncated", TRUNCATED },
    { "empty", BYTES, "", 0 },
    { "blank", BYTES, "\n", -1 },
    { "garbage", BYTES, "\x80\xff\x1b[2J%s%n\n", -1, true },
    { "words", BYTES, "fish chips\n", -1, true },
    { "nul-inside", BYTES, "0\0001\n", 4, true },
    { "nul-only", BYTES, "\0\0\0\0", 4 },
    { "huge-number", BYTES, "99999999999999999999999\n", -1, true },
    { "int64-edge", BYTES, "9223372036854775808\n", -1, true },
    { "int32-edge", BYTES, "2147483648\n", -1 },
    { "negative", BYTES, "-5\n", -1, true },
    { "backwards", BYTES, "7-0\n", -1, true },
    { "beyond-the-last", BYTES, "0-8192\n", -1, true },
    { "everything", BYTES, "0-8191\n", -1 },
    { "no-cpu-of-ours", BYTES, "4000\n", -1 },
    { "zero", BYTES, "0\n", -1 },
    { "null", BYTES, "(null)\n", -1, true },
    { "no-newline", BYTES, "3", -1 },
};

static char *big_file;

static void make_big_file(const char *dir)
{
    GString *text = g_string_sized_new(10 << 20);

    big_file = g_build_filename(dir, "big", NULL);
    while (text->len < 10 << 20) {
        g_string_append(text, "0,1,2,3,");
    }
    g_string_append(text, "4\n");
    g_assert_true(g_file_set_contents(big_file, text->str, text->len, NULL));
    g_string_free(text, TRUE);
}

static void damage_file(const char *path, int i)
{
    g_autofree char *old = NULL;
    gsize len = 0;

    g_assert_true(g_file_get_contents(path, &old, &len, NULL));
    g_assert_cmpint(g_remove(path), ==, 0);
    switch (damages[i].damage) {
    case ABSENT:
        break;
    case DIRECTORY:
        g_assert_cmpint(g_mkdir(path, 0755), ==, 0);
        break;
    case FIFO:
        g_assert_cmpint(mkfifo(path, 0644), ==, 0);
        break;
    case LOOP:
        g_assert_cmpint(symlink(path, path), ==, 0);
        break;
    case IO_ERROR:
        /* Nothing is mapped at its start: read() gives EIO. */
        g_assert_cmpint(symlink("/proc/self/mem", path), ==, 0);
        break;
    case TEN_MB_LINE:
        g_assert_cmpint(symlink(big_file, path), ==, 0);
        break;
    case TRUNCATED:
        g_assert_true(g_file_set_contents(path, old, len / 2, NULL));
        break;
    case BYTES:
        len = damages[i].len < 0 ? strlen(damages[i].bytes) : damages[i].len;
        g_assert_true(g_file_set_contents(path, damages[i].bytes, len, NULL));
        break;
    }
}

/* A reason or a sound picture, and the same one each time. */
static void check_tree(const char *dir)
{
    GError *err = NULL, *err2 = NULL;
    g_autoptr(HostTopology) host = host_topology_read(dir, &err);
    g_autoptr(HostTopology) again = host_topology_read(dir, &err2);

    if (!host) {
        g_assert_nonnull(err);
        g_assert_null(again);
        g_assert_cmpstr(err->message, ==, err2->message);
        g_error_free(err);
        g_error_free(err2);
        return;
    }
    host_tree_assert_sound(host);
    g_assert_nonnull(again);
    g_assert_true(host_topology_equal(host, again));
    g_assert_cmpint(host->notes->len, ==, again->notes->len);
    g_assert_cmpint(host->notes->len, <=, 64);
    for (guint i = 0; i < host->notes->len; i++) {
        g_assert_cmpstr(g_ptr_array_index(host->notes, i), ==,
                        g_ptr_array_index(again->notes, i));
    }
}

/* Others' files are like those of CPU 0 and CPU 5 and node 1. */
static bool is_of_interest(const char *file)
{
    return !strstr(file, "/cpu/cpu") || strstr(file, "/cpu/cpu0/") ||
           strstr(file, "/cpu/cpu5/");
}

static void restore(const char *path, const char *text, gsize len)
{
    if (g_file_test(path, G_FILE_TEST_IS_DIR) &&
        !g_file_test(path, G_FILE_TEST_IS_SYMLINK)) {
        g_rmdir(path);
    } else {
        g_remove(path);
    }
    g_assert_true(g_file_set_contents(path, text, len, NULL));
}

static void test_each_file_damaged(const void *data)
{
    int i = GPOINTER_TO_INT(data);
    char *dir = host_tree_build(small);
    g_autoptr(GPtrArray) files = host_tree_files(dir);
    int n = 0;

    for (guint f = 0; f < files->len; f++) {
        const char *file = g_ptr_array_index(files, f);
        g_autofree char *path = g_build_filename(dir, file, NULL);
        g_autofree char *text = NULL;
        gsize len;

        if (!is_of_interest(file)) {
            continue;
        }
        g_test_message("%s: %s", damages[i].name, file);
        g_assert_true(g_file_get_contents(path, &text, &len, NULL));
        damage_file(path, i);
        check_tree(dir);
        restore(path, text, len);
        n++;
    }
    g_assert_cmpint(n, >, 50);
    host_tree_free(dir);
}

/* Where a mask says the same, or another CPU does, nothing is lost. */
static void test_one_lost_file_loses_nothing(void)
{
    static const char *const lost[] = {
        "cpu/possible", "cpu/online",
        "cpu/cpu0/topology/thread_siblings_list",
        "cpu/cpu5/cache/index3/shared_cpu_list",
        "cpu/cpu5/cache/index3/level", "cpu/cpu5/cache/index3/type",
        "cpu/cpu0/cache/index3/level", "cpu/cpu0/cache/index3/size",
        "node/online", "node/has_memory", "node/node1/cpulist",
    };
    g_autoptr(HostTopology) before = host_tree_topology(small);

    for (size_t f = 0; f < G_N_ELEMENTS(lost); f++) {
        for (size_t i = 0; i < G_N_ELEMENTS(damages); i++) {
            char *dir = damages[i].unreadable ? host_tree_build(small) : NULL;
            g_autofree char *path = NULL;
            g_autoptr(HostTopology) after = NULL;

            if (!dir) {
                continue;
            }
            path = g_build_filename(dir, "sys/devices/system", lost[f], NULL);
            g_test_message("%s: %s", damages[i].name, lost[f]);
            damage_file(path, i);
            after = host_tree_read(dir);
            host_tree_assert_sound(after);
            /* The size is one CPU's word, told by the first that can. */
            g_assert_true(host_topology_equal(before, after));
            host_tree_free(dir);
        }
    }
}

static void swap_bytes(GRand *rand, char *text, gsize len)
{
    static const char bytes[] = "0123456789-,:/\n\0 KMGabcxyz";

    for (int n = g_rand_int_range(rand, 1, 4); len && n > 0; n--) {
        text[g_rand_int_range(rand, 0, len)] =
            bytes[g_rand_int_range(rand, 0, sizeof(bytes))];
    }
}

/* One random change to one file of the tree. */
static void mutate(GRand *rand, const char *dir, GPtrArray *files,
                   const char *path)
{
    g_autofree char *text = NULL;
    g_autofree char *other = NULL;
    g_autofree char *from = NULL;
    gsize len, other_len;

    g_assert_true(g_file_get_contents(path, &text, &len, NULL));
    switch (g_rand_int_range(rand, 0, 4)) {
    case 0:
        swap_bytes(rand, text, len);
        g_assert_true(g_file_set_contents(path, text, len, NULL));
        break;
    case 1:
        from = g_build_filename(dir, g_ptr_array_index(files,
                                g_rand_int_range(rand, 0, files->len)), NULL);
        if (g_file_get_contents(from, &other, &other_len, NULL)) {
            g_assert_true(g_file_set_contents(path, other, other_len, NULL));
        }
        break;
    case 2:
        g_free(text);
        text = g_strdup_printf("%d-%d\n", g_rand_int_range(rand, 0, 12),
                               g_rand_int_range(rand, 0, 12));
        g_assert_true(g_file_set_contents(path, text, -1, NULL));
        break;
    default:
        damage_file(path, g_rand_int_range(rand, 0, G_N_ELEMENTS(damages)));
        break;
    }
}

typedef struct Change {
    char *path, *text;
    gsize len;
} Change;

static void one_round(unsigned seed, const char *dir, GPtrArray *files)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(seed);
    int n = g_rand_int_range(rand, 1, 12);
    g_autofree Change *changes = g_new0(Change, n);

    for (int i = 0; i < n; i++) {
        const char *file = g_ptr_array_index(
            files, g_rand_int_range(rand, 0, files->len));
        g_autofree char *path = g_build_filename(dir, file, NULL);
        bool again = false;

        for (int j = 0; j < i; j++) {
            again |= changes[j].path && !strcmp(changes[j].path, path);
        }
        if (!again) {
            g_assert_true(g_file_get_contents(path, &changes[i].text,
                                              &changes[i].len, NULL));
            mutate(rand, dir, files, path);
            changes[i].path = g_steal_pointer(&path);
        }
    }
    check_tree(dir);
    for (int i = 0; i < n; i++) {
        if (changes[i].path) {
            restore(changes[i].path, changes[i].text, changes[i].len);
        }
        g_free(changes[i].path);
        g_free(changes[i].text);
    }
}

static void test_random_mutations(void)
{
    unsigned rounds = g_test_slow() ? 30000 : 3000;
    char *dir = host_tree_build(small);
    g_autoptr(GPtrArray) files = host_tree_files(dir);

    for (unsigned seed = 1; seed <= rounds; seed++) {
        /* The last one printed is the one that failed. */
        if (g_test_verbose()) {
            g_test_message("seed %u", seed);
        }
        one_round(seed, dir, files);
    }
    host_tree_free(dir);
}

/* As another user, since root is never denied. */
static bool become_nobody(void)
{
    return geteuid() || (!setresgid(65534, 65534, 65534) &&
                         !setresuid(65534, 65534, 65534));
}

static void deny(const char *dir, const char *path)
{
    g_autofree char *full = g_build_filename(dir, "sys/devices/system", path,
                                             NULL);

    g_assert_cmpint(g_chmod(full, 0), ==, 0);
}

static void denied_child(void)
{
    char *dir = host_tree_build(small);
    g_autoptr(HostTopology) before = host_tree_read(dir), after = NULL;
    GError *err = NULL;

    deny(dir, "cpu/online");
    deny(dir, "cpu/possible");
    deny(dir, "cpu/isolated");
    deny(dir, "cpu/cpu0/cache");
    deny(dir, "cpu/cpu0/topology");
    host_tree_remove(dir, "cpu/cpu5/cache");
    host_tree_remove(dir, "cpu/nohz_full");
    after = host_tree_read(dir);
    g_assert_cmpint(after->n_llcs, ==, before->n_llcs);
    g_assert_cmpint(after->n_cores, ==, before->n_cores);
    g_assert_true(host_tree_has_note(after, "cpu/online: Permission denied"));
    g_assert_true(host_tree_has_note(after, "isolated: Permission denied"));
    g_assert_true(host_tree_has_note(after, "cpu0/cache: Permission denied"));
    g_assert_true(host_tree_has_note(after, "cpu5/cache: No such file"));
    g_assert_false(host_tree_has_note(after, "nohz_full"));

    deny(dir, "cpu");
    g_assert_null(host_topology_read(dir, &err));
    g_assert_error(err, HOST_TOPOLOGY_ERROR, HOST_TOPOLOGY_ERROR_DENIED);
    g_clear_error(&err);
    host_tree_free(dir);
}

static void test_denied_is_told_apart_from_absent(void)
{
    if (g_test_subprocess()) {
        g_assert_true(become_nobody());
        denied_child();
        return;
    }
    g_test_trap_subprocess(NULL, 0, G_TEST_SUBPROCESS_DEFAULT);
    g_test_trap_assert_passed();
}

/* What AppArmor's profile for libvirt's guests leaves: the CPU lists, nodes. */
static void denied_everywhere_child(void)
{
    char *dir = host_tree_build(small);
    g_autoptr(HostTopology) host = NULL;

    for (int cpu = 0; cpu < 8; cpu++) {
        g_autofree char *cache = g_strdup_printf("cpu/cpu%d/cache", cpu);
        g_autofree char *core = g_strdup_printf("cpu/cpu%d/topology", cpu);

        deny(dir, cache);
        deny(dir, core);
    }
    host = host_tree_read(dir);
    host_tree_assert_sound(host);
    g_assert_cmpint(host->n_cores, ==, 8);
    g_assert_cmpint(host->n_llcs, ==, 2);
    g_assert_cmpint(host->llcs[0].level, ==, 0);
    host_tree_assert_cpus(&host->llcs[1].cpus, "4-7");
    g_assert_true(host_tree_has_note(host, "cpu0/cache: Permission denied "
                                     "(and 7 more like it)"));
    g_assert_true(host_tree_has_note(host, "its node is taken"));
    host_tree_free(dir);
}

static void test_denied_everywhere_leaves_the_nodes(void)
{
    if (g_test_subprocess()) {
        g_assert_true(become_nobody());
        denied_everywhere_child();
        return;
    }
    g_test_trap_subprocess(NULL, 0, G_TEST_SUBPROCESS_DEFAULT);
    g_test_trap_assert_passed();
}

static void test_file_in_a_folders_place(void)
{
    static const char *const folders[] = {
        "cpu/cpu0", "cpu/cpu0/cache", "cpu/cpu0/topology",
        "cpu/cpu5/cache/index3", "node/node0", "node", "cpu",
    };
    GError *err = NULL;

    for (size_t i = 0; i < G_N_ELEMENTS(folders); i++) {
        char *dir = host_tree_build(small);
        g_autoptr(HostTopology) host = NULL;

        g_test_message("%s", folders[i]);
        host_tree_remove(dir, folders[i]);
        host_tree_put(dir, folders[i], "0-7\n", -1);
        check_tree(dir);
        host = host_topology_read(dir, &err);
        if (!strcmp(folders[i], "cpu")) {
            g_assert_error(err, HOST_TOPOLOGY_ERROR,
                           HOST_TOPOLOGY_ERROR_MISSING);
            g_clear_error(&err);
        } else {
            g_assert_true(host_tree_has_note(host, "Not a directory"));
            g_assert_cmpint(host->n_llcs, ==, 2);
        }
        host_tree_free(dir);
    }
}

static void test_notes_are_bounded(void)
{
    char *dir = host_tree_build(small);
    g_autoptr(HostTopology) host = NULL;

    for (int cpu = 0; cpu < 8; cpu++) {
        g_autofree char *path = g_strdup_printf("cpu/cpu%d", cpu);

        host_tree_remove(dir, path);
    }
    host = host_tree_read(dir);
    host_tree_assert_sound(host);
    g_assert_cmpint(host->notes->len, <, 5);
    g_assert_true(host_tree_has_note(host, "(and 7 more like it)"));
    host_tree_free(dir);
}

int main(int argc, char **argv)
{
    char *dir;
    int result;

    g_test_init(&argc, &argv, NULL);
    dir = host_tree_new();
    make_big_file(dir);
    for (size_t i = 0; i < G_N_ELEMENTS(damages); i++) {
        g_autofree char *path =
            g_strconcat("/malformed/each-file-is-harmless-when/",
                        damages[i].name, NULL);

        g_test_add_data_func(path, GINT_TO_POINTER(i),
                             test_each_file_damaged);
    }
    g_test_add_func("/malformed/one-lost-file-loses-nothing",
                    test_one_lost_file_loses_nothing);
    g_test_add_func("/malformed/random-mutations-are-harmless",
                    test_random_mutations);
    g_test_add_func("/malformed/denied-is-told-apart-from-absent",
                    test_denied_is_told_apart_from_absent);
    g_test_add_func("/malformed/denied-everywhere-leaves-the-nodes",
                    test_denied_everywhere_leaves_the_nodes);
    g_test_add_func("/malformed/file-in-a-folders-place-is-harmless",
                    test_file_in_a_folders_place);
    g_test_add_func("/malformed/notes-are-bounded", test_notes_are_bounded);
    result = g_test_run();
    g_free(big_file);
    host_tree_free(dir);
    return result;
}
