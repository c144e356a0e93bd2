/* From an order to a process that runs, or to the word that it cannot. */
#define _GNU_SOURCE
#include "shim.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

pid_t job;
int job_done;
int adopting;
const char *attempt;

static int task_ends[3] = {-1, -1, -1}; /* the task's sides of stdin, stdout, stderr */

void fail(int report, int why, const char *step, const char *detail) {
    struct verdict verdict = {.why = why ? why : EINVAL};
    snprintf(verdict.step, sizeof verdict.step, "%s %s", step, detail);
    if (write(report, &verdict, sizeof verdict) < 0) _exit(126);
    _exit(127);
}

static void reset_signals(void) {
    for (int s = 1; s < NSIG; s++) signal(s, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static void take_stdio(int report) {
    for (int fd = 0; fd < 3; fd++)
        if (dup2(task_ends[fd], fd) < 0) fail(report, errno, "stdio", "");
    if (pty_master >= 0 && ioctl(0, TIOCSCTTY, 0)) fail(report, errno, "terminal", "");
}

static void become(char *const *argv, char **env, int report) {
    enter_context(report);
    setsid();
    take_stdio(report);
    umask(022);
    const char *cwd = launch_text("cwd", "/");
    /* Before: the folder may lie where only we may look. After: it may be theirs alone. */
    int there = chdir(cwd) == 0;
    drop_privileges(report);
    if (!there && chdir(cwd)) fail(report, errno, "cwd", cwd);
    reset_signals();
    deny_calls(report);
    environ = env; /* execvp looks for the command in the task's own PATH */
    execvp(argv[0], argv);
    fail(report, errno, "exec", argv[0]);
}

pid_t spawn(char *const *argv) {
    int report[2];
    char **env = launch_list("env");
    if (pipe2(report, O_CLOEXEC)) give_up(errno, "pipe");
    pid_t pid = fork_into_group();
    if (pid < 0) give_up(errno, "fork");
    if (pid == 0) become(argv, env, report[1]);
    free(env);
    close(report[1]);
    struct verdict verdict;
    for (;;) {
        ssize_t n = read(report[0], &verdict, sizeof verdict);
        if (n < 0 && errno == EINTR) continue;
        if (n < (ssize_t)sizeof verdict) break; /* its end: the command runs */
        if (verdict.why) give_up(verdict.why, verdict.step);
        waitpid(pid, NULL, 0); /* it was only the way in */
        pid = verdict.pid;
    }
    close(report[0]);
    return pid;
}

static int pipe_pair(int *ours, int *theirs, int we_read) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC)) return -1;
    *ours = ends[we_read ? 0 : 1];
    *theirs = ends[we_read ? 1 : 0];
    return fcntl(*ours, F_SETFL, O_NONBLOCK);
}

/* All that a terminal shows is stdout: which of the two it was written to, nobody can tell. */
static void make_stdio(void) {
    if (launch_text("pty", NULL)) {
        int slave = open_pty();
        if (slave < 0) give_up(errno, "terminal");
        for (int fd = 0; fd < 3; fd++) task_ends[fd] = slave;
        logs[OUT].pipe = input.fd = pty_master;
        return;
    }
    int bad = pipe_pair(&logs[OUT].pipe, &task_ends[1], 1) || pipe_pair(&logs[ERR].pipe, &task_ends[2], 1);
    if (!bad && !strcmp(launch_text("stdin", "closed"), "open")) bad = pipe_pair(&input.fd, &task_ends[0], 0);
    else if (!bad) bad = (task_ends[0] = open("/dev/null", O_RDONLY | O_CLOEXEC)) < 0;
    if (bad) give_up(errno, "pipe");
}

void close_task_ends(void) {
    for (int i = 0; i < 3; i++)
        if (task_ends[i] >= 0 && (i == 0 || task_ends[i] != task_ends[0])) close(task_ends[i]);
    for (int i = 0; i < 3; i++) task_ends[i] = -1;
}

static void await_end(const char *step) {
    supervise(0);
    int status = 0;
    pid_t done = job;
    job = 0;
    job_done = 0;
    while (waitpid(done, &status, 0) < 0 && errno == EINTR) continue;
    if (status == 0) return;
    char how[64];
    if (WIFEXITED(status)) snprintf(how, sizeof how, "%s ended with %d", step, WEXITSTATUS(status));
    else snprintf(how, sizeof how, "%s ended by signal %d", step, WTERMSIG(status));
    give_up(ECHILD, how);
}

/* The command made a container and ended; its process is ours now, since nobody else adopts orphans below us. */
void adopt_container(void) {
    const char *path = launch_text("adopt", NULL);
    if (!path) return;
    await_end("the container's creation");
    char text[32];
    pid_t found = read_file(path, text, sizeof text) > 0 ? (pid_t)atoi(text) : 0;
    siginfo_t info = {0};
    if (found <= 0 || waitid(P_PID, (id_t)found, &info, WEXITED | WNOHANG | WNOWAIT))
        give_up(ECHILD, "the pid file names no process of ours");
    char **argv = launch_list("adopt.arg");
    if (argv[0]) {
        adopting = 1;
        job = spawn(argv);
        await_end("the container's start");
        adopting = 0;
    }
    free(argv);
    /* A kill of everything buries whom it finds. */
    if (waitid(P_PID, (id_t)found, &info, WEXITED | WNOHANG | WNOWAIT)) give_up(ECHILD, "the container was killed as it started");
    job = found;
    bury();
}

void start_job(void) {
    char **argv = launch_list("arg");
    make_stdio();
    job = spawn(argv);
    free(argv);
    if (!launch_text("adopt", NULL)) close_task_ends();
}
