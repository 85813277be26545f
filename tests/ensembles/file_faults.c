/* Faults of a file system, injected under everything that Python and Zarr call: LD_PRELOAD=file_faults.so.

   Calls that change what is under a folder are counted: open for writing, write, fsync, rename, unlink, mkdir, truncate. The
   call number `faults_at` fails with `faults_error`, or ends the process (`faults_error` 0) before it has happened, with half of
   the bytes of a write written. Every call is noted in `faults_log`, so that a loss of power can be played after the end: what
   was not synced is lost. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static char folder[PATH_MAX];
static long calls, at;
static int error, note = -1;

void faults_begin(const char *under, long number, int code, int log)
{
    snprintf(folder, sizeof folder, "%s", under);
    calls = 0, at = number, error = code, note = log;
}

long faults_count(void) { return calls; }
void faults_end(void) { folder[0] = 0; }

static int inside(const char *path)
{
    char full[2 * PATH_MAX];
    if (!folder[0] || !path)
        return 0;
    if (path[0] != '/') {
        char here[PATH_MAX];
        if (!getcwd(here, sizeof here))
            return 0;
        snprintf(full, sizeof full, "%s/%s", here, path);
        path = full;
    }
    return !strncmp(path, folder, strlen(folder));
}

static int path_of(int fd, char *path)
{
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, PATH_MAX - 1);
    if (n < 0)
        return 0;
    path[n] = 0;
    return inside(path);
}

static ssize_t (*real_write)(int, const void *, size_t);

static void find_write(void)
{
    if (!real_write)
        real_write = (ssize_t (*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
}

static void log_call(const char *what, const char *a, const char *b)
{
    char line[3 * PATH_MAX];
    find_write();
    int n = snprintf(line, sizeof line, "%s\t%s\t%s\n", what, a, b ? b : "");
    if (note >= 0 && n > 0)
        real_write(note, line, n);
}

/* 1 if this call is to fail with errno */
static int fails(void)
{
    if (++calls != at)
        return 0;
    if (!error)
        _exit(86);
    errno = error;
    return 1;
}

#define REAL(name) \
    static __typeof__(&name) real; \
    if (!real) \
        real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

ssize_t write(int fd, const void *data, size_t n)
{
    char path[PATH_MAX];
    find_write();
    if (fd == note || !path_of(fd, path))
        return real_write(fd, data, n);
    log_call("write", path, NULL);
    if (calls + 1 == at && n > 1)
        real_write(fd, data, n / 2);
    if (fails())
        return -1;
    return real_write(fd, data, n);
}

int fsync(int fd)
{
    REAL(fsync);
    char path[PATH_MAX];
    if (!path_of(fd, path))
        return real(fd);
    if (fails())
        return -1;
    int status = real(fd);
    log_call("sync", path, NULL);
    return status;
}

int rename(const char *from, const char *to)
{
    REAL(rename);
    if (!inside(to))
        return real(from, to);
    if (fails())
        return -1;
    log_call("rename", from, to);
    return real(from, to);
}

int unlink(const char *path)
{
    REAL(unlink);
    if (!inside(path))
        return real(path);
    if (fails())
        return -1;
    log_call("unlink", path, NULL);
    return real(path);
}

int mkdir(const char *path, mode_t mode)
{
    REAL(mkdir);
    if (!inside(path))
        return real(path, mode);
    if (fails())
        return -1;
    log_call("mkdir", path, NULL);
    return real(path, mode);
}

int ftruncate64(int fd, off64_t length)
{
    REAL(ftruncate64);
    char path[PATH_MAX];
    if (!path_of(fd, path))
        return real(fd, length);
    if (fails())
        return -1;
    log_call("write", path, NULL);
    return real(fd, length);
}

#define OPEN(name) \
    int name(const char *path, int flags, ...) \
    { \
        REAL(name); \
        va_list rest; \
        va_start(rest, flags); \
        mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0; \
        va_end(rest); \
        if ((flags & O_ACCMODE) != O_RDONLY && inside(path)) { \
            if (fails()) \
                return -1; \
            log_call(flags & O_TRUNC ? "write" : "open", path, NULL); \
        } \
        return real(path, flags, mode); \
    }
OPEN(open)
OPEN(open64)
