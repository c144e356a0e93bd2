/* Each signal once: what was sent is known by its sequence number, and asked again it is answered, not sent. */
#define _GNU_SOURCE
#include "shim.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define KNOWN 64                /* results that are remembered: more than an agent has under way */
#define ACKS_BYTES_MAX (1 << 15) /* thousands, for reading after the end; then another file begins, and one older is kept */

uint64_t signal_last;

static struct result {
    uint64_t sequence;
    int why;
} results[KNOWN];

static void write_ack(uint64_t sequence, int why) {
    struct stat there;
    if (stat("acks", &there) == 0 && there.st_size > ACKS_BYTES_MAX) rename("acks", "acks.older");
    int fd = open("acks", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0) return;
    char line[64];
    int length = snprintf(line, sizeof line, "%" PRIu64 " %d\n", sequence, why);
    if (write(fd, line, (size_t)length) < 0) errno = 0;
    close(fd);
}

int signal_once(uint64_t sequence, uint32_t number) {
    struct result *slot = &results[sequence % KNOWN];
    if (sequence <= signal_last) return slot->sequence == sequence ? slot->why : ESTALE;
    signal_last = sequence;
    *slot = (struct result){sequence, number >= NSIG ? EINVAL : signal_job((int)number)};
    write_ack(sequence, slot->why);
    return slot->why;
}

int signal_named(const char *name) {
    if (strncmp(name, "SIG", 3)) return 0;
    if (!strncmp(name, "SIGRTMIN", 8)) return SIGRTMIN + (name[8] == '+' ? atoi(name + 9) : 0);
    for (int s = 1; s < NSIG; s++) {
        const char *known = sigabbrev_np(s);
        if (known && !strcmp(known, name + 3)) return s;
    }
    return 0;
}

void name_signal(int number, char *into, size_t room) {
    const char *name = sigabbrev_np(number);
    if (name) snprintf(into, room, "SIG%s", name);
    else snprintf(into, room, "SIGRTMIN+%d", number - SIGRTMIN);
}
