/*
 * A request/response load, for a Linux guest: one asks, the other answers
 *
 *   request-response N    N exchanges of 64 bytes over a socket pair; prints
 *                         how many a second
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MESSAGE_BYTES 64
#define EXCHANGES_MAX 100000000

static double now_seconds(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec + ts.tv_nsec / 1e9;
}

/* False at the end of the stream, or if it fails. */
static bool receive(int fd, char *message)
{
    return recv(fd, message, MESSAGE_BYTES, MSG_WAITALL) == MESSAGE_BYTES;
}

static bool answer(int fd, const char *message)
{
    return send(fd, message, MESSAGE_BYTES, MSG_NOSIGNAL) == MESSAGE_BYTES;
}

static int serve(int fd)
{
    char message[MESSAGE_BYTES];

    while (receive(fd, message) && answer(fd, message)) {
        /* the next one */
    }
    return 0;
}

static bool ask(int fd, long exchanges)
{
    char message[MESSAGE_BYTES];

    memset(message, 'x', sizeof(message));
    for (long i = 0; i < exchanges; i++) {
        if (!answer(fd, message) || !receive(fd, message)) {
            return false;
        }
    }
    return true;
}

int main(int argc, char **argv)
{
    long exchanges = argc == 2 ? atol(argv[1]) : 0;
    int fds[2], status;
    double start;
    pid_t pid;

    if (exchanges < 1 || exchanges > EXCHANGES_MAX) {
        fprintf(stderr, "usage: request-response 1..%d\n", EXCHANGES_MAX);
        return 2;
    }
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds) < 0) {
        perror("request-response");
        return 1;
    }
    pid = fork();
    if (pid < 0) {
        perror("request-response");
        return 1;
    }
    if (pid == 0) {
        close(fds[0]);
        return serve(fds[1]);
    }
    close(fds[1]);
    start = now_seconds();
    if (!ask(fds[0], exchanges)) {
        perror("request-response");
        return 1;
    }
    printf("%.1f\n", exchanges / (now_seconds() - start));
    close(fds[0]);
    return waitpid(pid, &status, 0) == pid && status == 0 ? 0 : 1;
}
