#define _GNU_SOURCE
#include "shim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef __SANITIZE_ADDRESS__
/* A shim has no terminal: what a sanitizer finds lies in the attempt's folder. */
const char *__asan_default_options(void);
const char *__ubsan_default_options(void);
const char *__asan_default_options(void) { return "log_path=sanitizer:detect_leaks=1"; }
const char *__ubsan_default_options(void) { return "log_path=sanitizer:print_stacktrace=1"; }
#endif

/* What the agent was given by its own parent is nothing to tasks. */
static void close_inherited(void) {
    if (close_range(3, ~0U, 0) == 0) return;
    for (int fd = 3; fd < 1024; fd++) close(fd);
}

int main(int argc, char **argv) {
    if (argc < 3) return 2;
    close_inherited();
    if (!strcmp(argv[1], "--try")) return argc < 4 ? 2 : try_apart(argv[2], (uid_t)strtoul(argv[3], NULL, 10), argc > 4);
    if (!strcmp(argv[1], "--try-ids"))
        return argc != 5 ? 2 : try_ids(argv[2], (uint32_t)strtoul(argv[3], NULL, 10), (uint32_t)strtoul(argv[4], NULL, 10));
    char attempts[4096];
    snprintf(attempts, sizeof attempts, "%s/attempts", argv[2]);
    if (chdir(attempts)) return 2;
    if (!strcmp(argv[1], "--spawner")) return spawner(argv + 3);
    if (strcmp(argv[1], "--run") || argc != 4 || !is_attempt(argv[3])) return 2;
    run(argv[3]);
}
