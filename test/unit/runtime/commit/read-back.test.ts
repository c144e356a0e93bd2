import { describe, expect, it } from 'vitest';
import { MemoryCellStore } from '../../../../src/adapters/memory/memory.ts';
import { seededRandom } from '../../../../src/core/random/random.ts';
import type { Attempt } from '../../../../src/ports/cell-store.ts';
import { createOnce, readBack } from '../../../../src/runtime/commit/read-back.ts';
import type { AttemptFault } from '../../../support/faulty-store.ts';
import { FaultyStore } from '../../../support/faulty-store.ts';
import { InstantClock } from '../../../support/instant-clock.ts';

async function world() {
  const clock = new InstantClock();
  const inner = new MemoryCellStore({ clock });
  const random = seededRandom(3);
  const faulty = new FaultyStore(inner, random);
  const put = (key: string, value: string) =>
    inner.attempt({ compares: [], writes: [{ kind: 'put', key, value }], readBack: [] });
  await put('/ledger', 'one');
  const revision = inner.cell.revision;
  const lost: Attempt = {
    compares: [{ key: '/ledger', target: 'modRevision', equals: revision }],
    writes: [
      { kind: 'put', key: '/ledger', value: 'two' },
      { kind: 'put', key: '/mine', value: 'x' },
    ],
    readBack: [],
  };
  const doubt = {
    fence: {
      compare: lost.compares[0]!,
      write: { kind: 'put', key: '/ledger', value: 'one' } as const,
    },
    evidence: ['/mine'],
  };
  return { inner, faulty, put, lost, doubt, waiting: { store: faulty.store, clock, random } };
}

describe('settling a doubt', () => {
  it('finds what was applied', async () => {
    const { inner, lost, doubt, waiting } = await world();
    await inner.attempt(lost);
    const settled = await readBack(waiting, doubt);
    expect(settled).toMatchObject({ fenced: false });
    expect(settled?.fenced === false && settled.found.get('/mine')?.value).toBe('x');
    expect(inner.cell.get('/ledger')?.value).toBe('two');
  });

  it('keeps out what was not applied, even if it comes later', async () => {
    const { inner, lost, doubt, waiting } = await world();
    expect(await readBack(waiting, doubt)).toMatchObject({ fenced: true });
    expect((await inner.attempt(lost)).outcome).toBe('refused');
    expect(inner.cell.get('/ledger')?.value).toBe('one');
  });

  it('needs no fence where the key has moved already', async () => {
    const { inner, lost, doubt, put, waiting } = await world();
    await put('/ledger', 'three');
    const settled = await readBack(waiting, doubt);
    expect(settled?.fenced === false && settled.found.size).toBe(0);
    expect((await inner.attempt(lost)).outcome).toBe('refused');
  });

  it('asks until there is an answer, also when its own question is lost', async () => {
    const { inner, faulty, lost, doubt, waiting } = await world();
    const faults: AttemptFault[] = ['unavailable', 'request-lost', 'reply-lost'];
    faulty.next = () => faults.shift() ?? null;
    const settled = await readBack(waiting, doubt);
    // The lost reply was that of the fence: it holds, though it looks like somebody else's write.
    expect(settled?.fenced === false && settled.found.size).toBe(0);
    expect((await inner.attempt(lost)).outcome).toBe('refused');
  });

  it('asks nothing more once the session is lost: the store that comes back may hold what it compares', async () => {
    const { inner, faulty, doubt, waiting } = await world();
    const session = new AbortController();
    let asked = 0;
    faulty.next = () => {
      asked += 1;
      if (asked === 3) session.abort();
      return 'request-lost';
    };
    const before = inner.cell.revision;
    expect(await readBack(waiting, doubt, session.signal)).toBeNull();
    expect([asked, inner.cell.revision]).toEqual([3, before]);
    expect(await readBack(waiting, doubt, session.signal)).toBeNull();
    expect(asked).toBe(3);
  });
});

describe('creating once', () => {
  for (const fault of ['reply-lost', 'request-lost', 'unavailable'] as const) {
    it(`knows its own record after: ${fault}`, async () => {
      const { inner, faulty, waiting } = await world();
      const faults: AttemptFault[] = [fault];
      faulty.next = () => faults.shift() ?? null;
      const created = await createOnce(waiting, { key: '/run', value: 'job-1' });
      expect(created).toEqual({ created: true, revision: inner.cell.get('/run')?.createRevision });
      expect(await createOnce(waiting, { key: '/run', value: 'job-2' })).toMatchObject({
        ...{ created: false, found: { value: 'job-1' } },
      });
    });
  }

  it('heeds further compares', async () => {
    const { waiting } = await world();
    const compares = [{ key: '/gone', target: 'createRevision' as const, equals: 7 }];
    expect(await createOnce(waiting, { key: '/run', value: 'x', compares })).toEqual({
      created: false,
      found: null,
    });
  });
});
