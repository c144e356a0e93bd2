import { describe, expect, it } from 'vitest';
import { MemoryCellStore } from '../../../../src/adapters/memory/memory.ts';
import { seededRandom } from '../../../../src/core/random/random.ts';
import type { Attempt } from '../../../../src/ports/cell-store.ts';
import { readBack } from '../../../../src/runtime/commit/read-back.ts';
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
  const unknown = {
    fence: {
      compare: lost.compares[0]!,
      write: { kind: 'put', key: '/ledger', value: 'one' } as const,
    },
    evidence: ['/mine'],
  };
  return { inner, faulty, put, lost, unknown, ports: { store: faulty.store, clock, random } };
}

describe('a write without an answer', () => {
  it('finds what was applied', async () => {
    const { inner, lost, unknown, ports } = await world();
    await inner.attempt(lost);
    const result = await readBack(ports, unknown);
    expect(result).toMatchObject({ fenced: false });
    expect(result?.fenced === false && result.found.get('/mine')?.value).toBe('x');
    expect(inner.cell.get('/ledger')?.value).toBe('two');
  });

  it('keeps out what was not applied, even if it comes later', async () => {
    const { inner, lost, unknown, ports } = await world();
    expect(await readBack(ports, unknown)).toMatchObject({ fenced: true });
    expect((await inner.attempt(lost)).outcome).toBe('refused');
    expect(inner.cell.get('/ledger')?.value).toBe('one');
  });

  it('needs no fence where the key has moved already', async () => {
    const { inner, lost, unknown, put, ports } = await world();
    await put('/ledger', 'three');
    const result = await readBack(ports, unknown);
    expect(result?.fenced === false && result.found.size).toBe(0);
    expect((await inner.attempt(lost)).outcome).toBe('refused');
  });

  it('is repeated until there is an answer, also when its own reply is lost', async () => {
    const { inner, faulty, lost, unknown, ports } = await world();
    const faults: AttemptFault[] = ['unavailable', 'request-lost', 'reply-lost'];
    faulty.next = () => faults.shift() ?? null;
    const result = await readBack(ports, unknown);
    // The lost reply was that of the fence: it holds, though it looks like another process's write.
    expect(result?.fenced === false && result.found.size).toBe(0);
    expect((await inner.attempt(lost)).outcome).toBe('refused');
  });

  it('is not repeated once the session is lost: the store that comes back may hold what it compares', async () => {
    const { inner, faulty, unknown, ports } = await world();
    const session = new AbortController();
    let asked = 0;
    faulty.next = () => {
      asked += 1;
      if (asked === 3) session.abort();
      return 'request-lost';
    };
    const before = inner.cell.revision;
    expect(await readBack(ports, unknown, session.signal)).toBeNull();
    expect([asked, inner.cell.revision]).toEqual([3, before]);
    expect(await readBack(ports, unknown, session.signal)).toBeNull();
    expect(asked).toBe(3);
  });
});
