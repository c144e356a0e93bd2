import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { NamespaceQueues } from '../../../../schedulers/state/namespace-queues.ts';

describe('lines of tenants', () => {
  it('S3.47 each has its turn before any has a second one, and what came first leaves first', () => {
    const come = fc.record({ namespace: fc.constantFrom('a', 'b', 'c'), leave: fc.nat(3) });
    fc.assert(
      fc.property(fc.array(come, { maxLength: 60 }), (steps) => {
        const lines = new NamespaceQueues<string>();
        const model = new Map<string, string[]>([...'abc'].map((name) => [name, []]));
        /** Turns of others since a namespace with something in its line had its own. */
        const passed = new Map<string, Set<string>>();
        for (const [n, { namespace, leave }] of steps.entries()) {
          lines.push(namespace, `${namespace}${String(n)}`);
          model.get(namespace)?.push(`${namespace}${String(n)}`);
          for (let i = 0; i < leave; i++) {
            const one = lines.next();
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
          expect(lines.length).toBe([...model.values()].flat().length);
        }
      }),
    );
  });

  it('a line whose first may not leave is passed over', () => {
    const lines = new NamespaceQueues<number>();
    lines.push('a', 1);
    lines.push('b', 2);
    expect(lines.next((one) => one === 2)).toBe(2);
    expect(lines.next((one) => one === 2)).toBeUndefined();
    expect(lines.length).toBe(1);
    lines.clear();
    expect([lines.length, lines.next()]).toEqual([0, undefined]);
  });
});
