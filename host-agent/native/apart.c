/*
 * A task's own sight of the machine, and its own user. Hidden from it: the host's state folder, and with it other tasks'
 * folders, keys and sockets that lie there; other users' processes; what others keep in folders that everybody may write to,
 * in whose place it has one of its allocation's. All of that is a mount namespace, which goes with its last process.
 *
 * Names below folders that a task may write to are its own to choose, links included: every step to them is taken by a
 * descriptor, and follows none.
 */
#define _GNU_SOURCE
#include "shim.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PLAIN_FILES_ONLY = 0x2 | 0x4 | 0x8 }; /* no set-user-id, no devices, no programs */
enum { JOIN_SESSION_KEYRING = 1 };

#define SHOWN_MAX 64 /* more than a task has artifacts */

/* Everybody may write there, so what a task leaves there would outlive it, and wait for the next one of its number. */
static const char *const SHARED[] = {"/tmp", "/var/tmp", "/dev/shm", "/run/lock"};

static int give(int report, const char *folder, const char *name, uid_t uid, gid_t gid, mode_t mode) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (mkdir(path, 0700) && errno != EEXIST) fail(report, errno, "folder", path);
    int fd = open(path, FOLDER_FLAGS);
    if (fd < 0 || fchown(fd, uid, gid) || fchmod(fd, mode)) fail(report, errno, "folder", path);
    return fd;
}

/*
 * What to hide: the topmost folder on the way that a stranger may not pass, and the state folder at the latest. What lies in
 * the former beside the way it could not see in any case.
 */
static void find_hidden(int report, const char *folder, char hidden[PATH_MAX]) {
    snprintf(hidden, PATH_MAX, "%s", folder);
    for (int up = 0; up < 2; up++) {
        char *slash = strrchr(hidden, '/');
        if (!slash || slash == hidden) fail(report, EINVAL, "apart", folder);
        *slash = 0;
    }
    for (char *slash = strchr(hidden + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        struct stat about;
        *slash = 0;
        if (stat(hidden, &about)) fail(report, errno, "apart", hidden);
        if (!(about.st_mode & S_IXOTH)) return;
        *slash = '/';
    }
}

/* The place of a file is an empty one; what is put there hides it. */
static int make_place(int report, const char *path, int is_folder) {
    if (is_folder) return make_way(report, path);
    char parent[PATH_MAX];
    const char *slash = strrchr(path, '/');
    if (!slash || slash == path) fail(report, EINVAL, "show", path);
    snprintf(parent, sizeof parent, "%.*s", (int)(slash - path), path);
    int folder = make_way(report, parent);
    int fd = openat(folder, slash + 1, O_RDONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0444);
    if (fd < 0) fail(report, errno, "show", path);
    close(folder);
    return fd;
}

static struct shown {
    int tree, is_folder;
    const char *to;
} shown[SHOWN_MAX];

/* What of the hidden is shown all the same, and where. @returns how many */
static size_t gather_shown(int report) {
    size_t from_cursor = 0, to_cursor = 0, count = 0;
    for (const char *from; (from = launch_next("show.from", &from_cursor)); count++) {
        struct stat about;
        const char *to = launch_next("show.to", &to_cursor);
        if (!to || count == SHOWN_MAX) fail(report, EINVAL, "show", from);
        shown[count] = (struct shown){.tree = tree_of(report, from), .to = to};
        if (fstat(shown[count].tree, &about)) fail(report, errno, "show", from);
        shown[count].is_folder = S_ISDIR(about.st_mode);
    }
    return count;
}

static void hide_others(int report, const char *folder) {
    char path[PATH_MAX], hidden[PATH_MAX];
    const char *image = launch_text("root.image", NULL), *layer = launch_text("root.layer", ""), *at = launch_text("root.at", "");
    struct ids ids;
    struct rootfs root = {-1, -1};
    find_hidden(report, folder, hidden);
    if (image && !read_ids(report, &ids)) fail(report, EINVAL, "root", "without ids");
    if (image) root = open_rootfs(report, image, layer, make_user_namespace(report, &ids), &ids);
    umask(022); /* the way to its folder is made here, and it is to go it */
    if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL)) fail(report, errno, "unshare", "mnt");
    snprintf(path, sizeof path, "%s/work", folder);
    int work = tree_of(report, path);
    snprintf(path, sizeof path, "%s/artifacts", folder);
    int artifacts = access(path, F_OK) ? -1 : tree_of(report, path);
    size_t shown_count = gather_shown(report);
    snprintf(path, sizeof path, "%s/tmp", folder);
    int shared[sizeof SHARED / sizeof *SHARED];
    for (size_t i = 0; i < sizeof SHARED / sizeof *SHARED; i++) {
        struct stat about;
        shared[i] = lstat(SHARED[i], &about) == 0 && S_ISDIR(about.st_mode) ? tree_of(report, path) : -1;
    }
    for (size_t i = 0; i < sizeof SHARED / sizeof *SHARED; i++)
        if (shared[i] >= 0) put_mount(report, shared[i], make_way(report, SHARED[i]), SHARED[i]);
    int nothing = make_mount(report, "tmpfs", (const char *const[]){"mode", "0711", NULL}, PLAIN_FILES_ONLY);
    put_mount(report, nothing, make_way(report, hidden), hidden);
    snprintf(path, sizeof path, "%s/work", folder);
    put_mount(report, work, make_way(report, path), path);
    snprintf(path, sizeof path, "%s/artifacts", folder);
    if (artifacts >= 0) put_mount(report, artifacts, make_way(report, path), path);
    for (size_t i = 0; i < shown_count; i++)
        put_mount(report, shown[i].tree, make_place(report, shown[i].to, shown[i].is_folder), shown[i].to);
    if (image) lay_rootfs(report, &root, folder, at);
    int processes = make_mount(report, "proc", (const char *const[]){"hidepid", "2", NULL}, PLAIN_FILES_ONLY);
    put_mount(report, processes, make_way(report, "/proc"), "/proc");
}

void go_apart(int report, const char *folder, uid_t uid, gid_t gid, int view) {
    close(give(report, folder, "work", uid, gid, 0700));
    if (!view) return;
    close(give(report, folder, "tmp", uid, gid, 01777));
    hide_others(report, folder);
}

/* With a ring of keys of its own: the one inherited may hold keys of the agent's user. Kernels without keys have none. */
void drop_keys(int report) {
    if (syscall(SYS_keyctl, JOIN_SESSION_KEYRING, NULL) < 0 && errno != ENOSYS) fail(report, errno, "keyring", "");
}

void drop_capabilities(int report) {
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[2] = {{0}};
    if (syscall(SYS_capset, &head, none)) fail(report, errno, "capabilities", "");
}

int try_in_child(void (*attempt)(int report, const void *what), const void *what) {
    int report[2];
    if (pipe2(report, O_CLOEXEC)) return 1;
    pid_t pid = fork();
    if (pid == 0) {
        attempt(report[1], what);
        _exit(0);
    }
    close(report[1]);
    struct verdict verdict;
    int status = 0, said = read(report[0], &verdict, sizeof verdict) == (ssize_t)sizeof verdict;
    if (pid < 0 || waitpid(pid, &status, 0) != pid) return 1;
    if (said) printf("%s: %s\n", verdict.step, strerror(verdict.why));
    return said || status != 0;
}

struct stranger {
    const char *folder;
    uid_t uid;
    int view;
};

static void become_stranger(int report, const void *what) {
    const struct stranger *one = what;
    char work[PATH_MAX];
    snprintf(work, sizeof work, "%s/work", one->folder);
    go_apart(report, one->folder, one->uid, (gid_t)one->uid, one->view);
    drop_keys(report);
    if (setgroups(0, NULL) || setresgid(one->uid, one->uid, one->uid) || setresuid(one->uid, one->uid, one->uid))
        fail(report, errno, "user", "");
    drop_capabilities(report);
    if (one->view && chdir(work)) fail(report, errno, "folder", work);
}

int try_apart(const char *folder, uid_t uid, int view) {
    return try_in_child(become_stranger, &(struct stranger){folder, uid, view});
}
