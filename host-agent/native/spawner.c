/* The resident process that forks shims, and what a shim does from its birth on. */
#define _GNU_SOURCE
#include "shim.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

static int is_word(const char *from, size_t length) {
    if (length == 0 || length > 200 || from[0] == '.') return 0;
    return memchr(from, '/', length) == NULL;
}

/* `<attempt>`, or `<attempt>/exec/<command>`: nothing that leads out of the folder. */
int is_attempt(const char *name) {
    const char *slash = strchr(name, '/');
    if (!slash) return is_word(name, strlen(name));
    if (!is_word(name, (size_t)(slash - name)) || strncmp(slash, "/exec/", 6)) return 0;
    return is_word(slash + 6, strlen(slash + 6));
}

static void block_signals(void) {
    for (int s = 1; s < NSIG; s++) signal(s, SIG_DFL);
    sigset_t all, children;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL); /* only SIGKILL ends a shim; the task's signals come by the socket */
    sigemptyset(&children);
    sigaddset(&children, SIGCHLD);
    child_signals = signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK);
}

static int claim(void) {
    char boot[64] = "", text[256];
    read_file("/proc/sys/kernel/random/boot_id", boot, sizeof boot);
    boot[strcspn(boot, "\n")] = 0;
    snprintf(text, sizeof text, "{\"v\":1,\"boot\":\"%s\",\"pid\":%d,\"start\":%" PRIu64 "}", boot, (int)getpid(),
             start_time(getpid()));
    return publish("claim", text);
}

static void detach(void) {
    setsid();
    umask(077);
    int null = open("/dev/null", O_RDWR);
    for (int fd = 0; fd < 3; fd++) dup2(null, fd);
    if (null > 2) close(null);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    prctl(PR_SET_NAME, "moorage-shim");
    mallopt(M_MMAP_THRESHOLD, 64 * 1024); /* large buffers go back to the system when they are let go */
}

void run(const char *name) {
    attempt = name;
    if (chdir(name)) _exit(2);
    block_signals();
    detach();
    if (claim()) _exit(0); /* another shim has it, or the agent fenced it */
    reserve_exit();
    read_launch();
    open_logs();
    listen_ctl();
    begin_accounts();
    start_job();
    arm_deadlines();
    adopt_container();
    close_task_ends();
    announce_started();
    supervise(1);
    finish();
}

int spawner(char **procs) {
    char *line = NULL;
    size_t room = 0;
    prctl(PR_SET_NAME, "moorage-spawner");
    signal(SIGCHLD, SIG_IGN); /* the kernel buries our shims; each of them takes this back for itself */
    signal(SIGPIPE, SIG_IGN);
    for (; *procs; procs++) write_file(*procs, "0"); /* refused, shims stay where their agent is, and run */
    for (ssize_t n; (n = getline(&line, &room, stdin)) > 0;) {
        line[strcspn(line, "\n")] = 0;
        if (!is_attempt(line)) continue;
        pid_t pid = fork();
        if (pid == 0) run(line);
        if (pid < 0) {
            printf("%s %d\n", line, errno);
            fflush(stdout);
        }
    }
    free(line);
    return 0;
}
