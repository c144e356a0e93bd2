import type { Context, Output } from '../../../cli/command/context.ts';
import type { Terminal } from '../../../cli/command/terminal.ts';
import type { HttpAnswer, HttpCall, HttpClient, HttpStream } from '../../../src/ports/http.ts';
import { onAbort } from '../../../src/ports/on-abort.ts';
import { MonitorClient } from '../../../src/clients/monitor-client.ts';
import { HttpError } from '../../../src/ports/http.ts';

/** Keeps what was written; its time is fifty times as fast as ours. */
export class FakeTerminal implements Terminal {
  stdout = '';
  stderr = '';
  readonly colour = false;
  readonly interactive = false;
  readonly columns: number | null = null;
  readonly inputGiven = false;
  readonly env: Record<string, string | undefined> = {};
  readonly cwd = '/nowhere';
  #now = 1_000_000;

  out(text: string | Uint8Array): void {
    this.stdout += typeof text === 'string' ? text : new TextDecoder().decode(text);
  }

  err(text: string | Uint8Array): void {
    this.stderr += typeof text === 'string' ? text : new TextDecoder().decode(text);
  }

  nowMs(): number {
    return this.#now;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted === true) return Promise.resolve();
    this.#now += ms;
    return new Promise((resolve) => {
      let forget: (() => void) | null = null;
      const finish = (): void => {
        clearTimeout(timer);
        forget?.();
        resolve();
      };
      const timer = setTimeout(finish, ms / 50);
      if (signal !== undefined) forget = onAbort(signal, finish);
    });
  }
}

export type Handler = (call: HttpCall, path: string) => Partial<HttpAnswer> | Chunks | 'refused' | 'lost';

export interface Chunks {
  readonly offset?: number;
  /** Up to which revision the monitor knows everything. */
  readonly revision?: number;
  readonly allocation?: string;
  /** The piece `cut` breaks the connection. */
  readonly chunks: readonly string[];
}

/** A network of one handler for each base URL; everything asked is kept. */
export class FakeHttp implements HttpClient {
  readonly asked: string[] = [];
  readonly calls: HttpCall[] = [];
  readonly #handlers: Readonly<Record<string, Handler>>;

  constructor(handlers: Readonly<Record<string, Handler>>) {
    this.#handlers = handlers;
  }

  call(call: HttpCall): Promise<HttpAnswer> {
    const answer = this.#ask(call) as Partial<HttpAnswer>;
    return Promise.resolve({ status: 200, headers: {}, body: undefined, ...answer });
  }

  stream(call: HttpCall): Promise<HttpStream> {
    const answer = this.#ask(call);
    if ('chunks' in answer) {
      const headers = {
        'x-offset': String(answer.offset ?? 0),
        'x-revision': String(answer.revision ?? 0),
        ...(answer.allocation === undefined ? {} : { 'x-allocation': answer.allocation }),
      };
      return Promise.resolve({ status: 200, headers, chunks: bytes(answer.chunks) });
    }
    const body = answer.body === undefined ? [] : [JSON.stringify(answer.body)];
    return Promise.resolve({ status: answer.status ?? 200, headers: {}, chunks: bytes(body) });
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  #ask(call: HttpCall): Partial<HttpAnswer> | Chunks {
    const { origin, pathname, search } = new URL(call.url);
    this.asked.push(`${call.method} ${origin}${pathname}${search}`);
    this.calls.push(call);
    const answer = this.#handlers[origin]?.(call, pathname + search) ?? 'refused';
    if (answer === 'refused') throw new HttpError('ECONNREFUSED', { sent: false });
    if (answer === 'lost') throw new HttpError('no answer', { sent: true });
    return answer;
  }
}

async function* bytes(parts: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const part of parts) {
    await Promise.resolve();
    if (part === 'cut') throw new HttpError('cut', { sent: true });
    yield new TextEncoder().encode(part);
  }
}

export function fakeContext(http: FakeHttp, urls: readonly string[], output: Output = 'table') {
  const terminal = new FakeTerminal();
  const api = new MonitorClient(http, { urls, from: 'a test' });
  const context: Context = {
    terminal,
    namespace: 'default',
    output,
    api: () => Promise.resolve(api),
    monitors: () => Promise.resolve({ monitors: [], authorities: null }),
    http: () => Promise.resolve({ http, addresses: urls }),
    channels: () => Promise.reject(new Error('this test opens no channel')),
    interrupted: new AbortController().signal,
    wide: false,
    endInOrder: () => undefined,
  };
  return { context, terminal, api };
}
