import { Worker } from 'node:worker_threads';
import { builtFile } from '../../../src/adapters/system/package-files.ts';
import { onAbort } from '../../../src/ports/on-abort.ts';
import type { FinishedPoint, PointTask, ThreadOrder } from './task.ts';

type Message =
  | { readonly kind: 'progress'; readonly done: number }
  | { readonly kind: 'finished'; readonly point: FinishedPoint }
  | { readonly kind: 'failed'; readonly message: string };

export interface PoolOptions<T extends PointTask> {
  readonly threads: number;
  /** No other task is begun then, and those under way end with what they have. */
  readonly signal: AbortSignal;
  /** How far all tasks under way are together, in tasks. */
  readonly onProgress: (underWay: number) => void;
  readonly onFinished: (task: T, point: FinishedPoint) => Promise<void>;
}

/** Runs tasks in threads, in their order, until all are done or stopped. */
export async function runAll<T extends PointTask>(
  tasks: readonly T[],
  options: PoolOptions<T>,
): Promise<void> {
  const waiting = [...tasks];
  const stop = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  const forget = onAbort(options.signal, () => Atomics.store(stop, 0, 1));
  const underWay = new Map<number, number>();
  const report = (): void => options.onProgress([...underWay.values()].reduce((sum, done) => sum + done, 0));
  const threads = Array.from({ length: Math.min(options.threads, tasks.length) }, async (_, number) => {
    const thread = new Thread();
    try {
      for (let task = waiting.shift(); task !== undefined; task = waiting.shift()) {
        if (options.signal.aborted) return;
        const { spec, trace } = task;
        const point = await thread.run({ task: { spec, trace }, stop }, (done) => {
          underWay.set(number, done);
          report();
        });
        underWay.delete(number);
        await options.onFinished(task, point);
      }
    } finally {
      await thread.end();
    }
  });
  try {
    await Promise.all(threads);
  } finally {
    forget();
  }
}

interface Running {
  readonly onProgress: (done: number) => void;
  readonly finish: (point: FinishedPoint) => void;
  readonly fail: (error: Error) => void;
}

/** A worker thread and the one task that it has. */
class Thread {
  readonly #worker: Worker;
  #running: Running | null = null;

  constructor() {
    // From its sources when this file is.
    const isSource = import.meta.url.endsWith('.ts');
    this.#worker = new Worker(
      isSource ? new URL('./worker.ts', import.meta.url) : builtFile('cli/sim/sweep/worker.js'),
    );
    this.#worker.on('message', (message: Message) => this.#receive(message));
    this.#worker.on('error', (error) => this.#running?.fail(error));
    this.#worker.on('exit', () => this.#running?.fail(new Error('the thread of a run ended before the run')));
  }

  run(order: ThreadOrder, onProgress: (done: number) => void): Promise<FinishedPoint> {
    return new Promise((resolve, reject) => {
      this.#running = { onProgress, finish: resolve, fail: reject };
      this.#worker.postMessage(order);
    });
  }

  async end(): Promise<void> {
    this.#running = null;
    await this.#worker.terminate();
  }

  #receive(message: Message): void {
    if (message.kind === 'progress') this.#running?.onProgress(message.done);
    else if (message.kind === 'finished') this.#running?.finish(message.point);
    else this.#running?.fail(new Error(message.message));
  }
}
