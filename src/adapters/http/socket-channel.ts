import type { RawData, WebSocket } from 'ws';
import type { Channel } from '../../ports/http.ts';
import { HttpError } from '../../ports/http.ts';

/** Unread messages; beyond them the socket is paused, which holds the peer up. */
const WAITING_MAX = 16;
/** A peer that answers no ping within this is gone, though its connection still looks whole. */
const PING_MS = 10_000;

/** How long the peer has to answer a close. */
const CLOSE_MS = 1_000;

/** The codes of RFC 6455 with which a connection ends in order. */
const IN_ORDER = new Set([1000, 1001]);

/**
 * A WebSocket as the port's channel. `ws` has a stream over a socket (`createWebSocketStream`), which does not tell an end
 * in order from a cut, and does not find a peer that is gone.
 */
export class SocketChannel implements Channel {
  readonly #socket: WebSocket;
  readonly #waiting: Uint8Array[] = [];
  #end: 'open' | 'ended' | 'cut' = 'open';
  #wake: () => void = () => undefined;
  #answered = true;

  constructor(socket: WebSocket) {
    this.#socket = socket;
    const pings = setInterval(() => this.#ping(), PING_MS);
    pings.unref();
    socket.on('pong', () => (this.#answered = true));
    socket.on('message', (data) => this.#take(data));
    socket.on('error', () => socket.terminate());
    socket.once('close', (code) => {
      clearInterval(pings);
      this.#end = IN_ORDER.has(code) ? 'ended' : 'cut';
      this.#wake();
    });
  }

  send(message: Uint8Array): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#socket.send(message, { binary: true }, (error) => {
        if (error == null) resolve();
        else reject(new HttpError('the channel was cut', { sent: true, cause: error }));
      });
    });
  }

  get messages(): AsyncIterable<Uint8Array> {
    return this.#read();
  }

  close(): void {
    this.#socket.close(1000);
    setTimeout(() => this.#socket.terminate(), CLOSE_MS).unref();
  }

  async *#read(): AsyncGenerator<Uint8Array> {
    for (;;) {
      const next = this.#waiting.shift();
      if (next !== undefined) {
        if (this.#waiting.length < WAITING_MAX / 2 && this.#socket.isPaused) this.#socket.resume();
        yield next;
      } else if (this.#end === 'ended') return;
      else if (this.#end === 'cut') throw new HttpError('the channel was cut', { sent: true });
      else await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  #take(data: RawData): void {
    this.#waiting.push(bytesOf(data));
    if (this.#waiting.length >= WAITING_MAX) this.#socket.pause();
    this.#wake();
  }

  #ping(): void {
    // While paused, the peer's pongs wait behind unread messages.
    if (this.#socket.isPaused || this.#socket.readyState !== this.#socket.OPEN) return;
    if (!this.#answered) return this.#socket.terminate();
    this.#answered = false;
    this.#socket.ping();
  }
}

function bytesOf(data: RawData): Uint8Array {
  if (Array.isArray(data)) return Buffer.concat(data);
  return data instanceof ArrayBuffer ? new Uint8Array(data) : data;
}
