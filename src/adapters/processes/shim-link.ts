import type { Socket } from 'node:net';
import { constants } from 'node:os';
import type { ShimState } from '../../core/host/shim.ts';
import type { ShimLink, StdinAnswer, TailPiece } from '../../ports/process.ts';
import type { Frame, FramePart } from '../../wire/host-files/shim-frames.ts';
import {
  encodeFrame,
  FrameReader,
  SHIM_PROTOCOL_VERSION,
  stateFrom,
  STDIN_CHUNK_BYTES_MAX,
  u64At,
  viewOf,
} from '../../wire/host-files/shim-frames.ts';
import { connectShim } from './shim-socket.ts';
import { signalNumber } from './signals.ts';

/** A shim that does not answer within this time is stuck in the kernel; the caller tries again later. */
const ANSWER_TIMEOUT_MS = 2_000;

const { EPIPE, ENOTSUP } = constants.errno;
const FOR_EVER = 0xffff_ffff_ffff_ffffn;
const BOTH_STREAMS = 3;

/** Connects to the shim in `folder`. @returns null when none listens there, or none answers */
export async function openLink(folder: string): Promise<ShimLink | null> {
  const socket = await connectShim(folder);
  if (socket === null) return null;
  const link = new SocketLink(socket);
  if ((await link.state()) !== null) return link;
  link.close();
  return null;
}

class SocketLink implements ShimLink {
  readonly ended: Promise<void>;
  readonly #socket: Socket;
  readonly #reader = new FrameReader();
  /** Callers that wait for the next answers, in order. */
  readonly #waiting: ((frame: Frame | null) => void)[] = [];
  #version = SHIM_PROTOCOL_VERSION;
  #onPiece: ((piece: TailPiece) => void) | null = null;

  constructor(socket: Socket) {
    this.#socket = socket;
    this.ended = new Promise((resolve) => {
      if (socket.closed) resolve();
      else socket.once('close', () => resolve());
    });
    socket.on('data', (chunk: Buffer) => this.#take(chunk));
    socket.once('close', () => {
      for (const answer of this.#waiting.splice(0)) answer(null);
    });
    socket.on('timeout', () => {
      if (this.#waiting.length > 0) socket.destroy();
    });
  }

  async state(): Promise<ShimState | null> {
    const frame = await this.#ask('H', [{ u8: SHIM_PROTOCOL_VERSION }]);
    const state = frame === null ? null : stateFrom(frame);
    if (state !== null) this.#version = state.version;
    return state;
  }

  async writeStdin(offset: number, bytes: Uint8Array): Promise<StdinAnswer | null> {
    if (this.#version < 2) return { next: 0, refused: 'unsupported' };
    const part = bytes.subarray(0, STDIN_CHUNK_BYTES_MAX);
    return stdinAnswer(await this.#ask('I', [{ u64: offset }], part));
  }

  async endStdin(offset: number): Promise<StdinAnswer | null> {
    if (this.#version < 2) return { next: 0, refused: 'unsupported' };
    return stdinAnswer(await this.#ask('E', [{ u64: offset }]));
  }

  async signal(signal: string, sequence: number): Promise<number | null> {
    const frame = await this.#ask('S', [{ u64: sequence }, { u32: signalNumber(signal) }]);
    return frame === null ? null : errnoAt(frame, 's', 8);
  }

  resize(rows: number, columns: number): Promise<number | null> {
    return this.#order('W', [{ u16: rows }, { u16: columns }]);
  }

  killTree(): Promise<number | null> {
    return this.#order('K', []);
  }

  freeze(on: boolean): Promise<number | null> {
    return this.#order('F', [{ u8: on ? 1 : 0 }]);
  }

  renew(forMs: number | null): Promise<number | null> {
    return this.#order('R', [{ u64: forMs ?? FOR_EVER }]);
  }

  async tail(listener: (piece: TailPiece) => void): Promise<{ out: number; err: number } | null> {
    this.#onPiece = listener;
    const frame = await this.#ask('L', [{ u8: BOTH_STREAMS }]);
    if (frame?.type !== 'l' || frame.payload.length < 16) return null;
    return { out: u64At(frame.payload, 0), err: u64At(frame.payload, 8) };
  }

  close(): void {
    this.#socket.destroy();
  }

  async #order(type: string, parts: readonly FramePart[]): Promise<number | null> {
    const frame = await this.#ask(type, parts);
    return frame === null ? null : errnoAt(frame, type.toLowerCase(), 0);
  }

  #ask(type: string, parts: readonly FramePart[], bytes?: Uint8Array): Promise<Frame | null> {
    if (this.#socket.destroyed) return Promise.resolve(null);
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      // Counts from the last byte in either direction; without a pending call the link may be silent.
      this.#socket.setTimeout(ANSWER_TIMEOUT_MS);
      this.#socket.write(encodeFrame(type, parts, bytes));
    });
  }

  #take(chunk: Buffer): void {
    let frames: readonly Frame[];
    try {
      frames = this.#reader.push(chunk);
    } catch {
      // Nothing after a broken frame can be read. The next call opens a new connection.
      this.#socket.destroy();
      return;
    }
    for (const frame of frames) {
      if (frame.type === 'o') this.#piece(frame);
      else this.#waiting.shift()?.(frame);
    }
    if (this.#waiting.length === 0) this.#socket.setTimeout(0);
  }

  #piece(frame: Frame): void {
    if (frame.payload.length < 9) return;
    const stream = frame.payload[0] === 0 ? 'stdout' : 'stderr';
    this.#onPiece?.({ stream, offset: u64At(frame.payload, 1), bytes: frame.payload.subarray(9) });
  }
}

/** A shim that does not know the order answers NAK. */
function errnoAt(frame: Frame, type: string, at: number): number {
  if (frame.type !== type || frame.payload.length < at + 4) return ENOTSUP;
  return viewOf(frame.payload).getInt32(at, true);
}

function stdinAnswer(frame: Frame | null): StdinAnswer | null {
  if (frame === null) return null;
  if (frame.type !== 'a') return { next: 0, refused: 'unsupported' };
  const next = u64At(frame.payload, 0);
  const errno = errnoAt(frame, 'a', 8);
  if (errno === 0) return { next };
  return { next, refused: errno === EPIPE ? 'closed' : 'gap' };
}
