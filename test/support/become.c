/* Becomes another user for good, as entry points of images do, and runs a command: become UID COMMAND… */
#define _GNU_SOURCE
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv) {
    unsigned id = argc > 2 ? (unsigned)strtoul(argv[1], NULL, 10) : 0;
    gid_t groups[] = {id, 100};
    if (argc < 3 || setgroups(2, groups) || setresgid(id, id, id) || setresuid(id, id, id)) {
        perror("become");
        return 1;
    }
    execvp(argv[2], argv + 2);
    perror(argv[2]);
    return 127;
}
