/*
 * qemu-llcsched xml: where the domain's XML comes from
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

#include "domain-xml.h"
#include "xml.h"

/* One byte more than is allowed tells that there is more. */
#define READ_MAX (DOMAIN_XML_MAX + 1)

/* All of @fd, or its first READ_MAX bytes. NULL with @err set. */
static GByteArray *read_all(int fd, GError **err)
{
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    uint8_t buffer[65536];

    while (bytes->len < READ_MAX) {
        ssize_t got = read(fd, buffer, MIN(sizeof(buffer),
                                           READ_MAX - bytes->len));

        if (!got) {
            break;
        }
        if (got > 0) {
            g_byte_array_append(bytes, buffer, got);
        } else if (errno != EINTR) {
            g_set_error(err, G_FILE_ERROR, g_file_error_from_errno(errno),
                        "the XML cannot be read: %s", g_strerror(errno));
            return NULL;
        }
    }
    return g_steal_pointer(&bytes);
}

/*
 * What virsh edit would show: the configuration, with the secrets that define
 * would otherwise drop.  virsh says itself what went wrong.
 */
static GByteArray *run_virsh(const char *connect, const char *domain,
                             GError **err)
{
    g_autofree char *uri = connect ? g_strconcat("--connect=", connect, NULL) :
                           g_strdup("--quiet");
    g_autofree char *name = g_strconcat("--domain=", domain, NULL);
    const char *argv[] = {
        "virsh", uri, "dumpxml", "--inactive", "--security-info", name, NULL
    };
    g_autoptr(GByteArray) bytes = NULL;
    GPid pid;
    int fd, status;

    if (!g_spawn_async_with_pipes(NULL, (char **)argv, NULL,
                                  G_SPAWN_SEARCH_PATH |
                                  G_SPAWN_DO_NOT_REAP_CHILD, NULL, NULL, &pid,
                                  NULL, &fd, NULL, err)) {
        g_prefix_error(err, "--domain needs virsh: ");
        return NULL;
    }
    bytes = read_all(fd, err);
    close(fd);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
        /* again */
    }
    if (bytes && bytes->len < READ_MAX && status) {
        g_set_error(err, G_FILE_ERROR, G_FILE_ERROR_FAILED, "virsh could not "
                    "give the XML of domain '%s'", domain);
        return NULL;
    }
    return g_steal_pointer(&bytes);
}

GByteArray *xml_input(const char *connect, const char *domain, GError **err)
{
    return domain ? run_virsh(connect, domain, err) :
           read_all(STDIN_FILENO, err);
}
