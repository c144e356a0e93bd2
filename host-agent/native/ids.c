/*
 * Ids of the allocation's own: a user namespace in which 0 and what follows are, outside, a range that nobody else has. Who
 * is root in there may change its user, give files away and do what else root does to what is its own; to all else on the
 * machine it is a stranger with a high number.
 */
#define _GNU_SOURCE
#include "shim.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

int read_ids(int report, struct ids *ids) {
    const char *text = launch_text("ids", NULL);
    if (!text) return 0;
    char rest;
    if (sscanf(text, "%" SCNu32 ":%" SCNu32 "%c", &ids->first, &ids->count, &rest) != 2 || ids->first == 0 || ids->count == 0)
        fail(report, EINVAL, "ids", text);
    return 1;
}

static void write_map(int report, pid_t pid, const char *name, const struct ids *ids) {
    char path[64], text[64];
    snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
    snprintf(text, sizeof text, "0 %" PRIu32 " %" PRIu32, ids->first, ids->count);
    int why = write_file(path, text);
    if (why) fail(report, why, "ids", name);
}

/* It takes a process to be in it while it is made; that one does nothing and is gone at the end. */
int make_user_namespace(int report, const struct ids *ids) {
    char path[64];
    pid_t pid = (pid_t)syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL, NULL);
    if (pid < 0) fail(report, errno, "user namespace", "");
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;) pause();
    }
    write_map(report, pid, "uid_map", ids);
    write_map(report, pid, "gid_map", ids);
    snprintf(path, sizeof path, "/proc/%d/ns/user", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC), why = errno;
    kill(pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) continue;
    if (fd < 0) fail(report, why, "user namespace", "");
    return fd;
}

/* What is begun in there has all capabilities, and none outside. */
void enter_ids(int report) {
    struct ids ids;
    if (!read_ids(report, &ids) || !launch_text("ids.enter", NULL)) return;
    int fd = make_user_namespace(report, &ids);
    if (setns(fd, CLONE_NEWUSER)) fail(report, errno, "setns", "user");
    close(fd);
}

/* In there a new /proc can be mounted, which not every machine that is a container itself allows. */
static int tries_proc(void) {
    pid_t pid = fork();
    if (pid == 0) _exit(mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) ? errno : 0);
    int status = 0;
    if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status)) return ECHILD;
    return WEXITSTATUS(status);
}

struct trial {
    const char *folder;
    struct ids ids;
};

static void try_all(int report, const void *what) {
    const char *folder = ((const struct trial *)what)->folder;
    const struct ids *ids = &((const struct trial *)what)->ids;
    int userns = make_user_namespace(report, ids);
    char image[4096], layer[4096];
    snprintf(image, sizeof image, "%s/image", folder);
    snprintf(layer, sizeof layer, "%s/layer", folder);
    struct rootfs root = open_rootfs(report, image, layer, userns, ids);
    if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL)) fail(report, errno, "unshare", "mnt");
    put_mount(report, make_mount(report, "tmpfs", (const char *const[]){"mode", "0711", NULL}, 0), make_way(report, folder), folder);
    char at[4096];
    snprintf(at, sizeof at, "%s/root", folder);
    lay_rootfs(report, &root, folder, at);
    int inside = open(at, FOLDER_FLAGS); /* the way to it may be closed to whom we become */
    if (setns(userns, CLONE_NEWUSER) || setresgid(0, 0, 0) || setresuid(0, 0, 0)) fail(report, errno, "setns", "user");
    int fd = openat(inside, "file", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    struct stat about;
    if (fd < 0 || fchown(fd, 1, 1) || fstat(fd, &about) || about.st_uid != 1) fail(report, errno, "a file of another user", at);
    if (unshare(CLONE_NEWNS | CLONE_NEWPID)) fail(report, errno, "unshare", "pid");
    int why = tries_proc();
    if (why) fail(report, why, "mount", "proc");
}

int try_ids(const char *folder, uint32_t first, uint32_t count) {
    return try_in_child(try_all, &(struct trial){folder, {first, count}});
}
