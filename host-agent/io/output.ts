import { sleep } from '../../src/runtime/wait/wait.ts';
import { Waker } from '../../src/runtime/wait/waker.ts';
import type { LogStream } from '../../src/wire/api/host-api.ts';
import { segmentName, segmentOffset } from '../../src/wire/host-files/attempt-files.ts';
import type { ExitRecord } from '../../src/wire/host-files/attempt-files.ts';
import { attemptFolder, endOf } from '../tasks/attempt.ts';
import type { AgentPorts } from '../ports.ts';

const CHUNK_BYTES_MAX = 64 * 1024;
/** A missed hint costs a reader this long. */
const LOOK_AGAIN_MS = 250;

export interface OutputPiece {
  readonly stream: LogStream;
  /** Of the first byte: larger than the end of the last piece when older bytes were given up. */
  readonly offset: number;
  readonly bytes: Uint8Array;
}

/** Where the kept output of one attempt or command begins, by stream. */
export async function oldestOffset(ports: AgentPorts, name: string, stream: LogStream): Promise<number> {
  const bases = await basesOf(ports, name, stream);
  return bases[0] ?? 0;
}

/**
 * The output of one attempt, or of a command in one, from two offsets on until it has ended and all is read. Nothing is
 * held between the files and the reader: one that is slow finds older bytes given up, and is told so by an offset.
 * @returns how it ended; null when `signal` was aborted first
 */
export async function* readOutput(
  ports: AgentPorts,
  name: string,
  from: { readonly stdout: number; readonly stderr: number },
  signal: AbortSignal,
): AsyncGenerator<OutputPiece, ExitRecord | null> {
  const waker = new Waker();
  const unwatch = ports.disk.watch(attemptFolder(name), () => waker.wake());
  const at = { ...from };
  try {
    while (!signal.aborted) {
      // Looked at before reading: what is read after the end was written is all there is.
      const exit = await endOf(ports, name);
      let any = false;
      for (const stream of ['stdout', 'stderr'] as const) {
        const piece = await readPiece(ports, name, stream, at[stream]);
        if (piece === null) continue;
        any = true;
        at[stream] = piece.offset + piece.bytes.length;
        yield piece;
      }
      if (any) continue;
      if (exit !== null) return exit;
      await waitFor(ports, waker, signal);
    }
    return null;
  } finally {
    unwatch();
  }
}

async function waitFor(ports: AgentPorts, waker: Waker, signal: AbortSignal): Promise<void> {
  const stop = new AbortController();
  const either = AbortSignal.any([signal, stop.signal]);
  await Promise.race([waker.wait(either), sleep(ports.clock, LOOK_AGAIN_MS, either)]);
  stop.abort();
}

async function readPiece(
  ports: AgentPorts,
  name: string,
  stream: LogStream,
  at: number,
): Promise<OutputPiece | null> {
  const bases = await basesOf(ports, name, stream);
  const oldest = bases[0];
  if (oldest === undefined) return null;
  let offset = Math.max(at, oldest);
  for (let base = bases.findLast((one) => one <= offset); base !== undefined;) {
    const path = `${attemptFolder(name)}/${segmentName(stream, base)}`;
    const bytes = await ports.disk.readRange(path, offset - base, CHUNK_BYTES_MAX);
    if (bytes.length > 0) return { stream, offset, bytes };
    // At the end of one file, and the next one is there: a hole between them is bytes that the disk did not take.
    const end = base;
    base = bases.find((one) => one > end);
    if (base !== undefined) offset = Math.max(offset, base);
  }
  return null;
}

async function basesOf(ports: AgentPorts, name: string, stream: LogStream): Promise<number[]> {
  const names = await ports.disk.list(attemptFolder(name));
  const bases = names.map((one) => segmentOffset(stream, one)).filter((base) => base !== null);
  return bases.sort((a, b) => a - b);
}
