import PQueue from 'p-queue';
import type { CallQueue } from '../../ports/call-queue.ts';

/** @param concurrency how many calls may run at once */
export function callQueue(concurrency: number): CallQueue {
  const queue = new PQueue({ concurrency });
  return {
    add: (call) => queue.add(call),
    get depth() {
      return queue.size + queue.pending;
    },
  };
}
