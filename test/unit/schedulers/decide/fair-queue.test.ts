import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FairQueue } from '../../../../schedulers/decide/fair-queue.ts';

describe('FairQueue', () => {
  it('S3.47 serves every namespace in turn, however many jobs another one has', () => {
    const queue = new FairQueue();
    for (let i = 0; i < 100; i++) queue.push('large', 50, `large/${String(i)}`);
    queue.push('small', 50, 'small/0');
    queue.push('small', 50, 'small/1');
    const turns: string[] = [];
    for (let i = 0; i < 4; i++) {
      const job = queue.next() ?? '';
      turns.push(job.split('/')[0] ?? '');
      queue.charge(turns[i] ?? '', 10);
    }
    expect(turns.filter((namespace) => namespace === 'small')).toHaveLength(2);
  });

  it('takes the higher precedence first, and equals in turn', () => {
    const queue = new FairQueue();
    queue.push('n', 10, 'low');
    queue.push('n', 90, 'a');
    queue.push('n', 90, 'b');
    expect(queue.next()).toBe('a');
    queue.push('n', 90, 'a');
    expect([queue.next(), queue.next(), queue.next(), queue.next()]).toEqual(['b', 'a', 'low', undefined]);
  });

  it('S3.47 an idle namespace does not save up its idle time', () => {
    const queue = new FairQueue();
    const turn = (): string => {
      const namespace = queue.next()?.split('/')[0] ?? '';
      queue.charge(namespace, 10);
      return namespace;
    };
    queue.push('idle', 50, 'idle/0');
    expect(turn()).toBe('idle');
    for (let n = 0; n < 200; n++) queue.push('busy', 50, `busy/${String(n)}`);
    for (let n = 0; n < 100; n++) expect(turn()).toBe('busy');
    for (let n = 1; n <= 20; n++) queue.push('idle', 50, `idle/${String(n)}`);
    const next = Array.from({ length: 20 }, turn);
    expect(next.filter((namespace) => namespace === 'busy').length).toBeGreaterThanOrEqual(9);
  });

  it('S3.47 S3.48 a namespace that was idle waits for at most two turns of each other', () => {
    const cost = fc.integer({ min: 1, max: 512 });
    const step = fc.record({ cost, newcomer: fc.boolean() });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 6 }), fc.array(step, { minLength: 1 }), (others, steps) => {
        const queue = new FairQueue();
        const push = (namespace: string): void => queue.push(namespace, 50, `${namespace}/job`);
        const turn = (amount: number): string => {
          const namespace = queue.next()?.split('/')[0] ?? '';
          queue.charge(namespace, amount);
          // Each but the newcomer always has more to do.
          if (namespace !== 'newcomer') push(namespace);
          return namespace;
        };
        for (let n = 0; n < others; n++) push(`other-${String(n)}`);
        for (const { cost: amount, newcomer } of steps) {
          if (!newcomer) {
            turn(amount);
            continue;
          }
          push('newcomer');
          const before = new Map<string, number>();
          for (let who = turn(amount); who !== 'newcomer'; who = turn(amount))
            before.set(who, (before.get(who) ?? 0) + 1);
          for (const turns of before.values()) expect(turns).toBeLessThanOrEqual(2 * Math.ceil(512 / amount));
        }
      }),
    );
  });

  it('returns what was put in, each once, and nothing that was taken out', () => {
    const job = fc.record({
      namespace: fc.constantFrom('a', 'b', 'c'),
      precedence: fc.nat(3),
      name: fc.nat(9),
    });
    fc.assert(
      fc.property(fc.array(job), fc.array(fc.nat(9)), (pushed, removed) => {
        const queue = new FairQueue();
        const left = new Set<string>();
        for (const { namespace, precedence, name } of pushed) {
          queue.push(namespace, precedence, String(name));
          left.add(String(name));
        }
        for (const name of removed) {
          queue.remove(String(name));
          left.delete(String(name));
        }
        expect(queue.size).toBe(left.size);
        const seen: string[] = [];
        for (let next = queue.next(); next !== undefined; next = queue.next()) seen.push(next);
        expect(seen.sort()).toEqual([...left].sort());
      }),
    );
  });
});
