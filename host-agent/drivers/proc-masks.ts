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
