/*
 * What the helper gives up before it talks to anybody
 *
 * Copyright (c) 2026 The llcsched authors
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <cap-ng.h>
#include <errno.h>
#include <fcntl.h>
#include <seccomp.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "confine.h"

static bool failed(GError **err, const char *what, int error)
{
    g_set_error(err, G_FILE_ERROR, g_file_error_from_errno(error), "%s: %s",
                what, g_strerror(error));
    return false;
}

bool confine_capabilities(GError **err)
{
    static const unsigned wanted[] = { CAP_SETUID, CAP_SYS_NICE };
    bool have[G_N_ELEMENTS(wanted)];

    for (size_t i = 0; i < G_N_ELEMENTS(wanted); i++) {
        have[i] = capng_have_capability(CAPNG_PERMITTED, wanted[i]);
    }
    capng_clear(CAPNG_SELECT_BOTH);
    for (size_t i = 0; i < G_N_ELEMENTS(wanted); i++) {
        if (have[i] && capng_update(CAPNG_ADD,
                                    CAPNG_EFFECTIVE | CAPNG_PERMITTED,
                                    wanted[i]) < 0) {
            return failed(err, "capabilities", EINVAL);
        }
    }
    /* The bounding set is root's to change; who has none cannot gain any. */
    if (capng_apply(have[0] ? CAPNG_SELECT_BOTH : CAPNG_SELECT_CAPS) < 0) {
        return failed(err, "capabilities cannot be dropped", EPERM);
    }
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) {
        return failed(err, "no_new_privs", errno);
    }
    return true;
}

/* With any arguments. */
static const int plain_calls[] = {
    SCMP_SYS(accept4), SCMP_SYS(brk), SCMP_SYS(clock_gettime),
    SCMP_SYS(close), SCMP_SYS(exit), SCMP_SYS(exit_group),
    SCMP_SYS(fstat), SCMP_SYS(futex), SCMP_SYS(getdents64),
    SCMP_SYS(geteuid), SCMP_SYS(getpid), SCMP_SYS(getrandom),
    SCMP_SYS(getsockopt), SCMP_SYS(gettid), SCMP_SYS(lseek),
    SCMP_SYS(madvise), SCMP_SYS(mremap), SCMP_SYS(munmap),
    SCMP_SYS(newfstatat), SCMP_SYS(pidfd_open), SCMP_SYS(poll),
    SCMP_SYS(ppoll), SCMP_SYS(pread64), SCMP_SYS(read), SCMP_SYS(recvmsg),
    SCMP_SYS(restart_syscall), SCMP_SYS(rt_sigaction),
    SCMP_SYS(rt_sigprocmask), SCMP_SYS(rt_sigreturn),
    SCMP_SYS(sched_getaffinity), SCMP_SYS(sched_setaffinity),
    SCMP_SYS(sendto), SCMP_SYS(setsockopt), SCMP_SYS(write),
    SCMP_SYS(writev),
};

static int allow_plain(scmp_filter_ctx filter)
{
    int ret = 0;

    for (size_t i = 0; ret == 0 && i < G_N_ELEMENTS(plain_calls); i++) {
        ret = seccomp_rule_add(filter, SCMP_ACT_ALLOW, plain_calls[i], 0);
        if (ret == -EDOM) {
            ret = 0;          /* this architecture has no such call */
        }
    }
    return ret;
}

/* With these arguments alone. */
typedef struct GuardedCall {
    int call;
    unsigned n;
    struct scmp_arg_cmp arguments[2];
} GuardedCall;

/*
 * Files to read, memory without code, flags to look at, abort(), and users
 * without other changes.
 */
static int allow_guarded(scmp_filter_ctx filter)
{
    const uint32_t writing = O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND;
    /* Only the low half of these arguments is looked at by the kernel. */
    const uint64_t low = UINT32_MAX;
    const GuardedCall calls[] = {
        { SCMP_SYS(openat), 1,
          { SCMP_A2(SCMP_CMP_MASKED_EQ, writing, O_RDONLY) } },
        { SCMP_SYS(mmap), 1, { SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0) } },
        { SCMP_SYS(mprotect), 1,
          { SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0) } },
        /* fdopendir() looks at the one, and sets the other. */
        { SCMP_SYS(fcntl), 1, { SCMP_A1(SCMP_CMP_MASKED_EQ, low, F_GETFL) } },
        { SCMP_SYS(fcntl), 1, { SCMP_A1(SCMP_CMP_MASKED_EQ, low, F_SETFD) } },
        { SCMP_SYS(tgkill), 1,
          { SCMP_A0(SCMP_CMP_MASKED_EQ, low, (uint64_t)getpid()) } },
        { SCMP_SYS(setresuid), 2,
          { SCMP_A0(SCMP_CMP_MASKED_EQ, low, low),
            SCMP_A2(SCMP_CMP_MASKED_EQ, low, low) } },
    };
    int ret = 0;

    for (size_t i = 0; ret == 0 && i < G_N_ELEMENTS(calls); i++) {
        ret = seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, calls[i].call,
                                     calls[i].n, calls[i].arguments);
    }
    return ret;
}

bool confine_system_calls(GError **err)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
    int ret = -ENOMEM;

    if (filter) {
        ret = allow_plain(filter);
        if (ret == 0) {
            ret = allow_guarded(filter);
        }
        if (ret == 0) {
            ret = seccomp_load(filter);
        }
        seccomp_release(filter);
    }
    return ret == 0 || failed(err, "the filter of system calls", -ret);
}
