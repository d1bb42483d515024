/*
 * What a VM and qemu-llcsched-helper say to each other
 *
 * Each message is one GVariant in normal form and one packet of a UNIX socket
 * of type SOCK_SEQPACKET, in the byte order of the host that both are on.
 * docs/devel/helper.rst tells what each means, and who may send it when.
 *
 * Nothing here does I/O.  Both sides decode by the same functions, which trust
 * nothing: sizes are bounded before anything is looked at, types are fixed by
 * the kind, and numbers are in range or the message is refused as a whole.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef HW_SCHED_HELPER_PROTOCOL_H
#define HW_SCHED_HELPER_PROTOCOL_H

#include "hw/sched/host-topology.h"

/* The version that this code speaks, and the only one. */
#define HELPER_PROTOCOL_VERSION 1

/* Where the helper listens unless told otherwise. */
#define HELPER_SOCKET_PATH "/run/qemu-llcsched-helper.sock"

/*
 * A request: 256 threads with masks of 384 CPUs fit.  An answer: the largest
 * is the topology, with 20 bytes for each of HOST_CPU_MAX CPUs; Linux carries
 * packets of up to 208 KiB unless told otherwise.
 */
#define HELPER_REQUEST_MAX (16 * 1024)
#define HELPER_ANSWER_MAX (192 * 1024)

#define HELPER_THREADS_MAX 256   /* threads named by one request */
#define HELPER_LLCS_MAX 1024     /* LLCs named by one message */
#define HELPER_NONCE_SIZE 16
#define HELPER_TEXT_MAX 400      /* of a refusal, bytes */
#define HELPER_NODES_MAX 128     /* their distances are a square */

/* Loads and claims are told in steps of so much, per mille. */
#define HELPER_LOAD_STEP 50

/* The age of a load that is not known (yet): its numbers mean nothing. */
#define HELPER_AGE_UNKNOWN G_MAXUINT32

/* A VM asks, the helper answers by the kind beside it, or HELPER_REFUSAL. */
typedef enum HelperKind {
    HELPER_JOIN = 1,
    HELPER_THREADS = 2,
    HELPER_AFFINITY = 3,
    HELPER_TOPOLOGY = 4,
    HELPER_LOAD = 5,
    HELPER_CLAIM = 6,
    /* from the helper alone */
    HELPER_HELLO = 128,
    HELPER_WELCOME = 129,
    HELPER_STATUSES = 130,   /* answers THREADS and AFFINITY */
    HELPER_HOST = 132,
    HELPER_LOADS = 133,
    HELPER_CLAIMED = 134,
    HELPER_REFUSAL = 255,
} HelperKind;

/* What became of a request, or of one thread in it. */
typedef enum HelperStatus {
    HELPER_OK,
    HELPER_NOT_YOURS,        /* no thread of the caller's process */
    HELPER_NOTHING_ALLOWED,  /* no CPU of the mask may be used */
    HELPER_CHANGED_HANDS,    /* the thread ended meanwhile */
    HELPER_DENIED,           /* the kernel refuses */
    HELPER_TOO_MANY,         /* threads, or claims beyond the threads */
    HELPER_STALE,            /* others have claimed since the load was told */
    HELPER_UNKNOWN_LLC,      /* no LLC of the host has that first CPU */
    HELPER_UNAVAILABLE,      /* cannot be told here */
    HELPER_BAD_MESSAGE,      /* against the protocol; the connection ends */
    HELPER_STATUS_MAX,
} HelperStatus;

/* A status as a sentence, without a stop or newline. */
const char *helper_status_explain(HelperStatus status);

typedef struct HelperMessage {
    HelperKind kind;
    uint32_t serial;         /* the request's own; an answer repeats it */
    GVariant *body;          /* of the kind's type, in normal form; owned */
} HelperMessage;

void helper_message_clear(HelperMessage *message); /* NULL body is allowed */
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(HelperMessage, helper_message_clear)

/*
 * The packet for a message.  @body (one of those made below; NULL: the kind
 * has none) is consumed if floating.  Returns a new reference.
 */
GBytes *helper_message_encode(HelperKind kind, uint32_t serial, GVariant *body);

/*
 * Take apart a packet of at most @max bytes.  False, @ret_message untouched
 * and @err set on anything that is not a message of version 1 in normal form.
 */
bool helper_message_decode(const void *data, size_t len, size_t max,
                           HelperMessage *ret_message, GError **err);

typedef struct HelperHello {
    uint16_t lowest, highest; /* versions that the helper speaks */
    uint8_t nonce[HELPER_NONCE_SIZE];
    uint32_t rate, burst;    /* units a second, and saved up */
    uint32_t threads;        /* of one process that may be proven */
} HelperHello;

typedef struct HelperJoin {
    uint16_t version;
    uint8_t nonce[HELPER_NONCE_SIZE];
} HelperJoin;

typedef struct HelperThreadMask {
    uint32_t tid;            /* as gettid() tells the caller */
    HostCpuSet mask;         /* not empty */
} HelperThreadMask;

/* One LLC is known by its lowest online CPU. */
typedef struct HelperLlcLoad {
    uint32_t first_cpu;
    uint16_t busy;           /* per mille of its CPUs, in steps */
    uint16_t waiting;        /* likewise, run and wait together */
    uint16_t claimed;        /* likewise, by other VMs */
} HelperLlcLoad;

typedef struct HelperLoads {
    uint64_t view;           /* stands for what others claim; see CLAIM */
    uint32_t age_ms;         /* of busy and waiting, or HELPER_AGE_UNKNOWN */
    GArray *llcs;            /* of HelperLlcLoad, ascending; owned */
} HelperLoads;

typedef struct HelperClaimPart {
    uint32_t first_cpu;
    uint32_t amount;         /* per mille of a CPU, 1 or more */
} HelperClaimPart;

typedef struct HelperClaim {
    uint64_t view;           /* of the load that it was planned by */
    bool force;              /* whatever others claimed since */
    GArray *parts;           /* of HelperClaimPart, ascending; owned */
} HelperClaim;

typedef struct HelperClaimed {
    uint64_t view;
    HelperStatus status;     /* OK, STALE, TOO_MANY or UNKNOWN_LLC */
} HelperClaimed;

/* Bodies: what is made is floating. */
GVariant *helper_hello_body(const HelperHello *hello);
GVariant *helper_join_body(const HelperJoin *join);
GVariant *helper_welcome_body(const HostCpuSet *allowed);
GVariant *helper_threads_body(const GArray *tids);      /* of uint32_t */
GVariant *helper_affinity_body(const GArray *threads);  /* HelperThreadMask */
GVariant *helper_statuses_body(const GArray *statuses); /* of uint8_t */
GVariant *helper_loads_body(const HelperLoads *loads);
GVariant *helper_claim_body(const HelperClaim *claim);
GVariant *helper_claimed_body(const HelperClaimed *claimed);
GVariant *helper_refusal_body(HelperStatus status, const char *text);
/* NULL and @err: too large to be told. */
GVariant *helper_host_body(const HostTopology *host, GError **err);

/*
 * And taken apart: @message must be of the kind that the name says.  False (or
 * NULL) with @err set and the outputs untouched if a number is out of range.
 * The caller owns arrays and texts.
 */
bool helper_hello_parse(const HelperMessage *message, HelperHello *ret_hello,
                        GError **err);
bool helper_join_parse(const HelperMessage *message, HelperJoin *ret_join,
                       GError **err);
bool helper_welcome_parse(const HelperMessage *message,
                          HostCpuSet *ret_allowed, GError **err);
GArray *helper_threads_parse(const HelperMessage *message, GError **err);
GArray *helper_affinity_parse(const HelperMessage *message, GError **err);
GArray *helper_statuses_parse(const HelperMessage *message, GError **err);
bool helper_loads_parse(const HelperMessage *message, HelperLoads *ret_loads,
                        GError **err);
bool helper_claim_parse(const HelperMessage *message, HelperClaim *ret_claim,
                        GError **err);
bool helper_claimed_parse(const HelperMessage *message,
                          HelperClaimed *ret_claimed, GError **err);
char *helper_refusal_parse(const HelperMessage *message,
                           HelperStatus *ret_status, GError **err);
/* A new reference, without notes. */
HostTopology *helper_host_parse(const HelperMessage *message, GError **err);

#define HELPER_PROTOCOL_ERROR helper_protocol_error_quark()
GQuark helper_protocol_error_quark(void);
typedef enum HelperProtocolError {
    HELPER_PROTOCOL_ERROR_MALFORMED,  /* not a message at all */
    HELPER_PROTOCOL_ERROR_VERSION,    /* of another version */
    HELPER_PROTOCOL_ERROR_RANGE,      /* a value out of range */
} HelperProtocolError;

#endif
