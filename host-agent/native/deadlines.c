/* What happens without an agent: the longest run, and the stop when nobody has renewed. Both by the monotonic clock. */
#include "shim.h"

#include <signal.h>
#include <stddef.h>
#include <stdio.h>

#define KILL_AGAIN_MS 50 /* while the main process lives on: deep in the kernel, or in a fork bomb */
#define GRACE_MS 5000

int64_t run_ends = NEVER, disconnect_ends = NEVER;
const char *stopped_by;
int stopping;

static int64_t kill_at = NEVER;

static int64_t after(int64_t ms) {
    int64_t now = now_ms();
    return ms >= NEVER - now ? NEVER : now + ms;
}

void arm_deadlines(void) {
    run_ends = after(launch_number("run.max.ms", NEVER));
    disconnect_ends = after(launch_number("disconnect.ms", NEVER));
}

void renew(uint64_t for_ms) { disconnect_ends = for_ms >= (uint64_t)NEVER ? NEVER : after((int64_t)for_ms); }

void kill_until_done(void) {
    stopping = 1;
    kill_round();
    kill_at = after(KILL_AGAIN_MS);
}

/* On a full disk it is stopped all the same, and its end says why. */
static void say_why(const char *why) {
    char text[96];
    snprintf(text, sizeof text, "{\"v\":1,\"why\":\"%s\",\"atMs\":%" PRId64 "}", why, wall_ms());
    publish("stopping", text);
}

static void stop(const char *why) {
    stopping = 1;
    stopped_by = why;
    say_why(why);
    if (frozen) freeze(0);
    int number = signal_named(launch_text("stop.signal", "SIGTERM"));
    signal_job(number > 0 ? number : SIGTERM);
    kill_at = after(launch_number("stop.grace.ms", GRACE_MS));
}

void tick(void) {
    if (job_done) return;
    int64_t now = now_ms();
    if (!stopping && now >= run_ends) stop("run-max");
    if (!stopping && now >= disconnect_ends) stop("disconnect");
    if (now >= kill_at) kill_until_done();
}

int64_t next_tick_ms(void) {
    if (job_done) return NEVER;
    int64_t next = kill_at;
    if (!stopping && run_ends < next) next = run_ends;
    if (!stopping && disconnect_ends < next) next = disconnect_ends;
    return next;
}
