import type { CallQueue } from '../../src/ports/call-queue.ts';

/** A call queue of nothing but promises. @param concurrency how many calls may run at once */
export function plainQueue(concurrency: number): CallQueue {
  const waiting: (() => void)[] = [];
  let running = 0;
  const leave = (): void => {
    const next = waiting.shift();
    if (next === undefined) running -= 1;
    else next();
  };
  return {
    async add(call) {
      if (running < concurrency) running += 1;
      else await new Promise<void>((resolve) => waiting.push(resolve));
      try {
        return await call();
      } finally {
        leave();
      }
    },
    get depth() {
      return running + waiting.length;
    },
  };
}
