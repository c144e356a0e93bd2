import { parentPort, workerData } from 'node:worker_threads';
import { runSeed } from './run-seed.ts';
import type { SeedSetting } from './seeds.ts';
import { seedOptions } from './seeds.ts';

// A thread that runs the seeds that it is sent, one after another, and answers each with its report.

const setting = workerData as SeedSetting;
parentPort?.on('message', (seed: number) => {
  void runSeed(seedOptions(seed, setting)).then((report) => parentPort?.postMessage(report));
});
