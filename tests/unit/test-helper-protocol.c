/*
 * Tests that the helper's messages survive the wire, and nothing else does
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <string.h>
#include "../fuzz/fuzz.h"
#include "hw/sched/helper-protocol.h"
#include "hw/sched/host-description.h"

#define CASES (g_test_thorough() ? 200000 : 2000)

typedef GBytes *MakeMessage(GRand *rand);

static HostCpuSet random_mask(GRand *rand, int n_cpus)
{
    HostCpuSet mask = { };
    int n = g_rand_int_range(rand, 1, 20);

    for (int i = 0; i < n; i++) {
        host_cpuset_add(&mask, g_rand_int_range(rand, 0, n_cpus));
    }
    return mask;
}

static void fill(GRand *rand, uint8_t *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        bytes[i] = g_rand_int(rand);
    }
}

static GBytes *make_hello(GRand *rand)
{
    HelperHello hello = {
        .lowest = 1, .highest = g_rand_int_range(rand, 1, 100),
        .rate = g_rand_int(rand), .burst = g_rand_int(rand),
        .threads = g_rand_int(rand),
    };

    fill(rand, hello.nonce, sizeof(hello.nonce));
    return helper_message_encode(HELPER_HELLO, 0, helper_hello_body(&hello));
}

static GBytes *make_join(GRand *rand)
{
    HelperJoin join = { .version = 1 };

    fill(rand, join.nonce, sizeof(join.nonce));
    return helper_message_encode(HELPER_JOIN, g_rand_int(rand),
                                 helper_join_body(&join));
}

static GBytes *make_threads(GRand *rand)
{
    g_autoptr(GArray) tids = g_array_new(FALSE, FALSE, sizeof(uint32_t));
    int n = g_rand_int_range(rand, 1, HELPER_THREADS_MAX + 1);

    for (int i = 0; i < n; i++) {
        uint32_t tid = g_rand_int_range(rand, 1, G_MAXINT32);

        g_array_append_val(tids, tid);
    }
    return helper_message_encode(HELPER_THREADS, g_rand_int(rand),
                                 helper_threads_body(tids));
}

static GBytes *make_affinity(GRand *rand)
{
    g_autoptr(GArray) threads = g_array_new(FALSE, FALSE,
                                            sizeof(HelperThreadMask));
    int n = g_rand_int_range(rand, 1, 15);

    for (int i = 0; i < n; i++) {
        HelperThreadMask thread = {
            .tid = g_rand_int_range(rand, 1, G_MAXINT32),
            .mask = random_mask(rand, HOST_CPU_MAX),
        };

        g_array_append_val(threads, thread);
    }
    return helper_message_encode(HELPER_AFFINITY, g_rand_int(rand),
                                 helper_affinity_body(threads));
}

static GBytes *make_claim(GRand *rand)
{
    g_autoptr(GArray) parts = g_array_new(FALSE, FALSE,
                                          sizeof(HelperClaimPart));
    HelperClaim claim = {
        .view = g_rand_int(rand), .force = g_rand_boolean(rand),
        .parts = parts,
    };
    int n = g_rand_int_range(rand, 0, 50);

    for (int i = 0; i < n; i++) {
        HelperClaimPart part = { i * 8, g_rand_int_range(rand, 1, 64000) };

        g_array_append_val(parts, part);
    }
    return helper_message_encode(HELPER_CLAIM, g_rand_int(rand),
                                 helper_claim_body(&claim));
}

static GBytes *make_loads(GRand *rand)
{
    g_autoptr(GArray) llcs = g_array_new(FALSE, FALSE, sizeof(HelperLlcLoad));
    HelperLoads loads = { g_rand_int(rand), g_rand_int(rand), llcs };
    int n = g_rand_int_range(rand, 0, 50);

    for (int i = 0; i < n; i++) {
        HelperLlcLoad llc = {
            i * 8, g_rand_int_range(rand, 0, 21) * HELPER_LOAD_STEP,
            g_rand_int_range(rand, 0, 1000) * HELPER_LOAD_STEP,
            g_rand_int_range(rand, 0, 1000) * HELPER_LOAD_STEP,
        };

        g_array_append_val(llcs, llc);
    }
    return helper_message_encode(HELPER_LOADS, g_rand_int(rand),
                                 helper_loads_body(&loads));
}

static GBytes *make_statuses(GRand *rand)
{
    g_autoptr(GArray) statuses = g_array_new(FALSE, FALSE, 1);
    int n = g_rand_int_range(rand, 1, HELPER_THREADS_MAX + 1);

    for (int i = 0; i < n; i++) {
        uint8_t status = g_rand_int_range(rand, 0, HELPER_STATUS_MAX);

        g_array_append_val(statuses, status);
    }
    return helper_message_encode(HELPER_STATUSES, g_rand_int(rand),
                                 helper_statuses_body(statuses));
}

static GBytes *make_welcome(GRand *rand)
{
    HostCpuSet mask = random_mask(rand, HOST_CPU_MAX);

    return helper_message_encode(HELPER_WELCOME, g_rand_int(rand),
                                 helper_welcome_body(&mask));
}

static GBytes *make_host(GRand *rand)
{
    HostCpuSet online = random_mask(rand, 64);
    g_autoptr(HostTopology) host = host_topology_new_flat(&online, "a note");

    return helper_message_encode(HELPER_HOST, g_rand_int(rand),
                                 helper_host_body(host, NULL));
}

static GBytes *make_claimed(GRand *rand)
{
    HelperClaimed claimed = {
        g_rand_int(rand), g_rand_int_range(rand, 0, HELPER_STATUS_MAX),
    };

    return helper_message_encode(HELPER_CLAIMED, g_rand_int(rand),
                                 helper_claimed_body(&claimed));
}

static GBytes *make_refusal(GRand *rand)
{
    return helper_message_encode(HELPER_REFUSAL, g_rand_int(rand),
                                 helper_refusal_body(HELPER_NOT_YOURS,
                                                     "not yours"));
}

static MakeMessage *const makers[] = {
    make_hello, make_join, make_threads, make_affinity, make_claim,
    make_loads, make_statuses, make_welcome, make_host, make_claimed,
    make_refusal,
};

static void feed(const void *data, gsize len)
{
    LLVMFuzzerTestOneInput(data, len);
}

static GRand *seeded(void)
{
    uint32_t seed = g_test_rand_int();

    g_test_message("seed %u", seed);
    return g_rand_new_with_seed(seed);
}

static bool parses(const HelperMessage *message, GError **err)
{
    g_autoptr(GArray) array = NULL;
    HelperClaim claim = { };
    HelperJoin join;

    switch (message->kind) {
    case HELPER_JOIN:
        return helper_join_parse(message, &join, err);
    case HELPER_THREADS:
        array = helper_threads_parse(message, err);
        return array;
    case HELPER_AFFINITY:
        array = helper_affinity_parse(message, err);
        return array;
    default:
        if (helper_claim_parse(message, &claim, err)) {
            array = claim.parts;
        }
        return array;
    }
}

static bool decodes(GBytes *packet)
{
    g_auto(HelperMessage) message = { };
    gsize len;
    const void *data = g_bytes_get_data(packet, &len);

    return helper_message_decode(data, len, HELPER_ANSWER_MAX, &message, NULL);
}

static void test_round_trip(void)
{
    GRand *rand = seeded();

    for (int i = 0; i < CASES; i++) {
        g_autoptr(GBytes) packet = makers[i % G_N_ELEMENTS(makers)](rand);
        gsize len;
        const void *data = g_bytes_get_data(packet, &len);

        g_assert_true(decodes(packet));
        feed(data, len);
    }
    g_rand_free(rand);
}

static void test_mask_survives(void)
{
    GRand *rand = seeded();

    for (int i = 0; i < CASES / 10; i++) {
        g_autoptr(GBytes) packet = NULL;
        g_autoptr(GArray) threads = g_array_new(FALSE, FALSE,
                                                sizeof(HelperThreadMask));
        HelperThreadMask thread = { 7, random_mask(rand, HOST_CPU_MAX) };
        g_auto(HelperMessage) message = { };
        g_autoptr(GArray) again = NULL;

        g_array_append_val(threads, thread);
        packet = helper_message_encode(HELPER_AFFINITY, 1,
                                       helper_affinity_body(threads));
        g_assert_true(helper_message_decode(
            g_bytes_get_data(packet, NULL), g_bytes_get_size(packet),
            HELPER_REQUEST_MAX, &message, NULL));
        again = helper_affinity_parse(&message, NULL);
        g_assert_cmpint(again->len, ==, 1);
        g_assert_true(host_cpuset_equal(
            &g_array_index(again, HelperThreadMask, 0).mask, &thread.mask));
    }
    g_rand_free(rand);
}

/* One changed byte, one cut, one that is longer: whatever comes, no harm. */
static void test_damage_does_no_harm(void)
{
    GRand *rand = seeded();

    for (int i = 0; i < 10 * CASES; i++) {
        g_autoptr(GBytes) packet = makers[i % G_N_ELEMENTS(makers)](rand);
        gsize len = g_bytes_get_size(packet);
        g_autofree uint8_t *bytes = g_malloc0(len + 64);
        int damages = g_rand_int_range(rand, 1, 4);

        memcpy(bytes, g_bytes_get_data(packet, NULL), len);
        for (int j = 0; j < damages; j++) {
            bytes[g_rand_int_range(rand, 0, len)] = g_rand_int(rand);
        }
        feed(bytes, g_rand_boolean(rand) ? len
                                         : g_rand_int_range(rand, 0, len + 64));
    }
    g_rand_free(rand);
}

static void test_every_cut_is_refused(void)
{
    GRand *rand = seeded();

    for (size_t i = 0; i < G_N_ELEMENTS(makers); i++) {
        g_autoptr(GBytes) packet = makers[i](rand);
        gsize len = g_bytes_get_size(packet);

        /* Each cut in memory of its own, so that reading past it shows. */
        for (gsize cut = 0; cut < len; cut += 1 + len / 500) {
            g_autofree uint8_t *part = g_memdup2(
                g_bytes_get_data(packet, NULL), cut);

            feed(part, cut);
        }
    }
    g_rand_free(rand);
}

/* The bytes that a line of hexadecimal stands for. */
static GByteArray *bytes_of(const char *line)
{
    GByteArray *bytes = g_byte_array_new();

    for (; g_ascii_isxdigit(line[0]) && g_ascii_isxdigit(line[1]); line += 2) {
        uint8_t byte = g_ascii_xdigit_value(line[0]) << 4 |
                       g_ascii_xdigit_value(line[1]);

        g_byte_array_append(bytes, &byte, 1);
    }
    g_assert_cmpint(*line, ==, 0);
    return bytes;
}

static void test_corpus_does_no_harm(void)
{
    g_autofree char *path = g_build_filename(
        g_getenv("LLCSCHED_SOURCE_ROOT"), "tests", "fuzz",
        "helper-protocol.corpus", NULL);
    g_autofree char *text = NULL;
    g_auto(GStrv) lines = NULL;
    int n = 0;

    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    lines = g_strsplit(text, "\n", -1);
    for (char **line = lines; *line; line++) {
        if (**line && **line != '#') {
            g_autoptr(GByteArray) bytes = bytes_of(*line);

            feed(bytes->data, bytes->len);
            n++;
        }
    }
    g_assert_cmpint(n, >, 100);
}

static void test_size_is_looked_at_first(void)
{
    g_autofree uint8_t *giant = g_malloc0(HELPER_REQUEST_MAX + 1);
    g_autoptr(GError) err = NULL;
    HelperMessage message = { };

    g_assert_false(helper_message_decode(giant, HELPER_REQUEST_MAX + 1,
                                         HELPER_REQUEST_MAX, &message, &err));
    g_assert_error(err, HELPER_PROTOCOL_ERROR,
                   HELPER_PROTOCOL_ERROR_MALFORMED);
    g_clear_error(&err);
    g_assert_false(helper_message_decode(giant, 0, HELPER_REQUEST_MAX,
                                         &message, &err));
    g_assert_error(err, HELPER_PROTOCOL_ERROR,
                   HELPER_PROTOCOL_ERROR_MALFORMED);
    g_assert_null(message.body);
}

static void test_other_version_says_so(void)
{
    g_autoptr(GVariant) frame = g_variant_ref_sink(
        g_variant_new("(qqu@ay)", 2, HELPER_LOAD, 1,
                      g_variant_new_fixed_array(G_VARIANT_TYPE_BYTE, "", 1,
                                                1)));
    g_autoptr(GError) err = NULL;
    HelperMessage message = { };

    g_assert_false(helper_message_decode(g_variant_get_data(frame),
                                         g_variant_get_size(frame),
                                         HELPER_REQUEST_MAX, &message, &err));
    g_assert_error(err, HELPER_PROTOCOL_ERROR, HELPER_PROTOCOL_ERROR_VERSION);
    g_assert_nonnull(strstr(err->message, "version 2"));
}

static const struct {
    const char *name;
    HelperKind kind;
    const char *body;        /* in GVariant's text format */
    const char *says;        /* NULL: accepted */
} bodies[] = {
    { "thread-0", HELPER_THREADS, "(@au [0],)", "thread id: 0" },
    { "negative-thread", HELPER_THREADS, "(@au [4294967295],)",
      "thread id: 4294967295" },
    { "no-thread", HELPER_THREADS, "(@au [],)", "number of threads: 0" },
    { "thread", HELPER_THREADS, "(@au [1],)", NULL },
    { "empty-mask", HELPER_AFFINITY, "([(uint32 1, @at [])],)",
      "words of a mask: 0" },
    { "mask-with-a-tail", HELPER_AFFINITY,
      "([(uint32 1, @at [1, 0])],)", "last word of a mask" },
    { "mask", HELPER_AFFINITY, "([(uint32 1, @at [0, 1])],)", NULL },
    { "no-masks", HELPER_AFFINITY, "(@a(uat) [],)", "number of threads: 0" },
    { "claim-of-nothing", HELPER_CLAIM, "(uint64 0, false, @a(uu) [])", NULL },
    { "claim-of-zero", HELPER_CLAIM, "(uint64 0, false, @a(uu) [(0, 0)])",
      "claim: 0" },
    { "same-llc-twice", HELPER_CLAIM,
      "(uint64 0, false, @a(uu) [(8, 1), (8, 1)])",
      "first CPU of an LLC: 8" },
    { "llc-beyond-any-host", HELPER_CLAIM,
      "(uint64 0, false, @a(uu) [(8192, 1)])", "first CPU of an LLC: 8192" },
    { "claim-beyond-any-host", HELPER_CLAIM,
      "(uint64 0, false, @a(uu) [(0, 4294967295)])", "claim: 4294967295" },
    { "short-nonce", HELPER_JOIN, "(uint16 1, @ay [1, 2])",
      "length of the nonce: 2" },
    { "joined-by-version-2", HELPER_JOIN, "(uint16 2, @ay [1])",
      "version: 2" },
};

static void test_body(gconstpointer data)
{
    int i = GPOINTER_TO_INT(data);
    g_autoptr(GError) err = NULL;
    GVariant *body = g_variant_parse(NULL, bodies[i].body, NULL, NULL, &err);
    g_autoptr(GBytes) packet = NULL;
    g_auto(HelperMessage) message = { };

    g_assert_no_error(err);
    packet = helper_message_encode(bodies[i].kind, 1, body);
    g_variant_unref(body);
    g_assert_true(helper_message_decode(g_bytes_get_data(packet, NULL),
                                        g_bytes_get_size(packet),
                                        HELPER_REQUEST_MAX, &message, NULL));
    if (!bodies[i].says) {
        g_assert_true(parses(&message, &err));
        return;
    }
    g_assert_false(parses(&message, &err));
    g_assert_error(err, HELPER_PROTOCOL_ERROR, HELPER_PROTOCOL_ERROR_RANGE);
    g_assert_nonnull(strstr(err->message, bodies[i].says));
}

static void check_host(const char *path)
{
    g_autoptr(GError) err = NULL;
    g_autoptr(HostTopology) host = host_description_load_host(path, &err);
    g_autoptr(HostTopology) again = NULL;
    g_autoptr(GBytes) packet = NULL;
    g_auto(HelperMessage) message = { };

    g_assert_no_error(err);
    packet = helper_message_encode(HELPER_HOST, 1,
                                   helper_host_body(host, &err));
    g_assert_true(helper_message_decode(g_bytes_get_data(packet, NULL),
                                        g_bytes_get_size(packet),
                                        HELPER_ANSWER_MAX, &message, &err));
    again = helper_host_parse(&message, &err);
    g_assert_no_error(err);
    g_assert_true(host_topology_equal(host, again));
}

static void test_known_hosts_survive(void)
{
    g_autofree char *folder = g_build_filename(
        g_getenv("LLCSCHED_SOURCE_ROOT"), "tests", "hosts", NULL);
    GDir *dir = g_dir_open(folder, 0, NULL);
    const char *name;
    int n = 0;

    g_assert_nonnull(dir);
    while ((name = g_dir_read_name(dir))) {
        g_autofree char *path = g_build_filename(folder, name, NULL);

        if (g_str_has_suffix(name, ".host")) {
            g_test_message("%s", name);
            check_host(path);
            n++;
        }
    }
    g_dir_close(dir);
    g_assert_cmpint(n, >, 20);
}

static void test_largest_host_fits(void)
{
    HostCpuSet online = { };
    g_autoptr(HostTopology) host = NULL;
    g_autoptr(GBytes) packet = NULL;

    for (int cpu = 0; cpu < HOST_CPU_MAX; cpu++) {
        host_cpuset_add(&online, cpu);
    }
    host = host_topology_new_flat(&online, "");
    packet = helper_message_encode(HELPER_HOST, 1,
                                   helper_host_body(host, NULL));
    g_assert_cmpuint(g_bytes_get_size(packet), <, HELPER_ANSWER_MAX);
}

static void test_statuses_have_sentences(void)
{
    for (int i = 0; i < HELPER_STATUS_MAX; i++) {
        g_assert_nonnull(helper_status_explain(i));
    }
    g_assert_cmpstr(helper_status_explain(HELPER_STATUS_MAX), ==,
                    "an unknown status");
}

static void test_long_refusal_is_cut(void)
{
    g_autofree char *text = g_strnfill(HELPER_TEXT_MAX * 2, 'x');
    g_autoptr(GBytes) packet = helper_message_encode(
        HELPER_REFUSAL, 1, helper_refusal_body(HELPER_DENIED, text));
    g_auto(HelperMessage) message = { };
    g_autofree char *again = NULL;
    HelperStatus status;

    g_assert_true(helper_message_decode(g_bytes_get_data(packet, NULL),
                                        g_bytes_get_size(packet),
                                        HELPER_ANSWER_MAX, &message, NULL));
    again = helper_refusal_parse(&message, &status, NULL);
    g_assert_nonnull(again);
    g_assert_cmpint(status, ==, HELPER_DENIED);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/helper-protocol/what-is-said-is-understood",
                    test_round_trip);
    g_test_add_func("/helper-protocol/a-mask-of-any-cpus-survives",
                    test_mask_survives);
    g_test_add_func("/helper-protocol/damage-does-no-harm",
                    test_damage_does_no_harm);
    g_test_add_func("/helper-protocol/every-cut-does-no-harm",
                    test_every_cut_is_refused);
    g_test_add_func("/helper-protocol/what-the-fuzzer-found-does-no-harm",
                    test_corpus_does_no_harm);
    g_test_add_func("/helper-protocol/size-is-looked-at-first",
                    test_size_is_looked_at_first);
    g_test_add_func("/helper-protocol/another-version-says-so",
                    test_other_version_says_so);
    for (size_t i = 0; i < G_N_ELEMENTS(bodies); i++) {
        g_autofree char *path = g_strdup_printf("/helper-protocol/body/%s",
                                                bodies[i].name);

        g_test_add_data_func(path, GINT_TO_POINTER(i), test_body);
    }
    g_test_add_func("/helper-protocol/known-hosts-survive",
                    test_known_hosts_survive);
    g_test_add_func("/helper-protocol/the-largest-host-fits",
                    test_largest_host_fits);
    g_test_add_func("/helper-protocol/every-status-has-a-sentence",
                    test_statuses_have_sentences);
    g_test_add_func("/helper-protocol/a-long-refusal-is-cut",
                    test_long_refusal_is_cut);
    return g_test_run();
}
