import { parentPort } from 'node:worker_threads';
import { runTask } from '../run-task.ts';
import type { PointTask } from '../task.ts';

// A thread that runs one point after the other. The simulation never yields, so that an interrupt ends the thread.
const port = parentPort;
if (port === null) throw new Error('this is a worker thread of: moorage sim');
port.on('message', (task: PointTask) => {
  void runTask(task, (done) => port.postMessage({ kind: 'progress', done })).then(
    (point) => port.postMessage({ kind: 'finished', point }),
    (error: unknown) =>
      port.postMessage({ kind: 'failed', message: error instanceof Error ? error.message : String(error) }),
  );
});
