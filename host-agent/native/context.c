/*
 * What a child does between fork and exec: groups, limits, namespaces, user. Host paths and privileges are needed for the
 * early steps and gone after the late ones, so the order matters. Any step that fails ends the start: a task never runs
 * with less than was ordered.
 */
#define _GNU_SOURCE
#include "shim.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

static const struct {
    const char *name;
    int flag;
} KINDS[] = {{"user", CLONE_NEWUSER}, {"cgroup", CLONE_NEWCGROUP}, {"ipc", CLONE_NEWIPC}, {"uts", CLONE_NEWUTS},
             {"net", CLONE_NEWNET},   {"pid", CLONE_NEWPID},       {"time", 0x80},        {"mnt", CLONE_NEWNS}};
#define KIND_COUNT (sizeof KINDS / sizeof *KINDS)
#define PID_KIND 5

static const struct {
    const char *name;
    int resource;
} LIMITS[] = {
    {"as", RLIMIT_AS},           {"core", RLIMIT_CORE},         {"cpu", RLIMIT_CPU},
    {"data", RLIMIT_DATA},       {"fsize", RLIMIT_FSIZE},       {"memlock", RLIMIT_MEMLOCK},
    {"msgqueue", RLIMIT_MSGQUEUE}, {"nofile", RLIMIT_NOFILE},   {"nproc", RLIMIT_NPROC},
    {"rss", RLIMIT_RSS},         {"sigpending", RLIMIT_SIGPENDING}, {"stack", RLIMIT_STACK},
};

#define CGROUP2_MAGIC 0x63677270
#define INTO_CGROUP 0x200000000ULL /* CLONE_INTO_CGROUP; an old kernel refuses it */

/* `struct clone_args` as far as the group: headers of older systems lack it. */
struct born {
    uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls, set_tid, set_tid_size, cgroup;
};

static const char *born_in; /* of `procs`: the child is in that group from its birth */

/* The folder of a unified hierarchy's `cgroup.procs`, open; -1: it is another file, or not there. */
static int open_unified(const char *procs) {
    const char *name = strrchr(procs, '/');
    char folder[PATH_MAX];
    if (!name || strcmp(name, "/cgroup.procs") || name - procs >= (ptrdiff_t)sizeof folder) return -1;
    snprintf(folder, sizeof folder, "%.*s", (int)(name - procs), procs);
    struct statfs about;
    if (statfs(folder, &about) || (uint64_t)about.f_type != CGROUP2_MAGIC) return -1;
    return open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/*
 * To write oneself into `cgroup.procs` makes the kernel wait until no processor forks or ends anything, some ten
 * milliseconds; a child that is born there waits for nobody. What refuses it is told by the write.
 */
pid_t fork_into_group(void) {
    size_t cursor = 0;
    for (const char *path; (path = launch_next("procs", &cursor));) {
        int folder = open_unified(path);
        if (folder < 0) continue;
        struct born how = {.flags = INTO_CGROUP, .exit_signal = SIGCHLD, .cgroup = (uint64_t)folder};
        born_in = path;
        pid_t pid = (pid_t)syscall(SYS_clone3, &how, sizeof how);
        if (pid != 0) close(folder);
        if (pid >= 0) return pid;
        break;
    }
    born_in = NULL;
    return fork();
}

static void join_groups(int report) {
    size_t cursor = 0;
    for (const char *path; (path = launch_next("procs", &cursor));) {
        if (path == born_in) continue;
        int why = write_file(path, "0");
        if (why) fail(report, why, "cgroup", path);
    }
}

static rlim_t edge(const char *text) { return *text == '-' ? RLIM_INFINITY : (rlim_t)strtoull(text, NULL, 10); }

static void set_limits(int report) {
    size_t cursor = 0;
    for (const char *text; (text = launch_next("rlimit", &cursor));) {
        const char *soft = strchr(text, ':'), *hard = soft ? strchr(soft + 1, ':') : NULL;
        if (!hard) fail(report, EINVAL, "rlimit", text);
        size_t i = 0, count = sizeof LIMITS / sizeof *LIMITS;
        while (i < count && (strlen(LIMITS[i].name) != (size_t)(soft - text) || strncmp(LIMITS[i].name, text, (size_t)(soft - text))))
            i++;
        struct rlimit limit = {edge(soft + 1), edge(hard + 1)};
        if (i == count) fail(report, EINVAL, "rlimit", text);
        if (setrlimit((__rlimit_resource_t)LIMITS[i].resource, &limit)) fail(report, errno, "rlimit", text);
    }
}

static void set_scores(int report) {
    const char *score = launch_text("oom.score.adj", NULL);
    int why = score ? write_file("/proc/self/oom_score_adj", score) : 0;
    if (why) fail(report, why, "oom_score_adj", score);
    const char *nice = launch_text("nice", NULL);
    if (nice && setpriority(PRIO_PROCESS, 0, atoi(nice))) fail(report, errno, "nice", nice);
}

int watch_joined(void) {
    int pid = 0;
    uint64_t start = 0;
    if (sscanf(launch_text("join", ""), "%d:%" SCNu64, &pid, &start) != 2) return -1;
    int handle = (int)syscall(SYS_pidfd_open, pid, 0);
    if (handle < 0 && errno != ESRCH) return -1; /* an old kernel: then its cgroup or its mark ends the command */
    if (handle >= 0 && start_time(pid) == start) return handle;
    if (handle >= 0) close(handle);
    give_up(ESRCH, "the task has ended");
}

/* A command inside a task may do no more than the task may. */
static uint64_t joined_caps = UINT64_MAX; /* bounding set */
static int joined_no_new_privs;

static void read_bounds(int report, int folder) {
    char text[8192];
    int fd = openat(folder, "status", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (n <= 0) fail(report, ESRCH, "join", "status");
    text[n] = 0;
    close(fd);
    const char *caps = strstr(text, "CapBnd:"), *bound = strstr(text, "NoNewPrivs:");
    if (caps) joined_caps = strtoull(caps + 7, NULL, 16);
    if (bound) joined_no_new_privs = atoi(bound + 11);
}

/* No capability, and no way to one. */
static int is_bare(void) { return !strcmp(launch_text("capabilities", ""), "none"); }

static void bound_capabilities(int report) {
    if (is_bare()) joined_caps = 0;
    for (int cap = 0; cap < 64; cap++) {
        if (joined_caps >> cap & 1 || prctl(PR_CAPBSET_READ, cap, 0, 0, 0) != 1) continue;
        if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0)) fail(report, errno, "capabilities", "");
    }
    if (joined_caps != UINT64_MAX) prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
}

/* By way of the process's folder, which is bound to the process and not to its number. */
static void open_joined(int report, int fds[KIND_COUNT]) {
    const char *text = launch_text("join", NULL);
    if (!text) return;
    int pid = 0;
    uint64_t start = 0;
    char path[64], own[64], other[64];
    if (sscanf(text, "%d:%" SCNu64, &pid, &start) != 2) fail(report, EINVAL, "join", text);
    snprintf(path, sizeof path, "/proc/%d", pid);
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0 || start_time(pid) != start) fail(report, ESRCH, "join", text);
    read_bounds(report, folder);
    for (size_t i = 0; i < KIND_COUNT; i++) {
        char self[64];
        snprintf(path, sizeof path, "ns/%s", KINDS[i].name);
        snprintf(self, sizeof self, "/proc/self/ns/%s", KINDS[i].name);
        ssize_t a = readlinkat(folder, path, other, sizeof other), b = readlink(self, own, sizeof own);
        if (a <= 0 || (a == b && !memcmp(own, other, (size_t)a))) continue;
        fds[i] = openat(folder, path, O_RDONLY | O_CLOEXEC);
        if (fds[i] < 0) fail(report, errno, "join", KINDS[i].name);
    }
    close(folder);
}

static void open_named(int report, int fds[KIND_COUNT]) {
    size_t cursor = 0;
    for (const char *text; (text = launch_next("namespace", &cursor));) {
        const char *path = strchr(text, ':');
        size_t i = 0;
        while (path && i < KIND_COUNT && (strncmp(KINDS[i].name, text, (size_t)(path - text)) || KINDS[i].name[path - text])) i++;
        if (!path || i == KIND_COUNT) fail(report, EINVAL, "namespace", text);
        fds[i] = open(path + 1, O_RDONLY | O_CLOEXEC);
        if (fds[i] < 0) fail(report, errno, "namespace", text);
    }
}

/*
 * Only children are in a pid namespace that was entered. The child made here is the shim's own by CLONE_PARENT; its number
 * as the shim sees it is told, and this process ends.
 */
static void go_on_in_child(int report) {
    pid_t child = (pid_t)syscall(SYS_clone, CLONE_PARENT | SIGCHLD, NULL, NULL, NULL, NULL);
    if (child < 0) fail(report, errno, "fork", "in the pid namespace");
    if (child == 0) return;
    struct verdict verdict = {.pid = child};
    if (write(report, &verdict, sizeof verdict) < 0) _exit(126);
    _exit(0);
}

/* Before namespaces: one of users may forbid it. Who is not root keeps its groups, and becomes nobody else. */
static void set_groups(int report) {
    if (launch_number("uid", -1) < 0 || geteuid() != 0) return;
    gid_t groups[NGROUPS_MAX > 64 ? 64 : NGROUPS_MAX];
    size_t count = 0, cursor = 0;
    for (const char *text; (text = launch_next("group", &cursor));)
        if (count < sizeof groups / sizeof *groups) groups[count++] = (gid_t)strtoul(text, NULL, 10);
    if (setgroups(count, groups)) fail(report, errno, "setgroups", "");
}

/* The order to a runtime to start what it has made needs none of it: what it made has it. */
static void go_apart_if_ordered(int report) {
    const char *own = adopting ? NULL : launch_text("own", NULL);
    struct ids ids;
    if (!own) return;
    int within = read_ids(report, &ids);
    uid_t uid = within ? ids.first + (uid_t)launch_number("inside.uid", 0) : (uid_t)launch_number("uid", 0);
    gid_t gid = within ? ids.first + (gid_t)launch_number("inside.gid", 0) : (gid_t)launch_number("gid", 0);
    go_apart(report, own, uid, gid, launch_text("apart", NULL) != NULL);
}

void enter_context(int report) {
    int fds[KIND_COUNT];
    for (size_t i = 0; i < KIND_COUNT; i++) fds[i] = -1;
    join_groups(report);
    set_scores(report);
    open_joined(report, fds);
    open_named(report, fds);
    set_groups(report);
    go_apart_if_ordered(report);
    set_limits(report); /* they may forbid to open one more file */
    /*
     * Of users first, which gives the right to the others; root has it, and would lose it where that one lies within another
     * that owns the others, as in bubblewrap.
     */
    size_t first = geteuid() == 0 ? 1 : 0;
    int has_pid = fds[PID_KIND] >= 0;
    for (size_t n = 0; n < KIND_COUNT; n++) {
        size_t i = (n + first) % KIND_COUNT;
        if (fds[i] < 0) continue;
        if (setns(fds[i], KINDS[i].flag)) fail(report, errno, "setns", KINDS[i].name);
        close(fds[i]);
    }
    if (has_pid) go_on_in_child(report);
    enter_ids(report);
}

static void become_user(int report) {
    int64_t uid = launch_number("uid", -1), gid = launch_number("gid", -1);
    if (uid < 0) return;
    if (gid >= 0 && setresgid((gid_t)gid, (gid_t)gid, (gid_t)gid)) fail(report, errno, "setgid", launch_text("gid", ""));
    if (setresuid((uid_t)uid, (uid_t)uid, (uid_t)uid)) fail(report, errno, "setuid", launch_text("uid", ""));
}

void drop_privileges(int report) {
    bound_capabilities(report);
    int bound = launch_number("no.new.privileges", 0) || joined_no_new_privs;
    if (bound && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        fail(report, errno, "no_new_privs", "");
    if (is_bare() || launch_text("ids.enter", NULL)) drop_keys(report);
    become_user(report);
    if (is_bare()) drop_capabilities(report);
}
