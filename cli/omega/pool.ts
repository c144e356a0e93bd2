import { Worker } from 'node:worker_threads';
import { onAbort } from '../../src/ports/on-abort.ts';
import type { FinishedPoint, PointTask } from './task.ts';

type Said =
  | { readonly kind: 'progress'; readonly done: number }
  | { readonly kind: 'finished'; readonly point: FinishedPoint }
  | { readonly kind: 'failed'; readonly message: string };

export interface PoolOptions<T extends PointTask> {
  readonly threads: number;
  /** Ends all threads; what was not finished is lost. */
  readonly signal: AbortSignal;
  /** How far all tasks under way are together, in tasks. */
  readonly onProgress: (underWay: number) => void;
  readonly onFinished: (task: T, point: FinishedPoint) => Promise<void>;
}

/** Runs tasks in threads, in their order, until all are done or the signal says stop. */
export async function runAll<T extends PointTask>(
  tasks: readonly T[],
  options: PoolOptions<T>,
): Promise<void> {
  const waiting = [...tasks];
  const underWay = new Map<number, number>();
  const told = (): void => options.onProgress([...underWay.values()].reduce((sum, done) => sum + done, 0));
  const threads = Array.from({ length: Math.min(options.threads, tasks.length) }, async (_, number) => {
    const thread = new Thread();
    const forget = onAbort(options.signal, () => void thread.end());
    try {
      for (let task = waiting.shift(); task !== undefined; task = waiting.shift()) {
        if (options.signal.aborted) return;
        const { spec, trace } = task;
        const point = await thread.run({ spec, trace }, (done) => {
          underWay.set(number, done);
          told();
        });
        underWay.delete(number);
        if (point === null) return;
        await options.onFinished(task, point);
      }
    } finally {
      forget();
      await thread.end();
    }
  });
  await Promise.all(threads);
}

interface Running {
  readonly onProgress: (done: number) => void;
  /** null: the thread was ended. */
  readonly finish: (point: FinishedPoint | null) => void;
  readonly fail: (error: Error) => void;
}

/** A worker thread and the one task that it has. */
class Thread {
  readonly #worker: Worker;
  #running: Running | null = null;
  #ended = false;

  constructor() {
    const built = import.meta.url.endsWith('.js');
    this.#worker = new Worker(new URL(built ? './worker/main.js' : './worker/main.ts', import.meta.url));
    this.#worker.on('message', (said: Said) => this.#hear(said));
    this.#worker.on('error', (error) => this.#running?.fail(error));
    this.#worker.on('exit', () => this.#running?.finish(null));
  }

  /** @returns null: the thread was ended meanwhile */
  run(task: PointTask, onProgress: (done: number) => void): Promise<FinishedPoint | null> {
    return new Promise((resolve, reject) => {
      if (this.#ended) {
        resolve(null);
        return;
      }
      this.#running = { onProgress, finish: resolve, fail: reject };
      this.#worker.postMessage(task);
    });
  }

  async end(): Promise<void> {
    if (this.#ended) return;
    this.#ended = true;
    await this.#worker.terminate();
  }

  #hear(said: Said): void {
    if (said.kind === 'progress') this.#running?.onProgress(said.done);
    else if (said.kind === 'finished') this.#running?.finish(said.point);
    else this.#running?.fail(new Error(said.message));
  }
}
