/*
 * Killing everything that an attempt started. The kernel's own ways first (cgroup.kill, the v1 freezer), since no fork
 * outruns them; then the group and all descendants, who cannot leave their subreaper; at last whoever carries a mark.
 * A number is killed only when it cannot have been given to another process meanwhile.
 */
#define _GNU_SOURCE
#include "shim.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define KILL_MS_MAX 3000     /* then the agent is told what is left */
#define FREEZE_WAIT_ROUNDS 50 /* 1 ms each: a process deep in the kernel does not freeze */
#define DEPTH_MAX 8          /* of groups within groups, and of families in one round */

int frozen;

static void nap_ms(long ms) { nanosleep(&(struct timespec){0, ms * 1000000}, NULL); }

int signal_job(int number) {
    if (job <= 0) return ESRCH;
    int why = kill(-job, number) == 0 ? 0 : errno;
    if (why == ESRCH) why = kill(job, number) == 0 ? 0 : errno; /* an adopted container may lead no group */
    /* One that has stopped itself, or was stopped, must wake to hear that it is to end. */
    if (number == SIGTERM || number == SIGINT || number == SIGHUP || number == SIGQUIT) kill(-job, SIGCONT);
    return why;
}

int freeze(int on) {
    const char *path = launch_text("freeze.file", NULL);
    if (!path) return ENOTSUP;
    int second = strstr(path, "freezer.state") == NULL;
    int why = write_file(path, second ? (on ? "1" : "0") : (on ? "FROZEN" : "THAWED"));
    if (why == 0) frozen = on;
    return why;
}

/* Kills a process by its handle, if what it was chosen for still holds once the handle is there. */
static void kill_if(pid_t pid, int (*holds)(pid_t, const void *), const void *what) {
    int handle = (int)syscall(SYS_pidfd_open, pid, 0);
    if (handle < 0) return;
    if (holds(pid, what)) syscall(SYS_pidfd_send_signal, handle, SIGKILL, NULL, 0);
    close(handle);
}

static int is_child_of(pid_t pid, const void *parent) {
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    if (read_file(path, text, sizeof text) <= 0) return 0;
    char *at = strrchr(text, ')');
    return at && strlen(at) > 4 && atoi(at + 4) == *(const pid_t *)parent;
}

/* The children of one thread; the list may be cut where a number stands, and half a number is another process. */
static int kill_children_of(pid_t pid, pid_t thread, int depth) {
    char path[96], list[2048];
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)pid, (int)thread);
    ssize_t length = read_file(path, list, sizeof list);
    if (length <= 0) return 0;
    char *last = strrchr(list, ' ');
    if (last) *last = 0;
    int found = 0;
    for (char *save = NULL, *word = strtok_r(list, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
        pid_t child = (pid_t)atoi(word);
        if (child <= 0 || child == job) continue;
        if (pid == getpid() && waitpid(child, NULL, WNOHANG) == child) continue;
        if (pid == getpid()) kill(child, SIGKILL); /* its zombie would be ours: the number is safe */
        else kill_if(child, is_child_of, &pid);
        found++;
        if (depth >= DEPTH_MAX) continue;
        char threads[64];
        snprintf(threads, sizeof threads, "/proc/%d/task", (int)child);
        DIR *dir = opendir(threads);
        if (!dir) continue;
        for (struct dirent *e; (e = readdir(dir));)
            if (e->d_name[0] != '.') found += kill_children_of(child, (pid_t)atoi(e->d_name), depth + 1);
        closedir(dir);
    }
    return found;
}

static int has_populated(const char *kill_path) {
    char path[4096], text[512];
    size_t folder = (size_t)(strrchr(kill_path, '/') - kill_path);
    snprintf(path, sizeof path, "%.*s/cgroup.events", (int)folder, kill_path);
    return read_file(path, text, sizeof text) > 0 && strstr(text, "populated 1") != NULL;
}

static int kill_cgroups(void) {
    int found = 0;
    size_t cursor = 0;
    for (const char *path; (path = launch_next("kill.cgroup", &cursor));) {
        if (!strchr(path, '/') || !has_populated(path)) continue;
        write_file(path, "1");
        found++;
    }
    return found;
}

/* What a frozen group lists cannot end, so its numbers are its own. @returns how many there are, here and below */
static int each_listed(const char *folder, int depth, int number) {
    char path[4096], line[32];
    snprintf(path, sizeof path, "%s/cgroup.procs", folder);
    int found = 0;
    FILE *list = fopen(path, "re");
    while (list && fgets(line, sizeof line, list)) {
        pid_t pid = (pid_t)atoi(line);
        if (pid > 0 && (number == 0 || kill(pid, number) == 0)) found++;
    }
    if (list) fclose(list);
    DIR *dir = depth < DEPTH_MAX ? opendir(folder) : NULL;
    if (!dir) return found;
    for (struct dirent *e; (e = readdir(dir));) {
        if (e->d_type != DT_DIR || e->d_name[0] == '.') continue;
        if (snprintf(path, sizeof path, "%s/%s", folder, e->d_name) < (int)sizeof path)
            found += each_listed(path, depth + 1, number);
    }
    closedir(dir);
    return found;
}

static int kill_frozen(void) {
    int found = 0;
    size_t cursor = 0;
    for (const char *folder; (folder = launch_next("kill.freezer", &cursor));) {
        char state[4096], text[32];
        if (each_listed(folder, 0, 0) == 0) continue;
        snprintf(state, sizeof state, "%s/freezer.state", folder);
        if (write_file(state, "FROZEN")) continue;
        int is_frozen = 0;
        for (int i = 0; i < FREEZE_WAIT_ROUNDS && !is_frozen; i++) {
            is_frozen = read_file(state, text, sizeof text) > 0 && !strncmp(text, "FROZEN", 6);
            if (!is_frozen) nap_ms(1);
        }
        found += is_frozen ? each_listed(folder, 0, SIGKILL) : 1;
        write_file(state, "THAWED");
    }
    return found;
}

static int carries(pid_t pid, const void *mark) {
    char path[64];
    static char text[128 * 1024];
    snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
    ssize_t length = read_file(path, text, sizeof text);
    for (char *at = text; length > 0 && at < text + length; at += strlen(at) + 1)
        if (!strcmp(at, mark)) return 1;
    return 0;
}

static int kill_marked(const char *mark) {
    DIR *dir = opendir("/proc");
    if (!dir) return 0;
    int found = 0;
    for (struct dirent *e; (e = readdir(dir));) {
        pid_t pid = (pid_t)atoi(e->d_name);
        if (pid <= 0 || pid == getpid() || pid == job || !carries(pid, mark)) continue;
        kill_if(pid, carries, mark);
        found++;
    }
    closedir(dir);
    return found;
}

int kill_round(void) {
    int found = kill_cgroups() + kill_frozen();
    if (frozen) freeze(0); /* a v1 group dies when it thaws */
    if (job > 0) {
        kill(-job, SIGKILL);
        kill(job, SIGKILL);
    }
    found += kill_children_of(getpid(), getpid(), 0);
    return found;
}

/* Looking at every process of the machine is the last resort, when nothing else finds anybody. */
static int kill_all_marked(void) {
    int found = 0;
    size_t cursor = 0;
    for (const char *mark; (mark = launch_next("kill.environ", &cursor));) found += kill_marked(mark);
    return found;
}

int kill_tree(void) {
    int64_t deadline = now_ms() + KILL_MS_MAX;
    for (;;) {
        int left = kill_round();
        if (left == 0) left = kill_all_marked();
        if (left == 0 || now_ms() > deadline) return left;
        nap_ms(1);
    }
}

void bury(void) {
    for (;;) {
        siginfo_t info = {0};
        if (waitid(P_PID, (id_t)job, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == job) job_done = 1;
        if (job_done || adopting) return;
        info.si_pid = 0;
        if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) return;
        if (info.si_pid != job) waitpid(info.si_pid, NULL, 0);
    }
}
