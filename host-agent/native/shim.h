/*
 * moorage-shim: the parent of one attempt at a task. It outlives the agent that asked for it.
 *
 *   moorage-shim --run STATE ATTEMPT          be the shim of one attempt
 *   moorage-shim --try FOLDER UID [view]      can a task have a user, and a view, of its own here?
 *   moorage-shim --try-ids FOLDER FIRST COUNT can it have a range of them, and an image's files as its root?
 *   moorage-shim --spawner STATE [PROCS...]   read attempt names, one a line, and fork a shim for each; ends with its input
 *
 * STATE/attempts/ATTEMPT holds what docs/shim-protocol.md describes. One process, one thread, one poll loop; everything
 * that can wait does not block, so that a task that floods its output and an agent that sends nonsense cannot starve
 * each other.
 */
#ifndef MOORAGE_SHIM_H
#define MOORAGE_SHIM_H

#include <inttypes.h>
#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PROTOCOL_VERSION 2
#define CHUNK 65536 /* a pipe's whole content; also stdin and output in one frame */
#define NEVER INT64_MAX

/* ---- files.c: small files, and facts that are made once ---- */

int64_t now_ms(void);      /* monotonic */
int64_t wall_ms(void);     /* since 1970 */
ssize_t read_file(const char *path, char *into, size_t room);
int write_file(const char *path, const char *text); /* 0, or an errno */
uint64_t start_time(pid_t pid);                     /* field 22 of /proc/PID/stat; 0 when there is none */
int publish(const char *name, const char *text);    /* the first writer of a name wins: 0, or -1 */
void reserve_exit(void);                            /* room for `exit`, kept while the disk fills up */
int publish_exit_text(const char *text);            /* durable; 0, also when somebody was earlier, or -1 */
int is_deserted(void);
void notify(const char *attempt);                   /* tells whoever watches `events` */

/* ---- launch.c: the order ---- */

void read_launch(void);
const char *launch_text(const char *name, const char *otherwise);
int64_t launch_number(const char *name, int64_t otherwise);
const char *launch_next(const char *name, size_t *cursor); /* each value of a name; NULL after the last */
char **launch_list(const char *name);                      /* NULL-terminated, from the heap */

/* ---- logs.c: output in bounded files named by offset ---- */

enum { OUT, ERR };

struct log {
    const char *prefix;
    int pipe;            /* -1 after its end */
    int fd;              /* of the newest segment; -1 when there is none */
    uint64_t base, size; /* of the newest segment */
    uint64_t dropped;    /* bytes that were counted and not kept */
};

extern struct log logs[2];

void open_logs(void);
void drain(struct log *log); /* what the pipe holds now */
void sync_logs(void);
void describe_holes(char *into, size_t room);
static inline uint64_t log_end(const struct log *log) { return log->base + log->size; }

/* ---- input.c: stdin by offset ---- */

struct input {
    int fd;        /* -1: nobody reads, or the end was passed on */
    uint64_t next; /* offset from which bytes are taken */
    size_t have;   /* bytes taken and not yet passed on */
    int ending;    /* the end was said */
};

extern struct input input;

int input_take(uint64_t offset, const unsigned char *bytes, size_t length); /* an errno, 0 also for a part */
int input_end(uint64_t offset);
void input_flush(void);

/* ---- pty.c ---- */

extern uint16_t pty_rows, pty_columns;
extern int pty_master; /* -1 without a terminal */

int open_pty(void); /* @returns the task's side, -1 with errno */
int resize_pty(uint16_t rows, uint16_t columns);
size_t pty_eof(unsigned char into[2]); /* what is typed to end the input */
extern int pty_midline;                /* the last byte typed ended no line */

/* ---- start.c, context.c, apart.c, seccomp.c: from an order to a process ---- */

extern pid_t job;    /* the task's main process; kept unburied to the very end, so that its number stays its own */
extern int job_done;
extern int adopting; /* a container was made and its start is awaited: it may end first, and is not to be buried */
extern const char *attempt;

void start_job(void);               /* gives up when it cannot */
pid_t spawn(char *const *argv);     /* a child with the launch's context and stdio; 0 when it gave up */
void close_task_ends(void);         /* of pipes and terminal: from now on only the task holds them */
void adopt_container(void);

struct verdict { /* from the child to the shim, over a pipe that exec closes */
    int why;     /* an errno; 0: this only tells the number of the process that goes on */
    pid_t pid;
    char step[220];
};

void fail(int report, int why, const char *step, const char *detail);
pid_t fork_into_group(void);
void enter_context(int report); /* groups, limits, namespaces; may return in another process than it was called in */
void drop_privileges(int report);
/* Gives the user its folders below this one; with a view of its own it sees no others. Needs root. */
void go_apart(int report, const char *folder, uid_t uid, gid_t gid, int view);
/* ---- mounts.c: @returns descriptors; of mounts: at no place yet ---- */

#define FOLDER_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

int tree_of(int report, const char *path);                      /* of this folder or file, not of what is mounted below */
int tree_for_ids(int report, const char *path, int userns);     /* its owners are seen as that namespace's */
int make_mount(int report, const char *type, const char *const *options, unsigned flags); /* names and values, then NULL */
void put_mount(int report, int tree, int at, const char *path); /* closes both */
int make_way(int report, const char *path);                     /* to a folder, made where it is missing; absolute, no links */

/* ---- ids.c, rootfs.c: root in a namespace, and the root it has there ---- */

struct ids { /* 0 to count - 1 inside */
    uint32_t first, count;
};

struct rootfs { /* mounts at no place yet */
    int image, layer;
};

int read_ids(int report, struct ids *ids); /* @returns 0 when none are ordered */
int make_user_namespace(int report, const struct ids *ids); /* @returns a descriptor of it; nobody is in it */
void enter_ids(int report);                                  /* when that is ordered */
int try_ids(const char *folder, uint32_t first, uint32_t count); /* as try_apart; in the folder lie `image`, with anything in it, and an empty `layer` */
struct rootfs open_rootfs(int report, const char *image, const char *layer, int userns, const struct ids *ids);
void lay_rootfs(int report, const struct rootfs *root, const char *folder, const char *at);

void drop_keys(int report);
void drop_capabilities(int report);
int try_in_child(void (*attempt)(int report, const void *what), const void *what); /* 0: it can be done here; else says what cannot */
int try_apart(const char *folder, uid_t uid, int view); /* what a task of this user would be given, by try_in_child */
void deny_calls(int report); /* seccomp.c: the last step of all, since it may deny what the others need */
int watch_joined(void); /* a descriptor that becomes readable when the process joined has ended; -1 without one */

/* ---- kill.c ---- */

int kill_round(void); /* one attempt at killing everything; @returns how many it saw */
int kill_tree(void);  /* until nothing is left; @returns what is left when that took too long */
int freeze(int on);
int signal_job(int number);
void bury(void); /* orphans at once, the main process never */
extern int frozen;

/* ---- signals.c: each signal once, by sequence ---- */

extern uint64_t signal_last;
int signal_once(uint64_t sequence, uint32_t number); /* an errno, the same when asked again */
int signal_named(const char *name);                  /* "SIGTERM", "SIGRTMIN+3"; 0 when there is none */
void name_signal(int number, char *into, size_t room);

/* ---- deadlines.c: what happens without an agent ---- */

extern int64_t run_ends, disconnect_ends;
extern const char *stopped_by; /* NULL, "run-max", "disconnect" */
extern int stopping;

void arm_deadlines(void);
void renew(uint64_t for_ms);
void kill_until_done(void);
void tick(void);            /* does what is due */
int64_t next_tick_ms(void); /* until when nothing is; NEVER */

/* ---- frames.c: the talk with agents, see src/wire/host-files/shim-frames.ts ---- */

#define CLIENTS_MAX 32 /* an agent, those that died a moment ago, and people who look on; the quietest makes room */

void listen_ctl(void);
void close_ctl(void);
size_t poll_ctl(struct pollfd *fds);         /* fills in CLIENTS_MAX + 1 */
void serve_ctl(const struct pollfd *fds);
void push_output(int stream, uint64_t offset, const unsigned char *bytes, size_t length);

/* ---- supervise.c, finish.c ---- */

extern int child_signals; /* a signalfd */

void supervise(int drained); /* until the main process has ended and, if asked, its output is read */
void announce_started(void);
void give_up(int why, const char *step) __attribute__((noreturn));
void finish(void) __attribute__((noreturn));
void begin_accounts(void);

/* ---- spawner.c ---- */

void run(const char *name) __attribute__((noreturn));
int spawner(char **procs);
int is_attempt(const char *name);

#endif
