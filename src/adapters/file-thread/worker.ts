import { parentPort, workerData } from 'node:worker_threads';
import { nodeDisk } from '../disk/disk.ts';
import { linuxCgroups } from '../processes/cgroups.ts';
import type { Answer, Call } from './calls.ts';
import { faultOf } from './calls.ts';

/** The thread that changes the files of an agent; see `file-thread.ts`. */

type Methods = Readonly<Record<string, (...args: readonly unknown[]) => Promise<unknown>>>;

const ports = {
  disk: nodeDisk((workerData as { readonly root: string }).root) as unknown as Methods,
  cgroups: linuxCgroups() as unknown as Methods,
};

let answers: Answer[] = [];

/** Results of one turn go back in one message. */
function answer(one: Answer): void {
  if (answers.push(one) > 1) return;
  setImmediate(() => {
    const all = answers;
    answers = [];
    parentPort?.postMessage(all);
  });
}

async function carryOut({ id, port, method, args }: Call): Promise<void> {
  try {
    answer({ id, value: await ports[port][method]?.(...args) });
  } catch (error) {
    answer({ id, fault: faultOf(error) });
  }
}

parentPort?.on('message', (calls: readonly Call[]) => {
  // Each call begins before the next one does.
  for (const call of calls) void carryOut(call);
});
