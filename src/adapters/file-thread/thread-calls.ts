import type { Worker } from 'node:worker_threads';
import { DiskError } from '../../ports/disk.ts';
import type { Answer, Call, ThreadPorts } from './calls.ts';
import { errorOf } from './calls.ts';

interface Pending {
  readonly resolve: (value: never) => void;
  readonly reject: (error: Error) => void;
}

type Method = (...args: readonly unknown[]) => Promise<unknown>;

/**
 * The calling side of the thread. Calls of one turn of the event loop go in one message, in their order. When the thread has
 * died, further calls run in the calling thread.
 */
export class ThreadCalls {
  readonly #worker: Worker;
  readonly #local: ThreadPorts;
  readonly #pending = new Map<number, Pending>();
  #outbox: Call[] = [];
  #last = 0;
  #alive = true;
  #whenIdle: () => void = () => undefined;

  constructor(worker: Worker, local: ThreadPorts) {
    this.#worker = worker;
    this.#local = local;
    // Only a call under way keeps the process from ending.
    worker.unref();
    worker.on('message', (answers: readonly Answer[]) => {
      for (const one of answers) this.#take(one);
    });
    // `exit` follows.
    worker.on('error', () => undefined);
    worker.once('exit', () => this.#died());
  }

  method<P extends keyof ThreadPorts, M extends keyof ThreadPorts[P] & string>(
    port: P,
    method: M,
  ): ThreadPorts[P][M] {
    const local = (this.#local[port][method] as Method).bind(this.#local[port]);
    const through: Method = (...args) => (this.#alive ? this.#ask({ port, method, args }) : local(...args));
    return through as ThreadPorts[P][M];
  }

  readonly close = async (): Promise<void> => {
    if (this.#pending.size > 0) await new Promise<void>((idle) => (this.#whenIdle = idle));
    await this.#worker.terminate();
  };

  #ask(call: Omit<Call, 'id'>): Promise<unknown> {
    this.#last += 1;
    const id = this.#last;
    if (this.#pending.size === 0) this.#worker.ref();
    if (this.#outbox.push({ id, ...call }) === 1) setImmediate(() => this.#send());
    return new Promise((resolve, reject) => this.#pending.set(id, { resolve, reject }));
  }

  #send(): void {
    const calls = this.#outbox;
    this.#outbox = [];
    if (this.#alive) this.#worker.postMessage(calls);
  }

  #take(answer: Answer): void {
    const asked = this.#pending.get(answer.id);
    this.#pending.delete(answer.id);
    if (this.#pending.size === 0) {
      this.#worker.unref();
      this.#whenIdle();
    }
    if ('fault' in answer) asked?.reject(errorOf(answer.fault));
    else asked?.resolve(answer.value as never);
  }

  /** A call under way may be done, half done or not done: as when a device fails. */
  #died(): void {
    this.#alive = false;
    for (const { reject } of this.#pending.values())
      reject(new DiskError('io', 'the thread that changes files has ended'));
    this.#pending.clear();
    this.#whenIdle();
  }
}
