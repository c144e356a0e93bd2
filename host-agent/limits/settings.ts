import type { CgroupValue } from '../../src/ports/cgroups.ts';
import type { DeviceNode, Limited, Limits } from './limits.ts';

type Settings = (limits: Limits, device: string | null) => readonly CgroupValue[];

const MIB = 1024 * 1024;
const PERIOD_US = 100_000;
/** The kernel's least quota. */
const QUOTA_US_MIN = 1_000;
const [SHARES_MIN, SHARES_MAX] = [2, 262_144];
const [WEIGHT_MIN, WEIGHT_MAX] = [1, 10_000];

/** What is written where for each resource, in this order: memory before memory and swap, which may not be less. */
export const V1_SETTINGS: Readonly<Record<Limited, Settings>> = {
  memory: (limits) => [
    { file: 'memory.limit_in_bytes', text: bytesText(limits.memoryMaxMib, '-1') },
    { file: 'memory.memsw.limit_in_bytes', text: bytesText(limits.memoryMaxMib, '-1'), mayLack: true },
  ],
  cpu: (limits) => [
    { file: 'cpu.shares', text: String(sharesOf(limits.cpuMilli)) },
    { file: 'cpu.cfs_period_us', text: String(PERIOD_US) },
    { file: 'cpu.cfs_quota_us', text: quotaText(limits.cpuMaxMilli, '-1') },
  ],
  pids: (limits) => [{ file: 'pids.max', text: numberText(limits.pidsMax) }],
  io: ({ ioReadBytes, ioWriteBytes }, device) => [
    ...throttle('blkio.throttle.read_bps_device', ioReadBytes, device),
    ...throttle('blkio.throttle.write_bps_device', ioWriteBytes, device),
  ],
  devices: ({ devices }) => (devices === undefined ? [] : deviceRules(devices)),
};

export const V2_SETTINGS: Readonly<Record<Limited, Settings>> = {
  memory: (limits) => [
    { file: 'memory.max', text: bytesText(limits.memoryMaxMib, 'max') },
    { file: 'memory.high', text: bytesText(limits.memoryHighMib, 'max') },
    // Without swap a task that has reached its limit ends, instead of dragging the disk down with it.
    { file: 'memory.swap.max', text: limits.memoryMaxMib === null ? 'max' : '0', mayLack: true },
    // A task that has lost one process to its limit is no longer whole: all of it ends, and ends as such.
    { file: 'memory.oom.group', text: '1' },
  ],
  cpu: (limits) => [
    { file: 'cpu.weight', text: String(weightOf(limits.cpuMilli)) },
    { file: 'cpu.max', text: `${quotaText(limits.cpuMaxMilli, 'max')} ${String(PERIOD_US)}` },
  ],
  pids: (limits) => [{ file: 'pids.max', text: numberText(limits.pidsMax) }],
  io: ({ ioReadBytes, ioWriteBytes }, device) =>
    device === null || (ioReadBytes === null && ioWriteBytes === null)
      ? []
      : [
          {
            file: 'io.max',
            text: `${device} rbps=${numberText(ioReadBytes)} wbps=${numberText(ioWriteBytes)}`,
          },
        ],
  devices: () => [],
};

/** `null`, `zero`, `full`, `random`, `urandom`, `tty`, `console`, `ptmx` and terminals: programs count on them. */
const COMMON_DEVICES = ['1:3', '1:5', '1:7', '1:8', '1:9', '5:0', '5:1', '5:2', '136:*'];

/** First nothing, then what is allowed; to make its node too, which is how a runtime brings a device into its container. */
function deviceRules(devices: readonly DeviceNode[]): readonly CgroupValue[] {
  const own = devices.map(({ type, major, minor }) => `${type} ${String(major)}:${String(minor)}`);
  const allowed = [...COMMON_DEVICES.map((numbers) => `c ${numbers}`), ...own];
  return [
    { file: 'devices.deny', text: 'a' },
    ...allowed.map((one) => ({ file: 'devices.allow', text: `${one} rwm` })),
  ];
}

/** 1,024 shares for a core, as everybody counts them. */
function sharesOf(milli: number): number {
  return within(Math.round((milli * 1024) / 1000), SHARES_MIN, SHARES_MAX);
}

/** The same share on the scale of v2, by the formula that all container runtimes use. */
function weightOf(milli: number): number {
  const part = (sharesOf(milli) - SHARES_MIN) / (SHARES_MAX - SHARES_MIN);
  return within(Math.floor(WEIGHT_MIN + part * (WEIGHT_MAX - WEIGHT_MIN)), WEIGHT_MIN, WEIGHT_MAX);
}

function quotaText(milli: number | null, unlimited: string): string {
  return milli === null ? unlimited : String(Math.max(QUOTA_US_MIN, Math.round((milli * PERIOD_US) / 1000)));
}

function bytesText(mib: number | null, unlimited: string): string {
  return mib === null ? unlimited : String(mib * MIB);
}

function numberText(value: number | null): string {
  return value === null ? 'max' : String(value);
}

function throttle(file: string, bytes: number | null, device: string | null): CgroupValue[] {
  return bytes === null || device === null ? [] : [{ file, text: `${device} ${String(bytes)}` }];
}

function within(value: number, least: number, most: number): number {
  return Math.min(most, Math.max(least, value));
}
