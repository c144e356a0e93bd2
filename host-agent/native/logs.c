/* Output in bounded files, each named by the offset of its first byte. Offsets never move, whatever the disk takes. */
#define _GNU_SOURCE
#include "shim.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define CHUNKS_MAX 16 /* read in one go: a task that never pauses must not starve the rest */
#define HOLES_MAX 8   /* told in `exit`; the count of dropped bytes covers all of them */

struct log logs[2] = {{"out", -1, -1, 0, 0, 0}, {"err", -1, -1, 0, 0, 0}};

static uint64_t segment_bytes, segments_max;

static struct hole {
    int stream;
    uint64_t from, to;
} holes[HOLES_MAX];
static int hole_count;

void open_logs(void) {
    segment_bytes = (uint64_t)launch_number("segment.bytes", 1);
    segments_max = (uint64_t)launch_number("segments.max", 1);
    logs[OUT].base = (uint64_t)launch_number("out.base", 0);
    logs[ERR].base = (uint64_t)launch_number("err.base", 0);
}

/* Makes room for one more: the bound on disk use holds at every moment, and while no agent lives. */
static void drop_oldest(const struct log *log) {
    for (;;) {
        DIR *dir = opendir(".");
        if (!dir) return;
        char oldest[64] = "";
        uint64_t count = 0;
        for (struct dirent *e; (e = readdir(dir));) {
            if (strncmp(e->d_name, log->prefix, 3) || e->d_name[3] != '.' || strlen(e->d_name) != 20) continue;
            count++;
            if (!oldest[0] || strcmp(e->d_name, oldest) < 0) strcpy(oldest, e->d_name);
        }
        closedir(dir);
        if (count < segments_max || unlink(oldest)) return;
    }
}

static void next_segment(struct log *log) {
    if (log->fd >= 0) close(log->fd);
    log->base += log->size;
    log->size = 0;
    drop_oldest(log);
    char name[64];
    snprintf(name, sizeof name, "%s.%016" PRIx64, log->prefix, log->base);
    log->fd = open(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

static void note_hole(int stream, uint64_t from, uint64_t length) {
    for (int i = 0; i < hole_count; i++)
        if (holes[i].stream == stream && holes[i].to == from) {
            holes[i].to += length;
            return;
        }
    if (hole_count < HOLES_MAX) holes[hole_count++] = (struct hole){stream, from, from + length};
}

/* What cannot be written is counted and leaves a hole of its length; the task is never made to wait for a disk. */
static uint64_t skip(struct log *log, uint64_t length) {
    note_hole(log == &logs[ERR], log_end(log), length);
    log->dropped += length;
    if (log->fd >= 0 && ftruncate(log->fd, (off_t)(log->size + length)) != 0) {
        /* Not even a hole: the file ends here, and the next one begins where it should. */
        close(log->fd);
        log->fd = -1;
    }
    return length;
}

static void keep(struct log *log, const unsigned char *bytes, size_t length) {
    push_output(log == &logs[ERR], log_end(log), bytes, length);
    while (length > 0) {
        if (log->fd < 0 || log->size >= segment_bytes) next_segment(log);
        uint64_t room = segment_bytes - log->size;
        size_t part = room < length ? (size_t)room : length;
        ssize_t n = log->fd < 0 ? -1 : write(log->fd, bytes, part);
        if (n < 0 && log->fd >= 0 && errno == EINTR) continue;
        uint64_t done = n > 0 ? (uint64_t)n : skip(log, part);
        log->size += done;
        bytes += done;
        length -= (size_t)done;
    }
}

/* A terminal whose other side is closed gives EIO, not an end. */
void drain(struct log *log) {
    static unsigned char chunk[CHUNK];
    for (int chunks = 0; log->pipe >= 0 && chunks < CHUNKS_MAX; chunks++) {
        ssize_t n = read(log->pipe, chunk, sizeof chunk);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == EAGAIN) return;
        if (n <= 0) {
            if (log->pipe != pty_master) close(log->pipe);
            log->pipe = -1;
            return;
        }
        keep(log, chunk, (size_t)n);
        /* A terminal gives a page at a time; a pipe that gives less than asked is empty. */
        if ((size_t)n < sizeof chunk && log->pipe != pty_master) return;
    }
}

void sync_logs(void) {
    for (int i = 0; i < 2; i++)
        if (logs[i].fd >= 0) fdatasync(logs[i].fd);
}

void describe_holes(char *into, size_t room) {
    size_t at = 0;
    into[0] = 0;
    for (int i = 0; i < hole_count && at < room; i++)
        at += (size_t)snprintf(into + at, room - at, "%s{\"stream\":\"%s\",\"from\":%" PRIu64 ",\"to\":%" PRIu64 "}",
                               i ? "," : ",\"holes\":[", holes[i].stream ? "stderr" : "stdout", holes[i].from,
                               holes[i].to);
    if (hole_count > 0 && at < room) snprintf(into + at, room - at, "]");
}
