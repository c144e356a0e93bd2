/* The order: pairs of name and value, each ending in NUL, behind a version. See src/wire/host-files/shim-launch.ts. */
#define _GNU_SOURCE
#include "shim.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LAUNCH_BYTES_MAX (1 << 20) /* 64 arguments of 4 KiB, 32 KiB of environment, and room */

struct pair {
    const char *name, *value;
};

static struct pair *pairs;
static size_t pair_count;

static const char *const NAMES[] = {
    "cwd", "out.base", "err.base", "segment.bytes", "segments.max", "arg", "env", "uid", "gid", "group", "rlimit",
    "procs", "oom.score.adj", "nice", "no.new.privileges", "namespace", "join", "pty", "stdin", "run.max.ms",
    "disconnect.ms", "stop.signal", "stop.grace.ms", "adopt", "adopt.arg", "kill.cgroup", "kill.freezer",
    "kill.environ", "oom.file", "freeze.file", "deny", "inner", "inside.cwd", "inside.env", "inside.uid", "inside.gid",
    "inside.deny", "own", "apart", "capabilities", "show.from", "show.to", "deny.fd", "ids",
    "ids.enter", "root.image", "root.layer", "root.at",
};

/* A word that is not known could be a limit. */
static const char *known(const char *name) {
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
        if (!strcmp(NAMES[i], name)) return NAMES[i];
    give_up(EINVAL, "launch: an unknown word");
}

static char *next_text(char **at, const char *end) {
    char *text = *at;
    if (text >= end) give_up(EINVAL, "launch: cut short");
    *at += strlen(text) + 1;
    return text;
}

static void add(const char *name, const char *value) {
    const char *word = known(name); /* may give up, and who gives up reads the pairs */
    pairs[pair_count++] = (struct pair){word, value};
}

/* The first version: by position. Written by an agent that died before a shim had taken the attempt. */
static void read_first(char *at, const char *end) {
    for (int i = 0; i < 5; i++) add(NAMES[i], next_text(&at, end));
    const char *const lists[] = {"arg", "env"};
    for (int i = 0; i < 2; i++)
        for (size_t left = strtoull(next_text(&at, end), NULL, 10); left > 0; left--) add(lists[i], next_text(&at, end));
}

void read_launch(void) {
    char *text = malloc(LAUNCH_BYTES_MAX);
    ssize_t length = text ? read_file("launch", text, LAUNCH_BYTES_MAX) : -1;
    if (length <= 0 || length == LAUNCH_BYTES_MAX - 1) give_up(EINVAL, "launch: none, or too long");
    const char *end = text + length;
    size_t count = 0;
    for (const char *c = text; c < end; c++) count += *c == 0;
    pairs = malloc((count + 1) * sizeof *pairs);
    if (!pairs || end[-1] != 0) give_up(EINVAL, "launch: cut short");
    char *at = text;
    const char *version = next_text(&at, end);
    if (!strcmp(version, "1")) read_first(at, end);
    else if (strcmp(version, "2")) give_up(EINVAL, "launch: another version");
    else
        while (at < end) {
            const char *name = next_text(&at, end);
            add(name, next_text(&at, end));
        }
    if (!launch_text("arg", NULL) || !launch_text("cwd", NULL)) give_up(EINVAL, "launch: no command");
    if (launch_number("segment.bytes", 0) < 1 || launch_number("segments.max", 0) < 1)
        give_up(EINVAL, "launch: no bounds");
}

const char *launch_next(const char *name, size_t *cursor) {
    while (*cursor < pair_count) {
        const struct pair *pair = &pairs[(*cursor)++];
        if (!strcmp(pair->name, name)) return pair->value;
    }
    return NULL;
}

const char *launch_text(const char *name, const char *otherwise) {
    size_t cursor = 0;
    const char *text = launch_next(name, &cursor);
    return text ? text : otherwise;
}

int64_t launch_number(const char *name, int64_t otherwise) {
    const char *text = launch_text(name, NULL);
    return text ? strtoll(text, NULL, 10) : otherwise;
}

char **launch_list(const char *name) {
    char **list = calloc(pair_count + 1, sizeof *list);
    if (!list) give_up(ENOMEM, name);
    size_t cursor = 0, count = 0;
    for (const char *text; (text = launch_next(name, &cursor));) list[count++] = (char *)text;
    return list;
}
