import { setMaxListeners } from 'node:events';
import { parentPort, workerData } from 'node:worker_threads';
import type { SeedSetting } from './run-seed.ts';
import { runSeed } from './run-seed.ts';

// A thread that runs the seeds that it is sent, one after another, and answers each with its report.
// Waits of one life hang on one signal by design, a dozen or more at once, and each takes itself off again.
setMaxListeners(1_000);

const setting = workerData as SeedSetting;
parentPort?.on('message', (seed: number) => {
  void runSeed(seed, setting).then((report) => parentPort?.postMessage(report));
});
