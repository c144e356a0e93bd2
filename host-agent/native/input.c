/*
 * Stdin by offset. `next` is the only authority on what the task was given: bytes below it are known already, bytes above
 * it would leave a gap. What is taken waits in a ring until the task reads; the ring is there only while it holds
 * something, so that an idle task costs nothing for it.
 */
#define _GNU_SOURCE
#include "shim.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RING_BYTES (256 * 1024)

struct input input = {.fd = -1};

static unsigned char *ring;
static size_t first; /* of the bytes in the ring */

static void give_back(void) {
    free(ring);
    ring = NULL;
    first = 0;
}

static void close_input(void) {
    if (input.fd >= 0 && input.fd != pty_master) close(input.fd);
    input.fd = -1;
    input.have = 0;
    give_back();
}

int input_take(uint64_t offset, const unsigned char *bytes, size_t length) {
    if (input.fd < 0 || input.ending) return EPIPE;
    if (offset > input.next) return ERANGE;
    uint64_t known = input.next - offset;
    if (known >= length) return 0;
    bytes += known;
    length -= (size_t)known;
    if (!ring && !(ring = malloc(RING_BYTES))) return 0; /* nothing taken: asked again later */
    size_t room = RING_BYTES - input.have;
    size_t part = length < room ? length : room;
    size_t at = (first + input.have) % RING_BYTES;
    size_t straight = part < RING_BYTES - at ? part : RING_BYTES - at;
    memcpy(ring + at, bytes, straight);
    memcpy(ring, bytes + straight, part - straight);
    input.have += part;
    input.next += part;
    if (part > 0) pty_midline = bytes[part - 1] != '\n';
    input_flush();
    return input.fd < 0 ? EPIPE : 0;
}

int input_end(uint64_t offset) {
    if (offset > input.next) return ERANGE;
    if (input.ending) return 0; /* said again */
    if (input.fd < 0) return EPIPE;
    input.ending = 1;
    input_flush();
    return 0;
}

/* A terminal is not closed: the character that means the end is typed. */
static void pass_end(void) {
    if (input.fd == pty_master) {
        unsigned char typed[2];
        size_t length = pty_eof(typed);
        ssize_t n = write(input.fd, typed, length);
        if (n < 0 && errno == EAGAIN) return; /* tried again when there is room */
        input.fd = -1;
        return;
    }
    close_input();
}

void input_flush(void) {
    while (input.fd >= 0 && input.have > 0) {
        size_t straight = input.have < RING_BYTES - first ? input.have : RING_BYTES - first;
        ssize_t n = write(input.fd, ring + first, straight);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == EAGAIN) return;
        if (n <= 0) {
            close_input(); /* the task reads no more */
            return;
        }
        first = (first + (size_t)n) % RING_BYTES;
        input.have -= (size_t)n;
    }
    if (input.have == 0) give_back();
    if (input.fd >= 0 && input.ending && input.have == 0) pass_end();
}
