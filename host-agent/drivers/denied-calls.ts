import type { DeniedCall } from '../../src/wire/host-files/shim-launch.ts';

const [EPERM, ENOSYS] = [1, 38];
const WHOLE = 0xffff_ffff;

/** Of a call's flags, each bit that makes a namespace: mount, cgroup, uts, ipc, user, pid, net. */
const NEW_NAMESPACES = [17, 25, 26, 27, 28, 29, 30].map((bit) => 2 ** bit);
/** Addresses that reach past the container's network: the kernel's crypto, and the machine under a virtual one. */
const SOCKET_FAMILIES = { alg: 38, vsock: 40 };
/** Typing into a terminal that somebody else reads. */
const TERMINAL_REQUESTS = { TIOCSTI: 0x5412, TIOCLINUX: 0x541c };

/**
 * What containers have no use for and what, by the record of its past holes, is a way out of them: the calls that Docker's
 * profile denies to a container without capabilities, and io_uring. Said as what is denied and not as what is allowed, so
 * that a new call of the kernel's does not break programs; those that need a capability fail without one in any case.
 */
const ALWAYS = [
  // Mounts, namespaces, roots.
  ...['mount', 'umount2', 'pivot_root', 'setns', 'unshare', 'open_tree', 'move_mount', 'mount_setattr'],
  ...['fsopen', 'fsconfig', 'fsmount', 'fspick', 'name_to_handle_at', 'open_by_handle_at', 'fanotify_init'],
  // The kernel itself: modules, other kernels, programs in it, its log, its keys.
  ...['init_module', 'finit_module', 'delete_module', 'create_module', 'query_module', 'get_kernel_syms'],
  ...['kexec_load', 'kexec_file_load', 'bpf', 'perf_event_open', 'syslog', 'lookup_dcookie', 'nfsservctl'],
  ...['keyctl', 'add_key', 'request_key', 'userfaultfd', 'io_uring_setup', 'io_uring_enter'],
  ...['io_uring_register', 'uselib', 'ustat', 'sysfs', '_sysctl', 'personality'],
  // The machine: clock, ports, swap, quotas, accounts, power.
  ...['settimeofday', 'clock_settime', 'clock_adjtime', 'ioperm', 'iopl', 'swapon', 'swapoff', 'quotactl'],
  ...['quotactl_fd', 'acct', 'reboot', 'vhangup'],
  // Other processes by their descriptors.
  ...['kcmp', 'pidfd_getfd', 'process_madvise'],
];

const SOMETIMES: readonly DeniedCall[] = [
  ...NEW_NAMESPACES.map((bit) => denied('clone', 0, bit, bit)),
  ...Object.values(SOCKET_FAMILIES).map((family) => denied('socket', 0, WHOLE, family)),
  ...Object.values(TERMINAL_REQUESTS).map((request) => denied('ioctl', 1, WHOLE, request)),
];

function denied(call: string, argument: number, mask: number, value: number): DeniedCall {
  return { call, errno: EPERM, when: { argument, mask, value } };
}

/** What no container may ask of the kernel, and no command inside one. */
export const DENIED_CALLS: readonly DeniedCall[] = [
  ...ALWAYS.map((call) => ({ call, errno: EPERM })),
  // Its flags lie in memory, where no filter can see them; programs fall back to `clone`.
  { call: 'clone3', errno: ENOSYS },
  ...SOMETIMES,
];

/** `linux.seccomp` of a bundle. Calls of another architecture than the machine's own are killed, as is the default. */
export function seccompOf(calls: readonly DeniedCall[]): object {
  return {
    defaultAction: 'SCMP_ACT_ALLOW',
    syscalls: calls.map(({ call, errno, when }) => ({
      names: [call],
      action: 'SCMP_ACT_ERRNO',
      errnoRet: errno,
      ...(when === undefined
        ? {}
        : {
            args: [
              {
                index: when.argument,
                value: when.mask,
                valueTwo: when.value,
                op: 'SCMP_CMP_MASKED_EQ',
              },
            ],
          }),
    })),
  };
}

/**
 * What a container could do to its machine, read of it, or guess of its neighbours, by way of /proc and /sys: the same as
 * other runtimes cover.
 */
export const READ_ONLY_PATHS = ['/proc/bus', '/proc/fs', '/proc/irq', '/proc/sys', '/proc/sysrq-trigger'];

export const MASKED_PATHS = [
  ...['acpi', 'asound', 'interrupts', 'kcore', 'keys', 'latency_stats', 'sched_debug', 'scsi'].map(
    (name) => `/proc/${name}`,
  ),
  ...['/proc/timer_list', '/proc/timer_stats', '/sys/firmware', '/sys/devices/virtual/powercap'],
];
