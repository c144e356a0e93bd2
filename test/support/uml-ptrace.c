/*
 * Preloaded into user-mode Linux, which asks for a process's vector registers in a buffer of fixed size. The kernel takes
 * them back only in full, and on processors with larger ones (AMX) that buffer is too small: every program inside would die
 * at its start. So what is asked for is cut from the whole, and what is given back is laid over it.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

static _Alignas(64) unsigned char whole[65536];

long ptrace(enum __ptrace_request request, ...) {
    static long (*real)(enum __ptrace_request, pid_t, void *, void *);
    if (!real) real = dlsym(RTLD_NEXT, "ptrace");
    va_list rest;
    va_start(rest, request);
    pid_t pid = va_arg(rest, pid_t);
    void *address = va_arg(rest, void *), *data = va_arg(rest, void *);
    va_end(rest);
    int get = request == PTRACE_GETREGSET, set = request == PTRACE_SETREGSET;
    if ((!get && !set) || (unsigned long)address != NT_X86_XSTATE) return real(request, pid, address, data);
    struct iovec *asked = data, full = {whole, sizeof whole};
    long done = real(PTRACE_GETREGSET, pid, address, &full);
    if (done < 0) return done;
    size_t length = asked->iov_len < full.iov_len ? asked->iov_len : full.iov_len;
    if (set) {
        memcpy(whole, asked->iov_base, length);
        return real(request, pid, address, &full);
    }
    memcpy(asked->iov_base, whole, length);
    asked->iov_len = length;
    return done;
}
