import { z } from 'zod';
import { CHECK_STATES } from '../../core/host/report.ts';
import type { Shape } from '../codec/codec.ts';
import { schemaCodec, whole } from '../codec/codec.ts';
import { id } from '../api/api.ts';

export type { ShimLaunch } from './shim-launch.ts';
export { decodeLaunch, encodeLaunch } from './launch-codec.ts';

/**
 * The files in the folder of an attempt, `attempts/<allocation>.<task>.<n>`. The agent writes `spec.json` and `launch`, the
 * shim all others. `claim` and `exit` are made by link(2): the first writer wins. The agent may write `claim` as a fence,
 * and `exit` when no shim can.
 *
 *   spec.json   which attempt this is
 *   launch      for the shim: texts that each end in NUL, see `launch-codec.ts`
 *   claim       the shim that has this attempt
 *   ctl         its socket: frames of u32 length (LE) and a type byte, see `shim-frames.ts`
 *   started     the task's process
 *   out.*, err.*  output; the name's 16 hex digits are the offset of the file's first byte
 *   acks        a line `<sequence> <errno>` for each signal that was sent; of the thousands before those, `acks.older`
 *   exit        how it ended: written after the last byte of output
 *   health      what its health checks found last: the agent's
 *   unhealthy   why the agent ends it: a check for `alive` failed. Written before the first signal
 *   exec/<id>/  a command inside the task, under a shim of its own: the same files again
 */
export const ATTEMPT_FILES = {
  spec: 'spec.json',
  launch: 'launch',
  claim: 'claim',
  started: 'started',
  stopping: 'stopping',
  exit: 'exit',
  health: 'health',
  unhealthy: 'unhealthy',
  acks: 'acks',
  acksOlder: 'acks.older',
} as const;

/** Shims of a newer version may write more fields; they are ignored. */
const claim = z.union([
  z.object({ boot: z.string().min(1), pid: z.int().min(1), start: whole }),
  /** The agent took the claim, so that no shim ever runs this attempt. */
  z.object({ fenced: z.literal(true) }),
]);
export type ClaimRecord = Shape<typeof claim>;

/** The task's main process, which leads its own group and session. */
const started = z.object({ pid: z.int().min(1), start: whole, atMs: whole });
export type StartedRecord = Shape<typeof started>;

/** `run-max`: `runMaxMs` was over. `disconnect`: no agent renewed `stopAfterDisconnectMs`. */
const SHIM_STOPS = ['run-max', 'disconnect'] as const;

/** Which deadline made the shim stop its task: written before the first signal, so that no kill is without a reason. */
const stopping = z.object({ why: z.enum(SHIM_STOPS), atMs: whole });

/** Bytes that were not kept, up to the offset `to`. */
const hole = z.object({ stream: z.enum(['stdout', 'stderr']), from: whole, to: whole });
export type LogHole = Shape<typeof hole>;

const exit = z
  .object({
    code: z.exactOptional(whole.max(255)),
    signal: z.exactOptional(z.string().regex(/^SIG[A-Z0-9+]{1,12}$/)),
    lost: z.exactOptional(z.string()),
    /** Why the command could not be run at all: the system's error number. */
    execErrno: z.exactOptional(whole),
    /** The step that failed, for people: `cgroup /sys/…/cgroup.procs`, `exec`. */
    execStep: z.exactOptional(z.string()),
    /** Offsets after the last byte of output. */
    out: whole,
    err: whole,
    /** Bytes that were counted and not kept, because the disk was full. */
    dropped: z.exactOptional(whole),
    /** A process still held the output open after the main process had ended, and was killed. */
    cutShort: z.exactOptional(z.boolean()),
    /** Processes of the attempt that could not be killed in time. */
    left: z.exactOptional(whole),
    /** The first few ranges of `dropped`. They read as zeros, or as nothing where a whole file is missing. */
    holes: z.exactOptional(z.array(hole)),
    /** Which deadline of the launch made the shim stop it. */
    stoppedBy: z.exactOptional(z.enum(SHIM_STOPS)),
    /** From `unhealthy`, beside what the shim wrote: which check failed, and how. */
    unhealthy: z.exactOptional(z.string()),
    /** Kills by the kernel for memory since the start, by the launch's `oomFiles`. */
    oomKills: z.exactOptional(whole),
    /** Of all processes of the attempt that were waited for; `maxRssKib` is the largest of any one process. */
    usage: z.exactOptional(z.object({ userMs: whole, systemMs: whole, maxRssKib: whole })),
    atMs: whole,
    by: z.enum(['shim', 'agent']),
  })
  .refine(
    ({ code, signal, lost, execErrno }) =>
      [code, signal, lost, execErrno].filter((one) => one !== undefined).length === 1,
    { error: 'must say exactly one of code, signal, lost, execErrno' },
  );
export type ExitRecord = Shape<typeof exit>;

const health = z.object({
  checks: z.record(id, z.object({ state: z.enum(CHECK_STATES), sinceMs: whole, detail: z.string() })),
});
export type HealthRecord = Shape<typeof health>;

const unhealthy = z.object({ why: z.string(), atMs: whole });

const attempt = z.object({
  allocation: id,
  task: id,
  /** From 1. */
  number: z.int().min(1),
  bootId: z.string(),
  outBase: whole,
  errBase: whole,
  /** When this attempt began, wall clock. */
  atMs: whole,
  /** When this and earlier restarts began, as far back as the restart policy counts. */
  restartsAtMs: z.array(whole),
  /** Doublings of the restart delay so far; absent: none. */
  doublings: z.exactOptional(whole),
});
export type AttemptSpec = Shape<typeof attempt>;

export const claimFile = schemaCodec<ClaimRecord>('claim', claim);
export const startedFile = schemaCodec<StartedRecord>('started', started);
export const stoppingFile = schemaCodec<Shape<typeof stopping>>('stopping', stopping);
export const exitFile = schemaCodec<ExitRecord>('exit', exit);
export const healthFile = schemaCodec<HealthRecord>('health', health);
export const unhealthyFile = schemaCodec<Shape<typeof unhealthy>>('unhealthy', unhealthy);
export const attemptFile = schemaCodec<AttemptSpec>('attempt', attempt);

export function attemptName(allocation: string, task: string, number: number): string {
  return `${allocation}.${task}.${String(number)}`;
}

/**
 * The name of a command inside an attempt is the path of its folder in the attempt's; the processes port takes it in the
 * place of an attempt's name.
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
