import { HttpError } from '../ports/http.ts';
import { ndjson, NdjsonError } from '../core/json/ndjson.ts';
import type { LogStream } from '../wire/api/host-api.ts';
import { LOG_OFFSET_HEADER } from '../wire/api/host-api.ts';
import type { CellEvent } from '../wire/api/monitor-api.ts';
import { LOG_ALLOCATION_HEADER, REVISION_HEADER } from '../wire/api/monitor-api.ts';
import type { NameFrame, NamesWanted } from '../wire/api/names-api.ts';
import { NAMES_SILENCE_MS } from '../wire/api/names-api.ts';
import { ProblemError } from '../wire/api/problem.ts';
import type { JobRef } from './monitor-paths.ts';
import { pathOf, query } from './monitor-paths.ts';
import type { MonitorCall, MonitorFailover } from './monitor-failover.ts';

export interface LogCall {
  readonly stream: LogStream;
  readonly group?: string;
  readonly index?: number;
  readonly allocation?: string;
  readonly task?: string;
  /** Of the first byte wanted. Default 0. */
  readonly offset?: number;
  /** The allocation whose bytes `offset` counts, when the slot may have another one by now. Default: the one that there is. */
  readonly offsetOf?: string;
  /** Wait for the start, and end with the allocation; otherwise return what is there now. */
  readonly follow: boolean;
  readonly signal?: AbortSignal;
  /**
   * Longer silence, before or within the answer, counts as a dead connection, though the task may have no output or not have
   * started. Default 60 s.
   */
  readonly silenceMs?: number;
  /**
   * Called when a connection broke, no monitor can answer now, or one does not know the allocation yet. @returns, after a wait of its own, whether
   * to resume from the last byte at another monitor. Default: as many times in a row as there are monitors.
   */
  readonly resume?: (trouble: LogTrouble) => Promise<boolean>;
}

export interface LogTrouble {
  readonly error: Error;
  /** The stream had begun: a task without output looks like a dead connection. */
  readonly wasOpen: boolean;
  /** Bytes came since the last trouble. */
  readonly progressed: boolean;
}

export interface LogPart {
  /** Of the chunk's first byte: larger than the end of the one before when older bytes were given up. */
  readonly offset: number;
  /** The allocation that wrote it. */
  readonly allocation: string | null;
  readonly chunk: Uint8Array;
}

export interface EventsCall {
  readonly follow: boolean;
  /** Ends after so many; the next ones come since the last of them. */
  readonly limit?: number;
  readonly signal?: AbortSignal;
  /** Longer silence is a dead connection; a monitor sends a beat every 15 s. Default 45 s. */
  readonly idleTimeoutMs?: number;
  /** Called before the first event with the monitor's present position, to resume from (`EventCursor.began`). */
  readonly onBegin?: (place: string) => void;
}

/** Longer than a monitor waits for a start. */
const LOG_SILENCE_MS = 60_000;
/** A monitor sends a beat more often than this; longer silence is a dead connection. */
const EVENTS_IDLE_MS = 45_000;

/** Until a stream of events begins. */
const EVENTS_BEGIN_MS = 15_000;

/** Of monitors that cannot answer now: the store was away, or they are about to end. */
const FOR_NOW: ReadonlySet<string> = new Set(['behind', 'closing', 'store-unavailable', 'store-timeout']);

const GET = { method: 'GET', repeatable: true } as const;

/**
 * The output of one task of one allocation, each byte once; after a cut resumed at another monitor from the last byte. Offsets
 * belong to an allocation, so a slot's output stays with the allocation that was found first.
 * @param signal ends it
 * @returns the allocation whose output this was, to its end; null: there is none, or the signal ended it
 * @throws ProblemError, HttpError
 */
export async function* readLogs(
  monitors: MonitorFailover,
  ref: JobRef,
  call: LogCall,
  signal: AbortSignal | undefined,
): AsyncGenerator<LogPart, string | null> {
  const resume = call.resume ?? atMost(monitors.size);
  const silenceMs = call.silenceMs ?? LOG_SILENCE_MS;
  let offset = call.offset ?? 0;
  let allocation = call.allocation ?? null;
  let progressed = false;
  while (signal?.aborted !== true) {
    let from = '';
    try {
      const stream = await monitors.stream({
        ...GET,
        path: `${pathOf(ref)}/logs${logQuery(call, allocation, offset)}`,
        timeoutMs: silenceMs,
        idleTimeoutMs: silenceMs,
        signal,
      });
      from = stream.from;
      // Not started yet: the monitor waited as long as it may. Ask again.
      if (stream.status === 204 && call.follow) continue;
      offset = Number(stream.headers[LOG_OFFSET_HEADER] ?? offset);
      allocation = stream.headers[LOG_ALLOCATION_HEADER] ?? allocation;
      for await (const chunk of stream.chunks) {
        progressed = true;
        yield { offset, allocation, chunk };
        offset += chunk.length;
      }
      return allocation;
    } catch (error) {
      const isLate = error instanceof ProblemError && error.problem.code === 'no-such-allocation';
      // Another monitor named the allocation: this one has just started, or lags behind.
      const isNotKnownYet = isLate && call.follow && call.allocation === undefined && allocation !== null;
      if (!(error instanceof HttpError) && !isForNow(error) && !isNotKnownYet) throw error;
      if (isAborted(signal)) return null;
      monitors.moveOnFrom(from);
      if (!(await resume({ error, wasOpen: from !== '', progressed }))) throw error;
      progressed = false;
    }
  }
  return null;
}

/**
 * Events after `since` from one monitor. Ends, or throws HttpError, with that monitor: called again with the last id, it
 * reads the rest from another one.
 * @param signal ends it
 * @throws ProblemError, HttpError
 */
export async function* readEvents(
  monitors: MonitorFailover,
  since: string,
  call: EventsCall,
  signal: AbortSignal | undefined,
): AsyncGenerator<CellEvent> {
  const stream = await monitors.stream({
    ...GET,
    path: `/v1/events${query({ since, follow: call.follow, limit: call.limit })}`,
    headers: { accept: 'application/x-ndjson' },
    timeoutMs: EVENTS_BEGIN_MS,
    idleTimeoutMs: call.idleTimeoutMs ?? EVENTS_IDLE_MS,
    signal,
  });
  const place = stream.headers[REVISION_HEADER];
  if (place !== undefined) call.onBegin?.(place);
  try {
    for await (const event of ndjson(stream.chunks)) yield event as CellEvent;
  } catch (error) {
    monitors.moveOnFrom(stream.from);
    throw error;
  }
}

/**
 * The endpoints of names from one monitor, as they are and as they change. Ends, or throws, with that monitor: called again it
 * begins anew with all of them, at another one.
 * @param which `names`: with commas between; without any, all of the namespace, or of all that the caller sees
 * @param signal ends it
 * @throws ProblemError, HttpError; NdjsonError when the monitor sent something else
 */
export function readNames(
  monitors: MonitorFailover,
  which: { readonly names?: string | undefined; readonly namespace?: string | undefined },
  signal: AbortSignal | undefined,
): AsyncGenerator<NameFrame> {
  const call = { ...GET, path: `/v1/names${query({ ...which, follow: true })}` };
  // Most callers follow no names, and need not load what checks their frames.
  const load = async (): Promise<ReadFrame> => (await import('../wire/api/names-frames.ts')).readNameFrame;
  return framesOf(monitors, call, load, signal);
}

/** The same of at most `NAMES_FOLLOWED_MAX` names. @param read checks a frame: `readNameFrame` */
export function readWantedNames(
  monitors: MonitorFailover,
  names: readonly string[],
  read: ReadFrame,
  signal: AbortSignal,
): AsyncGenerator<NameFrame> {
  const body: NamesWanted = { names };
  return framesOf(monitors, { ...POST, path: FOLLOW_PATH, body }, () => Promise.resolve(read), signal);
}

type ReadFrame = (value: unknown) => NameFrame | null;

const FOLLOW_PATH = '/v1/names/follow';
const POST = { method: 'POST', repeatable: true } as const;

async function* framesOf(
  monitors: MonitorFailover,
  call: Pick<MonitorCall, 'method' | 'path' | 'body' | 'repeatable'>,
  load: () => Promise<ReadFrame>,
  signal: AbortSignal | undefined,
): AsyncGenerator<NameFrame> {
  const readNameFrame = await load();
  const stream = await monitors.stream({
    ...call,
    timeoutMs: NAMES_SILENCE_MS,
    idleTimeoutMs: NAMES_SILENCE_MS,
    signal,
  });
  try {
    for await (const value of ndjson(stream.chunks)) {
      const frame = readNameFrame(value);
      if (frame === null) throw new NdjsonError('a monitor sent something that is no frame of names');
      yield frame;
    }
  } finally {
    if (signal?.aborted !== true) monitors.moveOnFrom(stream.from);
  }
}

function atMost(failuresMax: number): (trouble: LogTrouble) => Promise<boolean> {
  let failures = 0;
  return ({ progressed }) => {
    failures = progressed ? 1 : failures + 1;
    return Promise.resolve(failures <= failuresMax);
  };
}

function isForNow(error: unknown): error is ProblemError {
  return error instanceof ProblemError && FOR_NOW.has(error.problem.code);
}

/** A function, since the compiler takes a property for unchanged after a wait. */
function isAborted(signal: AbortSignal | undefined): boolean {
  return signal?.aborted === true;
}

function logQuery(call: LogCall, allocation: string | null, offset: number): string {
  const { stream, group, index, task, offsetOf, follow } = call;
  const which = allocation === null ? { offsetOf } : { allocation };
  return query({ stream, group, index, task, ...which, offset, follow });
}
