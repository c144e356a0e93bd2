import { describe, expect, it } from 'vitest';
import { MemoryCell } from '../../../../src/adapters/memory/cell.ts';
import { MemoryCellStore } from '../../../../src/adapters/memory/memory.ts';
import { MemoryDisk } from '../../../../src/adapters/memory/disk.ts';
import { MemoryNetwork } from '../../../support/memory-network.ts';
import type { CellStore } from '../../../../src/ports/cell-store.ts';
import type { Disk } from '../../../../src/ports/disk.ts';
import type { Processes } from '../../../../src/ports/process.ts';
import { armed } from '../../../../src/runtime/faults/armed.ts';
import type { Failure, FailPoints } from '../../../../src/runtime/faults/faults.ts';
import { cellStoreContract, Recorder } from '../../../contract/cell-store.ts';
import { ManualClock } from '../../../support/manual-clock.ts';

class Points implements FailPoints {
  readonly names: string[] = [];
  readonly failures = new Map<string, Failure>();

  reach(name: string): Failure | null {
    this.names.push(name);
    const failure = this.failures.get(name) ?? null;
    this.failures.delete(name);
    return failure;
  }
}

const clock = new ManualClock();
const armedStore = (points: Points, cell: MemoryCell): CellStore =>
  armed('scheduler', points, { store: new MemoryCellStore({ clock, cell }) }).store;

cellStoreContract('with fail-points where nothing fails', async () => {
  const cell = new MemoryCell({ clock });
  const [store, other] = [armedStore(new Points(), cell), armedStore(new Points(), cell)];
  return {
    ...{ store, other, prefix: '/moorage/c1/' },
    compact: async (revision) => cell.compact(revision + 1),
    close: async () => {
      await store.close();
      await other.close();
    },
  };
});

const put = (key: string) => ({
  compares: [],
  writes: [{ kind: 'put', key, value: '1' } as const],
  readBack: [],
});
const [LEDGER, ALLOC] = ['/moorage/c/ledger/h1', '/moorage/c/allocs/d/j/a'];

describe('F1 the store', () => {
  it('has the limits of the one within, also when those change', () => {
    const within = new MemoryCellStore({ clock, cell: new MemoryCell({ clock }) });
    let limits = { operationsMax: 128, bytesMax: 1_000 };
    Object.defineProperty(within, 'limits', { get: () => limits });
    const { store } = armed('scheduler', new Points(), { store: within });
    expect(store.limits).toEqual({ operationsMax: 128, bytesMax: 1_000 });
    limits = { ...limits, operationsMax: 512 };
    expect(store.limits).toEqual({ operationsMax: 512, bytesMax: 1_000 });
  });

  it('surely does nothing when an attempt fails before, and may have done it when it fails after', async () => {
    const points = new Points();
    const store = armedStore(points, new MemoryCell({ clock }));
    points.failures.set('scheduler/store.attempt/ledger:before', { kind: 'throw' });
    await expect(store.attempt(put(LEDGER))).rejects.toMatchObject({ code: 'unavailable', retryable: true });
    points.failures.set('scheduler/store.attempt/allocs:after', { kind: 'throw' });
    await expect(store.attempt(put(ALLOC))).resolves.toMatchObject({ outcome: 'unknown' });
    expect([...(await store.read([LEDGER, ALLOC])).entries.keys()]).toEqual([ALLOC]);
    expect(points.names.at(-1)).toBe('scheduler/store.read/allocs+ledger:after');
  });

  it('sends a follower a new snapshot when a delivery failed', async () => {
    const points = new Points();
    const cell = new MemoryCell({ clock });
    const store = armedStore(points, cell);
    const seen = new Recorder();
    const following = store.follow('/moorage/c/ledger/', seen);
    await following.ready;
    points.failures.set('scheduler/store.follow/ledger:before', { kind: 'throw' });
    await store.attempt(put(LEDGER));
    await new Promise((resolve) => setImmediate(resolve));
    expect(seen.snapshots.map((snapshot) => [...snapshot.entries.keys()])).toEqual([[], [LEDGER]]);
    expect(seen.revisions).toEqual([]);
    following.close();
  });

  it('keeps what it has to tell in order while one of it is held up', async () => {
    const points = new Points();
    const store = armedStore(points, new MemoryCell({ clock }));
    const seen = new Recorder();
    const following = store.follow('/moorage/c/ledger/', seen);
    await following.ready;
    let goOn = (): void => undefined;
    const until = new Promise<void>((resolve) => (goOn = resolve));
    points.failures.set('scheduler/store.follow/ledger:before', { kind: 'wait', until });
    for (const host of ['h1', 'h2', 'h3']) await store.attempt(put(`/moorage/c/ledger/${host}`));
    await new Promise((resolve) => setImmediate(resolve));
    expect(seen.revisions).toEqual([]);
    goOn();
    await new Promise((resolve) => setImmediate(resolve));
    expect(
      seen.revisions.flatMap(({ changes }) =>
        changes.map((one) => (one.kind === 'put' ? one.entry.key : '')),
      ),
    ).toEqual(['h1', 'h2', 'h3'].map((host) => `/moorage/c/ledger/${host}`));
    following.close();
  });
});

describe('F1 the network', () => {
  it('names calls by route, fails before as not sent and after as sent, and cuts streams between two pieces', async () => {
    const points = new Points();
    const network = new MemoryNetwork();
    let handled = 0;
    const lines = async function* (): AsyncGenerator<string> {
      yield 'one';
      yield 'two';
    };
    const { server } = armed('agent', points, { server: network.server() });
    const listener = await server.listen(
      [
        {
          method: 'POST',
          path: '/v1/allocations/:id/stop',
          right: 'read',
          handle: async () => ({ status: 200, body: (handled += 1) }),
        },
        {
          method: 'GET',
          path: '/v1/reports',
          right: 'read',
          handle: async () => ({ status: 200, stream: lines() }),
        },
      ],
      { host: '127.0.0.1', port: 0, bodyBytesMax: 1024 },
    );
    const { http } = armed('scheduler', points, { http: network.client('s') });
    const call = {
      method: 'POST',
      url: `${listener.address}/v1/allocations/a1/stop?x=1`,
      timeoutMs: 1000,
    } as const;
    for (const [when, sent] of [
      ['before', false],
      ['after', true],
    ] as const) {
      points.failures.set(`scheduler/http.call/post.allocations.id.stop:${when}`, { kind: 'throw' });
      await expect(http.call(call)).rejects.toMatchObject({ name: 'HttpError', sent });
    }
    expect(handled).toBe(1);
    points.failures.set('agent/server.route/post.allocations.id.stop:after', { kind: 'throw' });
    expect((await http.call(call)).status).toBe(500);
    const url = `${listener.address}/v1/reports`;
    const stream = await http.stream({ method: 'GET', url, timeoutMs: 1000, idleTimeoutMs: 1000 });
    points.failures.set('scheduler/http.chunk/get.reports:after', { kind: 'throw' });
    const pieces: string[] = [];
    const readAll = async (): Promise<void> => {
      for await (const piece of stream.chunks) pieces.push(new TextDecoder().decode(piece));
    };
    await expect(readAll()).rejects.toMatchObject({ sent: true });
    expect(pieces).toEqual(['one']);
    await listener.close(0);
  });
});

describe('F1 disk and processes', () => {
  it('a record whose writing failed before is not there, and one that failed after is', async () => {
    const points = new Points();
    const disk: Disk = armed('agent', points, { disk: new MemoryDisk() }).disk;
    points.failures.set('agent/disk.publish/claim:before', { kind: 'throw' });
    points.failures.set('agent/disk.publish/exit:after', { kind: 'throw' });
    for (const file of ['claim', 'exit'])
      await expect(disk.publish(`attempts/a.t.1/${file}`, 'x')).rejects.toMatchObject({ name: 'DiskError' });
    expect(await disk.read('attempts/a.t.1/claim')).toBeNull();
    expect(await disk.read('attempts/a.t.1/exit')).toBe('x');
    expect(disk.absolute('journal')).toBe('/memory/journal');
    expect(points.names).toContain('agent/disk.read/exit:after');
  });

  it('covers methods that a port gets later', async () => {
    const points = new Points();
    const later = { bootId: 'b', resize: async () => 7 } as unknown as Processes & {
      resize(): Promise<number>;
    };
    const { processes } = armed('agent', points, { processes: later });
    expect(await (processes as typeof later).resize()).toBe(7);
    expect(processes.bootId).toBe('b');
    expect(points.names).toEqual([
      'agent/processes.resize/attempt:before',
      'agent/processes.resize/attempt:after',
    ]);
  });

  it('without orders the ports are the very same ones', () => {
    const disk = new MemoryDisk();
    expect(armed('agent', null, { disk }).disk).toBe(disk);
  });
});
