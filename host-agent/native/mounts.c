/* Mounts by descriptors: made at no place, put to one later. No step of the way to a place follows a link. */
#define _GNU_SOURCE
#include "shim.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Newer than some headers, and in two of them with others; the same everywhere. */
#ifndef SYS_open_tree
#define SYS_open_tree 428
#define SYS_move_mount 429
#define SYS_fsopen 430
#define SYS_fsconfig 431
#define SYS_fsmount 432
#endif
#ifndef SYS_mount_setattr
#define SYS_mount_setattr 442
#endif
enum { CLONE_TREE = 1, CLOSE_ON_EXEC = 1, SET_STRING = 1, CREATE = 6, BY_DESCRIPTORS = 0x4 | 0x40 };
enum { OTHER_IDS = 0x00100000 };

/* `struct mount_attr`, which older headers lack. */
struct attributes {
    uint64_t set, clear, propagation, userns;
};

int tree_of(int report, const char *path) {
    int fd = (int)syscall(SYS_open_tree, AT_FDCWD, path, CLONE_TREE | O_CLOEXEC | AT_SYMLINK_NOFOLLOW);
    if (fd < 0) fail(report, errno, "mount", path);
    return fd;
}

int tree_for_ids(int report, const char *path, int userns) {
    int fd = tree_of(report, path);
    struct attributes with = {.set = OTHER_IDS, .userns = (uint64_t)userns};
    if (syscall(SYS_mount_setattr, fd, "", AT_EMPTY_PATH, &with, sizeof with)) fail(report, errno, "mount for other ids", path);
    return fd;
}

int make_mount(int report, const char *type, const char *const *options, unsigned flags) {
    int context = (int)syscall(SYS_fsopen, type, CLOSE_ON_EXEC);
    if (context < 0) fail(report, errno, "mount", type);
    for (; *options; options += 2)
        if (syscall(SYS_fsconfig, context, SET_STRING, options[0], options[1], 0)) fail(report, errno, type, options[0]);
    if (syscall(SYS_fsconfig, context, CREATE, NULL, NULL, 0)) fail(report, errno, "mount", type);
    int fd = (int)syscall(SYS_fsmount, context, CLOSE_ON_EXEC, flags);
    if (fd < 0) fail(report, errno, "mount", type);
    close(context);
    return fd;
}

void put_mount(int report, int tree, int at, const char *path) {
    if (syscall(SYS_move_mount, tree, "", at, "", BY_DESCRIPTORS))
        fail(report, errno, "mount at", path);
    close(tree);
    close(at);
}

int make_way(int report, const char *path) {
    char copy[PATH_MAX];
    snprintf(copy, sizeof copy, "%s", path);
    int at = open("/", FOLDER_FLAGS);
    for (char *save = NULL, *name = strtok_r(copy, "/", &save); name; name = strtok_r(NULL, "/", &save)) {
        int next = openat(at, name, FOLDER_FLAGS);
        if (next < 0 && errno == ENOENT && mkdirat(at, name, 0711) == 0) next = openat(at, name, FOLDER_FLAGS);
        if (next < 0) fail(report, errno, "folder", path);
        if (at >= 0) close(at);
        at = next;
    }
    return at;
}
