/* Calls of the system that fail, for LD_PRELOAD.
 *
 * CK_FAULT=CALL:FIRST:COUNT:WHAT   calls FIRST to FIRST+COUNT-1 of CALL (rename, write, sync, truncate, any)
 *                                  fail with the error number WHAT; 0 kills the process, in the middle of a write
 * CK_FAULT_MARK=FILE               is made when the first of them fails
 * CK_NO_EXCHANGE=1                 no two names can be exchanged, as on NFS
 * CK_CLOCK=back                    the wall clock runs backwards, a day a call, and is before 1970 now and then
 *
 * Only writes to regular files count. */

#define _GNU_SOURCE

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static char call[16];
static long first, count = 0, what;
static int backwards;
static atomic_long calls, looks;

__attribute__((constructor)) static void read_environment(void) {
    const char *fault = getenv("CK_FAULT"), *clock = getenv("CK_CLOCK");
    if (fault != NULL && sscanf(fault, "%15[a-z]:%ld:%ld:%ld", call, &first, &count, &what) != 4) {
        dprintf(2, "CK_FAULT: found '%s', expected CALL:FIRST:COUNT:WHAT\n", fault);
        _exit(70);
    }
    backwards = clock != NULL && strcmp(clock, "back") == 0;
}

/* Whether this call is to fail. */
static int fails(const char *name) {
    if (count == 0 || (strcmp(call, name) != 0 && strcmp(call, "any") != 0)) {
        return 0;
    }
    const long number = ++calls;
    if (number < first || number - first >= count) {
        return 0;
    }
    const char *mark = getenv("CK_FAULT_MARK");
    if (mark != NULL) {
        const long made = syscall(SYS_openat, AT_FDCWD, mark, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
        if (made >= 0) {
            syscall(SYS_close, made);
        }
    }
    errno = (int)what;
    return 1;
}

static void die_of_it(void) {
    if (what == 0) {
        syscall(SYS_kill, getpid(), SIGKILL);
    }
}

#define REAL(name)                                       \
    static typeof(&name) real;                           \
    if (real == NULL) {                                  \
        void *address = dlsym(RTLD_NEXT, #name);         \
        memcpy(&real, &address, sizeof real);            \
    }

#define INSTEAD(kind, name, parameters, arguments) \
    int name parameters {                          \
        REAL(name)                                 \
        if (fails(kind)) {                         \
            die_of_it();                           \
            return -1;                             \
        }                                          \
        return real arguments;                     \
    }

INSTEAD("rename", rename, (const char *from, const char *to), (from, to))
INSTEAD("rename", renameat, (int a, const char *from, int b, const char *to), (a, from, b, to))
INSTEAD("rename", link, (const char *from, const char *to), (from, to))
INSTEAD("sync", fsync, (int file), (file))
INSTEAD("sync", fdatasync, (int file), (file))
INSTEAD("truncate", ftruncate, (int file, off_t length), (file, length))
INSTEAD("truncate", ftruncate64, (int file, off64_t length), (file, length))
INSTEAD("unlink", unlink, (const char *path), (path))
INSTEAD("mkdir", mkdir, (const char *path, mode_t mode), (path, mode))

int renameat2(int a, const char *from, int b, const char *to, unsigned flags) {
    REAL(renameat2)
    if (flags != 0 && getenv("CK_NO_EXCHANGE") != NULL) {
        errno = EINVAL;
        return -1;
    }
    if (fails("rename")) {
        die_of_it();
        return -1;
    }
    return real(a, from, b, to, flags);
}

static int counts(int file) {
    struct stat found;
    return fstat(file, &found) == 0 && S_ISREG(found.st_mode);
}

ssize_t write(int file, const void *bytes, size_t size) {
    REAL(write)
    if (counts(file) && fails("write")) {
        if (what == 0) {
            real(file, bytes, size / 2);
        }
        die_of_it();
        return -1;
    }
    return real(file, bytes, size);
}

#define WRITE_AT(name, offset)                                              \
    ssize_t name(int file, const void *bytes, size_t size, offset at) {     \
        REAL(name)                                                          \
        if (counts(file) && fails("write")) {                               \
            if (what == 0) {                                                \
                real(file, bytes, size / 2, at);                            \
            }                                                               \
            die_of_it();                                                    \
            return -1;                                                      \
        }                                                                   \
        return real(file, bytes, size, at);                                 \
    }

WRITE_AT(pwrite, off_t)
WRITE_AT(pwrite64, off64_t)

/* Seconds of a clock that runs backwards. */
static time_t earlier(time_t now) {
    const long look = ++looks;
    return look % 16 == 0 ? -look : now - look * 86400;
}

int clock_gettime(clockid_t id, struct timespec *found) {
    REAL(clock_gettime)
    const int answer = real(id, found);
    if (answer == 0 && backwards && id == CLOCK_REALTIME) {
        found->tv_sec = earlier(found->tv_sec);
    }
    return answer;
}

int gettimeofday(struct timeval *restrict found, void *restrict zone) {
    REAL(gettimeofday)
    const int answer = real(found, zone);
    if (answer == 0 && backwards) {
        found->tv_sec = earlier(found->tv_sec);
    }
    return answer;
}

time_t time(time_t *found) {
    struct timespec now = {0, 0};
    clock_gettime(CLOCK_REALTIME, &now);
    if (found != NULL) {
        *found = now.tv_sec;
    }
    return now.tv_sec;
}
