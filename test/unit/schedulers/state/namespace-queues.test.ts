import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { NamespaceQueues } from '../../../../schedulers/state/namespace-queues.ts';

describe('namespace queues', () => {
  it('S3.47 serves each namespace before any is served again, and within one first in, first out', () => {
    const come = fc.record({ namespace: fc.constantFrom('a', 'b', 'c'), leave: fc.nat(3) });
    fc.assert(
      fc.property(fc.array(come, { maxLength: 60 }), (steps) => {
        const queues = new NamespaceQueues<string>();
        const model = new Map<string, string[]>([...'abc'].map((name) => [name, []]));
        /** Other namespaces served since a waiting one was. */
        const passed = new Map<string, Set<string>>();
        for (const [n, { namespace, leave }] of steps.entries()) {
          queues.push(namespace, `${namespace}${String(n)}`);
          model.get(namespace)?.push(`${namespace}${String(n)}`);
          for (let i = 0; i < leave; i++) {
            const one = queues.next();
            const whose = one?.[0] ?? '';
            if (one === undefined) {
              expect([...model.values()].flat()).toEqual([]);
              continue;
            }
            expect(one).toBe(model.get(whose)?.shift());
            passed.set(whose, new Set());
            for (const [name, waiting] of model) {
              if (name === whose || waiting.length === 0) continue;
              const others = passed.get(name) ?? new Set();
              expect(others.has(whose)).toBe(false);
              passed.set(name, others.add(whose));
            }
            // Who waits for nothing has lost no turn.
            for (const [name, waiting] of model) if (waiting.length === 0) passed.delete(name);
          }
          expect(queues.length).toBe([...model.values()].flat().length);
        }
      }),
    );
  });

  it('skips a queue whose head may not leave', () => {
    const queues = new NamespaceQueues<number>();
    queues.push('a', 1);
    queues.push('b', 2);
    expect(queues.next((one) => one === 2)).toBe(2);
    expect(queues.next((one) => one === 2)).toBeUndefined();
    expect(queues.length).toBe(1);
    queues.clear();
    expect([queues.length, queues.next()]).toEqual([0, undefined]);
  });
});
