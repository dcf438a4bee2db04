/* Loaded before the C library (LD_PRELOAD): a directory on a file system that lacks calls.
 *
 * REFUSE_BELOW  the directory; other places stay as they are
 * REFUSE        "chmod=EPERM flock=ENOLCK ...": which call fails with what; "open-modes=0" gives
 *               every new directory and file to everybody, as drvfs does without metadata
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct { const char *name; int number; } ERRORS[] = {
    {"EPERM", EPERM}, {"EACCES", EACCES}, {"ENOSYS", ENOSYS}, {"EINVAL", EINVAL},
    {"EOPNOTSUPP", EOPNOTSUPP}, {"ENOLCK", ENOLCK}, {"EIO", EIO}, {"EEXIST", EEXIST},
    {"EXDEV", EXDEV}, {"EROFS", EROFS}, {"EMLINK", EMLINK}, {"EBADF", EBADF}, {"EDQUOT", EDQUOT},
};

static int below(const char *path) {
    const char *top = getenv("REFUSE_BELOW");
    return top && path && !strncmp(path, top, strlen(top));
}

static int below_at(int at, const char *name) {
    char link[64], place[PATH_MAX + 1];
    if (name && name[0] == '/') return below(name);
    if (at == AT_FDCWD) { return getcwd(place, sizeof place) && below(place); }
    snprintf(link, sizeof link, "/proc/self/fd/%d", at);
    ssize_t length = readlink(link, place, PATH_MAX);
    if (length < 0) return 0;
    place[length] = 0;
    return below(place);
}

/* The error of a call; 0 if it works. */
static int refused(const char *call) {
    const char *at = getenv("REFUSE");
    size_t length = strlen(call);
    while (at && (at = strstr(at, call))) {
        if (at[length] == '=') {
            for (size_t i = 0; i < sizeof ERRORS / sizeof *ERRORS; i++) {
                size_t width = strlen(ERRORS[i].name);
                char after = at[length + 1 + width];
                if (!strncmp(at + length + 1, ERRORS[i].name, width) && (!after || after == ' '))
                    return ERRORS[i].number;
            }
            return at[length + 1] == '0' ? -1 : 0;
        }
        at += length;
    }
    return 0;
}

#define REFUSE(call, where) do { int number = refused(call); \
    if (number > 0 && (where)) { errno = number; return -1; } } while (0)

int chmod(const char *path, mode_t mode) {
    REFUSE("chmod", below_at(AT_FDCWD, path));
    return syscall(SYS_fchmodat, AT_FDCWD, path, mode);
}
int fchmod(int fd, mode_t mode) {
    REFUSE("chmod", below_at(fd, ""));
    return syscall(SYS_fchmod, fd, mode);
}
int fchmodat(int at, const char *path, mode_t mode, int flags) {
    (void)flags;
    REFUSE("chmod", below_at(at, path));
    return syscall(SYS_fchmodat, at, path, mode);
}
int flock(int fd, int how) {
    REFUSE("flock", below_at(fd, ""));
    return syscall(SYS_flock, fd, how);
}
int fsync(int fd) {
    REFUSE("fsync", below_at(fd, ""));
    return syscall(SYS_fsync, fd);
}
int fdatasync(int fd) {
    REFUSE("fsync", below_at(fd, ""));
    return syscall(SYS_fdatasync, fd);
}
int linkat(int from, const char *old, int to, const char *new, int flags) {
    REFUSE("link", below_at(to, new));
    return syscall(SYS_linkat, from, old, to, new, flags);
}
int link(const char *old, const char *new) { return linkat(AT_FDCWD, old, AT_FDCWD, new, 0); }
int symlinkat(const char *target, int at, const char *path) {
    REFUSE("symlink", below_at(at, path));
    return syscall(SYS_symlinkat, target, at, path);
}
int symlink(const char *target, const char *path) { return symlinkat(target, AT_FDCWD, path); }
int mknodat(int at, const char *path, mode_t mode, dev_t device) {
    REFUSE("mkfifo", below_at(at, path));
    return syscall(SYS_mknodat, at, path, mode, device);
}
int mkfifoat(int at, const char *path, mode_t mode) {
    return mknodat(at, path, (mode & 07777) | S_IFIFO, 0);
}
int mkfifo(const char *path, mode_t mode) { return mkfifoat(AT_FDCWD, path, mode); }
int renameat2(int from, const char *old, int to, const char *new, unsigned flags) {
    REFUSE("exchange", flags && below_at(to, new));
    REFUSE("rename-over", !flags && below_at(to, new) && !faccessat(to, new, F_OK, AT_SYMLINK_NOFOLLOW));
    return syscall(SYS_renameat2, from, old, to, new, flags);
}
int renameat(int from, const char *old, int to, const char *new) {
    return renameat2(from, old, to, new, 0);
}
int rename(const char *old, const char *new) { return renameat2(AT_FDCWD, old, AT_FDCWD, new, 0); }
int utimensat(int at, const char *path, const struct timespec times[2], int flags) {
    REFUSE("utime", below_at(at, path));
    return syscall(SYS_utimensat, at, path, times, flags);
}
int futimens(int fd, const struct timespec times[2]) {
    REFUSE("utime", below_at(fd, ""));
    return syscall(SYS_utimensat, fd, NULL, times, 0);
}
int mkdirat(int at, const char *path, mode_t mode) {
    int made = syscall(SYS_mkdirat, at, path, mode);
    if (!made && refused("open-modes") < 0 && below_at(at, path))
        syscall(SYS_fchmodat, at, path, 0777);
    return made;
}
int mkdir(const char *path, mode_t mode) { return mkdirat(AT_FDCWD, path, mode); }
