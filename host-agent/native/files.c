/* Small files, and facts that are made once. */
#define _GNU_SOURCE
#include "shim.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static int64_t read_clock(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int64_t now_ms(void) { return read_clock(CLOCK_MONOTONIC); }
int64_t wall_ms(void) { return read_clock(CLOCK_REALTIME); }

/* The kernel's own files have no size, so it reads until there is no more. */
ssize_t read_file(const char *path, char *into, size_t room) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return -1;
    size_t have = 0;
    while (have < room - 1) {
        ssize_t n = read(fd, into + have, room - 1 - have);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) break;
        have += (size_t)n;
    }
    close(fd);
    into[have] = 0;
    return (ssize_t)have;
}

static int write_all(int fd, const char *bytes, size_t length) {
    while (length > 0) {
        ssize_t n = write(fd, bytes, length);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return -1;
        bytes += n;
        length -= (size_t)n;
    }
    return 0;
}

int write_file(const char *path, const char *text) {
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0) return errno;
    int why = write_all(fd, text, strlen(text)) ? errno : 0;
    close(fd);
    return why;
}

/* The name in field 2 may hold anything, so fields are counted after its last ')'. */
uint64_t start_time(pid_t pid) {
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    if (read_file(path, text, sizeof text) <= 0) return 0;
    char *at = strrchr(text, ')');
    for (int field = 2; at && field < 22; field++) at = strchr(at + 1, ' ');
    return at ? strtoull(at + 1, NULL, 10) : 0;
}

static int link_and_drop(const char *tmp, const char *name, int bad) {
    int linked = bad ? -1 : link(tmp, name);
    int why = errno;
    unlink(tmp);
    errno = why;
    return linked;
}

int publish(const char *name, const char *text) {
    char tmp[64];
    snprintf(tmp, sizeof tmp, ".%s.%d", name, (int)getpid());
    int fd = open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0) return -1;
    int bad = write_all(fd, text, strlen(text));
    int why = errno;
    close(fd);
    errno = why;
    return link_and_drop(tmp, name, bad);
}

/* The folder was deleted: nobody will ever read what is written here, and nothing can be. */
int is_deserted(void) {
    struct stat here;
    return stat(".", &here) == 0 && here.st_nlink == 0;
}

#define EXIT_RESERVED 4096 /* a block: more than any `exit` takes */
static const char exit_tmp[] = ".exit.reserved";

void reserve_exit(void) {
    static const char blanks[EXIT_RESERVED] = {0};
    int fd = open(exit_tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0) return;
    if (write_all(fd, blanks, sizeof blanks)) unlink(exit_tmp);
    close(fd);
}

static void sync_folder(void) {
    int dir = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0) return;
    fsync(dir);
    close(dir);
}

int publish_exit_text(const char *text) {
    int fd = open(exit_tmp, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0) return -1;
    size_t length = strlen(text);
    int bad = write_all(fd, text, length) || ftruncate(fd, (off_t)length) || fsync(fd);
    close(fd);
    if (bad) return -1;
    if (link(exit_tmp, "exit") && errno != EEXIST) return -1;
    unlink(exit_tmp);
    sync_folder();
    return 0;
}

static void ring(const char *events, const char *name) {
    char bell[64], path[512];
    snprintf(bell, sizeof bell, "%s/.bell", events);
    snprintf(path, sizeof path, "%s/%s", events, name);
    if (link(bell, path) && errno == ENOENT) {
        int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        if (fd >= 0) close(fd);
    }
    unlink(path);
}

/*
 * A name that comes and goes leaves nothing behind. It is a second name of one file: ext4 looks long for a free inode where
 * many were freed a moment ago. Commands inside an attempt lie two folders deeper.
 */
void notify(const char *name) {
    const char *command = strrchr(name, '/');
    if (!command) {
        ring("../../events", name);
        return;
    }
    char flat[512];
    snprintf(flat, sizeof flat, "%.*s~%s", (int)strcspn(name, "/"), name, command + 1);
    ring("../../../../events", flat);
}
