/*
 * The one reader of /sys and of trees that look like it
 *
 * Everything that these files hold is taken for possibly wrong: sizes are
 * bounded, nothing blocks, and every failure has an errno to report.
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "host-file.h"

/* The smallest page of any architecture; larger ones are multiples of it. */
#define PAGE_MIN 4096

int host_file_open_dir_at(int dir, const char *path)
{
    int fd = openat(dir, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    return fd < 0 ? -errno : fd;
}

int host_file_open_dir(const char *root, const char *path)
{
    g_autofree char *full = g_strconcat(root, path, NULL);

    return host_file_open_dir_at(AT_FDCWD, full);
}

/* Up to HOST_FILE_MAX + 1 bytes, so that a longer file can be told. */
static ssize_t read_all(int fd, char *buf)
{
    size_t len = 0;

    while (len <= HOST_FILE_MAX) {
        ssize_t n = read(fd, buf + len, HOST_FILE_MAX + 1 - len);

        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return -errno;
        }
        if (n == 0) {
            break;
        }
        len += n;
        /*
         * sysfs and disks give whole pages up to the end, so that anything
         * else is the end: that spares every file a second read().
         */
        if (n % PAGE_MIN) {
            break;
        }
    }
    return len;
}

int host_file_read(int dir, const char *path, char *buf)
{
    int fd = openat(dir, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat st;
    ssize_t len;

    if (fd < 0) {
        return -errno;
    }
    len = read_all(fd, buf);
    /* A FIFO without a writer reads as empty, which /sys can mean. */
    if (len == 0 && (fstat(fd, &st) || !S_ISREG(st.st_mode))) {
        len = -EBADMSG;
    }
    close(fd);
    if (len < 0) {
        return len;
    }
    if (len > HOST_FILE_MAX) {
        return -EFBIG;
    }
    /* Copies of /sys made by file size are padded with NULs. */
    while (len > 0 && (!buf[len - 1] || g_ascii_isspace(buf[len - 1]))) {
        len--;
    }
    if (memchr(buf, '\0', len)) {
        return -EILSEQ;
    }
    buf[len] = '\0';
    return 0;
}

const char *host_file_strerror(int err)
{
    switch (-err) {
    case EFBIG:
        return "longer than any that Linux prints";
    case EILSEQ:
        return "has NUL bytes in its text";
    case EBADMSG:
        return "not in the format that Linux prints";
    default:
        return g_strerror(-err);
    }
}

bool host_file_parse_int(const char *text, int64_t min, int64_t max,
                         int64_t *ret_value)
{
    char *end;
    int64_t value;

    /* strtoll would skip blanks and a plus sign. */
    if (!g_ascii_isdigit(*text) && *text != '-') {
        return false;
    }
    errno = 0;
    value = g_ascii_strtoll(text, &end, 10);
    if (errno || end == text || *end || value < min || value > max) {
        return false;
    }
    *ret_value = value;
    return true;
}

bool host_file_parse_size(const char *text, uint64_t *ret_bytes)
{
    const uint64_t max = 1ull << 50;
    uint64_t value;
    char *end;
    int shift;

    if (!g_ascii_isdigit(*text)) {
        return false;
    }
    errno = 0;
    value = g_ascii_strtoull(text, &end, 10);
    if (errno) {
        return false;
    }
    switch (*end) {
    case 'K':
        shift = 10;
        break;
    case 'M':
        shift = 20;
        break;
    case 'G':
        shift = 30;
        break;
    case '\0':
        shift = 0;
        break;
    default:
        return false;
    }
    if ((*end && end[1]) || value > max >> shift) {
        return false;
    }
    *ret_bytes = value << shift;
    return true;
}

int host_file_list_numbered(int dir, const char *path, const char *prefix,
                            HostCpuSet *ret_numbers)
{
    int fd = host_file_open_dir_at(dir, path);
    size_t skip = strlen(prefix);
    HostCpuSet numbers = { };
    struct dirent *entry;
    int64_t number;
    DIR *stream;

    if (fd < 0) {
        return fd;
    }
    stream = fdopendir(fd);
    if (!stream) {
        int err = -errno;

        close(fd);
        return err;
    }
    for (int i = 0; i < HOST_FILE_DIR_MAX && (entry = readdir(stream)); i++) {
        if (g_str_has_prefix(entry->d_name, prefix) &&
            g_ascii_isdigit(entry->d_name[skip]) &&
            host_file_parse_int(entry->d_name + skip, 0, HOST_CPU_MAX - 1,
                                &number)) {
            host_cpuset_add(&numbers, number);
        }
    }
    closedir(stream);
    *ret_numbers = numbers;
    return 0;
}
