import { Worker } from 'node:worker_threads';
import { builtFile } from '../../src/adapters/system/package-files.ts';
import type { SeedReport } from './run-seed.ts';
import type { SeedSetting } from './seeds.ts';

export interface PoolOrder {
  readonly setting: SeedSetting;
  /** The seeds to run, in the order in which they are begun. */
  readonly seeds: Iterable<number>;
  readonly workers: number;
  /** Called for each seed as it ends. @returns false: begin no more */
  readonly onReport: (report: SeedReport) => boolean;
}

/**
 * A run leaves some 35 MB behind it, most of which lives as long as the run: in a nursery of Node's usual size it is copied
 * several times before it is dropped, in one of this size seldom once.
 */
const YOUNG_MB = 192;

/** Seeds that wait in a worker while it runs another: it must never wait for this thread. */
const AHEAD = 3;

/** Runs seeds on several threads. Resolves when all that were begun have ended. */
export async function runPool(order: PoolOrder): Promise<void> {
  const seeds = order.seeds[Symbol.iterator]();
  let over = false;
  const next = (): number | null => {
    if (over) return null;
    const drawn = seeds.next() as IteratorResult<number, undefined>;
    return drawn.done === true ? null : drawn.value;
  };
  const onReport = (report: SeedReport): void => {
    if (!order.onReport(report)) over = true;
  };
  await Promise.all(Array.from({ length: order.workers }, () => runWorker(order.setting, next, onReport)));
}

function runWorker(
  setting: SeedSetting,
  next: () => number | null,
  onReport: (report: SeedReport) => void,
): Promise<void> {
  // From its sources when this file is.
  const isSource = import.meta.url.endsWith('.ts');
  const worker = new Worker(
    isSource ? new URL('./worker.ts', import.meta.url) : builtFile('sim/seeds/worker.js'),
    {
      workerData: setting,
      resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MB },
    },
  );
  return new Promise((resolve, reject) => {
    let open = 0;
    const feed = (): void => {
      while (open < AHEAD) {
        const seed = next();
        if (seed === null) break;
        open += 1;
        worker.postMessage(seed);
      }
      if (open === 0) void worker.terminate().then(() => resolve());
    };
    worker.on('message', (report: SeedReport) => {
      open -= 1;
      onReport(report);
      feed();
    });
    worker.on('error', reject);
    feed();
  });
}
