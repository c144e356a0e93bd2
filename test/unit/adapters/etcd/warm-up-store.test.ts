import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { WarmUpStore } from '../../../../src/adapters/etcd/warm-up-store.ts';
import { systemClock } from '../../../../src/adapters/system/system.ts';
import type { Change, Write } from '../../../../src/ports/cell-store.ts';

describe('the store of a warm-up', () => {
  let store: WarmUpStore;
  beforeEach(() => (store = new WarmUpStore(systemClock)));
  afterEach(() => store.close());

  const putting = (key: string, value: string): Write => ({ kind: 'put', key, value });

  it('writes when the compares hold, and reads back when they do not', async () => {
    const compares = [{ key: 'a/b', target: 'createRevision', equals: 0 }] as const;
    const attempt = { compares, writes: [putting('a/b', 'täxt')], readBack: ['a/b'] };
    const first = await store.attempt(attempt);
    expect(first.outcome).toBe('applied');
    const second = await store.attempt(attempt);
    if (first.outcome !== 'applied' || second.outcome !== 'refused') throw new Error('unexpected outcome');
    const { revision } = first;
    const entry = { key: 'a/b', value: 'täxt', createRevision: revision, modRevision: revision };
    expect([...second.found.values()]).toEqual([entry]);
    expect((await store.list('a/')).entries.get('a/b')).toEqual(entry);
  });

  it('writes under its session', async () => {
    const session = await store.openSession();
    const writes: Write[] = [{ ...putting('a/b', '1'), session } as Write];
    const reply = await store.attempt({ compares: [], writes, readBack: [] });
    expect(reply.outcome).toBe('applied');
    expect(session.lost.aborted).toBe(false);
  });

  it('reports every change to followers, in order', async () => {
    const seen: string[] = [];
    let done: () => void = () => undefined;
    const all = new Promise<void>((resolve) => (done = resolve));
    await store.attempt({ compares: [], writes: [putting('a/0', 'x')], readBack: [] });
    const following = store.follow('a/', {
      onSnapshot: ({ entries }) => seen.push(...entries.keys()),
      onChanges: (changes: readonly Change[]) => {
        for (const change of changes) seen.push(change.kind === 'put' ? change.entry.key : `-${change.key}`);
        if (seen.length === 4) done();
      },
    });
    await following.ready;
    const steps: Write[][] = [
      [putting('a/1', 'x'), putting('b/1', 'x')],
      [putting('a/2', 'x'), { kind: 'delete', key: 'a/0' }],
    ];
    for (const writes of steps) await store.attempt({ compares: [], writes, readBack: [] });
    await all;
    expect(seen).toEqual(['a/0', 'a/1', 'a/2', '-a/0']);
  });
});
