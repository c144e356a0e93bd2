/* The loop: output, input, agents, children, deadlines, until the task has ended. */
#define _GNU_SOURCE
#include "shim.h"

#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define DRAIN_MS 300         /* how long output is awaited after the main process ended */
#define ANNOUNCE_AGAIN_MS 500 /* `started` could not be written: the disk is full */

int child_signals = -1;

static int64_t announce_at = NEVER;
static char started_text[128];

void announce_started(void) {
    if (!started_text[0])
        snprintf(started_text, sizeof started_text, "{\"v\":1,\"pid\":%d,\"start\":%" PRIu64 ",\"atMs\":%" PRId64 "}",
                 (int)job, start_time(job), wall_ms());
    announce_at = publish("started", started_text) ? now_ms() + ANNOUNCE_AGAIN_MS : NEVER;
    if (announce_at == NEVER) notify(attempt);
}

static int is_drained(void) { return logs[OUT].pipe < 0 && logs[ERR].pipe < 0; }

static int wait_ms(int64_t until) {
    if (until == NEVER) return -1;
    int64_t left = until - now_ms();
    return left < 0 ? 0 : left > INT32_MAX ? INT32_MAX : (int)left;
}

static int64_t earliest(int64_t a, int64_t b) { return a < b ? a : b; }

/* A command inside a task ends with the task. */
static void heed_joined(struct pollfd *joined) {
    if (!joined->revents || job_done) return;
    if (!stopping) kill_until_done();
    joined->fd = -1;
}

void supervise(int drained) {
    int64_t drain_until = NEVER;
    struct pollfd joined = {watch_joined(), POLLIN, 0};
    for (;;) {
        if (job_done && (!drained || is_drained())) return;
        if (job_done && drain_until == NEVER) drain_until = now_ms() + DRAIN_MS;
        if (job_done && now_ms() >= drain_until) return;
        struct pollfd fds[5 + 1 + CLIENTS_MAX] = {{child_signals, POLLIN, 0}};
        fds[1] = (struct pollfd){logs[OUT].pipe, POLLIN, 0};
        fds[2] = (struct pollfd){logs[ERR].pipe, POLLIN, 0};
        fds[3] = (struct pollfd){input.have > 0 || input.ending ? input.fd : -1, POLLOUT, 0};
        fds[4] = joined;
        size_t count = 5 + poll_ctl(fds + 5);
        int64_t next = earliest(earliest(next_tick_ms(), announce_at), drain_until);
        if (poll(fds, count, wait_ms(next)) < 0) continue;
        if (fds[1].revents) drain(&logs[OUT]);
        if (fds[2].revents) drain(&logs[ERR]);
        if (fds[3].revents) input_flush();
        serve_ctl(fds + 5);
        joined.revents = fds[4].revents;
        heed_joined(&joined);
        tick();
        if (now_ms() >= announce_at) announce_started();
        if (!fds[0].revents) continue;
        struct signalfd_siginfo info;
        while (read(child_signals, &info, sizeof info) > 0) continue;
        bury();
    }
}
