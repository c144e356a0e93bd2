import type { ShimState } from '../../core/host/shim.ts';

/**
 * The protocol between agents and shims over `ctl`: u32 length of what follows, u8 type, payload, all little-endian. A shim
 * outlives several agents, so every version is supported for ever: a shim answers an unknown frame with NAK, and HELLO
 * shows an agent the shim's version.
 *
 *   agent → shim                               shim → agent
 *   H                                          h u64 pid, u8 done                      the first version's HELLO
 *   H u8 version                               t STATE, see `stateFrom`
 *   I u64 offset, bytes                        a u64 next, i32 errno                   stdin
 *   E u64 offset                               a u64 next, i32 errno                   end of stdin
 *   S u64 sequence, u32 signal                 s u64 sequence, i32 errno
 *   W u16 rows, u16 columns                    w i32 errno                             size of the terminal
 *   K                                          k i32 errno                             kill all
 *   F u8 on                                    f i32 errno                             freeze, thaw
 *   R u64 ms                                   r i32 errno                             renew the disconnect deadline
 *   L u8 streams (1 stdout, 2 stderr)          l u64 out, u64 err; then, unasked:      follow output from there
 *                                              o u8 stream (0, 1), u64 offset, bytes
 *   anything else, or of a wrong length        n u8 type                               NAK
 */
export const SHIM_PROTOCOL_VERSION = 2;

/** The longest frame, type and payload: 64 KiB of stdin or output, and what precedes it. */
export const FRAME_BYTES_MAX = 65_536 + 32;

/** Stdin in one frame. */
export const STDIN_CHUNK_BYTES_MAX = 65_536;

export interface Frame {
  /** One letter. */
  readonly type: string;
  readonly payload: Uint8Array;
}

const FLAGS = ['done', 'stdinOpen', 'pty', 'frozen', 'stopping'] as const;
const STATE_BYTES = 2 + 9 * 8 + 4;
const NEVER = 0xffff_ffff_ffff_ffffn;

export type FramePart =
  | { readonly u8: number }
  | { readonly u16: number }
  | { readonly u32: number }
  | { readonly u64: number | bigint };

export function encodeFrame(
  type: string,
  parts: readonly FramePart[] = [],
  bytes: Uint8Array = NO_BYTES,
): Uint8Array {
  const head = parts.reduce((sum, part) => sum + widthOf(part), 5);
  const frame = new Uint8Array(head + bytes.length);
  const view = new DataView(frame.buffer);
  view.setUint32(0, frame.length - 4, true);
  view.setUint8(4, type.charCodeAt(0));
  let at = 5;
  for (const part of parts) {
    if ('u8' in part) view.setUint8(at, part.u8);
    else if ('u16' in part) view.setUint16(at, part.u16, true);
    else if ('u32' in part) view.setUint32(at, part.u32, true);
    else view.setBigUint64(at, BigInt(part.u64), true);
    at += widthOf(part);
  }
  frame.set(bytes, head);
  return frame;
}

const NO_BYTES = new Uint8Array(0);

function widthOf(part: FramePart): number {
  return 'u8' in part ? 1 : 'u16' in part ? 2 : 'u32' in part ? 4 : 8;
}

/** Cuts a stream of bytes into frames. */
export class FrameReader {
  #waiting: Uint8Array = NO_BYTES;

  /** @throws when the bytes are no frame; nothing after them can be read */
  push(bytes: Uint8Array): readonly Frame[] {
    this.#waiting = this.#waiting.length === 0 ? bytes : joined(this.#waiting, bytes);
    const frames: Frame[] = [];
    while (this.#waiting.length >= 4) {
      const length = viewOf(this.#waiting).getUint32(0, true);
      if (length < 1 || length > FRAME_BYTES_MAX) throw new Error(`a frame of ${String(length)} bytes`);
      if (this.#waiting.length < 4 + length) break;
      const type = String.fromCharCode(this.#waiting[4] ?? 0);
      frames.push({ type, payload: this.#waiting.slice(5, 4 + length) });
      this.#waiting = this.#waiting.subarray(4 + length);
    }
    return frames;
  }
}

function joined(a: Uint8Array, b: Uint8Array): Uint8Array {
  const both = new Uint8Array(a.length + b.length);
  both.set(a);
  both.set(b, a.length);
  return both;
}

export function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** An unsigned number of 64 bits; offsets and times stay far below 2^53. */
export function u64At(payload: Uint8Array, at: number): number {
  return Number(viewOf(payload).getBigUint64(at, true));
}

/** The answer to HELLO, of whichever version. @returns null when it is no such answer */
export function stateFrom(frame: Frame): ShimState | null {
  const { type, payload } = frame;
  if (type === 'h' && payload.length === 9) return firstState(payload);
  if (type !== 't' || payload.length < STATE_BYTES) return null;
  const flags = payload[1] ?? 0;
  const flag = (name: (typeof FLAGS)[number]): boolean => (flags & (1 << FLAGS.indexOf(name))) !== 0;
  const word = (index: number): number => u64At(payload, 2 + index * 8);
  const left = (index: number): number | null =>
    viewOf(payload).getBigUint64(2 + index * 8, true) === NEVER ? null : word(index);
  const view = viewOf(payload);
  return {
    version: payload[0] ?? 0,
    ...{ done: flag('done'), stdinOpen: flag('stdinOpen'), pty: flag('pty') },
    ...{ frozen: flag('frozen'), stopping: flag('stopping') },
    ...{ pid: word(0), job: word(1), jobStart: word(2), stdinNext: word(3), signalSequence: word(4) },
    ...{ runLeftMs: left(5), disconnectLeftMs: left(6), out: word(7), err: word(8) },
    ...{ rows: view.getUint16(STATE_BYTES - 4, true), columns: view.getUint16(STATE_BYTES - 2, true) },
  };
}

/** The shim's side of `stateFrom`. */
export function encodeState(state: ShimState): Uint8Array {
  const flags = FLAGS.reduce((sum, name, bit) => sum | (state[name] ? 1 << bit : 0), 0);
  const { pid, job, jobStart, stdinNext, signalSequence, runLeftMs, disconnectLeftMs, out, err } = state;
  const words = [pid, job, jobStart, stdinNext, signalSequence, runLeftMs, disconnectLeftMs, out, err];
  return encodeFrame('t', [
    { u8: state.version },
    { u8: flags },
    ...words.map((word) => ({ u64: word ?? NEVER })),
    { u16: state.rows },
    { u16: state.columns },
  ]);
}

function firstState(payload: Uint8Array): ShimState {
  return {
    ...{ version: 1, pid: 0, job: u64At(payload, 0), jobStart: 0, done: payload[8] === 1 },
    ...{ stdinOpen: false, pty: false, frozen: false, stopping: false, stdinNext: 0, signalSequence: 0 },
    ...{ runLeftMs: null, disconnectLeftMs: null, out: 0, err: 0, rows: 0, columns: 0 },
  };
}
