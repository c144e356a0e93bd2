import type { Channel, ChannelAnswer, ChannelCall, ChannelClient } from '../../src/ports/http.ts';
import { CHANNEL_BEARER, CHANNEL_PROTOCOL, HttpError } from '../../src/ports/http.ts';

export interface SocketClientOptions {
  /** null: none, for a cell without credentials. */
  readonly token: () => string | null;
  /** A server answered, or did not. */
  readonly onOutcome: (origin: string, answered: boolean) => void;
}

/** A browser does not hold the other end up. Beyond this the channel is cut: its user opens another, from what it has read. */
const WAITING_BYTES_MAX = 4 * 1024 * 1024;
/** A sender waits while more than this has not left. */
const UNSENT_BYTES_MAX = 1024 * 1024;
const UNSENT_LOOK_MS = 50;
const IN_ORDER: ReadonlySet<number> = new Set([1000, 1001]);

/** Channels of a browser: it sets no headers, so that the token stands among the protocols. Why it was refused it does not tell. */
export function socketClient({ token, onOutcome }: SocketClientOptions): ChannelClient {
  return {
    async open({ url, timeoutMs, signal }: ChannelCall): Promise<ChannelAnswer> {
      const shown = token();
      const bearer = shown === null ? [] : [CHANNEL_BEARER + shown];
      const socket = new WebSocket(url.replace(/^http/, 'ws'), [CHANNEL_PROTOCOL, ...bearer]);
      socket.binaryType = 'arraybuffer';
      const channel = new SocketChannel(socket);
      const { origin } = new URL(url);
      const cut = (): void => socket.close();
      signal?.addEventListener('abort', cut);
      const late = setTimeout(cut, timeoutMs);
      try {
        await new Promise<void>((resolve, reject) => {
          socket.addEventListener('open', () => resolve());
          socket.addEventListener('close', () =>
            reject(new HttpError(`${origin} opens no channel`, { sent: true })),
          );
        });
      } catch (error) {
        signal?.removeEventListener('abort', cut);
        if (signal?.aborted !== true) onOutcome(origin, false);
        throw error;
      } finally {
        clearTimeout(late);
      }
      onOutcome(origin, true);
      socket.addEventListener('close', () => signal?.removeEventListener('abort', cut));
      return { kind: 'open', channel };
    },
  };
}

class SocketChannel implements Channel {
  readonly #socket: WebSocket;
  readonly #waiting: Uint8Array[] = [];
  #waitingBytes = 0;
  #end: 'open' | 'ended' | 'cut' = 'open';
  #wake: () => void = () => undefined;

  constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.addEventListener('message', ({ data }) => this.#take(new Uint8Array(data as ArrayBuffer)));
    socket.addEventListener('close', ({ code }) => {
      if (this.#end === 'open') this.#end = IN_ORDER.has(code) ? 'ended' : 'cut';
      this.#wake();
    });
  }

  async send(message: Uint8Array): Promise<void> {
    while (this.#isOpen() && this.#socket.bufferedAmount > UNSENT_BYTES_MAX)
      await new Promise((resolve) => setTimeout(resolve, UNSENT_LOOK_MS));
    if (!this.#isOpen()) throw new HttpError('the channel was cut', { sent: true });
    this.#socket.send(message as Uint8Array<ArrayBuffer>);
  }

  get messages(): AsyncIterable<Uint8Array> {
    return this.#read();
  }

  close(): void {
    this.#socket.close(1000);
  }

  #isOpen(): boolean {
    return this.#socket.readyState === WebSocket.OPEN;
  }

  #take(message: Uint8Array): void {
    if (this.#end !== 'open') return;
    this.#waiting.push(message);
    this.#waitingBytes += message.length;
    if (this.#waitingBytes > WAITING_BYTES_MAX) {
      this.#end = 'cut';
      this.#socket.close(1000);
    }
    this.#wake();
  }

  async *#read(): AsyncGenerator<Uint8Array> {
    for (;;) {
      const next = this.#waiting.shift();
      if (next !== undefined) {
        this.#waitingBytes -= next.length;
        yield next;
      } else if (this.#end === 'ended') return;
      else if (this.#end === 'cut') throw new HttpError('the channel was cut', { sent: true });
      else await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }
}
