/*
 * The talk with agents; src/wire/host-files/shim-frames.ts lists the frames. What is not understood is answered with NAK and the talk
 * goes on: agents are newer and older than this. Only what cannot be a frame ends a connection, and nothing that is
 * said can end the shim.
 */
#define _GNU_SOURCE
#include "shim.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define FRAME_BYTES_MAX (CHUNK + 32)
#define SKIP_BYTES_MAX (1 << 20) /* a longer frame is nonsense, not a newer agent */
#define SMALL 64

struct client {
    int fd;
    int follows;                 /* streams, as bits */
    int64_t heard_ms;            /* when it last said something */
    unsigned char small[SMALL];  /* all that most frames need */
    unsigned char *in;           /* `small`, or from the heap for one large frame */
    size_t have, skip;
    unsigned char skipped;       /* type of the frame that is being skipped */
    unsigned char *out;          /* rest of a frame that the client did not take yet */
    size_t out_at, out_length;
};

static struct client clients[CLIENTS_MAX];
static int listener = -1;

static uint64_t get(const unsigned char *at, int bytes) {
    uint64_t v = 0;
    for (int i = bytes - 1; i >= 0; i--) v = v << 8 | at[i];
    return v;
}

static unsigned char *put(unsigned char *at, uint64_t v, int bytes) {
    for (int i = 0; i < bytes; i++) *at++ = (unsigned char)(v >> (8 * i));
    return at;
}

static void let_go(struct client *c) {
    close(c->fd);
    free(c->out);
    if (c->in != c->small) free(c->in);
    *c = (struct client){.fd = -1};
}

static void flush_out(struct client *c) {
    while (c->out) {
        ssize_t n = send(c->fd, c->out + c->out_at, c->out_length - c->out_at, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0) return;
        c->out_at += (size_t)n;
        if (c->out_at < c->out_length) continue;
        free(c->out);
        c->out = NULL;
    }
}

/* Half a frame is never left out: its rest is kept, and nothing more is read from or told to the client until it went. */
static void send_parts(struct client *c, struct iovec parts[2], int droppable) {
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    size_t length = parts[0].iov_len + parts[1].iov_len;
    ssize_t n = sendmsg(c->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && (errno != EAGAIN || droppable)) return;
    size_t went = n > 0 ? (size_t)n : 0;
    if (went == length || !(c->out = malloc(length - went))) return;
    c->out_at = c->out_length = 0;
    for (int i = 0; i < 2; i++) {
        size_t past = went < parts[i].iov_len ? went : parts[i].iov_len;
        memcpy(c->out + c->out_length, (unsigned char *)parts[i].iov_base + past, parts[i].iov_len - past);
        c->out_length += parts[i].iov_len - past;
        went -= past;
    }
}

static void answer(struct client *c, char type, const unsigned char *payload, size_t length) {
    unsigned char head[5];
    put(head, 1 + length, 4);
    head[4] = (unsigned char)type;
    send_parts(c, (struct iovec[]){{head, 5}, {(void *)payload, length}}, 0);
}

static void answer_errno(struct client *c, char type, int why) {
    unsigned char out[4];
    put(out, (uint32_t)why, 4);
    answer(c, type, out, sizeof out);
}

static uint64_t left_until(int64_t when) {
    if (when == NEVER) return UINT64_MAX;
    int64_t left = when - now_ms();
    return left > 0 ? (uint64_t)left : 0;
}

static void answer_hello(struct client *c, const unsigned char *payload, size_t length) {
    unsigned char out[2 + 9 * 8 + 4], *at = out;
    if (length == 0 || payload[0] < 2) {
        at = put(at, (uint64_t)job, 8);
        at = put(at, (uint64_t)job_done, 1);
        answer(c, 'h', out, (size_t)(at - out));
        return;
    }
    int takes = input.fd >= 0 && !input.ending;
    *at++ = PROTOCOL_VERSION;
    *at++ = (unsigned char)(job_done | takes << 1 | (pty_master >= 0) << 2 | frozen << 3 | stopping << 4);
    uint64_t words[] = {(uint64_t)getpid(), (uint64_t)job, start_time(job), input.next, signal_last,
                        left_until(run_ends), left_until(disconnect_ends), log_end(&logs[OUT]), log_end(&logs[ERR])};
    for (int i = 0; i < 9; i++) at = put(at, words[i], 8);
    at = put(at, pty_rows, 2);
    at = put(at, pty_columns, 2);
    answer(c, 't', out, (size_t)(at - out));
}

static void answer_input(struct client *c, int why) {
    unsigned char out[12];
    put(put(out, input.next, 8), (uint32_t)why, 4);
    answer(c, 'a', out, sizeof out);
}

static void answer_signal(struct client *c, const unsigned char *payload) {
    unsigned char out[12];
    uint64_t sequence = get(payload, 8);
    put(put(out, sequence, 8), (uint32_t)signal_once(sequence, (uint32_t)get(payload + 8, 4)), 4);
    answer(c, 's', out, sizeof out);
}

static void answer_follow(struct client *c, int streams) {
    unsigned char out[16];
    c->follows = streams;
    put(put(out, log_end(&logs[OUT]), 8), log_end(&logs[ERR]), 8);
    answer(c, 'l', out, sizeof out);
}

static void obey(struct client *c, unsigned char type, const unsigned char *payload, size_t length) {
    switch (type) {
    case 'H': answer_hello(c, payload, length); return;
    case 'I': if (length < 8) break;
        answer_input(c, input_take(get(payload, 8), payload + 8, length - 8)); return;
    case 'E': if (length != 8) break;
        answer_input(c, input_end(get(payload, 8))); return;
    case 'S': if (length != 12) break;
        answer_signal(c, payload); return;
    case 'W': if (length != 4) break;
        answer_errno(c, 'w', resize_pty((uint16_t)get(payload, 2), (uint16_t)get(payload + 2, 2))); return;
    case 'K': kill_until_done();
        answer_errno(c, 'k', 0); return;
    case 'F': if (length != 1) break;
        answer_errno(c, 'f', freeze(payload[0] != 0)); return;
    case 'R': if (length != 8) break;
        renew(get(payload, 8));
        answer_errno(c, 'r', 0); return;
    case 'L': if (length != 1) break;
        answer_follow(c, payload[0] & 3); return;
    }
    answer(c, 'n', &type, 1);
}

static int skip_rest(struct client *c) {
    unsigned char waste[4096];
    ssize_t n = recv(c->fd, waste, c->skip < sizeof waste ? c->skip : sizeof waste, MSG_DONTWAIT);
    if (n <= 0) return n < 0 && (errno == EAGAIN || errno == EINTR);
    c->skip -= (size_t)n;
    if (c->skip == 0) answer(c, 'n', &c->skipped, 1);
    return 1;
}

/* Reads no further than the frame that is being read. @returns 0 when the client is to be let go */
static int serve(struct client *c) {
    c->heard_ms = now_ms();
    if (c->skip > 0) return skip_rest(c);
    size_t length = c->have < 5 ? 0 : (size_t)get(c->in, 4);
    size_t want = length == 0 ? 5 : 4 + length;
    if (c->have < want) {
        ssize_t n = recv(c->fd, c->in + c->have, want - c->have, MSG_DONTWAIT);
        if (n <= 0) return n < 0 && (errno == EAGAIN || errno == EINTR);
        c->have += (size_t)n;
    }
    if (c->have < 5) return 1;
    length = (size_t)get(c->in, 4);
    if (length < 1 || length > SKIP_BYTES_MAX) return 0;
    if (length > FRAME_BYTES_MAX) {
        c->skipped = c->in[4];
        c->skip = length - 1;
        c->have = 0;
        return 1;
    }
    if (4 + length > SMALL && c->in == c->small) {
        if (!(c->in = malloc(4 + length))) return 0;
        memcpy(c->in, c->small, c->have);
    }
    if (c->have < 4 + length) return 1;
    unsigned char *frame = c->in;
    c->in = c->small;
    c->have = 0;
    obey(c, frame[4], frame + 5, length - 1);
    if (frame != c->small) free(frame);
    return 1;
}

/* At most one piece waits for each client; what comes meanwhile it finds in the files. */
void push_output(int stream, uint64_t offset, const unsigned char *bytes, size_t length) {
    for (int i = 0; i < CLIENTS_MAX; i++) {
        struct client *c = &clients[i];
        if (c->fd < 0 || !(c->follows & 1 << stream) || c->out) continue;
        unsigned char head[14];
        put(head, 1 + 9 + length, 4);
        head[4] = 'o';
        head[5] = (unsigned char)stream;
        put(head + 6, offset, 8);
        send_parts(c, (struct iovec[]){{head, sizeof head}, {(void *)bytes, length}}, 1);
    }
}

static void welcome(int fd) {
    struct client *place = &clients[0];
    for (int i = 0; i < CLIENTS_MAX && place->fd >= 0; i++)
        if (clients[i].fd < 0 || clients[i].heard_ms < place->heard_ms) place = &clients[i];
    /* Whoever comes may be the agent with a kill: it is not kept out by those who only look on. They come back. */
    if (place->fd >= 0) let_go(place);
    *place = (struct client){.fd = fd, .heard_ms = now_ms()};
    place->in = place->small;
}

void listen_ctl(void) {
    for (int i = 0; i < CLIENTS_MAX; i++) clients[i].fd = -1;
    struct sockaddr_un name = {.sun_family = AF_UNIX, .sun_path = "ctl"};
    unlink("ctl");
    listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (listener < 0) return;
    if (bind(listener, (struct sockaddr *)&name, sizeof name) == 0 && listen(listener, SOMAXCONN) == 0) return;
    close(listener); /* a task that runs and cannot be talked to still ends, and says how */
    listener = -1;
}

void close_ctl(void) { unlink("ctl"); }

size_t poll_ctl(struct pollfd *fds) {
    fds[0] = (struct pollfd){listener, POLLIN, 0};
    for (int i = 0; i < CLIENTS_MAX; i++)
        fds[1 + i] = (struct pollfd){clients[i].fd, clients[i].out ? POLLOUT : POLLIN, 0};
    return 1 + CLIENTS_MAX;
}

void serve_ctl(const struct pollfd *fds) {
    for (int i = 0; i < CLIENTS_MAX; i++) {
        struct client *c = &clients[i];
        if (!fds[1 + i].revents || c->fd < 0) continue;
        if (c->out && fds[1 + i].revents & POLLOUT) flush_out(c);
        else if (c->out || !serve(c)) let_go(c);
    }
    for (int i = 0; fds[0].revents && i < CLIENTS_MAX; i++) {
        int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0) return;
        welcome(fd);
    }
}
