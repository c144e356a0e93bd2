import { z } from 'zod';
import type { Exit } from '../../core/cell/allocation.ts';
import { schemaCodec, whole } from '../codec/schema-codec.ts';
import { id } from '../api/api.ts';

export type { ShimLaunch } from './shim-launch.ts';
export { decodeLaunch, encodeLaunch } from './launch-codec.ts';

/**
 * What lies in the folder of an attempt, `attempts/<allocation>.<task>.<n>`. The agent writes `spec.json` and `launch`, the
 * shim all else. `claim` and `exit` are made by link(2): the first writer wins, whoever it is. The agent may write `claim`
 * as a fence, and `exit` when nobody else can.
 *
 *   spec.json   which attempt this is
 *   launch      for the shim: texts that each end in NUL, see `launch-text.ts`
 *   claim       the shim that has this attempt
 *   ctl         its socket: frames of u32 length (LE) and a type byte, see `shim-frames.ts`
 *   started     the task's process
 *   out.*, err.*  output; the name's 16 hex digits are the offset of the file's first byte
 *   acks        a line `<sequence> <errno>` for each signal that was sent; of the thousands before those, `acks.older`
 *   exit        how it ended: written after the last byte of output
 *   exec/<id>/  a command inside the task, under a shim of its own: the same files again
 */
export const ATTEMPT_FILES = {
  spec: 'spec.json',
  launch: 'launch',
  claim: 'claim',
  started: 'started',
  stopping: 'stopping',
  exit: 'exit',
  acks: 'acks',
  acksOlder: 'acks.older',
} as const;

/** `fenced`: the agent took the claim, so that no shim ever runs this attempt. */
export type ClaimRecord =
  { readonly boot: string; readonly pid: number; readonly start: number } | { readonly fenced: true };

export interface StartedRecord {
  /** Of the task's main process, which leads its own group and session. */
  readonly pid: number;
  readonly start: number;
  readonly atMs: number;
}

/** Which deadline made the shim stop its task: written before the first signal, so that no kill is without a reason. */
export interface StoppingRecord {
  readonly why: (typeof SHIM_STOPS)[number];
  readonly atMs: number;
}

export interface ExitRecord extends Exit {
  /** Why the command could not be run at all: the system's error number. */
  readonly execErrno?: number;
  /** What could not be done, for people: `cgroup /sys/…/cgroup.procs`, `exec`. */
  readonly execStep?: string;
  /** Offsets after the last byte of output. */
  readonly out: number;
  readonly err: number;
  /** Bytes that were counted and not kept, because the disk was full. */
  readonly dropped?: number;
  /** Where: the first few ranges. They read as zeros, or as nothing where a whole file is missing. */
  readonly holes?: readonly LogHole[];
  /** Somebody still held the output open after the main process had ended, and was killed. */
  readonly cutShort?: boolean;
  /** Processes of the attempt that could not be killed in time. */
  readonly left?: number;
  /** Which deadline of the launch made the shim stop it. */
  readonly stoppedBy?: (typeof SHIM_STOPS)[number];
  /** Times that the kernel killed for memory since the start, by the launch's `oomFiles`. */
  readonly oomKills?: number;
  /** Of all processes of the attempt that were waited for. */
  readonly usage?: ShimUsage;
  readonly atMs: number;
  readonly by: 'shim' | 'agent';
}

/** `run-max`: `runMaxMs` was over. `disconnect`: nobody renewed `stopAfterDisconnectMs`. */
export const SHIM_STOPS = ['run-max', 'disconnect'] as const;

export interface LogHole {
  readonly stream: 'stdout' | 'stderr';
  readonly from: number;
  /** Offset after the last byte that was not kept. */
  readonly to: number;
}

export interface ShimUsage {
  readonly userMs: number;
  readonly systemMs: number;
  /** The largest of any one process. */
  readonly maxRssKib: number;
}

/** Shims of a newer version may say more; it is ignored. */
const claimShape: z.ZodType<ClaimRecord> = z.union([
  z.object({ boot: z.string().min(1), pid: z.int().min(1), start: whole }),
  z.object({ fenced: z.literal(true) }),
]);

const startedShape: z.ZodType<StartedRecord> = z.object({
  pid: z.int().min(1),
  start: whole,
  atMs: whole,
});

const stoppingShape: z.ZodType<StoppingRecord> = z.object({ why: z.enum(SHIM_STOPS), atMs: whole });

const exitShape: z.ZodType<ExitRecord> = z
  .object({
    code: z.exactOptional(whole.max(255)),
    signal: z.exactOptional(z.string().regex(/^SIG[A-Z0-9+]{1,12}$/)),
    lost: z.exactOptional(z.string()),
    execErrno: z.exactOptional(whole),
    execStep: z.exactOptional(z.string()),
    out: whole,
    err: whole,
    dropped: z.exactOptional(whole),
    cutShort: z.exactOptional(z.boolean()),
    left: z.exactOptional(whole),
    holes: z.exactOptional(
      z.array(z.object({ stream: z.enum(['stdout', 'stderr']), from: whole, to: whole })),
    ),
    stoppedBy: z.exactOptional(z.enum(SHIM_STOPS)),
    oomKills: z.exactOptional(whole),
    usage: z.exactOptional(z.object({ userMs: whole, systemMs: whole, maxRssKib: whole })),
    atMs: whole,
    by: z.enum(['shim', 'agent']),
  })
  .refine(
    (exit) =>
      [exit.code, exit.signal, exit.lost, exit.execErrno].filter((one) => one !== undefined).length === 1,
    {
      error: 'must say exactly one of code, signal, lost, execErrno',
    },
  );

export const claimFile = schemaCodec('claim', claimShape);
export const startedFile = schemaCodec('started', startedShape);
export const stoppingFile = schemaCodec('stopping', stoppingShape);
export const exitFile = schemaCodec('exit', exitShape);

/** Which attempt this is. */
export interface AttemptSpec {
  readonly allocation: string;
  readonly task: string;
  /** From 1. */
  readonly number: number;
  readonly bootId: string;
  readonly outBase: number;
  readonly errBase: number;
  /** When this attempt was begun, wall clock. */
  readonly atMs: number;
  /** When this and earlier restarts were begun, as far back as the restart policy looks. */
  readonly restartsAtMs: readonly number[];
  /** Doublings of the restart delay so far; absent: none. */
  readonly doublings?: number;
}

const attemptShape: z.ZodType<AttemptSpec> = z.object({
  allocation: id,
  task: id,
  number: z.int().min(1),
  bootId: z.string(),
  outBase: whole,
  errBase: whole,
  atMs: whole,
  restartsAtMs: z.array(whole),
  doublings: z.exactOptional(whole),
});

export const attemptFile = schemaCodec('attempt', attemptShape);

export function attemptName(allocation: string, task: string, number: number): string {
  return `${allocation}.${task}.${String(number)}`;
}

/**
 * A command inside an attempt has a folder in the attempt's, and goes by its path: wherever an attempt is named to the
 * processes port, such a name does too.
 */
export function execName(attempt: string, commandId: string): string {
  return `${attempt}/exec/${commandId}`;
}

/** @returns null for the name of an attempt itself */
export function parseExecName(name: string): { attempt: string; commandId: string } | null {
  const parts = /^([a-z0-9.-]+)\/exec\/([A-Za-z0-9][A-Za-z0-9._-]{0,79})$/.exec(name);
  return parts === null ? null : { attempt: parts[1] ?? '', commandId: parts[2] ?? '' };
}

/** @returns null for a name that is no attempt's */
export function parseAttemptName(name: string): { allocation: string; task: string; number: number } | null {
  const parts = /^([a-z0-9-]+)\.([a-z0-9-]+)\.([1-9][0-9]{0,8})$/.exec(name);
  if (parts === null) return null;
  return { allocation: parts[1] ?? '', task: parts[2] ?? '', number: Number(parts[3]) };
}

/** File name of an output segment whose first byte has this offset. */
export function segmentName(stream: 'stdout' | 'stderr', offset: number): string {
  return `${stream === 'stdout' ? 'out' : 'err'}.${offset.toString(16).padStart(16, '0')}`;
}

/** @returns the offset of the segment's first byte; null for other files and the other stream */
export function segmentOffset(stream: 'stdout' | 'stderr', name: string): number | null {
  const digits = /^(out|err)\.([0-9a-f]{16})$/.exec(name);
  if (digits === null || digits[1] !== (stream === 'stdout' ? 'out' : 'err')) return null;
  return parseInt(digits[2] ?? '', 16);
}
