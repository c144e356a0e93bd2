import { sleep } from '../../src/runtime/wait/wait.ts';
import { Waker } from '../../src/runtime/wait/waker.ts';
import type { LogStream } from '../../src/wire/api/host-api.ts';
import { attemptName, segmentOffset } from '../../src/wire/host-files/attempt-files.ts';
import { attemptFolder } from '../tasks/attempt.ts';
import type { AgentPorts } from '../ports.ts';
import type { TaskRun } from '../tasks/tasks.ts';

export interface LogQuery {
  readonly allocation: string;
  readonly run: TaskRun;
  readonly stream: LogStream;
  readonly offset: number;
  readonly follow: boolean;
  readonly attemptsKept: number;
  /** Tells of changes of the allocation. @returns ends the telling */
  onChange(listener: () => void): () => void;
}

export interface LogAnswer {
  /** Of the first byte: larger than asked when older ones were given up. */
  readonly offset: number;
  readonly chunks: AsyncIterable<Uint8Array>;
}

/** The head of the answer is out: only a cut makes the reader ask anew, and learn of the next offset. */
class BytesMissing extends Error {
  override readonly name = 'BytesMissing';

  constructor(at: number) {
    super(`the bytes from ${String(at)} on are not kept`);
  }
}

const CHUNK_BYTES_MAX = 64 * 1024;
/** A missed hint costs a follower this long. */
const LOOK_AGAIN_MS = 250;

interface Segment {
  readonly path: string;
  /** Offset of its first byte. */
  readonly base: number;
}

/**
 * A task's output from an offset, over all attempts that are kept. Offsets only grow and never move, so a reader that was
 * cut goes on where it was. An end in order says that this is all. So the stream is cut where the agent stops before the task has
 * ended, and where bytes are missing, given up while it read or never taken by the disk; the next answer says where it begins.
 */
export async function readLog(ports: AgentPorts, query: LogQuery, signal: AbortSignal): Promise<LogAnswer> {
  const offset = await firstByte(ports, query);
  return { offset, chunks: follow(ports, query, offset, signal) };
}

async function* follow(
  ports: AgentPorts,
  query: LogQuery,
  from: number,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const hints = new Hints(ports, query);
  let at = from;
  let segments: readonly Segment[] = [];
  try {
    while (!signal.aborted) {
      hints.aim();
      // Looked at before reading: what is read after the end was written is all there is.
      const over = query.run.done;
      let chunk = await readAt(ports, segments, at);
      if (chunk.length === 0) {
        segments = await segmentsOf(ports, query);
        chunk = await readAt(ports, segments, at);
      }
      if (chunk.length > 0) {
        at += chunk.length;
        yield chunk;
        continue;
      }
      if (segments.some((segment) => segment.base > at)) throw new BytesMissing(at);
      if (!query.follow || over) return;
      await hints.wait(signal);
    }
    throw new Error('the agent stops, or the reader is gone');
  } finally {
    hints.close();
  }
}

/** Each look that differs from the one before saw files come or go; a task that fast gives its oldest bytes up anyway. */
const LOOKS_MAX = 5;

/**
 * Where the next byte lies, from the one asked for on; that one itself where all that there is ends before. What is missing in
 * one listing of a folder that is being written to may be there all the same: it counts as missing when two say so.
 */
async function firstByte(ports: AgentPorts, query: LogQuery): Promise<number> {
  const at = query.offset;
  let before = at;
  for (let looks = 0; looks < LOOKS_MAX; looks++) {
    const segments = await segmentsOf(ports, query);
    const here = await readAt(ports, segments, at);
    const next = segments.find((segment) => segment.base > at)?.base ?? at;
    if (here.length > 0 || next === at) return at;
    if (next === before) return next;
    before = next;
  }
  return before;
}

async function readAt(ports: AgentPorts, segments: readonly Segment[], at: number): Promise<Uint8Array> {
  const holding = segments.findLast((segment) => segment.base <= at);
  if (holding === undefined) return new Uint8Array(0);
  return ports.disk.readRange(holding.path, at - holding.base, CHUNK_BYTES_MAX);
}

/** Oldest first. */
async function segmentsOf(ports: AgentPorts, query: LogQuery): Promise<readonly Segment[]> {
  const last = query.run.attemptNumber;
  const segments: Segment[] = [];
  for (let number = Math.max(1, last - query.attemptsKept + 1); number <= last; number++) {
    const folder = attemptFolder(attemptName(query.allocation, query.run.task.name, number));
    for (const name of await ports.disk.list(folder)) {
      const base = segmentOffset(query.stream, name);
      if (base !== null) segments.push({ path: `${folder}/${name}`, base });
    }
  }
  return segments.sort((a, b) => a.base - b.base);
}

/** Wakes a reader when there may be more: the attempt's folder changed, the allocation changed, or some time went by. */
class Hints {
  readonly #ports: AgentPorts;
  readonly #query: LogQuery;
  readonly #waker = new Waker();
  readonly #stopChanges: () => void;
  #stopWatch: () => void = () => undefined;
  #watched = 0;

  constructor(ports: AgentPorts, query: LogQuery) {
    this.#ports = ports;
    this.#query = query;
    this.#stopChanges = query.onChange(() => this.#waker.wake());
  }

  /** Watches the present attempt. */
  aim(): void {
    const number = this.#query.run.attemptNumber;
    if (!this.#query.follow || number === this.#watched) return;
    this.#stopWatch();
    this.#watched = number;
    const name = attemptName(this.#query.allocation, this.#query.run.task.name, number);
    this.#stopWatch = this.#ports.disk.watch(attemptFolder(name), () => this.#waker.wake());
  }

  async wait(signal: AbortSignal): Promise<void> {
    const stop = new AbortController();
    const either = AbortSignal.any([signal, stop.signal]);
    await Promise.race([this.#waker.wait(either), sleep(this.#ports.clock, LOOK_AGAIN_MS, either)]);
    stop.abort();
  }

  close(): void {
    this.#stopChanges();
    this.#stopWatch();
  }
}
