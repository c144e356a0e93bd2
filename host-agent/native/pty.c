/* The terminal of a task. Its master belongs to the shim: with the agent it would hang up when the agent dies. */
#define _GNU_SOURCE
#include "shim.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

int pty_master = -1;
int pty_midline;
uint16_t pty_rows, pty_columns;

int open_pty(void) {
    unsigned rows = 24, columns = 80;
    sscanf(launch_text("pty", ""), "%u:%u", &rows, &columns);
    pty_master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
    if (pty_master < 0 || grantpt(pty_master) || unlockpt(pty_master)) return -1;
    char name[64];
    if (ptsname_r(pty_master, name, sizeof name)) return -1;
    int slave = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (slave < 0) return -1;
    int64_t uid = launch_number("uid", -1);
    if (uid >= 0 && fchown(slave, (uid_t)uid, (gid_t)-1)) return -1;
    resize_pty((uint16_t)rows, (uint16_t)columns);
    return slave;
}

int resize_pty(uint16_t rows, uint16_t columns) {
    if (pty_master < 0) return ENOTTY;
    struct winsize size = {.ws_row = rows, .ws_col = columns};
    if (ioctl(pty_master, TIOCSWINSZ, &size)) return errno;
    pty_rows = rows;
    pty_columns = columns;
    return 0;
}

/* In the middle of a line the first one only hands over the line. */
size_t pty_eof(unsigned char into[2]) {
    struct termios how;
    into[0] = into[1] = 4;
    if (tcgetattr(pty_master, &how) == 0) into[0] = into[1] = how.c_cc[VEOF];
    return pty_midline ? 2 : 1;
}
