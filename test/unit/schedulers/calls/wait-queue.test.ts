import { runInNewContext } from 'node:vm';
import { setFlagsFromString } from 'node:v8';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { WaitQueue } from '../../../../schedulers/calls/wait-queue.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

describe('a wait queue', () => {
  it('is a queue', () => {
    fc.assert(
      fc.property(fc.array(fc.boolean(), { maxLength: 200 }), (comes) => {
        const queue = new WaitQueue<number>();
        const model: number[] = [];
        for (const [n, come] of comes.entries()) {
          if (come) {
            queue.push(n);
            model.push(n);
          } else {
            queue.shift();
            model.shift();
          }
          expect([queue.length, queue.first]).toEqual([model.length, model[0]]);
        }
      }),
    );
  });

  it('lets go of what has left, though it is never empty', async () => {
    const queue = new WaitQueue<object>();
    const all: WeakRef<object>[] = [];
    const come = (): void => {
      const one = {};
      all.push(new WeakRef(one));
      queue.push(one);
    };
    for (let n = 0; n < 10; n++) come();
    for (let n = 0; n < 1_000; n++) {
      come();
      queue.shift();
    }
    // What was referred to weakly in this turn lives until its end.
    await new Promise((resolve) => setImmediate(resolve));
    collectGarbage();
    expect(queue.length).toBe(10);
    const left = all.slice(0, -queue.length);
    expect(left.filter((ref) => ref.deref() !== undefined).length).toBeLessThanOrEqual(queue.length + 1);
    expect(queue.first).toBe(all.at(-10)?.deref());
  });
});
