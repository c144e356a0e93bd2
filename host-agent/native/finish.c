/* The end: everything killed, the last output written, and one record that says how it was. */
#define _GNU_SOURCE
#include "shim.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define RECORD_AGAIN_MS 500 /* a shim stays until its task's end is written, however long the disk takes nothing */

static uint64_t oom_before;

/* v1 `memory.oom_control` and v2 `memory.events` both have a line `oom_kill N`. */
static uint64_t oom_kills(void) {
    uint64_t sum = 0;
    size_t cursor = 0;
    for (const char *path; (path = launch_next("oom.file", &cursor));) {
        char text[1024];
        if (read_file(path, text, sizeof text) <= 0) continue;
        const char *line = strstr(text, "oom_kill ");
        if (line) sum += strtoull(line + 9, NULL, 10);
    }
    return sum;
}

void begin_accounts(void) { oom_before = oom_kills(); }

static void describe_usage(char *into, size_t room) {
    struct rusage all;
    getrusage(RUSAGE_CHILDREN, &all);
    int64_t user = (int64_t)all.ru_utime.tv_sec * 1000 + all.ru_utime.tv_usec / 1000;
    int64_t system = (int64_t)all.ru_stime.tv_sec * 1000 + all.ru_stime.tv_usec / 1000;
    size_t at = (size_t)snprintf(into, room, ",\"usage\":{\"userMs\":%" PRId64 ",\"systemMs\":%" PRId64
                                 ",\"maxRssKib\":%ld}", user, system, all.ru_maxrss);
    if (!launch_text("oom.file", NULL)) return;
    uint64_t kills = oom_kills();
    snprintf(into + at, room - at, ",\"oomKills\":%" PRIu64, kills > oom_before ? kills - oom_before : 0);
}

static void publish_exit(const char *how, int cut_short, int left) {
    static char text[4096];
    char holes[1024], usage[256], stop[64] = "";
    sync_logs();
    describe_holes(holes, sizeof holes);
    describe_usage(usage, sizeof usage);
    if (stopped_by) snprintf(stop, sizeof stop, ",\"stoppedBy\":\"%s\"", stopped_by);
    snprintf(text, sizeof text,
             "{\"v\":1,%s,\"out\":%" PRIu64 ",\"err\":%" PRIu64 ",\"dropped\":%" PRIu64
             ",\"cutShort\":%s,\"left\":%d%s%s%s,\"atMs\":%" PRId64 ",\"by\":\"shim\"}",
             how, log_end(&logs[OUT]), log_end(&logs[ERR]), logs[OUT].dropped + logs[ERR].dropped,
             cut_short ? "true" : "false", left, holes, usage, stop, wall_ms());
    while (publish_exit_text(text) && !is_deserted()) poll(NULL, 0, RECORD_AGAIN_MS);
    close_ctl();
    notify(attempt);
}

/* Without the C library's own farewell, which is nothing to us; a sanitizer looks for leaks in it. */
static void __attribute__((noreturn)) leave(void) {
#ifdef __SANITIZE_ADDRESS__
    exit(0);
#endif
    _exit(0);
}

/* Said once and for good, like the end of a command that ran. What was begun for it goes first. */
void give_up(int why, const char *step) {
    char how[400], plain[256];
    size_t length = 0;
    for (; step[length] && length < sizeof plain - 1; length++) {
        unsigned char c = (unsigned char)step[length];
        plain[length] = c < 0x20 || c > 0x7e || c == '"' || c == '\\' ? '?' : (char)c;
    }
    plain[length] = 0;
    int left = kill_tree();
    close_task_ends();
    drain(&logs[OUT]);
    drain(&logs[ERR]);
    snprintf(how, sizeof how, "\"execErrno\":%d,\"execStep\":\"%s\"", why ? why : EINVAL, plain);
    publish_exit(how, 0, left);
    leave();
}

void finish(void) {
    int cut_short = logs[OUT].pipe >= 0 || logs[ERR].pipe >= 0;
    int left = kill_tree();
    drain(&logs[OUT]);
    drain(&logs[ERR]);
    int status = 0;
    while (waitpid(job, &status, 0) < 0 && errno == EINTR) continue;
    char how[64], name[32];
    if (WIFEXITED(status)) {
        snprintf(how, sizeof how, "\"code\":%d", WEXITSTATUS(status));
    } else {
        name_signal(WTERMSIG(status), name, sizeof name);
        snprintf(how, sizeof how, "\"signal\":\"%s\"", name);
    }
    publish_exit(how, cut_short, left);
    leave();
}
