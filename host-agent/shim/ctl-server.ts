import type { Server, Socket } from 'node:net';
import { createServer } from 'node:net';
import { constants } from 'node:os';
import type { ShimState } from '../../src/core/host/shim.ts';
import type { Frame } from '../../src/wire/host-files/shim-frames.ts';
import {
  encodeFrame,
  encodeState,
  FrameReader,
  u64At,
  viewOf,
} from '../../src/wire/host-files/shim-frames.ts';
import type { Signals } from './signals.ts';
import type { Stdin } from './stdin.ts';

/** What a frame can make the shim do. */
export interface Hands {
  state(): ShimState;
  readonly stdin: Stdin;
  readonly signals: Signals;
  kill(): void;
  /** @returns the system's error number */
  freeze(on: boolean): number;
  renew(forMs: number | null): void;
}

const FOR_EVER = 0xffff_ffff_ffff_ffffn;
/** A follower that lets this much lie loses pieces; the files have them. */
const FOLLOW_BYTES_MAX = 128 * 1024;

/** The shim's side of the frames described in `shim-frames.ts`, on the socket `ctl` of the working folder. */
export class CtlServer {
  readonly #hands: Hands;
  readonly #followers = new Map<Socket, number>();

  constructor(hands: Hands) {
    this.#hands = hands;
  }

  listen(): Server {
    const server = createServer((socket) => {
      const reader = new FrameReader();
      socket.on('error', () => socket.destroy());
      socket.once('close', () => this.#followers.delete(socket));
      socket.on('data', (chunk: Buffer) => {
        try {
          for (const frame of reader.push(chunk)) socket.write(this.#obey(socket, frame));
        } catch {
          socket.destroy();
        }
      });
    });
    server.on('error', () => undefined);
    server.listen('ctl');
    return server;
  }

  /** Tells followers of output. */
  push(stream: 0 | 1, offset: number, bytes: Buffer): void {
    for (const [socket, streams] of this.#followers)
      if ((streams & (1 << stream)) !== 0 && socket.writableLength < FOLLOW_BYTES_MAX)
        socket.write(encodeFrame('o', [{ u8: stream }, { u64: offset }], bytes));
  }

  #obey(socket: Socket, { type, payload }: Frame): Uint8Array {
    const hands = this.#hands;
    const long = payload.length;
    if (type === 'H') return this.#hello(payload);
    if (type === 'I' && long >= 8)
      return this.#input(hands.stdin.take(u64At(payload, 0), payload.subarray(8)));
    if (type === 'E' && long === 8) return this.#input(hands.stdin.end(u64At(payload, 0)));
    if (type === 'S' && long === 12) return this.#signal(payload);
    if (type === 'W' && long === 4) return errnoFrame('w', constants.errno.ENOTTY);
    if (type === 'K') return (hands.kill(), errnoFrame('k', 0));
    if (type === 'F' && long === 1) return errnoFrame('f', hands.freeze(payload[0] !== 0));
    if (type === 'R' && long === 8) return this.#renew(payload);
    if (type === 'L' && long === 1) return this.#follow(socket, payload[0] ?? 0);
    return encodeFrame('n', [{ u8: type.charCodeAt(0) }]);
  }

  #hello(payload: Uint8Array): Uint8Array {
    const state = this.#hands.state();
    if ((payload[0] ?? 1) >= 2) return encodeState(state);
    return encodeFrame('h', [{ u64: state.job }, { u8: state.done ? 1 : 0 }]);
  }

  #input(errno: number): Uint8Array {
    return encodeFrame('a', [{ u64: this.#hands.stdin.next }, { u32: errno }]);
  }

  #signal(payload: Uint8Array): Uint8Array {
    const sequence = u64At(payload, 0);
    const errno = this.#hands.signals.once(sequence, viewOf(payload).getUint32(8, true));
    return encodeFrame('s', [{ u64: sequence }, { u32: errno }]);
  }

  #renew(payload: Uint8Array): Uint8Array {
    const forMs = viewOf(payload).getBigUint64(0, true);
    this.#hands.renew(forMs === FOR_EVER ? null : Number(forMs));
    return errnoFrame('r', 0);
  }

  #follow(socket: Socket, streams: number): Uint8Array {
    this.#followers.set(socket, streams);
    const { out, err } = this.#hands.state();
    return encodeFrame('l', [{ u64: out }, { u64: err }]);
  }
}

function errnoFrame(type: string, errno: number): Uint8Array {
  return encodeFrame(type, [{ u32: errno }]);
}
