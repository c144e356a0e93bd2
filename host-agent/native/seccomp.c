/*
 * Calls that a command is not to make, as a filter that neither it nor any descendant can take off. Whoever orders it names
 * the calls (`deny`, see docs/shim-protocol.md); their numbers are known here. What is neither of this machine's own
 * architecture nor in its own numbering is killed: the list says nothing about it.
 */
#define _GNU_SOURCE
#include "shim.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined __x86_64__
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined __aarch64__
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#else
#define ARCHITECTURE 0 /* then no filter can be made, and what wants one is not started */
#endif
#define OTHER_NUMBERING 0x40000000 /* x32 */

/* Newer than some headers; the same number everywhere. */
#ifndef SYS_mount_setattr
#define SYS_mount_setattr 442
#endif
#ifndef SYS_quotactl_fd
#define SYS_quotactl_fd 443
#endif

#define CALL(name) {#name, SYS_##name}
static const struct {
    const char *name;
    int number; /* -1: this architecture has none */
} CALLS[] = {
    CALL(acct), CALL(add_key), CALL(bpf), CALL(clock_adjtime), CALL(clock_settime), CALL(clone), CALL(clone3),
    CALL(delete_module), CALL(fanotify_init), CALL(finit_module), CALL(fsconfig), CALL(fsmount), CALL(fsopen),
    CALL(fspick), CALL(init_module), CALL(io_uring_enter), CALL(io_uring_register), CALL(io_uring_setup), CALL(ioctl),
    CALL(kcmp), CALL(kexec_file_load), CALL(kexec_load), CALL(keyctl), CALL(lookup_dcookie), CALL(mount),
    CALL(mount_setattr), CALL(move_mount), CALL(name_to_handle_at), CALL(open_by_handle_at), CALL(open_tree),
    CALL(perf_event_open), CALL(personality), CALL(pidfd_getfd), CALL(pivot_root), CALL(process_madvise), CALL(quotactl),
    CALL(quotactl_fd), CALL(reboot), CALL(request_key), CALL(setns), CALL(settimeofday), CALL(socket), CALL(swapoff),
    CALL(swapon), CALL(syslog), CALL(umount2), CALL(unshare), CALL(userfaultfd), CALL(vhangup),
#ifdef __x86_64__
    CALL(create_module), CALL(get_kernel_syms), CALL(ioperm), CALL(iopl), CALL(nfsservctl), CALL(query_module),
    CALL(sysfs), CALL(_sysctl), CALL(uselib), CALL(ustat),
#else
    {"create_module", -1}, {"get_kernel_syms", -1}, {"ioperm", -1}, {"iopl", -1}, {"nfsservctl", -1},
    {"query_module", -1}, {"sysfs", -1}, {"_sysctl", -1}, {"uselib", -1}, {"ustat", -1},
#endif
};

static int number_of(int report, const char *name) {
    for (size_t i = 0; i < sizeof CALLS / sizeof *CALLS; i++)
        if (!strcmp(CALLS[i].name, name)) return CALLS[i].number;
    fail(report, EINVAL, "deny", name);
    return -1;
}

static struct sock_filter *program;
static unsigned short length;

static void put(struct sock_filter step) { program[length++] = step; }

/* The low half of what the kernel says of the call: for numbers, and for arguments that are an int. */
static void load(size_t offset) { put((struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned)offset)); }

static void deny(int report, const char *text) {
    char name[32];
    unsigned why = 0, argument = 0, mask = 0, value = 0;
    int words = sscanf(text, "%31[a-z0-9_]:%u:%u:%u:%u", name, &why, &argument, &mask, &value);
    if ((words != 2 && words != 5) || argument > 5 || why == 0 || why > SECCOMP_RET_DATA) fail(report, EINVAL, "deny", text);
    int number = number_of(report, name), more = words == 5;
    if (number < 0) return;
    load(offsetof(struct seccomp_data, nr));
    put((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)number, 0, more ? 4 : 1));
    if (more) {
        load(offsetof(struct seccomp_data, args) + argument * sizeof(uint64_t));
        put((struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, mask));
        put((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1));
    }
    put((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | why));
}

#define STEPS_OF_ONE 6
#define STEPS_MORE 8

/* @returns 0 when nothing is denied */
static int make_program(int report) {
    char **calls = launch_list("deny");
    size_t count = 0;
    while (calls[count]) count++;
    if (count == 0) return 0;
    if (ARCHITECTURE == 0) fail(report, ENOSYS, "deny", "on this architecture");
    program = calloc(count * STEPS_OF_ONE + STEPS_MORE, sizeof *program);
    if (!program || count > BPF_MAXINSNS / STEPS_OF_ONE - STEPS_MORE) fail(report, ENOMEM, "deny", "");
    load(offsetof(struct seccomp_data, arch));
    put((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0));
    put((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS));
    load(offsetof(struct seccomp_data, nr));
    put((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, OTHER_NUMBERING, 0, 1));
    put((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS));
    for (size_t i = 0; i < count; i++) deny(report, calls[i]);
    put((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    return 1;
}

/* For a command that makes a sandbox: it needs the calls itself, and takes the filter for what it then runs. */
static void hand_over(int report, int at) {
    size_t bytes = length * sizeof *program;
    int fd = memfd_create("calls", 0);
    if (fd < 0 || write(fd, program, bytes) != (ssize_t)bytes || lseek(fd, 0, SEEK_SET) || (fd != at && dup2(fd, at) < 0))
        fail(report, errno, "deny", "the filter's file");
    if (fd != at) close(fd);
}

void deny_calls(int report) {
    if (!make_program(report)) return;
    int64_t at = launch_number("deny.fd", -1);
    if (at >= 0) {
        hand_over(report, (int)at);
        return;
    }
    struct sock_fprog filter = {length, program};
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0)) fail(report, errno, "deny", "the filter");
}
