import { z } from 'zod';
import type { Exit } from '../core/allocation.ts';
import { schemaCodec } from './schema-codec.ts';
import { id, whole } from './launch-schema.ts';

/**
 * What lies in the folder of an attempt, `attempts/<allocation>.<task>.<n>`. The agent writes `spec.json` and `launch`, the
 * shim all else. `claim` and `exit` are made by link(2): the first writer wins, whoever it is. The agent may write `claim`
 * as a fence, and `exit` when nobody else can.
 *
 *   spec.json   which attempt this is
 *   launch      for the shim: texts that each end in NUL, see `encodeLaunch`
 *   claim       the shim that has this attempt
 *   ctl         its socket: frames of u32 length (LE) and a type byte, see `shim.c`
 *   started     the task's process
 *   out.*, err.*  output; the name's 16 hex digits are the offset of the file's first byte
 *   exit        how it ended: written after the last byte of output
 */
export const ATTEMPT_FILES = {
  spec: 'spec.json',
  launch: 'launch',
  claim: 'claim',
  started: 'started',
  exit: 'exit',
} as const;

export interface ShimLaunch {
  readonly cwd: string;
  /** Offsets at which output begins: where the task's previous attempt ended. */
  readonly outBase: number;
  readonly errBase: number;
  readonly segmentBytes: number;
  readonly segmentsMax: number;
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

const LAUNCH_VERSION = '1';

/** No text may contain NUL; requests with one were refused at the door. */
export function encodeLaunch(launch: ShimLaunch): string {
  const env = Object.entries(launch.env).map(([name, value]) => `${name}=${value}`);
  const texts = [
    LAUNCH_VERSION,
    launch.cwd,
    String(launch.outBase),
    String(launch.errBase),
    String(launch.segmentBytes),
    String(launch.segmentsMax),
    String(launch.command.length),
    ...launch.command,
    String(env.length),
    ...env,
  ];
  return texts.map((text) => `${text}\0`).join('');
}

/** @throws when the text is no launch of this version */
export function decodeLaunch(text: string): ShimLaunch {
  const texts = text.split('\0');
  let at = 0;
  const next = (): string => {
    const found = texts[at++];
    if (found === undefined) throw new Error('launch file cut short');
    return found;
  };
  const several = (): string[] => Array.from({ length: Number(next()) }, next);
  if (next() !== LAUNCH_VERSION) throw new Error('launch file of another version');
  const cwd = next();
  const [outBase, errBase, segmentBytes, segmentsMax] = [next(), next(), next(), next()].map(Number) as [
    number,
    number,
    number,
    number,
  ];
  const command = several();
  const env = Object.fromEntries(
    several().map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]),
  );
  return { cwd, outBase, errBase, segmentBytes, segmentsMax, command, env };
}

/** `fenced`: the agent took the claim, so that no shim ever runs this attempt. */
export type ClaimRecord =
  { readonly boot: string; readonly pid: number; readonly start: number } | { readonly fenced: true };

export interface StartedRecord {
  /** Of the task's main process, which leads its own group and session. */
  readonly pid: number;
  readonly start: number;
  readonly atMs: number;
}

export interface ExitRecord extends Exit {
  /** Why the command could not be run at all: the system's error number. */
  readonly execErrno?: number;
  /** Offsets after the last byte of output. */
  readonly out: number;
  readonly err: number;
  /** Bytes that were counted and not kept, because the disk was full. */
  readonly dropped?: number;
  /** Somebody still held the output open after the main process had ended, and was killed. */
  readonly cutShort?: boolean;
  /** Processes of the attempt that could not be killed in time. */
  readonly left?: number;
  readonly atMs: number;
  readonly by: 'shim' | 'agent';
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

const exitShape: z.ZodType<ExitRecord> = z
  .object({
    code: z.exactOptional(whole.max(255)),
    signal: z.exactOptional(z.string().regex(/^SIG[A-Z0-9+]{1,12}$/)),
    lost: z.exactOptional(z.string()),
    execErrno: z.exactOptional(whole),
    out: whole,
    err: whole,
    dropped: z.exactOptional(whole),
    cutShort: z.exactOptional(z.boolean()),
    left: z.exactOptional(whole),
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
});

export const attemptFile = schemaCodec('attempt', attemptShape);

export function attemptName(allocation: string, task: string, number: number): string {
  return `${allocation}.${task}.${String(number)}`;
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
