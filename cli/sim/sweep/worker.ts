import { parentPort } from 'node:worker_threads';
import { errorText } from '../../../src/core/errors/errors.ts';
import { runTask } from './run-task.ts';
import type { ThreadOrder } from './task.ts';

// A thread that runs one point after the other. The simulation never yields to the event loop, so it polls the flag.
const port = parentPort;
if (port === null) throw new Error('this is a worker thread of: moorage sim');
port.on('message', ({ task, stop }: ThreadOrder) => {
  const onProgress = (done: number): void => port.postMessage({ kind: 'progress', done });
  void runTask(task, { onProgress, stops: () => Atomics.load(stop, 0) !== 0 }).then(
    (point) => port.postMessage({ kind: 'finished', point }),
    (error: unknown) => port.postMessage({ kind: 'failed', message: errorText(error) }),
  );
});
