import { beforeEach, describe, expect, it } from 'vitest';
import fc from 'fast-check';
import { checkHistory } from '../../../../sim/checkers/check-history.ts';
import { VIOLATIONS_MAX } from '../../../../sim/checkers/replay/violations.ts';
import type { Allocation } from '../../../../src/core/cell/allocation.ts';
import { bandOf, EMPTY_LEDGER } from '../../../../src/core/fit/ledger.ts';
import { NO_SCALARS } from '../../../../src/core/cell/resources.ts';
import { seededRandom } from '../../../../src/core/random/random.ts';
import { openMeta, renewMeta } from '../../../../src/runtime/records/cell-meta.ts';
import type { HostListing } from '../../../../src/wire/api/host-api.ts';
import { parseJobObject } from '../../../../src/wire/job-file/job-file.ts';
import {
  allocationCodec,
  ledgerCodec,
  outcomeCodec,
  ownerCodec,
  hostCodec,
  jobCodec,
  poolCodec,
  sharedResourceCodec,
  metaCodec,
} from '../../../../src/wire/records/records.ts';
import { HistoryWorld, KEYS, outcomeOf, someHost } from '../../../support/history-world.ts';

describe('checkHistory on histories made by the real commit', () => {
  it('S3.17: I1 I2 I3 I4 I7 I8 I12 I74 hold at every revision of random competing plans', async () => {
    let committed = 0;
    let conflicted = 0;
    await fc.assert(
      fc.asyncProperty(fc.integer(), async (seed) => {
        const world = new HistoryWorld(seededRandom(seed), 3);
        for (const outcome of await world.run(6))
          for (const { kind } of outcome.values()) {
            if (kind === 'conflicted') conflicted += 1;
            else committed += 1;
          }
        const report = await checkHistory(world.store, KEYS, []);
        expect(report.violations).toEqual([]);
        expect(report.verdict).toBe('holds');
        expect(report.wholeHistory).toBe(true);
        expect(report.transactions).toBeGreaterThan(0);
        expect(report.commits).toBeGreaterThanOrEqual(report.transactions);
      }),
      { numRuns: 60 },
    );
    expect(committed).toBeGreaterThan(500);
    expect(conflicted).toBeGreaterThan(50);
  });

  it('I7 takes the renewal of a restored cell for what it is, and nothing else in its record', async () => {
    const world = new HistoryWorld(seededRandom(4));
    await world.run(2);
    const maker = (nowMs: number) => ({ nowMs, makeUuid: () => `uuid-${String(nowMs)}` });
    await openMeta(world.store, KEYS, maker(1));
    const renewed = await renewMeta(world.store, KEYS, maker(2));
    expect((await checkHistory(world.store, KEYS, [])).violations).toEqual([]);
    await world.put(KEYS.meta, metaCodec.encode({ ...renewed, incarnation: 'another' }));
    const { violations } = await checkHistory(world.store, KEYS, []);
    expect(violations.map(({ invariant, key }) => [invariant, key])).toEqual([['I7', KEYS.meta]]);
  });

  it('begins with a snapshot where the beginning is no longer kept', async () => {
    const world = new HistoryWorld(seededRandom(3));
    await world.run(10);
    const middle = Math.floor(world.cell.revision / 2);
    world.cell.compact(middle);
    const report = await checkHistory(world.store, KEYS, []);
    expect(report).toMatchObject({
      verdict: 'holds',
      fromRevision: middle,
      wholeHistory: false,
      violations: [],
    });
    expect(report.toRevision).toBe(world.cell.revision);
    expect(report.revisions).toBe(world.cell.revision - middle);
  });

  it('begins again when what it reads is compacted meanwhile', async () => {
    const world = new HistoryWorld(seededRandom(3));
    await world.run(10);
    const { store, cell } = world;
    const list = store.list.bind(store);
    let isCompacted = false;
    store.list = async (prefix, atRevision) => {
      const snapshot = await list(prefix, atRevision);
      if (!isCompacted) cell.compact(Math.floor(cell.revision / 2));
      isCompacted = true;
      return snapshot;
    };
    const report = await checkHistory(store, KEYS, []);
    expect(report).toMatchObject({ verdict: 'holds', wholeHistory: false });
    expect(report.fromRevision).toBe(Math.floor(cell.revision / 2));
  });

  it('says so when everything lies before the beginning: the snapshot alone is looked at', async () => {
    const world = new HistoryWorld(seededRandom(3));
    await world.run(4);
    world.cell.compact(world.cell.revision);
    const report = await checkHistory(world.store, KEYS, []);
    expect(report).toMatchObject({ verdict: 'holds', revisions: 0, commits: 0 });
    expect(report.allocations).toBeGreaterThan(0);
  });

  it('does not pass by looking at nothing', async () => {
    const world = new HistoryWorld(seededRandom(1));
    expect((await checkHistory(world.store, KEYS, [])).verdict).toBe('nothing-seen');
    await world.begin([['web', 'service-1']]);
    expect((await checkHistory(world.store, KEYS, [])).verdict).toBe('nothing-seen');
  });
});

describe('checkHistory on planted violations', () => {
  let world: HistoryWorld;
  let small: Allocation;
  const usual = { host: 'host-0', precedence: 50, gpus: [], ports: {} } as const;
  const amounts = { cpuMilli: 100, memoryMib: 64, diskMib: 0, scalars: NO_SCALARS };

  beforeEach(async () => {
    world = new HistoryWorld(seededRandom(5));
    await world.begin([
      ['web', 'service-1'],
      ['crunch', 'batch-1'],
    ]);
    small = world.allocation('web', 'service-1', 0, { ...usual, resources: amounts });
    await world.commitByHand(small);
    expect((await checkHistory(world.store, KEYS, [])).verdict).toBe('holds');
  });

  const another = (index: number, changes: Partial<Allocation> = {}): Allocation =>
    world.allocation('web', 'service-1', index, { ...usual, resources: amounts, ...changes });

  const allocationKey = ({ namespace, job, id }: Allocation): string => KEYS.allocation(namespace, job, id);

  async function found(listings: readonly HostListing[] = []): Promise<readonly string[]> {
    const report = await checkHistory(world.store, KEYS, listings);
    expect(report.verdict).toBe('violated');
    return [...new Set(report.violations.map(({ invariant }) => invariant))].sort();
  }

  it('I1 more cpu than the host can give', async () => {
    await world.commitByHand(another(1, { resources: { ...amounts, cpuMilli: 3_901 } }));
    expect(await found()).toEqual(['I1']);
  });

  it('I1 more of a device than the whole, or of a scalar, or a device that is not there', async () => {
    await world.commitByHand(another(1, { gpus: [{ device: 5, milli: 600 }] }));
    await world.commitByHand(another(2, { resources: { ...amounts, scalars: { licence: 4 } } }));
    expect(await found()).toEqual(['I1']);
    await world.commitByHand(another(3, { host: 'host-1', gpus: [{ device: 0, milli: 600 }] }));
    await world.commitByHand(another(4, { host: 'host-1', gpus: [{ device: 0, milli: 600 }] }));
    const { violations } = await checkHistory(world.store, KEYS, []);
    expect(violations.map(({ detail }) => detail)).toContain('gpu 0: 1200 given away');
  });

  it('I1 an overdraft that was gone again one revision later', async () => {
    const before = await ledgerOf(small);
    const big = another(1, { resources: { ...amounts, memoryMib: 9_000 } });
    await world.commitByHand(big);
    const writes = [
      { kind: 'delete' as const, key: allocationKey(big) },
      { kind: 'put' as const, key: KEYS.ledger('host-0'), value: ledgerCodec.encode(before) },
    ];
    await world.store.attempt({ compares: [], writes, readBack: [] });
    expect(await found()).toEqual(['I1']);
  });

  it('I1 an allocation on a host that never was', async () => {
    await world.commitByHand(another(1, { host: 'nowhere' }));
    expect(await found()).toEqual(['I1']);
  });

  it('S3.33 I1 I3 more of a pool than an operator gave, and a pool that does not know who takes of it', async () => {
    const power = { name: 'power', unit: 'W', by: null, capacity: 300, capacities: {} };
    await world.put(KEYS.sharedResource('power'), sharedResourceCodec.encode(power));
    await world.put(KEYS.pool('power/cell'), poolCodec.encode({ used: 200 }));
    expect(await found()).toEqual(['I3']);
    await world.commitByHand(another(1, { shared: { 'power/cell': 200 } }));
    const { violationsTotal } = await checkHistory(world.store, KEYS, []);
    await world.put(KEYS.sharedResource('power'), sharedResourceCodec.encode({ ...power, capacity: 100 }));
    expect((await checkHistory(world.store, KEYS, [])).violationsTotal).toBe(violationsTotal);
    await world.put(KEYS.pool('power/cell'), poolCodec.encode({ used: 400 }));
    await world.commitByHand(another(2, { shared: { 'power/cell': 200 } }));
    expect(await found()).toEqual(['I1', 'I3']);
  });

  it('I2 two allocations with one port', async () => {
    await world.commitByHand(another(1, { ports: { http: 20_005 } }));
    await world.commitByHand(another(2, { ports: { admin: 20_005 } }));
    expect(await found()).toEqual(['I2']);
  });

  it('I3 an allocation that its ledger does not know of', async () => {
    await world.commitByHand(another(1), { ledger: null });
    expect(await found()).toEqual(['I3']);
  });

  it('I3 a ledger that forgot a port, or put the use into another band', async () => {
    const now = await ledgerOf(small);
    await world.put(KEYS.ledger('host-0'), ledgerCodec.encode({ ...now, ports: [20_001] }));
    expect(await found()).toEqual(['I3']);
    await world.put(KEYS.ledger('host-0'), ledgerCodec.encode({ ...now, bands: [bandOf(90, amounts)] }));
    expect((await checkHistory(world.store, KEYS, [])).violations.at(-1)?.detail).toContain('bands');
  });

  it('I3 an eviction whose use was not freed', async () => {
    await world.put(allocationKey(small), allocationCodec.encode({ ...small, desired: 'evict', cause: 'x' }));
    expect(await found()).toEqual(['I3']);
  });

  it('I4 a commit that was applied a second time', async () => {
    const writes = [
      { kind: 'delete' as const, key: allocationKey(small) },
      { kind: 'put' as const, key: KEYS.ledger('host-0'), value: ledgerCodec.encode(EMPTY_LEDGER) },
    ];
    await world.store.attempt({ compares: [], writes, readBack: [] });
    await world.commitByHand(small);
    expect(await found()).toEqual(['I4']);
  });

  it('I3 I4 two commits on one ledger revision, the second of which did not see the first', async () => {
    const before = await ledgerOf(small);
    const one = another(1);
    const two = another(2);
    await world.commitByHand(one);
    const blind = { ...before, bands: [bandOf(50, { ...amounts, cpuMilli: 200, memoryMib: 128 })] };
    await world.commitByHand(two, { ledger: ledgerCodec.encode(blind) });
    expect(await found()).toEqual(['I3']);
  });

  it('I6 a gang of which one member is visible without the other', async () => {
    const reading = parseJobObject({ name: 'crunch', type: 'batch', count: 2, gang: true, script: 'true' });
    if (!reading.ok) throw new Error('the job cannot be read');
    const record = { job: reading.job, version: 1, desired: 'run', submittedAtMs: 0 } as const;
    await world.put(KEYS.job('default', 'crunch'), jobCodec.encode(record));
    const member = { ...usual, resources: amounts, group: 'crunch' };
    await world.commitByHand(world.allocation('crunch', 'batch-1', 0, member));
    expect(await found()).toEqual(['I6']);
  });

  it('I7 a placement by a scheduler that does not own the job', async () => {
    await world.commitByHand(another(1, { scheduler: 'batch-1' }));
    expect(await found()).toEqual(['I7']);
  });

  it('I7 an owner that was replaced without having gone', async () => {
    const owner = { scheduler: 'service-2', kind: 'service', sinceMs: 1 };
    await world.put(KEYS.owner('default', 'web'), ownerCodec.encode(owner));
    expect(await found()).toEqual(['I7']);
  });

  it('I7 a host record of an older agent, a record under a foreign key, and one that is none', async () => {
    await world.put(KEYS.host('host-1'), hostCodec.encode({ ...someHost('host-1'), incarnation: 0 }));
    expect(await found()).toEqual(['I7']);
    await world.put(KEYS.host('host-2'), hostCodec.encode(someHost('host-3')));
    await world.put(KEYS.ledger('host-3'), 'no record');
    const report = await checkHistory(world.store, KEYS, []);
    expect(report.violations.map(({ key }) => key)).toEqual([
      KEYS.host('host-1'),
      KEYS.host('host-2'),
      KEYS.ledger('host-3'),
    ]);
  });

  it('I8 a stopped allocation that should run again', async () => {
    await world.put(allocationKey(small), allocationCodec.encode({ ...small, desired: 'stop', cause: 'x' }));
    await world.put(allocationKey(small), allocationCodec.encode(small));
    expect(await found()).toEqual(['I8']);
  });

  it('I8 an allocation that moved to another plan', async () => {
    await world.put(allocationKey(small), allocationCodec.encode({ ...small, planId: 'other' }));
    expect(await found()).toEqual(['I8']);
  });

  it('I8 an outcome that changed, and one beside a place still held', async () => {
    const key = KEYS.outcome('default', 'web', 'gone');
    const outcome = { ...outcomeOf(small), allocation: 'gone' };
    await world.put(key, outcomeCodec.encode(outcome));
    await world.put(key, outcomeCodec.encode({ ...outcome, state: 'failed' }));
    expect(await found()).toEqual(['I8']);
    await world.put(KEYS.outcome('default', 'web', small.id), outcomeCodec.encode(outcomeOf(small)));
    expect((await checkHistory(world.store, KEYS, [])).violationsTotal).toBe(2);
  });

  it('I12 two allocations that should run in one slot', async () => {
    await world.commitByHand(another(0));
    expect(await found()).toEqual(['I12']);
  });

  const listing = (host: string, ...allocations: Allocation[]): HostListing => ({
    host,
    incarnation: 1,
    seq: 1,
    allocations: allocations.map((allocation) => ({
      ...allocation,
      state: 'running' as const,
      released: false,
      reason: '',
      restarts: 0,
      tasks: {},
    })),
  });

  it('I13 an allocation that lives on two hosts, or where it was not committed', async () => {
    const twice = [listing('host-0', small), listing('host-1', { ...small, host: 'host-1' })];
    expect(await found(twice)).toEqual(['I13']);
    expect(await found([listing('host-0', another(7))])).toEqual(['I13']);
    const fine = await checkHistory(world.store, KEYS, [listing('host-0', small)]);
    expect(fine).toMatchObject({ verdict: 'holds', hosts: 1 });
  });

  it('keeps the first violations and counts them all', async () => {
    for (let n = 1; n <= VIOLATIONS_MAX + 20; n++)
      await world.put(allocationKey(small), allocationCodec.encode({ ...small, jobVersion: n + 1 }));
    const report = await checkHistory(world.store, KEYS, []);
    expect([report.violations.length, report.violationsTotal]).toEqual([VIOLATIONS_MAX, VIOLATIONS_MAX + 20]);
  });

  async function ledgerOf(allocation: Allocation) {
    const key = KEYS.ledger(allocation.host);
    const entry = (await world.store.read([key])).entries.get(key);
    return entry === undefined ? EMPTY_LEDGER : ledgerCodec.decode(entry.value);
  }
});
