/*
 * moorage-shim: the parent of one attempt at a task. It outlives the agent that asked for it.
 *
 *   moorage-shim --run STATE ATTEMPT      be the shim of one attempt
 *   moorage-shim --spawner STATE          read attempt names, one a line, and fork a shim for each; ends with its input
 *
 * STATE/attempts/ATTEMPT holds what src/wire/shim-files.ts describes. Facts are made by link(2), so that each has one
 * author. Frames on the socket `ctl`: u32 length of what follows (LE), u8 type, payload.
 *   'H'                      -> 'h' u64 pid, u8 done
 *   'S' u64 seq, u32 signal  -> 's' u64 seq, i32 errno     a seq not above the last one is answered again, not sent again
 *   'K'                      -> 'k' i32 errno
 *   anything else            -> 'n'
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <dirent.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LAUNCH_BYTES_MAX (1 << 20) /* 64 arguments of 4 KiB, 32 KiB of environment, and room */
#define CLIENTS_MAX 4              /* one agent, and those that died a moment ago */
#define CHUNK 65536
#define CHUNKS_MAX 16 /* read in one go: a pipe's largest content; a task that never pauses must not starve the rest */
#define DRAIN_MS 300        /* how long output is awaited after the main process ended */
#define KILL_ROUNDS_MAX 2000 /* 1 ms each: a fork bomb may outrun us, then the agent is told */

enum { OUT, ERR };

struct log {
    const char *prefix;
    int pipe;            /* -1 after its end */
    int fd;              /* of the newest segment; -1 before the first byte */
    uint64_t base, size; /* of the newest segment */
    uint64_t dropped;
};

struct client {
    int fd;
    size_t have;
    unsigned char in[64];
};

static struct log logs[2] = {{"out", -1, -1, 0, 0, 0}, {"err", -1, -1, 0, 0, 0}};
static struct client clients[CLIENTS_MAX];
static uint64_t segment_bytes, segments_max;
static pid_t job;
static int job_done;
static uint64_t signal_seq;
static int32_t signal_result;
static const char *attempt;

static int64_t now_ms(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Reads a small file whole. The kernel's own files have no size, so it reads until there is no more. */
static ssize_t read_file(const char *path, char *into, size_t room) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return -1;
    size_t have = 0;
    for (;;) {
        ssize_t n = read(fd, into + have, room - 1 - have);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) break;
        have += (size_t)n;
        if (have == room - 1) break;
    }
    close(fd);
    into[have] = 0;
    return (ssize_t)have;
}

/* Field 22 of /proc/PID/stat. The name in field 2 may hold anything, so fields are counted after its last ')'. */
static uint64_t start_time(pid_t pid) {
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    if (read_file(path, text, sizeof text) <= 0) return 0;
    char *at = strrchr(text, ')');
    for (int field = 2; at && field < 22; field++) at = strchr(at + 1, ' ');
    return at ? strtoull(at + 1, NULL, 10) : 0;
}

static int write_all(int fd, const char *bytes, size_t length) {
    while (length > 0) {
        ssize_t n = write(fd, bytes, length);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return -1;
        bytes += n;
        length -= (size_t)n;
    }
    return 0;
}

/* The first writer of a name wins: 0, or -1 with EEXIST. */
static int publish(const char *name, const char *text, int durable) {
    char tmp[64];
    snprintf(tmp, sizeof tmp, ".%s.%d", name, (int)getpid());
    int fd = open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0) return -1;
    int bad = write_all(fd, text, strlen(text)) || (durable && fsync(fd));
    close(fd);
    int linked = bad ? -1 : link(tmp, name);
    int why = errno;
    unlink(tmp);
    if (linked == 0 && durable) {
        int dir = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (dir >= 0) {
            fsync(dir);
            close(dir);
        }
    }
    errno = why;
    return linked;
}

/* Tells whoever watches `events` that this attempt has news. A name that comes and goes leaves nothing behind. */
static void notify(void) {
    char path[512];
    snprintf(path, sizeof path, "../../events/%s", attempt);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd >= 0) close(fd);
    unlink(path);
}

/* Keeps the newest segments: the bound on disk use holds while no agent lives. */
static void drop_oldest(struct log *log) {
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
        if (count <= segments_max || unlink(oldest)) return;
    }
}

static void next_segment(struct log *log) {
    if (log->fd >= 0) {
        log->base += log->size;
        log->size = 0;
        close(log->fd);
    }
    char name[64];
    snprintf(name, sizeof name, "%s.%016" PRIx64, log->prefix, log->base);
    log->fd = open(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    drop_oldest(log);
}

/* Offsets never move: what cannot be written is counted, and leaves a hole of its length. */
static void keep(struct log *log, const char *bytes, size_t length) {
    while (length > 0) {
        if (log->fd < 0 || log->size >= segment_bytes) next_segment(log);
        size_t part = segment_bytes - log->size < length ? (size_t)(segment_bytes - log->size) : length;
        ssize_t n = log->fd < 0 ? -1 : write(log->fd, bytes, part);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) {
            n = (ssize_t)part;
            log->dropped += part;
            if (log->fd >= 0 && ftruncate(log->fd, (off_t)(log->size + part)) != 0) n = (ssize_t)part;
        }
        log->size += (uint64_t)n;
        bytes += n;
        length -= (size_t)n;
    }
}

/* Never blocks. */
static void drain(struct log *log) {
    static char chunk[CHUNK];
    for (int chunks = 0; log->pipe >= 0 && chunks < CHUNKS_MAX; chunks++) {
        ssize_t n = read(log->pipe, chunk, sizeof chunk);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == EAGAIN) return;
        if (n <= 0) {
            close(log->pipe);
            log->pipe = -1;
            return;
        }
        keep(log, chunk, (size_t)n);
        if ((size_t)n < sizeof chunk) return;
    }
}

/* Kills the children of this process, but for the main one, whose zombie keeps the group's number ours. */
static int kill_children(void) {
    char path[64];
    static char list[65536];
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    if (read_file(path, list, sizeof list) < 0) return 0;
    int found = 0;
    for (char *save = NULL, *word = strtok_r(list, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
        pid_t pid = (pid_t)atoi(word);
        if (pid <= 0 || pid == job) continue;
        if (waitpid(pid, NULL, WNOHANG) == pid) continue;
        kill(pid, SIGKILL);
        found++;
    }
    return found;
}

/* Ends all that the task started: its group, and whoever left the group and was handed to us as subreaper. */
static int kill_tree(void) {
    int left = 0;
    for (int round = 0; round < KILL_ROUNDS_MAX; round++) {
        kill(-job, SIGKILL);
        left = kill_children();
        if (left == 0) return 0;
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    }
    return left;
}

/* Orphans are buried at once; the main process only at the very end, so that its number cannot be given away. */
static void bury(void) {
    for (;;) {
        siginfo_t info = {0};
        if (waitid(P_PID, (id_t)job, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == job) job_done = 1;
        if (job_done) return;
        info.si_pid = 0;
        if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) return;
        if (info.si_pid != job) waitpid(info.si_pid, NULL, 0);
    }
}

static void put_u32(unsigned char *at, uint32_t v) {
    for (int i = 0; i < 4; i++) at[i] = (unsigned char)(v >> (8 * i));
}

static uint64_t get_u64(const unsigned char *at, int bytes) {
    uint64_t v = 0;
    for (int i = bytes - 1; i >= 0; i--) v = v << 8 | at[i];
    return v;
}

static void put_u64(unsigned char *at, uint64_t v) {
    put_u32(at, (uint32_t)v);
    put_u32(at + 4, (uint32_t)(v >> 32));
}

static void answer(int fd, char type, const unsigned char *payload, size_t length) {
    unsigned char frame[32];
    put_u32(frame, (uint32_t)(1 + length));
    frame[4] = (unsigned char)type;
    if (length > 0) memcpy(frame + 5, payload, length);
    if (send(fd, frame, 5 + length, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) return;
}

static void obey(int fd, char type, const unsigned char *payload, size_t length) {
    unsigned char out[16];
    if (type == 'H') {
        put_u64(out, (uint64_t)job);
        out[8] = (unsigned char)job_done;
        answer(fd, 'h', out, 9);
    } else if (type == 'S' && length == 12) {
        uint64_t seq = get_u64(payload, 8);
        if (seq > signal_seq) {
            signal_seq = seq;
            signal_result = kill(-job, (int)get_u64(payload + 8, 4)) == 0 ? 0 : errno;
        }
        put_u64(out, seq);
        put_u32(out + 8, (uint32_t)signal_result);
        answer(fd, 's', out, 12);
    } else if (type == 'K') {
        put_u32(out, kill(-job, SIGKILL) == 0 ? 0 : (uint32_t)errno);
        answer(fd, 'k', out, 4);
    } else {
        answer(fd, 'n', NULL, 0);
    }
}

/* @returns 0 when the client is to be let go: it left, or sends what cannot be a frame. */
static int serve(struct client *c) {
    ssize_t n = recv(c->fd, c->in + c->have, sizeof c->in - c->have, MSG_DONTWAIT);
    if (n < 0) return errno == EAGAIN || errno == EINTR;
    if (n == 0) return 0;
    c->have += (size_t)n;
    while (c->have >= 5) {
        size_t length = (size_t)get_u64(c->in, 4);
        if (length < 1 || length > sizeof c->in - 4) return 0;
        if (c->have < 4 + length) return 1;
        obey(c->fd, (char)c->in[4], c->in + 5, length - 1);
        c->have -= 4 + length;
        memmove(c->in, c->in + 4 + length, c->have);
    }
    return 1;
}

static void welcome(int listener) {
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) return;
    for (int i = 0; i < CLIENTS_MAX; i++) {
        if (clients[i].fd >= 0) continue;
        clients[i] = (struct client){.fd = fd};
        return;
    }
    close(fd);
}

static int listen_ctl(void) {
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct sockaddr_un name = {.sun_family = AF_UNIX, .sun_path = "ctl"};
    unlink("ctl");
    if (fd < 0 || bind(fd, (struct sockaddr *)&name, sizeof name) || listen(fd, CLIENTS_MAX)) return -1;
    return fd;
}

static void publish_exit(const char *how, int cut_short, int left) {
    char text[512];
    for (int i = 0; i < 2; i++)
        if (logs[i].fd >= 0) fdatasync(logs[i].fd);
    snprintf(text, sizeof text,
             "{\"v\":1,%s,\"out\":%" PRIu64 ",\"err\":%" PRIu64 ",\"dropped\":%" PRIu64
             ",\"cutShort\":%s,\"left\":%d,\"atMs\":%" PRId64 ",\"by\":\"shim\"}",
             how, logs[OUT].base + logs[OUT].size, logs[ERR].base + logs[ERR].size, logs[OUT].dropped + logs[ERR].dropped,
             cut_short ? "true" : "false", left, now_ms(CLOCK_REALTIME));
    publish("exit", text, 1);
    unlink("ctl");
    notify();
}

/* An order that cannot be carried out ends like a command that cannot be run: said once, and for good. */
static void cannot_run(int why) {
    char how[64];
    snprintf(how, sizeof how, "\"execErrno\":%d", why);
    publish_exit(how, 0, 0);
    _exit(0);
}

struct launch {
    const char *cwd;
    char **argv, **env;
};

static char *next_text(char **at, const char *end) {
    char *text = *at;
    if (text >= end) cannot_run(EINVAL);
    *at += strlen(text) + 1;
    return text;
}

static char **texts(char **at, const char *end) {
    size_t count = strtoull(next_text(at, end), NULL, 10);
    if (count > LAUNCH_BYTES_MAX) cannot_run(EINVAL);
    char **list = calloc(count + 1, sizeof *list);
    if (!list) cannot_run(EINVAL);
    for (size_t i = 0; i < count; i++) list[i] = next_text(at, end);
    return list;
}

static struct launch read_launch(void) {
    char *text = malloc(LAUNCH_BYTES_MAX);
    ssize_t length = text ? read_file("launch", text, LAUNCH_BYTES_MAX) : -1;
    if (length <= 0) cannot_run(EINVAL);
    char *at = text;
    const char *end = text + length;
    struct launch launch;
    if (strcmp(next_text(&at, end), "1")) cannot_run(EINVAL);
    launch.cwd = next_text(&at, end);
    logs[OUT].base = strtoull(next_text(&at, end), NULL, 10);
    logs[ERR].base = strtoull(next_text(&at, end), NULL, 10);
    segment_bytes = strtoull(next_text(&at, end), NULL, 10);
    segments_max = strtoull(next_text(&at, end), NULL, 10);
    if (segment_bytes == 0 || segments_max == 0) cannot_run(EINVAL);
    launch.argv = texts(&at, end);
    launch.env = texts(&at, end);
    if (!launch.argv[0]) cannot_run(EINVAL);
    return launch;
}

static void reset_signals(void) {
    for (int s = 1; s < NSIG; s++) signal(s, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static void become_job(const struct launch *launch, int out, int err, int report) {
    setsid();
    reset_signals();
    umask(022);
    dup2(out, 1);
    dup2(err, 2);
    if (chdir(launch->cwd) == 0) {
        environ = launch->env; /* execvp looks for the command in the task's own PATH */
        execvp(launch->argv[0], launch->argv);
    }
    int why = errno;
    if (write(report, &why, sizeof why) < 0) _exit(126);
    _exit(127);
}

/* @returns the error number when the command cannot be run, else 0 */
static int start_job(const struct launch *launch) {
    int out[2], err[2], report[2];
    if (pipe2(out, O_CLOEXEC) || pipe2(err, O_CLOEXEC) || pipe2(report, O_CLOEXEC)) return errno;
    job = fork();
    if (job < 0) return errno;
    if (job == 0) become_job(launch, out[1], err[1], report[1]);
    close(out[1]);
    close(err[1]);
    close(report[1]);
    int why = 0;
    while (read(report[0], &why, sizeof why) < 0 && errno == EINTR) continue;
    close(report[0]);
    logs[OUT].pipe = out[0];
    logs[ERR].pipe = err[0];
    fcntl(out[0], F_SETFL, O_NONBLOCK);
    fcntl(err[0], F_SETFL, O_NONBLOCK);
    return why;
}

static void describe(char *into, size_t room, int status) {
    if (WIFEXITED(status)) {
        snprintf(into, room, "\"code\":%d", WEXITSTATUS(status));
        return;
    }
    int s = WTERMSIG(status);
    const char *name = sigabbrev_np(s);
    if (name) snprintf(into, room, "\"signal\":\"SIG%s\"", name);
    else snprintf(into, room, "\"signal\":\"SIGRTMIN+%d\"", s - SIGRTMIN);
}

/* Until the main process has ended and its output is read, or nobody can be waited for any longer. */
static void supervise(int signals, int listener) {
    int64_t deadline = 0;
    for (;;) {
        if (job_done && logs[OUT].pipe < 0 && logs[ERR].pipe < 0) return;
        if (job_done && deadline == 0) deadline = now_ms(CLOCK_MONOTONIC) + DRAIN_MS;
        int64_t wait = job_done ? deadline - now_ms(CLOCK_MONOTONIC) : -1;
        if (job_done && wait <= 0) return;
        struct pollfd fds[4 + CLIENTS_MAX] = {{signals, POLLIN, 0}, {listener, POLLIN, 0}};
        fds[2] = (struct pollfd){logs[OUT].pipe, POLLIN, 0};
        fds[3] = (struct pollfd){logs[ERR].pipe, POLLIN, 0};
        for (int i = 0; i < CLIENTS_MAX; i++) fds[4 + i] = (struct pollfd){clients[i].fd, POLLIN, 0};
        if (poll(fds, 4 + CLIENTS_MAX, (int)wait) < 0) continue;
        if (fds[2].revents) drain(&logs[OUT]);
        if (fds[3].revents) drain(&logs[ERR]);
        for (int i = 0; i < CLIENTS_MAX; i++) {
            if (!fds[4 + i].revents || serve(&clients[i])) continue;
            close(clients[i].fd);
            clients[i].fd = -1;
        }
        if (fds[1].revents) welcome(listener);
        if (fds[0].revents) {
            struct signalfd_siginfo info;
            while (read(signals, &info, sizeof info) > 0) continue;
            bury();
        }
    }
}

static int block_signals(void) {
    sigset_t all;
    for (int s = 1; s < NSIG; s++) signal(s, SIG_DFL);
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL); /* only SIGKILL ends a shim; the task's signals come by the socket */
    sigset_t children;
    sigemptyset(&children);
    sigaddset(&children, SIGCHLD);
    return signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK);
}

static int claim(void) {
    char boot[64] = "", text[256];
    read_file("/proc/sys/kernel/random/boot_id", boot, sizeof boot);
    boot[strcspn(boot, "\n")] = 0;
    snprintf(text, sizeof text, "{\"v\":1,\"boot\":\"%s\",\"pid\":%d,\"start\":%" PRIu64 "}", boot, (int)getpid(),
             start_time(getpid()));
    return publish("claim", text, 0);
}

static void run(const char *name) {
    attempt = name;
    if (chdir(name)) _exit(2);
    setsid();
    umask(077);
    int null = open("/dev/null", O_RDWR);
    for (int fd = 0; fd < 3; fd++) dup2(null, fd);
    if (null > 2) close(null);
    int signals = block_signals();
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    prctl(PR_SET_NAME, "moorage-shim");
    for (int i = 0; i < CLIENTS_MAX; i++) clients[i].fd = -1;
    if (claim()) _exit(0); /* another shim has it, or the agent fenced it */
    struct launch launch = read_launch();
    int listener = listen_ctl();
    int why = start_job(&launch);
    if (why != 0) cannot_run(why);
    char text[128], how[64];
    snprintf(text, sizeof text, "{\"v\":1,\"pid\":%d,\"start\":%" PRIu64 ",\"atMs\":%" PRId64 "}", (int)job, start_time(job),
             now_ms(CLOCK_REALTIME));
    publish("started", text, 0);
    notify();
    supervise(signals, listener);
    int cut_short = logs[OUT].pipe >= 0 || logs[ERR].pipe >= 0;
    int left = kill_tree();
    drain(&logs[OUT]);
    drain(&logs[ERR]);
    int status = 0;
    while (waitpid(job, &status, 0) < 0 && errno == EINTR) continue;
    describe(how, sizeof how, status);
    publish_exit(how, cut_short, left);
    _exit(0);
}

static int is_plain(const char *name) {
    return name[0] && name[0] != '.' && !strchr(name, '/') && strlen(name) < 200;
}

static int spawner(void) {
    char *line = NULL;
    size_t room = 0;
    prctl(PR_SET_NAME, "moorage-spawner");
    signal(SIGCHLD, SIG_IGN); /* the kernel buries our shims; each of them takes this back for itself */
    signal(SIGPIPE, SIG_IGN);
    for (ssize_t n; (n = getline(&line, &room, stdin)) > 0;) {
        line[strcspn(line, "\n")] = 0;
        if (!is_plain(line)) continue;
        pid_t pid = fork();
        if (pid == 0) run(line);
        if (pid < 0) {
            printf("%s %d\n", line, errno);
            fflush(stdout);
        }
    }
    return 0;
}

int main(int argc, char **argv) {
    if (argc < 3) return 2;
    char attempts[4096];
    snprintf(attempts, sizeof attempts, "%s/attempts", argv[2]);
    if (chdir(attempts)) return 2;
    if (!strcmp(argv[1], "--spawner")) return spawner();
    if (strcmp(argv[1], "--run") || argc != 4 || !is_plain(argv[3])) return 2;
    run(argv[3]);
    return 2;
}
