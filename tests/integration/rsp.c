/*
 * A debugger that knows four commands of GDB's remote serial protocol
 *
 * A packet is "$DATA#CC", where CC is the sum of DATA's bytes, and is answered
 * by "+".
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "rsp.h"

#include "vm-internal.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

struct Rsp {
    Vm *vm;
    int fd;
};

char *rsp_args(const char *path)
{
    return g_strdup_printf("-chardev socket,id=gdb,path=%s,server=on,wait=off"
                           " -gdb chardev:gdb", path);
}

static void send_bytes(Rsp *rsp, const char *bytes, gsize len)
{
    if (send(rsp->fd, bytes, len, MSG_NOSIGNAL) != (gssize)len) {
        vm_fail(rsp->vm, "QEMU's debugger takes nothing: %s",
                g_strerror(errno));
    }
}

static char read_byte(Rsp *rsp, gint64 deadline, const char *what)
{
    struct pollfd fds = { .fd = rsp->fd, .events = POLLIN };
    char byte;

    while (poll(&fds, 1, MAX(deadline - g_get_monotonic_time(), 0) / 1000)
           < 0 && errno == EINTR) {
        /* again */
    }
    if (!fds.revents) {
        vm_fail(rsp->vm, "waited too long for %s", what);
    }
    if (recv(rsp->fd, &byte, 1, 0) != 1) {
        vm_fail(rsp->vm, "QEMU's debugger ended instead of %s", what);
    }
    return byte;
}

/* The data of the next packet, for the caller to free. */
static char *read_packet(Rsp *rsp, const char *what)
{
    gint64 deadline = vm_deadline();
    GString *data = g_string_new(NULL);
    char byte;

    while (read_byte(rsp, deadline, what) != '$') {
        /* an acknowledgment */
    }
    while ((byte = read_byte(rsp, deadline, what)) != '#') {
        g_string_append_c(data, byte);
    }
    read_byte(rsp, deadline, what);
    read_byte(rsp, deadline, what);
    send_bytes(rsp, "+", 1);
    return g_string_free(data, false);
}

static void send_packet(Rsp *rsp, const char *data)
{
    g_autofree char *packet = NULL;
    guint8 sum = 0;

    for (const char *c = data; *c; c++) {
        sum += *c;
    }
    packet = g_strdup_printf("$%s#%02x", data, sum);
    send_bytes(rsp, packet, strlen(packet));
}

Rsp *rsp_connect(Vm *vm, const char *path)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    Rsp *rsp = g_new0(Rsp, 1);
    g_autofree char *why = NULL;

    g_assert_cmpint(strlen(path), <, sizeof(address.sun_path));
    strcpy(address.sun_path, path);
    rsp->vm = vm;
    rsp->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    g_assert_cmpint(rsp->fd, >=, 0);
    if (connect(rsp->fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
        vm_fail(vm, "%s: %s", path, g_strerror(errno));
    }
    send_packet(rsp, "?");
    why = read_packet(rsp, "why the guest stopped");
    if (*why != 'T') {
        vm_fail(vm, "the guest stopped for \"%s\"", why);
    }
    return rsp;
}

void rsp_free(Rsp *rsp)
{
    if (rsp) {
        close(rsp->fd);
        g_free(rsp);
    }
}

void rsp_interrupt(Rsp *rsp)
{
    g_autofree char *why = NULL;

    send_bytes(rsp, "\x03", 1);
    why = read_packet(rsp, "the guest to stop");
    if (*why != 'T') {
        vm_fail(rsp->vm, "the guest stopped for \"%s\"", why);
    }
}

char *rsp_registers(Rsp *rsp)
{
    send_packet(rsp, "g");
    return read_packet(rsp, "registers");
}

void rsp_continue(Rsp *rsp)
{
    send_packet(rsp, "c");
}

void rsp_detach(Rsp *rsp)
{
    g_autofree char *answer = NULL;

    send_packet(rsp, "D");
    answer = read_packet(rsp, "the debugger to let go");
    g_assert_cmpstr(answer, ==, "OK");
}
